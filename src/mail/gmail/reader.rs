//! Searching and reading through the API.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::client::{GmailClient, GmailError};
use crate::domain::mail::{Bounce, FrozenMail, MailContent, MailSummary};
use crate::domain::ports::{MailReadError, MailReader};
use crate::mail::bounces::bounces_in;
use crate::mail::message::parse;
use crate::mail::query::Query;

/// With or without padding: Google's documentation shows both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
const MOST_BOUNCES: &str = "50";

pub struct GmailReader {
    client: Arc<GmailClient>,
}

impl GmailReader {
    pub fn new(client: Arc<GmailClient>) -> Self {
        Self { client }
    }

    async fn ids(&self, query: &str, most: &str) -> Result<Vec<String>, MailReadError> {
        let answer = self.client.get("/messages", &[("q", query), ("maxResults", most)]).await.map_err(failure)?;
        let ids = answer["messages"].as_array().into_iter().flatten();
        Ok(ids.filter_map(|message| message["id"].as_str().map(str::to_owned)).collect())
    }

    async fn raw(&self, id: &str) -> Result<Vec<u8>, MailReadError> {
        let missing = || MailReadError::NotFound { id: id.to_owned() };
        // An id is part of a path.
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return Err(missing());
        }
        let answer = self.client.get(&format!("/messages/{id}"), &[("format", "raw")]).await.map_err(failure)?;
        let text = answer["raw"].as_str().ok_or_else(missing)?;
        BASE64.decode(text).map_err(|error| MailReadError::Refused { reason: error.to_string() })
    }

    /// Headers of one message: (name, value).
    async fn headers(&self, id: &str) -> Result<Vec<(String, String)>, MailReadError> {
        let answer = self.client.get(&format!("/messages/{id}"), &[("format", "metadata")]).await.map_err(failure)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let headers = answer["payload"]["headers"].as_array().into_iter().flatten();
        Ok(headers.map(|header| (text(&header["name"]), text(&header["value"]))).collect())
    }
}

/// Gmail's own search words for ours.
fn words(query: &Query) -> String {
    let quoted = |value: &String| format!("\"{}\"", value.replace('"', ""));
    let mut words = Vec::new();
    for (key, values) in [("from:", &query.from), ("to:", &query.to), ("subject:", &query.subject), ("", &query.words)]
    {
        words.extend(values.iter().map(|value| format!("{key}{}", quoted(value))));
    }
    if let Some(since) = query.since {
        words.push(format!("after:{}", since.strftime("%Y/%m/%d")));
    }
    if let Some(before) = query.before {
        words.push(format!("before:{}", before.strftime("%Y/%m/%d")));
    }
    if let Some(thread) = &query.thread {
        words.push(format!("rfc822msgid:{}", thread.trim_matches(['<', '>'])));
    }
    if query.unread {
        words.push("is:unread".to_owned());
    }
    if query.sent {
        words.push("in:sent".to_owned());
    }
    words.join(" ")
}

fn failure(error: GmailError) -> MailReadError {
    let reason = error.to_string();
    match error {
        GmailError::NotNow { .. } | GmailError::NoAnswer { .. } => MailReadError::Unreachable { reason },
        GmailError::SignIn { .. } => MailReadError::Unauthorized { reason },
        GmailError::NotFound { .. } => MailReadError::NotFound { id: reason },
        GmailError::Refused { .. } => MailReadError::Refused { reason },
    }
}

#[async_trait]
impl MailReader for GmailReader {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<MailSummary>, MailReadError> {
        let ids = self.ids(&words(&Query::parse(query)), &limit.to_string()).await?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids.into_iter().take(limit) {
            if let Some(parsed) = parse(&self.raw(&id).await?) {
                found.push(parsed.summary(id));
            }
        }
        Ok(found)
    }

    async fn read(&self, id: &str) -> Result<MailContent, MailReadError> {
        let raw = self.raw(id).await?;
        let missing = || MailReadError::NotFound { id: id.to_owned() };
        parse(&raw).map(|parsed| parsed.content(id.to_owned())).ok_or_else(missing)
    }

    /// A hit counts only when one of its headers is exactly our id, and it was sent (a draft is found by it as well).
    async fn find_sent(&self, message_id: &str) -> Result<Option<String>, MailReadError> {
        let bare = message_id.trim_matches(['<', '>']);
        for id in self.ids(&format!("in:sent rfc822msgid:{bare}"), "10").await? {
            let is_it = self.headers(&id).await?.iter().any(|(name, value)| {
                let name = name.to_ascii_lowercase();
                (name == "message-id" || name.ends_with("original-message-id")) && value.trim() == message_id
            });
            if is_it {
                return Ok(Some(format!("Sent/{id}")));
            }
        }
        Ok(None)
    }

    async fn file_sent(&self, _mail: &FrozenMail) -> Result<(), MailReadError> {
        // Gmail files what it sends.
        Ok(())
    }

    /// The cursor is the newest bounce seen.
    async fn bounces(&self, since: Option<&str>) -> Result<(Vec<Bounce>, Option<String>), MailReadError> {
        let ids = self.ids("from:mailer-daemon newer_than:7d", MOST_BOUNCES).await?;
        let newest = ids.first().cloned().or_else(|| since.map(str::to_owned)).or_else(|| Some("none".to_owned()));
        let Some(since) = since else { return Ok((Vec::new(), newest)) };
        let mut found = Vec::new();
        for id in ids.iter().take_while(|id| *id != since) {
            found.extend(bounces_in(&self.raw(id).await?));
        }
        Ok((found, newest))
    }
}
