//! The words that open a request, per language.

use crate::domain::language::Language;

pub(super) struct Verbs {
    pub schedule: &'static [&'static str],
    pub list: &'static [&'static str],
    pub search: &'static [&'static str],
    pub search_mail: &'static [&'static str],
    pub free: &'static [&'static str],
    pub cancel: &'static [&'static str],
    pub shift: &'static [&'static str],
    pub remind: &'static [&'static str],
    pub recent: &'static [&'static str],
}

impl Verbs {
    #[rustfmt::skip] // one word per line would be four hundred lines
    pub fn of(language: Language) -> Self {
        match language {
            Language::Es => Self {
                schedule: &[
                    "agendame", "agenda", "agendar", "agendalo", "programame", "programa", "programar", "apuntame",
                    "apunta", "apuntar", "anotame", "anota", "anotar", "creame", "crea", "crear", "anademe", "anade",
                    "anadir", "agregame", "agrega", "agregar", "ponme", "pon", "poner", "mete", "meteme",
                    "reservame", "reserva", "reservar", "bloquea", "bloqueame", "bloquear", "quiero agendar",
                    "quiero", "necesito agendar", "necesito", "tengo", "hay que agendar",
                ],
                list: &[
                    "que tengo", "que hay", "que cosas tengo", "que citas tengo", "que eventos tengo",
                    "que reuniones tengo", "muestrame", "ensename", "lista", "listame", "dime que tengo",
                    "dime mi agenda", "mi agenda", "la agenda", "agenda de", "agenda para", "cuales son mis",
                    "cual es mi agenda", "tengo algo", "hay algo", "como tengo", "como esta mi agenda",
                    "que me espera", "que planes tengo", "mis citas", "mis eventos", "ver agenda", "ver mi agenda",
                    "a que hora tengo algo",
                ],
                search: &[
                    "busca", "buscame", "buscar", "encuentra", "cuando es", "cuando tengo", "a que hora es",
                    "a que hora tengo", "cuando era", "que dia es", "que dia tengo", "donde es",
                ],
                search_mail: &[
                    "busca correos", "busca el correo", "busca correo", "busca un correo", "busca en el correo",
                    "busca en mi correo", "buscame el correo", "buscame correos", "busca los correos", "busca mails",
                    "busca emails", "tengo correos", "tengo correo", "hay correos", "hay correo",
                ],
                free: &[
                    "estoy libre", "tengo libre", "un hueco", "huecos", "tiempo libre", "ratos libres",
                ],
                cancel: &[
                    "cancelame", "cancela", "cancelar", "borrame", "borra", "borrar", "eliminame", "elimina",
                    "eliminar", "quitame", "quita", "quitar", "anulame", "anula", "anular", "suprime", "suprimir",
                ],
                shift: &[
                    "mueveme", "mueve", "mover", "cambiame", "cambia", "cambiar", "pasame", "pasa", "pasar",
                    "aplaza", "aplazame", "aplazar", "adelanta", "adelantar", "retrasa", "retrasame", "retrasar",
                    "reprograma", "reprogramar", "pospon", "posponer", "traslada",
                ],
                remind: &[
                    "recuerdame que", "recuerdame", "avisame de", "avisame para", "avisame", "acuerdame de",
                    "acuerdame", "recordatorio para", "recordatorio de", "recordatorio", "pon un recordatorio para",
                    "pon un recordatorio de", "ponme un recordatorio para", "ponme un recordatorio de",
                    "crea un recordatorio para", "crea un recordatorio de", "hazme acordar de",
                ],
                recent: &[
                    "que has hecho", "que hiciste", "lo hiciste", "lo has hecho", "ya lo hiciste", "ya lo has hecho",
                    "lo has enviado", "lo enviaste", "has enviado", "enviaste", "se envio", "ya lo enviaste",
                    "has agendado", "agendaste", "hiciste", "muestrame lo que hiciste", "que acciones",
                    "ultimas acciones",
                ],
            },
            Language::En => Self {
                schedule: &[
                    "schedule", "book me", "book", "add", "create", "put", "set up", "set", "plan", "arrange",
                    "make", "block", "enter", "pencil in", "new event", "new meeting", "i have", "i've got",
                    "i need", "i want", "let's have",
                ],
                list: &[
                    "what do i have", "what's on", "what’s on", "what is on", "what have i got",
                    "show me my calendar", "show me my agenda", "show me", "show my", "show", "list my", "list",
                    "my agenda", "my calendar", "agenda for", "do i have anything", "do i have something",
                    "am i busy", "what am i doing", "what's happening", "what's in my", "what are my", "what events",
                    "what meetings", "what appointments", "tell me my", "anything on", "how does my",
                ],
                search: &[
                    "find", "search for", "search", "look for", "when is", "when's", "when do i have",
                    "what time is", "what day is", "look up",
                ],
                search_mail: &[
                    "search my mail for", "search mail for", "search my email for", "search emails for",
                    "search my emails for", "find emails", "find mails", "find mail", "find the email",
                    "find an email", "find email", "look for emails", "search mail", "do i have mail",
                    "do i have emails", "do i have any emails", "any mail", "any emails", "search my inbox for",
                ],
                free: &[
                    "am i free", "free time", "free slot", "free slots", "a gap", "time free", "find time",
                    "i'm free", "i free", "i am free",
                ],
                cancel: &[
                    "cancel", "delete", "remove", "drop", "call off", "scrap", "get rid of", "take off",
                ],
                shift: &[
                    "move", "reschedule", "shift", "postpone", "push back", "push", "delay", "change",
                    "bring forward", "switch",
                ],
                remind: &[
                    "remind me to", "remind me about", "remind me that", "remind me of", "remind me",
                    "set a reminder to", "set a reminder for", "set a reminder", "add a reminder to",
                    "add a reminder for", "create a reminder to", "create a reminder for", "give me a reminder to",
                    "don't let me forget to", "reminder to", "reminder",
                ],
                recent: &[
                    "what did you do", "what have you done", "did you do it", "did you send", "did you schedule",
                    "did you do that", "did you add", "did you book", "have you sent", "have you done",
                    "have you scheduled", "did it go out", "was it sent", "recent actions", "did you", "have you",
                ],
            },
        }
    }
}
