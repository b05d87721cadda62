//! From the configuration file to the settings of each stage.

use std::collections::{BTreeSet, HashMap};

use jiff::tz::TimeZone;

use crate::config::{Config, Debounce, DeliveryMode, DoubleTexting, Groups, Language as FileLanguage, NearDuplicates};
use crate::domain::conversation::ChannelKind;
use crate::domain::language::Language;
use crate::runtime::secrets::SecretRef;
use crate::{approvals, debounce, evidence, guard, inbox, outbox, turns};

/// Telegram's longest text in UTF-16 units (<https://core.telegram.org/bots/api#sendmessage>).
const TELEGRAM_LIMIT: usize = 4096;

/// Where the user is and what they speak.
#[derive(Clone, Debug)]
pub struct Locale {
    pub zone: TimeZone,
    /// IANA name of `zone`.
    pub zone_name: String,
    /// Of the program's own lines.
    pub language: Language,
}

impl Locale {
    pub fn of(config: &Config) -> Self {
        let configured = config.assistant.timezone.as_deref().and_then(|name| TimeZone::get(name).ok());
        let zone = configured.unwrap_or_else(TimeZone::system);
        // A zone without a name (a bare TZ rule) has no place in a calendar.
        let zone_name = zone.iana_name().map(str::to_owned);
        let (zone, zone_name) = zone_name.map_or((TimeZone::UTC, "UTC".to_owned()), |name| (zone, name));
        let language = match config.assistant.language {
            FileLanguage::Es => Language::Es,
            FileLanguage::En => Language::En,
            FileLanguage::Auto => from_environment(),
        };
        Self { zone, zone_name, language }
    }
}

/// Language of the computer by the usual variables.
fn from_environment() -> Language {
    let value = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    if value.is_some_and(|value| value.starts_with("es")) { Language::Es } else { Language::En }
}

pub fn inbox(config: &Config, locale: &Locale) -> inbox::Settings {
    let owners: BTreeSet<_> = config.telegram.owners.iter().map(|id| (ChannelKind::Telegram, id.to_string())).collect();
    inbox::Settings {
        stale_after: config.inbox.stale_after,
        owners,
        groups: match config.telegram.groups {
            Groups::Off => inbox::Groups::Off,
            Groups::Mention => inbox::Groups::Mention,
        },
        language: locale.language,
        zone: locale.zone.clone(),
        hear_voice: !config.transcription.base_url.is_empty(),
        poll_timeout: config.telegram.poll_timeout,
        ..inbox::Settings::default()
    }
}

pub fn debounce(config: &Config) -> debounce::Settings {
    let windows = |from: &Debounce, channel: Option<ChannelKind>| debounce::Windows {
        closed: from.closed,
        neutral: from.neutral,
        open: from.open,
        structural: from.structural,
        max_wait: from.max_wait,
        max_messages: usize::try_from(from.max_messages).unwrap_or(usize::MAX),
        text_limit: (channel == Some(ChannelKind::Telegram)).then_some(TELEGRAM_LIMIT),
    };
    debounce::Settings {
        windows: windows(&config.debounce, None),
        channels: ChannelKind::ALL
            .into_iter()
            .map(|channel| (channel, windows(config.debounce.of(channel), Some(channel))))
            .collect(),
        stale_after: config.inbox.stale_after,
    }
}

pub fn outbox(config: &Config) -> outbox::Settings {
    let telegram = outbox::Rates { min_interval: config.telegram.min_interval, ..outbox::Rates::default() };
    outbox::Settings {
        default_delivery_mode: match config.message.default_delivery_mode {
            DeliveryMode::Immediate => outbox::Mode::Immediate,
            DeliveryMode::Batched => outbox::Mode::Batched,
        },
        fallback_to_batch_on_error: config.message.fallback_to_batch_on_error,
        rates: HashMap::from([(ChannelKind::Telegram, telegram)]),
        ..outbox::Settings::default()
    }
}

pub fn turns(config: &Config, locale: &Locale) -> turns::Settings {
    let mode = |mode| match mode {
        DoubleTexting::Supersede => turns::DoubleTexting::Supersede,
        DoubleTexting::Enqueue => turns::DoubleTexting::Enqueue,
        DoubleTexting::Reject => turns::DoubleTexting::Reject,
        DoubleTexting::Interrupt => turns::DoubleTexting::Interrupt,
        DoubleTexting::Rollback => turns::DoubleTexting::Rollback,
    };
    turns::Settings {
        double_texting: mode(config.turns.double_texting),
        per_channel: config.turns.channels.iter().map(|(channel, own)| (*channel, mode(*own))).collect(),
        max_calls_per_turn: config.model.max_calls_per_turn,
        turn_timeout: config.model.turn_timeout,
        request_timeout: config.model.request_timeout,
        prices: config
            .prices
            .iter()
            .map(|(model, (input, output))| (model.clone(), turns::Price { input: *input, output: *output }))
            .collect(),
        budget_per_day: config.budget_per_day,
        name: config.assistant.name.clone(),
        instructions: config.assistant.instructions.clone(),
        language: match config.assistant.language {
            FileLanguage::Auto => turns::LanguageChoice::Auto,
            FileLanguage::Es => turns::LanguageChoice::Es,
            FileLanguage::En => turns::LanguageChoice::En,
        },
        fallback_language: locale.language,
        zone: locale.zone.clone(),
        zone_name: locale.zone_name.clone(),
        ..turns::Settings::default()
    }
}

pub fn approvals(config: &Config) -> approvals::Settings {
    let from = &config.approvals;
    approvals::Settings {
        expires: from.expires,
        policies: approvals::Policies {
            mail_send: from.mail_send,
            calendar_create: from.calendar_create,
            calendar_create_with_guests: from.calendar_create_with_guests,
            calendar_update: from.calendar_update,
            calendar_delete: from.calendar_delete,
            other: from.other,
        },
        telegram_owners: config.telegram.owners.iter().map(i64::to_string).collect(),
    }
}

pub fn evidence(config: &Config, locale: &Locale) -> evidence::Settings {
    let from = &config.evidence;
    evidence::Settings {
        hold: from.hold,
        max_attempts: from.max_attempts,
        give_up_after: from.give_up_after,
        backoff: from.backoff.clone(),
        greylist_first: from.greylist_first,
        reconcile: from.reconcile.clone(),
        mails_per_hour: from.mails_per_hour,
        language: locale.language,
        zone: locale.zone.clone(),
        ..evidence::Settings::default()
    }
}

/// Where each secret is, by its dotted key.
pub fn secret_references(config: &Config) -> HashMap<String, SecretRef> {
    let mut references = HashMap::new();
    let mut add = |name: &str, reference: &SecretRef| {
        references.insert(name.to_owned(), reference.clone());
    };
    add("model.api_key", &config.model.api_key);
    if let Some(fallback) = &config.fallback {
        add("model.fallback.api_key", &fallback.api_key);
    }
    add("model.transcription.api_key", &config.transcription.api_key);
    add("calendar.caldav.password", &config.calendar.caldav.password);
    add("calendar.google.client_secret", &config.calendar.google.client_secret);
    add("calendar.google.refresh_token", &config.calendar.google.refresh_token);
    add("mail.smtp.password", &config.mail.smtp.password);
    add("mail.imap.password", &config.mail.imap.password);
    add("mail.oauth.client_secret", &config.mail.oauth.client_secret);
    add("mail.oauth.refresh_token", &config.mail.oauth.refresh_token);
    add("telegram.token", &config.telegram.token);
    add("http.token", &config.http.token);
    references
}

/// `off` leaves the guard without its memory: the control that shows what it is for.
pub fn guard(config: &Config, locale: &Locale, off: bool) -> guard::Settings {
    let from = &config.guard;
    let near = match from.near_duplicates {
        NearDuplicates::Ask => guard::NearDuplicates::Ask,
        NearDuplicates::Off => guard::NearDuplicates::Off,
    };
    guard::Settings {
        window: if off { std::time::Duration::ZERO } else { from.window },
        near_window: from.near_window,
        near_duplicates: if off { guard::NearDuplicates::Off } else { near },
        look_before_create: config.calendar.look_before_create && !off,
        zone: locale.zone.clone(),
        ..guard::Settings::default()
    }
}

/// Every message at once: the control that shows what debounce is for.
pub fn no_debounce() -> debounce::Settings {
    let none = std::time::Duration::ZERO;
    let windows = debounce::Windows {
        closed: none,
        neutral: none,
        open: none,
        structural: none,
        max_wait: none,
        ..debounce::Windows::default()
    };
    debounce::Settings { windows, channels: HashMap::new(), ..debounce::Settings::default() }
}
