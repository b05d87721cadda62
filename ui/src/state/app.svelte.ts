/** What every view shares: the host, the last snapshot, where we are, what lies on top. */
import { getContext, setContext } from 'svelte';

import { t, locale } from '../i18n/index.svelte';
import type { Failure, OpenItem, Patch, Snapshot, Topic } from '../ipc/bindings';
import { failureOf, type AnswerOf, type Args, type CommandName, type Host } from '../ipc/host';

export const VIEWS = ['conversations', 'approvals', 'evidence', 'duplicates', 'calendar', 'activity', 'settings'] as const;
export type View = (typeof VIEWS)[number];

export interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
}

const KEY = Symbol('app');

export class AppState {
  readonly host: Host;
  snapshot = $state.raw<Snapshot>();
  startError = $state.raw<Failure>();
  view = $state<View>('conversations');
  /** Selected item per view. */
  selected = $state<Partial<Record<View, string | null>>>({});
  settingsPage = $state('general');
  wizard = $state(false);
  searching = $state(false);
  toasts = $state<Toast[]>([]);
  /** Wall clock of the core, going on between snapshots. */
  now = $state(Date.now());
  /** Raised when something of a topic changed. */
  touched = $state<Record<Topic, number>>({
    conversations: 0,
    approvals: 0,
    evidence: 0,
    duplicates: 0,
    calendar: 0,
    activity: 0,
    settings: 0,
  });

  #layers: (() => void)[] = [];
  #skew = 0;
  #toast = 0;
  /** What Esc does when nothing is open. */
  onBareEscape: (() => void) | null = null;

  constructor(host: Host) {
    this.host = host;
  }

  /** Loads the first snapshot and listens. Returns how to stop. */
  start(): () => void {
    const stops = [
      this.host.on('patch', (patch) => this.#patch(patch)),
      this.host.on('open_item', (item) => this.open(item)),
    ];
    void this.load();
    const ticker = setInterval(() => (this.now = Date.now() + this.#skew), 1000);
    return () => {
      clearInterval(ticker);
      for (const stop of stops) stop();
    };
  }

  async load(): Promise<void> {
    try {
      const snapshot = await this.host.call('snapshot', {});
      this.startError = undefined;
      this.#take(snapshot);
      this.wizard = snapshot.first_start;
    } catch (thrown) {
      this.startError = failureOf(thrown);
    }
  }

  #take(snapshot: Snapshot): void {
    this.#skew = snapshot.now - Date.now();
    this.now = snapshot.now;
    locale.language = snapshot.language;
    locale.zone = snapshot.zone;
    this.snapshot = snapshot;
  }

  #patch(patch: Patch): void {
    this.#take(patch.snapshot);
    for (const topic of patch.topics) this.touched[topic] += 1;
  }

  go(view: View, id?: string | null): void {
    this.view = view;
    if (id !== undefined) this.selected[view] = id;
  }

  open(item: OpenItem): void {
    this.wizard = false;
    this.go(item.topic, item.id ?? undefined);
  }

  openSettings(page: string): void {
    this.settingsPage = page;
    this.view = 'settings';
  }

  /** Calls the host and tells failures as a toast. `undefined` when it failed. */
  async act<K extends CommandName>(name: K, args: Args<K>): Promise<AnswerOf<K> | undefined> {
    try {
      return await this.host.call(name, args);
    } catch (thrown) {
      const failure = failureOf(thrown);
      if (failure.code !== 'cancelled') this.say(explain(failure), 'bad');
      return undefined;
    }
  }

  say(text: string, tone: Toast['tone'] = 'plain'): void {
    const id = ++this.#toast;
    this.toasts = [...this.toasts.slice(-2), { id, text, tone }];
    setTimeout(() => this.dropToast(id), tone === 'bad' ? 9000 : 5000);
  }

  dropToast(id: number): void {
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  /** Something lies on top until the returned function is called; Esc closes the last one first. */
  layer(close: () => void): () => void {
    this.#layers.push(close);
    return () => {
      this.#layers = this.#layers.filter((other) => other !== close);
    };
  }

  get hasLayer(): boolean {
    return this.#layers.length > 0;
  }

  /** Esc: first what is open, then the view's own meaning (stop). */
  escape(): boolean {
    const close = this.#layers.at(-1);
    if (close) {
      close();
      return true;
    }
    if (this.onBareEscape) {
      this.onBareEscape();
      return true;
    }
    return false;
  }
}

/** A failure in words: what its code means, and the detail. */
export function explain(failure: Failure): string {
  const head = t(`failure.${failure.code}`);
  return failure.message ? `${head} ${failure.message}` : head;
}

export function provideApp(app: AppState): AppState {
  return setContext(KEY, app);
}

export function useApp(): AppState {
  return getContext<AppState>(KEY);
}
