//! Building every stage, without running any.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use super::edges::{self, MailCheck, MailEdges};
use super::health::{Observed, WatchedCalendar, WatchedModel, WatchedSender};
use super::host::AppHost;
use super::lifecycle::StartError;
use super::options::{AppOptions, Without};
use super::secrets::{WatchedSecrets, secret};
use super::settings::{self, Locale};
use super::tool_servers::ToolServers;
use crate::api::{Api, ApiSessions, Parts};
use crate::audit::Anchors;
use crate::channels::http::HttpChannel;
use crate::channels::telegram::{self, Telegram};
use crate::channels::window::WindowChannel;
use crate::config::{Config, Provider};
use crate::domain::conversation::ChannelKind;
use crate::domain::ports::{
    Calendar, Channel, ChatModel, Clock, EffectTarget, IdSource, InboundSource, MailNews, MailReader, MailSender,
    Secrets, Transcriber,
};
use crate::evidence::Targets;
use crate::inbox::{Acts, Health, Ingress, Stages};
use crate::model::transcription::HttpTranscriber;
use crate::outbox::Channels;
use crate::runtime::ids::RandomIds;
use crate::runtime::secrets::{ConfiguredSecrets, Keychain, Secret};
use crate::store::{DataFolder, InstanceLock, Store};
use crate::tools::{self, Registry};
use crate::{approvals, debounce, evidence, guard, inbox, outbox, schedules, turns};

/// Every stage, composed.
pub(super) struct Stack {
    pub(super) config: Config,
    pub(super) folder: DataFolder,
    #[allow(dead_code, reason = "held: nobody else opens the folder")]
    pub(super) lock: InstanceLock,
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) locale: Locale,
    pub(super) secrets: Arc<dyn Secrets>,
    pub(super) without: Without,
    pub(super) channels: Channels,
    pub(super) window: Arc<WindowChannel>,
    pub(super) http: HttpChannel,
    pub(super) source: Option<Arc<dyn InboundSource>>,
    pub(super) telegram_health: Health,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) fallback: Option<Arc<dyn ChatModel>>,
    pub(super) calendar: Arc<dyn Calendar>,
    pub(super) sender: Arc<dyn MailSender>,
    pub(super) reader: Option<Arc<dyn MailReader>>,
    pub(super) news: Option<Arc<dyn MailNews>>,
    pub(super) mail_checks: Vec<Arc<dyn MailCheck>>,
    pub(super) rules: approvals::Rules,
    pub(super) guard: guard::Deps,
    pub(super) registry: Arc<Registry>,
    pub(super) tool_servers: ToolServers,
    pub(super) inbox: Arc<inbox::Settings>,
    pub(super) acts: Arc<dyn Acts>,
    pub(super) ingress: Ingress,
    pub(super) anchors: Anchors,
    pub(super) host: Arc<AppHost>,
    pub(super) api: Api,
}

/// Opens the database under the instance lock and builds the stages on it.
pub(super) fn compose(options: AppOptions) -> Result<Stack, StartError> {
    let AppOptions { loaded, config_path: _, folder, mode, ports, without } = options;
    let config = loaded.config;
    let lock = InstanceLock::take(&folder)?;
    let store = Store::open(&folder, mode)?;
    let clock = ports.clock.clone().unwrap_or_else(|| Arc::new(store.system_clock()));
    let ids = ports.ids.clone().unwrap_or_else(|| Arc::new(RandomIds));
    let locale = Locale::of(&config);
    let keychain = ports.keychain.clone().unwrap_or_else(|| Arc::new(Keychain::default()));
    // Edges, each watched for its state.
    let seen = Seen::default();
    let configured = Arc::new(ConfiguredSecrets::new(settings::secret_references(&config), keychain.clone()));
    let secrets: Arc<dyn Secrets> =
        Arc::new(WatchedSecrets::new(configured, seen.keychain.clone(), store.clone(), clock.clone()));
    let files = folder.files();
    let model = ports.model.clone().unwrap_or_else(|| {
        edges::model(&config.model, secret("model.api_key", &config.model.api_key, &secrets), &files)
    });
    let model: Arc<dyn ChatModel> = Arc::new(WatchedModel { inner: model, observed: seen.model.clone() });
    let fallback = config
        .fallback
        .as_ref()
        .map(|from| edges::model(from, secret("model.fallback.api_key", &from.api_key, &secrets), &files));
    let calendar = match &ports.calendar {
        Some(calendar) => calendar.clone(),
        None => edges::calendar(&config, &locale, &store, &clock, &secrets)?,
    };
    let calendar = ports.wrap_calendar.as_ref().map_or_else(|| calendar.clone(), |wrap| wrap(calendar.clone()));
    let calendar: Arc<dyn Calendar> = Arc::new(WatchedCalendar { inner: calendar, observed: seen.calendar.clone() });
    let MailEdges { sender, reader, sent, checks, news, from } =
        edges::mail(&config, &files, &folder.maildir(), &secrets, &clock)?;
    let sender = ports.mail_sender.clone().unwrap_or(sender);
    let sent = ports.mail_reader.clone().or(sent);
    let reader = ports.mail_reader.clone().or(reader);
    let sender: Arc<dyn MailSender> = Arc::new(WatchedSender { inner: sender, observed: seen.mail.clone() });

    // Channels.
    let window = Arc::new(WindowChannel::new(ids.clone()));
    let http = HttpChannel::default();
    let mut all: HashMap<ChannelKind, Arc<dyn Channel>> = HashMap::new();
    all.insert(ChannelKind::Window, window.clone());
    all.insert(ChannelKind::Http, Arc::new(http.clone()));
    let mut source = None;
    if config.telegram.enabled {
        let telegram = Arc::new(Telegram::new(telegram::Settings {
            token: secret("telegram.token", &config.telegram.token, &secrets),
            api_url: config.telegram.api_url.clone(),
            poll_timeout: config.telegram.poll_timeout,
        }));
        all.insert(ChannelKind::Telegram, telegram.clone());
        source = Some(telegram as Arc<dyn InboundSource>);
    }
    all.extend(ports.channels.iter().map(|channel| (channel.kind(), channel.clone())));
    let source = ports.source.clone().or(source);
    let channels = Channels::new(all.into_values());

    // Stages, the last one first.
    let targets = Targets::new(HashMap::from([
        (
            "calendar".to_owned(),
            Arc::new(tools::targets::CalendarTarget::new(calendar.clone())) as Arc<dyn EffectTarget>,
        ),
        (
            tools::targets::MAIL.to_owned(),
            Arc::new(tools::targets::MailTarget::new(sender.clone(), sent, ids.clone())) as Arc<dyn EffectTarget>,
        ),
    ]));
    let rules = approvals::Rules {
        ids: ids.clone(),
        targets,
        settings: settings::approvals(&config),
        evidence: settings::evidence(&config, &locale),
    };
    let guard = guard::Deps {
        store: store.clone(),
        clock: clock.clone(),
        calendar: Some(calendar.clone()),
        settings: settings::guard(&config, &locale, without.guard),
        rules: rules.clone(),
        mail_saves_only: sender.saves_only(),
    };
    let effects = tools::Effects::new(guard.clone(), vec![edges::address_of(&from)]);
    let mut all_tools = tools::builtin(tools::BuiltinDeps {
        store: store.clone(),
        clock: clock.clone(),
        effects: effects.clone(),
        calendar: Some(calendar.clone()),
        channels: channels.clone(),
        outbox: settings::outbox(&config),
    });
    let mail = tools::MailAccess {
        store: store.clone(),
        clock: clock.clone(),
        sender: sender.clone(),
        reader: reader.clone(),
        from,
    };
    all_tools.extend(tools::mail_tools(&mail, effects.clone()));
    let registry = Arc::new(Registry::new(all_tools));
    let tool_servers = ToolServers::new(&config, &effects, &store, &clock, &ids);
    tool_servers.register(&rules.targets);
    let inbox = Arc::new(settings::inbox(&config, &locale));
    let acts: Arc<dyn Acts> = Arc::new(Stages::new(rules.clone()));
    let ingress = Ingress::new(store.clone(), clock.clone(), inbox.clone(), acts.clone());

    let anchors = Anchors::new(folder.audit_anchor(), Some(keychain.clone()));
    let telegram_health = Health::default();
    let host = AppHost::new(&config, &folder, seen, telegram_health.clone(), &model, &calendar, &sender);
    let host = Arc::new(host.with_tool_servers(tool_servers.clone()));
    let api = Api::new(Parts {
        store: store.clone(),
        clock: clock.clone(),
        zone: locale.zone.clone(),
        calendar: calendar.clone(),
        rules: rules.clone(),
        anchors: anchors.clone(),
        host: host.clone(),
    });
    Ok(Stack {
        config,
        folder,
        lock,
        store,
        clock,
        ids,
        locale,
        secrets,
        without,
        channels,
        window,
        http,
        source,
        telegram_health,
        model,
        fallback,
        calendar,
        sender,
        reader,
        news,
        mail_checks: checks,
        rules,
        guard,
        registry,
        tool_servers,
        inbox,
        acts,
        ingress,
        anchors,
        host,
        api,
    })
}

/// What the calls of each edge showed.
#[derive(Clone, Default)]
pub(super) struct Seen {
    pub(super) model: Observed,
    pub(super) calendar: Observed,
    pub(super) mail: Observed,
    pub(super) keychain: Observed,
}

impl Stack {
    pub(super) fn sessions(&self) -> ApiSessions {
        ApiSessions::new(self.store.clone(), self.clock.clone(), self.ids.clone(), self.ingress.clone())
    }

    pub(super) fn http_token(&self) -> Secret {
        secret("http.token", &self.config.http.token, &self.secrets)
    }

    pub(super) fn debounce(&self) -> debounce::Worker {
        let settings = if self.without.debounce { settings::no_debounce() } else { settings::debounce(&self.config) };
        debounce::Worker::new(debounce::Deps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            settings: Arc::new(settings),
        })
    }

    pub(super) fn turns(&self) -> turns::Worker {
        turns::Worker::new(turns::TurnsDeps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            model: self.model.clone(),
            fallback: self.fallback.clone(),
            tools: self.registry.clone(),
            channels: self.channels.clone(),
            settings: Arc::new(settings::turns(&self.config, &self.locale)),
        })
    }

    pub(super) fn schedules(&self) -> schedules::Worker {
        let sink = Arc::new(self.ingress.clone());
        schedules::Worker::new(self.store.clone(), self.clock.clone(), self.ids.clone(), sink)
    }

    pub(super) fn approvals(&self) -> approvals::Worker {
        approvals::Worker::new(approvals::Deps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            rules: self.rules.clone(),
        })
    }

    pub(super) fn evidence(&self) -> evidence::Worker {
        evidence::Worker::new(evidence::Deps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            targets: self.rules.targets.clone(),
            settings: self.rules.evidence.clone(),
        })
    }

    /// Sent copies and bounces, where mail can be read.
    pub(super) fn aftercare(&self) -> Option<evidence::MailAftercare> {
        let reader = self.reader.clone().filter(|_| !self.sender.saves_only())?;
        let settings = self.rules.evidence.clone();
        Some(evidence::MailAftercare::new(
            self.store.clone(),
            self.clock.clone(),
            settings,
            self.sender.account(),
            reader,
        ))
    }

    /// New mail of the senders in `mail.imap.wake_on`.
    pub(super) fn mail(&self) -> Option<inbox::MailWorker> {
        Some(inbox::MailWorker::new(inbox::MailDeps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            settings: self.inbox.clone(),
            acts: self.acts.clone(),
            news: self.news.clone()?,
            account: self.sender.account(),
            wake_on: self.config.mail.imap.wake_on.clone(),
        }))
    }

    pub(super) fn outbox(&self) -> outbox::Worker {
        outbox::Worker::new(outbox::Deps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            channels: self.channels.clone(),
            settings: Arc::new(settings::outbox(&self.config)),
        })
    }

    pub(super) fn typing(&self) -> outbox::Typing {
        let limit = self.config.model.turn_timeout + self.config.debounce.max_wait;
        outbox::Typing::new(self.store.clone(), self.clock.clone(), self.channels.clone(), limit)
    }

    /// Polls the source, where there is one whose channel is there too.
    pub(super) fn inbox(&self) -> Option<inbox::Worker> {
        let source = self.source.clone()?;
        let channel = self.channels.get(source.kind())?.clone();
        Some(inbox::Worker::new(inbox::Deps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            settings: self.inbox.clone(),
            acts: self.acts.clone(),
            source,
            channel,
            health: self.telegram_health.clone(),
        }))
    }

    /// Fetches what messages refer to, and listens to voice notes where a server for that is configured.
    pub(super) fn media(&self) -> Option<inbox::MediaWorker> {
        let source = self.source.clone()?;
        let from = &self.config.transcription;
        let transcriber = (!from.base_url.is_empty()).then(|| {
            let key = secret("model.transcription.api_key", &from.api_key, &self.secrets);
            HttpTranscriber::new(&from.base_url, &from.model, key)
        });
        let transcriber = match transcriber.transpose() {
            Ok(transcriber) => transcriber.map(|server| Arc::new(server) as Arc<dyn Transcriber>),
            Err(reason) => {
                tracing::error!(reason, "voice notes cannot be listened to");
                None
            }
        };
        Some(inbox::MediaWorker::new(inbox::MediaDeps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            source,
            folder: self.folder.clone(),
            transcriber,
        }))
    }

    /// One summary per owner after an absence, on the channel that is polled.
    pub(super) fn summary(&self) -> Option<inbox::SummaryWorker> {
        Some(inbox::SummaryWorker::new(inbox::SummaryDeps {
            store: self.store.clone(),
            clock: self.clock.clone(),
            settings: self.inbox.clone(),
            channel: self.source.as_ref()?.kind(),
        }))
    }

    pub(super) fn is_practice(&self) -> bool {
        self.config.model.provider == Provider::Practice
    }

    pub(super) fn bind(&self) -> Option<SocketAddr> {
        self.config.http.enabled.then_some(self.config.http.bind)
    }
}
