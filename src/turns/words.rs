//! What the program itself says when a turn ends without the model's own answer.

use rusqlite::{Connection, params};

use super::ending::Reason;
use super::prompt::describe;
use crate::domain::action::Action;
use crate::domain::ids::TurnId;
use crate::domain::language::Language;
use crate::store::StoreError;

/// What happened, in one sentence.
pub fn reason(reason: &Reason, language: Language) -> String {
    let es = language == Language::Es;
    match reason {
        Reason::ModelUnavailable { detail } if es => format!("No he podido hablar con el modelo: {detail}."),
        Reason::ModelUnavailable { detail } => format!("I could not reach the model: {detail}."),
        Reason::ModelCut => language
            .pick("The model's answer broke off several times.", "La respuesta del modelo se cortó varias veces.")
            .to_owned(),
        Reason::ModelUnauthorized { detail } if es => {
            format!("El proveedor del modelo no acepta la clave ({detail}). Revísala en los ajustes.")
        }
        Reason::ModelUnauthorized { detail } => {
            format!("The model provider does not accept the key ({detail}). Please check it in the settings.")
        }
        Reason::ModelRefused { detail } if es => format!("El proveedor del modelo rechazó la petición: {detail}."),
        Reason::ModelRefused { detail } => format!("The model provider refused the request: {detail}."),
        Reason::TooLong => language
            .pick(
                "This conversation is longer than the model can read. Send /reset to start afresh.",
                "Esta conversación es más larga de lo que el modelo puede leer. Envía /reset para empezar de nuevo.",
            )
            .to_owned(),
        Reason::NoAnswer => language
            .pick(
                "The model gave no answer. Please try again.",
                "El modelo no dio ninguna respuesta. Inténtalo de nuevo.",
            )
            .to_owned(),
        Reason::TooManyCalls { limit } if es => format!("Me detuve: esta petición necesitó más de {limit} pasos."),
        Reason::TooManyCalls { limit } => format!("I stopped: this request took more than {limit} steps."),
        Reason::TooLongTime { seconds } if es => format!("Me detuve: la petición tardó más de {}.", length(*seconds)),
        Reason::TooLongTime { seconds } => format!("I stopped: the request took longer than {}.", length(*seconds)),
        Reason::TooManyTokens { .. } => language
            .pick(
                "I stopped: this request needed too much reading.",
                "Me detuve: esta petición requería leer demasiado.",
            )
            .to_owned(),
        Reason::Loop { tool } if es => format!("Me detuve: repetía el mismo paso ({tool}) sin avanzar."),
        Reason::Loop { tool } => format!("I stopped: I kept repeating the same step ({tool}) without getting further."),
        Reason::Budget { per_day } if es => format!("El presupuesto de hoy para el modelo ({per_day}) se ha agotado."),
        Reason::Budget { per_day } => format!("Today's budget for the model ({per_day}) is used up."),
        Reason::StoppedByPerson => language.pick("Stopped.", "Detenido.").to_owned(),
        Reason::NewMessage => {
            language.pick("Set aside for your new message.", "Lo he dejado por tu nuevo mensaje.").to_owned()
        }
        Reason::Fault { .. } => language
            .pick(
                "Something in the program failed; the log says what.",
                "Algo falló en el programa; el registro dice qué.",
            )
            .to_owned(),
    }
}

fn length(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    }
}

/// The visible end of a turn that failed: what happened, and what was and was not done.
pub fn ending(connection: &Connection, turn: &TurnId, why: &Reason, language: Language) -> Result<String, StoreError> {
    let mut lines = vec![reason(why, language)];
    let done = effects(connection, turn, "state IN ('accepted', 'reverted')")?;
    let open =
        effects(connection, turn, "state IN ('awaiting_approval', 'ready', 'dispatching', 'retryable', 'unknown')")?;
    if done.is_empty() && open.is_empty() {
        lines.push(language.pick("Nothing was done.", "No se hizo nada.").to_owned());
    }
    if !done.is_empty() {
        lines.push(format!("{} {}.", language.pick("Done:", "Hecho:"), done.join("; ")));
    }
    if !open.is_empty() {
        lines.push(format!("{} {}.", language.pick("Still open:", "Pendiente:"), open.join("; ")));
    }
    Ok(lines.join(" "))
}

/// Effects of a turn in one line each; `condition` is one of the literals of this module.
pub(super) fn effects(connection: &Connection, turn: &TurnId, condition: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT action FROM effects WHERE turn_id = ?1 AND {condition} ORDER BY created_at, id"
    ))?;
    let rows = statement.query_map(params![turn], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    rows.iter().map(|action| Ok(describe(&serde_json::from_str::<Action>(action)?))).collect()
}

/// The answer of `reject`.
pub fn busy(language: Language) -> &'static str {
    language.pick(
        "I am still working on your earlier message; please send this again when I have answered.",
        "Todavía estoy con tu mensaje anterior; envíame esto otra vez cuando haya respondido.",
    )
}
