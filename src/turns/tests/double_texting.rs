//! A second message at every moment of a turn, under every strategy.

use serde_json::json;

use super::desk::{Desk, millis, seconds};
use crate::model::scripted::Line;
use crate::turns::DoubleTexting;

/// The first request: reads, acts, answers. With a second for every model reply and tool (two for `act`) it takes 7 s:
/// 0-1 model, 1-2 look, 2-3 model, 3-5 act (its row at 4), 5-6 model, then the answer.
fn script() -> Vec<Line> {
    let second = |line: Line| line.after(seconds(1));
    vec![
        second(Line::call("look", json!({})).when("first\nsecond")),
        second(Line::call("look", json!({})).when("first")),
        second(Line::call("look", json!({})).when("second")),
        second(Line::call("look", json!({})).when("first\nsecond").again()),
        second(Line::call("act", json!({})).when("seen").again()),
        second(Line::say("Answered.").when("done").again()),
    ]
}

/// What stands at the end: turns as (ending, epoch), calls of `act`, replies delivered, bursts.
async fn outcome(strategy: DoubleTexting, second_at: u64) -> String {
    let desk = Desk::texting(strategy, script());
    desk.say("first").await;
    desk.wait(millis(second_at)).await;
    desk.say("second").await;
    desk.wait(seconds(60)).await;
    let turns = desk.rows("SELECT ending || ':' || epoch FROM turns ORDER BY number").await.join(" ");
    let bursts = desk.rows("SELECT state FROM bursts ORDER BY id").await.join(" ");
    let acts = desk.called().iter().filter(|name| *name == "act").count();
    let answers = desk.delivered().iter().filter(|text| *text == "Answered.").count();
    let told = desk.delivered().len() - answers;
    // Whatever happened: every call has exactly one result, and nothing is left over.
    let holes = desk
        .rows(
            "SELECT c.value ->> 'id' FROM turn_steps s, json_each(s.content, '$.calls') c
             JOIN turns t ON t.id = s.turn_id AND t.epoch = s.epoch
             WHERE s.kind = 'model_reply' AND 1 <> (SELECT COUNT(*) FROM turn_steps r
                 WHERE r.turn_id = s.turn_id AND r.epoch = s.epoch AND r.kind = 'tool_result'
                   AND r.call_id = c.value ->> 'id')",
        )
        .await;
    assert_eq!(holes, Vec::<String>::new(), "{strategy:?} at {second_at}");
    let open = desk.rows("SELECT id FROM turns WHERE state <> 'ended'").await;
    assert_eq!(open, Vec::<String>::new(), "{strategy:?} at {second_at}");
    format!("{turns} | acts {acts} | answers {answers} told {told} | {bursts}")
}

#[tokio::test(start_paused = true)]
async fn double_texting_five_strategies_at_six_moments() {
    const MERGED: &str = "answered:2 | acts 1 | answers 1 told 0 | answered answered";
    const QUEUED: &str = "answered:1 answered:1 | acts 2 | answers 2 told 0 | answered answered";
    const REJECTED: &str = "answered:1 | acts 1 | answers 1 told 1 | answered discarded";
    const INTERRUPTED: &str = "interrupted:1 answered:1 | acts 1 | answers 1 told 0 | answered answered";
    use DoubleTexting::{Enqueue, Interrupt, Reject, Rollback, Supersede};
    // before the model call, during it, between two calls, during a tool call, after an effect, after the reply
    let moments = [0, 500, 2_000, 3_500, 4_500, 6_500];
    for (strategy, expected) in [
        (Supersede, [MERGED, MERGED, MERGED, MERGED, QUEUED, QUEUED]),
        (Rollback, [MERGED, MERGED, MERGED, MERGED, QUEUED, QUEUED]),
        (Enqueue, [QUEUED; 6]),
        (Interrupt, [INTERRUPTED, INTERRUPTED, INTERRUPTED, INTERRUPTED, QUEUED, QUEUED]),
        (Reject, [REJECTED, REJECTED, REJECTED, REJECTED, REJECTED, QUEUED]),
    ] {
        for (moment, expected) in moments.into_iter().zip(expected) {
            assert_eq!(outcome(strategy, moment).await, expected, "{strategy:?}, second message at {moment} ms");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_superseded_turn_keeps_its_id_and_answers_all_its_messages_at_once() {
    let desk = Desk::texting(
        DoubleTexting::Supersede,
        [Line::say("To both.").when("buy milk\nand eggs").after(seconds(5)), Line::say("Milk.").after(seconds(5))],
    );
    let first = desk.say("buy milk").await;
    desk.wait(seconds(1)).await;
    let second = desk.say("and eggs").await;
    desk.wait(seconds(20)).await;
    assert_eq!(desk.delivered(), ["To both."]);
    assert_eq!(desk.rows("SELECT COUNT(DISTINCT turn_id), COUNT(*) FROM bursts").await, ["1 2"]);
    let inputs =
        desk.rows("SELECT epoch, content ->> 'text' FROM turn_steps WHERE kind = 'input' ORDER BY epoch").await;
    assert_eq!(inputs, ["1 buy milk", "2 buy milk\nand eggs"]);
    let joined = desk
        .store
        .read(move |connection| {
            Ok::<_, crate::store::StoreError>((
                crate::turns::joining(connection, first)?,
                crate::turns::joining(connection, second)?,
            ))
        })
        .await
        .unwrap();
    assert_eq!(joined, (Some(crate::turns::Joining::Own), Some(crate::turns::Joining::Joined)));
}

#[tokio::test(start_paused = true)]
async fn superseding_ends_after_three_times_and_after_thirty_seconds() {
    // Every answer takes 20 s. Bursts at 0, 2, 4, 6: three supersessions; the one at 8 waits.
    let slow = || Line::say("Done.").after(seconds(20)).again();
    let desk = Desk::texting(DoubleTexting::Supersede, [slow()]);
    for n in 0..5 {
        desk.say(&format!("part {n}")).await;
        desk.wait(seconds(2)).await;
    }
    desk.wait(seconds(90)).await;
    assert_eq!(desk.rows("SELECT number, epoch, supersessions FROM turns ORDER BY number").await, ["1 4 3", "2 1 0"]);

    // Bursts at 0, 19 and 50: the first supersession was at 19, the third burst comes 31 s after it.
    let desk = Desk::texting(DoubleTexting::Supersede, [Line::say("Done.").after(seconds(100)).again()]);
    for pause in [19, 31, 0] {
        desk.say("more").await;
        desk.wait(seconds(pause)).await;
    }
    desk.wait(seconds(400)).await;
    assert_eq!(desk.rows("SELECT number, epoch FROM turns ORDER BY number").await, ["1 2", "2 1"]);
}

#[tokio::test(start_paused = true)]
async fn another_persons_message_never_supersedes() {
    let desk = Desk::texting(DoubleTexting::Supersede, [Line::say("Yes.").after(seconds(5)).again()]);
    desk.say_in("1001", "7", "first").await;
    desk.wait(seconds(1)).await;
    desk.say_in("1001", "8", "from somebody else").await;
    desk.wait(seconds(30)).await;
    assert_eq!(desk.rows("SELECT sender_id, epoch FROM turns ORDER BY number").await, ["7 1", "8 1"]);
}

#[tokio::test(start_paused = true)]
async fn case_a20_the_second_message_sees_what_the_first_one_did() {
    let desk = Desk::new([
        Line::call("act", json!({"create": "X"}))
            .and_call("act", json!({"create": "Y"}))
            .and_call("act", json!({"create": "Z"}))
            .when("add workers"),
        Line::say("Added.").when("done"),
        Line::say("They are in P.").when("to project P"),
    ]);
    desk.say("add workers X, Y, Z").await;
    desk.wait(millis(5_400)).await;
    desk.say("to project P").await;
    desk.wait(seconds(30)).await;
    assert_eq!(desk.called(), ["act", "act", "act"]);
    assert_eq!(desk.delivered(), ["Added.", "They are in P."]);
    let last = serde_json::to_string(&desk.model.requests().last().unwrap().messages).unwrap();
    assert!(last.contains(r#"\"create\":\"Z\""#) && last.contains("Added."), "{last}");
}
