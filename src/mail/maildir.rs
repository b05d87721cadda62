//! The backend without an account: mails are saved as `.eml` files, and every surface says "saved, not sent".
//!
//! Invariants: a file appears whole or not at all, private to its owner; the same mail is the same file, so a repeated
//! attempt finds it; absence of the file proves that nothing happened.

use std::io::Write;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::json;

use super::compose::Composer;
use super::message::{Parsed, parse};
use super::query::Query;
use crate::domain::action::SendEmail;
use crate::domain::effect::{Outcome, Performed, Receipt, ReceiptSource, RecipientResult, RecipientState};
use crate::domain::ids::AccountId;
use crate::domain::mail::{Bounce, FrozenMail, MailContent, MailSummary};
use crate::domain::ports::{MailReadError, MailReader, MailSender};
use crate::domain::time::Wall;
use crate::runtime::failpoint;
use crate::runtime::hash::sha256_hex;

/// A folder of saved mails.
pub struct Maildir {
    folder: PathBuf,
    account: AccountId,
    composer: Composer,
}

impl Maildir {
    pub fn new(folder: impl Into<PathBuf>, account: AccountId, composer: Composer) -> Self {
        Self { folder: folder.into(), account, composer }
    }

    /// The file a mail is saved as: readable in a file manager, one per Message-ID.
    fn path(&self, mail: &FrozenMail) -> PathBuf {
        let parsed = parse(&mail.bytes);
        let summary = parsed.as_ref().map(|parsed| parsed.summary(String::new()));
        let day = summary.as_ref().and_then(|summary| summary.date.as_deref()?.get(..10).map(str::to_owned));
        let subject = summary.map(|summary| slug(&summary.subject)).unwrap_or_default();
        let id = &sha256_hex(&mail.message_id)[..12];
        self.folder.join(format!("{}-{subject}-{id}.eml", day.unwrap_or_else(|| "undated".to_owned())))
    }

    fn save(&self, mail: &FrozenMail) -> std::io::Result<PathBuf> {
        let path = self.path(mail);
        if std::fs::read(&path).is_ok_and(|saved| saved == mail.bytes) {
            return Ok(path);
        }
        std::fs::create_dir_all(&self.folder)?;
        let temporary = self.folder.join(format!(".{}.tmp", &sha256_hex(&mail.message_id)[..12]));
        let fail = |error: failpoint::Failed| std::io::Error::other(error);
        failpoint::hit("maildir.before_write").map_err(fail)?;
        {
            let mut options = std::fs::OpenOptions::new();
            options.create(true).write(true).truncate(true);
            #[cfg(unix)]
            {
                use std::os::unix::fs::OpenOptionsExt;
                options.mode(0o600);
            }
            let mut file = options.open(&temporary)?;
            file.write_all(&mail.bytes)?;
            file.sync_all()?;
        }
        failpoint::hit("maildir.before_rename").map_err(fail)?;
        std::fs::rename(&temporary, &path)?;
        // The name must survive a power cut as well as the content.
        #[cfg(unix)]
        std::fs::File::open(&self.folder)?.sync_all()?;
        failpoint::hit("maildir.after_rename").map_err(fail)?;
        Ok(path)
    }

    /// Saved mails, newest first by name.
    fn saved(&self) -> Result<Vec<(String, Vec<u8>)>, MailReadError> {
        let unreachable = |error: std::io::Error| MailReadError::Unreachable { reason: error.to_string() };
        let mut names: Vec<String> = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .filter(|name| name.ends_with(".eml"))
                .collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(unreachable(error)),
        };
        names.sort_unstable_by(|a, b| b.cmp(a));
        names
            .into_iter()
            .map(|name| Ok((name.clone(), std::fs::read(self.folder.join(&name)).map_err(unreachable)?)))
            .collect()
    }
}

#[async_trait]
impl MailSender for Maildir {
    fn account(&self) -> AccountId {
        self.account.clone()
    }
    fn backend(&self) -> &'static str {
        "maildir"
    }
    fn saves_only(&self) -> bool {
        true
    }
    fn files_sent(&self) -> bool {
        true
    }
    fn freeze(&self, mail: &SendEmail, token: &str, at: Wall) -> Result<FrozenMail, String> {
        self.composer.freeze(mail, token, at).map_err(|error| error.to_string())
    }

    async fn send(&self, mail: &FrozenMail, recipients: &[String], _provider_id: Option<&str>) -> Performed {
        let all = |state| {
            let result = |address: &String| RecipientResult { address: address.clone(), state, reply: None };
            recipients.iter().map(result).collect()
        };
        match self.save(mail) {
            Ok(path) => Performed {
                outcome: Outcome::Accepted { receipt: receipt(&path, ReceiptSource::Provider) },
                phase: "done".to_owned(),
                reply: Some(format!("saved as {}, not sent", path.display())),
                recipients: all(RecipientState::Accepted),
                provider_id: None,
            },
            // Nothing of the mail is visible before the rename; after it the next attempt finds the file.
            Err(error) => Performed {
                outcome: Outcome::Retryable {
                    reason: format!("the mail could not be saved in {}: {error}", self.folder.display()),
                    retry_after: None,
                    greylisted: false,
                },
                phase: "request".to_owned(),
                reply: None,
                recipients: all(RecipientState::Open),
                provider_id: None,
            },
        }
    }
}

fn receipt(path: &Path, source: ReceiptSource) -> Receipt {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Receipt { source, provider_id: name, detail: json!({ "path": path.display().to_string(), "saved_only": true }) }
}

#[async_trait]
impl MailReader for Maildir {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<MailSummary>, MailReadError> {
        let query = Query::parse(query);
        let found = self.saved()?.into_iter().filter_map(|(name, bytes)| {
            let content = parse(&bytes)?.content(name);
            query.matches(&content).then_some(content.summary)
        });
        Ok(found.take(limit).collect())
    }

    async fn read(&self, id: &str) -> Result<MailContent, MailReadError> {
        let found = self.saved()?.into_iter().find(|(name, _)| name == id);
        let (name, bytes) = found.ok_or_else(|| MailReadError::NotFound { id: id.to_owned() })?;
        parse(&bytes).map(|parsed| parsed.content(name)).ok_or_else(|| MailReadError::NotFound { id: id.to_owned() })
    }

    async fn find_sent(&self, message_id: &str) -> Result<Option<String>, MailReadError> {
        let is_it = |parsed: Parsed<'_>| parsed.message_id().as_deref() == Some(message_id);
        let found = self.saved()?.into_iter().find(|(_, bytes)| parse(bytes).is_some_and(is_it));
        Ok(found.map(|(name, _)| self.folder.join(name).display().to_string()))
    }

    async fn file_sent(&self, _mail: &FrozenMail) -> Result<(), MailReadError> {
        Ok(())
    }

    async fn bounces(&self, _since: Option<&str>) -> Result<(Vec<Bounce>, Option<String>), MailReadError> {
        Ok((Vec::new(), None))
    }
}

/// Letters and digits of a subject with dashes, at most 40 characters.
fn slug(subject: &str) -> String {
    let mut out = String::new();
    for c in subject.chars().take(40) {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "no-subject".to_owned() } else { out.to_owned() }
}
