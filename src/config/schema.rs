//! What the file says, typed. Names and defaults are frozen; see the sections of the user documentation.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::domain::conversation::ChannelKind;
use crate::domain::tool::{Policy, ToolKind};
use crate::runtime::secrets::SecretRef;

/// A closed set of words in the file.
pub(super) trait Choice: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($variant),* }

        impl Choice for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
        }

        impl $name {
            pub fn as_str(self) -> &'static str {
                self.word()
            }
        }
    )*};
}

choices! {
    Language { Auto = "auto", Es = "es", En = "en" }
    Provider { Practice = "practice", Openai = "openai", Anthropic = "anthropic", Gemini = "gemini", Ollama = "ollama" }
    /// What happens to a message that comes while a turn runs.
    DoubleTexting {
        Supersede = "supersede", Enqueue = "enqueue", Reject = "reject", Interrupt = "interrupt", Rollback = "rollback",
    }
    DeliveryMode { Immediate = "immediate", Batched = "batched" }
    NearDuplicates { Ask = "ask", Off = "off" }
    CalendarBackend { Local = "local", Caldav = "caldav", Google = "google" }
    MailBackend { Maildir = "maildir", Smtp = "smtp", Gmail = "gmail" }
    Tls { Implicit = "implicit", Starttls = "starttls", None = "none" }
    MailAuth { Password = "password", Xoauth2 = "xoauth2" }
    /// What the assistant does in groups.
    Groups { Off = "off", Mention = "mention" }
    Theme { System = "system", Light = "light", Dark = "dark" }
    LogLevel { Error = "error", Warn = "warn", Info = "info", Debug = "debug", Trace = "trace" }
}

impl Choice for Policy {
    const WORDS: &'static [(&'static str, Self)] = &[("auto", Self::Auto), ("ask", Self::Ask), ("deny", Self::Deny)];
}

/// The kinds a tool of a server may be declared as.
impl Choice for ToolKind {
    const WORDS: &'static [(&'static str, Self)] = &[("read", Self::Read), ("effect", Self::Effect)];
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    pub assistant: Assistant,
    pub model: Model,
    /// Used only while the turn has no effect.
    pub fallback: Option<Model>,
    /// Input and output price per million tokens, by model name.
    pub prices: BTreeMap<String, (f64, f64)>,
    /// In the prices' currency; 0: none.
    pub budget_per_day: f64,
    pub transcription: Transcription,
    pub inbox: Inbox,
    pub debounce: Debounce,
    pub turns: Turns,
    pub message: Message,
    pub guard: Guard,
    pub approvals: Approvals,
    pub evidence: Evidence,
    pub calendar: Calendar,
    pub mail: Mail,
    pub telegram: Telegram,
    pub http: Http,
    pub mcp: Mcp,
    pub window: Window,
    pub log: Log,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assistant {
    pub language: Language,
    /// IANA name; `None`: the computer's.
    pub timezone: Option<String>,
    pub name: String,
    pub instructions: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    pub provider: Provider,
    pub model: String,
    pub base_url: String,
    pub api_key: SecretRef,
    pub max_calls_per_turn: u32,
    pub turn_timeout: Duration,
    pub request_timeout: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transcription {
    /// Off while empty.
    pub base_url: String,
    pub model: String,
    pub api_key: SecretRef,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inbox {
    pub stale_after: Duration,
}

/// Windows of all channels, and those of a channel that says otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Debounce {
    pub closed: Duration,
    pub neutral: Duration,
    pub open: Duration,
    pub structural: Duration,
    pub max_wait: Duration,
    pub max_messages: u32,
    pub channels: BTreeMap<ChannelKind, Debounce>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    pub double_texting: DoubleTexting,
    pub channels: BTreeMap<ChannelKind, DoubleTexting>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub default_delivery_mode: DeliveryMode,
    pub fallback_to_batch_on_error: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    pub window: Duration,
    pub near_window: Duration,
    pub near_duplicates: NearDuplicates,
    /// By `mcp:SERVER/TOOL`, or the name of a built-in tool.
    pub tools: BTreeMap<String, GuardTool>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardTool {
    /// `None`: what the tool itself declares.
    pub kind: Option<ToolKind>,
    /// Empty: all arguments.
    pub identity: Vec<String>,
    pub window: Option<Duration>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approvals {
    pub expires: Duration,
    pub mail_send: Policy,
    pub calendar_create: Policy,
    pub calendar_create_with_guests: Policy,
    pub calendar_update: Policy,
    pub calendar_delete: Policy,
    pub other: Policy,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    pub hold: Duration,
    pub max_attempts: u32,
    pub give_up_after: Duration,
    pub backoff: Vec<Duration>,
    pub greylist_first: Duration,
    pub reconcile: Vec<Duration>,
    pub mails_per_hour: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calendar {
    pub backend: CalendarBackend,
    pub look_before_create: bool,
    pub caldav: Caldav,
    pub google: GoogleCalendar,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caldav {
    pub url: String,
    pub user: String,
    pub password: SecretRef,
    /// Display name or path; empty: the first writable one.
    pub calendar: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GoogleCalendar {
    pub api_url: String,
    pub auth_url: String,
    pub token_url: String,
    pub client_id: String,
    pub client_secret: SecretRef,
    pub refresh_token: SecretRef,
    pub calendar: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mail {
    pub backend: MailBackend,
    pub from: String,
    /// Empty: the domain of `from`.
    pub message_id_domain: String,
    pub smtp: Smtp,
    pub imap: Imap,
    pub oauth: Oauth,
    pub gmail: GmailMail,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Smtp {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    /// Empty: no AUTH.
    pub user: String,
    pub auth: MailAuth,
    pub password: SecretRef,
    pub final_reply_timeout: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imap {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub user: String,
    pub password: SecretRef,
    /// Folder name; `auto` uses the \Sent attribute.
    pub sent: String,
    pub auth: MailAuth,
    /// Sender patterns whose new mail starts a turn.
    pub wake_on: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Oauth {
    pub auth_url: String,
    pub token_url: String,
    pub client_id: String,
    pub client_secret: SecretRef,
    pub refresh_token: SecretRef,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GmailMail {
    pub api_url: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Telegram {
    pub enabled: bool,
    pub token: SecretRef,
    pub api_url: String,
    pub poll_timeout: Duration,
    /// User ids; pairing adds to them in the database.
    pub owners: Vec<i64>,
    pub groups: Groups,
    pub min_interval: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Http {
    pub enabled: bool,
    /// Loopback only; port 0 picks one.
    pub bind: SocketAddr,
    pub token: SecretRef,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mcp {
    pub servers: BTreeMap<String, McpServer>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpServer {
    pub transport: McpTransport,
    pub env: BTreeMap<String, String>,
    /// `readOnlyHint` makes a tool a read.
    pub trust_annotations: bool,
    /// Longest time for one call; after it the outcome is unknown.
    pub timeout: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum McpTransport {
    /// Program and arguments of a child process.
    Command(Vec<String>),
    Url(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    pub theme: Theme,
    pub close_to_tray: bool,
    pub start_at_login: bool,
    pub notifications: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log {
    pub level: LogLevel,
}

impl Debounce {
    /// The windows of one channel.
    pub fn of(&self, channel: ChannelKind) -> &Self {
        self.channels.get(&channel).unwrap_or(self)
    }
}

impl Turns {
    /// The mode of one channel.
    pub fn of(&self, channel: ChannelKind) -> DoubleTexting {
        self.channels.get(&channel).copied().unwrap_or(self.double_texting)
    }
}
