//! Which folder is which: by special-use attributes (RFC 6154), then by the names that servers without them use.

use async_imap::types::NameAttribute;
use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::NO_PAD;
use futures::TryStreamExt;

use super::session::{Imap, refused};
use crate::domain::ports::MailReadError;

/// Names of Sent folders on servers without attributes, lower case.
const SENT_NAMES: [&str; 12] = [
    "sent",
    "sent items",
    "sent messages",
    "sent mail",
    "inbox.sent",
    "inbox/sent",
    "inbox.sent items",
    "enviados",
    "elementos enviados",
    "enviadas",
    "gesendet",
    "gesendete objekte",
];

/// Modified base64 of RFC 3501 5.1.3: `,` for `/`, no padding.
const MODIFIED: GeneralPurpose = {
    let alphabet =
        match base64::alphabet::Alphabet::new("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,") {
            Ok(alphabet) => alphabet,
            Err(_) => base64::alphabet::STANDARD,
        };
    GeneralPurpose::new(&alphabet, NO_PAD)
};

/// Folders by what they are for, in the server's own spelling.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Folders {
    pub sent: Option<String>,
    /// Every mail of the account, where a server has such a folder.
    pub all: Option<String>,
}

pub async fn folders(session: &mut Imap, configured_sent: &str) -> Result<Folders, MailReadError> {
    let names = session.list(Some(""), Some("*")).await.map_err(refused)?;
    let names: Vec<(String, Vec<NameAttribute<'static>>)> = names
        .map_ok(|name| {
            let attributes = name.attributes().iter().cloned().map(NameAttribute::into_owned).collect();
            (name.name().to_owned(), attributes)
        })
        .try_collect()
        .await
        .map_err(refused)?;
    let with = |wanted: &NameAttribute<'_>| {
        names.iter().find(|(_, attributes)| attributes.contains(wanted)).map(|(name, _)| name.clone())
    };
    let sent = match configured_sent {
        "" | "auto" => with(&NameAttribute::Sent).or_else(|| {
            let known = |(name, _): &&(String, Vec<_>)| SENT_NAMES.contains(&name.to_lowercase().as_str());
            names.iter().find(known).map(|(name, _)| name.clone())
        }),
        name => {
            let wire = modified_utf7(name);
            Some(names.iter().map(|(name, _)| name).find(|found| **found == wire).cloned().unwrap_or(wire))
        }
    };
    Ok(Folders { sent, all: with(&NameAttribute::All) })
}

/// A folder name as it goes over the wire (RFC 3501 5.1.3).
pub fn modified_utf7(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut run = String::new();
    let flush = |run: &mut String, out: &mut String| {
        if !run.is_empty() {
            let bytes: Vec<u8> = run.encode_utf16().flat_map(u16::to_be_bytes).collect();
            out.push('&');
            out.push_str(&MODIFIED.encode(bytes));
            out.push('-');
            run.clear();
        }
    };
    for c in name.chars() {
        if (' '..='~').contains(&c) {
            flush(&mut run, &mut out);
            out.push(c);
            if c == '&' {
                out.push('-');
            }
        } else {
            run.push(c);
        }
    }
    flush(&mut run, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::modified_utf7;

    #[test]
    fn folder_names_go_out_in_modified_utf7() {
        assert_eq!(modified_utf7("Sent"), "Sent");
        assert_eq!(modified_utf7("Entwürfe & mehr"), "Entw&APw-rfe &- mehr");
        // The examples of RFC 3501 5.1.3.
        assert_eq!(modified_utf7("~peter/mail/台北/日本語"), "~peter/mail/&U,BTFw-/&ZeVnLIqe-");
    }
}
