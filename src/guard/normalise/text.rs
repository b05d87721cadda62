//! Titles, subjects and other single lines.

use unicode_normalization::UnicodeNormalization;

use crate::domain::literal::is_hidden;

/// Compatibility forms, case, white space and invisible characters make no difference.
pub fn line(text: &str) -> String {
    let visible: String =
        text.nfkc().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| *c == ' ' || !is_hidden(*c)).collect();
    // Folding can leave the normal form again (Unicode 3.13, D146).
    let folded: String = caseless::default_case_fold_str(&visible).nfkc().collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A title, without the punctuation that people end a sentence with. One that is nothing else keeps it.
pub fn title(text: &str) -> String {
    let line = line(text);
    let trimmed = line.trim_end_matches(['.', ',', ';', ':', '!', '?', '…', '。', '、', ' ']);
    if trimmed.is_empty() { line } else { trimmed.to_owned() }
}

/// A subject. In a reply the `Re:` marks say nothing that the thread does not say; a forward stays one.
pub fn subject(text: &str, is_reply: bool) -> String {
    let line = line(text);
    if !is_reply {
        return line;
    }
    let mut rest = line.as_str();
    loop {
        let shorter = REPLY_MARKS.iter().find_map(|mark| {
            let after = rest.strip_prefix(mark)?.trim_start();
            // "re[2]:" counts as a mark as well.
            let after = match after.strip_prefix('[') {
                Some(counted) => counted.split_once(']').filter(|(n, _)| n.bytes().all(|b| b.is_ascii_digit()))?.1,
                None => after,
            };
            after.trim_start().strip_prefix(':')
        });
        match shorter {
            Some(shorter) => rest = shorter.trim_start(),
            None => return rest.to_owned(),
        }
    }
}

/// "Re" in the languages mail programs write it (German, Scandinavian, Dutch besides).
const REPLY_MARKS: [&str; 5] = ["re", "aw", "sv", "antw", "rv"];
