/** Times of events: shown in the event's own zone, never shifted. */
import type { EventTime } from '../ipc/bindings';
import { locale, t } from './index.svelte';

function tag(): string {
  return locale.language === 'es' ? 'es-ES' : 'en-GB';
}

function day(at: number, zone: string): string {
  const options = { weekday: 'short', day: 'numeric', month: 'short', timeZone: zone } as const;
  return new Intl.DateTimeFormat(tag(), options).format(at);
}

function time(at: number, zone: string): string {
  return new Intl.DateTimeFormat(tag(), { hour: '2-digit', minute: '2-digit', timeZone: zone }).format(at);
}

/** "Mon 7 Dec, 15:00", with the zone's name when it isn't the window's. */
export function eventTime(value: EventTime): string {
  if (value.form === 'date') return `${day(Date.parse(`${value.date}T12:00:00Z`), 'UTC')}, ${t('event.all_day')}`;
  const at = Date.parse(value.at);
  const zone = value.zone === locale.zone ? '' : ` (${value.zone})`;
  return `${day(at, value.zone)}, ${time(at, value.zone)}${zone}`;
}

/** Start and end in one line; the day is said once. */
export function eventSpan(start: EventTime, end: EventTime | null): string {
  if (!end) return eventTime(start);
  if (start.form === 'timed' && end.form === 'timed') {
    const [from, until] = [Date.parse(start.at), Date.parse(end.at)];
    if (day(from, start.zone) === day(until, start.zone)) {
      const zone = start.zone === locale.zone ? '' : ` (${start.zone})`;
      return `${day(from, start.zone)}, ${time(from, start.zone)}–${time(until, start.zone)}${zone}`;
    }
  }
  if (start.form === 'date' && end.form === 'date') {
    // The end of an all-day event is the day after its last one.
    const last = Date.parse(`${end.date}T12:00:00Z`) - 86_400_000;
    if (last <= Date.parse(`${start.date}T12:00:00Z`)) return eventTime(start);
    return `${day(Date.parse(`${start.date}T12:00:00Z`), 'UTC')} – ${day(last, 'UTC')}, ${t('event.all_day')}`;
  }
  return `${eventTime(start)} – ${eventTime(end)}`;
}

/** A value of a difference or an argument in words: times as times, lists joined, nothing as a dash. */
export function readable(value: unknown): string {
  if (value === null || value === undefined || value === '') return '—';
  if (typeof value === 'string') {
    if (/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value) && !Number.isNaN(Date.parse(value))) {
      const at = /(Z|[+-]\d\d:?\d\d)$/.test(value) ? Date.parse(value) : NaN;
      if (!Number.isNaN(at)) return `${day(at, locale.zone)}, ${time(at, locale.zone)}`;
      return value.replace('T', ' ').slice(0, 16);
    }
    return value;
  }
  if (Array.isArray(value)) return value.length === 0 ? '—' : value.map(readable).join(', ');
  if (typeof value === 'object') {
    if ('form' in value) return eventTime(value as EventTime);
    return JSON.stringify(value);
  }
  return String(value);
}
