//! What another program's lock, a long reader and a jumping clock do to the store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use unavez::audit::{self, Actor, Entry, Kind};
use unavez::domain::ports::Clock;
use unavez::domain::time::{Elapsed, Wall};
use unavez::runtime::clock::VirtualClock;
use unavez::store::{DataFolder, Durability, Store, StoreError, StoreMode, meta};

fn folder() -> (tempfile::TempDir, DataFolder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = DataFolder::open(dir.path().join("data")).unwrap();
    (dir, folder)
}

fn bump(tx: &rusqlite::Transaction<'_>) -> Result<(), StoreError> {
    let count: i64 = meta::get(tx, "count")?.unwrap_or(0);
    meta::set(tx, "count", &(count + 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_e05_two_connections_that_read_then_write_never_see_locked() {
    let (_dir, folder) = folder();
    let stores: Vec<Arc<Store>> =
        (0..2).map(|_| Arc::new(Store::open(&folder, StoreMode::Threaded).unwrap())).collect();
    let mut writers = Vec::new();
    for n in 0..40 {
        let store = stores[n % 2].clone();
        writers.push(tokio::spawn(async move { store.write("test.bump", Durability::Normal, bump).await }));
    }
    for writer in writers {
        writer.await.unwrap().expect("no writer may see a lock");
    }
    let count: Option<i64> = stores[0].read(|connection| meta::get(connection, "count")).await.unwrap();
    assert_eq!(count, Some(40), "no update was lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_lock_of_another_program_is_waited_for_three_times() {
    let (_dir, folder) = folder();
    let store = Store::open(&folder, StoreMode::Threaded).unwrap();
    for _ in 0..3 {
        let mut other = Connection::open(folder.database()).unwrap();
        let held = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        let writing = {
            let store = store.clone();
            tokio::spawn(async move { store.write("test.bump", Durability::Full, bump).await })
        };
        tokio::time::sleep(Duration::from_millis(300)).await;
        held.commit().unwrap();
        writing.await.unwrap().unwrap();
    }
    let count: Option<i64> = store.read(|connection| meta::get(connection, "count")).await.unwrap();
    assert_eq!(count, Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_e09_a_long_reader_neither_blocks_writers_nor_grows_the_log_for_ever() {
    let (_dir, folder) = folder();
    let store = Store::open(&folder, StoreMode::Threaded).unwrap();
    let clock = store.system_clock();
    let reader = Connection::open(folder.database()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM audit").unwrap();
    let wal = folder.database().with_extension("db-wal");
    let size = || std::fs::metadata(&wal).map_or(0, |meta| meta.len());
    let write = |store: Store, now, rows: usize| async move {
        store
            .write("test.audit", Durability::Normal, move |tx| {
                for n in 0..rows {
                    let entry = Entry::new(Kind::SettingChanged, Actor::System).detail("n", i64::try_from(n).unwrap());
                    audit::append(tx, now, entry)?;
                }
                Ok::<_, StoreError>(())
            })
            .await
            .unwrap();
    };
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let started = Instant::now();
        write(store.clone(), clock.now(), 1_000).await;
        slowest = slowest.max(started.elapsed());
    }
    assert!(slowest < Duration::from_secs(5), "a writer waited {slowest:?}");
    let grown = size();
    reader.execute_batch("COMMIT").unwrap();
    write(store.clone(), clock.now(), 1_000).await;
    write(store.clone(), clock.now(), 1).await;
    assert!(size() <= 16 * 1024 * 1024, "{} bytes of log after the reader left ({grown} before)", size());
    let busy: i64 = Connection::open(folder.database())
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(busy, 0, "the log can be emptied");
}

#[tokio::test(start_paused = true)]
async fn case_e01_a_long_sleep_of_the_machine_makes_a_job_due_at_wake_up_once() {
    let clock = VirtualClock::starting(Wall(1_800_000_000_000), Elapsed(0));
    let due = clock.now().elapsed.plus(Duration::from_secs(11 * 3600));
    let waiting = {
        let clock = clock.clone();
        tokio::spawn(async move {
            clock.sleep(Duration::from_secs(11 * 3600)).await;
            clock.now().elapsed
        })
    };
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(!waiting.is_finished());
    // Nine and a half hours pass on no timer at all.
    clock.slept(Duration::from_secs(9 * 3600 + 1800));
    tokio::time::sleep(Duration::from_secs(1800)).await;
    let fired = waiting.await.unwrap();
    assert!(fired >= due, "never early");
    assert!(fired.since(due) <= Duration::from_secs(60), "{:?} late", fired.since(due));
}

#[test]
fn a_read_only_folder_is_named_and_nothing_is_lost() {
    let (_dir, folder) = folder();
    drop(Store::open(&folder, StoreMode::Inline).unwrap());
    let connection = Connection::open(folder.database()).unwrap();
    connection.execute("INSERT INTO meta (key, value) VALUES (?1, '1')", params!["kept"]).unwrap();
    drop(connection);
    let database = folder.database();
    // Root may write anything: for it the database is made unwritable by being a directory's name.
    if rustix::process::getuid().is_root() {
        return;
    }
    let mut mode = std::fs::metadata(&database).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&database, mode).unwrap();
    assert!(matches!(Store::open(&folder, StoreMode::Inline), Err(StoreError::NotWritable(_) | StoreError::Io { .. })));
}
