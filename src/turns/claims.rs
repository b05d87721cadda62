//! Claim check: an answer that says "done" must have a row to show for it.
//!
//! Deliberately narrow: only plain claims of a finished action, only where this turn made no call of that kind and the
//! last 24 hours show none. The model is asked once; what it says then stands.

use rusqlite::{Connection, params};

use super::ending::{Closing, Ending};
use super::error::TurnError;
use super::machine::State;
use super::steps::{Correction, CorrectionReason, Step};
use super::store::Turn;
use super::worker::TurnsDeps;
use crate::domain::time::Wall;
use crate::store::StoreError;

/// Phrases in lower case that claim the action of a tool as finished.
const CLAIMS: &[(&str, &[&str])] = &[
    (
        "create_event",
        &[
            "he creado",
            "he agendado",
            "he programado",
            "he añadido",
            "he apuntado",
            "queda agendad",
            "ha quedado agendad",
            "quedó agendad",
            "evento creado",
            "cita creada",
            "reunión creada",
            "i've created",
            "i have created",
            "i've scheduled",
            "i have scheduled",
            "i've added",
            "i have added",
            "i've booked",
            "i have booked",
            "event created",
            "has been scheduled",
            "has been added to your calendar",
            "is now in your calendar",
        ],
    ),
    (
        "send_email",
        &[
            "he enviado",
            "correo enviado",
            "mail enviado",
            "email enviado",
            "mensaje enviado a",
            "ha sido enviado",
            "i've sent",
            "i have sent",
            "i sent the",
            "email sent",
            "mail sent",
            "has been sent",
            "e-mail sent",
        ],
    ),
    (
        "delete_event",
        &[
            "he eliminado",
            "he borrado",
            "he cancelado",
            "evento eliminado",
            "cita cancelada",
            "ha sido cancelad",
            "i've deleted",
            "i have deleted",
            "i've cancelled",
            "i have cancelled",
            "i've canceled",
            "i have canceled",
            "has been deleted",
            "has been cancelled",
            "has been canceled",
        ],
    ),
    (
        "update_event",
        &[
            "he movido",
            "he cambiado la",
            "he reprogramado",
            "evento actualizado",
            "ha sido movid",
            "i've moved",
            "i have moved",
            "i've rescheduled",
            "i have rescheduled",
            "has been moved",
            "has been rescheduled",
        ],
    ),
];

/// `Some` when the answer claims what nothing shows, and it was not asked about before in this turn.
pub async fn check(
    deps: &TurnsDeps,
    turn: &Turn,
    state: &State,
    steps: &[Step],
    closing: &Closing,
) -> Result<Option<Correction>, TurnError> {
    if closing.ending != Ending::Answered || state.progress().is_some_and(|progress| progress.claim_corrected()) {
        return Ok(None);
    }
    let Some(tool) = claimed(&closing.text).into_iter().find(|tool| !called(steps, tool)) else { return Ok(None) };
    let since = Wall(deps.clock.now().wall.0 - 86_400_000);
    if deps.store.read(move |connection| shown(connection, tool, since)).await? {
        return Ok(None);
    }
    tracing::warn!(turn_id = %turn.id, tool, "the answer claims an action that no row shows");
    Ok(Some(Correction {
        reason: CorrectionReason::UnprovenClaim,
        text: format!(
            "Your answer says that something was done, but {tool} was not called and no record shows it. The person has not \
             seen that answer. If it should be done, do it now with the tool; otherwise answer again without the claim."
        ),
    }))
}

/// The text so far claims what this turn did not do: not to be shown before it is checked.
pub fn may_claim(text: &str, steps: &[Step]) -> bool {
    claimed(text).into_iter().any(|tool| !called(steps, tool))
}

fn called(steps: &[Step], tool: &str) -> bool {
    steps.iter().any(|step| match step {
        Step::ToolResult(answer) => answer.name == tool,
        Step::Input(_) | Step::ModelReply(_) | Step::Summary(_) | Step::Correction(_) | Step::Final(_) => false,
    })
}

/// Tools whose action the text claims. A question or a negation close by is no claim.
fn claimed(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let claims = |phrase: &str| {
        text.match_indices(phrase).any(|(at, _)| {
            let before = text[..at].trim_end().rsplit([' ', '\n']).next().unwrap_or_default();
            let sentence_end = text[at..].find(['.', '!', '?', '\n']).map(|end| at + end);
            let asked = sentence_end.is_some_and(|end| text[end..].starts_with('?'));
            !asked && !matches!(before, "no" | "not" | "aún" | "nunca" | "never" | "si" | "if" | "yet")
        })
    };
    CLAIMS.iter().filter(|(_, phrases)| phrases.iter().any(|phrase| claims(phrase))).map(|(tool, _)| *tool).collect()
}

fn shown(connection: &Connection, tool: &str, since: Wall) -> Result<bool, StoreError> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM effects WHERE tool = ?1 AND updated_at >= ?2
                            AND state NOT IN ('denied', 'expired', 'cancelled', 'rejected'))",
        )?
        .query_row(params![tool, since], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finished_actions_are_claims() {
        for (text, expected) in [
            ("Listo: he creado la cita para mañana.", vec!["create_event"]),
            ("I've sent the email to Ana.", vec!["send_email"]),
            ("I have moved it to 16:00 and I've sent the email.", vec!["send_email", "update_event"]),
            ("No he enviado nada todavía.", vec![]),
            ("I have not sent it.", vec![]),
            ("¿Quieres que lo envíe?", vec![]),
            ("Has it been sent? I don't know.", vec![]),
            ("The mail is queued for approval.", vec![]),
            ("Tienes dos citas mañana.", vec![]),
        ] {
            assert_eq!(claimed(text), expected, "{text}");
        }
    }
}
