//! The program's own answers to commands, from the rows and never from a model.

use rusqlite::{Connection, params};

use super::acts::Stopped;
use super::error::InboxError;
use super::settings::Settings;
use crate::debounce::Discarded;
use crate::domain::ids::ConversationId;
use crate::domain::time::{Now, Wall};
use crate::evidence;

pub(super) fn help(settings: &Settings) -> String {
    settings
        .language
        .pick(
            "Write to me as you would to a person: I can look after your calendar and your mail, and I never do the same \
             thing twice.\n\n/status what I am doing\n/stop stop what runs and what has not left yet\n\
             /approvals what waits for your OK\n/did what I have done, e.g. `/did dentist`\n\
             /reset start afresh: I no longer look at what was said before",
            "Escríbeme como a una persona: puedo ocuparme de tu calendario y tu correo, y nunca hago lo mismo dos veces.\n\n\
             /status qué estoy haciendo\n/stop detener lo que corre y lo que aún no ha salido\n\
             /approvals qué espera tu visto bueno\n/did qué he hecho, p. ej. `/did dentista`\n\
             /reset empezar de nuevo: ya no miro lo dicho antes",
        )
        .to_owned()
}

pub(super) fn status(
    connection: &Connection,
    now: Now,
    settings: &Settings,
    conversation: ConversationId,
) -> Result<String, InboxError> {
    let count = |sql: &str| -> Result<i64, InboxError> {
        Ok(connection.prepare_cached(sql)?.query_row(params![conversation], |row| row.get(0))?)
    };
    let started: Option<Wall> = connection
        .prepare_cached("SELECT MAX(started_at) FROM turns WHERE conversation_id = ?1 AND state <> 'ended'")?
        .query_row([conversation], |row| row.get(0))?;
    let buffered = count("SELECT COUNT(*) FROM inbound WHERE conversation_id = ?1 AND state = 'buffered'")?;
    let queued = count("SELECT COUNT(*) FROM bursts WHERE conversation_id = ?1 AND state = 'queued'")?;
    let sending =
        count("SELECT COUNT(*) FROM outbound WHERE conversation_id = ?1 AND state IN ('held', 'queued', 'sending')")?;
    let uncertain = count(
        "SELECT COUNT(*) FROM outbound WHERE conversation_id = ?1 AND state = 'uncertain' AND sent_again_as IS NULL",
    )?;
    // Decided and settled for the account, not for one chat.
    let all =
        |sql: &str| -> Result<i64, InboxError> { Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?) };
    let approvals = all("SELECT COUNT(*) FROM approvals WHERE state = 'pending'")?;
    let unknown = all("SELECT COUNT(*) FROM effects WHERE state = 'unknown' AND left_by_person = 0")?;
    let language = settings.language;
    let mut lines = vec![match started {
        Some(at) => {
            let seconds = now.wall.since(at).as_secs();
            match language {
                crate::domain::language::Language::En => format!("Working on your last message ({seconds} s)."),
                crate::domain::language::Language::Es => format!("Trabajando en tu último mensaje ({seconds} s)."),
            }
        }
        None => language.pick("Nothing is running.", "No hay nada en marcha.").to_owned(),
    }];
    for (count, en, es) in [
        (buffered, "messages wait for the rest", "mensajes esperan a que termines"),
        (queued, "requests wait their turn", "peticiones esperan su turno"),
        (sending, "answers are on their way", "respuestas van en camino"),
        (approvals, "actions wait for your OK: /approvals", "acciones esperan tu visto bueno: /approvals"),
        (unknown, "actions have an unknown outcome", "acciones tienen un resultado desconocido"),
        (uncertain, "answers may not have arrived", "respuestas quizá no llegaron"),
    ] {
        if count > 0 {
            lines.push(format!("• {count} {}", language.pick(en, es)));
        }
    }
    Ok(lines.join("\n"))
}

/// Longest list in one answer.
const MOST_LINES: usize = 10;

pub(super) fn approvals(connection: &Connection, settings: &Settings) -> Result<String, InboxError> {
    let pending: Vec<(i64, String, String)> = connection
        .prepare_cached(
            "SELECT a.id, a.summary, e.tool FROM approvals a JOIN effects e ON e.id = a.effect_id
             WHERE a.state = 'pending' ORDER BY a.id",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    if pending.is_empty() {
        return Ok(settings.language.pick("Nothing waits for your OK.", "Nada espera tu visto bueno.").to_owned());
    }
    let mut lines = vec![settings.language.pick("Waiting for your OK:", "Esperan tu visto bueno:").to_owned()];
    for (id, summary, tool) in pending.iter().take(MOST_LINES) {
        lines.push(format!("#{id} {summary} ({tool})"));
    }
    if pending.len() > MOST_LINES {
        lines.push(format!("… +{}", pending.len() - MOST_LINES));
    }
    Ok(lines.join("\n"))
}

/// What was done, from the ledger.
pub(super) fn did(connection: &Connection, settings: &Settings, text: &str) -> Result<String, InboxError> {
    let found = evidence::ledger(connection, text, None, MOST_LINES)?;
    let lines: Vec<String> = found
        .iter()
        .map(|done| {
            let receipt = done.provider_id.as_deref().map(|id| format!(" · `{id}`")).unwrap_or_default();
            let at = done.done_at.unwrap_or(done.updated_at).timestamp().to_zoned_datetime(settings.zone.clone());
            let at = at.strftime("%Y-%m-%d %H:%M");
            format!("• {at} {}: {}{receipt}", done.summary, state_words(settings, &done.state))
        })
        .collect();
    if lines.is_empty() {
        return Ok(settings
            .language
            .pick("I find nothing like that among what I did.", "No encuentro nada así entre lo que hice.")
            .to_owned());
    }
    Ok(lines.join("\n"))
}

fn state_words<'a>(settings: &Settings, state: &'a str) -> &'a str {
    let (en, es) = match state {
        "accepted" => ("done", "hecho"),
        "awaiting_approval" => ("waits for your OK", "espera tu visto bueno"),
        "ready" | "dispatching" => ("on its way", "en camino"),
        "retryable" => ("will be tried again", "se intentará de nuevo"),
        "unknown" => ("not known whether it happened", "no se sabe si ocurrió"),
        "rejected" => ("refused by the provider", "rechazado por el proveedor"),
        "denied" => ("you said no", "dijiste que no"),
        "expired" => ("nobody decided in time", "nadie decidió a tiempo"),
        "cancelled" => ("cancelled", "cancelado"),
        "reverted" => ("done and undone", "hecho y deshecho"),
        other => (other, other),
    };
    settings.language.pick(en, es)
}

pub(super) fn stopped(settings: &Settings, stopped: &Stopped, discarded: Discarded, reset: bool) -> String {
    let language = settings.language;
    let nothing = !stopped.turn && discarded.buffered == 0 && stopped.cancelled.is_empty();
    let mut lines = vec![
        match (reset, nothing) {
            (true, _) => language.pick("Starting afresh.", "Empezamos de nuevo."),
            (false, true) => language.pick("Nothing was running.", "No había nada en marcha."),
            (false, false) => language.pick("Stopped.", "Detenido."),
        }
        .to_owned(),
    ];
    for (list, en, es) in [
        (&stopped.done, "Already done", "Ya hecho"),
        (&stopped.cancelled, "Cancelled before it left", "Cancelado antes de salir"),
        (&stopped.sending, "Already leaving, can't be stopped", "Ya está saliendo, no se puede detener"),
        (&stopped.waiting, "Still waits for your OK", "Sigue esperando tu visto bueno"),
    ] {
        if !list.is_empty() {
            lines.push(format!("{}: {}", language.pick(en, es), list.join("; ")));
        }
    }
    lines.join("\n")
}
