/** What is typed into fields, and what of it is written. */
import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it } from 'vitest';

import { dayOf, lengthOf, typedDay, unitOf, writtenLength } from '../i18n/typed';
import { open, press, settle, words } from './window';

afterEach(cleanup);

it.each([
  ['30/11/2026', '2026-11-30'],
  ['1.2.26', '2026-02-01'],
  ['2026-11-30', '2026-11-30'],
  ['31/11/2026', null],
  ['29/02/2028', '2028-02-29'],
  ['11/30/2026', null],
  ['mañana', null],
])('reads the day %s', (typed, day) => {
  expect(dayOf(typed)).toBe(day);
  if (day) expect(dayOf(typedDay(day))).toBe(day);
});

it.each([
  ['1200ms', 1200, 'second', '1200ms'],
  ['2500ms', 2500, 'second', '2500ms'],
  ['4s', 4000, 'second', '4s'],
  ['10m', 600_000, 'minute', '10m'],
  ['1h 30m', 5_400_000, 'minute', '90m'],
  ['72h', 259_200_000, 'hour', '72h'],
  ['0s', 0, 'second', '0s'],
] as const)('reads and writes the length %s', (text, ms, unit, written) => {
  expect(lengthOf(text)).toBe(ms);
  expect(unitOf(ms)).toBe(unit);
  expect(writtenLength(ms)).toBe(written);
});

it('does not take for a length what is none', () => {
  expect(lengthOf('soon')).toBeNull();
  expect(lengthOf('10 parsecs')).toBeNull();
});

it('writes a length by number and unit', async () => {
  const host = await open({ language: 'en' }, 'settings');
  press(words('page.guard'));
  await settle();
  const field = screen.getByLabelText(words('guard.window'));
  expect(field).toHaveValue(10);
  await fireEvent.input(field, { target: { value: '15' } });
  await fireEvent.blur(field);
  await settle();
  await fireEvent.change(screen.getByLabelText(words('duration.unit', { name: words('guard.window') })), { target: { value: 'hour' } });
  await settle();
  const written = host.calls.filter((call) => call.name === 'change_settings').map((call) => call.args);
  expect(written).toEqual([{ change: { values: { 'guard.window': '15m' } } }, { change: { values: { 'guard.window': '15h' } } }]);
});

it('filters the log by a typed day in the zone of the window, and ignores a day that is none', async () => {
  const host = await open({ language: 'es' }, 'activity');
  const asked = () => host.calls.filter((call) => call.name === 'activity').map((call) => (call.args as { filter: { since: number | null; until: number | null } }).filter);
  const field = screen.getByLabelText(words('activity.day'));
  await fireEvent.input(field, { target: { value: '31/11/2026' } });
  await fireEvent.blur(field);
  await settle();
  expect(field).toHaveAttribute('aria-invalid', 'true');
  expect(asked().at(-1)?.since).toBeNull();
  await fireEvent.input(field, { target: { value: '25/10/2026' } });
  await fireEvent.blur(field);
  await settle();
  // The day on which the clocks go back has 25 hours.
  const last = asked().at(-1);
  expect(last?.since).toBe(Date.parse('2026-10-25T00:00:00+02:00'));
  expect(last?.until).toBe(Date.parse('2026-10-26T00:00:00+01:00'));
});

it('draws the pairing link as a QR code once the bot is known', async () => {
  await open({ language: 'en' }, 'settings');
  press(words('page.channels'));
  await settle();
  press(words('telegram.show_code'));
  await settle();
  const code = screen.getByRole('img', { name: words('telegram.qr') });
  // 29 modules and a quiet zone of 4 on each side; a finder begins right after it.
  expect(code.getAttribute('viewBox')).toMatch(/^0 0 (3[37]) \1$/);
  expect(code.querySelector('path')?.getAttribute('d')).toMatch(/^M4 4h1v1h-1zM5 4h1v1h-1z/);
});

it('decides several at once, only those that are ticked', async () => {
  const host = await open({ language: 'en' }, 'approvals');
  press(words('together.open'));
  await settle();
  const approve = () => screen.getByRole('button', { name: /^Approve \d/ });
  expect(approve()).toBeDisabled();
  const ticks = screen.getAllByRole('checkbox');
  expect(ticks.length).toBe(2);
  await fireEvent.click(ticks[0] as HTMLElement);
  await settle();
  approve().click();
  await settle();
  expect(host.calls.filter((call) => call.name === 'decide').map((call) => call.args)).toEqual([{ id: '41', decision: 'approve' }]);
  expect(screen.getAllByRole('checkbox').length).toBe(1);
});

it('tells how many of several were decided elsewhere meanwhile', async () => {
  const host = await open({ language: 'en' }, 'approvals');
  press(words('together.open'));
  await settle();
  for (const tick of screen.getAllByRole('checkbox')) await fireEvent.click(tick);
  const elsewhere = host.data.approvals.find((one) => one.row.id === '41');
  if (elsewhere) elsewhere.row.state = 'denied';
  screen.getByRole('button', { name: /^Approve 2/ }).click();
  await settle();
  expect(screen.getByText(words('together.missed', { n: 1 }))).toBeInTheDocument();
});
