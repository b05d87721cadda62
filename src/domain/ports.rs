//! The few traits behind which the outside world is. Edges implement them; only `app` names an edge.

use std::time::Duration;

use async_trait::async_trait;

use super::action::{EventChanges, SendEmail};
use super::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use super::chat::{ChatReply, ChatRequest, ModelError};
use super::conversation::{Address, Capabilities, ChannelKind};
use super::effect::{DedupeClass, Dispatch, Found, Performed};
use super::ids::AccountId;
use super::mail::{Bounce, FrozenMail, MailContent, MailSummary};
use super::message::NewInput;
use super::time::{Now, Wall};

// ---- time, ids, secrets ------------------------------------------------------------------------

/// Wall clock, persisted elapsed clock and sleeping. Pure code gets [`Now`] instead.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Now;
    /// Returns not before `duration` has passed on the elapsed clock; re-checks at least every 60 s.
    async fn sleep(&self, duration: Duration);
}

/// Source of ids and random numbers.
pub trait IdSource: Send + Sync + 'static {
    /// UUID version 7, lower-case with dashes.
    fn uuid(&self) -> String;
    /// Opaque token, 22 characters of base64url.
    fn token(&self) -> String;
    /// In `0.0..1.0`, for jitter.
    fn fraction(&self) -> f64;
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SecretError {
    #[error("no secret is stored under {name}")]
    Missing { name: String },
    /// There is no keychain in this session.
    #[error("the keychain cannot be used: {reason}")]
    Unavailable { reason: String },
    /// It is there and may be unlocked later.
    #[error("the keychain is locked: {reason}")]
    Locked { reason: String },
    /// An empty answer, which is not the same as no entry.
    #[error("the secret {name} is empty")]
    Empty { name: String },
    #[error("{reason}")]
    Invalid { reason: String },
}

/// The OS keychain, or what stands for it. Blocking calls happen inside.
#[async_trait]
pub trait Secrets: Send + Sync + 'static {
    async fn get(&self, name: &str) -> Result<secrecy::SecretString, SecretError>;
    async fn set(&self, name: &str, value: secrecy::SecretString) -> Result<(), SecretError>;
    async fn delete(&self, name: &str) -> Result<(), SecretError>;
}

// ---- channels ----------------------------------------------------------------------------------

/// One part of a message to send: at most the channel's limit.
#[derive(Clone, PartialEq, Debug)]
pub struct OutboundPart {
    pub to: Address,
    /// Markdown source of this part.
    pub markdown: String,
    /// Without any formatting: after an entity error.
    pub plain: bool,
    /// Rows of (label, data); data is at most 64 bytes.
    pub buttons: Vec<Vec<(String, String)>>,
    pub reply_to: Option<String>,
}

/// What became of a send.
#[derive(Clone, PartialEq, Debug)]
pub enum SendOutcome {
    Delivered {
        external_id: Option<String>,
    },
    /// The request did not leave; may be tried again.
    NotSent {
        reason: String,
        retry_after: Option<Duration>,
    },
    /// It left and no answer came: never re-sent blindly.
    Uncertain {
        reason: String,
    },
    Refused {
        reason: String,
        kind: SendRefusal,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendRefusal {
    /// "can't parse entities": this part may be sent once as plain text.
    Entities,
    /// The chat moved to a new id.
    Migrated {
        to: String,
    },
    /// The person blocked the assistant, or the chat is gone.
    Unreachable,
    ThreadGone,
    /// The text is what stands there already (edits): counts as done.
    NotModified,
    Other,
}

/// A way out. Sending never panics and never retries by itself.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    fn kind(&self) -> ChannelKind;
    fn capabilities(&self, to: &Address) -> Capabilities;
    /// Splits Markdown into parts that the channel takes, on the source.
    fn split(&self, markdown: &str) -> Vec<String>;
    async fn send(&self, part: &OutboundPart) -> SendOutcome;
    /// Replaces the text (and buttons) of a delivered message.
    async fn edit(&self, external_id: &str, part: &OutboundPart) -> SendOutcome;
    /// One typing signal. Failures are the channel's own business.
    async fn typing(&self, to: &Address);
    /// Tells the person what their press of a button did.
    async fn answer_tap(&self, callback_id: &str, text: &str);
}

/// Inputs and the cursor that confirms them once they are stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {
    pub inputs: Vec<NewInput>,
    /// To poll with next; confirms everything before it.
    pub next_cursor: i64,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PollError {
    #[error("another program uses this bot token")]
    Conflict,
    #[error("the channel refused the token")]
    Unauthorized,
    #[error("too many requests")]
    RetryAfter(Duration),
    #[error("the channel cannot be reached: {reason}")]
    Offline { reason: String },
}

/// A way in that is polled. The inbox stores a batch before it polls again.
#[async_trait]
pub trait InboundSource: Send + Sync + 'static {
    fn kind(&self) -> ChannelKind;
    /// Who we are there (bot id); asked once per start and again after a token change.
    async fn account(&self) -> Result<String, PollError>;
    /// Waits for input up to the channel's own poll time.
    async fn poll(&self, cursor: Option<i64>) -> Result<Batch, PollError>;
    /// The bytes behind a media reference, 20 MB at most.
    async fn fetch(&self, file: &str) -> Result<Vec<u8>, PollError>;
    /// The name people find us by there (a bot's username), once [`Self::account`] has been answered.
    fn public_name(&self) -> Option<String> {
        None
    }
}

/// Turns speech into text.
#[async_trait]
pub trait Transcriber: Send + Sync + 'static {
    /// `Err`: why it could not be understood, in words for a person.
    async fn transcribe(&self, audio: Vec<u8>, mime: &str) -> Result<String, String>;
}

// ---- model -------------------------------------------------------------------------------------

/// Text as it streams; the turn decides whether to show it.
pub trait StreamSink: Send + Sync {
    fn text(&self, chunk: &str);
}

/// Ignores the stream.
pub struct NoSink;

impl StreamSink for NoSink {
    fn text(&self, _chunk: &str) {}
}

#[async_trait]
pub trait ChatModel: Send + Sync + 'static {
    /// For display and usage, e.g. `gpt-4o-mini`; `practice` for the practice model.
    fn name(&self) -> String;
    async fn reply(&self, request: &ChatRequest, sink: &dyn StreamSink) -> Result<ChatReply, ModelError>;
}

// ---- effects -----------------------------------------------------------------------------------

/// Performs effects of one target. Called only by the evidence worker, with a durable claim.
#[async_trait]
pub trait EffectTarget: Send + Sync + 'static {
    fn dedupe(&self) -> DedupeClass;
    /// Fixes what will leave, when the row becomes ready: bytes and Message-ID of a mail.
    fn freeze(&self, dispatch: &Dispatch, now: Now) -> Result<Option<FrozenMail>, String>;
    async fn perform(&self, dispatch: &Dispatch) -> Performed;
    /// Looks whether it happened. Never acts.
    async fn reconcile(&self, dispatch: &Dispatch) -> Found;
}

// ---- calendar ----------------------------------------------------------------------------------

/// What went wrong with a calendar call, by what may be done next.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CalendarError {
    /// The request did not leave, or the server said that nothing was stored.
    #[error("the calendar is not available now: {reason}")]
    Unavailable { reason: String, retry_after: Option<Duration> },
    /// The request left and no answer came.
    #[error("no answer from the calendar: {reason}")]
    NoAnswer { reason: String },
    #[error("the calendar refused: {reason}")]
    Refused { reason: String },
    #[error("no event with id {id}")]
    NotFound { id: String },
    /// If-Match failed: somebody changed it meanwhile.
    #[error("the event was changed meanwhile")]
    Changed { current: Box<Event> },
    /// Our id is taken.
    #[error("an event with this id exists already")]
    Exists { current: Box<Event> },
    #[error("the calendar needs signing in again: {reason}")]
    Unauthorized { reason: String },
}

/// What a person should know of an account, learnt from its server's own answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarWarning {
    /// The server lets a second event be stored over one with the same id: it is asked before each create instead.
    IdsIgnored,
}

#[async_trait]
pub trait Calendar: Send + Sync + 'static {
    fn account(&self) -> AccountId;
    /// `local`, `caldav` or `google`.
    fn backend(&self) -> &'static str;
    /// For the account's line in settings and the doctor.
    fn warnings(&self) -> Vec<CalendarWarning> {
        Vec::new()
    }
    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError>;
    /// Id of the calendar that an unnamed request goes to; with `name`, the one called or addressed so.
    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError>;
    /// Occurrences (series expanded) that overlap `from..to`, ordered by start.
    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError>;
    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError>;
    /// Creates with our id, refusing a second one.
    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError>;
    /// Changes the event, or one `occurrence` of a series, if its ETag still is `etag` (`None`: whatever it is).
    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError>;
    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError>;
}

// ---- mail --------------------------------------------------------------------------------------

#[async_trait]
pub trait MailSender: Send + Sync + 'static {
    fn account(&self) -> AccountId;
    /// `maildir`, `smtp` or `gmail`.
    fn backend(&self) -> &'static str;
    /// True when a mail is only written to a folder.
    fn saves_only(&self) -> bool;
    /// True when the provider files the Sent copy by itself.
    fn files_sent(&self) -> bool;
    /// Checks the mail and fixes what will leave: bytes, Message-ID, Date, boundaries, envelope.
    /// `token` is new for each mail; the error is for a person.
    fn freeze(&self, mail: &SendEmail, token: &str, at: Wall) -> Result<FrozenMail, String>;
    /// One attempt, with exactly these bytes, to the recipients that are still open.
    async fn send(&self, mail: &FrozenMail, recipients: &[String], provider_id: Option<&str>) -> Performed;
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MailReadError {
    #[error("no mail account for reading is set up")]
    NotConfigured,
    #[error("the mail server cannot be reached: {reason}")]
    Unreachable { reason: String },
    #[error("the mail server refused the sign-in: {reason}")]
    Unauthorized { reason: String },
    #[error("no mail with id {id}")]
    NotFound { id: String },
    #[error("the mail server answered: {reason}")]
    Refused { reason: String },
}

#[async_trait]
pub trait MailReader: Send + Sync + 'static {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<MailSummary>, MailReadError>;
    async fn read(&self, id: &str) -> Result<MailContent, MailReadError>;
    /// Where a mail with exactly this Message-ID stands in Sent, as "folder/uid".
    async fn find_sent(&self, message_id: &str) -> Result<Option<String>, MailReadError>;
    /// Files a copy in Sent unless one with this Message-ID is there.
    async fn file_sent(&self, mail: &FrozenMail) -> Result<(), MailReadError>;
    /// Bounces that arrived since the last call's cursor.
    async fn bounces(&self, since: Option<&str>) -> Result<(Vec<Bounce>, Option<String>), MailReadError>;
}

/// What arrived in a mailbox since the last look.
#[derive(Clone, PartialEq, Debug)]
pub struct Arrived {
    /// Oldest first.
    pub mails: Vec<MailContent>,
    /// Where the next look begins.
    pub cursor: String,
    /// There is more than one look takes.
    pub more: bool,
}

/// A mailbox that tells of new mail.
#[async_trait]
pub trait MailNews: Send + Sync + 'static {
    /// Without a cursor, only what arrives from now on counts.
    async fn arrived(&self, since: Option<&str>) -> Result<Arrived, MailReadError>;
    /// Waits until something is beyond `cursor`, or for `longest`.
    async fn wait(&self, cursor: &str, longest: Duration) -> Result<bool, MailReadError>;
}
