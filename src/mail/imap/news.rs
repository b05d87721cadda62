//! What arrives in the inbox: fetched from where the last look ended, waited for by IDLE (RFC 2177).

use std::time::Duration;

use async_imap::extensions::idle::IdleResponse;
use async_trait::async_trait;

use super::reader::{ImapReader, SUMMARY_BYTES, fetch, id_of};
use super::session::{Imap, open, refused, unreachable};
use crate::domain::ports::{Arrived, MailNews, MailReadError};
use crate::mail::message::parse;

/// Mails taken in one go; the rest comes with the next.
const MOST: usize = 50;

/// The cursor is `UIDVALIDITY:UIDNEXT`.
struct Place {
    validity: u32,
    next: u32,
}

impl Place {
    fn parse(cursor: &str) -> Option<Self> {
        let (validity, next) = cursor.split_once(':')?;
        Some(Self { validity: validity.parse().ok()?, next: next.parse().ok()? })
    }

    async fn end_of_inbox(session: &mut Imap) -> Result<Self, MailReadError> {
        let inbox = session.examine("INBOX").await.map_err(refused)?;
        Ok(Self { validity: inbox.uid_validity.unwrap_or(0), next: inbox.uid_next.unwrap_or(1) })
    }

    fn cursor(&self) -> String {
        format!("{}:{}", self.validity, self.next)
    }
}

impl ImapReader {
    /// Waits until the inbox is beyond `cursor`, or changes, or for `longest`. True: something is there.
    pub async fn wait_for_mail(&self, cursor: Option<&str>, longest: Duration) -> Result<bool, MailReadError> {
        let entered = async {
            let mut session = open(&self.settings, &self.credential).await?;
            let end = Place::end_of_inbox(&mut session).await?;
            Ok::<_, MailReadError>((session, end))
        };
        let (session, end) = self.timed(entered).await?;
        // What came between the last look and this sign-in is no change that the server would tell of.
        if cursor.and_then(Place::parse).is_some_and(|known| known.validity != end.validity || known.next < end.next) {
            self.leave(session).await;
            return Ok(true);
        }
        let mut idle = session.idle();
        self.timed(async { idle.init().await.map_err(refused) }).await?;
        let (wait, interrupt) = idle.wait_with_timeout(longest);
        // The wait ends by itself; a connection that died without a word must not hold it for ever.
        let response = tokio::time::timeout(longest + self.settings.connect_timeout, wait)
            .await
            .map_err(|_| unreachable("the server fell silent"))?
            .map_err(refused)?;
        drop(interrupt);
        // silent-ok: the answer is known; the connection ends here either way.
        if let Ok(Ok(session)) = tokio::time::timeout(self.settings.connect_timeout, idle.done()).await {
            self.leave(session).await;
        }
        Ok(matches!(response, IdleResponse::NewData(_)))
    }
}

#[async_trait]
impl MailNews for ImapReader {
    async fn arrived(&self, since: Option<&str>) -> Result<Arrived, MailReadError> {
        self.timed(async {
            let mut session = open(&self.settings, &self.credential).await?;
            let found = arrived(&mut session, since.and_then(Place::parse)).await;
            self.leave(session).await;
            found
        })
        .await
    }

    async fn wait(&self, cursor: &str, longest: Duration) -> Result<bool, MailReadError> {
        self.wait_for_mail(Some(cursor), longest).await
    }
}

async fn arrived(session: &mut Imap, since: Option<Place>) -> Result<Arrived, MailReadError> {
    let end = Place::end_of_inbox(session).await?;
    let nothing = |end: &Place| Arrived { mails: Vec::new(), cursor: end.cursor(), more: false };
    let from = match since {
        Some(known) if known.validity == end.validity => known.next,
        // Never looked, or renumbered: which of these are new cannot be told.
        Some(_) | None => return Ok(nothing(&end)),
    };
    if from >= end.next {
        return Ok(nothing(&end));
    }
    let query = format!("UID {from}:{}", end.next - 1);
    let mut uids: Vec<u32> = session.uid_search(query).await.map_err(refused)?.into_iter().collect();
    uids.sort_unstable();
    let more = uids.len() > MOST;
    uids.truncate(MOST);
    let next = match uids.last() {
        Some(last) if more => last + 1,
        Some(_) | None => end.next,
    };
    // Newest first as fetched; told in the order of their arrival.
    let mut fetched = fetch(session, &uids, SUMMARY_BYTES).await?;
    fetched.reverse();
    let mails = fetched
        .iter()
        .filter_map(|(uid, bytes)| parse(bytes).map(|mail| mail.content(id_of("INBOX", end.validity, *uid))))
        .collect();
    Ok(Arrived { mails, cursor: Place { next, ..end }.cursor(), more })
}
