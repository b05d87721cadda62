/**
 * A host without a core: the same answers in shape, kept in memory. Tests, `vite dev` and the pictures run over it.
 * It acts: deciding, undoing, resolving and settings change what the next question is answered.
 */
import type { Language, Patch, Snapshot, Theme, TimelineEntry, Topic } from './bindings';
import { DAY, HOUR, MINUTE, NOW, sample, type Sample } from './fake/data';
import { fakeSettings } from './fake/settings';
import { HostError, type Args, type AnswerOf, type CommandName, type EventMap, type Host } from './host';

export interface FakeOptions {
  language?: Language;
  theme?: Theme;
  /** `full`: 100,000 rows in the first timeline and in the log. */
  data?: 'typical' | 'empty' | 'full';
  firstStart?: boolean;
  away?: boolean;
  practice?: boolean;
  /** Commands that fail, or `all`. */
  failing?: CommandName[] | 'all';
}

type Handlers = { [K in CommandName]: (args: Args<K>) => AnswerOf<K> };
type Listener = (payload: never) => void;

const PAGE = 60;
const FULL = 100_000;

export class FakeHost implements Host {
  readonly calls: { name: CommandName; args: unknown }[] = [];
  readonly data: Sample;
  readonly settings = fakeSettings();
  #options: FakeOptions;
  #listeners = new Map<string, Set<Listener>>();
  #handlers: Handlers;

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.data = sample(options.language ?? 'es');
    const { snapshot } = this.data;
    snapshot.theme = options.theme ?? 'light';
    snapshot.first_start = options.firstStart ?? false;
    if (options.firstStart) this.settings.secrets_set = [];
    snapshot.practice = options.practice ?? false;
    if (snapshot.practice) {
      snapshot.mail_saves_files = true;
      snapshot.status.model = { health: 'ok', name: '', state: 'practice', detail: null };
      snapshot.status.mail = { health: 'ok', name: '', state: 'maildir', detail: null };
      snapshot.status.telegram = { health: 'off', name: '', state: 'off', detail: null };
      this.settings.values['model.provider'] = 'practice';
      this.settings.values['mail.backend'] = 'maildir';
    }
    if (options.away) {
      snapshot.away = { from: NOW - 9 * HOUR, until: NOW - 4 * MINUTE, arrived: 6, waiting: 2, not_repeated: 1, expired: [{ approval: '38', summary: this.data.approvals[2]?.row.summary ?? '' }] };
    }
    if (options.data === 'empty') this.#empty();
    this.#handlers = this.#answers();
  }

  async call<K extends CommandName>(name: K, args: Args<K>): Promise<AnswerOf<K>> {
    this.calls.push({ name, args });
    await Promise.resolve();
    const failing = this.#options.failing;
    if (failing === 'all' ? name !== 'snapshot' : failing?.includes(name)) {
      throw new HostError({ code: 'storage', message: 'disk I/O error' });
    }
    const handler = this.#handlers[name] as (args: Args<K>) => AnswerOf<K>;
    // What crosses a real seam is a copy.
    return structuredClone(handler(args));
  }

  on<K extends keyof EventMap>(event: K, listen: (payload: EventMap[K]) => void): () => void {
    const set = this.#listeners.get(event) ?? new Set();
    set.add(listen as Listener);
    this.#listeners.set(event, set);
    return () => set.delete(listen as Listener);
  }

  emit<K extends keyof EventMap>(event: K, payload: EventMap[K]): void {
    for (const listen of this.#listeners.get(event) ?? []) (listen as (payload: EventMap[K]) => void)(payload);
  }

  /** Something changed: the snapshot again, and which views it concerns. */
  push(topics: Topic[]): void {
    const { snapshot, approvals, evidence } = this.data;
    snapshot.badges.approvals = approvals.filter((one) => one.row.state === 'pending').length;
    snapshot.badges.evidence = evidence.filter((one) => one.row.state === 'unknown' && !one.row.left_by_person).length;
    this.emit('patch', { snapshot: structuredClone(snapshot), topics } satisfies Patch);
  }

  #empty(): void {
    const { data } = this;
    const own = data.conversations.find((row) => row.channel === 'window');
    data.conversations = own ? [{ ...own, last_text: '', last_at: 0, live: { state: 'idle' }, turns_today: 0 }] : [];
    data.timelines = {};
    data.approvals = [];
    data.evidence = [];
    data.duplicates = [];
    data.events = [];
    data.activity = [];
    data.days = data.days.map((day) => ({ ...day, merged: 0, prevented: 0, held: 0 }));
    data.snapshot.badges = { approvals: 0, evidence: 0 };
    data.snapshot.status.prevented_today = 0;
    data.snapshot.status.merged_today = 0;
    data.snapshot.status.next_retry_at = null;
  }

  #approval(id: string) {
    const found = this.data.approvals.find((one) => one.row.id === id);
    if (!found) throw new HostError({ code: 'not_found', message: '' });
    return found;
  }

  #effect(id: string) {
    const found = this.data.evidence.find((one) => one.row.id === id);
    if (!found) throw new HostError({ code: 'not_found', message: '' });
    return found;
  }

  #entry(index: number): TimelineEntry {
    const entries = this.data.timelines['1'] ?? [];
    const entry = entries[((index % entries.length) + entries.length) % entries.length] as TimelineEntry;
    return { ...entry, id: `${entry.id}-${index}`, at: NOW - (FULL - index) * 90_000 };
  }

  #timeline(conversation: string, older: number | null) {
    const full = this.#options.data === 'full' && conversation === '1';
    const total = full ? FULL : (this.data.timelines[conversation] ?? []).length;
    const end = older ?? total;
    const start = Math.max(0, end - PAGE);
    const entries = full
      ? Array.from({ length: end - start }, (_, index) => this.#entry(start + index))
      : (this.data.timelines[conversation] ?? []).slice(start, end);
    return { entries, older: start > 0 ? { burst: start, turn: 0, outbound: 0, approval: 0, decided: 0, control: 0 } : null };
  }

  #answers(): Handlers {
    const { data, settings } = this;
    const { snapshot } = data;
    return {
      snapshot: () => snapshot as Snapshot,
      dismiss_away: () => {
        snapshot.away = null;
        this.push([]);
        return null;
      },
      finish_first_start: () => {
        snapshot.first_start = false;
        this.push([]);
        return null;
      },
      set_paused: ({ paused }) => {
        snapshot.paused = paused;
        this.push([]);
        return null;
      },
      search: ({ text }) => {
        const needle = text.toLowerCase();
        const hits = data.evidence
          .filter((one) => `${one.row.summary} ${one.row.whom}`.toLowerCase().includes(needle))
          .map((one) => ({ topic: 'evidence' as const, id: one.row.id, title: one.row.summary, snippet: one.row.whom, at: one.row.created_at }));
        const talks = data.conversations
          .filter((row) => `${row.title} ${row.last_text}`.toLowerCase().includes(needle))
          .map((row) => ({ topic: 'conversations' as const, id: row.id, title: row.title, snippet: row.last_text, at: row.last_at }));
        return [...talks, ...hits];
      },
      conversations: () => data.conversations,
      timeline: ({ conversation, older }) => this.#timeline(conversation, older?.burst ?? null),
      send_message: ({ text, files }) => {
        const own = data.conversations.find((row) => row.channel === 'window');
        if (!own) return null;
        const now = snapshot.now;
        own.last_text = text;
        own.last_at = now;
        own.live = { state: 'buffering', since: now, until: now + 2500, signal: 'neutral' };
        const list = (data.timelines[own.id] ??= []);
        list.push({ kind: 'burst', id: `n${list.length}`, at: now, state: 'buffered', messages: [{ id: `m${list.length}`, at: now, sender: '', text, edited_from: null, forwarded_from: null, reply_to: null, media: files }], signal: 'neutral', window_ms: 2500, waited_ms: 0, flush_reason: '', stale: false, until: now + 2500 });
        this.push(['conversations']);
        return null;
      },
      stop: ({ conversation }) => {
        const row = data.conversations.find((one) => one.id === conversation);
        if (row) row.live = { state: 'idle' };
        this.push(['conversations']);
        return { text: snapshot.language === 'es' ? 'Detenido. Nada estaba a medias.' : 'Stopped. Nothing was half done.' };
      },
      send_again: ({ outbound }) => {
        for (const list of Object.values(data.timelines)) {
          for (const entry of list) if (entry.kind === 'outbound' && entry.id === outbound) entry.sent_again = true;
        }
        this.push(['conversations']);
        return null;
      },
      replay_story: ({ without_guard }) => ({
        totals: { turns: 2, tool_calls: 4, effects_accepted: without_guard ? 4 : 2, duplicates_prevented: without_guard ? 0 : 2, bursts_merged: 0 },
        entries: without_guard
          ? data.story.map((entry) =>
              entry.kind === 'turn'
                ? { ...entry, steps: entry.steps.map((step) => (step.step === 'tool' ? { ...step, chip: 'done' as const, differing: [] } : step)) }
                : entry,
            )
          : data.story,
      }),
      approvals: ({ all }) => data.approvals.map((one) => one.row).filter((row) => all || row.state === 'pending'),
      approval: ({ id }) => this.#approval(id),
      decide: ({ id, decision }) => {
        const { row } = this.#approval(id);
        if (row.state !== 'pending') throw new HostError({ code: 'already_settled', message: row.state });
        row.state = decision === 'approve' ? 'approved' : 'denied';
        row.decided_at = snapshot.now;
        row.decided_by = 'Marta';
        row.surface = 'window';
        row.effect_state = decision === 'approve' ? 'ready' : 'denied';
        row.hold_until = decision === 'approve' && row.tool === 'send_email' ? snapshot.now + snapshot.hold_seconds * 1000 : null;
        const effect = data.evidence.find((one) => one.row.id === row.effect);
        if (effect) {
          effect.row.state = row.effect_state;
          effect.row.hold_until = row.hold_until;
          effect.row.updated_at = snapshot.now;
        }
        this.push(['approvals', 'evidence', 'conversations']);
        return { state: row.state, hold_until: row.hold_until };
      },
      edit_action: ({ id, action }) => {
        const old = this.#approval(id);
        const fresh = structuredClone(old);
        fresh.row.id = String(Number(id) + 100);
        fresh.action = action;
        if (action.kind === 'send_email') fresh.row.summary = action.subject;
        old.row.state = 'denied';
        data.approvals.unshift(fresh);
        this.push(['approvals']);
        return fresh.row.id;
      },
      ask_again: ({ id }) => {
        const fresh = structuredClone(this.#approval(id));
        fresh.row.id = String(Number(id) + 200);
        fresh.row.state = 'pending';
        fresh.row.decided_at = null;
        fresh.row.expires_at = snapshot.now + 72 * HOUR;
        data.approvals.unshift(fresh);
        if (snapshot.away) snapshot.away.expired = [];
        this.push(['approvals']);
        return fresh.row.id;
      },
      undo: ({ effect }) => {
        const found = this.#effect(effect);
        found.row.state = 'cancelled';
        found.row.hold_until = null;
        for (const one of data.approvals) {
          if (one.row.effect === effect) {
            one.row.hold_until = null;
            one.row.effect_state = 'cancelled';
          }
        }
        this.push(['approvals', 'evidence']);
        return null;
      },
      evidence: ({ filter, older }) => {
        const rows = data.evidence.map((one) => one.row).filter((row) => {
          if (filter === 'attention') return row.state === 'unknown' && !row.left_by_person;
          if (filter === 'open') return ['awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown'].includes(row.state);
          if (filter === 'accepted') return row.state === 'accepted';
          if (filter === 'not_done') return ['rejected', 'denied', 'expired', 'cancelled', 'reverted'].includes(row.state);
          return true;
        });
        if (this.#options.data !== 'full' || rows.length === 0) return { rows, older: null };
        const start = Number(older ?? 0);
        const page = Array.from({ length: PAGE }, (_, index) => {
          const row = rows[(start + index) % rows.length] as (typeof rows)[number];
          return { ...row, id: start + index < rows.length ? row.id : `${row.id}-${start + index}`, created_at: NOW - (start + index) * 61_000 };
        });
        return { rows: page, older: start + PAGE < FULL ? String(start + PAGE) : null };
      },
      evidence_detail: ({ id }) => this.#effect(id.split('-')[0] ?? id),
      check_again: () => {
        this.push(['evidence']);
        return null;
      },
      resolve: ({ id, answer }) => {
        const { row, chain } = this.#effect(id);
        if (answer === 'sent') {
          row.state = 'accepted';
          chain.push({ link: 'receipt', at: snapshot.now, source: 'person', provider_id: null, detail: {} });
        } else if (answer === 'not_sent') row.state = 'ready';
        else if (answer === 'drop') row.state = 'cancelled';
        else row.left_by_person = true;
        this.push(['evidence']);
        return null;
      },
      duplicates: ({ layer }) => ({ rows: data.duplicates.map((one) => one.row).filter((row) => layer === null || row.layer === layer), older: null }),
      duplicate: ({ id }) => {
        const found = data.duplicates.find((one) => one.row.id === id);
        if (!found) throw new HostError({ code: 'not_found', message: '' });
        return found;
      },
      duplicate_chart: ({ days }) => {
        const shown = data.days.slice(-days);
        const sum = (key: 'merged' | 'prevented' | 'held') => shown.reduce((total, day) => total + day[key], 0);
        const fired = sum('prevented') + sum('held');
        return { days: shown, merged: sum('merged'), prevented: sum('prevented'), held: sum('held'), top_title: fired > 0 ? 'Marta' : null, top_count: Math.round(fired * 0.7) };
      },
      do_anyway: ({ id }) => {
        const found = data.duplicates.find((one) => one.row.id === id);
        if (!found?.first.effect) throw new HostError({ code: 'invalid', message: '' });
        found.row.done_anyway = found.first.effect;
        this.push(['duplicates', 'evidence']);
        return found.first.effect;
      },
      calendar: ({ from, until }) => ({ name: 'local', local: snapshot.local_calendar, events: data.events.filter((entry) => entry.starts_at < until && entry.ends_at > from) }),
      undo_event: ({ effect }) => {
        data.events = data.events.filter((entry) => entry.effect !== effect);
        this.push(['calendar', 'evidence']);
        return null;
      },
      activity: ({ filter, older }) => {
        const full = this.#options.data === 'full';
        const rows = data.activity.filter((row) => filter.kinds.length === 0 || (filter.kinds as string[]).includes(row.kind));
        const start = older ?? 0;
        const total = full ? FULL : rows.length;
        const page = Array.from({ length: Math.min(PAGE, total - start) }, (_, index) => {
          const row = rows[(start + index) % Math.max(1, rows.length)] as (typeof rows)[number];
          return full ? { ...row, seq: FULL - start - index, at: NOW - (start + index) * 47_000 } : row;
        });
        return { rows: page, older: start + PAGE < total ? start + PAGE : null, total };
      },
      verify_audit: () => ({ entries: data.activity.length, bad: null, reason: null, at: snapshot.now }),
      export_audit: ({ filter, format }) => {
        const entries = data.activity.filter((row) => filter.kinds.length === 0 || (filter.kinds as string[]).includes(row.kind)).length;
        this.emit('export_progress', { written: entries, total: entries, done: true, path: null });
        return { path: `unavez-audit.${format}`, entries };
      },
      cancel_export: () => null,
      settings: () => settings,
      change_settings: ({ change }) => {
        Object.assign(settings.values, change.values);
        const language = settings.values['assistant.language'];
        if (language === 'es' || language === 'en') snapshot.language = language;
        const theme = settings.values['window.theme'];
        if (theme === 'system' || theme === 'light' || theme === 'dark') snapshot.theme = theme;
        this.push(['settings']);
        return null;
      },
      set_secret: ({ key, value }) => {
        settings.secrets_set = settings.secrets_set.filter((one) => one !== key);
        if (value !== null) settings.secrets_set.push(key);
        this.push(['settings']);
        return null;
      },
      find_models: () => (snapshot.practice ? [] : [{ provider: 'ollama', base_url: 'http://127.0.0.1:11434/v1/', models: ['llama3.1', 'qwen3:8b'] }]),
      test_model: () => ({ ok: true, name: 'llama3.1', detail: snapshot.language === 'es' ? 'responde y usa herramientas' : 'answers and calls tools', millis: 1430 }),
      test_telegram: () => ({ ok: true, name: '@unavez_marta_bot', detail: '', millis: 210 }),
      pairing: () => ({ code: '482 913', link: 'https://t.me/unavez_marta_bot?start=482913', until: snapshot.now + 10 * MINUTE, owners: [{ id: '42', name: 'Marta' }] }),
      test_mail: () => ({ ok: false, name: '', detail: '535 5.7.8 Authentication failed', millis: 900 }),
      test_calendar: () => ({ ok: true, name: 'local', detail: '', millis: 3 }),
      explain_debounce: ({ text }) => (/[.!?]$/.test(text) ? { signal: 'closed', window_ms: 1200 } : /^(hola|hi)\b/i.test(text) ? { signal: 'opener', window_ms: 4000 } : { signal: 'neutral', window_ms: 2500 }),
      usage: () => (this.#options.data === 'empty' ? [] : Array.from({ length: 7 }, (_, index) => ({ day: new Date(NOW - index * DAY).toISOString().slice(0, 10), turns: 12 - index, input_tokens: 18_400 - index * 900, output_tokens: 2210 - index * 130, cost_micros: 0 }))),
      schedules: () => (this.#options.data === 'empty' ? [] : [{ id: '1', kind: 'reminder', text: snapshot.language === 'es' ? 'Llamar al banco' : 'Call the bank', next_at: NOW + 19 * HOUR, recurring: false }, { id: '2', kind: 'request', text: snapshot.language === 'es' ? 'Resumen del día' : 'Summary of the day', next_at: NOW + 30 * HOUR, recurring: true }]),
      cancel_schedule: () => null,
      facts: () => (this.#options.data === 'empty' ? [] : [{ id: '1', kind: 'contact', text: 'Ana Ruiz', address: 'ana.ruiz@example.test', at: NOW - 4 * DAY }, { id: '2', kind: 'fact', text: snapshot.language === 'es' ? 'Los viernes no trabaja por la tarde' : 'Does not work on Friday afternoons', address: null, at: NOW - 9 * DAY }]),
      forget_fact: () => null,
      backup: () => ({ path: 'unavez-2026-11-30.backup', entries: 1 }),
      open_data_folder: () => null,
    };
  }
}

/** `?lang=en&theme=dark&data=empty&first&away&practice&fail=all`: what `vite dev` and the pictures show. */
export function fakeFromLocation(search: string): FakeHost {
  const query = new URLSearchParams(search);
  const failing = query.get('fail');
  return new FakeHost({
    language: query.get('lang') === 'en' ? 'en' : 'es',
    theme: query.get('theme') === 'dark' ? 'dark' : 'light',
    data: query.get('data') === 'empty' ? 'empty' : query.get('data') === 'full' ? 'full' : 'typical',
    firstStart: query.has('first'),
    away: query.has('away'),
    practice: query.has('practice'),
    failing: failing === 'all' ? 'all' : undefined,
  });
}
