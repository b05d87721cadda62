/** Words and formats. Two catalogues with the same keys; the language and zone come from the core. */
import type { Language } from '../ipc/bindings';
import type { Catalogue, Key } from './catalogue';
import { en } from './en';
import { es } from './es';

export type { Catalogue, Key, Message } from './catalogue';
export type Params = Record<string, string | number>;

const catalogues: Record<Language, Catalogue> = { en, es };

export const locale = $state<{ language: Language; zone: string }>({ language: 'en', zone: 'UTC' });

function tag(): string {
  return locale.language === 'es' ? 'es-ES' : 'en-GB';
}

/** The words of `key`, with `{name}` filled in. A message with `one` and `other` chooses by `params.n`. */
export function t(key: Key, params: Params = {}): string {
  const message = catalogues[locale.language][key];
  const text =
    typeof message === 'string'
      ? message
      : new Intl.PluralRules(tag()).select(Number(params.n)) === 'one'
        ? message.one
        : message.other;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = params[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? number(value) : value;
  });
}

/** The words of a code that the core sends (`signal`, `state`, ...), or the code itself when it is unknown. */
export function word(prefix: string, code: string): string {
  const key = `${prefix}.${code}`;
  return key in en ? t(key as Key) : code;
}

/** "seconds", "segundo": the name of a unit beside `amount`. */
export function unitName(unit: 'second' | 'minute' | 'hour' | 'day', amount: number): string {
  const parts = new Intl.NumberFormat(tag(), { style: 'unit', unit, unitDisplay: 'long' }).formatToParts(amount);
  return parts.find((part) => part.type === 'unit')?.value ?? unit;
}

export function number(value: number): string {
  return new Intl.NumberFormat(tag()).format(value);
}

export function seconds(ms: number): string {
  return new Intl.NumberFormat(tag(), { maximumFractionDigits: 1 }).format(ms / 1000) + ' s';
}

function format(at: number, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(tag(), { timeZone: locale.zone, ...options }).format(at);
}

export const clock = (at: number) => format(at, { hour: '2-digit', minute: '2-digit' });
export const clockSeconds = (at: number) => format(at, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
export const date = (at: number) => format(at, { day: 'numeric', month: 'short', year: 'numeric' });
export const weekday = (at: number) => format(at, { weekday: 'short', day: 'numeric', month: 'short' });
export const longDay = (at: number) => format(at, { weekday: 'long', day: 'numeric', month: 'long' });
export const monthYear = (at: number) => format(at, { month: 'long', year: 'numeric' });
export const weekdayShort = (at: number) => format(at, { weekday: 'short' });
export const dayOfMonth = (at: number) => format(at, { day: 'numeric' });

/** Local date as `YYYY-MM-DD`, for comparing days. */
export function dayKey(at: number): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: locale.zone }).format(at);
}

/** Time of today, else a short date: for lists. */
export function shortTime(at: number, now: number): string {
  return dayKey(at) === dayKey(now) ? clock(at) : format(at, { day: 'numeric', month: 'short' });
}

/** "14:20", "tomorrow 14:20", "Thu 3 Dec, 14:20". */
export function dayAndTime(at: number, now: number): string {
  const days = Math.round((Date.parse(dayKey(at)) - Date.parse(dayKey(now))) / 86_400_000);
  if (days === 0) return clock(at);
  if (Math.abs(days) === 1) {
    return `${new Intl.RelativeTimeFormat(tag(), { numeric: 'auto' }).format(days, 'day')} ${clock(at)}`;
  }
  return `${weekday(at)}, ${clock(at)}`;
}

/** "3 min", "2 h", "4 d": an age for tables. */
export function age(ms: number): string {
  const unit = (value: number, name: string) =>
    new Intl.NumberFormat(tag(), { style: 'unit', unit: name, unitDisplay: 'short' }).format(Math.floor(value));
  if (ms < 60_000) return unit(Math.max(0, ms / 1000), 'second');
  if (ms < 3_600_000) return unit(ms / 60_000, 'minute');
  if (ms < 86_400_000) return unit(ms / 3_600_000, 'hour');
  return unit(ms / 86_400_000, 'day');
}

/** "3 minutes ago", "in 2 hours". */
export function relative(at: number, now: number): string {
  const delta = at - now;
  const size = Math.abs(delta);
  const format = new Intl.RelativeTimeFormat(tag(), { numeric: 'auto' });
  if (size < 60_000) return format.format(Math.round(delta / 1000), 'second');
  if (size < 3_600_000) return format.format(Math.round(delta / 60_000), 'minute');
  if (size < 86_400_000) return format.format(Math.round(delta / 3_600_000), 'hour');
  return format.format(Math.round(delta / 86_400_000), 'day');
}
