/** The desktop shell as host. The only file that knows Tauri. */
import { invoke } from '@tauri-apps/api/core';
import { listen } from '@tauri-apps/api/event';

import { failureOf, HostError, type Args, type AnswerOf, type CommandName, type EventMap, type Host } from './host';

export const tauriHost: Host = {
  async call<K extends CommandName>(name: K, args: Args<K>): Promise<AnswerOf<K>> {
    try {
      return await invoke<AnswerOf<K>>(name, args);
    } catch (thrown) {
      throw new HostError(failureOf(thrown));
    }
  },
  on<K extends keyof EventMap>(event: K, handle: (payload: EventMap[K]) => void): () => void {
    const stop = listen<EventMap[K]>(event, (message) => handle(message.payload));
    return () => void stop.then((unlisten) => unlisten());
  },
};

export function insideShell(): boolean {
  return '__TAURI_INTERNALS__' in window;
}
