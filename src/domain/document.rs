//! Documents that are plain text: what of one is shown to the model.

/// Longest excerpt, in characters: beyond it a model should be given less, not more.
pub const LONGEST: usize = 20_000;

/// Kinds by their ending, for channels that name no type.
const ENDINGS: &[&str] =
    &["txt", "md", "csv", "tsv", "json", "ics", "vcf", "log", "yaml", "yml", "toml", "xml", "html"];
const TYPES: &[&str] =
    &["application/json", "application/xml", "application/toml", "application/yaml", "application/x-yaml"];

/// The text of a plain-text document, cut at [`LONGEST`] with a note; `None` for anything else.
pub fn excerpt(name: Option<&str>, mime: Option<&str>, bytes: &[u8]) -> Option<String> {
    let ending = name.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
    let typed = mime.is_some_and(|mime| mime.starts_with("text/") || TYPES.contains(&mime));
    if !typed && !ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').trim();
    if text.is_empty() || text.contains('\0') {
        return None;
    }
    match text.char_indices().nth(LONGEST) {
        None => Some(text.to_owned()),
        Some((end, _)) => {
            let all = text.chars().count();
            Some(format!("{}\n[the first {LONGEST} of {all} characters]", &text[..end]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_text_is_shown_and_no_more_than_the_limit() {
        for (name, mime, bytes, expected) in [
            (Some("a.txt"), None, "hola".as_bytes(), Some("hola")),
            (Some("a.TXT"), Some("application/octet-stream"), "\u{feff} hola\n".as_bytes(), Some("hola")),
            (None, Some("text/csv"), b"a,b", Some("a,b")),
            (Some("a.pdf"), Some("application/pdf"), b"%PDF", None),
            (Some("a.txt"), None, &[0xff, 0xfe, 0x41], None),
            (Some("a.txt"), None, b"a\0b", None),
            (Some("a.txt"), None, b"  ", None),
            (None, None, b"hola", None),
        ] {
            assert_eq!(excerpt(name, mime, bytes).as_deref(), expected, "{name:?} {mime:?}");
        }
        let long = "ñ".repeat(LONGEST + 1);
        let cut = excerpt(Some("long.txt"), None, long.as_bytes()).unwrap_or_default();
        assert_eq!(cut.matches('ñ').count(), LONGEST);
        assert!(cut.ends_with("[the first 20000 of 20001 characters]"), "{}", &cut[cut.len() - 60..]);
    }
}
