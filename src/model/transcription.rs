//! Voice notes into text, by any server with OpenAI's `audio/transcriptions`
//! (<https://platform.openai.com/docs/api-reference/audio/createTranscription>): also one on this machine.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::multipart::{Form, Part};
use secrecy::ExposeSecret;
use serde::Deserialize;

use crate::domain::ports::{SecretError, Transcriber};
use crate::runtime::redact::redact;
use crate::runtime::secrets::Secret;
use crate::runtime::tls;

/// Longest wait for one note; debounce waits no longer than its own limit anyway.
const PATIENCE: Duration = Duration::from_secs(60);

/// A transcription server.
pub struct HttpTranscriber {
    client: reqwest::Client,
    url: String,
    model: String,
    key: Secret,
}

#[derive(Deserialize)]
struct Heard {
    text: String,
}

impl HttpTranscriber {
    /// `base_url` with or without a slash at the end. Fails only when no HTTP client can be made.
    pub fn new(base_url: &str, model: &str, key: Secret) -> Result<Self, String> {
        tls::install_provider();
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .timeout(PATIENCE)
            .build()
            .map_err(|error| error.to_string())?;
        let url = format!("{}/audio/transcriptions", base_url.trim_end_matches('/'));
        Ok(Self { client, url, model: model.to_owned(), key })
    }

    async fn hear(&self, audio: Vec<u8>, mime: &str) -> Result<String, String> {
        let name = format!("note.{}", extension(mime));
        let part = Part::bytes(audio).file_name(name).mime_str(mime).map_err(|error| error.to_string())?;
        let mut form = Form::new().part("file", part);
        if !self.model.is_empty() {
            form = form.text("model", self.model.clone());
        }
        let mut request = self.client.post(&self.url).multipart(form);
        match self.key.read().await {
            Ok(Some(key)) => request = request.bearer_auth(key.expose_secret()),
            // A server on this machine needs none.
            Ok(None) | Err(SecretError::Missing { .. } | SecretError::Unavailable { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let status = answer.status();
        if !status.is_success() {
            return Err(format!("the transcription server answered {status}"));
        }
        let heard: Heard = answer.json().await.map_err(|error| error.to_string())?;
        Ok(heard.text.trim().to_owned())
    }
}

#[async_trait]
impl Transcriber for HttpTranscriber {
    async fn transcribe(&self, audio: Vec<u8>, mime: &str) -> Result<String, String> {
        self.hear(audio, mime).await.map_err(|reason| redact(&reason))
    }
}

/// Servers go by the file's name.
fn extension(mime: &str) -> &'static str {
    match mime {
        "audio/mpeg" => "mp3",
        "audio/mp4" | "audio/x-m4a" => "m4a",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/webm" => "webm",
        // Voice notes of Telegram, and what names no type.
        _ => "ogg",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use axum::body::Bytes;
    use axum::routing::post;
    use axum::{Json, Router};
    use http::{HeaderMap, StatusCode};
    use serde_json::json;

    use super::*;

    async fn server() -> String {
        let answer = |headers: HeaderMap, body: Bytes| async move {
            let body = String::from_utf8_lossy(&body).into_owned();
            let whole = body.contains("name=\"model\"\r\n\r\nwhisper-1")
                && body.contains("filename=\"note.ogg\"")
                && body.contains("SOUND");
            let signed = headers.get("authorization").is_some_and(|value| value == "Bearer key-123456");
            match (signed, whole) {
                (true, true) => Ok(Json(json!({ "text": " reserva mesa para dos \n" }))),
                (false, _) => Err(StatusCode::UNAUTHORIZED),
                (true, false) => Err(StatusCode::BAD_REQUEST),
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/v1/audio/transcriptions", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}/v1/")
    }

    #[tokio::test]
    async fn a_note_is_sent_whole_and_a_refusal_is_told_in_words() {
        let url = server().await;
        let key = |value| Secret::fixed("model.transcription.api_key", value);
        let hears = HttpTranscriber::new(&url, "whisper-1", key("key-123456")).unwrap();
        let heard = hears.transcribe(b"SOUND".to_vec(), "audio/ogg").await;
        assert_eq!(heard.as_deref(), Ok("reserva mesa para dos"));
        let deaf = HttpTranscriber::new(&url, "whisper-1", key("wrong-key")).unwrap();
        let refused = deaf.transcribe(b"SOUND".to_vec(), "audio/ogg").await.unwrap_err();
        assert!(refused.contains("401"), "{refused}");
    }
}
