//! How well do merge windows fit real chat? Fixed windows against the signal table, on 10,147 messages.
//!
//! A *thought* is a run of messages of one person in one channel with less than 20 s between two of them and nobody else
//! in between: what a person would call one request. For each policy:
//! - merged: of the gaps within thoughts, how many fall into the wait, so that both sides meet in one turn;
//! - wait: how long the last message of a thought waits before its turn starts, the price of the policy;
//! - early: turns that start although the thought goes on, per 100 thoughts, split by what happens to them: with
//!   `supersede` a turn that has done nothing yet is taken back; it has usually done nothing within 6 s.
//!
//! Prints the table and writes the picture to docs/pictures/debounce.svg.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use unavez::debounce::{Settings, signal, window};
use unavez::domain::conversation::ChannelKind;
use unavez::domain::message::Parts;

/// Longest pause within one thought.
const THOUGHT: f64 = 20.0;
/// Until then a turn has rarely acted: one model call and the tool call it asks for.
const STILL_THINKING: f64 = 6.0;
/// No wait is longer than this after the first message.
const MOST: f64 = 10.0;

struct Message {
    at: f64,
    text: String,
}

fn thoughts() -> Vec<Vec<Message>> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/data/irc-bursts.tsv")).unwrap();
    let mut all: Vec<Vec<Message>> = Vec::new();
    let mut last: HashMap<String, (String, f64)> = HashMap::new();
    let mut random = fastrand::Rng::with_seed(1);
    for line in text.lines().skip(1) {
        let mut fields = line.splitn(4, '\t');
        let (channel, seconds, user, text) =
            (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap_or(""));
        // The data has whole seconds; the fraction is drawn, so that no policy profits from the rounding.
        let at = seconds.parse::<f64>().unwrap() + random.f64();
        let goes_on = last.get(channel).is_some_and(|(who, when)| who == user && at - when < THOUGHT);
        let message = Message { at, text: text.to_owned() };
        match all.last_mut() {
            Some(thought) if goes_on => thought.push(message),
            _ => all.push(vec![message]),
        }
        last.insert(channel.to_owned(), (user.to_owned(), at));
    }
    for thought in &mut all {
        thought.sort_by(|a, b| a.at.total_cmp(&b.at));
    }
    all
}

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    merged: f64,
    wait_mean: f64,
    wait_p90: f64,
    early: f64,
    early_kept: f64,
}

fn measure(thoughts: &[Vec<Message>], wait: impl Fn(&str) -> f64) -> Measured {
    let (mut gaps, mut merged, mut early, mut kept) = (0_u32, 0_u32, 0_u32, 0_u32);
    let mut waits: Vec<f64> = Vec::new();
    for thought in thoughts {
        let mut first = thought[0].at;
        for (at, message) in thought.iter().enumerate() {
            let deadline = (message.at + wait(&message.text)).min(first + MOST);
            match thought.get(at + 1) {
                None => waits.push(deadline - message.at),
                Some(next) => {
                    gaps += 1;
                    if next.at <= deadline {
                        merged += 1;
                    } else {
                        early += 1;
                        if next.at - deadline > STILL_THINKING {
                            kept += 1;
                        }
                        first = next.at;
                    }
                }
            }
        }
    }
    waits.sort_by(f64::total_cmp);
    let per_hundred = |count: u32| 100.0 * f64::from(count) / thoughts.len() as f64;
    Measured {
        merged: 100.0 * f64::from(merged) / f64::from(gaps.max(1)),
        wait_mean: waits.iter().sum::<f64>() / waits.len() as f64,
        wait_p90: waits[waits.len() * 9 / 10],
        early: per_hundred(early),
        early_kept: per_hundred(kept),
    }
}

/// Short personal messages: a pause of about 4.5 s at the median plus the time to type 22 characters, 5 % machine bursts.
fn personal() -> Vec<Vec<Message>> {
    const OPENINGS: [&str; 6] = ["hola", "una cosa", "mañana tengo dentista", "can you check", "hi", "quiero que"];
    const GOING_ON: [&str; 6] =
        ["me agendas psicología,", "a las 3", "y también", "con Ana", "in the afternoon", "please"];
    const CLOSING: [&str; 4] = ["el jueves por la tarde.", "thanks!", "¿puede ser?", "y me avisas antes"];
    let mut random = fastrand::Rng::with_seed(2);
    let pick = |list: &[&str], random: &mut fastrand::Rng| (*list.get(random.usize(..list.len())).unwrap()).to_owned();
    let mut at = 0.0;
    (0..5_000)
        .map(|_| {
            at += 600.0;
            let count = 1 + random.usize(..4);
            let mut now = at;
            (0..count)
                .map(|n| {
                    if n > 0 {
                        let machine = random.f64() < 0.05;
                        let typing = 22.0 / (3.0 + random.f64());
                        // Log-normal around 4.5 s less the typing itself.
                        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                        now += if machine { 0.05 } else { typing + (0.4 * normal).exp() * (4.5_f64 - 3.0).max(0.5) };
                    }
                    let list: &[&str] = if n + 1 == count {
                        &CLOSING
                    } else if n == 0 {
                        &OPENINGS
                    } else {
                        &GOING_ON
                    };
                    Message { at: now, text: pick(list, &mut random) }
                })
                .collect()
        })
        .collect()
}

fn main() {
    let windows = Settings::default().of(ChannelKind::Telegram);
    let ours = |text: &str| {
        let seen = signal(text, &Parts::default(), Some(4096));
        window(seen, text, &windows).as_secs_f64()
    };
    let mut pictures = Vec::new();
    for (name, data) in [("10,147 messages of IRC", thoughts()), ("5,000 generated personal requests", personal())] {
        let several = data.iter().filter(|thought| thought.len() > 1).count();
        println!("\n{name}: {} thoughts, {several} of several messages", data.len());
        println!(
            "{:<22}{:>9}{:>11}{:>10}{:>9}{:>15}",
            "policy", "merged %", "wait mean", "wait p90", "early", "early and kept"
        );
        let mut points = Vec::new();
        let mut row = |title: String, measured: Measured| {
            println!(
                "{title:<22}{:>9.1}{:>10.2}s{:>9.2}s{:>9.1}{:>15.1}",
                measured.merged, measured.wait_mean, measured.wait_p90, measured.early, measured.early_kept
            );
            points.push((title, measured));
        };
        for millis in [0_u64, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 8_000] {
            let wait = Duration::from_millis(millis).as_secs_f64();
            row(format!("fixed {wait:.1} s"), measure(&data, |_| wait));
        }
        row("signal table (ours)".to_owned(), measure(&data, ours));
        pictures.push((name, points));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/pictures/debounce.svg");
    std::fs::write(path, picture(&pictures)).unwrap();
    println!("\npicture: docs/pictures/debounce.svg");
}

/// Wait against merged share: further up and further left is better.
fn picture(charts: &[(&str, Vec<(String, Measured)>)]) -> String {
    const WIDTH: f64 = 420.0;
    const HEIGHT: f64 = 300.0;
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} 380" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>"##,
        charts.len() as f64 * (WIDTH + 60.0)
    );
    for (at, (name, points)) in charts.iter().enumerate() {
        let left = 50.0 + at as f64 * (WIDTH + 60.0);
        let x = |wait: f64| left + wait / 8.5 * WIDTH;
        let y = |merged: f64| 40.0 + HEIGHT - merged / 100.0 * HEIGHT;
        let _ = write!(out, r##"<text x="{left}" y="22" font-size="14" fill="#111">{name}</text>"##);
        for share in [0.0, 25.0, 50.0, 75.0, 100.0] {
            let _ = write!(
                out,
                r##"<line x1="{left}" x2="{}" y1="{1}" y2="{1}" stroke="#ddd"/><text x="{2}" y="{3}" text-anchor="end" fill="#555">{share}</text>"##,
                left + WIDTH,
                y(share),
                left - 6.0,
                y(share) + 4.0
            );
        }
        for wait in [0.0, 2.0, 4.0, 6.0, 8.0] {
            let _ = write!(
                out,
                r##"<text x="{}" y="{}" text-anchor="middle" fill="#555">{wait} s</text>"##,
                x(wait),
                HEIGHT + 58.0
            );
        }
        let _ = write!(
            out,
            r##"<text x="{left}" y="{}" fill="#555">mean wait of the last message, against % of continuations merged</text>"##,
            HEIGHT + 76.0
        );
        for (title, measured) in points {
            let ours = title.contains("ours");
            let (cx, cy) = (x(measured.wait_mean), y(measured.merged));
            let (radius, colour) = if ours { (6.0, "#0a7d4f") } else { (3.5, "#777") };
            let label = title.trim_start_matches("fixed ");
            let _ = write!(
                out,
                r##"<circle cx="{cx:.1}" cy="{cy:.1}" r="{radius}" fill="{colour}"/><text x="{:.1}" y="{:.1}" fill="{colour}">{label}</text>"##,
                cx + 8.0,
                cy + if ours { -6.0 } else { 12.0 }
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
