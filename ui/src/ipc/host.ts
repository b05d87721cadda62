/**
 * The one seam between the window and whatever carries it: the desktop shell, or the fake of tests and `vite dev`.
 */
import type { CommandMap, ExportProgress, Failure, OpenItem, Patch } from './bindings';

export type CommandName = keyof CommandMap;
export type Args<K extends CommandName> = CommandMap[K]['args'];
export type AnswerOf<K extends CommandName> = CommandMap[K]['answer'];

export interface EventMap {
  patch: Patch;
  open_item: OpenItem;
  export_progress: ExportProgress;
  /** Paths of files dropped on the window. */
  dropped_files: string[];
}

export interface Host {
  /** Rejects with a {@link HostError}. */
  call<K extends CommandName>(name: K, args: Args<K>): Promise<AnswerOf<K>>;
  /** Returns how to stop listening. */
  on<K extends keyof EventMap>(event: K, listen: (payload: EventMap[K]) => void): () => void;
}

export class HostError extends Error {
  readonly code: Failure['code'];

  constructor(failure: Failure) {
    super(failure.message);
    this.code = failure.code;
  }
}

/** Whatever was thrown, as a failure with a code. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof HostError) return { code: thrown.code, message: thrown.message };
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'message' in thrown) return thrown as Failure;
  return { code: 'internal', message: String(thrown) };
}
