/** What a person does, by keys and buttons: which command leaves, and what is shown after. */
import { cleanup, fireEvent, screen } from '@testing-library/svelte';
import { afterEach, expect, it } from 'vitest';

import { pieces } from '../components/Literal.svelte';
import { blocks } from '../components/markdown';
import { addDays, monday, place, startOfDay } from '../features/calendar/grid';
import { locale } from '../i18n/index.svelte';
import { key, open, press, settle, words } from './window';

afterEach(cleanup);

const sent = (host: Awaited<ReturnType<typeof open>>, name: string) => host.calls.filter((call) => call.name === name).map((call) => call.args);

it('approves with A, shows the undo time, and undoes', async () => {
  const host = await open({ language: 'en' }, 'approvals');
  expect(screen.getAllByText(/ana\.ruiz@example\.test/).length).toBeGreaterThan(0);
  key('a');
  await settle();
  expect(sent(host, 'decide')).toEqual([{ id: '41', decision: 'approve' }]);
  expect(screen.getByText(/^Leaves in \d+ s$/)).toBeInTheDocument();
  press(words('approval.undo'));
  await settle();
  expect(sent(host, 'undo')).toEqual([{ effect: 'e5' }]);
  expect(screen.getByText(words('approval.undone'))).toBeInTheDocument();
});

it('denies with D and moves on; J and K walk the list', async () => {
  const host = await open({ language: 'es' }, 'approvals');
  key('j');
  await settle();
  expect(screen.getByText(words('mark.guests'))).toBeInTheDocument();
  key('k');
  await settle();
  key('d');
  await settle();
  expect(sent(host, 'decide')).toEqual([{ id: '41', decision: 'deny' }]);
});

it('says "saved as a file" wherever no account is set up', async () => {
  await open({ language: 'en', practice: true }, 'approvals');
  expect(screen.getByRole('button', { name: new RegExp('Save as a file') })).toBeInTheDocument();
  expect(screen.queryByText(words('approve.send'))).toBeNull();
});

it('edits into a new card, and letters typed there decide nothing', async () => {
  const host = await open({ language: 'en' }, 'approvals');
  key('e');
  await settle();
  const subject = screen.getByLabelText(words('field.subject'));
  await fireEvent.input(subject, { target: { value: 'Another proposal' } });
  await fireEvent.keyDown(subject, { key: 'a' });
  press(words('approval.edit_save'));
  await settle();
  expect(sent(host, 'decide')).toEqual([]);
  expect(sent(host, 'edit_action')).toMatchObject([{ id: '41', action: { subject: 'Another proposal' } }]);
});

it('stops with Esc only when nothing is open', async () => {
  const host = await open({ language: 'en' });
  const row = host.data.conversations[0];
  if (!row) throw new Error('no conversation');
  row.live = { state: 'thinking', since: row.last_at };
  host.push(['conversations']);
  await settle();
  window.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, cancelable: true }));
  await settle();
  expect(screen.getByRole('dialog')).toBeInTheDocument();
  key('Escape');
  await settle();
  expect(screen.queryByRole('dialog')).toBeNull();
  expect(sent(host, 'stop')).toEqual([]);
  key('Escape');
  await settle();
  expect(sent(host, 'stop')).toEqual([{ conversation: '1' }]);
});

it('sends with Enter and keeps the words when sending fails', async () => {
  const host = await open({ language: 'en', failing: ['send_message'] });
  press('This window');
  await settle();
  const area = screen.getByLabelText(words('composer.placeholder'));
  await fireEvent.input(area, { target: { value: 'schedule dentist on Thursday at 10' } });
  await fireEvent.keyDown(area, { key: 'Enter' });
  await settle();
  expect(sent(host, 'send_message')).toEqual([{ text: 'schedule dentist on Thursday at 10', files: [] }]);
  expect(area).toHaveValue('schedule dentist on Thursday at 10');
  expect(screen.getByText(/disk I\/O error/)).toBeInTheDocument();
});

it.each(['sent', 'not_sent', 'drop', 'leave'] as const)('answers an unknown with "%s"', async (answer) => {
  const host = await open({ language: 'en' }, 'evidence');
  press(/Minutes of the meeting/);
  await settle();
  expect(screen.getByText(words(`answer_mail_text.${answer}`))).toBeInTheDocument();
  press(words(`answer_mail.${answer}`));
  await settle();
  expect(sent(host, 'resolve')).toEqual([{ id: 'e7', answer }]);
});

it('does it anyway only after a second question', async () => {
  const host = await open({ language: 'en' }, 'duplicates');
  press(/Psychology · Wed/);
  await settle();
  press(words('duplicate.do_anyway'));
  await settle();
  expect(sent(host, 'do_anyway')).toEqual([]);
  screen.getAllByRole('button', { name: words('duplicate.do_anyway') }).at(-1)?.click();
  await settle();
  expect(sent(host, 'do_anyway')).toEqual([{ id: '72' }]);
});

it('exports with the chosen format, and tells a cancel from a failure', async () => {
  const host = await open({ language: 'en' }, 'activity');
  press(words('export.short'));
  await settle();
  screen.getByRole('radio', { name: 'CSV' }).click();
  await settle();
  press(words('export.choose'));
  await settle();
  expect(sent(host, 'export_audit')).toMatchObject([{ format: 'csv' }]);
  expect(screen.getByText(/entries in unavez-audit\.csv/)).toBeInTheDocument();
});

it('walks the wizard to its end and changes the language on the way', async () => {
  const host = await open({ language: 'en', firstStart: true, practice: true });
  await fireEvent.change(screen.getByLabelText(words('general.language')), { target: { value: 'es' } });
  await settle();
  expect(screen.getByRole('button', { name: 'Modelo' })).toBeInTheDocument();
  for (let step = 0; step < 6; step++) {
    document.querySelector<HTMLButtonElement>('.wizard footer .primary')?.click();
    await settle();
  }
  expect(sent(host, 'finish_first_start')).toHaveLength(1);
  expect(document.documentElement.lang).toBe('es');
  expect(screen.getByRole('navigation', { name: 'Secciones' })).toBeInTheDocument();
});

it('asks an expired card again from "while you were away"', async () => {
  const host = await open({ language: 'en', away: true });
  press(words('approval.ask_again'));
  await settle();
  expect(sent(host, 'ask_again')).toEqual([{ id: '38' }]);
});

it('replays the story with and without the guard', async () => {
  await open({ language: 'en', data: 'empty', practice: true });
  press(words('story.replay'));
  await settle();
  expect(screen.getByText(words('story.plain_with', { calls: 4, events: 2, prevented: 2 }))).toBeInTheDocument();
  screen.getByRole('radio', { name: words('story.without_guard') }).click();
  await settle();
  expect(screen.getByText(words('story.plain_without', { calls: 4, events: 4, prevented: 0 }))).toBeInTheDocument();
});

it('draws few of 100,000 rows', async () => {
  await open({ language: 'en', data: 'full' }, 'activity');
  const rows = document.querySelectorAll('.activity .row').length;
  expect(rows).toBeGreaterThan(5);
  expect(rows).toBeLessThan(60);
});

it('opens the item of a notification', async () => {
  const host = await open({ language: 'en' });
  host.emit('open_item', { topic: 'evidence', id: 'e7' });
  await settle();
  expect(screen.getByRole('heading', { name: 'Minutes of the meeting' })).toBeInTheDocument();
});

it('keeps 200 scripts as text, in every place that shows what others wrote', async () => {
  const host = await open({ language: 'en' });
  const tags = ['script>alert(1)</script', 'img src=x onerror=alert(1)', 'svg onload=alert(1)', 'iframe src=javascript:alert(1)', 'a href=javascript:alert(1)>x</a'];
  const payloads = Array.from({ length: 200 }, (_, index) => `<${tags[index % tags.length]}> ${index} \u202e\u200b{@html}`);
  const row = host.data.conversations[0];
  const timeline = host.data.timelines['1'];
  const mail = host.data.approvals[0];
  if (!row || !timeline || mail?.action.kind !== 'send_email') throw new Error('sample changed');
  for (const [index, payload] of payloads.entries()) {
    row.title = row.last_text = payload;
    const entry = timeline[index % timeline.length];
    if (entry?.kind === 'burst' && entry.messages[0]) entry.messages[0].text = entry.messages[0].sender = payload;
    if (entry?.kind === 'outbound') entry.content = entry.error = payload;
    mail.action.subject = mail.action.body = mail.row.summary = mail.row.whom = payload;
    mail.action.attachments = [{ name: payload, mime: 'text/plain', sha256: 'aa', bytes: 1 }];
    if (index % 20 !== 0) continue;
    host.push(['conversations', 'approvals']);
    press('Conversations');
    await settle();
    press('Approvals');
    await settle();
    expect(document.querySelectorAll('script, iframe, img, svg[onload], a[href^="javascript"]')).toHaveLength(0);
    expect(document.body.textContent).toContain(`${index}`);
  }
});

it('shows hidden characters by their code', () => {
  expect(pieces('a\u202eb')).toEqual([
    { text: 'a', code: null },
    { text: '', code: 'U+202E' },
    { text: 'b', code: null },
  ]);
});

it('reads the little Markdown an agent writes', () => {
  expect(blocks('**a** b\n\n- one\n- two')).toMatchObject([{ kind: 'paragraph' }, { kind: 'list', items: [[{ text: 'one' }], [{ text: 'two' }]] }]);
});

it('places days by the zone, over a clock change', () => {
  locale.zone = 'Europe/Madrid';
  expect(monday('2026-11-29')).toBe('2026-11-23');
  expect(startOfDay('2026-10-26') - startOfDay('2026-10-25')).toBe(25 * 3_600_000);
  const entry = (id: string, from: string, until: string) => ({ id, title: id, start: { form: 'timed' as const, at: from, zone: 'Europe/Madrid' }, end: { form: 'timed' as const, at: until, zone: 'Europe/Madrid' }, starts_at: Date.parse(from), ends_at: Date.parse(until), all_day: false, location: null, guests: [], recurring: false, effect: null });
  const day = addDays('2026-11-29', 1);
  const placed = place([entry('a', '2026-11-30T10:00:00+01:00', '2026-11-30T11:00:00+01:00'), entry('b', '2026-11-30T10:30:00+01:00', '2026-11-30T11:30:00+01:00')], day);
  expect(placed.map((one) => [one.from, one.column, one.columns])).toEqual([[600, 0, 2], [630, 1, 2]]);
});
