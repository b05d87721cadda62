//! Mails as people dictate them: who, about what, saying what.

use super::text::{Kind, Token, any_phrase, joined};
use crate::domain::language::Language;

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct MailAsked {
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub subject: String,
    pub body: String,
}

/// A subject made from a body is cut at a word before this many characters.
const LONGEST_SUBJECT: usize = 60;

struct Words {
    verbs: &'static [&'static str],
    nouns: &'static [&'static str],
    subject: &'static [&'static str],
    body: &'static [&'static str],
    copy: &'static [&'static str],
}

const SPANISH: Words = Words {
    verbs: &[
        "enviale",
        "envia",
        "enviar",
        "enviame",
        "mandale",
        "manda",
        "mandar",
        "escribele",
        "escribe",
        "escribir",
        "redacta",
        "redactale",
        "quiero enviar",
        "quiero mandar",
        "necesito enviar",
        "necesito mandar",
    ],
    nouns: &["correo", "mail", "email", "mensaje", "correos", "e"],
    subject: &["con el asunto", "con asunto", "asunto", "con el titulo", "con titulo", "sobre", "acerca de"],
    body: &[
        "diciendole que",
        "diciendole",
        "diciendo que",
        "diciendo",
        "que diga que",
        "que diga",
        "que ponga",
        "con el texto",
        "con texto",
        "con el mensaje",
        "contandole que",
        "para decirle que",
        "y dile que",
        "dile que",
        "y di que",
        "texto",
        "cuerpo",
        "mensaje",
        ":",
        "que",
    ],
    copy: &["con copia a", "en copia a", "cc", "copia a"],
};

const ENGLISH: Words = Words {
    verbs: &["send", "write", "email", "mail", "compose", "draft", "shoot", "e"],
    nouns: &["email", "mail", "message", "note", "e"],
    subject: &["with the subject", "with subject", "subject line", "subject", "titled", "about", "regarding", "re"],
    body: &[
        "saying that",
        "saying",
        "that says",
        "which says",
        "telling them that",
        "telling her that",
        "telling him that",
        "telling them",
        "telling her",
        "telling him",
        "with the text",
        "with text",
        "with the body",
        "with body",
        "with the message",
        "and say that",
        "and say",
        "and tell them that",
        "and tell her that",
        "and tell him that",
        "to say that",
        "to say",
        "to tell them that",
        "body",
        "text",
        ":",
        "that",
    ],
    copy: &["with a copy to", "copying", "and copy", "cc"],
};

fn words(language: Language) -> &'static Words {
    match language {
        Language::Es => &SPANISH,
        Language::En => &ENGLISH,
    }
}

/// Does this sentence begin a mail? A verb of sending, and an address or the word for a mail soon after.
pub(super) fn opens(tokens: &[Token], language: Language) -> bool {
    let words = words(language);
    let Some(length) = any_phrase(tokens, 0, words.verbs) else { return false };
    if tokens[0].is("e") && !tokens.get(2).is_some_and(|token| token.is("mail")) {
        return false;
    }
    let named = tokens[length..]
        .iter()
        .take(5)
        .any(|token| token.kind == Kind::Word && words.nouns.contains(&token.fold.as_str()));
    let addressed = tokens.iter().any(|token| token.kind == Kind::Email);
    // "email Bo saying ...": the verb is the noun.
    let verb_is_noun = ["email", "mail"].contains(&tokens[0].fold.as_str()) && tokens.len() > 1;
    named || addressed || verb_is_noun
}

pub(super) fn read(tokens: &[Token], language: Language) -> MailAsked {
    let words = words(language);
    let verb = any_phrase(tokens, 0, words.verbs).unwrap_or(0);
    // The first marker after the recipients decides where the body begins; "that" and ":" only after an address.
    let addressed = tokens.iter().position(|token| token.kind == Kind::Email);
    let (body_at, body_lead) = (verb..tokens.len())
        .find_map(|at| {
            let length = any_phrase(tokens, at, words.body)?;
            let weak = length == 1
                && ["que", "that", ":", "mensaje", "text", "texto", "cuerpo", "body"]
                    .contains(&tokens[at].fold.as_str());
            let subject_colon = tokens[at].is(":") && at > 0 && any_phrase(tokens, at - 1, words.subject) == Some(1);
            (!subject_colon && (!weak || addressed.is_some_and(|address| address < at))).then_some((at, length))
        })
        .unwrap_or((tokens.len(), 0));
    let (head, mut body) = (&tokens[..body_at], &tokens[body_at + body_lead..]);
    if body.first().is_some_and(|token| token.is(":")) {
        body = &body[1..];
    }
    let mut mail = MailAsked::default();
    let copy_at = (0..head.len()).find(|at| any_phrase(head, *at, words.copy).is_some()).unwrap_or(head.len());
    for (at, token) in head.iter().enumerate().filter(|(_, token)| token.kind == Kind::Email) {
        let list = if at < copy_at { &mut mail.to } else { &mut mail.cc };
        if !list.contains(&token.raw) {
            list.push(token.raw.clone());
        }
    }
    let mut subject: Option<&[Token]> = None;
    if let Some((at, length)) =
        (verb..head.len()).find_map(|at| any_phrase(head, at, words.subject).map(|length| (at, length)))
    {
        let end = (at..head.len()).find(|end| {
            any_phrase(head, *end, words.copy).is_some()
                || head[*end].kind == Kind::Email
                || head[*end].kind == Kind::Break
        });
        subject = Some(&head[at + length..end.unwrap_or(head.len())]);
    }
    // "... diciendo hola, con asunto Saludo": the subject may come last.
    if subject.is_none()
        && let Some((at, length)) = (0..body.len()).rev().find_map(|at| {
            let strong =
                &words.subject[..words.subject.iter().position(|w| ["sobre", "about"].contains(w)).unwrap_or(0)];
            any_phrase(body, at, strong).filter(|length| *length > 1).map(|length| (at, length))
        })
    {
        subject = Some(&body[at + length..]);
        body = &body[..at];
    }
    mail.body = sentence(body);
    mail.subject =
        subject.map(plain).filter(|text| !text.is_empty()).map_or_else(|| shortened(&mail.body), |text| capital(&text));
    mail
}

/// Without the marks around it and without what only joined it to the rest.
fn plain(tokens: &[Token]) -> String {
    if let Some(quoted) = tokens.iter().find(|token| token.kind == Kind::Quoted) {
        return quoted.raw.trim().to_owned();
    }
    let mut rest = tokens;
    while rest.first().is_some_and(|token| token.kind == Kind::Mark || token.kind == Kind::Break) {
        rest = &rest[1..];
    }
    while rest.last().is_some_and(|token| {
        token.kind == Kind::Break || [",", ";", ".", "y", "and", "-"].contains(&token.fold.as_str())
    }) {
        rest = &rest[..rest.len() - 1];
    }
    joined(rest)
}

fn sentence(tokens: &[Token]) -> String {
    let meaning: Vec<&Token> = tokens.iter().filter(|token| token.kind != Kind::Break).collect();
    if let [only] = meaning.as_slice()
        && only.kind == Kind::Quoted
    {
        return only.raw.trim().to_owned();
    }
    let mut rest = tokens;
    while rest.first().is_some_and(|token| token.kind == Kind::Break || [",", ":", "-"].contains(&token.fold.as_str()))
    {
        rest = &rest[1..];
    }
    while rest.last().is_some_and(|token| token.kind == Kind::Break || token.is(",")) {
        rest = &rest[..rest.len() - 1];
    }
    capital(&joined(rest))
}

/// The first sentence of a body as its subject.
fn shortened(body: &str) -> String {
    let first = body.split(['\n', '.', '!', '?']).next().unwrap_or_default().trim();
    if first.chars().count() <= LONGEST_SUBJECT {
        return first.to_owned();
    }
    let mut cut = String::new();
    for word in first.split(' ') {
        if cut.chars().count() + word.chars().count() + 1 > LONGEST_SUBJECT {
            break;
        }
        if !cut.is_empty() {
            cut.push(' ');
        }
        cut.push_str(word);
    }
    format!("{cut}…")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
