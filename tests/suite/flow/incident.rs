//! The story this program comes from, in its variants: two messages twelve seconds apart, each asking for the same two
//! events, the second pair with `end_datetime` added.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use unavez::app::Without;
use unavez::app::replay::{Options, Outcome, Scenario, play};

const FIRST: &str = "Confirmo las horas de psicología";
const SECOND: &str = "Agéndame las horas en mi calendario";

/// The story with what a variant changes.
struct Story {
    config: Value,
    second_at: &'static str,
    thinking_ms: u64,
    faults: Value,
    presses: Vec<Value>,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            config: json!({ "approvals": { "calendar_create_with_guests": "auto" } }),
            second_at: "12s",
            thinking_ms: 1_800,
            faults: json!([]),
            presses: Vec::new(),
        }
    }
}

fn create(title: &str, start: &str, end: Option<&str>) -> Value {
    let mut arguments = json!({ "title": title, "start_datetime": start, "guests": ["consulta@example.test"] });
    if let Some(end) = end {
        arguments["end_datetime"] = end.into();
    }
    json!({ "tool": "create_event", "arguments": arguments })
}

impl Story {
    fn scenario(&self) -> Scenario {
        let first = json!([
            create("Psicología", "2026-12-07T15:00:00", None),
            create("Psicología", "2026-12-09T15:00:00", None),
        ]);
        let second = json!([
            create("psicología ", "2026-12-07T15:00:00", Some("2026-12-07T15:50:00")),
            create("Psicología", "2026-12-09T15:00:00", Some("2026-12-09T15:50:00")),
        ]);
        let mut messages = vec![json!({ "at": "0s", "text": FIRST }), json!({ "at": self.second_at, "text": SECOND })];
        messages.extend(self.presses.iter().cloned());
        let scenario = json!({
            "title": "The incident",
            "start": "2026-12-01T10:00:00+01:00",
            "config": self.config,
            "messages": messages,
            "faults": self.faults,
            "model": [
                { "when": "Confirmo", "after_ms": self.thinking_ms, "calls": first },
                { "when": "Agéndame", "after_ms": 1_900, "calls": second },
                { "text": "Listo.", "after_ms": 700, "again": true },
            ],
        });
        let text = toml::to_string(&scenario).unwrap();
        Scenario::parse(&text, "incident").unwrap()
    }

    fn play(&self, without: Without) -> Outcome {
        let outcome = play(&self.scenario(), Options { real_time: false, without }).unwrap();
        assert!(outcome.audit_unbroken);
        outcome
    }
}

/// (turns, tool calls, events, duplicates prevented)
fn numbers(outcome: &Outcome) -> (i64, i64, usize, i64) {
    let totals = outcome.totals;
    assert_eq!(totals.effects_accepted, i64::try_from(outcome.events.len()).unwrap(), "an accepted effect is an event");
    (totals.turns, totals.tool_calls, outcome.events.len(), totals.duplicates_prevented)
}

fn results(outcome: &Outcome) -> Vec<&Value> {
    outcome.timeline.iter().filter(|row| row.kind == "tool").map(|row| &row.details["result"]).collect()
}

#[test]
fn incident_two_messages_twelve_seconds_apart_are_two_events() {
    let outcome = Story::default().play(Without::default());
    assert_eq!(numbers(&outcome), (2, 4, 2, 2));
    // Each prevented duplicate stands beside the effect that was first.
    let firsts: BTreeMap<_, _> =
        outcome.evidence.iter().map(|row| (row.id.clone(), row.summary.to_lowercase())).collect();
    for duplicate in &outcome.duplicates {
        let first = duplicate.first_effect_id.as_ref().expect("the first effect");
        assert_eq!(firsts[first], duplicate.summary.trim().to_lowercase());
        assert_eq!(duplicate.layer, "guard");
    }
    // The model is told so, and the person gets a natural answer both times.
    let told: Vec<_> = results(&outcome).iter().map(|result| result["status"].as_str().unwrap()).collect();
    assert_eq!(told, ["done", "done", "already_done", "already_done"]);
    assert_eq!(outcome.delivered, ["Listo.", "Listo."]);
    let silence = outcome.longest_silence().expect("typing signals");
    assert!(silence <= 5_000, "typing was silent for {silence} ms");
}

#[test]
fn incident_the_embedded_story_has_the_same_numbers() {
    let scenario = Scenario::incident().unwrap();
    let outcome = play(&scenario, Options::default()).unwrap();
    assert_eq!(numbers(&outcome), (2, 4, 2, 2));
    assert_eq!(outcome.totals.messages_delivered, 2);
    assert!(outcome.longest_silence().expect("typing signals") <= 5_000);
}

#[test]
fn incident_under_the_default_policy_is_two_cards_and_after_approval_two_events() {
    let mut story = Story { config: json!({}), ..Story::default() };
    let outcome = story.play(Without::default());
    assert_eq!(numbers(&outcome), (2, 4, 0, 0), "nothing is done without the person");
    assert_eq!((outcome.approvals_pending, outcome.still_pending), (2, 2), "two cards, then pending twice");

    story.presses = vec![
        json!({ "at": "60s", "press": { "card": 1, "approve": true } }),
        json!({ "at": "61s", "press": { "card": 2, "approve": true } }),
    ];
    let outcome = story.play(Without::default());
    assert_eq!(numbers(&outcome), (2, 4, 2, 0));
    assert_eq!((outcome.approvals_pending, outcome.still_pending), (0, 2));
}

#[test]
fn incident_while_the_first_turn_still_thinks_supersede_makes_it_one_turn() {
    let mut story = Story { thinking_ms: 30_000, ..Story::default() };
    let outcome = story.play(Without::default());
    assert_eq!(numbers(&outcome), (1, 2, 2, 0));

    story.config["turns"] = json!({ "double_texting": "enqueue" });
    let outcome = story.play(Without::default());
    assert_eq!(numbers(&outcome), (2, 4, 2, 2));
}

#[test]
fn incident_one_second_apart_is_one_turn() {
    let outcome = Story { second_at: "1s", ..Story::default() }.play(Without::default());
    assert_eq!((outcome.totals.turns, outcome.totals.bursts_merged, outcome.events.len()), (1, 1, 2));
}

#[test]
fn incident_killed_at_any_moment_is_still_two_events() {
    for at in ["100ms", "2400ms", "2600ms", "4200ms", "4400ms", "5s", "11s", "13s", "14600ms", "16500ms", "17s"] {
        let faults = json!([{ "restart": { "at": at } }]);
        let outcome = Story { faults, ..Story::default() }.play(Without::default());
        assert_eq!(outcome.events.len(), 2, "killed at {at}");
        assert_eq!(outcome.totals.effects_accepted, 2, "killed at {at}");
        assert_eq!(outcome.delivered, ["Listo.", "Listo."], "killed at {at}");
    }
}

#[test]
fn incident_with_a_lost_answer_of_the_calendar_is_still_two_events() {
    for call in 1..=2 {
        for how in ["unavailable", "lost_answer"] {
            let faults = json!([{ "calendar": { "call": call, "how": how } }]);
            let outcome = Story { faults, ..Story::default() }.play(Without::default());
            assert_eq!((outcome.events.len(), outcome.totals.effects_accepted), (2, 2), "{how} at call {call}");
        }
    }
}

#[test]
fn incident_beyond_the_window_is_asked_for_anew() {
    let mut story = Story { second_at: "601s", ..Story::default() };
    // The first pair is accepted a few seconds after its message, so the window ends a little later.
    story.config["guard"] = json!({ "near_duplicates": "off" });
    story.config["calendar"] = json!({ "look_before_create": false });
    story.second_at = "610s";
    let outcome = story.play(Without::default());
    assert_eq!(numbers(&outcome), (2, 4, 4, 0));

    // One second inside, the same settings: prevented.
    story.second_at = "595s";
    let outcome = story.play(Without::default());
    assert_eq!(numbers(&outcome), (2, 4, 2, 2));
}

#[test]
fn incident_without_the_guard_is_four_events() {
    let outcome = Story::default().play(Without { guard: true, ..Without::default() });
    assert_eq!(numbers(&outcome), (2, 4, 4, 0));
}

#[test]
fn incident_without_debounce_one_second_apart_is_more_turns_or_a_superseded_one() {
    let story = Story { second_at: "1s", ..Story::default() };
    let outcome = story.play(Without { debounce: true, ..Without::default() });
    assert_eq!(outcome.totals.bursts_merged, 0);
    assert_eq!(outcome.events.len(), 2);
}

#[test]
fn incident_without_typing_is_silent() {
    let outcome = Story::default().play(Without { typing: true, ..Without::default() });
    assert_eq!((outcome.typing.len(), outcome.longest_silence()), (0, None));
    assert_eq!(numbers(&outcome), (2, 4, 2, 2));
}
