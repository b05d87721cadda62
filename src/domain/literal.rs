//! Texts shown so that nothing hides in them: invisible, bidirectional and look-alike characters as `\u{…}`.
//!
//! Ordinary writing in any one script stays readable; only what cannot be seen, what turns the reading direction,
//! and letters that imitate Latin ones within a Latin word are escaped.

/// `text` for a card or list, with what could deceive the eye escaped. Line breaks and tabs stay.
pub fn escape_deceptive(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if c.is_alphanumeric() {
            word.push(c);
        } else {
            flush(&mut out, &mut word, false);
            if is_hidden(c) && !(matches!(c, '\u{200D}' | '\u{FE0F}') && is_pictograph(before)) {
                push_escaped(&mut out, c);
            } else {
                out.push(c);
            }
        }
        before = if c == '\u{FE0F}' && is_pictograph(before) { before } else { c };
    }
    flush(&mut out, &mut word, false);
    out
}

/// The same for an address part, where a word of look-alikes only (all-Cyrillic `сосо`) deceives as well.
pub(super) fn escape_in_address(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() {
            word.push(c);
        } else {
            flush(&mut out, &mut word, true);
            if is_hidden(c) { push_escaped(&mut out, c) } else { out.push(c) }
        }
    }
    flush(&mut out, &mut word, true);
    out
}

fn flush(out: &mut String, word: &mut String, address: bool) {
    let has_latin = word.chars().any(is_latin);
    let imitates = address
        && !has_latin
        && word.chars().any(char::is_alphabetic)
        && word.chars().all(|c| !c.is_alphabetic() || looks_latin(c));
    for c in word.chars() {
        if is_styled(c) || (has_latin && is_other_alphabet(c)) || (imitates && c.is_alphabetic()) {
            push_escaped(out, c);
        } else {
            out.push(c);
        }
    }
    word.clear();
}

fn push_escaped(out: &mut String, c: char) {
    out.extend(c.escape_unicode());
}

/// Default-ignorable, bidirectional control, control and private-use-tag characters.
pub fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(u32::from(c),
            0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
            | 0x2028..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0
            | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

fn is_pictograph(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FBFF | 0x2190..=0x2BFF | 0x3030 | 0x303D | 0x3297 | 0x3299)
        || matches!(c, '©' | '®' | '#' | '*' | '0'..='9' | '‼' | '⁉' | '™' | 'ℹ')
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || (c.is_alphabetic() && matches!(u32::from(c), 0xAA..=0x24F | 0x1E00..=0x1EFF))
}

/// Alphabets with letters that pass for Latin ones.
fn is_other_alphabet(c: char) -> bool {
    c.is_alphabetic()
        && matches!(u32::from(c),
            0x250..=0x2AF | 0x370..=0x52F | 0x531..=0x58F | 0x10A0..=0x10FF | 0x13A0..=0x13FF | 0x1C80..=0x1C8F
            | 0x1D00..=0x1DBF | 0x1F00..=0x1FFF | 0x2C80..=0x2CFF | 0x2DE0..=0x2DFF | 0xA4D0..=0xA4FF
            | 0xA640..=0xA69F | 0xAB30..=0xABBF)
}

/// Letters in costume: full-width, mathematical, letter-like, circled.
fn is_styled(c: char) -> bool {
    c.is_alphanumeric()
        && matches!(u32::from(c),
            0x2100..=0x214F | 0x2460..=0x24FF | 0xFB00..=0xFB06 | 0xFF10..=0xFF5A | 0x1D400..=0x1D7FF
            | 0x1F100..=0x1F1FF)
}

/// Cyrillic, Greek and Armenian letters drawn like Latin ones.
fn looks_latin(c: char) -> bool {
    "асеіјоруѕхԁԛԝһӏкпгтАВЕЅІЈКМНОРСТУХҮԌԚԜοανιρυκτΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոհցզյ".contains(c)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn ordinary_writing_stays_readable() {
        for text in ["Reunión mañana 👍🏽", "Встреча завтра", "会議は明日", "👩‍💻 ok ❤️", "γεια σου", "a\nb\tc", "Zoë €5"]
        {
            assert_eq!(escape_deceptive(text), text);
        }
    }

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(escape_deceptive("pay\u{200B}pal"), r"pay\u{200b}pal");
        assert_eq!(escape_deceptive("abc\u{202E}fdp.exe"), r"abc\u{202e}fdp.exe");
        assert_eq!(escape_deceptive("p\u{430}ypal"), r"p\u{430}ypal");
        assert_eq!(escape_deceptive("ｐay"), r"\u{ff50}ay");
        assert_eq!(escape_deceptive("x\u{200D}y"), r"x\u{200d}y");
        assert_eq!(escape_deceptive("a\u{E0041}"), r"a\u{e0041}");
        assert_eq!(escape_in_address("сосо"), r"\u{441}\u{43e}\u{441}\u{43e}");
        assert_eq!(escape_in_address("иван"), "иван");
    }
}
