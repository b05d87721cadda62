// Printed from src/api/window by the test `bindings_are_fresh`. Change it there.

export type Action = { "kind": "create_event" } & CreateEvent | { "kind": "update_event" } & UpdateEvent | { "kind": "delete_event" } & DeleteEvent | { "kind": "send_email" } & SendEmail | { "kind": "other" } & OtherAction;

export type ActivityFilter = { kinds: Array<Kind>, conversation: string | null, since: number | null, until: number | null, };

export type ActivityPage = { rows: Array<ActivityRow>, older: number | null, total: number, };

export type ActivityRow = { seq: number, at: number, kind: string, actor: string, conversation: string | null, conversation_title: string | null, effect: string | null, 
/**
 * What it is about, in the person's words, unless erased.
 */
subject: string | null, details: unknown, hash: string, };

export type Answer = "sent" | "not_sent" | "drop" | "leave";

export type ApprovalDetail = { row: ApprovalRow, 
/**
 * Exactly what leaves.
 */
action: Action, literal_hash: string, reason: string | null, 
/**
 * Why each mark stands, as facts to be shown literally.
 */
notes: Array<MarkNote>, near: EarlierAction | null, chain: Array<ChainLink>, };

export type ApprovalRow = { id: string, effect: string, tool: string, state: string, summary: string, 
/**
 * Recipients or guests in short.
 */
whom: string, marks: Array<Mark>, conversation: string | null, conversation_title: string, requested_at: number, expires_at: number, decided_at: number | null, decided_by: string | null, surface: string | null, effect_state: EffectState, 
/**
 * Approved and in its undo time until then.
 */
hold_until: number | null, };

export type AttachedFile = { name: string, mime: string, sha256: string, bytes: number, };

export type Away = { from: number, until: number, arrived: number, waiting: number, not_repeated: number, expired: Array<ExpiredCard>, };

export type Badges = { approvals: number, 
/**
 * Unknown or stuck effects until they are resolved.
 */
evidence: number, };

export type BurstEntry = { id: string, at: number, 
/**
 * `buffered` while the window runs, then as the burst.
 */
state: string, messages: Array<SaidMessage>, signal: string, window_ms: number, waited_ms: number, flush_reason: string, stale: boolean, 
/**
 * The buffer's deadline while it is still open.
 */
until: number | null, };

export type CalendarEntry = { id: string, title: string, start: EventTime, end: EventTime, 
/**
 * Instants for placing it; of an all-day event the bounds of its days in the window's zone.
 */
starts_at: number, ends_at: number, all_day: boolean, location: string | null, guests: Array<string>, recurring: boolean, 
/**
 * The effect that made it, if the agent did.
 */
effect: string | null, };

export type CalendarView = { name: string, 
/**
 * It lives on this computer only.
 */
local: boolean, events: Array<CalendarEntry>, };

export type ChainLink = { "link": "intent", at: number, request: string, tool: string, conversation_title: string, } | { "link": "action", at: number, tool: string, digest: string, } | { "link": "approval", id: string, at: number, state: string, who: string | null, surface: string | null, decided_at: number | null, reason: string | null, } | { "link": "attempt", n: number, phase: string, reply: string | null, outcome: string | null, late: boolean, started_at: number, ended_at: number | null, } | { "link": "receipt", at: number, source: ReceiptSource, provider_id: string | null, detail: unknown, };

export type ChannelKind = "telegram" | "window" | "http";

export type Chip = "read" | "running" | "done" | "saved" | "duplicate" | "differs" | "needs_approval" | "queued" | "unknown" | "denied" | "failed" | "cancelled" | "reverted";

export type ControlEntry = { id: string, at: number, sender: string, text: string, 
/**
 * `control`, `discarded` or `failed`.
 */
state: string, reason: string | null, };

export type ConversationKind = "private" | "group";

export type ConversationRow = { id: string, channel: ChannelKind, kind: ConversationKind, title: string, last_text: string, last_at: number, live: Live, turns_today: number, prevented_today: number, 
/**
 * Why nothing can be delivered here.
 */
unreachable: string | null, };

export type CreateEvent = { 
/**
 * Calendar id within the account, the default one resolved.
 */
calendar: string, title: string, start: EventTime, end: EventTime | null, location: string | null, description: string | null, 
/**
 * Addresses as given.
 */
guests: Array<string>, 
/**
 * RRULE value without the `RRULE:` prefix.
 */
recurrence: string | null, 
/**
 * Minutes before the start.
 */
reminders: Array<number>, };

export type Decided = { state: string, hold_until: number | null, };

export type Decision = "approve" | "deny";

export type DecisionEntry = { id: string, at: number, state: string, summary: string, who: string | null, surface: string | null, effect: string, };

export type DeleteEvent = { calendar: string, event_id: string, occurrence: EventTime | null, 
/**
 * Title and start at the time of the request, for the card and the summary.
 */
title: string, start: EventTime | null, };

export type Difference = { field: string, first: JsonValue, now: JsonValue, };

export type DuplicateDetail = { row: DuplicateRow, 
/**
 * What was not done.
 */
action: Action, request: string, first: EarlierAction, 
/**
 * The next occurrence may be started by a person now.
 */
can_do_anyway: boolean, };

export type DuplicatePage = { rows: Array<DuplicateRow>, older: string | null, };

export type DuplicateRow = { id: string, at: number, verdict: string, layer: string, tool: string, summary: string, 
/**
 * How long after the first one.
 */
age_seconds: number | null, differing: Array<string>, conversation: string | null, conversation_title: string, done_anyway: string | null, };

export type EarlierAction = { effect: string | null, at: number, state: EffectState | null, action: Action | null, summary: string, differences: Array<Difference>, };

export type EffectState = "awaiting_approval" | "ready" | "dispatching" | "retryable" | "unknown" | "accepted" | "rejected" | "denied" | "expired" | "cancelled" | "reverted";

export type EventChanges = { title: string | null, start: EventTime | null, end: EventTime | null, location: string | null, description: string | null, guests: Array<string> | null, recurrence: string | null, reminders: Array<number> | null, };

export type EventTime = { "form": "date", date: string, } | { "form": "timed", 
/**
 * RFC 3339 local time with offset, e.g. `2026-12-07T15:00:00+01:00`.
 */
at: string, 
/**
 * IANA zone.
 */
zone: string, };

export type EvidenceDetail = { row: EvidenceRow, action: Action, account: string, message_id: string | null, idempotency_key: string, conversation: string | null, released: string | null, recipients: Array<RecipientResult>, chain: Array<ChainLink>, };

export type EvidenceFilter = "all" | "attention" | "open" | "accepted" | "not_done";

export type EvidencePage = { 
/**
 * Newest first.
 */
rows: Array<EvidenceRow>, 
/**
 * Pass it back to read on.
 */
older: string | null, };

export type EvidenceRow = { id: string, tool: string, summary: string, whom: string, state: EffectState, partial: boolean, 
/**
 * Accepted by writing a file.
 */
saved_as_file: boolean, attempts: number, next_attempt_at: number | null, provider_id: string | null, last_error: string | null, left_by_person: boolean, 
/**
 * `ready` and in its undo time.
 */
hold_until: number | null, created_at: number, updated_at: number, };

export type ExpiredCard = { approval: string, summary: string, };

export type Explained = { signal: string, window_ms: number, };

export type ExportFormat = "jsonl" | "csv";

export type ExportProgress = { written: number, total: number, done: boolean, path: string | null, };

export type Exported = { path: string, entries: number, };

export type FactRow = { id: string, kind: string, text: string, address: string | null, at: number, };

export type Failure = { code: FailureCode, message: string, };

export type FailureCode = "not_found" | "already_settled" | "invalid" | "unreachable" | "unauthorized" | "cancelled" | "storage" | "internal";

export type FoundModel = { provider: string, base_url: string, models: Array<string>, };

export type Health = "ok" | "off" | "trouble";

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

export type Kind = "message_received" | "message_discarded" | "burst_merged" | "turn_started" | "turn_ended" | "effect_admitted" | "duplicate_prevented" | "near_duplicate_held" | "approval_requested" | "approval_decided" | "approval_expired" | "effect_dispatched" | "effect_outcome" | "effect_reconciled" | "message_delivered" | "stopped" | "setting_changed" | "secret_used" | "sender_refused" | "restored";

export type Language = "es" | "en";

export type LayerChart = { 
/**
 * Oldest first, days without anything included.
 */
days: Array<LayerDay>, prevented: number, merged: number, held: number, 
/**
 * The conversation most of it came from, and how much.
 */
top_title: string | null, top_count: number, };

export type LayerDay = { 
/**
 * Local date, `YYYY-MM-DD`.
 */
day: string, merged: number, prevented: number, held: number, };

export type Live = { "state": "idle" } | { "state": "buffering", since: number, until: number, signal: string, } | { "state": "thinking", since: number, } | { "state": "acting", since: number, } | { "state": "waiting", approval: string, };

export type Mark = "new_recipient" | "untrusted_target" | "stale" | "near_duplicate" | "repeat" | "guests";

export type MarkNote = { mark: Mark, 
/**
 * The address, calendar or link it is about, literal.
 */
target: string | null, 
/**
 * Where that came from.
 */
origin: string | null, 
/**
 * Age of the request for `stale`.
 */
seconds: number | null, };

export type OpenItem = { topic: Topic, id: string | null, };

export type OtherAction = { tool: string, arguments: JsonValue, 
/**
 * Arguments that make it the same action; empty: all.
 */
identity_fields: Array<string>, };

export type OutboundEntry = { id: string, at: number, 
/**
 * `message`, `reply`, `card`, `notice` or `control`.
 */
role: string, mode: string, fell_back: boolean, state: string, content: string, error: string | null, sent_again: boolean, delivered_at: number | null, };

export type Owner = { id: string, name: string, };

export type Pairing = { code: string, 
/**
 * Opens the bot with the code, when the bot's name is known.
 */
link: string | null, until: number, owners: Array<Owner>, };

export type PartStatus = { health: Health, 
/**
 * Name to show: a model, an address, a calendar.
 */
name: string, 
/**
 * Code of the state, e.g. `receiving`, `conflict`, `practice`, `maildir`, `local`.
 */
state: string, 
/**
 * What is wrong, in words, when something is.
 */
detail: string | null, };

export type Patch = { snapshot: Snapshot, topics: Array<Topic>, };

export type ReceiptSource = "provider" | "found" | "person";

export type RecipientResult = { address: string, state: RecipientState, reply: string | null, };

export type RecipientState = "open" | "accepted" | "rejected" | "failed" | "bounced";

export type ReplayTotals = { turns: number, tool_calls: number, effects_accepted: number, duplicates_prevented: number, bursts_merged: number, };

export type Replayed = { totals: ReplayTotals, 
/**
 * Its timeline, in the shape of any conversation.
 */
entries: Array<TimelineEntry>, };

export type SaidMessage = { id: string, at: number, sender: string, text: string, edited_from: string | null, forwarded_from: string | null, reply_to: string | null, 
/**
 * Names of files, or kinds of media.
 */
media: Array<string>, };

export type ScheduleRow = { id: string, kind: string, text: string, next_at: number | null, recurring: boolean, };

export type SearchHit = { topic: Topic, 
/**
 * Conversation, effect or approval to open.
 */
id: string, title: string, snippet: string, at: number, };

export type SendEmail = { 
/**
 * `Name <address>` or `address`.
 */
from: string, to: Array<string>, cc: Array<string>, bcc: Array<string>, subject: string, 
/**
 * Plain text.
 */
body: string, html: string | null, 
/**
 * Copied in at admission.
 */
attachments: Array<AttachedFile>, 
/**
 * Message-ID of the mail answered, with angle brackets.
 */
in_reply_to: string | null, 
/**
 * References of the thread, oldest first.
 */
references: Array<string>, 
/**
 * Thread identity: the root Message-ID of the thread, if any.
 */
thread: string | null, };

export type Settings = { values: Record<string, unknown>, 
/**
 * Secret keys that have a value.
 */
secrets_set: Array<string>, config_path: string, data_path: string, 
/**
 * No keychain answers: where secrets go instead.
 */
keychain: boolean, zones: Array<string>, start_at_login: boolean, tray: boolean, servers: Array<ToolServer>, tools: Array<ToolRow>, };

export type SettingsChange = { values: Record<string, unknown>, };

export type Snapshot = { version: string, 
/**
 * Wall clock of the core, so that the window shows ages by it.
 */
now: number, zone: string, language: Language, theme: Theme, 
/**
 * The wizard has not been finished or skipped yet.
 */
first_start: boolean, 
/**
 * No model provider is configured: the deterministic parser answers.
 */
practice: boolean, paused: boolean, 
/**
 * The mail backend writes files; nothing it does may be called "sent".
 */
mail_saves_files: boolean, 
/**
 * The calendar lives on this computer only.
 */
local_calendar: boolean, 
/**
 * Undo time before a mail leaves.
 */
hold_seconds: number, badges: Badges, status: Status, away: Away | null, };

export type Status = { telegram: PartStatus, model: PartStatus, mail: PartStatus, calendar: PartStatus, next_retry_at: number | null, prevented_today: number, merged_today: number, };

export type StepEntry = { "step": "model", millis: number, text: string, } | { "step": "tool", name: string, fields: Array<ToolField>, chip: Chip, 
/**
 * How the new call differs from the first one.
 */
differing: Array<string>, effect: string | null, approval: string | null, millis: number, } | { "step": "remark", text: string, };

export type Stopped = { text: string, };

export type TestResult = { ok: boolean, 
/**
 * What answered: a model, a bot's name, a mailbox, a calendar.
 */
name: string, detail: string, millis: number, };

export type Theme = "system" | "light" | "dark";

export type TimelineCursor = { burst: number, turn: number, outbound: number, 
/**
 * Decisions are read by when they fell, and by id within one moment.
 */
decided: number, approval: number, control: number, };

export type TimelineEntry = { "kind": "burst" } & BurstEntry | { "kind": "turn" } & TurnEntry | { "kind": "outbound" } & OutboundEntry | { "kind": "decision" } & DecisionEntry | { "kind": "control" } & ControlEntry;

export type TimelinePage = { 
/**
 * Oldest first.
 */
entries: Array<TimelineEntry>, older: TimelineCursor | null, };

export type ToolField = { name: string, value: string, };

export type ToolRow = { name: string, effect: boolean, policy: string, };

export type ToolServer = { name: string, command: string, state: string, tools: number, };

export type Topic = "conversations" | "approvals" | "evidence" | "duplicates" | "calendar" | "activity" | "settings";

export type TurnEntry = { id: string, at: number, number: number, state: string, ending: string | null, reason: string | null, model: string, input_tokens: number, output_tokens: number, millis: number, steps: Array<StepEntry>, };

export type UpdateEvent = { calendar: string, event_id: string, 
/**
 * One date of a series; the whole event or series when absent.
 */
occurrence: EventTime | null, changes: EventChanges, };

export type UsageDay = { day: string, turns: number, input_tokens: number, output_tokens: number, cost_micros: number, };

export type Verification = { entries: number, 
/**
 * First entry that does not fit, if any.
 */
bad: number | null, reason: string | null, at: number, };

export interface CommandMap {
  snapshot: { args: {}; answer: Snapshot };
  dismiss_away: { args: {}; answer: null };
  finish_first_start: { args: {}; answer: null };
  set_paused: { args: { paused: boolean }; answer: null };
  search: { args: { text: string }; answer: Array<SearchHit> };
  conversations: { args: {}; answer: Array<ConversationRow> };
  timeline: { args: { conversation: string; older: TimelineCursor | null }; answer: TimelinePage };
  send_message: { args: { text: string; files: Array<string> }; answer: null };
  stop: { args: { conversation: string }; answer: Stopped };
  send_again: { args: { outbound: string }; answer: null };
  replay_story: { args: { without_guard: boolean }; answer: Replayed };
  approvals: { args: { all: boolean }; answer: Array<ApprovalRow> };
  approval: { args: { id: string }; answer: ApprovalDetail };
  decide: { args: { id: string; decision: Decision }; answer: Decided };
  edit_action: { args: { id: string; action: Action }; answer: string };
  ask_again: { args: { id: string }; answer: string };
  undo: { args: { effect: string }; answer: null };
  evidence: { args: { filter: EvidenceFilter; older: string | null }; answer: EvidencePage };
  evidence_detail: { args: { id: string }; answer: EvidenceDetail };
  check_again: { args: { id: string }; answer: null };
  resolve: { args: { id: string; answer: Answer }; answer: null };
  duplicates: { args: { layer: string | null; older: string | null }; answer: DuplicatePage };
  duplicate: { args: { id: string }; answer: DuplicateDetail };
  duplicate_chart: { args: { days: number }; answer: LayerChart };
  do_anyway: { args: { id: string }; answer: string };
  calendar: { args: { from: number; until: number }; answer: CalendarView };
  undo_event: { args: { effect: string }; answer: null };
  activity: { args: { filter: ActivityFilter; older: number | null }; answer: ActivityPage };
  verify_audit: { args: {}; answer: Verification };
  export_audit: { args: { filter: ActivityFilter; format: ExportFormat }; answer: Exported };
  cancel_export: { args: {}; answer: null };
  settings: { args: {}; answer: Settings };
  change_settings: { args: { change: SettingsChange }; answer: null };
  set_secret: { args: { key: string; value: string | null }; answer: null };
  find_models: { args: {}; answer: Array<FoundModel> };
  test_model: { args: {}; answer: TestResult };
  test_telegram: { args: {}; answer: TestResult };
  pairing: { args: {}; answer: Pairing };
  test_mail: { args: {}; answer: TestResult };
  test_calendar: { args: {}; answer: TestResult };
  explain_debounce: { args: { text: string }; answer: Explained };
  usage: { args: { days: number }; answer: Array<UsageDay> };
  schedules: { args: {}; answer: Array<ScheduleRow> };
  cancel_schedule: { args: { id: string }; answer: null };
  facts: { args: {}; answer: Array<FactRow> };
  forget_fact: { args: { id: string }; answer: null };
  backup: { args: {}; answer: Exported };
  open_data_folder: { args: {}; answer: null };
}
