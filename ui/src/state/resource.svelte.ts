/** Data of a view: loaded again when its inputs or its topics change, with its error and its first-load state. */
import type { Failure, Topic } from '../ipc/bindings';
import { failureOf } from '../ipc/host';
import type { AppState } from './app.svelte';

export interface Resource<T> {
  readonly data: T | undefined;
  readonly error: Failure | undefined;
  readonly loading: boolean;
  reload(): void;
}

export function resource<T>(app: AppState, topics: Topic[], load: () => Promise<T> | null): Resource<T> {
  let data = $state.raw<T>();
  let error = $state.raw<Failure>();
  let loading = $state(true);
  let again = $state(0);
  let latest = 0;

  $effect(() => {
    void again;
    for (const topic of topics) void app.touched[topic];
    const ticket = ++latest;
    const promise = load();
    if (!promise) {
      data = undefined;
      loading = false;
      return;
    }
    promise.then(
      (value) => {
        if (ticket !== latest) return;
        data = value;
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
    get data() {
      return data;
    },
    get error() {
      return error;
    },
    get loading() {
      return loading;
    },
    reload() {
      loading = true;
      error = undefined;
      again += 1;
    },
  };
}

export interface Pages<R> {
  readonly rows: R[];
  readonly error: Failure | undefined;
  readonly loading: boolean;
  readonly more: boolean;
  next(): void;
  reload(): void;
}

/**
 * Rows read page by page, newest first. A change reads the first page again and keeps the older rows that were read.
 */
export function pages<R, C>(
  app: AppState,
  topics: Topic[],
  keyOf: (row: R) => string,
  /** What the rows depend on; another value starts over. */
  inputs: () => string,
  load: (older: C | null) => Promise<{ rows: R[]; older: C | null }>,
): Pages<R> {
  let rows = $state.raw<R[]>([]);
  let older = $state.raw<C | null>(null);
  let error = $state.raw<Failure>();
  let loading = $state(true);
  let again = $state(0);
  let latest = 0;
  let reading = false;
  let lastInputs: string | null = null;

  $effect(() => {
    void again;
    for (const topic of topics) void app.touched[topic];
    const asked = inputs();
    const ticket = ++latest;
    load(null).then(
      (page) => {
        if (ticket !== latest) return;
        const fresh = new Set(page.rows.map(keyOf));
        const last = page.rows.at(-1);
        const overlap = last && lastInputs === asked ? rows.findIndex((row) => keyOf(row) === keyOf(last)) : -1;
        if (overlap >= 0) {
          rows = [...page.rows, ...rows.slice(overlap + 1).filter((row) => !fresh.has(keyOf(row)))];
        } else {
          rows = page.rows;
          older = page.older;
        }
        lastInputs = asked;
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

  async function next(): Promise<void> {
    if (older === null || reading) return;
    reading = true;
    const ticket = latest;
    try {
      const page = await load(older);
      if (ticket !== latest) return;
      const known = new Set(rows.map(keyOf));
      rows = [...rows, ...page.rows.filter((row) => !known.has(keyOf(row)))];
      older = page.older;
    } catch (thrown) {
      error = failureOf(thrown);
    } finally {
      reading = false;
    }
  }

  return {
    get rows() {
      return rows;
    },
    get error() {
      return error;
    },
    get loading() {
      return loading;
    },
    get more() {
      return older !== null;
    },
    next: () => void next(),
    reload() {
      loading = true;
      error = undefined;
      again += 1;
    },
  };
}
