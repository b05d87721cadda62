//! Verdicts in words: shaped like success for the model, so that it does not reword and try again; plain for a person.

use serde_json::{Value, json};

use crate::approvals::{Notes, mark_text};
use crate::domain::effect::{Difference, EffectState, Mark, Receipt, ReceiptSource, Verdict};
use crate::domain::language::Language;

/// The tool result of a verdict. Where an effect was admitted, its outcome replaces this one once it is known.
pub fn for_model(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Admitted { effect } => json!({
            "status": "queued", "effect": effect,
            "note": "Accepted for execution; it has not been confirmed yet. Do not call again: the user gets one line with the outcome.",
        }),
        Verdict::NeedsApproval { effect, approval, marks } => json!({
            "status": "queued_for_approval", "effect": effect, "approval": format!("#{approval}"), "because": because(marks),
            "note": "A card was shown to the user, nothing was done yet. Tell the user that it waits for their OK, and end. \
                     Do not call again; nobody can approve it by text.",
        }),
        Verdict::Denied { reason } => json!({
            "status": "not_allowed", "reason": reason,
            "note": "Nothing was done, and it cannot be done by another call. Tell the user.",
        }),
        Verdict::Pending { effect, approval, differences } => with_differences(
            json!({
                "status": "queued_for_approval", "already_asked": true, "effect": effect,
                "approval": approval.map(|id| format!("#{id}")),
                "note": "The same action waits for the user's OK already: no second card was made. Tell the user that it waits.",
            }),
            differences,
            "The waiting one differs; the user can edit it on its card.",
        ),
        Verdict::InFlight { effect, state, differences } => with_differences(
            json!({
                "status": if *state == EffectState::Dispatching { "in_progress" } else { "queued" },
                "already_asked": true, "effect": effect,
                "note": "The same action is under way already and was not started again. The user gets one line with the outcome.",
            }),
            differences,
            "The one under way differs; change it when it is done.",
        ),
        Verdict::Unresolved { effect, differences } => with_differences(
            json!({
                "status": "unresolved", "effect": effect,
                "note": "An earlier attempt at this may or may not have happened. It was not repeated: tell the user that it \
                         needs their word under Evidence first.",
            }),
            differences,
            "The earlier attempt differs.",
        ),
        Verdict::Duplicate { effect, receipt, age_seconds, verified, differences } => {
            let mut result = json!({
                "status": "already_done", "already_done": true, "effect": effect, "age_seconds": age_seconds,
                "when": format!("{} ago", crate::approvals::age(*age_seconds, Language::En)),
                "verified": verified, "receipt": receipt_words(receipt),
                "note": done_note(receipt),
            });
            if let (Some(id), Some(fields)) = (&receipt.provider_id, result.as_object_mut()) {
                fields.insert("event_id".to_owned(), json!(id));
            }
            with_differences(
                result,
                differences,
                "What exists differs from this call. Nothing was changed. If the user wants the difference, change the \
                 existing one (update_event with its event_id).",
            )
        }
        Verdict::Exists { event_id, effect, differences } => with_differences(
            json!({
                "status": "already_done", "already_done": true, "exists": true, "event_id": event_id, "effect": effect,
                "note": "An event with this title and start is in the calendar already. Tell the user that it is there; do not \
                         create it again.",
            }),
            differences,
            "What exists differs from this call. If the user wants the difference, change it (update_event with its event_id).",
        ),
    }
}

fn done_note(receipt: &Receipt) -> &'static str {
    if receipt.detail.get("saved_only").and_then(Value::as_bool) == Some(true) {
        "This was saved as a file already, not sent: no mail account is set up. Tell the user so; do not call again."
    } else {
        "Tell the user it is already done; do not call again."
    }
}

/// The receipt as a model may show it.
pub fn receipt_words(receipt: &Receipt) -> Value {
    json!({
        "id": receipt.provider_id,
        "from": match receipt.source {
            ReceiptSource::Provider => "the provider's reply",
            ReceiptSource::Found => "found when read back",
            ReceiptSource::Person => "the user's word",
        },
        "detail": receipt.detail,
    })
}

fn because(marks: &[Mark]) -> Vec<String> {
    marks.iter().map(|mark| mark_text(*mark, &Notes::default(), Language::En)).collect()
}

fn with_differences(mut result: Value, differences: &[Difference], hint: &str) -> Value {
    if differences.is_empty() {
        return result;
    }
    if let Some(fields) = result.as_object_mut() {
        fields.insert("differences".to_owned(), json!(differences));
        fields.insert("differs".to_owned(), json!(hint));
    }
    result
}

/// One plain sentence for a person.
pub fn for_person(verdict: &Verdict, language: Language) -> String {
    let text = |en: &str, es: &str| language.pick(en, es).to_owned();
    match verdict {
        Verdict::Admitted { .. } => text("It is being done.", "Se está haciendo."),
        Verdict::NeedsApproval { approval, .. } => match language {
            Language::En => format!("It waits for your OK (#{approval})."),
            Language::Es => format!("Espera tu visto bueno (#{approval})."),
        },
        Verdict::Denied { .. } => text("The settings do not allow it.", "La configuración no lo permite."),
        Verdict::Pending { .. } => text("The same waits for your OK already.", "Lo mismo ya espera tu visto bueno."),
        Verdict::InFlight { .. } => text("The same is under way already.", "Lo mismo ya está en curso."),
        Verdict::Unresolved { .. } => text(
            "An earlier attempt may have happened; it needs your word first.",
            "Un intento anterior pudo haberse hecho; primero hace falta tu palabra.",
        ),
        Verdict::Duplicate { age_seconds, differences, .. } => {
            let ago = crate::approvals::age(*age_seconds, language);
            match (language, differences.is_empty()) {
                (Language::En, true) => format!("Done already, {ago} ago."),
                (Language::Es, true) => format!("Ya está hecho, hace {ago}."),
                (Language::En, false) => format!("Done already, {ago} ago, but it differs in: {}.", names(differences)),
                (Language::Es, false) => format!("Ya está hecho, hace {ago}, pero difiere en: {}.", names(differences)),
            }
        }
        Verdict::Exists { .. } => text("It is in the calendar already.", "Ya está en el calendario."),
    }
}

fn names(differences: &[Difference]) -> String {
    differences.iter().map(|difference| difference.field.as_str()).collect::<Vec<_>>().join(", ")
}
