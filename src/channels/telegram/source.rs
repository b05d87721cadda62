//! The way in: one long poll at a time, whose offset the inbox keeps.

use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use teloxide::payloads::{GetFile, GetMe, GetUpdates, GetUpdatesSetters, SetMyCommands, SetMyCommandsSetters};
use teloxide::types::{AllowedUpdate, BotCommand, FileId};

use super::bot::{Bots, Me, Telegram, call};
use super::errors::poll_error;
use super::update;
use crate::domain::conversation::ChannelKind;
use crate::domain::language::Language;
use crate::domain::ports::{Batch, InboundSource, PollError};
use crate::runtime::redact::redact;

/// Updates per poll: the most the API gives.
const BATCH: u8 = 100;
/// The most a bot may fetch (<https://core.telegram.org/bots/api#getfile>).
const LARGEST_FILE: usize = 20 * 1024 * 1024;

#[async_trait]
impl InboundSource for Telegram {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    async fn account(&self) -> Result<String, PollError> {
        let bots = self.bots(true).await?;
        let answer = call(&bots.poll, GetMe::new()).await.map_err(|error| poll_error(&error))?;
        let Some(id) = answer.get("id").and_then(Value::as_i64) else {
            return Err(PollError::Offline { reason: "getMe names no id".to_owned() });
        };
        let username = answer.get("username").and_then(Value::as_str).unwrap_or_default().to_owned();
        let me = Me { id, username };
        let known = self.me.lock().unwrap_or_else(PoisonError::into_inner).replace(me.clone());
        if known.as_ref() != Some(&me) {
            tokio::spawn(name_commands(bots));
        }
        Ok(id.to_string())
    }

    fn public_name(&self) -> Option<String> {
        let me = self.me.lock().unwrap_or_else(PoisonError::into_inner);
        me.as_ref().map(|me| me.username.clone()).filter(|name| !name.is_empty())
    }

    async fn poll(&self, cursor: Option<i64>) -> Result<Batch, PollError> {
        let bots = self.bots(false).await?;
        let me = self.me.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(me) = me else { return Err(PollError::Offline { reason: "the bot is not known yet".to_owned() }) };
        let seconds = u32::try_from(self.settings.poll_timeout.as_secs()).unwrap_or(u32::MAX);
        let mut request = GetUpdates::new().timeout(seconds).limit(BATCH).allowed_updates([
            AllowedUpdate::Message,
            AllowedUpdate::EditedMessage,
            AllowedUpdate::CallbackQuery,
        ]);
        if let Some(offset) = cursor.and_then(|cursor| i32::try_from(cursor).ok()) {
            request = request.offset(offset);
        }
        let answer = tokio::select! {
            answer = call(&bots.poll, request) => answer.map_err(|error| poll_error(&error))?,
            () = self.renewed.notified() => return Err(PollError::RetryAfter(Duration::from_secs(1))),
        };
        let Value::Array(updates) = answer else {
            return Err(PollError::Offline { reason: "getUpdates gives no list".to_owned() });
        };
        let mut batch = Batch { inputs: Vec::with_capacity(updates.len()), next_cursor: cursor.unwrap_or(0) };
        for raw in updates {
            // The last one wins: ids restart after a quiet week, and then a lower one confirms.
            if let Some(id) = raw.get("update_id").and_then(Value::as_i64) {
                batch.next_cursor = id + 1;
            }
            batch.inputs.extend(update::input(raw, &me));
        }
        Ok(batch)
    }

    async fn fetch(&self, file: &str) -> Result<Vec<u8>, PollError> {
        let offline = |reason: &str| PollError::Offline { reason: redact(reason) };
        let bots = self.bots(false).await?;
        let answer =
            call(&bots.send, GetFile::new(FileId(file.to_owned()))).await.map_err(|error| poll_error(&error))?;
        let Some(path) = answer.get("file_path").and_then(Value::as_str) else {
            return Err(offline("the file is not offered for download"));
        };
        let base = self.settings.api_url.trim_end_matches('/');
        let url = format!("{base}/file/bot{}/{path}", bots.send.token());
        let mut response = bots.send.client().get(url).send().await.map_err(|error| offline(&error.to_string()))?;
        if !response.status().is_success() {
            return Err(offline(&format!("the file cannot be fetched: {}", response.status())));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| offline(&error.to_string()))? {
            if bytes.len() + chunk.len() > LARGEST_FILE {
                return Err(offline("the file is larger than 20 MB"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

/// Tells clients the commands, in both languages. Nothing depends on it.
async fn name_commands(bots: Bots) {
    for (code, language) in [(None, Language::En), (Some("en"), Language::En), (Some("es"), Language::Es)] {
        let commands = [
            ("help", "what I can do", "qué puedo hacer"),
            ("status", "what I am doing", "qué estoy haciendo"),
            ("stop", "stop what is running", "detener lo que está en marcha"),
            ("approvals", "what waits for your OK", "qué espera tu visto bueno"),
            ("did", "what I have done", "qué he hecho"),
            ("reset", "start afresh", "empezar de nuevo"),
        ]
        .map(|(name, en, es)| BotCommand::new(name, language.pick(en, es)));
        let mut request = SetMyCommands::new(commands);
        if let Some(code) = code {
            request = request.language_code(code);
        }
        if let Err(error) = call(&bots.send, request).await {
            tracing::debug!(error = redact(&error.to_string()), "the commands could not be named");
            return;
        }
    }
}
