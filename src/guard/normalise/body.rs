//! Bodies by their text.

use mail_parser::decoders::html::html_to_text;
use unicode_normalization::UnicodeNormalization;

use crate::domain::literal::is_hidden;

/// What a mail says: text, or the HTML as text where there is none. Line ends, trailing space, blank lines and
/// invisible characters make no difference; in a reply the quoted history after the answer does not either.
/// A signature stays: with another one it is another mail.
pub fn body_text(text: &str, html: Option<&str>, is_reply: bool) -> String {
    let source = match html {
        Some(html) if text.trim().is_empty() => html_to_text(html),
        _ => text.to_owned(),
    };
    let normal: String =
        source.nfc().filter(|c| matches!(c, '\n' | '\r') || c.is_whitespace() || !is_hidden(*c)).collect();
    let unified = normal.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<String> = unified
        .split('\n')
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .collect();
    let kept = if is_reply { &lines[..answer_length(&lines)] } else { &lines[..] };
    kept.join("\n")
}

/// How many lines come before the quoted history. A mail that is all quotation keeps everything, and answers written
/// between quotations keep what they answer.
fn answer_length(lines: &[String]) -> usize {
    let whole = lines.len();
    if let Some(at) = lines.iter().position(|line| is_separator(line))
        && at > 0
    {
        return at;
    }
    let Some(last_own) = lines.iter().rposition(|line| !line.starts_with('>')) else { return whole };
    if last_own + 1 == whole {
        return whole;
    }
    // The line (or two, where it was wrapped) that says who wrote what follows.
    let attribution = (1..=2).find(|back| {
        let Some(start) = (last_own + 1).checked_sub(*back) else { return false };
        lines.get(start..=last_own).is_some_and(|part| is_attribution(&part.join(" ")))
    });
    let own = last_own + 1 - attribution.unwrap_or(0);
    if own == 0 { whole } else { own }
}

/// `On … wrote:` in the languages mail programs write it.
fn is_attribution(line: &str) -> bool {
    const SAYS: [&str; 7] = ["wrote", "escribió", "escribio", "schrieb", "a écrit", "escreveu", "ha scritto"];
    const STARTS: [&str; 7] = ["on ", "el ", "am ", "le ", "em ", "il ", "a "];
    let lower = line.to_lowercase();
    lower.ends_with(':')
        && SAYS.iter().any(|says| lower.contains(says))
        && (STARTS.iter().any(|start| lower.starts_with(start)) || lower.contains('@') || lower.contains(','))
}

/// Lines that mail programs put before the mail they answer.
fn is_separator(line: &str) -> bool {
    const WORDS: [&str; 4] = ["original message", "mensaje original", "ursprüngliche nachricht", "mensagem original"];
    let lower = line.to_lowercase();
    lower.starts_with("--")
        && lower.ends_with("--")
        && WORDS.contains(&lower.trim_matches(|c: char| c == '-' || c.is_whitespace()))
}
