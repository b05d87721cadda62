//! The program's own sentences about effects, in es and en. Deterministic: the same row gives the same words.

use jiff::tz::TimeZone;

use super::row::EffectRow;
use crate::domain::action::Action;
use crate::domain::calendar::EventTime;
use crate::domain::effect::{EffectState, ReceiptSource, RecipientResult, RecipientState};
use crate::domain::language::Language;
use crate::domain::literal::escape_deceptive;

/// One line that says how it ended, or that nobody knows yet.
pub fn outcome_line(row: &EffectRow, recipients: &[RecipientResult], language: Language, zone: &TimeZone) -> String {
    let what = what(&row.action, language, zone);
    let reason = row.last_error.as_deref().map(escape_deceptive).unwrap_or_default();
    let because = |en: &str, es: &str| {
        let base = language.pick(en, es);
        if reason.is_empty() { format!("{base}: {what}.") } else { format!("{base}: {what} ({reason}).") }
    };
    match row.state {
        EffectState::Accepted => accepted(row, recipients, &what, language),
        EffectState::Rejected => because("❌ Not done", "❌ No se hizo"),
        EffectState::Denied => {
            format!("🚫 {}: {what}.", language.pick("Not done, you said no", "No se hizo, dijiste que no"))
        }
        EffectState::Expired => format!(
            "⌛ {}: {what}. {}",
            language.pick("Not done, nobody approved it in time", "No se hizo, nadie lo aprobó a tiempo"),
            language.pick("You can ask again.", "Puedes volver a pedirlo.")
        ),
        EffectState::Cancelled => {
            format!("↩️ {}: {what}.", language.pick("Cancelled, not done", "Cancelado, no se hizo"))
        }
        EffectState::Unknown => format!(
            "❓ {}: {what}. {}",
            language.pick("It is not certain whether this was done", "No es seguro si esto se hizo"),
            language.pick(
                "I will not repeat it; I keep looking for evidence, and you can settle it under Evidence.",
                "No lo repetiré; sigo buscando pruebas, y puedes resolverlo en Evidencia."
            )
        ),
        EffectState::Reverted => format!("↩️ {}: {what}.", language.pick("Undone", "Deshecho")),
        EffectState::AwaitingApproval => {
            format!("⏳ {}: {what}.", language.pick("Waiting for your OK", "Esperando tu visto bueno"))
        }
        EffectState::Ready | EffectState::Dispatching | EffectState::Retryable => {
            format!("⏳ {}: {what}.", language.pick("In progress", "En curso"))
        }
    }
}

fn accepted(row: &EffectRow, recipients: &[RecipientResult], what: &str, language: Language) -> String {
    let receipt = row.receipt.as_ref();
    if receipt.is_some_and(|receipt| receipt.source == ReceiptSource::Person) {
        let done = language.pick("Marked as done, on your word", "Marcado como hecho, según tú");
        return format!("✅ {done}: {what}.");
    }
    if is_saved_only(row) {
        let saved = language.pick("Saved as a file, not sent", "Guardado como archivo, no enviado");
        return format!("📁 {saved}: {what}.");
    }
    let refused: Vec<String> = recipients
        .iter()
        .filter(|one| matches!(one.state, RecipientState::Rejected | RecipientState::Failed))
        .map(|one| crate::domain::address::display_of(&one.address))
        .collect();
    let done = match row.action {
        Action::SendEmail(_) => language.pick("Sent", "Enviado"),
        Action::CreateEvent(_) | Action::UpdateEvent(_) | Action::DeleteEvent(_) | Action::Other(_) => {
            language.pick("Done", "Hecho")
        }
    };
    if refused.is_empty() {
        format!("✅ {done}: {what}.")
    } else {
        let not_to = language.pick("but not to", "pero no a");
        format!("⚠️ {done}: {what}, {not_to} {}.", refused.join(", "))
    }
}

/// One line for a mail that came back from one recipient.
pub fn bounce_line(row: &EffectRow, address: &str, reason: &str, language: Language, zone: &TimeZone) -> String {
    let came_back = language.pick("Came back, not delivered to", "Devuelto, no se entregó a");
    let address = crate::domain::address::display_of(address);
    let what = what(&row.action, language, zone);
    let reason = escape_deceptive(reason);
    if reason.is_empty() {
        format!("⚠️ {came_back} {address}: {what}.")
    } else {
        format!("⚠️ {came_back} {address}: {what} ({reason}).")
    }
}

/// A mail that was written to a folder and did not leave: its receipt says so.
pub fn is_saved_only(row: &EffectRow) -> bool {
    row.receipt.as_ref().is_some_and(|receipt| receipt.detail.get("saved_only").and_then(|v| v.as_bool()) == Some(true))
}

/// The action in a few words, e.g. `event “Dentist”, 2026-03-10 09:00`. Texts are escaped.
pub fn what(action: &Action, language: Language, zone: &TimeZone) -> String {
    let quoted = |text: &str| {
        let text = escape_deceptive(text);
        match language {
            Language::En => format!("“{text}”"),
            Language::Es => format!("«{text}»"),
        }
    };
    match action {
        Action::CreateEvent(event) => {
            format!("{} {}, {}", language.pick("event", "evento"), quoted(&event.title), when(&event.start, zone))
        }
        Action::UpdateEvent(update) => {
            let mut text = language.pick("change of an event", "cambio de un evento").to_owned();
            if let Some(title) = &update.changes.title {
                text = format!("{text} {}", quoted(title));
            }
            if let Some(start) = &update.changes.start {
                text = format!("{text}, {}", when(start, zone));
            }
            text
        }
        Action::DeleteEvent(delete) => {
            let mut text = format!("{} {}", language.pick("deletion of", "borrado de"), quoted(&delete.title));
            if let Some(start) = delete.occurrence.as_ref().or(delete.start.as_ref()) {
                text = format!("{text}, {}", when(start, zone));
            }
            text
        }
        Action::SendEmail(mail) => {
            let to: Vec<String> = mail.to.iter().map(|to| crate::domain::address::display_of(to)).collect();
            format!(
                "{} {} {} {}",
                language.pick("mail", "correo"),
                quoted(&mail.subject),
                language.pick("to", "para"),
                to.join(", ")
            )
        }
        Action::Other(other) => escape_deceptive(&other.tool),
    }
}

/// A date, or the local time in the person's zone.
pub fn when(time: &EventTime, zone: &TimeZone) -> String {
    match time {
        EventTime::Date { date } => date.clone(),
        EventTime::Timed { at, .. } => match at.parse::<jiff::Timestamp>() {
            Ok(instant) => instant.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
            Err(_) => escape_deceptive(at),
        },
    }
}
