//! The defaults of every key.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::schema::{
    Approvals, Assistant, Caldav, Calendar, CalendarBackend, Debounce, DeliveryMode, DoubleTexting, Evidence,
    GmailMail, GoogleCalendar, Groups, Guard, Http, Imap, Inbox, Language, Log, LogLevel, Mail, MailAuth, MailBackend,
    Message, Model, NearDuplicates, Oauth, Provider, Smtp, Telegram, Theme, Tls, Transcription, Turns, Window,
};
use crate::domain::tool::Policy;
use crate::runtime::secrets::SecretRef;

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
const fn minutes(n: u64) -> Duration {
    seconds(n * 60)
}
const fn hours(n: u64) -> Duration {
    minutes(n * 60)
}

impl Default for Assistant {
    fn default() -> Self {
        Self { language: Language::Auto, timezone: None, name: "Unavez".into(), instructions: String::new() }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self {
            provider: Provider::Practice,
            model: String::new(),
            base_url: String::new(),
            api_key: SecretRef::Keychain,
            max_calls_per_turn: 25,
            turn_timeout: minutes(10),
            request_timeout: seconds(120),
        }
    }
}

impl Default for Transcription {
    fn default() -> Self {
        Self { base_url: String::new(), model: String::new(), api_key: SecretRef::Keychain }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self { stale_after: hours(1) }
    }
}

impl Default for Debounce {
    fn default() -> Self {
        Self {
            closed: Duration::from_millis(1_200),
            neutral: Duration::from_millis(2_500),
            open: seconds(4),
            structural: seconds(1),
            max_wait: seconds(10),
            max_messages: 50,
            channels: BTreeMap::new(),
        }
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self { double_texting: DoubleTexting::Supersede, channels: BTreeMap::new() }
    }
}

impl Default for Message {
    fn default() -> Self {
        Self { default_delivery_mode: DeliveryMode::Immediate, fallback_to_batch_on_error: true }
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            window: minutes(10),
            near_window: hours(24),
            near_duplicates: NearDuplicates::Ask,
            tools: BTreeMap::new(),
        }
    }
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            expires: hours(72),
            mail_send: Policy::Ask,
            calendar_create: Policy::Auto,
            calendar_create_with_guests: Policy::Ask,
            calendar_update: Policy::Auto,
            calendar_delete: Policy::Ask,
            other: Policy::Ask,
        }
    }
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            hold: seconds(10),
            max_attempts: 8,
            give_up_after: hours(48),
            backoff: vec![minutes(1), minutes(5), minutes(15), hours(1), hours(4)],
            greylist_first: minutes(5),
            reconcile: vec![Duration::ZERO, seconds(30), minutes(2), minutes(11), hours(1), hours(24)],
            mails_per_hour: 30,
        }
    }
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            backend: CalendarBackend::Local,
            look_before_create: true,
            caldav: Caldav::default(),
            google: GoogleCalendar::default(),
        }
    }
}

impl Default for Caldav {
    fn default() -> Self {
        Self { url: String::new(), user: String::new(), password: SecretRef::Keychain, calendar: String::new() }
    }
}

impl Default for GoogleCalendar {
    fn default() -> Self {
        Self {
            api_url: "https://www.googleapis.com".into(),
            auth_url: "https://accounts.google.com".into(),
            token_url: "https://oauth2.googleapis.com".into(),
            client_id: String::new(),
            client_secret: SecretRef::None,
            refresh_token: SecretRef::Keychain,
            calendar: "primary".into(),
        }
    }
}

impl Default for Mail {
    fn default() -> Self {
        Self {
            backend: MailBackend::Maildir,
            from: String::new(),
            message_id_domain: String::new(),
            smtp: Smtp::default(),
            imap: Imap::default(),
            oauth: Oauth::default(),
            gmail: GmailMail::default(),
        }
    }
}

impl Default for Smtp {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 465,
            tls: Tls::Implicit,
            user: String::new(),
            auth: MailAuth::Password,
            password: SecretRef::Keychain,
            final_reply_timeout: minutes(10),
        }
    }
}

impl Default for Imap {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 993,
            tls: Tls::Implicit,
            user: String::new(),
            password: SecretRef::Keychain,
            sent: "auto".into(),
            auth: MailAuth::Password,
            wake_on: Vec::new(),
        }
    }
}

impl Default for Oauth {
    fn default() -> Self {
        Self {
            auth_url: String::new(),
            token_url: String::new(),
            client_id: String::new(),
            client_secret: SecretRef::None,
            refresh_token: SecretRef::Keychain,
        }
    }
}

impl Default for GmailMail {
    fn default() -> Self {
        Self { api_url: "https://gmail.googleapis.com".into() }
    }
}

impl Default for Telegram {
    fn default() -> Self {
        Self {
            enabled: false,
            token: SecretRef::Keychain,
            api_url: "https://api.telegram.org".into(),
            poll_timeout: seconds(30),
            owners: Vec::new(),
            groups: Groups::Off,
            min_interval: Duration::from_millis(100),
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self { enabled: false, bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 7717)), token: SecretRef::Keychain }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self { theme: Theme::System, close_to_tray: true, start_at_login: false, notifications: true }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { level: LogLevel::Info }
    }
}
