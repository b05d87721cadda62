//! Looking for one of our mails in Sent, and filing it there.

use futures::TryStreamExt;

use super::session::{Imap, refused};
use crate::domain::mail::FrozenMail;
use crate::domain::ports::MailReadError;
use crate::mail::message::parse;
use crate::mail::query::quoted;

/// Headers under which providers that replace the Message-ID keep the original.
const ID_HEADERS: [&str; 4] =
    ["Message-ID", "X-Google-Original-Message-ID", "X-Microsoft-Original-Message-ID", "X-Original-Message-ID"];

/// A search that hits more mails than this is not a search for one Message-ID.
const MOST_HITS: usize = 100;
/// Newest mails that are compared one by one where the search found nothing: some servers index late or not at all.
const NEWEST: u32 = 30;

/// Folder and UID of the mail with exactly this Message-ID.
pub async fn find(session: &mut Imap, folder: &str, message_id: &str) -> Result<Option<String>, MailReadError> {
    let mailbox = session.examine(folder).await.map_err(refused)?;
    for header in ID_HEADERS {
        let query = format!("HEADER {header} {}", quoted(message_id));
        let mut hits: Vec<u32> = session.uid_search(query).await.map_err(refused)?.into_iter().collect();
        hits.sort_unstable_by(|a, b| b.cmp(a));
        hits.truncate(MOST_HITS);
        if hits.is_empty() {
            continue;
        }
        let set = hits.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        if let Some(uid) = compare(session, &set, message_id, true).await? {
            return Ok(Some(format!("{folder}/{uid}")));
        }
    }
    if mailbox.exists == 0 {
        return Ok(None);
    }
    let set = format!("{}:{}", mailbox.exists.saturating_sub(NEWEST - 1).max(1), mailbox.exists);
    Ok(compare(session, &set, message_id, false).await?.map(|uid| format!("{folder}/{uid}")))
}

/// The UID in `set` whose Message-ID, or original Message-ID, is exactly `message_id`.
async fn compare(session: &mut Imap, set: &str, message_id: &str, uids: bool) -> Result<Option<u32>, MailReadError> {
    let items = format!("(UID BODY.PEEK[HEADER.FIELDS ({})])", ID_HEADERS.join(" "));
    let fetched: Vec<_> = if uids {
        session.uid_fetch(set, items).await.map_err(refused)?.try_collect().await
    } else {
        session.fetch(set, items).await.map_err(refused)?.try_collect().await
    }
    .map_err(refused)?;
    for mail in fetched {
        let Some(header) = mail.header() else { continue };
        let is_it = parse(header).is_some_and(|parsed| {
            ID_HEADERS.iter().any(|name| parsed.header(name).is_some_and(|value| value.trim() == message_id))
        });
        if is_it {
            return Ok(mail.uid);
        }
    }
    Ok(None)
}

/// Files the mail in Sent, read, unless it stands there.
pub async fn file(session: &mut Imap, folder: &str, mail: &FrozenMail) -> Result<(), MailReadError> {
    if find(session, folder, &mail.message_id).await?.is_some() {
        return Ok(());
    }
    session.append(folder, Some("(\\Seen)"), None, &mail.bytes).await.map_err(refused)
}
