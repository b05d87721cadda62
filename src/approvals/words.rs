//! What a card says, in es and en: the literal action, escaped, with everything that should make a person look twice.

use jiff::tz::TimeZone;

use super::row::{Approval, ApprovalState, Notes};
use crate::domain::action::Action;
use crate::domain::address::display_of;
use crate::domain::effect::{EffectState, Mark};
use crate::domain::language::Language;
use crate::domain::literal::escape_deceptive;
use crate::domain::provenance::TargetSource;
use crate::evidence::{self, EffectRow, words::what};

/// The card as Markdown. Texts of the action are shown as they will leave, never interpreted.
pub fn card_text(
    approval: &Approval,
    action: &Action,
    account: &str,
    reminder: bool,
    language: Language,
    zone: &TimeZone,
) -> String {
    let mut lines = Vec::new();
    let head = if reminder {
        language.pick("⏰ Still waiting for your OK", "⏰ Todavía espera tu visto bueno")
    } else {
        language.pick("🔐 Waiting for your OK", "🔐 Espera tu visto bueno")
    };
    lines.push(format!("**{head}** #{}", approval.id));
    for mark in &approval.marks {
        lines.push(format!("⚠️ {}", plain(&mark_text(*mark, &approval.notes, language))));
    }
    if approval.notes.fault {
        lines.push(format!(
            "⚠️ {}",
            language.pick("The same step asked for something else before.", "El mismo paso pidió antes otra cosa.")
        ));
    }
    lines.push(String::new());
    lines.extend(fields(action, account, language, zone).into_iter().map(|(name, value)| {
        if value.contains('\n') { format!("{name}:\n{}", fenced(&value)) } else { format!("{name}: {}", plain(&value)) }
    }));
    for origin in &approval.notes.origins {
        let from = match &origin.source {
            TargetSource::Untrusted { carrier } => escape_deceptive(carrier),
            TargetSource::Unseen | TargetSource::Model => {
                language.pick("nothing you wrote", "nada que hayas escrito").to_owned()
            }
            TargetSource::Owner | TargetSource::Configuration => continue,
        };
        let line = match language {
            Language::En => format!("{} comes from {from}", display_of(&origin.target)),
            Language::Es => format!("{} viene de {from}", display_of(&origin.target)),
        };
        lines.push(format!("⚠️ {}", plain(&line)));
    }
    for difference in &approval.notes.differences {
        let line = format!(
            "{}: {} → {}",
            difference.field,
            escape_deceptive(&short(&difference.first)),
            escape_deceptive(&short(&difference.now))
        );
        lines.push(format!("• {}", plain(&line)));
    }
    lines.join("\n")
}

/// What a decided card says.
pub(super) fn closed_text(approval: &Approval, effect: &EffectRow, language: Language, zone: &TimeZone) -> String {
    let what = plain(&what(&effect.action, language, zone));
    let end = match approval.state {
        ApprovalState::Approved if effect.state == EffectState::Cancelled => language.pick("↩️ Undone", "↩️ Deshecho"),
        ApprovalState::Approved => language.pick("✅ Approved", "✅ Aprobado"),
        ApprovalState::Denied => language.pick("❌ Denied", "❌ Denegado"),
        ApprovalState::Expired => language.pick("⌛ Expired, nothing was done", "⌛ Caducado, no se hizo nada"),
        ApprovalState::Pending => language.pick("⏳ Waiting", "⏳ Pendiente"),
    };
    let mut text = format!("**{end}** #{}\n{what}", approval.id);
    if approval.state == ApprovalState::Approved && evidence::words::is_saved_only(effect) {
        text.push('\n');
        text.push_str(language.pick("Saved as a file, not sent.", "Guardado como archivo, no enviado."));
    }
    text
}

pub(super) fn approve_label(notes: &Notes, language: Language) -> &'static str {
    if notes.saves_only {
        language.pick("📁 Save as a file", "📁 Guardar como archivo")
    } else {
        language.pick("✅ Approve", "✅ Aprobar")
    }
}

/// Why the card carries the mark, in one sentence.
pub fn mark_text(mark: Mark, notes: &Notes, language: Language) -> String {
    let ago = |seconds: Option<i64>| seconds.map(|seconds| age(seconds, language));
    match mark {
        Mark::NewRecipient => language.pick("New recipient", "Destinatario nuevo").to_owned(),
        Mark::UntrustedTarget => {
            language.pick("A target that you did not write", "Un destino que tú no escribiste").to_owned()
        }
        Mark::Stale => match (ago(notes.stale_seconds), language) {
            (Some(ago), Language::En) => format!("This was asked {ago} ago"),
            (Some(ago), Language::Es) => format!("Esto se pidió hace {ago}"),
            (None, _) => language.pick("This was asked a while ago", "Esto se pidió hace tiempo").to_owned(),
        },
        Mark::NearDuplicate if notes.earlier_unresolved => language
            .pick("The first one may have arrived: again?", "El primero pudo haber llegado: ¿otra vez?")
            .to_owned(),
        Mark::NearDuplicate => match (ago(notes.earlier_age), language) {
            (Some(ago), Language::En) => format!("You did something very similar {ago} ago: again?"),
            (Some(ago), Language::Es) => format!("Hiciste algo muy parecido hace {ago}: ¿otra vez?"),
            (None, _) => language
                .pick("Something very similar is there already: again?", "Ya hay algo muy parecido: ¿otra vez?")
                .to_owned(),
        },
        Mark::Repeat => language.pick("REPEAT: this was done already", "REPETICIÓN: esto ya se hizo").to_owned(),
        Mark::Guests => language.pick("Guests will be invited", "Se invitará a otras personas").to_owned(),
    }
}

/// "3 h", "2 days".
pub fn age(seconds: i64, language: Language) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if seconds < 60 {
        format!("{} s", seconds.max(0))
    } else if minutes < 60 {
        format!("{minutes} min")
    } else if hours < 48 {
        format!("{hours} h")
    } else {
        format!("{days} {}", language.pick("days", "días"))
    }
}

fn fields(action: &Action, account: &str, language: Language, zone: &TimeZone) -> Vec<(&'static str, String)> {
    let mut out: Vec<(&'static str, String)> = Vec::new();
    let name = |en: &'static str, es: &'static str| match language {
        Language::En => en,
        Language::Es => es,
    };
    let people = |list: &[String]| list.iter().map(|one| display_of(one)).collect::<Vec<_>>().join(", ");
    let mut text = |label: &'static str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            out.push((label, escape_deceptive(value)));
        }
    };
    let when = |time: &crate::domain::calendar::EventTime| match time {
        crate::domain::calendar::EventTime::Timed { zone: named, at } => {
            let offset = at.get(19..).unwrap_or_default();
            format!("{} ({named}, {offset})", evidence::words::when(time, zone))
        }
        crate::domain::calendar::EventTime::Date { date } => {
            format!("{date} ({})", language.pick("all day", "todo el día"))
        }
    };
    match action {
        Action::SendEmail(mail) => {
            text(name("From", "De"), Some(&display_of(&mail.from)));
            text(name("To", "Para"), Some(&people(&mail.to)));
            text("Cc", Some(&people(&mail.cc)));
            text("Bcc", Some(&people(&mail.bcc)));
            text(name("Subject", "Asunto"), Some(&mail.subject));
            let body = if mail.body.trim().is_empty() {
                mail.html.as_deref().map(mail_parser::decoders::html::html_to_text).unwrap_or_default()
            } else {
                mail.body.clone()
            };
            text(name("Text", "Texto"), Some(&body));
            for file in &mail.attachments {
                text(name("Attachment", "Adjunto"), Some(&format!("{} ({} B)", file.name, file.bytes)));
            }
        }
        Action::CreateEvent(event) => {
            text(name("New event", "Nuevo evento"), Some(&event.title));
            text(name("Starts", "Empieza"), Some(&when(&event.start)));
            text(name("Ends", "Termina"), event.end.as_ref().map(when).as_deref());
            text(name("Where", "Dónde"), event.location.as_deref());
            text(name("Guests", "Invitados"), Some(&people(&event.guests)));
            text(name("Repeats", "Se repite"), event.recurrence.as_deref());
            text(name("Description", "Descripción"), event.description.as_deref());
        }
        Action::UpdateEvent(update) => {
            let changes = &update.changes;
            text(name("Change event", "Cambiar evento"), Some(&update.event_id));
            text(name("Only on", "Solo el"), update.occurrence.as_ref().map(when).as_deref());
            text(name("Title", "Título"), changes.title.as_deref());
            text(name("Starts", "Empieza"), changes.start.as_ref().map(when).as_deref());
            text(name("Ends", "Termina"), changes.end.as_ref().map(when).as_deref());
            text(name("Where", "Dónde"), changes.location.as_deref());
            text(name("Guests", "Invitados"), changes.guests.as_ref().map(|list| people(list)).as_deref());
            text(name("Repeats", "Se repite"), changes.recurrence.as_deref());
            text(name("Description", "Descripción"), changes.description.as_deref());
        }
        Action::DeleteEvent(delete) => {
            text(name("Delete event", "Borrar evento"), Some(&delete.title));
            let day = delete.occurrence.as_ref().or(delete.start.as_ref());
            text(name("Starts", "Empieza"), day.map(when).as_deref());
        }
        Action::Other(other) => {
            text(name("Tool", "Herramienta"), Some(&other.tool));
            let arguments = serde_json::to_string_pretty(&other.arguments).unwrap_or_default();
            text(name("With", "Con"), Some(&arguments));
        }
    }
    out.push((name("Account", "Cuenta"), escape_deceptive(account)));
    out
}

fn short(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

/// A code block longer than any run of backticks in the text, so that nothing in it can end it.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// Markdown's own signs escaped.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '~' | '|' | '#' | '!') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
