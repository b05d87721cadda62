//! The edges by name: which adapter stands behind each port, by the configuration.
//!
//! A secret is read when it is first needed, not at the start, so that a keychain that is unlocked later is enough.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

use super::lifecycle::StartError;
use super::secrets::secret;
use super::settings::Locale;
use crate::calendar::caldav::{self, CalDavCalendar};
use crate::calendar::google::{self, GoogleCalendar};
use crate::calendar::local::LocalCalendar;
use crate::config::{self, CalendarBackend, Config, MailAuth, MailBackend, Provider};
use crate::domain::action::EventChanges;
use crate::domain::calendar::{CalendarInfo, Event, EventDraft, EventTime};
use crate::domain::chat::{ChatReply, ChatRequest, ModelError};
use crate::domain::ids::AccountId;
use crate::domain::ports::{
    Calendar, CalendarError, CalendarWarning, ChatModel, Clock, MailNews, MailReader, MailSender, SecretError, Secrets,
    StreamSink,
};
use crate::domain::time::Wall;
use crate::mail::compose::Composer;
use crate::mail::credential::Credential;
use crate::mail::gmail::{GmailClient, GmailReader, GmailSender};
use crate::mail::imap::{ImapReader, ImapSettings};
use crate::mail::maildir::Maildir;
use crate::mail::net;
use crate::mail::presets;
use crate::mail::smtp::{SmtpSender, SmtpSettings};
use crate::model::genai::{GenaiModel, ProviderSettings};
use crate::model::practice::PracticeModel;
use crate::runtime::oauth::{OAuthClient, OAuthError, OAuthSecrets, OAuthSettings};
use crate::runtime::secrets::{Secret, SecretRef};
use crate::store::Store;

/// Address that mails are from while none is configured: they are only saved as files.
const NOBODY: &str = "you@localhost.invalid";

/// The model of `[model]`, or of `[model.fallback]`; `key` names its secret.
pub(super) fn model(from: &config::Model, key: Secret, files: &Path) -> Arc<dyn ChatModel> {
    let provider = match from.provider {
        Provider::Practice => return Arc::new(PracticeModel),
        Provider::Openai => crate::model::genai::Provider::OpenAi,
        Provider::Anthropic => crate::model::genai::Provider::Anthropic,
        Provider::Gemini => crate::model::genai::Provider::Gemini,
        Provider::Ollama => crate::model::genai::Provider::Ollama,
    };
    let settings = ProviderSettings {
        provider,
        model: from.model.clone(),
        base_url: from.base_url.clone(),
        api_key: None,
        request_timeout: from.request_timeout,
        files: files.to_owned(),
    };
    // A server on this machine needs no key; a key that is missing there is not missed.
    let optional = from.provider == Provider::Ollama || (from.provider == Provider::Openai && is_local(&from.base_url));
    Arc::new(KeyedModel { settings, key, optional, ready: Mutex::default() })
}

fn is_local(url: &str) -> bool {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A provider whose key is read at each call; the client is kept while the key stays the same.
struct KeyedModel {
    settings: ProviderSettings,
    key: Secret,
    optional: bool,
    ready: Mutex<Option<(String, Arc<GenaiModel>)>>,
}

impl KeyedModel {
    async fn client(&self) -> Result<Arc<GenaiModel>, ModelError> {
        let key = match self.key.read().await {
            Ok(key) => key,
            Err(_) if self.optional => None,
            Err(error) => return Err(ModelError::Unauthorized { reason: error.to_string() }),
        };
        let value = key.as_ref().map(|key| key.expose_secret().to_owned()).unwrap_or_default();
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, client)) = ready.as_ref()
            && *known == value
        {
            return Ok(client.clone());
        }
        let settings = ProviderSettings { api_key: key, ..self.settings.clone() };
        let client = Arc::new(GenaiModel::new(settings)?);
        *ready = Some((value, client.clone()));
        Ok(client)
    }
}

#[async_trait]
impl ChatModel for KeyedModel {
    fn name(&self) -> String {
        self.settings.model.clone()
    }

    async fn reply(&self, request: &ChatRequest, sink: &dyn StreamSink) -> Result<ChatReply, ModelError> {
        self.client().await?.reply(request, sink).await
    }
}

/// The calendar of `[calendar]`.
pub(super) fn calendar(
    config: &Config,
    locale: &Locale,
    store: &Store,
    clock: &Arc<dyn Clock>,
    secrets: &Arc<dyn Secrets>,
) -> Result<Arc<dyn Calendar>, StartError> {
    Ok(match config.calendar.backend {
        CalendarBackend::Local => Arc::new(LocalCalendar::new(store.clone(), clock.clone(), locale.zone.clone())),
        CalendarBackend::Caldav => {
            let from = &config.calendar.caldav;
            let settings = caldav::Settings {
                url: from.url.clone(),
                user: from.user.clone(),
                calendar: from.calendar.clone(),
                organizer: config.mail.from.clone(),
                ..caldav::Settings::default()
            };
            let password = secret("calendar.caldav.password", &from.password, secrets);
            let (clock, zone) = (clock.clone(), locale.zone.clone());
            let build = Box::new(move |password| {
                let settings = caldav::Settings { password, ..settings.clone() };
                Arc::new(CalDavCalendar::new(settings, clock.clone(), zone.clone())) as Arc<dyn Calendar>
            });
            Arc::new(KeyedCalendar::new(password, from.user.is_empty(), build))
        }
        CalendarBackend::Google => {
            let from = &config.calendar.google;
            let oauth = Arc::new(calendar_oauth(config, secrets, clock)?);
            let settings = google::Settings {
                api_url: from.api_url.clone(),
                calendar: from.calendar.clone(),
                ..google::Settings::default()
            };
            Arc::new(GoogleCalendar::new(settings, oauth, locale.zone.clone())?)
        }
    })
}

/// The sign-in of `[calendar.google]`.
pub(super) fn calendar_oauth(
    config: &Config,
    secrets: &Arc<dyn Secrets>,
    clock: &Arc<dyn Clock>,
) -> Result<OAuthClient, OAuthError> {
    let from = &config.calendar.google;
    let settings = OAuthSettings {
        auth_url: from.auth_url.clone(),
        token_url: from.token_url.clone(),
        client_id: from.client_id.clone(),
        scopes: google::SCOPES.map(str::to_owned).to_vec(),
    };
    let names = OAuthSecrets {
        client_secret: "calendar.google.client_secret".to_owned(),
        refresh_token: "calendar.google.refresh_token".to_owned(),
    };
    OAuthClient::new(settings, secrets.clone(), names, clock.clone())
}

type Build = Box<dyn Fn(Option<SecretString>) -> Arc<dyn Calendar> + Send + Sync>;

/// A calendar whose password is read at each call; the connection is kept while it stays the same.
struct KeyedCalendar {
    password: Secret,
    /// No user, no sign-in.
    open: bool,
    build: Build,
    /// Without a password: knows its own name.
    unsigned: Arc<dyn Calendar>,
    ready: Mutex<Option<(String, Arc<dyn Calendar>)>>,
}

impl KeyedCalendar {
    fn new(password: Secret, open: bool, build: Build) -> Self {
        let unsigned = build(None);
        Self { password, open, build, unsigned, ready: Mutex::default() }
    }

    async fn client(&self) -> Result<Arc<dyn Calendar>, CalendarError> {
        if self.open {
            return Ok(self.unsigned.clone());
        }
        let password = self.password.read().await.map_err(|error| match error {
            SecretError::Unavailable { .. } | SecretError::Locked { .. } => {
                CalendarError::Unavailable { reason: error.to_string(), retry_after: None }
            }
            SecretError::Missing { .. } | SecretError::Empty { .. } | SecretError::Invalid { .. } => {
                CalendarError::Unauthorized { reason: error.to_string() }
            }
        })?;
        let value = password.as_ref().map(|value| value.expose_secret().to_owned()).unwrap_or_default();
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, client)) = ready.as_ref()
            && *known == value
        {
            return Ok(client.clone());
        }
        let client = (self.build)(password);
        *ready = Some((value, client.clone()));
        Ok(client)
    }
}

#[async_trait]
impl Calendar for KeyedCalendar {
    fn account(&self) -> AccountId {
        self.unsigned.account()
    }
    fn backend(&self) -> &'static str {
        self.unsigned.backend()
    }
    fn warnings(&self) -> Vec<CalendarWarning> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.as_ref().map(|(_, client)| client.warnings()).unwrap_or_default()
    }
    async fn calendars(&self) -> Result<Vec<CalendarInfo>, CalendarError> {
        self.client().await?.calendars().await
    }
    async fn resolve(&self, name: Option<&str>) -> Result<String, CalendarError> {
        self.client().await?.resolve(name).await
    }
    async fn list(&self, calendar: &str, from: Wall, to: Wall) -> Result<Vec<Event>, CalendarError> {
        self.client().await?.list(calendar, from, to).await
    }
    async fn get(&self, calendar: &str, id: &str) -> Result<Event, CalendarError> {
        self.client().await?.get(calendar, id).await
    }
    async fn create(&self, draft: &EventDraft) -> Result<Event, CalendarError> {
        self.client().await?.create(draft).await
    }
    async fn update(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        changes: &EventChanges,
        etag: Option<&str>,
    ) -> Result<Event, CalendarError> {
        self.client().await?.update(calendar, id, occurrence, changes, etag).await
    }
    async fn delete(
        &self,
        calendar: &str,
        id: &str,
        occurrence: Option<&EventTime>,
        etag: Option<&str>,
    ) -> Result<(), CalendarError> {
        self.client().await?.delete(calendar, id, occurrence, etag).await
    }
}

/// Sender and reader of `[mail]`.
pub(super) struct MailEdges {
    pub(super) sender: Arc<dyn MailSender>,
    pub(super) reader: Option<Arc<dyn MailReader>>,
    /// Where what was sent can be found again: the files themselves, or Sent.
    pub(super) sent: Option<Arc<dyn MailReader>>,
    /// Signs in without sending, for the doctor.
    pub(super) checks: Vec<Arc<dyn MailCheck>>,
    /// Tells of new mail, where some sender's starts a turn.
    pub(super) news: Option<Arc<dyn MailNews>>,
    /// What mails are from.
    pub(super) from: String,
}

/// Whether an account can be used right now.
#[async_trait]
pub(super) trait MailCheck: Send + Sync + 'static {
    /// The error is for a person.
    async fn check(&self) -> Result<(), String>;
}

#[async_trait]
impl MailCheck for SmtpSender {
    async fn check(&self) -> Result<(), String> {
        Self::check(self).await
    }
}

#[async_trait]
impl MailCheck for ImapReader {
    async fn check(&self) -> Result<(), String> {
        Self::check(self).await.map(|_| ()).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl MailCheck for GmailSender {
    async fn check(&self) -> Result<(), String> {
        Self::check(self).await
    }
}

#[async_trait]
impl MailCheck for Maildir {
    async fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Everything an IMAP or SMTP sign-in by OAuth may do at Google; other providers name their own scope alike.
const MAIL_SCOPE: &str = "https://mail.google.com/";

pub(super) fn mail(
    config: &Config,
    files: &Path,
    maildir: &Path,
    secrets: &Arc<dyn Secrets>,
    clock: &Arc<dyn Clock>,
) -> Result<MailEdges, StartError> {
    let imap = imap(config, secrets, clock)?.map(Arc::new);
    let reader = imap.clone().map(|imap| imap as Arc<dyn MailReader>);
    let with_reader = |sender: Arc<dyn MailCheck>| -> Vec<Arc<dyn MailCheck>> {
        let imap = imap.clone().map(|imap| imap as Arc<dyn MailCheck>);
        [sender].into_iter().chain(imap).collect()
    };
    let news = imap.clone().filter(|_| !config.mail.imap.wake_on.is_empty()).map(|imap| imap as Arc<dyn MailNews>);
    let from = if config.mail.from.is_empty() { NOBODY.to_owned() } else { config.mail.from.clone() };
    let composer = Composer::new(files, &config.mail.message_id_domain);
    let account = AccountId::new(address_of(&from));
    match config.mail.backend {
        MailBackend::Smtp => {
            let smtp = &config.mail.smtp;
            let settings = SmtpSettings {
                host: smtp.host.clone(),
                port: smtp.port,
                tls: tls(smtp.tls),
                user: smtp.user.clone(),
                final_reply_timeout: smtp.final_reply_timeout,
                files_sent: presets::files_sent(&smtp.host),
                ..SmtpSettings::default()
            };
            let credential =
                credential(config, &smtp.user, smtp.auth, (&smtp.password, "mail.smtp.password"), secrets, clock)?;
            let sender = Arc::new(SmtpSender::new(settings, credential, account, composer));
            Ok(MailEdges { checks: with_reader(sender.clone()), sender, sent: reader.clone(), reader, news, from })
        }
        MailBackend::Gmail => {
            let tokens = Arc::new(mail_oauth(config, secrets, clock)?);
            let client = Arc::new(GmailClient::new(&config.mail.gmail.api_url, tokens)?);
            let sender = Arc::new(GmailSender::new(client.clone(), account, composer));
            // The API reads as well; a configured IMAP server is the person's own choice.
            let reader = reader.or_else(|| Some(Arc::new(GmailReader::new(client))));
            Ok(MailEdges { checks: with_reader(sender.clone()), sender, sent: reader.clone(), reader, news, from })
        }
        MailBackend::Maildir => {
            let sender = Arc::new(Maildir::new(maildir, account, composer));
            // What was saved can be searched and read until there is a mailbox.
            let reader = reader.or_else(|| Some(sender.clone()));
            Ok(MailEdges {
                checks: with_reader(sender.clone()),
                sent: Some(sender.clone()),
                sender,
                reader,
                news,
                from,
            })
        }
    }
}

/// `None` while no server is configured.
fn imap(config: &Config, secrets: &Arc<dyn Secrets>, clock: &Arc<dyn Clock>) -> Result<Option<ImapReader>, StartError> {
    let imap = &config.mail.imap;
    if imap.host.is_empty() {
        return Ok(None);
    }
    let settings = ImapSettings {
        host: imap.host.clone(),
        port: imap.port,
        tls: tls(imap.tls),
        user: imap.user.clone(),
        sent: imap.sent.clone(),
        ..ImapSettings::default()
    };
    let credential = credential(config, &imap.user, imap.auth, (&imap.password, "mail.imap.password"), secrets, clock)?;
    Ok(Some(ImapReader::new(settings, credential)))
}

/// The address in `Name <address>`.
pub(super) fn address_of(from: &str) -> String {
    crate::domain::address::Mailbox::parse(from).map_or_else(|_| from.to_owned(), |mailbox| mailbox.address())
}

fn tls(from: config::Tls) -> net::Tls {
    match from {
        config::Tls::Implicit => net::Tls::Implicit,
        config::Tls::Starttls => net::Tls::StartTls,
        config::Tls::None => net::Tls::None,
    }
}

/// How to sign in as `user`; `password` is where that is, and the key it has.
fn credential(
    config: &Config,
    user: &str,
    auth: MailAuth,
    (password, name): (&SecretRef, &str),
    secrets: &Arc<dyn Secrets>,
    clock: &Arc<dyn Clock>,
) -> Result<Credential, StartError> {
    if user.is_empty() {
        return Ok(Credential::None);
    }
    match auth {
        MailAuth::Password if *password == SecretRef::None => Ok(Credential::None),
        MailAuth::Password => Ok(Credential::Password { secrets: secrets.clone(), name: name.to_owned() }),
        MailAuth::Xoauth2 => Ok(Credential::Token(Arc::new(mail_oauth(config, secrets, clock)?))),
    }
}

/// The sign-in of `[mail.oauth]`.
pub(super) fn mail_oauth(
    config: &Config,
    secrets: &Arc<dyn Secrets>,
    clock: &Arc<dyn Clock>,
) -> Result<OAuthClient, OAuthError> {
    let from = &config.mail.oauth;
    // Gmail's backend needs no addresses of its own: Google's are known.
    let or_google = |url: &str, google: &str| {
        if url.is_empty() && config.mail.backend == MailBackend::Gmail { google.to_owned() } else { url.to_owned() }
    };
    let settings = OAuthSettings {
        auth_url: or_google(&from.auth_url, "https://accounts.google.com"),
        token_url: or_google(&from.token_url, "https://oauth2.googleapis.com"),
        client_id: from.client_id.clone(),
        scopes: vec![MAIL_SCOPE.to_owned()],
    };
    let names = OAuthSecrets {
        client_secret: "mail.oauth.client_secret".to_owned(),
        refresh_token: "mail.oauth.refresh_token".to_owned(),
    };
    OAuthClient::new(settings, secrets.clone(), names, clock.clone())
}
