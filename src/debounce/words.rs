//! Word lists behind the signals: Spanish, English, Portuguese. Without accents, lower case.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What opens a conversation and says nothing yet.
const OPENERS: &[&str] = &[
    // es
    "hola",
    "holaa",
    "buenas",
    "buenos dias",
    "buen dia",
    "buenas tardes",
    "buenas noches",
    "que tal",
    "como estas",
    "oye",
    "oiga",
    "mira",
    "perdona",
    "disculpa",
    "una consulta",
    "una pregunta",
    "tengo una pregunta",
    "tengo una consulta",
    "te hago una pregunta",
    "te hago una consulta",
    "una cosa",
    "una cosita",
    "un favor",
    "necesito un favor",
    "me ayudas",
    "necesito ayuda",
    // en
    "hi",
    "hello",
    "hey",
    "hiya",
    "hi there",
    "hello there",
    "hey there",
    "good morning",
    "good afternoon",
    "good evening",
    "how are you",
    "quick question",
    "a quick question",
    "a question",
    "one question",
    "question",
    "i have a question",
    "quick one",
    "one thing",
    "one more thing",
    "a favor",
    "a favour",
    "sorry to bother you",
    "can you help me",
    "i need help",
    "i need your help",
    // pt
    "oi",
    "ola",
    "e ai",
    "bom dia",
    "boa tarde",
    "boa noite",
    "tudo bem",
    "tudo bom",
    "uma pergunta",
    "uma duvida",
    "tenho uma duvida",
    "tenho uma pergunta",
    "uma coisa",
    "um favor",
    "preciso de ajuda",
];

/// Conjunctions, prepositions and articles that a sentence does not end in. Left out are those that are answers or
/// ends by themselves: "si", "no", "do", "that".
const HANGING: &[&str] = &[
    // es
    "y", "e", "o", "u", "ni", "pero", "sino", "porque", "aunque", "mientras", "cuando", "como", "que", "con", "para",
    "por", "de", "del", "a", "al", "en", "sin", "sobre", "entre", "hasta", "desde", "hacia", "segun", "contra", "tras",
    "ante", "el", "la", "los", "las", "un", "una", "unos", "unas", "mi", "tu", "su", // en
    "and", "or", "but", "with", "without", "to", "for", "from", "of", "in", "on", "at", "by", "about", "into",
    "between", "because", "although", "while", "when", "if", "than", "as", "the", "an", "my", "your", "his", "her",
    "their", // pt
    "ou", "mas", "com", "pra", "sem", "ate", "em", "na", "nas", "nos", "da", "das", "dos", "ao", "aos", "um", "uma",
    "os", "meu", "minha", "seu", "sua",
];

/// Words of `text`, folded: lower case, no accents, no punctuation, no emoji.
pub(super) fn folded_words(text: &str) -> Vec<String> {
    let folded: String = text.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect();
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The whole text is made of openers.
pub(super) fn is_opener(text: &str) -> bool {
    let words = folded_words(text);
    // Longer texts say something, whatever they begin with.
    const MOST_WORDS: usize = 10;
    if words.is_empty() || words.len() > MOST_WORDS {
        return false;
    }
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let longest = OPENERS
            .iter()
            .map(|phrase| phrase.split(' '))
            .filter(|phrase| phrase.clone().count() <= rest.len() && phrase.clone().zip(rest).all(|(a, b)| a == b))
            .map(Iterator::count)
            .max();
        match longest {
            Some(count) => rest = &rest[count..],
            None => return false,
        }
    }
    true
}

/// The last word promises another one.
pub(super) fn ends_hanging(text: &str) -> bool {
    // A closing mark after the word closes it.
    if !text.trim_end().ends_with(|c: char| c.is_alphanumeric()) {
        return false;
    }
    folded_words(text).last().is_some_and(|word| HANGING.contains(&word.as_str()))
}
