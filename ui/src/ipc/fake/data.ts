/** Sample data of the fake host: one believable day, in either language. */
import type {
  Action,
  ActivityRow,
  ApprovalDetail,
  CalendarEntry,
  ChainLink,
  ConversationRow,
  DuplicateDetail,
  EvidenceDetail,
  Language,
  LayerDay,
  Snapshot,
  TimelineEntry,
} from '../bindings';

/** Monday 30 November 2026, 14:35 in Madrid. */
export const NOW = Date.parse('2026-11-30T14:35:00+01:00');
export const ZONE = 'Europe/Madrid';
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 86_400_000;

export interface Sample {
  snapshot: Snapshot;
  conversations: ConversationRow[];
  timelines: Record<string, TimelineEntry[]>;
  approvals: ApprovalDetail[];
  evidence: EvidenceDetail[];
  duplicates: DuplicateDetail[];
  days: LayerDay[];
  events: CalendarEntry[];
  activity: ActivityRow[];
  story: TimelineEntry[];
}

const timed = (at: string) => ({ form: 'timed' as const, at, zone: ZONE });
const at = (text: string) => Date.parse(`2026-11-30T${text}+01:00`);

export function event(title: string, start: string, end: string | null, more: Partial<Extract<Action, { kind: 'create_event' }>> = {}): Action {
  return {
    kind: 'create_event',
    calendar: 'local',
    title,
    start: timed(start),
    end: end ? timed(end) : null,
    location: null,
    description: null,
    guests: [],
    recurrence: null,
    reminders: [],
    ...more,
  };
}

export function mail(to: string, subject: string, body: string, more: Partial<Extract<Action, { kind: 'send_email' }>> = {}): Action {
  return {
    kind: 'send_email',
    from: 'Marta <marta@example.test>',
    to: [to],
    cc: [],
    bcc: [],
    subject,
    body,
    html: null,
    attachments: [],
    in_reply_to: null,
    references: [],
    thread: null,
    ...more,
  };
}

export function sample(language: Language): Sample {
  const say = (es: string, en: string) => (language === 'es' ? es : en);
  const psychology = say('Psicología', 'Psychology');
  const first = event(psychology, '2026-12-07T15:00:00+01:00', null);
  const again = event(psychology, '2026-12-07T15:00:00+01:00', '2026-12-07T16:00:00+01:00');
  const second = event(psychology, '2026-12-09T15:00:00+01:00', null);
  const secondAgain = event(psychology, '2026-12-09T15:00:00+01:00', '2026-12-09T16:00:00+01:00');
  const proposal = mail(
    'Ana Ruiz <ana.ruiz@example.test>',
    say('Propuesta para el jueves', 'Proposal for Thursday'),
    say(
      'Hola Ana:\n\nte propongo vernos el jueves 10 a las 12:00 en la sala 3. Si te va mejor otra hora, dímela y lo muevo.\n\nUn abrazo,\nMarta',
      'Hi Ana,\n\nhow about meeting on Thursday 10 at 12:00 in room 3? If another time suits you better, tell me and I will move it.\n\nBest,\nMarta',
    ),
  );
  const review = event(say('Revisión de presupuesto', 'Budget review'), '2026-12-10T12:00:00+01:00', '2026-12-10T13:00:00+01:00', {
    location: say('Sala 3', 'Room 3'),
    guests: ['luis@example.test', 'carmen@example.test', 'ana.ruiz@example.test'],
    reminders: [15],
  });
  const reviewBefore = event(say('Revisión del presupuesto', 'Budget review'), '2026-12-10T12:00:00+01:00', '2026-12-10T12:30:00+01:00', {
    location: say('Sala 3', 'Room 3'),
    guests: ['luis@example.test', 'carmen@example.test'],
  });
  const invoice = mail(
    'facturas@proveedor.example',
    say('Factura de noviembre', 'November invoice'),
    say('Buenas tardes:\n\nadjunto la factura de noviembre.\n\nUn saludo,\nMarta', 'Good afternoon,\n\nthe November invoice is attached.\n\nRegards,\nMarta'),
    { attachments: [{ name: say('factura-2026-11.pdf', 'invoice-2026-11.pdf'), mime: 'application/pdf', sha256: 'c1'.repeat(32), bytes: 84_212 }] },
  );

  const chain = (request: string, tool: string, when: number, who: string): ChainLink[] => [
    { link: 'intent', at: when - 22_000, request, tool, conversation_title: who },
    { link: 'action', at: when, tool, digest: '9f3c51b0aa1e7742' },
  ];
  const windowTitle = say('Esta ventana', 'This window');
  const mailRequest = say('mándale a Ana un correo para vernos el jueves a las 12', 'send Ana a mail to meet on Thursday at 12');

  const conversations: ConversationRow[] = [
    { id: '1', channel: 'telegram', kind: 'private', title: 'Marta', last_text: say('Ya estaban en tu calendario desde hace un momento. ¿Les pongo fin a las 16:00?', 'They were in your calendar already. Shall I let them end at 16:00?'), last_at: at('14:32:09'), live: { state: 'idle' }, turns_today: 3, prevented_today: 2, unreachable: null },
    { id: '2', channel: 'window', kind: 'private', title: windowTitle, last_text: say('He preparado el correo para Ana. Espera tu OK.', 'The mail to Ana is ready. It waits for your OK.'), last_at: at('14:20:04'), live: { state: 'waiting', approval: '41' }, turns_today: 2, prevented_today: 0, unreachable: null },
    { id: '3', channel: 'telegram', kind: 'group', title: say('Equipo · Sala 3', 'Team · Room 3'), last_text: say('¿Movemos la revisión al jueves?', 'Shall we move the review to Thursday?'), last_at: at('13:05:40'), live: { state: 'idle' }, turns_today: 1, prevented_today: 0, unreachable: null },
    { id: '4', channel: 'telegram', kind: 'private', title: 'Luis', last_text: say('Recordatorio puesto para mañana a las 9.', 'Reminder set for tomorrow at 9.'), last_at: NOW - 27 * HOUR, live: { state: 'idle' }, turns_today: 0, prevented_today: 0, unreachable: null },
  ];

  const tool = (name: string, fields: [string, string][], chip: 'done' | 'differs' | 'needs_approval' | 'read', effect: string | null, differing: string[] = [], approval: string | null = null) => ({
    step: 'tool' as const,
    name,
    fields: fields.map(([field, value]) => ({ name: field, value })),
    chip,
    differing,
    effect,
    approval,
    millis: 40,
  });
  const said = (id: string, time: string, text: string, sender = 'Marta') => ({ id, at: at(time), sender, text, edited_from: null, forwarded_from: null, reply_to: null, media: [] as string[] });
  const dayText = (es: string, en: string) => say(es, en);

  const incident: TimelineEntry[] = [
    { kind: 'burst', id: '11', at: at('14:31:48'), state: 'answered', messages: [said('101', '14:31:48', say('Confirmo las horas de psicología', 'I confirm the psychology hours'))], signal: 'neutral', window_ms: 2500, waited_ms: 2500, flush_reason: 'quiet', stale: false, until: null },
    {
      kind: 'turn', id: 't11', at: at('14:31:50'), number: 2, state: 'ended', ending: 'answered', reason: null, model: 'llama3.1', input_tokens: 1840, output_tokens: 212, millis: 6800,
      steps: [
        { step: 'model', millis: 4100, text: '' },
        tool('create_event', [['title', psychology], ['start', dayText('lun 7 dic, 15:00', 'Mon 7 Dec, 15:00')]], 'done', 'e1'),
        tool('create_event', [['title', psychology], ['start', dayText('mié 9 dic, 15:00', 'Wed 9 Dec, 15:00')]], 'done', 'e2'),
        { step: 'model', millis: 2500, text: '' },
      ],
    },
    { kind: 'outbound', role: 'reply', id: '51', at: at('14:31:56'), mode: 'immediate', fell_back: false, state: 'delivered', content: say('Confirmadas y agendadas: **lunes 7** y **miércoles 9** a las 15:00.', 'Confirmed and scheduled: **Monday 7** and **Wednesday 9** at 15:00.'), error: null, sent_again: false, delivered_at: at('14:31:57') },
    { kind: 'burst', id: '12', at: at('14:32:00'), state: 'answered', messages: [said('102', '14:32:00', say('Agéndame las horas en mi calendario', 'Put the hours in my calendar'))], signal: 'neutral', window_ms: 2500, waited_ms: 2500, flush_reason: 'quiet', stale: false, until: null },
    {
      kind: 'turn', id: 't12', at: at('14:32:03'), number: 3, state: 'ended', ending: 'answered', reason: null, model: 'llama3.1', input_tokens: 2210, output_tokens: 240, millis: 6200,
      steps: [
        { step: 'model', millis: 3900, text: '' },
        tool('create_event', [['title', psychology], ['start', dayText('lun 7 dic, 15:00', 'Mon 7 Dec, 15:00')], ['end', '16:00']], 'differs', 'e1', ['end']),
        tool('create_event', [['title', psychology], ['start', dayText('mié 9 dic, 15:00', 'Wed 9 Dec, 15:00')], ['end', '16:00']], 'differs', 'e2', ['end']),
        { step: 'model', millis: 2200, text: '' },
      ],
    },
    { kind: 'outbound', role: 'reply', id: '52', at: at('14:32:09'), mode: 'immediate', fell_back: false, state: 'delivered', content: say('Ya estaban en tu calendario desde hace un momento. ¿Les pongo fin a las 16:00?', 'They were in your calendar already. Shall I let them end at 16:00?'), error: null, sent_again: false, delivered_at: at('14:32:09') },
  ];

  const timelines: Record<string, TimelineEntry[]> = {
    '1': [
      { kind: 'burst', id: '9', at: at('09:12:04'), state: 'answered', messages: [said('91', '09:12:01', say('hola', 'hi')), said('92', '09:12:02', say('una cosa', 'one thing')), said('93', '09:12:04', say('¿qué tengo el jueves por la tarde?', 'what do I have on Thursday afternoon?'))], signal: 'closed', window_ms: 1200, waited_ms: 4300, flush_reason: 'quiet', stale: false, until: null },
      { kind: 'turn', id: 't9', at: at('09:12:06'), number: 1, state: 'ended', ending: 'answered', reason: null, model: 'llama3.1', input_tokens: 1210, output_tokens: 96, millis: 3900, steps: [{ step: 'model', millis: 1900, text: '' }, tool('list_events', [['from', dayText('jue 3 dic, 14:00', 'Thu 3 Dec, 14:00')], ['to', '20:00']], 'read', null), { step: 'model', millis: 1700, text: '' }] },
      { kind: 'outbound', role: 'reply', id: '49', at: at('09:12:10'), mode: 'immediate', fell_back: false, state: 'uncertain', content: say('El jueves por la tarde tienes:\n\n- 16:00 Dentista\n- 18:30 Clase de cerámica', 'On Thursday afternoon you have:\n\n- 16:00 Dentist\n- 18:30 Pottery class'), error: say('se agotó el tiempo después de enviar', 'timed out after sending'), sent_again: false, delivered_at: null },
      ...incident,
    ],
    '2': [
      { kind: 'burst', id: '21', at: at('14:19:40'), state: 'answered', messages: [said('201', '14:19:40', mailRequest)], signal: 'neutral', window_ms: 2500, waited_ms: 2500, flush_reason: 'quiet', stale: false, until: null },
      { kind: 'turn', id: 't21', at: at('14:19:43'), number: 1, state: 'ended', ending: 'answered', reason: null, model: 'llama3.1', input_tokens: 1502, output_tokens: 180, millis: 21_000, steps: [{ step: 'model', millis: 9000, text: '' }, tool('send_email', [['to', 'ana.ruiz@example.test'], ['subject', say('Propuesta para el jueves', 'Proposal for Thursday')]], 'needs_approval', 'e5', [], '41'), { step: 'model', millis: 8000, text: '' }] },
      { kind: 'outbound', role: 'reply', id: '61', at: at('14:20:04'), mode: 'immediate', fell_back: false, state: 'delivered', content: say('He preparado el correo para Ana. Espera tu OK.', 'The mail to Ana is ready. It waits for your OK.'), error: null, sent_again: false, delivered_at: at('14:20:04') },
      { kind: 'decision', id: '39', at: at('14:24:10'), state: 'approved', summary: say('Factura de noviembre', 'November invoice'), who: 'Marta', surface: 'telegram', effect: 'e4' },
      { kind: 'control', id: '210', at: at('14:26:00'), sender: 'Marta', text: '/status', state: 'control', reason: null },
    ],
    '3': [{ kind: 'burst', id: '31', at: at('13:05:40'), state: 'answered', messages: [said('301', '13:05:40', say('¿Movemos la revisión al jueves?', 'Shall we move the review to Thursday?'), 'Carmen')], signal: 'closed', window_ms: 1200, waited_ms: 1200, flush_reason: 'quiet', stale: false, until: null }],
    '4': [],
  };

  const approvals: ApprovalDetail[] = [
    {
      row: { id: '41', effect: 'e5', tool: 'send_email', state: 'pending', summary: say('Propuesta para el jueves', 'Proposal for Thursday'), whom: 'Ana Ruiz', marks: ['new_recipient'], conversation: '2', conversation_title: windowTitle, requested_at: at('14:20:02'), expires_at: at('14:20:02') + 72 * HOUR, decided_at: null, decided_by: null, surface: null, effect_state: 'awaiting_approval', hold_until: null },
      action: proposal, literal_hash: '9f3c51b0aa1e7742', reason: null,
      notes: [{ mark: 'new_recipient', target: 'ana.ruiz@example.test', origin: say('lo que escribiste a las 14:19', 'what you wrote at 14:19'), seconds: null }],
      near: null, chain: [...chain(mailRequest, 'send_email', at('14:20:02'), windowTitle), { link: 'approval', id: '41', at: at('14:20:02'), state: 'pending', who: null, surface: null, decided_at: null, reason: null }],
    },
    {
      row: { id: '40', effect: 'e6', tool: 'create_event', state: 'pending', summary: say('Revisión de presupuesto', 'Budget review'), whom: say('3 invitados', '3 guests'), marks: ['near_duplicate', 'guests'], conversation: '3', conversation_title: say('Equipo · Sala 3', 'Team · Room 3'), requested_at: at('11:02:00'), expires_at: at('11:02:00') + 72 * HOUR, decided_at: null, decided_by: null, surface: null, effect_state: 'awaiting_approval', hold_until: null },
      action: review, literal_hash: '71aa04', reason: null, notes: [],
      near: { effect: 'e3', at: at('08:40:00'), state: 'accepted', action: reviewBefore, summary: say('Revisión del presupuesto', 'Budget review'), differences: [{ field: 'end', first: timed('2026-12-10T12:30:00+01:00'), now: timed('2026-12-10T13:00:00+01:00') }, { field: 'guests', first: ['luis@example.test', 'carmen@example.test'], now: ['luis@example.test', 'carmen@example.test', 'ana.ruiz@example.test'] }] },
      chain: [...chain(say('pon la revisión del jueves con Luis, Carmen y Ana', 'put in Thursday’s review with Luis, Carmen and Ana'), 'create_event', at('11:02:00'), say('Equipo · Sala 3', 'Team · Room 3')), { link: 'approval', id: '40', at: at('11:02:00'), state: 'pending', who: null, surface: null, decided_at: null, reason: null }],
    },
    {
      row: { id: '38', effect: 'e9', tool: 'send_email', state: 'expired', summary: say('Presupuesto de la obra', 'Quote for the works'), whom: 'reformas@example.test', marks: ['untrusted_target', 'stale'], conversation: '1', conversation_title: 'Marta', requested_at: NOW - 80 * HOUR, expires_at: NOW - 8 * HOUR, decided_at: NOW - 8 * HOUR, decided_by: null, surface: null, effect_state: 'expired', hold_until: null },
      action: mail('reformas@example.test', say('Presupuesto de la obra', 'Quote for the works'), say('Buenos días:\n\n¿podrían enviarme el presupuesto?\n\nGracias', 'Good morning,\n\ncould you send me the quote?\n\nThank you')), literal_hash: '00aa', reason: null,
      notes: [{ mark: 'untrusted_target', target: 'reformas@example.test', origin: say('un correo leído: «Oferta de reformas»', 'a mail that was read: “Renovation offer”'), seconds: null }, { mark: 'stale', target: null, origin: null, seconds: 21_600 }],
      near: null, chain: chain(say('pide el presupuesto', 'ask for the quote'), 'send_email', NOW - 80 * HOUR, 'Marta'),
    },
  ];

  const evidenceRow = (id: string, tool: string, summary: string, whom: string, state: EvidenceDetail['row']['state'], created: number, more: Partial<EvidenceDetail['row']> = {}): EvidenceDetail['row'] => ({ id, tool, summary, whom, state, partial: false, saved_as_file: false, attempts: 1, next_attempt_at: null, provider_id: null, last_error: null, left_by_person: false, hold_until: null, created_at: created, updated_at: created, ...more });
  const done = (reply: string, start: number, outcome: string, phase = 'done'): ChainLink => ({ link: 'attempt', n: 1, phase, reply, outcome, late: false, started_at: start, ended_at: start + 820 });
  const receipt = (provider: string, when: number): ChainLink => ({ link: 'receipt', at: when, source: 'provider', provider_id: provider, detail: {} });
  const detail = (row: EvidenceDetail['row'], action: Action, links: ChainLink[], more: Partial<EvidenceDetail> = {}): EvidenceDetail => ({ row, action, account: action.kind === 'send_email' ? 'marta@example.test' : 'local', message_id: null, idempotency_key: 'b1946ac92492d2347c6235b4d2611184', conversation: '1', released: null, recipients: [], chain: links, ...more });
  const confirm = say('Confirmo las horas de psicología', 'I confirm the psychology hours');

  const unknownMail = mail('luis@example.test', say('Acta de la reunión', 'Minutes of the meeting'), say('Luis:\n\nte paso el acta de ayer.\n\nMarta', 'Luis,\n\nhere are yesterday’s minutes.\n\nMarta'));
  const evidence: EvidenceDetail[] = [
    detail(evidenceRow('e2', 'create_event', psychology, dayText('mié 9 dic, 15:00', 'Wed 9 Dec, 15:00'), 'accepted', at('14:31:54'), { provider_id: 'u9k2m4q7' }), second, [...chain(confirm, 'create_event', at('14:31:54'), 'Marta'), done('', at('14:31:54'), 'accepted'), receipt('u9k2m4q7', at('14:31:55'))]),
    detail(evidenceRow('e1', 'create_event', psychology, dayText('lun 7 dic, 15:00', 'Mon 7 Dec, 15:00'), 'accepted', at('14:31:53'), { provider_id: 'u9k2m4q6' }), first, [...chain(confirm, 'create_event', at('14:31:53'), 'Marta'), done('', at('14:31:53'), 'accepted'), receipt('u9k2m4q6', at('14:31:54'))]),
    detail(evidenceRow('e5', 'send_email', say('Propuesta para el jueves', 'Proposal for Thursday'), 'Ana Ruiz', 'awaiting_approval', at('14:20:02'), { attempts: 0 }), proposal, approvals[0]?.chain ?? [], { conversation: '2' }),
    detail(
      evidenceRow('e7', 'send_email', say('Acta de la reunión', 'Minutes of the meeting'), 'luis@example.test', 'unknown', at('13:41:12'), { last_error: say('la conexión se cerró tras el final del mensaje, antes de la respuesta', 'the connection closed after the end of the message, before the reply'), next_attempt_at: NOW + 7 * MINUTE }),
      unknownMail,
      [...chain(say('mándale el acta a Luis', 'send Luis the minutes'), 'send_email', at('13:41:12'), 'Marta'), { link: 'approval', id: '37', at: at('13:41:12'), state: 'approved', who: 'Marta', surface: 'telegram', decided_at: at('13:42:40'), reason: null }, { link: 'attempt', n: 1, phase: 'final_dot', reply: null, outcome: 'unknown', late: false, started_at: at('13:42:51'), ended_at: at('13:42:59') }],
      { message_id: '<0198f3c2-71aa@example.test>', recipients: [{ address: 'luis@example.test', state: 'open', reply: null }] },
    ),
    detail(
      evidenceRow('e4', 'send_email', say('Factura de noviembre', 'November invoice'), 'facturas@proveedor.example', 'retryable', at('14:23:58'), { attempts: 2, next_attempt_at: NOW + 4 * MINUTE, last_error: '451 4.7.1 Greylisted, please try again later' }),
      invoice,
      [...chain(say('envía la factura', 'send the invoice'), 'send_email', at('14:23:58'), windowTitle), { link: 'approval', id: '39', at: at('14:23:58'), state: 'approved', who: 'Marta', surface: 'telegram', decided_at: at('14:24:10'), reason: null }, { link: 'attempt', n: 1, phase: 'rcpt', reply: '451 4.7.1 Greylisted, please try again later', outcome: 'retryable', late: false, started_at: at('14:24:21'), ended_at: at('14:24:22') }, { link: 'attempt', n: 2, phase: 'rcpt', reply: '451 4.7.1 Greylisted, please try again later', outcome: 'retryable', late: false, started_at: at('14:29:22'), ended_at: at('14:29:23') }],
      { message_id: '<0198f3c2-88b1@example.test>', conversation: '2' },
    ),
    detail(evidenceRow('e8', 'send_email', say('Gracias por la visita', 'Thank you for the visit'), 'carmen@example.test', 'accepted', at('12:10:00'), { saved_as_file: true, provider_id: 'new/0198f3.eml' }), mail('carmen@example.test', say('Gracias por la visita', 'Thank you for the visit'), say('Carmen, gracias por venir.', 'Carmen, thank you for coming.')), [...chain(say('dale las gracias a Carmen', 'thank Carmen'), 'send_email', at('12:10:00'), windowTitle), done('', at('12:10:20'), 'accepted', 'write'), receipt('new/0198f3.eml', at('12:10:21'))], { message_id: '<0198f3@example.test>' }),
    detail(evidenceRow('e3', 'create_event', say('Revisión del presupuesto', 'Budget review'), say('2 invitados', '2 guests'), 'accepted', at('08:40:00'), { provider_id: 'r81aa0' }), reviewBefore, [...chain(say('pon la revisión', 'put in the review'), 'create_event', at('08:40:00'), say('Equipo · Sala 3', 'Team · Room 3')), done('201 Created', at('08:40:02'), 'accepted'), receipt('r81aa0', at('08:40:03'))]),
    detail(evidenceRow('e10', 'send_email', say('Alta en el boletín', 'Newsletter sign-up'), 'alta@boletin.example', 'rejected', NOW - 26 * HOUR, { last_error: '550 5.1.1 Mailbox does not exist' }), mail('alta@boletin.example', say('Alta en el boletín', 'Newsletter sign-up'), '—'), [...chain(say('apúntame al boletín', 'sign me up'), 'send_email', NOW - 26 * HOUR, 'Luis'), done('550 5.1.1 Mailbox does not exist', NOW - 26 * HOUR, 'rejected', 'rcpt')]),
    detail(evidenceRow('e9', 'send_email', say('Presupuesto de la obra', 'Quote for the works'), 'reformas@example.test', 'expired', NOW - 80 * HOUR, { attempts: 0 }), approvals[2]?.action ?? proposal, approvals[2]?.chain ?? []),
  ];

  const duplicateRow = (id: string, when: number, verdict: string, layer: string, summary: string, seconds: number | null, differing: string[], who: string): DuplicateDetail['row'] => ({ id, at: when, verdict, layer, tool: 'create_event', summary, age_seconds: seconds, differing, conversation: '1', conversation_title: who, done_anyway: null });
  const duplicates: DuplicateDetail[] = [
    { row: duplicateRow('72', at('14:32:07'), 'differs', 'guard', `${psychology} · ${dayText('mié 9 dic', 'Wed 9 Dec')}`, 13, ['end'], 'Marta'), action: secondAgain, request: say('Agéndame las horas en mi calendario', 'Put the hours in my calendar'), first: { effect: 'e2', at: at('14:31:54'), state: 'accepted', action: second, summary: psychology, differences: [{ field: 'end', first: null, now: timed('2026-12-09T16:00:00+01:00') }] }, can_do_anyway: true },
    { row: duplicateRow('71', at('14:32:06'), 'differs', 'guard', `${psychology} · ${dayText('lun 7 dic', 'Mon 7 Dec')}`, 13, ['end'], 'Marta'), action: again, request: say('Agéndame las horas en mi calendario', 'Put the hours in my calendar'), first: { effect: 'e1', at: at('14:31:53'), state: 'accepted', action: first, summary: psychology, differences: [{ field: 'end', first: null, now: timed('2026-12-07T16:00:00+01:00') }] }, can_do_anyway: true },
    { row: duplicateRow('70', at('11:02:00'), 'near', 'near', say('Revisión de presupuesto', 'Budget review'), 8520, ['end', 'guests'], say('Equipo · Sala 3', 'Team · Room 3')), action: review, request: say('pon la revisión del jueves', 'put in Thursday’s review'), first: approvals[1]?.near ?? { effect: null, at: 0, state: null, action: null, summary: '', differences: [] }, can_do_anyway: false },
    { row: duplicateRow('66', NOW - 28 * HOUR, 'exists', 'calendar', say('Dentista', 'Dentist'), null, [], 'Luis'), action: event(say('Dentista', 'Dentist'), '2026-12-03T16:00:00+01:00', '2026-12-03T16:45:00+01:00'), request: say('apunta el dentista del jueves', 'note the dentist on Thursday'), first: { effect: null, at: NOW - 200 * HOUR, state: null, action: null, summary: say('Dentista · jue 3 dic, 16:00', 'Dentist · Thu 3 Dec, 16:00'), differences: [] }, can_do_anyway: true },
    { row: duplicateRow('61', NOW - 50 * HOUR, 'duplicate', 'guard', say('Clase de cerámica', 'Pottery class'), 95, [], 'Marta'), action: event(say('Clase de cerámica', 'Pottery class'), '2026-12-03T18:30:00+01:00', null), request: say('y lo de cerámica', 'and the pottery thing'), first: { effect: 'e1', at: NOW - 50 * HOUR - 95_000, state: 'accepted', action: event(say('Clase de cerámica', 'Pottery class'), '2026-12-03T18:30:00+01:00', null), summary: say('Clase de cerámica', 'Pottery class'), differences: [] }, can_do_anyway: true },
  ];

  const counts = [[4, 1, 0], [6, 3, 1], [2, 0, 0], [3, 4, 0], [7, 2, 0], [0, 1, 1], [5, 2, 1]];
  const days: LayerDay[] = Array.from({ length: 30 }, (_, index) => {
    const [merged, prevented, held] = index >= 23 ? (counts[index - 23] ?? [0, 0, 0]) : [(index * 7) % 6, (index * 5) % 4, index % 9 === 0 ? 1 : 0];
    return { day: new Date(NOW - (29 - index) * DAY).toISOString().slice(0, 10), merged: merged ?? 0, prevented: prevented ?? 0, held: held ?? 0 };
  });

  const slot = (id: string, title: string, day: string, from: string, until: string, effect: string | null = null, more: Partial<CalendarEntry> = {}): CalendarEntry => {
    const start = `2026-${day}T${from}:00+01:00`;
    const end = `2026-${day}T${until}:00+01:00`;
    return { id, title, start: timed(start), end: timed(end), starts_at: Date.parse(start), ends_at: Date.parse(end), all_day: false, location: null, guests: [], recurring: false, effect, ...more };
  };
  const events: CalendarEntry[] = [
    slot('c1', say('Reunión de equipo', 'Team meeting'), '11-30', '09:30', '10:30', null, { recurring: true }),
    slot('c2', say('Comida con Luis', 'Lunch with Luis'), '11-30', '14:00', '15:15', 'e11'),
    slot('c3', say('Llamada con el banco', 'Call with the bank'), '12-01', '11:00', '11:30', 'e12'),
    slot('c4', say('Taller de accesibilidad', 'Accessibility workshop'), '12-02', '10:00', '13:00'),
    slot('c5', say('Revisión con Carmen', 'Review with Carmen'), '12-02', '11:00', '12:00', 'e13', { guests: ['carmen@example.test'] }),
    slot('c6', say('Dentista', 'Dentist'), '12-03', '16:00', '16:45', null, { location: say('Clínica Norte', 'North Clinic') }),
    slot('c7', say('Clase de cerámica', 'Pottery class'), '12-03', '18:30', '20:00', 'e14', { recurring: true }),
    slot('c8', say('Entrega del informe', 'Report due'), '12-04', '12:00', '12:30', 'e15'),
    { id: 'c9', title: say('Viaje a Bilbao', 'Trip to Bilbao'), start: { form: 'date', date: '2026-12-04' }, end: { form: 'date', date: '2026-12-06' }, starts_at: Date.parse('2026-12-04T00:00:00+01:00'), ends_at: Date.parse('2026-12-06T00:00:00+01:00'), all_day: true, location: null, guests: [], recurring: false, effect: 'e16' },
    slot('c10', psychology, '12-07', '15:00', '16:00', 'e1'),
    slot('c11', psychology, '12-09', '15:00', '16:00', 'e2'),
  ];

  const KINDS: [string, string, string | null, string | null][] = [
    ['message_delivered', 'system', 'Marta', null],
    ['turn_ended', 'system', 'Marta', null],
    ['duplicate_prevented', 'model', 'Marta', psychology],
    ['duplicate_prevented', 'model', 'Marta', psychology],
    ['turn_started', 'system', 'Marta', null],
    ['message_received', 'person:telegram:42', 'Marta', say('Agéndame las horas en mi calendario', 'Put the hours in my calendar')],
    ['effect_outcome', 'system', 'Marta', psychology],
    ['effect_dispatched', 'system', 'Marta', psychology],
    ['effect_admitted', 'model', 'Marta', psychology],
    ['burst_merged', 'system', 'Marta', null],
    ['approval_requested', 'model', windowTitle, say('Propuesta para el jueves', 'Proposal for Thursday')],
    ['approval_decided', 'person:telegram:42', windowTitle, say('Factura de noviembre', 'November invoice')],
    ['setting_changed', 'person:window', null, 'model.provider'],
  ];
  const activity: ActivityRow[] = Array.from({ length: 240 }, (_, index) => {
    const [kind, actor, who, subject] = KINDS[index % KINDS.length] ?? KINDS[0] ?? ['', '', null, null];
    return { seq: 1240 - index, at: NOW - 170_000 - index * 47_000, kind, actor, conversation: who ? '1' : null, conversation_title: who, effect: kind.startsWith('effect') ? 'e1' : null, subject, details: { layer: 'guard', state: 'accepted', title: { sha256: 'ab'.repeat(32) } }, hash: `${(0x9f3c51 + index * 7919).toString(16).padStart(8, '0')}aa1e7742` };
  });

  const part = (health: 'ok' | 'off' | 'trouble', state: string, name = '', detail: string | null = null) => ({ health, name, state, detail });
  const snapshot: Snapshot = {
    version: '0.1.0', now: NOW, zone: ZONE, language, theme: 'light', first_start: false, practice: false, paused: false, mail_saves_files: false, local_calendar: true, hold_seconds: 10,
    badges: { approvals: 2, evidence: 1 },
    status: { telegram: part('ok', 'receiving'), model: part('ok', 'local', 'llama3.1'), mail: part('ok', 'smtp', 'marta@example.test'), calendar: part('ok', 'local'), next_retry_at: NOW + 4 * MINUTE, prevented_today: 2, merged_today: 5 },
    away: null,
  };

  return { snapshot, conversations, timelines, approvals, evidence, duplicates, days, events, activity, story: incident };
}
