//! SIGKILL of the real program at random moments under load.

use std::time::{Duration, Instant};

use super::world::{Mail, World};

/// How long and how often: `UNAVEZ_KILL_ROUNDS` (2,000 by `make proof`) or `UNAVEZ_KILL_SECONDS`.
fn limits() -> (usize, Duration) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("UNAVEZ_KILL_ROUNDS"), number("UNAVEZ_KILL_SECONDS")) {
        (Some(rounds), _) => (rounds as usize, Duration::from_secs(86_400)),
        (None, Some(seconds)) => (usize::MAX, Duration::from_secs(seconds)),
        (None, None) => (50, Duration::from_secs(120)),
    }
}

/// One life after another over one database, then rest and verdict.
async fn lives(world: &mut World, rounds: usize, until: Instant, random: &mut fastrand::Rng) -> usize {
    let mut kills = 0;
    while kills < rounds && Instant::now() < until {
        let daemon = world.start();
        for _ in 0..random.u32(0..3) {
            match random.u32(0..10) {
                0..5 => world.ask_event(),
                5..7 => world.ask_again(),
                _ => world.ask_mail(),
            }
        }
        // Mostly while it works, sometimes while it starts, sometimes when it rests.
        let wait = match random.u32(0..10) {
            0 => 0,
            1..8 => random.u64(1..250),
            _ => random.u64(250..1_000),
        };
        tokio::time::sleep(Duration::from_millis(wait)).await;
        daemon.kill();
        kills += 1;
    }
    kills
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_kills_lose_and_repeat_nothing() {
    let mut world = World::new(Mail::Blind).await;
    world.ask_event();
    world.ask_mail();
    let mut random = fastrand::Rng::with_seed(7);
    lives(&mut world, 6, Instant::now() + Duration::from_secs(30), &mut random).await;
    let daemon = world.start();
    let faults = world.settle(daemon).await;
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "bounded by time or count: scripts/proof.sh"]
async fn proof_kills() {
    let (rounds, time) = limits();
    let until = Instant::now() + time;
    let seed =
        std::env::var("UNAVEZ_KILL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut kills, mut events, mut mails, mut unknown, mut worlds) = (0, 0, 0, 0, 0);
    let mut slowest = Duration::ZERO;
    while kills < rounds && Instant::now() < until {
        // A fresh world every fifty kills keeps the verdict near the cause.
        let mail = if worlds % 2 == 0 { Mail::Blind } else { Mail::Folder };
        let mut world = World::new(mail).await;
        kills += lives(&mut world, 50.min(rounds - kills), until, &mut random).await;
        let started = Instant::now();
        let daemon = world.start();
        slowest = slowest.max(started.elapsed());
        let faults = world.settle(daemon).await;
        assert!(faults.is_empty(), "after {kills} kills, UNAVEZ_KILL_SEED={seed}: {faults:#?}");
        events += world.events.len();
        mails += world.mails.len();
        unknown += world.place.count("SELECT count(*) FROM effects WHERE state = 'unknown'");
        worlds += 1;
    }
    println!(
        "PROOF kills: {kills} SIGKILLs, {events} events and {mails} mails asked for, 0 duplicates, 0 losses, {unknown} visibly \
         unknown, slowest restart {} ms, seed {seed}",
        slowest.as_millis()
    );
}
