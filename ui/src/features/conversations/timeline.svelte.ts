/** The timeline of one conversation: the newest page first, older ones as one scrolls up. */
import type { Failure, TimelineCursor, TimelineEntry } from '../../ipc/bindings';
import { failureOf } from '../../ipc/host';
import type { AppState } from '../../state/app.svelte';

export interface Timeline {
  readonly entries: TimelineEntry[];
  readonly error: Failure | undefined;
  readonly loading: boolean;
  readonly more: boolean;
  /** Older rows were just put before the first one. */
  readonly prepended: boolean;
  older(): Promise<void>;
  reload(): void;
}

export function entryKey(entry: TimelineEntry): string {
  return `${entry.kind}:${entry.id}`;
}

export function timeline(app: AppState, conversation: () => string): Timeline {
  let entries = $state.raw<TimelineEntry[]>([]);
  let cursor = $state.raw<TimelineCursor | null>(null);
  let error = $state.raw<Failure>();
  let loading = $state(true);
  let prepended = $state(false);
  let again = $state(0);
  let latest = 0;
  let reading = false;

  $effect(() => {
    void again;
    void app.touched.conversations;
    void app.touched.approvals;
    void app.touched.evidence;
    const id = conversation();
    const ticket = ++latest;
    app.host.call('timeline', { conversation: id, older: null }).then(
      (page) => {
        if (ticket !== latest) return;
        const first = page.entries[0];
        const overlap = first ? entries.findIndex((entry) => entryKey(entry) === entryKey(first)) : -1;
        prepended = false;
        if (overlap > 0) {
          // Older pages were read: keep them before the fresh newest page.
          entries = [...entries.slice(0, overlap), ...page.entries];
        } else {
          entries = page.entries;
          cursor = page.older;
        }
        error = undefined;
        loading = false;
      },
      (thrown: unknown) => {
        if (ticket !== latest) return;
        error = failureOf(thrown);
        loading = false;
      },
    );
  });

  return {
    get entries() {
      return entries;
    },
    get error() {
      return error;
    },
    get loading() {
      return loading;
    },
    get more() {
      return cursor !== null;
    },
    get prepended() {
      return prepended;
    },
    async older() {
      if (!cursor || reading) return;
      reading = true;
      try {
        const page = await app.host.call('timeline', { conversation: conversation(), older: cursor });
        const known = new Set(entries.map(entryKey));
        prepended = true;
        entries = [...page.entries.filter((entry) => !known.has(entryKey(entry))), ...entries];
        cursor = page.older;
      } catch (thrown) {
        error = failureOf(thrown);
      } finally {
        reading = false;
      }
    },
    reload() {
      loading = true;
      error = undefined;
      again += 1;
    },
  };
}
