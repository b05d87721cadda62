//! The whole pipeline on a virtual clock, with seeded people, restarts, lost answers and redeliveries.
//!
//! A seed decides everything; a failing one prints the line that repeats it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unavez::app::replay::{Options, Outcome, Scenario, play};

/// One of a few visits, in one of many wordings that mean the same.
fn wording(visit: usize, random: &mut fastrand::Rng) -> String {
    let hour = 9 + visit;
    let titles = [format!("Visit{visit}"), format!("visit{visit}"), format!("VISIT{visit}")];
    let title = &titles[random.usize(0..titles.len())];
    match random.u32(0..6) {
        0 => format!("schedule {title} on 2026-12-07 at {hour:02}:00"),
        1 => format!("schedule {title} on December 7 at {hour}:00"),
        2 => format!("please book {title} on 2026-12-07 at {hour:02}:00, thanks"),
        3 => format!("schedule {title} on 2026-12-07 at {hour:02}:00 for an hour"),
        4 => format!("schedule {title} on 2026-12-07 at {hour:02}:00 for 90 minutes"),
        _ => format!("add {title} on the 7th of December at {hour:02}:00 to my calendar"),
    }
}

struct Plan {
    scenario: Scenario,
    asked: BTreeSet<String>,
    text: String,
}

fn plan(seed: u64) -> Plan {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut asked = BTreeSet::new();
    let mut messages: Vec<Value> = Vec::new();
    let mut at = 0_u64;
    for n in 0..random.usize(2..9) {
        if n > 0 {
            at += match random.u32(0..4) {
                0 => random.u64(50..1_500),
                1 => random.u64(1_500..6_000),
                2 => random.u64(6_000..20_000),
                _ => random.u64(20_000..60_000),
            };
        }
        if n > 0 && random.u32(0..6) == 0 {
            messages.push(json!({ "at": format!("{at}ms"), "redelivers": 1 }));
            continue;
        }
        let visit = random.usize(0..4);
        asked.insert(format!("visit{visit}"));
        messages.push(json!({ "at": format!("{at}ms"), "text": wording(visit, &mut random) }));
    }
    let mut faults: Vec<Value> = Vec::new();
    for _ in 0..random.u32(0..4) {
        faults.push(match random.u32(0..4) {
            0 | 1 => json!({ "restart": { "at": format!("{}ms", random.u64(100..at + 10_000)) } }),
            2 => json!({ "calendar": { "call": random.usize(1..4), "how": random.choice(["unavailable", "lost_answer"]).unwrap() } }),
            _ => json!({ "channel": { "send": random.usize(1..4), "how": random.choice(["not_sent", "lost_answer"]).unwrap() } }),
        });
    }
    let mode = *random.choice(&["supersede", "enqueue"]).unwrap();
    let scenario = json!({
        "title": format!("seed {seed}"),
        "start": "2026-12-01T10:00:00+01:00",
        "language": "en",
        "config": { "turns": { "double_texting": mode } },
        "messages": messages,
        "faults": faults,
    });
    let text = toml::to_string(&scenario).unwrap();
    Plan { scenario: Scenario::parse(&text, "simulation").unwrap(), asked, text }
}

fn faults(plan: &Plan, outcome: &Outcome) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, title) in &outcome.events {
        *counts.entry(title.to_lowercase()).or_default() += 1;
    }
    let mut faults = Vec::new();
    for visit in &plan.asked {
        match counts.get(visit) {
            Some(1) => {}
            None => faults.push(format!("LOST {visit}")),
            Some(count) => faults.push(format!("DUPLICATE {visit}: {count} times")),
        }
    }
    if !outcome.audit_unbroken {
        faults.push("the audit chain is broken".to_owned());
    }
    faults
}

/// `Err` names the seed and everything needed to see it again.
fn run(seed: u64) -> Result<Outcome, String> {
    let plan = plan(seed);
    let outcome = play(&plan.scenario, Options::default()).map_err(|error| format!("seed {seed}: {error}"))?;
    let faults = faults(&plan, &outcome);
    if faults.is_empty() {
        return Ok(outcome);
    }
    Err(format!("{faults:?}\nrepeat: make sim SEEDS=1 FROM={seed}\n{}\n{}", plan.text, outcome.lines().join("\n")))
}

#[test]
fn a_few_seeds_neither_repeat_nor_lose_an_event() {
    for seed in 1..=5 {
        run(seed).unwrap_or_else(|fault| panic!("{fault}"));
    }
}

#[test]
#[ignore = "bounded by time or count: scripts/proof.sh"]
fn proof_simulation() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let from = number("UNAVEZ_SIM_FROM").unwrap_or(1);
    let seeds = number("UNAVEZ_SIM_SEEDS");
    let until = Instant::now() + Duration::from_secs(number("UNAVEZ_SIM_SECONDS").unwrap_or(86_400));
    let (mut done, mut events, mut prevented) = (0, 0, 0);
    for seed in from.. {
        if seeds.is_some_and(|seeds| done >= seeds) || Instant::now() > until {
            break;
        }
        let outcome = run(seed).unwrap_or_else(|fault| panic!("{fault}"));
        events += outcome.events.len();
        prevented += outcome.totals.duplicates_prevented;
        done += 1;
    }
    println!(
        "PROOF simulation: {done} seeds from {from}, {events} events, {prevented} duplicates prevented, 0 duplicates, 0 losses"
    );
}
