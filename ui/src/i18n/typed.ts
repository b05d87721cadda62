/** What people type in a field, and what it means: days and lengths of time. */

/** `30/11/2026` of an ISO day. */
export function typedDay(day: string): string {
  return day.split('-').reverse().join('/');
}

/** The ISO day of `30/11/2026`, `30.11.26` or `2026-11-30`; `null` when there is no such day. */
export function dayOf(text: string): string | null {
  const iso = /^\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*$/.exec(text);
  const local = /^\s*(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})\s*$/.exec(text);
  const [year, month, day] = iso ? [iso[1], iso[2], iso[3]] : local ? [local[3], local[2], local[1]] : [];
  if (year === undefined || month === undefined || day === undefined) return null;
  const found = `${year.padStart(4, '20')}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  // A day that the calendar does not have comes back as another one.
  const at = Date.parse(`${found}T12:00:00Z`);
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== found ? null : found;
}

export const UNITS = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
export type Unit = keyof typeof UNITS;

const WRITTEN: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `1200ms`, `10m` or `1h 30m`; `null` when it is not understood. */
export function lengthOf(text: string): number | null {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)\s*/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text.trimStart()) return null;
  let total = 0;
  for (const [, amount, unit] of parts) {
    const size = WRITTEN[unit ?? ''];
    if (size === undefined) return null;
    total += Number(amount) * size;
  }
  return total;
}

/** The largest unit in which it is a short number: 90 minutes, not 1.5 hours. */
export function unitOf(ms: number): Unit {
  const whole = (['day', 'hour', 'minute'] as const).find((unit) => ms > 0 && ms % UNITS[unit] === 0);
  // 24 and 72 hours are said in hours.
  return whole === 'day' && ms <= 7 * UNITS.day ? 'hour' : (whole ?? 'second');
}

/** As the configuration file writes it. */
export function writtenLength(ms: number): string {
  const rounded = Math.round(ms);
  const unit = (['h', 'm', 's'] as const).find((name) => rounded > 0 && rounded % (WRITTEN[name] ?? 1) === 0) ?? (rounded === 0 ? 's' : 'ms');
  return `${rounded / (WRITTEN[unit] ?? 1)}${unit}`;
}
