//! The practice model's sentences, in both languages.

use jiff::civil::{Date, DateTime};

use super::results::{Listed, Outcome};
use crate::domain::language::Language;

/// Stands under answers that a newcomer might take for an AI's.
pub(super) fn label(language: Language) -> &'static str {
    language.pick("_(practice mode, no AI)_", "_(modo práctica, sin IA)_")
}

pub(super) fn help(language: Language) -> String {
    language
        .pick(
            "I run in practice mode, without AI: I understand simple requests in English and Spanish. For example:\n\
             - schedule lunch with Bo on Tuesday at 12\n\
             - what do I have tomorrow?\n\
             - move the dentist to Friday at 10\n\
             - cancel lunch with Bo\n\
             - send an email to ana@example.test saying I will be late\n\
             - remind me to water the plants in 20 minutes\n\
             - what did you do today?",
            "Estoy en modo práctica, sin IA: entiendo peticiones sencillas en español e inglés. Por ejemplo:\n\
             - agéndame psicología mañana a las 15:00\n\
             - ¿qué tengo mañana?\n\
             - mueve el dentista al viernes a las 10\n\
             - cancela psicología\n\
             - envía un correo a ana@example.test diciendo que llego tarde\n\
             - recuérdame regar las plantas en 20 minutos\n\
             - ¿qué has hecho hoy?",
        )
        .to_owned()
}

pub(super) fn hello(language: Language) -> String {
    language
        .pick(
            "Hello! I can write to your calendar and prepare mails. Say \"help\" for examples.",
            "¡Hola! Puedo escribir en tu calendario y preparar correos. Di «ayuda» para ver ejemplos.",
        )
        .to_owned()
}

pub(super) fn unheard(language: Language) -> String {
    language
        .pick(
            "I can't listen to voice notes here. Please write it to me.",
            "Aquí no puedo escuchar notas de voz. Escríbemelo, por favor.",
        )
        .to_owned()
}

pub(super) fn thanks(language: Language) -> String {
    language.pick("You're welcome.", "De nada.").to_owned()
}

pub(super) fn nothing_open(language: Language) -> String {
    language
        .pick("There is no open question of mine. What shall I do?", "No tengo ninguna pregunta abierta. ¿Qué hago?")
        .to_owned()
}

pub(super) fn left_alone(language: Language) -> String {
    language.pick("All right, I leave it as it is.", "De acuerdo, lo dejo como está.").to_owned()
}

pub(super) fn unknown(words: &str, language: Language) -> String {
    let words: String = words.chars().take(120).collect();
    match language {
        Language::En => format!(
            "I did not understand \"{words}\". I can schedule, list, move and cancel events, write mails and remind you. Say \"help\" for examples."
        ),
        Language::Es => format!(
            "No entendí «{words}». Puedo agendar, listar, mover y cancelar eventos, escribir correos y recordarte cosas. Di «ayuda» para ver ejemplos."
        ),
    }
}

/// Questions of its own. A question is recognised later by its first words.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Question {
    When { title: String, day: Option<Date> },
    What,
    ToWhom,
    Saying { to: String },
    WhichEvent { found: Vec<Listed> },
    IsItThis { event: Listed },
    NewTime { title: String },
    ReminderTime { text: String },
    Past { title: String, at: DateTime },
}

const OPENINGS: [(&str, &str); 9] = [
    ("When should I put", "¿Cuándo pongo"),
    ("What is the event", "¿Cómo se llama el evento"),
    ("To which address", "¿A qué dirección"),
    ("What should the mail", "¿Qué digo en el correo"),
    ("Which of these", "¿Cuál de estos"),
    ("Do you mean", "¿Te refieres a"),
    ("To when should I move", "¿Para cuándo muevo"),
    ("When should I remind", "¿Cuándo te recuerdo"),
    ("That time is past", "Esa hora ya pasó"),
];

pub(super) fn is_question(text: &str) -> bool {
    text.lines().any(|line| OPENINGS.iter().any(|(en, es)| line.starts_with(en) || line.starts_with(es)))
}

/// Does the question want a choice, not more words of the request?
pub(super) fn wants_choice(text: &str) -> bool {
    text.lines().any(|line| {
        [&OPENINGS[4], &OPENINGS[5], &OPENINGS[8]].iter().any(|(en, es)| line.starts_with(en) || line.starts_with(es))
    })
}

pub(super) fn ask(question: &Question, language: Language) -> String {
    let open = |number: usize| language.pick(OPENINGS[number].0, OPENINGS[number].1);
    match question {
        Question::When { title, day: Some(day) } => match language {
            Language::En => {
                format!("{} \"{title}\" on {}? Say a time, or \"all day\".", open(0), day_words(*day, language))
            }
            Language::Es => {
                format!("{} «{title}» el {}? Di una hora, o «todo el día».", open(0), day_words(*day, language))
            }
        },
        Question::When { title, day: None } => match language {
            Language::En => format!("{} \"{title}\"?", open(0)),
            Language::Es => format!("{} «{title}»?", open(0)),
        },
        Question::What => language.pick("What is the event called?", "¿Cómo se llama el evento?").to_owned(),
        Question::ToWhom => language.pick("To which address should I write?", "¿A qué dirección escribo?").to_owned(),
        Question::Saying { to } => match language {
            Language::En => format!("{} to {to} say?", open(3)),
            Language::Es => format!("{} a {to}?", open(3)),
        },
        Question::WhichEvent { found } => {
            let lines: Vec<String> =
                (1..).zip(found).map(|(number, event)| format!("{number}. {}", event_words(event, language))).collect();
            match language {
                Language::En => format!("{} do you mean?\n{}", open(4), lines.join("\n")),
                Language::Es => format!("{} es?\n{}", open(4), lines.join("\n")),
            }
        }
        Question::IsItThis { event } => format!("{} {}?", open(5), event_words(event, language)),
        Question::NewTime { title } => match language {
            Language::En => format!("{} \"{title}\"?", open(6)),
            Language::Es => format!("{} «{title}»?", open(6)),
        },
        Question::ReminderTime { text } => match language {
            Language::En => format!("{} you: \"{text}\"?", open(7)),
            Language::Es => format!("{}: «{text}»?", open(7)),
        },
        Question::Past { title, at } => match language {
            Language::En => format!("{} ({}). Put \"{title}\" there anyway?", open(8), at_words(*at, language)),
            Language::Es => format!("{} ({}). ¿Pongo «{title}» ahí de todos modos?", open(8), at_words(*at, language)),
        },
    }
}

/// Does the question ask for the text of a mail?
pub(super) fn wants_body(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(OPENINGS[3].0) || line.starts_with(OPENINGS[3].1))
}

const DAYS: [(&str, &str); 7] = [
    ("Monday", "lunes"),
    ("Tuesday", "martes"),
    ("Wednesday", "miércoles"),
    ("Thursday", "jueves"),
    ("Friday", "viernes"),
    ("Saturday", "sábado"),
    ("Sunday", "domingo"),
];
const MONTHS: [(&str, &str); 12] = [
    ("January", "enero"),
    ("February", "febrero"),
    ("March", "marzo"),
    ("April", "abril"),
    ("May", "mayo"),
    ("June", "junio"),
    ("July", "julio"),
    ("August", "agosto"),
    ("September", "septiembre"),
    ("October", "octubre"),
    ("November", "noviembre"),
    ("December", "diciembre"),
];

pub(super) fn day_words(date: Date, language: Language) -> String {
    let day = DAYS[usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0) % 7];
    let month = MONTHS[usize::try_from(date.month() - 1).unwrap_or(0) % 12];
    match language {
        Language::En => format!("{} {} {}", day.0, date.day(), month.0),
        Language::Es => format!("{} {} de {}", day.1, date.day(), month.1),
    }
}

pub(super) fn at_words(at: DateTime, language: Language) -> String {
    let joint = language.pick("at", "a las");
    format!("{} {joint} {}", day_words(at.date(), language), at.strftime("%H:%M"))
}

pub(super) fn event_words(event: &Listed, language: Language) -> String {
    let title = quoted(&event.title, language);
    match event.start {
        Some(start) if event.all_day => format!("{title}, {}", day_words(start.date(), language)),
        Some(start) => match event.end.filter(|end| end.date() == start.date() && *end != start) {
            Some(end) => format!("{title}, {}–{}", at_words(start, language), end.strftime("%H:%M")),
            None => format!("{title}, {}", at_words(start, language)),
        },
        None => title,
    }
}

pub(super) fn quoted(text: &str, language: Language) -> String {
    match language {
        Language::En => format!("\"{text}\""),
        Language::Es => format!("«{text}»"),
    }
}

/// The list of a span of days.
pub(super) fn agenda(events: &[Listed], text: Option<&str>, language: Language) -> String {
    match (events, text) {
        ([], Some(text)) => match language {
            Language::En => format!("I found no event called {}.", quoted(text, language)),
            Language::Es => format!("No encontré ningún evento {}.", quoted(text, language)),
        },
        ([], None) => language
            .pick("There is nothing in your calendar then.", "No hay nada en tu calendario para entonces.")
            .to_owned(),
        (events, _) => {
            let lines: Vec<String> = events.iter().map(|event| format!("- {}", event_words(event, language))).collect();
            format!("{}\n{}", language.pick("In your calendar:", "En tu calendario:"), lines.join("\n"))
        }
    }
}

/// What was asked for, for the sentence about its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    Schedule,
    Cancel,
    Move,
    Mail,
    Remind,
}

/// One sentence on what became of it. `what` is the thing with its time, ready to stand in a sentence.
pub(super) fn outcome(deed: Deed, what: &str, outcome: &Outcome, language: Language) -> String {
    let es = language == Language::Es;
    match (deed, outcome) {
        (Deed::Schedule, Outcome::Done) if es => format!("Listo, agendé {what}."),
        (Deed::Schedule, Outcome::Done) => format!("Done, I scheduled {what}."),
        (Deed::Cancel, Outcome::Done) if es => format!("Listo, borré {what}."),
        (Deed::Cancel, Outcome::Done) => format!("Done, I deleted {what}."),
        (Deed::Move, Outcome::Done) if es => format!("Listo, moví {what}."),
        (Deed::Move, Outcome::Done) => format!("Done, I moved {what}."),
        (Deed::Mail, Outcome::Done) if es => format!("Envié {what}."),
        (Deed::Mail, Outcome::Done) => format!("I sent {what}."),
        (Deed::Remind, Outcome::Done) if es => format!("Te lo recordaré: {what}."),
        (Deed::Remind, Outcome::Done) => format!("I will remind you: {what}."),
        (Deed::Schedule, Outcome::Already) if es => format!("{what} ya estaba en tu calendario."),
        (Deed::Schedule, Outcome::Already) => format!("{what} was already in your calendar."),
        (Deed::Mail, Outcome::Already) if es => format!("{what} ya estaba enviado; no lo repetí."),
        (Deed::Mail, Outcome::Already) => format!("{what} had gone out already; I did not repeat it."),
        (_, Outcome::Already) if es => format!("Eso ya estaba hecho: {what}."),
        (_, Outcome::Already) => format!("That was done already: {what}."),
        (_, Outcome::Differs(fields)) if es => {
            format!("{what} ya estaba, con otros datos ({}). No hice un segundo; dime si lo cambio.", fields.join(", "))
        }
        (_, Outcome::Differs(fields)) => format!(
            "{what} was there already, with other details ({}). I made no second one; tell me if I should change it.",
            fields.join(", ")
        ),
        (_, Outcome::NeedsApproval) if es => format!("{what}: espera tu aprobación."),
        (_, Outcome::NeedsApproval) => format!("{what}: it waits for your approval."),
        (_, Outcome::Queued) if es => format!("{what}: está en cola; te diré cómo acaba."),
        (_, Outcome::Queued) => format!("{what}: it is queued; I will tell you how it ends."),
        (_, Outcome::SavedAsFile) if es => {
            format!("{what}: guardado como archivo, no enviado (no hay cuenta de correo configurada).")
        }
        (_, Outcome::SavedAsFile) => format!("{what}: saved as a file, not sent (no mail account is set up)."),
        (_, Outcome::Unresolved) if es => format!(
            "{what}: no se sabe si un intento anterior llegó, así que no lo repetí. Mira la lista de pendientes."
        ),
        (_, Outcome::Unresolved) => format!(
            "{what}: nobody knows whether an earlier attempt worked, so I did not repeat it. See the list of open items."
        ),
        (_, Outcome::Refused(reason)) if es => format!("No se hizo: {what}. Motivo: {reason}"),
        (_, Outcome::Refused(reason)) => format!("Not done: {what}. Reason: {reason}"),
    }
}
