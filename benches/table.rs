//! Measures of the program on this machine, one table: what, ours, the floor in the same run, their ratio, the goal.
//!
//! The floor is what SQLite itself needs for one row with the same durability on the same disk. Medians throughout.
//! `make bench` builds the release program first and passes it in `UNAVEZD`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use unavez::audit::{self, Actor, Entry, Kind};
use unavez::domain::ports::Clock;
use unavez::evidence;
use unavez::store::{DataFolder, Durability, Store, StoreError, StoreMode, meta};

struct Row {
    what: &'static str,
    ours: String,
    floor: String,
    ratio: String,
    goal: &'static str,
    durability: &'static str,
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn words(time: Duration) -> String {
    match time.as_micros() {
        micros @ 0..1_000 => format!("{micros} µs"),
        micros if micros < 1_000_000 => format!("{:.1} ms", micros as f64 / 1_000.0),
        micros => format!("{:.2} s", micros as f64 / 1_000_000.0),
    }
}

fn measured(
    what: &'static str,
    ours: Duration,
    floor: Option<Duration>,
    goal: &'static str,
    durability: &'static str,
) -> Row {
    let ratio = floor.map_or_else(String::new, |floor| format!("{:.1}", ours.as_secs_f64() / floor.as_secs_f64()));
    Row { what, ours: words(ours), floor: floor.map_or_else(String::new, words), ratio, goal, durability }
}

/// SQLite alone: one row per transaction.
fn floor(folder: &Path, synchronous: &str) -> Duration {
    let connection = Connection::open(folder.join(format!("floor-{synchronous}.db"))).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.pragma_update(None, "synchronous", synchronous).unwrap();
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, value TEXT)").unwrap();
    let mut insert =
        connection.prepare("INSERT INTO t (value) VALUES ('0123456789012345678901234567890123456789')").unwrap();
    median((0..300).map(|_| timed(|| insert.execute([]).unwrap()).1).collect())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let value = work();
    (value, started.elapsed())
}

fn open(folder: &DataFolder) -> Store {
    Store::open(folder, StoreMode::Threaded).unwrap()
}

async fn write(store: &Store, durability: Durability) -> Duration {
    let mut times = Vec::new();
    for n in 0..300_i64 {
        let started = Instant::now();
        store.write("bench", durability, move |tx| meta::set(tx, "bench", &n)).await.unwrap();
        times.push(started.elapsed());
    }
    median(times)
}

async fn audit_rows(store: &Store, count: i64) -> Duration {
    let now = store.system_clock().now();
    let started = Instant::now();
    let mut left = count;
    while left > 0 {
        let batch = left.min(5_000);
        left -= batch;
        store
            .write("bench.audit", Durability::Normal, move |tx| {
                for n in 0..batch {
                    audit::append(tx, now, Entry::new(Kind::SettingChanged, Actor::System).detail("n", n))?;
                }
                Ok::<_, StoreError>(())
            })
            .await
            .unwrap();
    }
    started.elapsed()
}

/// From start to the line `ready`, and what the process weighs after `rest`.
fn program(unavezd: &Path, folder: &Path, rest: Duration) -> (Duration, f64, f64) {
    let config = folder.join("config.toml");
    std::fs::write(&config, "[model]\nprovider = \"practice\"\n").unwrap();
    let mut starts = Vec::new();
    for _ in 0..7 {
        let mut child = spawn(unavezd, &config, folder);
        starts.push(child.1);
        child.0.kill().unwrap();
        child.0.wait().unwrap();
    }
    let (mut child, _) = spawn(unavezd, &config, folder);
    std::thread::sleep(Duration::from_secs(2));
    let switches = |id: u32| -> i64 {
        let mut total = 0;
        for task in std::fs::read_dir(format!("/proc/{id}/task")).unwrap() {
            let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            total += line.and_then(|number| number.trim().parse::<i64>().ok()).unwrap_or(0);
        }
        total
    };
    let before = switches(child.id());
    std::thread::sleep(rest);
    let wakes = (switches(child.id()) - before) as f64 / rest.as_secs_f64();
    let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", child.id())).unwrap_or_default();
    let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().split(' ').next()?.parse::<f64>().ok());
    child.kill().unwrap();
    child.wait().unwrap();
    (median(starts), pss.unwrap_or(0.0) / 1024.0, wakes)
}

fn spawn(unavezd: &Path, config: &Path, folder: &Path) -> (std::process::Child, Duration) {
    let started = Instant::now();
    let mut child = Command::new(unavezd)
        .arg("--config")
        .arg(config)
        .arg("--data")
        .arg(folder.join("program"))
        .arg("run")
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("ready"));
    (child, started.elapsed())
}

fn fill(folder: &DataFolder) {
    drop(open(folder));
    let connection = Connection::open(folder.database()).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = off; BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101000)
             INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash, normalisation,
                     intent, action, summary, attempts, epoch, lease_until, receipt, accepted_elapsed, created_at, created_elapsed, updated_at)
             SELECT 'e' || i, 'create_event', 'calendar', 'local', CASE WHEN i <= 100000 THEN 'accepted' ELSE 'dispatching' END,
                    'x' || i, 'i' || i, 'd', 'l', 1, '{\"tool\":\"create_event\",\"arguments\":{},\"request\":\"\",\"stale_seconds\":null}',
                    '{\"kind\":\"other\",\"tool\":\"t\",\"arguments\":{},\"identity_fields\":[]}', 's', 1, 1, 1,
                    CASE WHEN i <= 100000 THEN '{\"source\":\"provider\",\"provider_id\":null,\"detail\":null}' END,
                    CASE WHEN i <= 100000 THEN i END, i, i, i FROM n;
             INSERT INTO effect_attempts (effect_id, n, phase, started_at) SELECT id, 1, 'claimed', 1 FROM effects WHERE state = 'dispatching';
             COMMIT;",
        )
        .unwrap();
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut rows = Vec::new();
    let scratch = tempfile::tempdir_in(".").unwrap();
    let (full, normal) = (floor(scratch.path(), "full"), floor(scratch.path(), "normal"));
    runtime.block_on(async {
        let folder = DataFolder::open(scratch.path().join("writes")).unwrap();
        let store = open(&folder);
        rows.push(measured("one durable write", write(&store, Durability::Full).await, Some(full), "", "FULL"));
        rows.push(measured("one write", write(&store, Durability::Normal).await, Some(normal), "", "NORMAL"));
        let hundred_thousand = audit_rows(&store, 100_000).await;
        rows.push(measured("audit entry", hundred_thousand / 100_000, None, "0 extra syncs", "rides its transaction"));
        let (verified, took) = {
            let connection = Connection::open(folder.database()).unwrap();
            timed(|| audit::verify(&connection, None).unwrap())
        };
        assert!(verified.bad.is_none() && verified.entries >= 100_000);
        rows.push(measured("audit verify, per 1,000,000", took * 10, None, "3 s", "read"));

        let folder = DataFolder::open(scratch.path().join("recovery")).unwrap();
        fill(&folder);
        let started = Instant::now();
        let store = open(&folder);
        let now = store.system_clock().now();
        let settings = evidence::Settings::default();
        store
            .write("evidence.recover", Durability::Full, move |tx| evidence::recover(tx, now, &settings))
            .await
            .unwrap();
        rows.push(measured("recovery, 100,000 rows, 1,000 in flight", started.elapsed(), None, "250 ms", "FULL"));
    });
    match std::env::var_os("UNAVEZD") {
        Some(unavezd) => {
            let unavezd = Path::new(&unavezd);
            let rest = std::env::var("UNAVEZ_BENCH_REST").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
            let (start, pss, wakes) = program(unavezd, scratch.path(), Duration::from_secs(rest));
            rows.push(measured("start of unavezd to ready", start, None, "100 ms", ""));
            let plain = |what, ours: String, goal| Row {
                what,
                ours,
                floor: String::new(),
                ratio: String::new(),
                goal,
                durability: "",
            };
            rows.push(plain("idle memory (PSS)", format!("{pss:.1} MB"), "15 MB"));
            rows.push(plain("idle wake-ups per second", format!("{wakes:.2}"), "1"));
            let mut bytes = Vec::new();
            std::fs::File::open(unavezd).unwrap().read_to_end(&mut bytes).unwrap();
            rows.push(plain("size of unavezd", format!("{:.1} MB", bytes.len() as f64 / 1e6), ""));
        }
        None => eprintln!("UNAVEZD is not set: start, memory and size are left out (make bench sets it)"),
    }
    println!("{:<42}{:>12}{:>12}{:>8}  {:<16}durability", "measure", "ours", "SQLite", "ratio", "goal");
    for row in rows {
        println!(
            "{:<42}{:>12}{:>12}{:>8}  {:<16}{}",
            row.what, row.ours, row.floor, row.ratio, row.goal, row.durability
        );
    }
}
