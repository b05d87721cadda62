//! A press of a button in Telegram: an opaque token, and the user id of who pressed.

use rusqlite::Transaction;

use super::again::ask_again;
use super::decide::{Decided, Decision, Surface, decide};
use super::error::ApprovalError;
use super::expire::expire;
use super::row::{Approval, ApprovalState, by_token};
use super::settings::Rules;
use super::targets::is_owner;
use crate::audit::{self, Actor, Entry, Kind};
use crate::domain::ids::EffectId;
use crate::domain::time::Now;
use crate::evidence::{self, EvidenceError};

/// Who pressed, as the channel vouches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sender {
    /// Empty when the channel named nobody.
    pub id: String,
}

/// What the tap did; `text` answers it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TapAnswer {
    pub text: String,
    pub decided: Option<Decided>,
}

/// Handles callback data (`a:` approve, `d:` deny, `u:` undo, `r:` ask again). Use a durable transaction.
///
/// Whatever a person can do wrong is an answer, not an error; only a failing store or target is an error.
pub fn decide_by_token(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    data: &str,
    sender: &Sender,
) -> Result<TapAnswer, ApprovalError> {
    let language = rules.evidence.language;
    let answer = |en: &str, es: &str| Ok(TapAnswer { text: language.pick(en, es).to_owned(), decided: None });
    if !is_owner(tx, &rules.settings, &sender.id)? {
        audit::append(
            tx,
            now,
            Entry::new(Kind::SenderRefused, Actor::Person(format!("telegram:{}", sender.id))).detail("what", "tap"),
        )?;
        return answer("Only the owner can decide this.", "Solo el dueño puede decidir esto.");
    }
    let Some((verb, token)) = data.split_once(':') else {
        return answer("This button is no longer known.", "Este botón ya no se reconoce.");
    };
    if verb == "u" {
        return undo(tx, now, rules, &EffectId::new(token), sender);
    }
    let Some(approval) = by_token(tx, token)? else {
        return answer(
            "This button is no longer known. The window shows what waits.",
            "Este botón ya no se reconoce. La ventana muestra lo pendiente.",
        );
    };
    match verb {
        "a" => press(tx, now, rules, approval, Decision::Approve, sender),
        "d" => press(tx, now, rules, approval, Decision::Deny, sender),
        "r" => match ask_again(tx, now, rules, approval.id, &format!("telegram:{}", sender.id)) {
            Ok(id) => Ok(TapAnswer {
                text: match language {
                    crate::domain::language::Language::En => format!("Asked again as #{id}."),
                    crate::domain::language::Language::Es => format!("Preguntado otra vez como #{id}."),
                },
                decided: None,
            }),
            Err(ApprovalError::UnderWay(_)) => answer("It is under way already.", "Ya está en curso."),
            Err(ApprovalError::AlreadyDecided { state, .. }) => {
                Ok(TapAnswer { text: already(state, language).to_owned(), decided: None })
            }
            Err(ApprovalError::NotExpired(_)) => answer("It still waits for you.", "Todavía te espera."),
            Err(error) => Err(error),
        },
        _ => answer("This button is no longer known.", "Este botón ya no se reconoce."),
    }
}

fn press(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    approval: Approval,
    decision: Decision,
    sender: &Sender,
) -> Result<TapAnswer, ApprovalError> {
    let language = rules.evidence.language;
    let text = |en: &str, es: &str| language.pick(en, es).to_owned();
    match decide(tx, now, rules, approval.id, decision, &sender.id, Surface::Telegram) {
        Ok(decided) => {
            let text = match decision {
                Decision::Approve => text("Approved.", "Aprobado."),
                Decision::Deny => text("Denied. Nothing was done.", "Denegado. No se hizo nada."),
            };
            Ok(TapAnswer { text, decided: Some(decided) })
        }
        Err(ApprovalError::AlreadyDecided { state, .. }) => {
            Ok(TapAnswer { text: already(state, language).to_owned(), decided: None })
        }
        Err(ApprovalError::Expired(id)) => {
            if approval.state == ApprovalState::Pending {
                expire(tx, now, rules, id, "nobody decided in time")?;
            }
            Ok(TapAnswer {
                text: text(
                    "Too late: this has expired. Nothing was done; you can ask again.",
                    "Demasiado tarde: esto ha caducado. No se hizo nada; puedes volver a pedirlo.",
                ),
                decided: None,
            })
        }
        Err(ApprovalError::Changed(_)) => Ok(TapAnswer {
            text: text(
                "What would be done is not what this card shows. Nothing was done; ask again.",
                "Lo que se haría no es lo que muestra esta tarjeta. No se hizo nada; vuelve a pedirlo.",
            ),
            decided: None,
        }),
        Err(error) => Err(error),
    }
}

fn already(state: ApprovalState, language: crate::domain::language::Language) -> &'static str {
    match state {
        ApprovalState::Approved => language.pick("Already decided: approved.", "Ya decidido: aprobado."),
        ApprovalState::Denied => language.pick("Already decided: denied.", "Ya decidido: denegado."),
        ApprovalState::Expired => language.pick("It has expired.", "Ha caducado."),
        ApprovalState::Pending => language.pick("It still waits for you.", "Todavía te espera."),
    }
}

fn undo(
    tx: &Transaction<'_>,
    now: Now,
    rules: &Rules,
    effect: &EffectId,
    sender: &Sender,
) -> Result<TapAnswer, ApprovalError> {
    let language = rules.evidence.language;
    let who = format!("telegram:{}", sender.id);
    let text = match evidence::cancel(tx, now, &rules.evidence, effect, &who) {
        Ok(_) => language.pick("Undone: it was not sent.", "Deshecho: no se envió."),
        Err(EvidenceError::Settled { .. }) => {
            language.pick("Too late to undo: it has left.", "Demasiado tarde para deshacer: ya salió.")
        }
        Err(EvidenceError::NotFound(_)) => {
            language.pick("This button is no longer known.", "Este botón ya no se reconoce.")
        }
        Err(error) => return Err(error.into()),
    };
    Ok(TapAnswer { text: text.to_owned(), decided: None })
}
