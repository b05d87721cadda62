//! Every section of the file, key by key, and what must hold between keys.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use toml_edit::{Document, Value};

use super::error::{ConfigError, Problem};
use super::folders::Places;
use super::reader::{Reader, Section, is_url, position};
use super::schema::{
    Approvals, Assistant, Caldav, Calendar, CalendarBackend, Config, Debounce, Evidence, GmailMail, GoogleCalendar,
    Guard, GuardTool, Http, Imap, Inbox, Log, Mail, MailBackend, Mcp, McpServer, McpTransport, Message, Model, Oauth,
    Provider, Smtp, Telegram, Tls, Transcription, Turns, Window,
};
use crate::domain::conversation::ChannelKind;

/// The configuration with every effective value, for display.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// (dotted path, value as TOML) in the order of the documentation. Holds no secret, only where secrets are.
    pub effective: Vec<(Vec<String>, Value)>,
}

/// Reads the file; an absent one means defaults, unless it was named by hand.
pub fn load(places: &Places) -> Result<Loaded, ConfigError> {
    let file = &places.config;
    match std::fs::read_to_string(file) {
        Ok(text) => parse(&text, file),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound && !places.config_is_explicit => parse("", file),
        Err(source) => Err(ConfigError::Unreadable { file: file.clone(), source }),
    }
}

/// `file` only names the text in errors.
pub fn parse(text: &str, file: &Path) -> Result<Loaded, ConfigError> {
    let invalid = |problems| ConfigError::Invalid { file: file.to_owned(), problems };
    let document = Document::parse(text.to_owned()).map_err(|error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        let message = error.message().replace('\n', ", ");
        invalid(vec![Problem { line, column, key: String::new(), message, allowed: String::new() }])
    })?;
    let reader = Reader::new(text);
    let config = read(reader.root(&document));
    let (problems, effective) = reader.finish();
    if problems.is_empty() { Ok(Loaded { config, effective }) } else { Err(invalid(problems)) }
}

fn read(mut root: Section<'_>) -> Config {
    let assistant = assistant(root.section("assistant"));
    let mut model_section = root.section("model");
    let model = model(&mut model_section, &Model::default());
    let mut fallback_section = model_section.section("fallback");
    let fallback =
        if fallback_section.exists() { Some(self::model(&mut fallback_section, &Model::default())) } else { None };
    fallback_section.end();
    let prices = prices(model_section.section("prices"));
    let mut budget = model_section.section("budget");
    let budget_per_day = budget.amount("per_day", 0.0);
    budget.end();
    let transcription = transcription(model_section.section("transcription"));
    model_section.end();
    let config = Config {
        assistant,
        model,
        fallback,
        prices,
        budget_per_day,
        transcription,
        inbox: inbox(root.section("inbox")),
        debounce: debounce(root.section("debounce")),
        turns: turns(root.section("turns")),
        message: message(root.section("message")),
        guard: guard(root.section("guard")),
        approvals: approvals(root.section("approvals")),
        evidence: evidence(root.section("evidence")),
        calendar: calendar(root.section("calendar")),
        mail: mail(root.section("mail")),
        telegram: telegram(root.section("telegram")),
        http: http(root.section("http")),
        mcp: mcp(root.section("mcp")),
        window: window(root.section("window")),
        log: log(root.section("log")),
    };
    root.end();
    config
}

fn assistant(mut section: Section<'_>) -> Assistant {
    let default = Assistant::default();
    let language = section.choice("language", default.language);
    let timezone =
        section.text_where("timezone", "auto", "\"auto\" or an IANA name such as \"Europe/Madrid\"", |name| {
            name == "auto" || jiff::tz::TimeZone::get(name).is_ok()
        });
    let assistant = Assistant {
        language,
        timezone: Some(timezone).filter(|name| name != "auto"),
        name: section.text("name", &default.name),
        instructions: section.text("instructions", &default.instructions),
    };
    section.end();
    assistant
}

fn model(section: &mut Section<'_>, default: &Model) -> Model {
    let model = Model {
        provider: section.choice("provider", default.provider),
        model: section.text("model", &default.model),
        base_url: section.url("base_url", &default.base_url),
        api_key: section.secret("api_key", &default.api_key),
        max_calls_per_turn: section.whole("max_calls_per_turn", default.max_calls_per_turn, 1..=1_000),
        turn_timeout: section.duration("turn_timeout", default.turn_timeout),
        request_timeout: section.duration("request_timeout", default.request_timeout),
    };
    if model.provider != Provider::Practice && model.model.is_empty() {
        section.problem("model", format!("the provider {} needs a model", model.provider.as_str()), "the model's name");
    }
    model
}

fn prices(mut section: Section<'_>) -> BTreeMap<String, (f64, f64)> {
    let names = section.names();
    let prices = names.into_iter().filter_map(|name| section.prices(&name).map(|pair| (name, pair))).collect();
    section.end();
    prices
}

fn transcription(mut section: Section<'_>) -> Transcription {
    let default = Transcription::default();
    let transcription = Transcription {
        base_url: section.url("base_url", &default.base_url),
        model: section.text("model", &default.model),
        api_key: section.secret("api_key", &default.api_key),
    };
    section.end();
    transcription
}

fn inbox(mut section: Section<'_>) -> Inbox {
    let inbox = Inbox { stale_after: section.duration("stale_after", Inbox::default().stale_after) };
    section.end();
    inbox
}

fn debounce(mut section: Section<'_>) -> Debounce {
    let mut all = windows(&mut section, &Debounce::default());
    for channel in ChannelKind::ALL {
        let mut own = section.section(channel.as_str());
        if own.exists() {
            let windows = windows(&mut own, &all);
            all.channels.insert(channel, windows);
        }
        own.end();
    }
    section.end();
    all
}

fn windows(section: &mut Section<'_>, default: &Debounce) -> Debounce {
    Debounce {
        closed: section.duration("closed", default.closed),
        neutral: section.duration("neutral", default.neutral),
        open: section.duration("open", default.open),
        structural: section.duration("structural", default.structural),
        max_wait: section.duration("max_wait", default.max_wait),
        max_messages: section.whole("max_messages", default.max_messages, 1..=10_000),
        channels: BTreeMap::new(),
    }
}

fn turns(mut section: Section<'_>) -> Turns {
    let mut turns = Turns::default();
    turns.double_texting = section.choice("double_texting", turns.double_texting);
    for channel in ChannelKind::ALL {
        let mut own = section.section(channel.as_str());
        if own.exists() {
            let mode = own.choice("double_texting", turns.double_texting);
            turns.channels.insert(channel, mode);
        }
        own.end();
    }
    section.end();
    turns
}

fn message(mut section: Section<'_>) -> Message {
    let default = Message::default();
    let message = Message {
        default_delivery_mode: section.choice("default_delivery_mode", default.default_delivery_mode),
        fallback_to_batch_on_error: section.flag("fallback_to_batch_on_error", default.fallback_to_batch_on_error),
    };
    section.end();
    message
}

fn guard(mut section: Section<'_>) -> Guard {
    let default = Guard::default();
    let mut guard = Guard {
        window: section.duration("window", default.window),
        near_window: section.duration("near_window", default.near_window),
        near_duplicates: section.choice("near_duplicates", default.near_duplicates),
        tools: BTreeMap::new(),
    };
    let mut tools = section.section("tools");
    for name in tools.names() {
        let mut tool = tools.section(&name);
        let present = tool.names();
        let has = |key: &str| present.iter().any(|name| name == key);
        let kind = has("kind").then(|| tool.choice("kind", crate::domain::tool::ToolKind::Effect));
        let identity = tool.texts("identity", &[]);
        let window = tool.duration("window", guard.window);
        // `kind` counts as known even when it is absent.
        if kind.is_none() {
            tool.allow("kind");
        }
        guard.tools.insert(name, GuardTool { kind, identity, window: has("window").then_some(window) });
        tool.end();
    }
    tools.end();
    section.end();
    guard
}

fn approvals(mut section: Section<'_>) -> Approvals {
    let default = Approvals::default();
    let approvals = Approvals {
        expires: section.duration("expires", default.expires),
        mail_send: section.choice("mail_send", default.mail_send),
        calendar_create: section.choice("calendar_create", default.calendar_create),
        calendar_create_with_guests: section.choice("calendar_create_with_guests", default.calendar_create_with_guests),
        calendar_update: section.choice("calendar_update", default.calendar_update),
        calendar_delete: section.choice("calendar_delete", default.calendar_delete),
        other: section.choice("other", default.other),
    };
    section.end();
    approvals
}

fn evidence(mut section: Section<'_>) -> Evidence {
    let default = Evidence::default();
    let evidence = Evidence {
        hold: section.duration("hold", default.hold),
        max_attempts: section.whole("max_attempts", default.max_attempts, 1..=100),
        give_up_after: section.duration("give_up_after", default.give_up_after),
        backoff: section.durations("backoff", &default.backoff),
        greylist_first: section.duration("greylist_first", default.greylist_first),
        reconcile: section.durations("reconcile", &default.reconcile),
        mails_per_hour: section.whole("mails_per_hour", default.mails_per_hour, 0..=100_000),
    };
    section.end();
    evidence
}

fn calendar(mut section: Section<'_>) -> Calendar {
    let default = Calendar::default();
    let backend = section.choice("backend", default.backend);
    let look_before_create = section.flag("look_before_create", default.look_before_create);
    let mut part = section.section("caldav");
    let caldav = Caldav {
        url: part.url("url", &default.caldav.url),
        user: part.text("user", &default.caldav.user),
        password: part.secret("password", &default.caldav.password),
        calendar: part.text("calendar", &default.caldav.calendar),
    };
    part.end();
    let mut part = section.section("google");
    let google = GoogleCalendar {
        api_url: part.url("api_url", &default.google.api_url),
        auth_url: part.url("auth_url", &default.google.auth_url),
        token_url: part.url("token_url", &default.google.token_url),
        client_id: part.text("client_id", &default.google.client_id),
        client_secret: part.secret("client_secret", &default.google.client_secret),
        refresh_token: part.secret("refresh_token", &default.google.refresh_token),
        calendar: part.text("calendar", &default.google.calendar),
    };
    part.end();
    match backend {
        CalendarBackend::Caldav if caldav.url.is_empty() => {
            section.problem("backend", "\"caldav\" needs calendar.caldav.url", "the server's address there");
        }
        CalendarBackend::Google if google.client_id.is_empty() => {
            section.problem("backend", "\"google\" needs calendar.google.client_id", "the OAuth client's id there");
        }
        CalendarBackend::Local | CalendarBackend::Caldav | CalendarBackend::Google => {}
    }
    section.end();
    Calendar { backend, look_before_create, caldav, google }
}

fn mail(mut section: Section<'_>) -> Mail {
    let default = Mail::default();
    let backend = section.choice("backend", default.backend);
    let from = section.text("from", &default.from);
    let message_id_domain = section.text("message_id_domain", &default.message_id_domain);
    let smtp = smtp(section.section("smtp"));
    let imap = imap(section.section("imap"));
    let mut part = section.section("oauth");
    let oauth = Oauth {
        auth_url: part.url("auth_url", &default.oauth.auth_url),
        token_url: part.url("token_url", &default.oauth.token_url),
        client_id: part.text("client_id", &default.oauth.client_id),
        client_secret: part.secret("client_secret", &default.oauth.client_secret),
        refresh_token: part.secret("refresh_token", &default.oauth.refresh_token),
    };
    part.end();
    let mut part = section.section("gmail");
    let gmail = GmailMail { api_url: part.url("api_url", &default.gmail.api_url) };
    part.end();
    match backend {
        MailBackend::Smtp if smtp.host.is_empty() => {
            section.problem("backend", "\"smtp\" needs mail.smtp.host", "the server's name there");
        }
        MailBackend::Smtp | MailBackend::Gmail if from.is_empty() => {
            section.problem("backend", format!("\"{}\" needs mail.from", backend.as_str()), "your address there");
        }
        MailBackend::Gmail if oauth.client_id.is_empty() => {
            section.problem("backend", "\"gmail\" needs mail.oauth.client_id", "the OAuth client's id there");
        }
        MailBackend::Maildir | MailBackend::Smtp | MailBackend::Gmail => {}
    }
    section.end();
    Mail { backend, from, message_id_domain, smtp, imap, oauth, gmail }
}

fn smtp(mut section: Section<'_>) -> Smtp {
    let default = Smtp::default();
    let smtp = Smtp {
        host: section.text("host", &default.host),
        port: section.whole("port", default.port, 1..=65_535),
        tls: section.choice("tls", default.tls),
        user: section.text("user", &default.user),
        auth: section.choice("auth", default.auth),
        password: section.secret("password", &default.password),
        final_reply_timeout: section.duration("final_reply_timeout", default.final_reply_timeout),
    };
    plain_only_on_loopback(&section, smtp.tls, &smtp.host);
    section.end();
    smtp
}

fn imap(mut section: Section<'_>) -> Imap {
    let default = Imap::default();
    let imap = Imap {
        host: section.text("host", &default.host),
        port: section.whole("port", default.port, 1..=65_535),
        tls: section.choice("tls", default.tls),
        user: section.text("user", &default.user),
        password: section.secret("password", &default.password),
        sent: section.text("sent", &default.sent),
        auth: section.choice("auth", default.auth),
        wake_on: section.texts("wake_on", &default.wake_on),
    };
    plain_only_on_loopback(&section, imap.tls, &imap.host);
    if imap.host.is_empty() && !imap.wake_on.is_empty() {
        section.problem("wake_on", "there is no mailbox to watch", "a server in mail.imap.host, or an empty list");
    }
    section.end();
    imap
}

fn plain_only_on_loopback(section: &Section<'_>, tls: Tls, host: &str) {
    let loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if tls == Tls::None && !loopback {
        section.problem("tls", "\"none\" is allowed for a server on this computer only", "\"implicit\", \"starttls\"");
    }
}

fn telegram(mut section: Section<'_>) -> Telegram {
    let default = Telegram::default();
    let telegram = Telegram {
        enabled: section.flag("enabled", default.enabled),
        token: section.secret("token", &default.token),
        api_url: section.text_where(
            "api_url",
            &default.api_url,
            "an address that begins with http:// or https://",
            is_url,
        ),
        poll_timeout: section.duration("poll_timeout", default.poll_timeout),
        owners: section.whole_numbers("owners", &default.owners),
        groups: section.choice("groups", default.groups),
        min_interval: section.duration("min_interval", default.min_interval),
    };
    section.end();
    telegram
}

fn http(mut section: Section<'_>) -> Http {
    let default = Http::default();
    let enabled = section.flag("enabled", default.enabled);
    let bind = section.text_where(
        "bind",
        &default.bind.to_string(),
        "an address of this computer with a port, such as \"127.0.0.1:7717\" or \"[::1]:0\"",
        |text| text.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback()),
    );
    let token = section.secret("token", &default.token);
    section.end();
    Http { enabled, bind: bind.parse().unwrap_or(default.bind), token }
}

fn mcp(mut section: Section<'_>) -> Mcp {
    let mut mcp = Mcp::default();
    let mut servers = section.section("servers");
    for name in servers.names() {
        let mut server = servers.section(&name);
        let command = server.texts("command", &[]);
        let url = server.url("url", "");
        let mut variables = server.section("env");
        let env = variables.names().into_iter().map(|key| (key.clone(), variables.text(&key, ""))).collect();
        variables.end();
        let trust_annotations = server.flag("trust_annotations", false);
        let timeout = server.duration("timeout", Duration::from_secs(60));
        let transport = match (command.is_empty(), url.is_empty()) {
            (false, true) => McpTransport::Command(command),
            (true, false) => McpTransport::Url(url),
            (false, false) => {
                server.problem("url", "command and url are both given", "one of the two");
                McpTransport::Url(url)
            }
            (true, true) => {
                server.problem(
                    "command",
                    "neither command nor url is given",
                    "command = [\"program\", …] or url = \"https://…\"",
                );
                McpTransport::Command(command)
            }
        };
        mcp.servers.insert(name, McpServer { transport, env, trust_annotations, timeout });
        server.end();
    }
    servers.end();
    section.end();
    mcp
}

fn window(mut section: Section<'_>) -> Window {
    let default = Window::default();
    let window = Window {
        theme: section.choice("theme", default.theme),
        close_to_tray: section.flag("close_to_tray", default.close_to_tray),
        start_at_login: section.flag("start_at_login", default.start_at_login),
        notifications: section.flag("notifications", default.notifications),
    };
    section.end();
    window
}

fn log(mut section: Section<'_>) -> Log {
    let log = Log { level: section.choice("level", Log::default().level) };
    section.end();
    log
}
