//! The invariants of ARCHITECTURE.md as questions to the database: each answer is a list of rows that break one.
//!
//! In: a read connection, the present, the guard's window. Out: violations, none in a healthy database.
//! Used by `doctor`, after every integration test, and by every proof. What only the outside knows (I4, whether a
//! confirmed update is in the inbox; I1 and I2 for the request itself) is compared with the fakes' logs by the tests.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::verify::verify;
use crate::domain::time::Now;
use crate::store::StoreError;

/// One row that breaks an invariant.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Violation {
    /// `I1` to `I9`.
    pub invariant: &'static str,
    pub what: String,
}

/// A rule: the invariant it belongs to, what a row found means, and the query that finds rows by id.
struct Rule {
    invariant: &'static str,
    meaning: &'static str,
    sql: &'static str,
}

/// `?1` is the guard's window and `?2` the present, both in elapsed milliseconds.
const RULES: &[Rule] = &[
    Rule {
        invariant: "I1",
        meaning: "an attempt without an audited claim of its epoch",
        sql: "SELECT a.effect_id || ' attempt ' || a.n FROM effect_attempts a WHERE NOT EXISTS (
                  SELECT 1 FROM audit WHERE audit.effect_id = a.effect_id AND audit.kind = 'effect_dispatched'
                      AND json_extract(audit.details, '$.epoch') = a.n)",
    },
    Rule {
        invariant: "I1",
        meaning: "an attempt of an epoch that the effect never reached",
        sql: "SELECT a.effect_id || ' attempt ' || a.n FROM effect_attempts a JOIN effects e ON e.id = a.effect_id
              WHERE a.n > e.epoch",
    },
    Rule {
        invariant: "I2",
        meaning: "two claims of one epoch",
        sql: "SELECT effect_id || ' epoch ' || json_extract(details, '$.epoch') FROM audit
              WHERE kind = 'effect_dispatched' GROUP BY effect_id, json_extract(details, '$.epoch') HAVING count(*) > 1",
    },
    Rule {
        invariant: "I2",
        meaning: "a claim from a state that must not be claimed",
        sql: "SELECT effect_id || ' from ' || json_extract(details, '$.from') FROM audit
              WHERE kind = 'effect_dispatched' AND json_extract(details, '$.from') NOT IN ('ready', 'retryable')",
    },
    Rule {
        invariant: "I3",
        meaning: "two accepted effects of one identity within the window, and no person asked for the second",
        // `seq` orders admissions where two fall into one millisecond.
        sql: "SELECT second.id || ' repeats ' || first.id FROM effects first JOIN effects second
                  ON second.identity = first.identity AND second.id <> first.id
                 AND (second.created_elapsed, second.rowid) > (first.created_elapsed, first.rowid)
              WHERE first.accepted_elapsed IS NOT NULL AND second.accepted_elapsed IS NOT NULL
                AND first.state = 'accepted' AND first.released IS NULL
                AND second.created_elapsed < first.accepted_elapsed + ?1
                AND second.repeat_of IS NULL
                AND NOT EXISTS (SELECT 1 FROM approvals WHERE approvals.effect_id = second.id AND approvals.state = 'approved')",
    },
    Rule {
        invariant: "I3",
        meaning: "two live effects of one identity",
        sql: "SELECT identity FROM effects
              WHERE state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')
              GROUP BY identity HAVING count(*) > 1",
    },
    Rule {
        invariant: "I5",
        meaning: "a merged message whose burst is missing, or a burst that lost its turn",
        sql: "SELECT 'inbound ' || i.id FROM inbound i LEFT JOIN bursts b ON b.id = i.burst_id
              LEFT JOIN turns t ON t.id = b.turn_id
              WHERE i.state = 'merged' AND (b.id IS NULL
                  OR b.state IN ('running', 'answered') AND t.id IS NULL
                  OR b.state = 'running' AND t.state = 'ended'
                  OR b.state = 'answered' AND t.state <> 'ended'
                  OR b.state = 'discarded' AND b.reason IS NULL)",
    },
    Rule {
        invariant: "I5",
        meaning: "a message that ended without a reason",
        sql: "SELECT 'inbound ' || id FROM inbound WHERE state IN ('control', 'discarded', 'failed') AND reason IS NULL",
    },
    Rule {
        invariant: "I6",
        meaning: "the last audited state of an effect is not its state",
        sql: "SELECT e.id || ' is ' || e.state || ', audited ' || coalesce(
                  (SELECT json_extract(a.details, '$.to') FROM audit a WHERE a.effect_id = e.id
                      AND json_extract(a.details, '$.to') IS NOT NULL ORDER BY a.seq DESC LIMIT 1), 'never')
              FROM effects e WHERE e.state IS NOT
                  (SELECT json_extract(a.details, '$.to') FROM audit a WHERE a.effect_id = e.id
                      AND json_extract(a.details, '$.to') IS NOT NULL ORDER BY a.seq DESC LIMIT 1)",
    },
    Rule {
        invariant: "I6",
        meaning: "a turn whose start or end is not audited",
        sql: "SELECT t.id FROM turns t
              WHERE NOT EXISTS (SELECT 1 FROM audit WHERE audit.turn_id = t.id AND audit.kind = 'turn_started')
                 OR t.state = 'ended' AND NOT EXISTS (SELECT 1 FROM audit WHERE audit.turn_id = t.id AND audit.kind = 'turn_ended')",
    },
    Rule {
        invariant: "I6",
        meaning: "a delivery whose state is not audited",
        sql: "SELECT 'outbound ' || o.id || ' is ' || o.state FROM outbound o
              WHERE o.state IN ('delivered', 'uncertain') AND NOT EXISTS (
                  SELECT 1 FROM audit WHERE audit.kind = 'message_delivered'
                      AND json_extract(audit.details, '$.outbound_id') = o.id
                      AND json_extract(audit.details, '$.state') = o.state)",
    },
    Rule {
        invariant: "I6",
        meaning: "a decision that is not audited",
        sql: "SELECT 'approval ' || p.id || ' is ' || p.state FROM approvals p
              WHERE p.state IN ('approved', 'denied') AND NOT EXISTS (
                  SELECT 1 FROM audit WHERE audit.effect_id = p.effect_id AND audit.kind = 'approval_decided')
                 OR p.state = 'expired' AND NOT EXISTS (
                  SELECT 1 FROM audit WHERE audit.effect_id = p.effect_id AND audit.kind IN ('approval_expired', 'restored'))",
    },
    Rule {
        invariant: "I7",
        meaning: "an effect that waits for nothing: no worker will take it and no list shows it",
        sql: "SELECT id || ' is ' || state FROM effects
              WHERE state IN ('ready', 'retryable') AND next_attempt_elapsed IS NULL
                 OR state = 'awaiting_approval' AND NOT EXISTS (
                     SELECT 1 FROM approvals WHERE approvals.effect_id = effects.id AND approvals.state = 'pending')",
    },
    Rule {
        invariant: "I7",
        meaning: "a claim whose lease ended more than a day ago",
        sql: "SELECT id FROM effects WHERE state = 'dispatching' AND lease_until + 86400000 < ?2",
    },
    Rule {
        invariant: "I8",
        meaning: "a turn that is open although a later one exists",
        sql: "SELECT t.id FROM turns t WHERE t.state <> 'ended' AND EXISTS (
                  SELECT 1 FROM turns later WHERE later.conversation_id = t.conversation_id AND later.number > t.number)",
    },
    Rule {
        invariant: "I8",
        meaning: "a conversation whose turn numbers have a gap",
        sql: "SELECT 'conversation ' || conversation_id FROM turns GROUP BY conversation_id
              HAVING max(number) - min(number) + 1 <> count(*)",
    },
    Rule {
        invariant: "I9",
        meaning: "accepted without a receipt",
        sql: "SELECT id FROM effects WHERE state = 'accepted' AND (receipt IS NULL OR accepted_elapsed IS NULL)",
    },
];

/// Everything that breaks an invariant. `window` is the guard's.
pub fn check(connection: &Connection, now: Now, window: Duration) -> Result<Vec<Violation>, StoreError> {
    let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    for rule in RULES {
        let mut statement = connection.prepare(rule.sql)?;
        let wanted = statement.parameter_count();
        let read = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        let rows: Vec<String> = match wanted {
            0 => statement.query_map([], read)?.collect::<Result<_, _>>()?,
            1 => statement.query_map(params![window], read)?.collect::<Result<_, _>>()?,
            _ => statement.query_map(params![window, now.elapsed], read)?.collect::<Result<_, _>>()?,
        };
        found.extend(
            rows.into_iter()
                .map(|row| Violation { invariant: rule.invariant, what: format!("{}: {row}", rule.meaning) }),
        );
    }
    let chain = verify(connection, None)?;
    if let Some(bad) = chain.bad {
        let what = format!("the chain breaks at entry {}: {}", bad.seq, bad.reason);
        found.push(Violation { invariant: "I6", what });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::audit::{Actor, Entry, Kind, append};
    use crate::domain::ids::{EffectId, TurnId};
    use crate::domain::time::{Elapsed, Wall};
    use crate::store::{DataFolder, Store, StoreMode};

    const WINDOW: Duration = Duration::from_secs(600);

    fn now() -> Now {
        Now { wall: Wall(2_000_000_000_000), elapsed: Elapsed(1_000_000_000) }
    }

    /// A database with one of everything, in order.
    fn healthy() -> (tempfile::TempDir, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(dir.path().join("data")).unwrap();
        drop(Store::open(&folder, StoreMode::Inline).unwrap());
        let mut connection = Connection::open(folder.database()).unwrap();
        connection.pragma_update(None, "foreign_keys", true).unwrap();
        let tx = connection.transaction().unwrap();
        tx.execute_batch(
            "INSERT INTO conversations (id, channel, account, contact, created_at) VALUES (1, 'window', 'local', 'me', 1);
             INSERT INTO turns (id, conversation_id, number, sender_id, state, ending, started_at, started_elapsed, ended_at)
                 VALUES ('t1', 1, 1, 'me', 'ended', 'answered', 1, 1, 2), ('t2', 1, 2, 'me', 'ended', 'answered', 3, 3, 4);
             INSERT INTO bursts (id, conversation_id, sender_id, state, signal, window_ms, flush_reason, message_count, waited_ms, turn_id, created_at)
                 VALUES (1, 1, 'me', 'answered', 'closed', 1200, 'quiet', 1, 1200, 't1', 1);
             INSERT INTO inbound (id, conversation_id, channel, dedupe_key, kind, state, reason, sender_id, sent_at, received_at, received_elapsed, burst_id)
                 VALUES (1, 1, 'window', 'k1', 'message', 'merged', NULL, 'me', 1, 1, 1, 1),
                        (2, 1, 'window', 'k2', 'command', 'control', 'stop', 'me', 1, 1, 1, NULL);
             INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash, normalisation,
                     intent, action, summary, attempts, epoch, receipt, accepted_elapsed, created_at, created_elapsed, updated_at)
                 VALUES ('e1', 'create_event', 'calendar', 'local', 'accepted', 'x1', 'same', 'd', 'l', 1, '{}', '{}', 's', 1, 1, '{}', 1000, 1, 900, 1);
             INSERT INTO effect_attempts (effect_id, n, phase, started_at) VALUES ('e1', 1, 'done', 1);
             INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash, normalisation,
                     intent, action, summary, created_at, created_elapsed, updated_at, next_attempt_elapsed)
                 VALUES ('e2', 'send_email', 'mail', 'me', 'ready', 'x2', 'other', 'd', 'l', 1, '{}', '{}', 's', 1, 900, 1, 950);
             INSERT INTO outbound (id, conversation_id, sequence, kind, mode, state, content, queued_at)
                 VALUES (1, 1, 1, 'reply', 'immediate', 'delivered', 'hi', 1);",
        )
        .unwrap();
        let of = |kind, to: &str, id: &str| {
            Entry::new(kind, Actor::System).of_effect(&EffectId(id.to_owned())).detail("to", to)
        };
        let entries = [
            of(Kind::EffectAdmitted, "ready", "e1"),
            of(Kind::EffectDispatched, "dispatching", "e1").detail("from", "ready").detail("epoch", 1),
            of(Kind::EffectOutcome, "accepted", "e1"),
            of(Kind::EffectAdmitted, "ready", "e2"),
            Entry::new(Kind::TurnStarted, Actor::System).in_turn(&TurnId("t1".into())),
            Entry::new(Kind::TurnEnded, Actor::System).in_turn(&TurnId("t1".into())),
            Entry::new(Kind::TurnStarted, Actor::System).in_turn(&TurnId("t2".into())),
            Entry::new(Kind::TurnEnded, Actor::System).in_turn(&TurnId("t2".into())),
            Entry::new(Kind::MessageDelivered, Actor::System).detail("outbound_id", 1).detail("state", "delivered"),
        ];
        for entry in entries {
            append(&tx, now(), entry).unwrap();
        }
        tx.commit().unwrap();
        (dir, connection)
    }

    #[test]
    fn a_healthy_database_breaks_nothing() {
        let (_dir, connection) = healthy();
        assert_eq!(check(&connection, now(), WINDOW).unwrap(), []);
    }

    /// Every rule is broken once, by the smallest change that breaks it.
    #[test]
    fn each_broken_rule_is_found() {
        const SECOND: &str = "INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash,
                 normalisation, intent, action, summary, receipt, accepted_elapsed, created_at, created_elapsed, updated_at)
             SELECT 'e9', tool, target, account, 'accepted', 'x9', identity, digest, literal_hash, normalisation, intent, action,
                 summary, receipt, 500000, 1, 2000, 1 FROM effects WHERE id = 'e1'";
        let breakages: &[(&str, &str)] = &[
            ("I1", "DELETE FROM audit WHERE kind = 'effect_dispatched'"),
            ("I1", "INSERT INTO effect_attempts (effect_id, n, phase, started_at) VALUES ('e1', 7, 'done', 1)"),
            (
                "I2",
                "INSERT INTO audit (at, kind, effect_id, actor, details, prev_hash, hash) SELECT at, kind, effect_id, actor, details, '', '' FROM audit WHERE kind = 'effect_dispatched'",
            ),
            (
                "I2",
                "UPDATE audit SET details = json_set(details, '$.from', 'unknown') WHERE kind = 'effect_dispatched'",
            ),
            ("I3", SECOND),
            ("I3", "DROP INDEX effects_live; UPDATE effects SET identity = 'same', state = 'ready', receipt = NULL"),
            ("I5", "UPDATE inbound SET burst_id = NULL WHERE id = 1"),
            ("I5", "UPDATE bursts SET state = 'running'"),
            ("I5", "UPDATE inbound SET reason = NULL WHERE id = 2"),
            ("I6", "UPDATE effects SET state = 'rejected' WHERE id = 'e2'"),
            ("I6", "DELETE FROM audit WHERE kind = 'turn_ended'"),
            ("I6", "DELETE FROM audit WHERE kind = 'message_delivered'"),
            ("I6", "UPDATE audit SET at = at + 1 WHERE seq = 3"),
            (
                "I6",
                "INSERT INTO approvals (effect_id, state, literal_hash, token, summary, requested_at, expires_at, expires_elapsed) VALUES ('e2', 'approved', 'l', 't', 's', 1, 1, 1)",
            ),
            ("I7", "UPDATE effects SET next_attempt_elapsed = NULL WHERE id = 'e2'"),
            ("I7", "UPDATE effects SET state = 'awaiting_approval' WHERE id = 'e2'"),
            ("I7", "UPDATE effects SET state = 'dispatching', lease_until = 5 WHERE id = 'e2'"),
            ("I8", "UPDATE turns SET state = 'thinking' WHERE id = 't1'"),
            ("I8", "UPDATE turns SET number = 9 WHERE id = 't2'"),
            ("I9", "UPDATE effects SET receipt = NULL WHERE id = 'e1'"),
        ];
        for (invariant, breakage) in breakages {
            let (_dir, connection) = healthy();
            connection.execute_batch(breakage).unwrap();
            let found = check(&connection, now(), WINDOW).unwrap();
            assert!(
                found.iter().any(|violation| violation.invariant == *invariant),
                "{invariant} by {breakage}: {found:?}"
            );
        }
    }

    #[test]
    fn a_repeat_that_a_person_asked_for_breaks_nothing() {
        let (_dir, connection) = healthy();
        connection
            .execute_batch(
                "INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash,
                     normalisation, intent, action, summary, receipt, accepted_elapsed, created_at, created_elapsed, updated_at, repeat_of)
                 SELECT 'e9', tool, target, account, 'accepted', 'x9', identity, digest, literal_hash, normalisation, intent,
                     action, summary, receipt, 500000, 1, 2000, 1, 'e1' FROM effects WHERE id = 'e1'",
            )
            .unwrap();
        let found = check(&connection, now(), WINDOW).unwrap();
        assert!(found.iter().all(|violation| violation.invariant != "I3"), "{found:?}");
    }
}
