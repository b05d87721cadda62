//! Playing a scenario to its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::faults::{Faults, FaultyCalendar};
use super::outcome::{Outcome, read};
use super::scenario::{Fault, Scenario, ScenarioError};
use super::stage::{Person, PlayedChannel, Wire};
use crate::app::lifecycle::{App, StartError};
use crate::app::options::{AppOptions, Ports, Without};
use crate::domain::ports::{ChatModel, Clock, IdSource};
use crate::domain::time::{Elapsed, Wall};
use crate::model::practice::PracticeModel;
use crate::model::scripted::ScriptedModel;
use crate::runtime::clock::VirtualClock;
use crate::runtime::ids::RandomIds;
use crate::runtime::secrets::MemorySecrets;
use crate::store::{DataFolder, Store, StoreError, StoreMode};

/// How a scenario is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Takes as long as the story does.
    pub real_time: bool,
    pub without: Without,
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the scratch folder cannot be used: {0}")]
    Scratch(#[from] std::io::Error),
}

/// Plays a scenario on a runtime of its own: on a virtual clock it takes no longer than the work itself.
pub fn play(scenario: &Scenario, options: Options) -> Result<Outcome, ReplayError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(!options.real_time);
    builder.build()?.block_on(play_now(scenario, options))
}

/// Looks this often whether anything is left to do.
const LOOK: Duration = Duration::from_millis(500);

/// Plays a scenario on the present runtime, which must be a current-thread one (paused, for virtual time).
pub async fn play_now(scenario: &Scenario, options: Options) -> Result<Outcome, ReplayError> {
    let scratch = Scratch::new(&RandomIds.uuid())?;
    let folder = DataFolder::open(scratch.path()).map_err(StartError::from)?;
    let start = Wall::from(scenario.start());
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::starting(start, Elapsed(0)));

    let mut restarts = Vec::new();
    let (mut on_calendar, mut on_channel) = (Vec::new(), Vec::new());
    for fault in &scenario.faults {
        match fault {
            Fault::Restart { at } => restarts.push(*at),
            Fault::Calendar { call, how } => on_calendar.push((*call, *how)),
            Fault::Channel { send, how } => on_channel.push((*send, *how)),
        }
    }
    restarts.sort();
    let wire = Arc::new(Wire::new(on_channel));
    let faults = Arc::new(Faults::new(on_calendar));
    let model: Arc<dyn ChatModel> = match scenario.model.is_empty() {
        true => Arc::new(PracticeModel),
        false => Arc::new(ScriptedModel::new(clock.clone(), scenario.model.clone())),
    };
    let ports = Ports {
        clock: Some(clock.clone()),
        keychain: Some(Arc::new(MemorySecrets::default())),
        model: Some(model.clone()),
        wrap_calendar: Some(Arc::new(move |inner| Arc::new(FaultyCalendar { inner, faults: faults.clone() }))),
        channels: vec![Arc::new(PlayedChannel { wire: wire.clone(), clock: clock.clone() })],
        source: Some(Arc::new(Person::new(scenario, clock.clone(), wire.clone()))),
        ..Ports::default()
    };
    let open = || async {
        let loaded = scenario.configuration(&scenario.title)?;
        let mut app_options = AppOptions::new(loaded, scratch.path().join("config.toml"), folder.clone());
        app_options.mode = StoreMode::Inline;
        app_options.ports = ports.clone();
        app_options.without = options.without;
        let app = App::open(app_options).await?;
        app.start_stages();
        Ok::<_, ReplayError>(app)
    };

    let mut app = open().await?;
    let last = scenario.messages.last().map_or(Duration::ZERO, |message| message.at);
    let latest = last + scenario.patience;
    loop {
        let next = restarts.first().copied();
        clock.sleep(LOOK.min(next.map_or(LOOK, |at| Elapsed(0).plus(at).since(clock.now().elapsed)))).await;
        let passed = clock.now().elapsed.since(Elapsed(0));
        if next.is_some_and(|at| at <= passed) {
            restarts.remove(0);
            app.kill().await;
            app = open().await?;
            continue;
        }
        let over = passed > last && is_quiet(app.store()).await?;
        if over || passed > latest {
            break;
        }
    }
    let outcome = read(app.store(), scenario, &wire, start).await?;
    app.stop().await;
    Ok(outcome)
}

/// Nothing is left that would go on by itself.
async fn is_quiet(store: &Store) -> Result<bool, StoreError> {
    const OPEN: [&str; 5] = [
        "SELECT count(*) FROM inbound WHERE state = 'buffered'",
        "SELECT count(*) FROM bursts WHERE state IN ('queued', 'running')",
        "SELECT count(*) FROM turns WHERE state <> 'ended'",
        "SELECT count(*) FROM effects WHERE state IN ('ready', 'dispatching', 'retryable')
            OR (state = 'unknown' AND next_attempt_elapsed IS NOT NULL)",
        "SELECT count(*) FROM outbound WHERE state IN ('held', 'queued', 'sending')",
    ];
    store
        .read(|connection| {
            for sql in OPEN {
                let open: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
                if open > 0 {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
}

/// A folder that goes away with the replay.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("unavez-replay-{name}"));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // silent-ok: what is left in the temporary folder harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
