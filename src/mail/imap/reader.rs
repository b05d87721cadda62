//! The port for reading mail, over one connection per operation.

use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;

use super::folders::{Folders, folders};
use super::sent;
use super::session::{Imap, open, refused};
use super::settings::ImapSettings;
use crate::domain::mail::{Bounce, FrozenMail, MailContent, MailSummary};
use crate::domain::ports::{MailReadError, MailReader};
use crate::mail::bounces::bounces_in;
use crate::mail::credential::Credential;
use crate::mail::message::parse;
use crate::mail::query::Query;

/// Enough of a mail for its headers and a preview; attachments come after.
pub(super) const SUMMARY_BYTES: usize = 50_000;
/// The most of one mail that is read.
const LARGEST_READ: usize = 5_000_000;
/// Mails compared here when the server cannot search for the words (letters beyond ASCII).
const MOST_COMPARED: usize = 200;
/// Bounces looked through in one go.
const MOST_BOUNCES: usize = 200;

pub struct ImapReader {
    pub(super) settings: ImapSettings,
    pub(super) credential: Credential,
}

impl ImapReader {
    pub fn new(settings: ImapSettings, credential: Credential) -> Self {
        Self { settings, credential }
    }

    pub fn settings(&self) -> &ImapSettings {
        &self.settings
    }

    /// Signs in and looks for the folders; says in words what failed, or which folder holds sent mail.
    pub async fn check(&self) -> Result<Option<String>, MailReadError> {
        self.timed(async {
            let (mut session, folders) = self.enter().await?;
            session.examine("INBOX").await.map_err(refused)?;
            self.leave(session).await;
            Ok(folders.sent)
        })
        .await
    }

    async fn enter(&self) -> Result<(Imap, Folders), MailReadError> {
        let mut session = open(&self.settings, &self.credential).await?;
        let folders = folders(&mut session, &self.settings.sent).await?;
        Ok((session, folders))
    }

    pub(super) async fn leave(&self, mut session: Imap) {
        // silent-ok: what was read is read; a failing goodbye changes nothing.
        let _ = tokio::time::timeout(self.settings.connect_timeout, session.logout()).await;
    }

    /// Within the time for one operation.
    pub(super) async fn timed<T>(
        &self,
        operation: impl Future<Output = Result<T, MailReadError>>,
    ) -> Result<T, MailReadError> {
        tokio::time::timeout(self.settings.timeout, operation)
            .await
            .unwrap_or_else(|_| Err(timed_out(self.settings.timeout)))
    }
}

fn timed_out(after: Duration) -> MailReadError {
    MailReadError::Unreachable { reason: format!("no answer within {} s", after.as_secs()) }
}

fn sent_of(folders: &Folders) -> Result<&str, MailReadError> {
    let missing =
        || MailReadError::Refused { reason: "there is no folder for sent mail; name it in mail.imap.sent".into() };
    folders.sent.as_deref().ok_or_else(missing)
}

/// An id names the folder, its UIDVALIDITY and the UID.
pub(super) fn id_of(folder: &str, validity: u32, uid: u32) -> String {
    format!("{uid}.{validity}.{folder}")
}

fn parse_id(id: &str) -> Option<(u32, u32, &str)> {
    let mut parts = id.splitn(3, '.');
    let (uid, validity, folder) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
    Some((uid, validity, folder))
}

pub(super) async fn fetch(
    session: &mut Imap,
    uids: &[u32],
    bytes: usize,
) -> Result<Vec<(u32, Vec<u8>)>, MailReadError> {
    if uids.is_empty() {
        return Ok(Vec::new());
    }
    let set = uids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let fetched: Vec<_> = session
        .uid_fetch(set, format!("(UID BODY.PEEK[]<0.{bytes}>)"))
        .await
        .map_err(refused)?
        .try_collect()
        .await
        .map_err(refused)?;
    let mut mails: Vec<(u32, Vec<u8>)> =
        fetched.iter().filter_map(|mail| Some((mail.uid?, mail.body()?.to_vec()))).collect();
    mails.sort_unstable_by_key(|(uid, _)| std::cmp::Reverse(*uid));
    Ok(mails)
}

async fn search(
    session: &mut Imap,
    folders: &Folders,
    query: &Query,
    limit: usize,
) -> Result<Vec<MailSummary>, MailReadError> {
    let folder = if query.sent { sent_of(folders)? } else { folders.all.as_deref().unwrap_or("INBOX") };
    let validity = session.examine(folder).await.map_err(refused)?.uid_validity.unwrap_or(0);
    let mut uids: Vec<u32> = session.uid_search(query.imap()).await.map_err(refused)?.into_iter().collect();
    uids.sort_unstable_by(|a, b| b.cmp(a));
    uids.truncate(if query.has_non_ascii() { MOST_COMPARED } else { limit });
    let mut mails = Vec::new();
    for (uid, bytes) in fetch(session, &uids, SUMMARY_BYTES).await? {
        let Some(parsed) = parse(&bytes) else { continue };
        let id = id_of(folder, validity, uid);
        if !query.has_non_ascii() || query.matches(&parsed.content(id.clone())) {
            mails.push(parsed.summary(id));
        }
    }
    mails.truncate(limit);
    Ok(mails)
}

async fn read(session: &mut Imap, id: &str) -> Result<MailContent, MailReadError> {
    let missing = || MailReadError::NotFound { id: id.to_owned() };
    let (uid, validity, folder) = parse_id(id).ok_or_else(missing)?;
    let now = session.examine(folder).await.map_err(refused)?.uid_validity.unwrap_or(0);
    if now != validity {
        return Err(missing());
    }
    let mails = fetch(session, &[uid], LARGEST_READ).await?;
    let (_, bytes) = mails.first().ok_or_else(missing)?;
    parse(bytes).map(|parsed| parsed.content(id.to_owned())).ok_or_else(missing)
}

async fn bounces(session: &mut Imap, since: Option<&str>) -> Result<(Vec<Bounce>, Option<String>), MailReadError> {
    let since = since.and_then(|cursor| {
        let (validity, next) = cursor.split_once(':')?;
        Some((validity.parse::<u32>().ok()?, next.parse::<u32>().ok()?))
    });
    let inbox = session.examine("INBOX").await.map_err(refused)?;
    let (validity, next) = (inbox.uid_validity.unwrap_or(0), inbox.uid_next.unwrap_or(1));
    let cursor = Some(format!("{validity}:{next}"));
    let from = match since {
        None => return Ok((Vec::new(), cursor)),
        Some((known, from)) if known == validity => from,
        // Renumbered: everything that is there could be new.
        Some(_) => 1,
    };
    if from >= next {
        return Ok((Vec::new(), cursor));
    }
    let query = format!("UID {from}:{} HEADER Content-Type \"delivery-status\"", next - 1);
    let mut uids: Vec<u32> = session.uid_search(query).await.map_err(refused)?.into_iter().collect();
    uids.sort_unstable_by(|a, b| b.cmp(a));
    uids.truncate(MOST_BOUNCES);
    let mails = fetch(session, &uids, LARGEST_READ).await?;
    Ok((mails.iter().flat_map(|(_, bytes)| bounces_in(bytes)).collect(), cursor))
}

#[async_trait]
impl MailReader for ImapReader {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<MailSummary>, MailReadError> {
        let query = Query::parse(query);
        self.timed(async {
            let (mut session, folders) = self.enter().await?;
            let found = search(&mut session, &folders, &query, limit).await;
            self.leave(session).await;
            found
        })
        .await
    }

    async fn read(&self, id: &str) -> Result<MailContent, MailReadError> {
        self.timed(async {
            let mut session = open(&self.settings, &self.credential).await?;
            let mail = read(&mut session, id).await;
            self.leave(session).await;
            mail
        })
        .await
    }

    async fn find_sent(&self, message_id: &str) -> Result<Option<String>, MailReadError> {
        self.timed(async {
            let (mut session, folders) = self.enter().await?;
            let found = sent::find(&mut session, sent_of(&folders)?, message_id).await;
            self.leave(session).await;
            found
        })
        .await
    }

    async fn file_sent(&self, mail: &FrozenMail) -> Result<(), MailReadError> {
        self.timed(async {
            let (mut session, folders) = self.enter().await?;
            let filed = sent::file(&mut session, sent_of(&folders)?, mail).await;
            self.leave(session).await;
            filed
        })
        .await
    }

    /// The cursor is `UIDVALIDITY:UIDNEXT` of the inbox. Without one, only what arrives from now on counts.
    async fn bounces(&self, since: Option<&str>) -> Result<(Vec<Bounce>, Option<String>), MailReadError> {
        self.timed(async {
            let mut session = open(&self.settings, &self.credential).await?;
            let found = bounces(&mut session, since).await;
            self.leave(session).await;
            found
        })
        .await
    }
}
