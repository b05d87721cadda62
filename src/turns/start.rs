//! How bursts become turns: a new one, the next epoch of the running one, or a refusal.

use rusqlite::{Transaction, params};

use super::close;
use super::double_texting::{self, Decision, Running};
use super::ending::{Closing, Ending, Reason};
use super::error::TurnError;
use super::settings::Settings;
use super::steps::{ModelReply, Step};
use super::store::{self, Queued};
use super::{render, words};
use crate::audit::{self, Actor, Entry};
use crate::domain::ids::TurnId;
use crate::domain::language::Language;
use crate::domain::time::{Elapsed, Now};
use crate::outbox;
use crate::schedules;
use crate::store::StoreError;

/// What became of a queued burst.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    Started {
        turn: TurnId,
    },
    /// The running turn goes on with both, in its next epoch.
    Merged {
        turn: TurnId,
        epoch: i64,
    },
    /// The running turn was set aside; the burst has a turn of its own.
    Interrupted {
        turn: TurnId,
    },
    Rejected,
    /// Waits for the running turn.
    Waits,
}

/// Decides and does it, for the oldest queued burst of a conversation. `new` is the id of a turn that may start.
pub fn take(
    tx: &Transaction<'_>,
    now: Now,
    burst: &Queued,
    new: TurnId,
    settings: &Settings,
) -> Result<Taken, TurnError> {
    let Some(running) = store::running_in(tx, burst.conversation)? else {
        return Ok(match start(tx, now, burst, &new, settings)? {
            true => Taken::Started { turn: new },
            false => Taken::Waits,
        });
    };
    let first_supersession = if running.supersessions == 0 { None } else { epoch_start(tx, &running.id, 2)? };
    let decision = double_texting::decide(
        settings.strategy(burst.channel),
        Running {
            fenced: running.fenced,
            same_sender: running.sender_id == burst.sender_id,
            supersessions: running.supersessions,
            since_first_supersession: first_supersession.map(|at| now.elapsed.since(at)),
        },
    );
    match decision {
        Decision::Enqueue => Ok(Taken::Waits),
        Decision::Reject => {
            store::discard_burst(tx, burst.id, "busy")?;
            let steps = store::steps(tx, &running.id, running.epoch)?;
            outbox::enqueue_control(tx, now, burst.conversation, words::busy(close::language(&steps)))?;
            audit::append(
                tx,
                now,
                Entry::new(audit::Kind::MessageDiscarded, Actor::System)
                    .in_conversation(burst.conversation)
                    .detail("burst_id", burst.id.0)
                    .detail("reason", "busy"),
            )?;
            Ok(Taken::Rejected)
        }
        Decision::Interrupt => {
            let closing =
                Closing { ending: Ending::Interrupted, text: String::new(), reason: Some(Reason::NewMessage) };
            close::close(tx, now, &running, closing)?;
            start(tx, now, burst, &new, settings)?;
            Ok(Taken::Interrupted { turn: new })
        }
        Decision::Merge => {
            outbox::cancel_turn(tx, &running.id, running.epoch)?;
            store::take_burst(tx, burst.id, &running.id)?;
            let epoch = store::supersede(tx, &running.id, burst.stale)?;
            let bursts = store::bursts_of(tx, &running.id)?;
            let input = render::input(tx, now, burst.conversation, &bursts, settings)?;
            store::append_step(tx, now, &running.id, epoch, &Step::Input(input), 0)?;
            audit::append(
                tx,
                now,
                Entry::new(audit::Kind::TurnStarted, Actor::System)
                    .in_conversation(burst.conversation)
                    .in_turn(&running.id)
                    .detail("epoch", epoch)
                    .detail("superseded_by_burst", burst.id.0),
            )?;
            Ok(Taken::Merged { turn: running.id, epoch })
        }
    }
}

/// False if the burst was taken or discarded meanwhile.
fn start(
    tx: &Transaction<'_>,
    now: Now,
    burst: &Queued,
    turn: &TurnId,
    settings: &Settings,
) -> Result<bool, StoreError> {
    let number = store::insert(tx, now, turn, burst.conversation, &burst.sender_id, burst.stale)?;
    if !store::take_burst(tx, burst.id, turn)? {
        tx.execute("DELETE FROM turns WHERE id = ?1", [turn])?;
        return Ok(false);
    }
    let input = render::input(tx, now, burst.conversation, &[burst.id], settings)?;
    let language = input.language;
    store::append_step(tx, now, turn, 1, &Step::Input(input), 0)?;
    if let Some(text) = due_words(tx, now, burst, language, settings)? {
        // A reminder needs no model: it comes even when none can be reached.
        let reply = ModelReply { text, model: "program".to_owned(), ..ModelReply::default() };
        store::append_step(tx, now, turn, 1, &Step::ModelReply(reply), 0)?;
        store::set_state(tx, turn, "replying")?;
    }
    audit::append(
        tx,
        now,
        Entry::new(audit::Kind::TurnStarted, Actor::System)
            .in_conversation(burst.conversation)
            .in_turn(turn)
            .detail("number", number)
            .detail("burst_id", burst.id.0),
    )?;
    Ok(true)
}

/// What is said at once for a burst that is one due slot of a schedule.
fn due_words(
    tx: &Transaction<'_>,
    now: Now,
    burst: &Queued,
    language: Language,
    settings: &Settings,
) -> Result<Option<String>, StoreError> {
    let slots: Vec<Option<String>> = tx
        .prepare_cached("SELECT parts ->> '$.schedule' FROM inbound WHERE burst_id = ?1 AND state = 'merged'")?
        .query_map([burst.id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    match slots.as_slice() {
        [Some(slot)] => schedules::answer(tx, now, slot, language, &settings.zone),
        _ => Ok(None),
    }
}

/// When an epoch began, on the elapsed clock.
fn epoch_start(tx: &Transaction<'_>, turn: &TurnId, epoch: i64) -> Result<Option<Elapsed>, StoreError> {
    let steps = store::steps(tx, turn, epoch)?;
    Ok(steps.iter().find_map(|step| match step {
        Step::Input(input) => Some(Elapsed(input.at_elapsed)),
        Step::ModelReply(_) | Step::ToolResult(_) | Step::Summary(_) | Step::Correction(_) | Step::Final(_) => None,
    }))
}

/// How a burst came to its turn, as the window shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Joining {
    /// It began its turn at once.
    Own,
    /// It joined the running request.
    Joined,
    /// It was queued behind another turn.
    Queued,
}

/// See [`Joining`]; `None` while it waits or when it was discarded.
pub fn joining(
    connection: &rusqlite::Connection,
    burst: crate::domain::ids::BurstId,
) -> Result<Option<Joining>, StoreError> {
    use rusqlite::OptionalExtension;
    let found: Option<(bool, bool)> = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM bursts o WHERE o.turn_id = b.turn_id AND o.id < b.id),
                    EXISTS (SELECT 1 FROM turns p WHERE p.conversation_id = t.conversation_id
                              AND p.number < t.number AND p.ended_at > b.created_at)
             FROM bursts b JOIN turns t ON t.id = b.turn_id WHERE b.id = ?1",
        )?
        .query_row(params![burst], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.map(|(joined, waited)| match (joined, waited) {
        (true, _) => Joining::Joined,
        (false, true) => Joining::Queued,
        (false, false) => Joining::Own,
    }))
}
