//! The writer: one connection, one transaction at a time, durability chosen per transaction.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::changes::{Announcer, Changes, Table, Watch};
use super::connection::{DataFolder, open_reader, open_writer};
use super::error::StoreError;
use super::{elapsed, migrate};
use crate::domain::ports::Clock;
use crate::domain::time::Elapsed;
use crate::runtime::clock::{BootReading, SystemClock};
use crate::runtime::{failpoint, seeded};

/// Whether a commit is on disk when `write` returns (decision 2 of ARCHITECTURE).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Synced: survives power loss.
    Full,
    /// Rides the next sync: survives a crash of the process, not of the machine.
    Normal,
}

/// How closures run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreMode {
    /// On the writer's own thread, and readers on blocking threads.
    Threaded,
    /// On the caller's thread: for virtual time, where waiting for another thread would let the clock run on.
    Inline,
}

/// How long `BEGIN IMMEDIATE` is tried beyond SQLite's own busy timeout.
const LOCK_TRIES: u32 = 4;
const READERS: usize = 2;

type Job = Box<dyn FnOnce(&mut Writer) + Send>;

/// Handle to the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    database: PathBuf,
    announcer: Arc<Announcer>,
    readers: Mutex<Vec<Connection>>,
    writer: WriterHandle,
    mode: StoreMode,
    start: (Elapsed, BootReading),
}

enum WriterHandle {
    Thread(mpsc::UnboundedSender<Job>),
    Inline(Mutex<Writer>),
}

struct Writer {
    connection: Connection,
    collected: Arc<Mutex<Changes>>,
    announcer: Arc<Announcer>,
    synchronous: Option<Durability>,
    start: (Elapsed, BootReading),
}

impl Store {
    /// Opens and migrates the database of `folder`.
    pub fn open(folder: &DataFolder, mode: StoreMode) -> Result<Self, StoreError> {
        let database = folder.database();
        let mut connection = open_writer(&database)?;
        migrate::run(&mut connection)?;
        let reading = BootReading::take();
        let start = (elapsed::resume(&connection, &reading)?, reading);

        let announcer = Arc::new(Announcer::default());
        let collected = Arc::new(Mutex::new(Changes::default()));
        let hook = collected.clone();
        connection.update_hook(Some(move |_, _: &str, table: &str, _| {
            hook.lock().unwrap_or_else(PoisonError::into_inner).add_named(table);
        }))?;
        let mut writer =
            Writer { connection, collected, announcer: announcer.clone(), synchronous: None, start: start.clone() };
        writer
            .transact("store.start", Durability::Normal, |transaction| elapsed::save(transaction, start.0, &start.1))?;
        let writer = match mode {
            StoreMode::Inline => WriterHandle::Inline(Mutex::new(writer)),
            StoreMode::Threaded => {
                let (sender, mut jobs) = mpsc::unbounded_channel::<Job>();
                std::thread::Builder::new()
                    .name("store-writer".into())
                    .spawn(move || {
                        while let Some(job) = jobs.blocking_recv() {
                            job(&mut writer);
                        }
                        if let Err(error) = writer.save_elapsed() {
                            tracing::warn!(%error, "the elapsed clock could not be saved");
                        }
                    })
                    .map_err(|source| StoreError::Io { context: "cannot start the writer thread".into(), source })?;
                WriterHandle::Thread(sender)
            }
        };
        let shared = Shared { database, announcer, readers: Mutex::default(), writer, mode, start };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The machine's clock, going on from where this database left it.
    pub fn system_clock(&self) -> SystemClock {
        SystemClock::starting(self.shared.start.0, &self.shared.start.1)
    }

    /// Runs `decide` in one immediate transaction and commits if it returns `Ok`.
    /// `label` names the transaction in traces and failpoints.
    pub async fn write<T, E>(
        &self,
        label: &'static str,
        durability: Durability,
        decide: impl FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        match &self.shared.writer {
            WriterHandle::Inline(writer) => {
                writer.lock().unwrap_or_else(PoisonError::into_inner).transact(label, durability, decide)
            }
            WriterHandle::Thread(jobs) => {
                let (done, result) = oneshot::channel();
                let job: Job = Box::new(move |writer| {
                    // silent-ok: a caller that went away does not undo the commit.
                    let _ = done.send(writer.transact(label, durability, decide));
                });
                jobs.send(job).map_err(|_| StoreError::Stopped)?;
                result.await.map_err(|_| StoreError::Stopped)?
            }
        }
    }

    /// Runs `query` on a read connection: a snapshot of what is committed.
    pub async fn read<T, E>(&self, query: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let shared = self.shared.clone();
        match shared.mode {
            StoreMode::Inline => shared.read(query),
            StoreMode::Threaded => match tokio::task::spawn_blocking(move || shared.read(query)).await {
                Ok(result) => result,
                Err(error) => Err(StoreError::Panicked(error.to_string()).into()),
            },
        }
    }

    /// Waits for the writes before this one and keeps the elapsed clock for the next start.
    pub async fn close(&self) -> Result<(), StoreError> {
        match &self.shared.writer {
            WriterHandle::Inline(writer) => writer.lock().unwrap_or_else(PoisonError::into_inner).save_elapsed(),
            WriterHandle::Thread(jobs) => {
                let (done, result) = oneshot::channel();
                let job: Job = Box::new(move |writer| {
                    // silent-ok: a caller that went away needs no answer.
                    let _ = done.send(writer.save_elapsed());
                });
                jobs.send(job).map_err(|_| StoreError::Stopped)?;
                result.await.map_err(|_| StoreError::Stopped)?
            }
        }
    }

    /// Announces later changes of `tables`.
    pub fn watch(&self, tables: &[Table]) -> Watch {
        self.shared.announcer.watch(tables)
    }
}

impl Shared {
    fn read<T, E: From<StoreError>>(&self, query: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        let pooled = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => open_reader(&self.database)?,
        };
        let transaction = connection.unchecked_transaction().map_err(StoreError::from)?;
        let result = query(&transaction);
        drop(transaction);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS {
            readers.push(connection);
        }
        result
    }
}

impl Writer {
    fn transact<T, E: From<StoreError>>(
        &mut self,
        label: &'static str,
        durability: Durability,
        decide: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let careless = label == "evidence.claim" && seeded::bug("claim_normal");
        self.set_synchronous(if careless { Durability::Normal } else { durability })?;
        *self.collected() = Changes::default();
        let transaction = begin(&self.connection)?;
        let decided = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| decide(&transaction)));
        let value = match decided {
            Ok(Ok(value)) => value,
            Ok(Err(error)) => return Err(error),
            Err(panic) => return Err(StoreError::Panicked(panic_text(panic.as_ref())).into()),
        };
        if cfg!(feature = "proof") {
            failpoint::hit(&format!("{label}.before_commit")).map_err(StoreError::from)?;
        }
        transaction.commit().map_err(StoreError::from)?;
        let changes = std::mem::take(&mut *self.collected());
        self.announcer.announce(changes);
        if cfg!(feature = "proof") {
            failpoint::hit(&format!("{label}.after_commit")).map_err(StoreError::from)?;
        }
        Ok(value)
    }

    fn collected(&self) -> std::sync::MutexGuard<'_, Changes> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_synchronous(&mut self, durability: Durability) -> Result<(), StoreError> {
        if self.synchronous == Some(durability) {
            return Ok(());
        }
        let level = match durability {
            Durability::Full => "full",
            Durability::Normal => "normal",
        };
        self.connection.pragma_update(None, "synchronous", level)?;
        self.synchronous = Some(durability);
        Ok(())
    }

    /// Keeps the elapsed clock for the next start.
    fn save_elapsed(&mut self) -> Result<(), StoreError> {
        let reading = BootReading::take();
        let now = SystemClock::starting(self.start.0, &self.start.1).now().elapsed;
        self.transact("store.clock", Durability::Full, move |transaction| elapsed::save(transaction, now, &reading))
    }
}

/// `BEGIN IMMEDIATE`, patient: the lock is another program's, and nothing was read yet.
fn begin(connection: &Connection) -> Result<Transaction<'_>, StoreError> {
    let mut tries = 0;
    loop {
        match Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(StoreError::from) {
            Err(StoreError::Locked) if tries < LOCK_TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(50 * u64::from(tries)));
            }
            result => return result,
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned())
}
