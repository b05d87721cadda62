//! From an action to the bytes that leave: composed once, then frozen.
//!
//! In: a [`SendEmail`] with literal addresses, a token, a date. Out: [`FrozenMail`], the same for the same input.
//! Invariants: every header is one logical line; Bcc is in the envelope only (unless the provider takes recipients
//! from the headers); line ends are CRLF; the Message-ID is a dot-atom on a domain of the sender, never the host's name.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lettre::message::header::{ContentType, MIME_VERSION_1_0};
use lettre::message::{Attachment, Mailbox as LettreMailbox, MessageBuilder, MultiPart, SinglePart};
use lettre::{Address, Message};
use mail_parser::decoders::html::html_to_text;

use crate::domain::action::{AttachedFile, SendEmail};
use crate::domain::address::{AddressError, Mailbox, ascii_domain, parse_all, parse_message_id};
use crate::domain::header::{HeaderInjection, check_header_text};
use crate::domain::mail::FrozenMail;
use crate::domain::time::Wall;
use crate::runtime::hash::sha256_hex;

/// What most providers take at all: 25 MB of message, and base64 adds a third.
pub const LARGEST_MESSAGE: usize = 25 * 1024 * 1024;

/// Why a mail cannot be composed. Nothing left, and the same mail will not work later either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Injection(#[from] HeaderInjection),
    #[error("the mail has no recipient")]
    NoRecipients,
    #[error("the text of the mail has a NUL character")]
    Nul,
    #[error("the attachment {name} cannot be used: {reason}")]
    Attachment { name: String, reason: String },
    #[error("the mail has {bytes} bytes, more than the {limit} that mail servers take")]
    TooLarge { bytes: usize, limit: usize },
    #[error("the mail cannot be written: {reason}")]
    Format { reason: String },
}

/// How mails of one account are composed.
#[derive(Clone, Debug)]
pub struct Composer {
    /// Attachments by SHA-256.
    pub files: PathBuf,
    /// Right side of our Message-IDs; empty: the domain of `from`.
    pub message_id_domain: String,
    /// The provider reads the recipients from the headers and removes Bcc itself.
    pub keep_bcc: bool,
    pub largest: usize,
}

impl Composer {
    pub fn new(files: impl Into<PathBuf>, message_id_domain: &str) -> Self {
        Self {
            files: files.into(),
            message_id_domain: message_id_domain.to_owned(),
            keep_bcc: false,
            largest: LARGEST_MESSAGE,
        }
    }

    /// Checks and fixes everything that leaves. `token` is random and new for each mail.
    pub fn freeze(&self, mail: &SendEmail, token: &str, at: Wall) -> Result<FrozenMail, ComposeError> {
        let from = Mailbox::parse(&mail.from)?;
        let [to, cc, bcc] = [&mail.to, &mail.cc, &mail.bcc].map(parse_all);
        let (to, cc, bcc) = (to?, cc?, bcc?);
        let recipients = envelope(to.iter().chain(&cc).chain(&bcc));
        if recipients.is_empty() {
            return Err(ComposeError::NoRecipients);
        }
        check_header_text("the subject", &mail.subject)?;
        if mail.body.contains('\0') || mail.html.as_ref().is_some_and(|html| html.contains('\0')) {
            return Err(ComposeError::Nul);
        }

        let seed = sha256_hex(token);
        let message_id = format!("<{}@{}>", &seed[..32], self.id_domain(&from)?);
        let mut builder = Message::builder().from(lettre_mailbox(&from)?);
        for mailbox in &to {
            builder = builder.to(lettre_mailbox(mailbox)?);
        }
        for mailbox in &cc {
            builder = builder.cc(lettre_mailbox(mailbox)?);
        }
        if self.keep_bcc {
            builder = builder.keep_bcc();
            for mailbox in &bcc {
                builder = builder.bcc(lettre_mailbox(mailbox)?);
            }
        }
        builder = builder.subject(&mail.subject).date(system_time(at)).message_id(Some(message_id.clone()));
        builder = thread(builder, mail)?;
        // The envelope is ours; lettre only wants one that is not empty.
        let first = lettre_mailbox(to.first().or(cc.first()).or(bcc.first()).unwrap_or(&from))?.email;
        let envelope =
            lettre::address::Envelope::new(Some(lettre_mailbox(&from)?.email), vec![first]).map_err(format)?;
        let message = self.body(builder.envelope(envelope), mail, &seed)?;

        let mut bytes = message.formatted();
        if !bytes.ends_with(b"\r\n") {
            bytes.extend_from_slice(b"\r\n");
        }
        if bytes.len() > self.largest {
            return Err(ComposeError::TooLarge { bytes: bytes.len(), limit: self.largest });
        }
        Ok(FrozenMail::restored(message_id, from.address(), recipients, bytes))
    }

    fn id_domain(&self, from: &Mailbox) -> Result<String, ComposeError> {
        match self.message_id_domain.trim() {
            "" => Ok(from.domain.clone()),
            domain => ascii_domain(domain)
                .map_err(|reason| AddressError::Malformed { text: domain.to_owned(), reason })
                .map_err(ComposeError::from),
        }
    }

    fn body(&self, builder: MessageBuilder, mail: &SendEmail, seed: &str) -> Result<Message, ComposeError> {
        let boundary = |n: u8| format!("=_{n}_{}", &seed[32..56]);
        let text = if mail.body.trim().is_empty() {
            mail.html.as_deref().map_or_else(String::new, html_to_text)
        } else {
            mail.body.clone()
        };
        let text = canonical(&text);
        if mail.html.is_none() && mail.attachments.is_empty() {
            // As a part it would get one more line end.
            return builder.header(MIME_VERSION_1_0).header(ContentType::TEXT_PLAIN).body(text).map_err(format);
        }
        let text = SinglePart::plain(text);
        let alternative = mail.html.as_ref().map(|html| {
            MultiPart::alternative()
                .boundary(boundary(0))
                .singlepart(text.clone())
                .singlepart(SinglePart::html(canonical(html)))
        });
        if mail.attachments.is_empty() {
            return match alternative {
                Some(multipart) => builder.multipart(multipart),
                None => builder.singlepart(text),
            }
            .map_err(format);
        }
        let mixed = MultiPart::mixed().boundary(boundary(1));
        let mut mixed = match alternative {
            Some(multipart) => mixed.multipart(multipart),
            None => mixed.singlepart(text),
        };
        let mut total = 0;
        for file in &mail.attachments {
            let content = read_attachment(&self.files, file)?;
            total += content.len();
            if total > self.largest {
                return Err(ComposeError::TooLarge { bytes: total, limit: self.largest });
            }
            let kind = ContentType::parse(&file.mime)
                .or_else(|_| ContentType::parse("application/octet-stream"))
                .map_err(format)?;
            mixed = mixed.singlepart(Attachment::new(file.name.clone()).body(content, kind));
        }
        builder.multipart(mixed).map_err(format)
    }
}

/// Addresses for RCPT: each mailbox once, first spelling wins.
fn envelope<'a>(mailboxes: impl Iterator<Item = &'a Mailbox>) -> Vec<String> {
    let mut seen = HashSet::new();
    mailboxes.filter(|mailbox| seen.insert(mailbox.identity())).map(Mailbox::address).collect()
}

fn thread(mut builder: MessageBuilder, mail: &SendEmail) -> Result<MessageBuilder, ComposeError> {
    let Some(parent) = &mail.in_reply_to else { return Ok(builder) };
    let parent = parse_message_id(parent)?;
    let mut references = Vec::with_capacity(mail.references.len() + 1);
    for reference in &mail.references {
        let reference = parse_message_id(reference)?;
        if reference != parent {
            references.push(reference);
        }
    }
    references.push(parent.clone());
    builder = builder.in_reply_to(parent).references(references.join(" "));
    Ok(builder)
}

/// CRLF everywhere: a lone CR or LF would be read differently by different servers (RFC 5321 2.3.8).
fn canonical(text: &str) -> String {
    let unix = text.replace("\r\n", "\n").replace('\r', "\n");
    unix.replace('\n', "\r\n")
}

fn read_attachment(files: &Path, file: &AttachedFile) -> Result<Vec<u8>, ComposeError> {
    let fault = |reason: String| ComposeError::Attachment { name: file.name.clone(), reason };
    check_header_text("the name of an attachment", &file.name)?;
    check_header_text("the type of an attachment", &file.mime)?;
    if file.sha256.len() != 64 || !file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(fault("it has no valid hash".to_owned()));
    }
    let content = std::fs::read(files.join(&file.sha256)).map_err(|error| fault(error.to_string()))?;
    if sha256_hex(&content) != file.sha256 {
        return Err(fault("the stored file was changed".to_owned()));
    }
    Ok(content)
}

fn lettre_mailbox(mailbox: &Mailbox) -> Result<LettreMailbox, ComposeError> {
    let malformed = |_| AddressError::Malformed { text: mailbox.display(), reason: "its form is not supported" };
    let address = Address::new(&mailbox.local, &mailbox.domain).map_err(malformed)?;
    Ok(LettreMailbox::new(mailbox.name.clone(), address))
}

fn system_time(at: Wall) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}

fn format(error: impl std::fmt::Display) -> ComposeError {
    ComposeError::Format { reason: error.to_string() }
}
