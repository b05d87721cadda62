//! Power cuts at every sync and failing disk operations, by a library loaded before the real program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::world::{Mail, World};
use crate::support::daemon::Daemon;

/// Builds the shim with the system's C compiler, which Rust needs for linking anyway.
fn shim(folder: &Path) -> PathBuf {
    let library = folder.join("disk.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/recovery/disk.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .args(["-ldl", "-lpthread"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

struct Disk {
    scratch: tempfile::TempDir,
    library: PathBuf,
}

impl Disk {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let library = shim(scratch.path());
        std::fs::create_dir(scratch.path().join("shadow")).unwrap();
        Self { scratch, library }
    }

    fn shadow(&self) -> PathBuf {
        self.scratch.path().join("shadow")
    }

    fn environment(&self, world: &World, further: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("LD_PRELOAD", self.library.to_string_lossy().into_owned()),
            ("SHIM_DIR", world.place.data().to_string_lossy().into_owned()),
            ("SHIM_SHADOW", self.shadow().to_string_lossy().into_owned()),
            ("SHIM_COUNT", self.scratch.path().join("count").to_string_lossy().into_owned()),
        ];
        all.extend(further.iter().cloned());
        all
    }

    /// Syncs and operations of the last run.
    fn counts(&self) -> (u64, u64) {
        let text = std::fs::read_to_string(self.scratch.path().join("count")).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    /// The database becomes what a power cut would have left of it.
    fn cut_power(&self, world: &World) {
        for entry in std::fs::read_dir(world.place.data()).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("unavez.db")) {
                std::fs::remove_file(path).unwrap();
            }
        }
        std::fs::create_dir_all(world.place.data()).unwrap();
        for entry in std::fs::read_dir(self.shadow()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ext| ext != "part") {
                std::fs::copy(&path, world.place.data().join(path.file_name().unwrap())).unwrap();
            }
        }
    }
}

/// Three effects; the mail leaves after the others are done, so that nothing else syncs its claim by chance.
fn story(world: &mut World) {
    world.ask_event();
    world.ask_mail();
    world.ask_event();
}

/// The story with the power cut at the `k`-th sync: `None` when it ends before that.
async fn cut_at(k: u64, bug: Option<&str>) -> Option<Vec<String>> {
    let disk = Disk::new();
    let mut world = World::with_hold(Mail::Blind, "1s").await;
    story(&mut world);
    let mut further = vec![("SHIM_CUT", k.to_string())];
    further.extend(bug.map(|bug| ("UNAVEZ_BUG", bug.to_owned())));
    let died = match world.try_start(&disk.environment(&world, &further)) {
        Err(_) => true,
        Ok(daemon) => dies_or_rests(&world, daemon).await,
    };
    if !died {
        return None;
    }
    disk.cut_power(&world);
    let further: Vec<(&str, String)> = bug.map(|bug| ("UNAVEZ_BUG", bug.to_owned())).into_iter().collect();
    let daemon = world.try_start(&further).unwrap_or_else(|text| panic!("after the power cut at sync {k}:\n{text}"));
    Some(world.settle(daemon).await)
}

async fn dies_or_rests(world: &World, mut daemon: Daemon) -> bool {
    for _ in 0..2_000 {
        if !daemon.is_running() {
            return true;
        }
        if world.is_quiet() {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("neither dead nor at rest");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "one run of the program per sync: scripts/proof.sh"]
async fn proof_power_cut_at_every_sync() {
    let mut boundaries = 0;
    for k in 1.. {
        let Some(faults) = cut_at(k, None).await else { break };
        assert!(faults.is_empty(), "power cut at sync {k}: {faults:#?}");
        boundaries += 1;
    }
    assert!(boundaries >= 8, "only {boundaries} syncs: the story did not run");
    println!("PROOF power cut: {boundaries} sync boundaries, 3 effects, 0 duplicates, 0 losses");
}

/// The control: a claim that is not synced must be caught by the very same test.
#[tokio::test(flavor = "multi_thread")]
async fn case_e08_a_claim_that_is_not_synced_sends_twice() {
    // The mail leaves last: its boundaries are near the end.
    let (disk, mut world) = (Disk::new(), World::with_hold(Mail::Blind, "1s").await);
    story(&mut world);
    let daemon = world.try_start(&disk.environment(&world, &[])).unwrap();
    assert!(world.until_quiet(Duration::from_secs(40)).await);
    drop(daemon);
    let mut caught = None;
    for k in (1..=disk.counts().0).rev() {
        let faults = cut_at(k, Some("claim_normal")).await.unwrap_or_default();
        if faults.iter().any(|fault| fault.starts_with("DUPLICATE mail")) {
            caught = Some(k);
            break;
        }
    }
    let k = caught.expect("a power cut after the mail left must show the unsynced claim as a duplicate");
    // The same cut with the product's own durability.
    if let Some(faults) = cut_at(k, None).await {
        assert!(faults.is_empty(), "power cut at sync {k}: {faults:#?}");
    }
}

/// The `k`-th disk operation fails once; then the story ends, perhaps after a restart.
async fn fail_at(k: u64, errno: &str) -> (bool, Vec<String>) {
    let disk = Disk::new();
    let mut world = World::new(Mail::Folder).await;
    story(&mut world);
    match world.try_start(&disk.environment(&world, &[("SHIM_FAIL", format!("{k}:{errno}"))])) {
        Ok(daemon) => {
            world.until_quiet(Duration::from_secs(3)).await;
            daemon.kill();
        }
        Err(text) => assert!(!text.contains("panicked"), "operation {k} with errno {errno}:\n{text}"),
    }
    let reached = disk.counts().1 >= k;
    let daemon = world.start();
    (reached, world.settle(daemon).await)
}

const EIO: &str = "5";
const ENOSPC: &str = "28";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "one run of the program per disk operation: scripts/proof.sh"]
async fn proof_disk_operations_fail() {
    let seconds = std::env::var("UNAVEZ_DISK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(120_u64);
    let until = std::time::Instant::now() + Duration::from_secs(seconds);
    let all = std::env::var("UNAVEZ_KILL_ROUNDS").is_ok();
    // Every operation in the long form; steps in the short one, so that the whole run is covered.
    let step = if all { 1 } else { 7 };
    let (mut tried, mut k) = (0, 1);
    loop {
        let errno = if tried % 2 == 0 { EIO } else { ENOSPC };
        let (reached, faults) = fail_at(k, errno).await;
        assert!(faults.is_empty(), "operation {k} failed with errno {errno}: {faults:#?}");
        tried += 1;
        if !reached || (!all && std::time::Instant::now() > until) {
            break;
        }
        k += step;
    }
    println!("PROOF disk: {tried} failing operations up to the {k}-th, EIO and ENOSPC in turn, 0 duplicates, 0 losses");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_loses_nothing_that_was_accepted() {
    let disk = Disk::new();
    let mut world = World::new(Mail::Folder).await;
    world.ask_event();
    // Room enough to start; nothing more can be written once the work begins.
    let daemon = world.start();
    assert!(world.until_quiet(Duration::from_secs(30)).await);
    daemon.kill();
    world.ask_event();
    world.ask_mail();
    match world.try_start(&disk.environment(&world, &[("SHIM_FAIL", format!("12:{ENOSPC}+"))])) {
        Ok(daemon) => {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let status = world.place.run(&["status"]);
            let doctor = world.place.run(&["doctor"]);
            let said =
                format!("{}{}", String::from_utf8_lossy(&status.stdout), String::from_utf8_lossy(&doctor.stdout));
            assert!(!said.is_empty(), "a full disk must not silence the program");
            daemon.kill();
        }
        Err(text) => assert!(text.contains("disk is full") || text.contains("cannot be written"), "{text}"),
    }
    let daemon = world.start();
    let faults = world.settle(daemon).await;
    assert!(faults.is_empty(), "{faults:#?}");
}
