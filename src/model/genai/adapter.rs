//! One model of one provider.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{self, ChatOptions, ChatStreamEvent, MessageContent, StopReason};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use secrecy::{ExposeSecret, SecretString};

use super::{convert, failure};
use crate::domain::chat::{ChatReply, ChatRequest, ModelError, Usage};
use crate::domain::ports::{ChatModel, StreamSink};
use crate::runtime::redact::remember_secret;
use crate::runtime::tls;

/// Whose wire format is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provider {
    /// OpenAI and every server that speaks its chat completions.
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

impl Provider {
    fn kind(self) -> AdapterKind {
        match self {
            Self::OpenAi => AdapterKind::OpenAI,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
            Self::Ollama => AdapterKind::Ollama,
        }
    }

    /// Where its API is unless configured otherwise; ends with a slash.
    pub fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://127.0.0.1:11434/",
        }
    }
}

/// Everything about one model.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    pub provider: Provider,
    pub model: String,
    /// Empty: the provider's own. With or without a slash at the end.
    pub base_url: String,
    /// `None` for servers on this machine that need none.
    pub api_key: Option<SecretString>,
    /// Until the first byte, and between two parts of the stream.
    pub request_timeout: Duration,
    /// Folder with attachments by SHA-256, for pictures.
    pub files: PathBuf,
}

/// A [`ChatModel`] at a provider.
pub struct GenaiModel {
    client: Client,
    settings: ProviderSettings,
    /// The server was asked for a stream and sent a whole answer: it does not know how.
    whole_only: AtomicBool,
}

impl GenaiModel {
    /// Fails only when no HTTP client can be made.
    pub fn new(settings: ProviderSettings) -> Result<Self, ModelError> {
        tls::install_provider();
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            // The turn decides what is tried again.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| ModelError::Refused { reason: format!("no HTTP client: {error}") })?;
        let client = Client::builder()
            .with_reqwest(http)
            .build()
            .map_err(|_| ModelError::Refused { reason: "the model client could not be made".to_owned() })?;
        if let Some(key) = &settings.api_key {
            remember_secret(key.expose_secret());
        }
        Ok(Self { client, settings, whole_only: AtomicBool::new(false) })
    }

    fn target(&self) -> ServiceTarget {
        let settings = &self.settings;
        let key = settings.api_key.as_ref().map_or("", |key| key.expose_secret());
        ServiceTarget {
            endpoint: Endpoint::from_owned(base_url(settings.provider, &settings.base_url)),
            // An empty key, not none: the OpenAI adapter insists on one, and local servers ignore it.
            auth: AuthData::from_single(key),
            model: ModelIden::new(settings.provider.kind(), settings.model.clone()),
        }
    }
}

/// With the slash that URL joining needs. The Ollama API proper lies beside its OpenAI-compatible `v1/`.
fn base_url(provider: Provider, configured: &str) -> String {
    let url = match configured.trim() {
        "" => provider.default_url(),
        url => url,
    };
    let url = url.trim_end_matches('/');
    match provider {
        Provider::Ollama => format!("{}/", url.strip_suffix("/v1").unwrap_or(url)),
        Provider::OpenAi | Provider::Anthropic | Provider::Gemini => format!("{url}/"),
    }
}

#[async_trait]
impl ChatModel for GenaiModel {
    fn name(&self) -> String {
        self.settings.model.clone()
    }

    async fn reply(&self, request: &ChatRequest, sink: &dyn StreamSink) -> Result<ChatReply, ModelError> {
        let options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_stream_header_timeout(self.settings.request_timeout)
            .with_stream_read_timeout(self.settings.request_timeout);
        let request = convert::request(request, &self.settings.files).await?;
        if self.whole_only.load(Ordering::Relaxed) {
            return self.at_once(request, &options, sink).await;
        }
        let mut stream = self
            .client
            .exec_chat_stream(self.target(), request.clone(), Some(&options))
            .await
            .map_err(|error| failure::classify(&error, false))?
            .stream;
        let mut begun = false;
        while let Some(event) = stream.next().await {
            match event.map_err(|error| failure::classify(&error, begun))? {
                ChatStreamEvent::Chunk(chunk) => {
                    begun = true;
                    sink.text(&chunk.content);
                }
                ChatStreamEvent::End(end) => {
                    return self.whole(
                        end.captured_stop_reason.as_ref(),
                        end.captured_content,
                        end.captured_usage.as_ref(),
                    );
                }
                ChatStreamEvent::ToolCallChunk(_)
                | ChatStreamEvent::ReasoningChunk(_)
                | ChatStreamEvent::ThoughtSignatureChunk(_) => begun = true,
                ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => {}
            }
        }
        // The body came to its end without one event in it. Only in OpenAI's dialect are there servers that do so.
        if begun || self.settings.provider != Provider::OpenAi {
            return Err(ModelError::Cut);
        }
        let reply = self.at_once(request, &options, sink).await.map_err(|error| match error {
            // Nothing readable either way: the connection, not the request, is at fault.
            ModelError::Refused { .. } => ModelError::Cut,
            told => told,
        })?;
        self.whole_only.store(true, Ordering::Relaxed);
        Ok(reply)
    }
}

impl GenaiModel {
    /// Without a stream, for servers that take no notice of the wish for one.
    async fn at_once(
        &self,
        request: chat::ChatRequest,
        options: &ChatOptions,
        sink: &dyn StreamSink,
    ) -> Result<ChatReply, ModelError> {
        let answer = tokio::time::timeout(
            self.settings.request_timeout,
            self.client.exec_chat(self.target(), request, Some(options)),
        )
        .await
        .map_err(|_| ModelError::Unavailable { reason: "no answer in time".to_owned(), retry_after: None })?
        .map_err(|error| failure::classify(&error, false))?;
        let reply = self.whole(answer.stop_reason.as_ref(), Some(answer.content), Some(&answer.usage))?;
        if !reply.text.is_empty() {
            sink.text(&reply.text);
        }
        Ok(reply)
    }

    fn whole(
        &self,
        stop: Option<&StopReason>,
        content: Option<MessageContent>,
        usage: Option<&chat::Usage>,
    ) -> Result<ChatReply, ModelError> {
        let truncated = match stop {
            // The crate ends these streams of its own accord when the connection just closes: no reason, no end.
            None if matches!(self.settings.provider, Provider::Gemini | Provider::Ollama) || content.is_none() => {
                return Err(ModelError::Cut);
            }
            Some(StopReason::ContentFilter(reason)) if content.is_none() => {
                return Err(ModelError::Refused { reason: format!("the answer was filtered ({reason})") });
            }
            Some(StopReason::MaxTokens(_)) => true,
            None
            | Some(
                StopReason::Completed(_)
                | StopReason::ToolCall(_)
                | StopReason::ContentFilter(_)
                | StopReason::StopSequence(_)
                | StopReason::Other(_),
            ) => false,
        };
        let usage = Usage {
            input_tokens: usage.and_then(|usage| usage.prompt_tokens).unwrap_or(0).into(),
            output_tokens: usage.and_then(|usage| usage.completion_tokens).unwrap_or(0).into(),
        };
        let (text, calls) = content.map(convert::reply).unwrap_or_default();
        Ok(ChatReply { text, calls, model: self.settings.model.clone(), usage, truncated })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_end_with_a_slash_and_ollama_has_its_own_api() {
        for (provider, configured, expected) in [
            (Provider::OpenAi, "", "https://api.openai.com/v1/"),
            (Provider::OpenAi, "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/"),
            (Provider::OpenAi, " http://127.0.0.1:8000/v1/ ", "http://127.0.0.1:8000/v1/"),
            (Provider::Ollama, "http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/"),
            (Provider::Ollama, "", "http://127.0.0.1:11434/"),
        ] {
            assert_eq!(base_url(provider, configured), expected);
        }
    }
}
