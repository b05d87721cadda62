/** Days and columns of the calendar view: pure. */
import { dayKey, locale } from '../../i18n/index.svelte';
import type { CalendarEntry } from '../../ipc/bindings';

const DAY = 86_400_000;

/** Offset of the window's zone at an instant, in ms. */
function offsetAt(at: number): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: locale.zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const value = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return (
    Date.UTC(value('year'), value('month') - 1, value('day'), value('hour'), value('minute'), value('second')) -
    Math.floor(at / 1000) * 1000
  );
}

/** Instant at which a local date starts in the window's zone. */
export function startOfDay(key: string): number {
  const utc = Date.parse(`${key}T00:00:00Z`);
  const guess = utc - offsetAt(utc);
  return utc - offsetAt(guess);
}

export function addDays(key: string, days: number): string {
  return new Date(Date.parse(`${key}T12:00:00Z`) + days * DAY).toISOString().slice(0, 10);
}

/** The Monday of the week. */
export function monday(key: string): string {
  const weekday = (new Date(`${key}T12:00:00Z`).getUTCDay() + 6) % 7;
  return addDays(key, -weekday);
}

/** Minutes since local midnight. */
export function minutesOf(at: number): number {
  const local = new Date(at + offsetAt(at));
  return local.getUTCHours() * 60 + local.getUTCMinutes();
}

export interface Placed {
  entry: CalendarEntry;
  /** Minutes from midnight. */
  from: number;
  until: number;
  /** Column among those at the same time, and how many there are. */
  column: number;
  columns: number;
}

/** Timed entries of one day, beside each other where they overlap. */
export function place(entries: CalendarEntry[], key: string): Placed[] {
  const start = startOfDay(key);
  const end = startOfDay(addDays(key, 1));
  const day = entries
    .filter((entry) => !entry.all_day && entry.starts_at < end && Math.max(entry.ends_at, entry.starts_at + 1) > start)
    .map((entry) => {
      const from = entry.starts_at <= start ? 0 : minutesOf(entry.starts_at);
      const until = entry.ends_at >= end ? 24 * 60 : Math.max(minutesOf(entry.ends_at), from + 25);
      return { entry, from, until, column: 0, columns: 1 };
    })
    .sort((a, b) => a.from - b.from || b.until - a.until);
  let cluster: Placed[] = [];
  let reach = -1;
  const close = () => {
    const columns = Math.max(1, ...cluster.map((placed) => placed.column + 1));
    for (const placed of cluster) placed.columns = columns;
    cluster = [];
  };
  for (const placed of day) {
    if (placed.from >= reach) close();
    const taken = new Set(cluster.filter((other) => other.until > placed.from).map((other) => other.column));
    while (taken.has(placed.column)) placed.column += 1;
    cluster.push(placed);
    reach = Math.max(reach, placed.until);
  }
  close();
  return day;
}

export function allDay(entries: CalendarEntry[], key: string): CalendarEntry[] {
  return entries.filter((entry) => {
    if (!entry.all_day) return false;
    const first = entry.start.form === 'date' ? entry.start.date : dayKey(entry.starts_at);
    const after = entry.end.form === 'date' ? entry.end.date : dayKey(entry.ends_at);
    return key >= first && (key < after || key === first);
  });
}
