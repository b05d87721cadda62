//! Mail addresses: parsed, checked, compared and shown.
//!
//! In: `address` or `Name <address>`, one per text. Out: a [`Mailbox`] whose domain is ASCII (IDNA).
//! Identity is by IDNA and case; plus tags and dots are kept, because providers differ on them.
//! Absent on purpose: groups, comments, address literals and obsolete forms of RFC 5322; nobody writes them by hand,
//! and each is a way to hide a recipient.

use unicode_normalization::UnicodeNormalization;

use super::header::{HeaderInjection, breaks_line, check_header_text};
use super::literal::{escape_deceptive, escape_in_address, is_hidden};

/// RFC 5321 4.5.3.1: octets of a local part, and of a whole path without its brackets.
const LONGEST_LOCAL: usize = 64;
const LONGEST_ADDRESS: usize = 254;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(transparent)]
    Injection(#[from] HeaderInjection),
    /// A list where one address belongs.
    #[error("{text} is a list: give one address per entry")]
    List { text: String },
    #[error("{text} is not a mail address: {reason}")]
    Malformed { text: String, reason: &'static str },
}

/// One address with its display name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mailbox {
    pub name: Option<String>,
    /// As given; may be quoted, may be non-ASCII.
    pub local: String,
    /// Lower-case ASCII, by IDNA.
    pub domain: String,
}

impl Mailbox {
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        check_header_text("an address", text)?;
        let trimmed = text.trim();
        let malformed = |reason| AddressError::Malformed { text: escape_deceptive(trimmed), reason };
        let list = || AddressError::List { text: escape_deceptive(trimmed) };
        if trimmed.is_empty() {
            return Err(malformed("it is empty"));
        }
        if trimmed.starts_with(['[', '{']) {
            return Err(list());
        }
        let (name, address) = split_name(trimmed).map_err(malformed)?;
        let at = address.rfind('@').ok_or_else(|| malformed("it has no @"))?;
        let (local, domain) = (&address[..at], &address[at + 1..]);
        if !local.starts_with('"') && (has_separator(local) || local.contains('@')) || has_separator(domain) {
            return Err(list());
        }
        check_local(local).map_err(malformed)?;
        let domain = ascii_domain(domain).map_err(malformed)?;
        if local.len() + 1 + domain.len() > LONGEST_ADDRESS {
            return Err(malformed("it is too long"));
        }
        let name = name.filter(|name| !name.is_empty());
        Ok(Self { name, local: local.to_owned(), domain })
    }

    /// As it goes into the envelope: local part as given, domain in ASCII.
    pub fn address(&self) -> String {
        format!("{}@{}", self.local, self.domain)
    }

    /// What makes two addresses the same one.
    pub fn identity(&self) -> String {
        let local: String = caseless::default_case_fold_str(unquoted(&self.local).as_ref()).nfc().collect();
        format!("{local}@{}", self.domain)
    }

    /// The server must know SMTPUTF8 (RFC 6531) for this one.
    pub fn needs_smtputf8(&self) -> bool {
        !self.local.is_ascii()
    }

    /// For a person who decides on it: nothing hidden, the domain in punycode when it is not ASCII.
    pub fn display(&self) -> String {
        let address = format!("{}@{}", escape_in_address(&self.local), self.domain);
        match &self.name {
            Some(name) => format!("{} <{address}>", escape_deceptive(name)),
            None => address,
        }
    }
}

/// Parses every entry; the first that is wrong is the error.
pub fn parse_all<'a>(texts: impl IntoIterator<Item = &'a String>) -> Result<Vec<Mailbox>, AddressError> {
    texts.into_iter().map(|text| Mailbox::parse(text)).collect()
}

/// [`Mailbox::identity`] of `text`, or the text itself when it is no address.
pub fn identity_of(text: &str) -> String {
    Mailbox::parse(text).map_or_else(|_| text.trim().to_lowercase(), |mailbox| mailbox.identity())
}

/// [`Mailbox::display`] of `text`, or the text itself, escaped, when it is no address.
pub fn display_of(text: &str) -> String {
    Mailbox::parse(text).map_or_else(|_| escape_deceptive(text), |mailbox| mailbox.display())
}

/// A Message-ID with its angle brackets, checked: printable ASCII, one `@`, nothing beside it.
pub fn parse_message_id(text: &str) -> Result<String, AddressError> {
    check_header_text("a Message-ID", text)?;
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix('<').unwrap_or(trimmed);
    let inner = inner.strip_suffix('>').unwrap_or(inner);
    let valid = inner.split('@').count() == 2
        && !inner.starts_with('@')
        && !inner.ends_with('@')
        && inner.len() <= 900
        && inner.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'));
    if !valid {
        return Err(AddressError::Malformed { text: escape_deceptive(trimmed), reason: "it is not a Message-ID" });
    }
    Ok(format!("<{inner}>"))
}

/// The domain in lower-case ASCII (IDNA, UTS 46).
pub fn ascii_domain(domain: &str) -> Result<String, &'static str> {
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    if domain.is_empty() || domain.starts_with('[') {
        return Err("it needs a domain after the @");
    }
    let ascii = idna::domain_to_ascii_strict(domain).map_err(|_| "its domain is not valid")?;
    // A number as last label would be an IP address, to which no mail goes.
    if ascii.rsplit('.').next().is_none_or(|label| label.is_empty() || label.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return Err("its domain is not valid");
    }
    Ok(ascii)
}

/// `Name <address>` apart; the name without its quotes.
fn split_name(text: &str) -> Result<(Option<String>, &str), &'static str> {
    let Some(body) = text.strip_suffix('>') else {
        return if text.contains(['<', '>']) { Err("its angle brackets do not match") } else { Ok((None, text)) };
    };
    let open = body.rfind('<').ok_or("its angle brackets do not match")?;
    let (name, address) = (body[..open].trim(), &body[open + 1..]);
    let name = match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => unescape(quoted),
        None if name.contains(['<', '>']) => return Err("its angle brackets do not match"),
        None if name.contains(['@', ',', ';']) => return Err("its name has an @, comma or semicolon and needs quotes"),
        None => name.to_owned(),
    };
    Ok((Some(name), address))
}

fn unescape(quoted: &str) -> String {
    let mut out = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    out
}

fn has_separator(text: &str) -> bool {
    text.contains([',', ';', ' ', '\t'])
}

fn check_local(local: &str) -> Result<(), &'static str> {
    if local.is_empty() {
        return Err("it has nothing before the @");
    }
    if local.len() > LONGEST_LOCAL {
        return Err("its part before the @ is longer than 64 bytes");
    }
    if local.chars().any(|c| is_hidden(c) || breaks_line(c) || (!c.is_ascii() && c.is_whitespace())) {
        return Err("it has an invisible character before the @");
    }
    if let Some(quoted) = local.strip_prefix('"') {
        let inner = quoted.strip_suffix('"').ok_or("its quotes do not match")?;
        let mut escaped = false;
        for c in inner.chars() {
            match (escaped, c) {
                (true, _) => escaped = false,
                (false, '\\') => escaped = true,
                (false, '"') => return Err("its quotes do not match"),
                (false, _) => {}
            }
        }
        return if escaped || inner.is_empty() { Err("its quotes do not match") } else { Ok(()) };
    }
    if local.split('.').any(str::is_empty) {
        return Err("it has a misplaced dot before the @");
    }
    // An encoded word is for names; in an address it would be read as another one by some servers.
    if local.starts_with("=?") || local.contains("?=") {
        return Err("it has an encoded word before the @");
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || ".!#$%&'*+-/=?^_`{|}~".contains(c);
    if local.chars().all(allowed) { Ok(()) } else { Err("it has a character before the @ that addresses cannot have") }
}

/// `"john"@x` and `john@x` are one address (RFC 5321 4.1.2).
fn unquoted(local: &str) -> std::borrow::Cow<'_, str> {
    match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => unescape(inner).into(),
        None => local.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn parse(text: &str) -> Mailbox {
        Mailbox::parse(text).expect(text)
    }

    #[test]
    fn addresses_and_names_are_read() {
        for (text, name, address) in [
            ("a@example.test", None, "a@example.test"),
            (" <a@example.test> ", None, "a@example.test"),
            ("Ana María <ana+x.y@Example.TEST>", Some("Ana María"), "ana+x.y@example.test"),
            (r#""Núñez, \"Ana\"" <ana@example.test>"#, Some(r#"Núñez, "Ana""#), "ana@example.test"),
            (r#""john doe"@example.test"#, None, r#""john doe"@example.test"#),
            ("root@localhost", None, "root@localhost"),
            ("a@example.test.", None, "a@example.test"),
        ] {
            let mailbox = parse(text);
            assert_eq!((mailbox.name.as_deref(), mailbox.address().as_str()), (name, address), "{text}");
        }
    }

    #[test]
    fn case_c23_a_domain_is_one_in_both_spellings() {
        let unicode = parse("a@bücher.test");
        assert_eq!(unicode.address(), "a@xn--bcher-kva.test");
        assert_eq!(unicode.identity(), parse("A@XN--BCHER-KVA.test").identity());
        assert_eq!(unicode.display(), "a@xn--bcher-kva.test");
    }

    #[test]
    fn case_c24_a_local_part_is_never_encoded() {
        let mailbox = parse("jörg@example.test");
        assert!(mailbox.needs_smtputf8() && !parse("a@bücher.test").needs_smtputf8());
        assert_eq!(mailbox.address(), "jörg@example.test");
        assert!(Mailbox::parse("=?utf-8?Q?j=C3=B6rg?=@example.test").is_err());
    }

    #[test]
    fn case_b09_identity_folds_case_and_keeps_tags_and_dots() {
        assert_eq!(parse("B@Example.test").identity(), parse("Someone <b@example.test>").identity());
        assert_ne!(parse("a+1@example.test").identity(), parse("a@example.test").identity());
        assert_ne!(parse("a.b@example.test").identity(), parse("ab@example.test").identity());
        assert_eq!(parse(r#""ab"@example.test"#).identity(), parse("ab@example.test").identity());
    }

    #[test]
    fn case_c19_c25_what_is_no_single_address_is_refused() {
        for text in [
            "A\nB <a@example.test>",
            "a@example.test\r\nBcc: x@evil.test",
            "=?utf-8?Q?A=0AB?= <a@example.test>",
            r#"["a@example.test"]"#,
            "a@example.test,b@example.test",
            "a@example.test; b@example.test",
            "a@example.test b@example.test",
            "A <a@example.test>, B <b@example.test>",
            "test",
            "",
            "@example.test",
            "a@",
            "a@.test",
            "a..b@example.test",
            "a@example..test",
            "a@exa mple.test",
            "a@[127.0.0.1]",
            "a@127.0.0.1",
            "a b@example.test",
            "a\u{200B}@example.test",
            "x@evil.test <a@example.test>",
            "<a@example.test",
            "a@b@example.test",
        ] {
            assert!(Mailbox::parse(text).is_err(), "{text:?}");
        }
        assert!(matches!(Mailbox::parse(r#"["a@example.test"]"#), Err(AddressError::List { .. })));
        assert!(matches!(Mailbox::parse("a@example.test,b@example.test"), Err(AddressError::List { .. })));
    }

    #[test]
    fn what_is_shown_hides_nothing() {
        assert_eq!(parse("p\u{430}y@example.test").display(), r"p\u{430}y@example.test");
        assert_eq!(parse("Boss\u{202E} <a@xn--pypal-4ve.test>").display(), r"Boss\u{202e} <a@xn--pypal-4ve.test>");
    }

    #[test]
    fn message_ids_are_checked() {
        assert_eq!(parse_message_id("<i@x.test>").unwrap(), "<i@x.test>");
        assert_eq!(parse_message_id("i@x.test").unwrap(), "<i@x.test>");
        for text in ["<i@x>\r\nBcc: x@evil.test", "<i>", "<a@b> <c@d>", "", "<é@x>"] {
            assert!(parse_message_id(text).is_err(), "{text:?}");
        }
    }
}
