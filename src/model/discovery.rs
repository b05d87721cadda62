//! Model servers on this machine, found on their usual ports, and whether a model can call tools.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::chat::{ChatMessage, ChatRequest, ModelError, ToolSpec};
use crate::domain::ports::{ChatModel, NoSink};
use crate::runtime::tls;

/// A server on loopback answers at once or is not there.
const PATIENCE: Duration = Duration::from_millis(800);

/// A model server that answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ts_rs::TS)]
pub struct LocalServer {
    /// What usually listens there: `Ollama`, `LM Studio`, `llama.cpp`, `vLLM`.
    pub name: String,
    /// `openai` or `ollama`, as in `model.provider`.
    pub provider: String,
    /// For `model.base_url`.
    pub base_url: String,
    pub models: Vec<String>,
}

/// Where to look: (name, provider, base URL). The ports are the defaults of each server's documentation.
pub const USUAL: [(&str, &str, &str); 4] = [
    ("Ollama", "ollama", "http://127.0.0.1:11434/"),
    ("LM Studio", "openai", "http://127.0.0.1:1234/v1/"),
    ("llama.cpp", "openai", "http://127.0.0.1:8080/v1/"),
    ("vLLM", "openai", "http://127.0.0.1:8000/v1/"),
];

/// Asks every place for its models, side by side. What does not answer like a model server is left out.
pub async fn find(places: &[(&str, &str, &str)]) -> Vec<LocalServer> {
    tls::install_provider();
    let Ok(client) = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build() else { return Vec::new() };
    let asked = places.iter().map(|(name, provider, base_url)| {
        let client = client.clone();
        async move {
            let models = models(&client, provider, base_url).await?;
            Some(LocalServer {
                name: (*name).to_owned(),
                provider: (*provider).to_owned(),
                base_url: (*base_url).to_owned(),
                models,
            })
        }
    });
    futures::future::join_all(asked).await.into_iter().flatten().collect()
}

async fn models(client: &reqwest::Client, provider: &str, base_url: &str) -> Option<Vec<String>> {
    // Ollama: GET /api/tags; the others: GET /v1/models of the OpenAI API.
    let (path, list, name) =
        if provider == "ollama" { ("api/tags", "models", "name") } else { ("models", "data", "id") };
    let answer: Value = client.get(format!("{base_url}{path}")).send().await.ok()?.json().await.ok()?;
    let entries = answer.get(list)?.as_array()?;
    Some(entries.iter().filter_map(|entry| Some(entry.get(name)?.as_str()?.to_owned())).collect())
}

/// What a live test of a model showed.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolCheck {
    /// It called the tool with the arguments asked for.
    Works,
    /// It answers, but with words instead of a call, or with a wrong call: the assistant could not act.
    NoToolCalls {
        said: String,
    },
    Failed(ModelError),
}

/// Asks the model for one harmless tool call.
pub async fn check_tools(model: &dyn ChatModel) -> ToolCheck {
    let request = ChatRequest {
        system: "You call tools when you are asked to.".to_owned(),
        messages: vec![ChatMessage::User {
            text: "Call the tool note with the text \"ready\". Do not answer in words.".to_owned(),
            images: Vec::new(),
        }],
        tools: vec![ToolSpec {
            name: "note".to_owned(),
            description: "Notes a text.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": { "text": { "type": "string", "description": "the text to note" } },
                "required": ["text"],
            }),
        }],
    };
    match model.reply(&request, &NoSink).await {
        Ok(reply) => {
            let noted = reply.calls.iter().any(|call| {
                call.name == "note"
                    && call.arguments.get("text").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
            });
            if noted {
                return ToolCheck::Works;
            }
            let said = if reply.text.trim().is_empty() { "nothing".to_owned() } else { reply.text };
            ToolCheck::NoToolCalls { said: said.chars().take(200).collect() }
        }
        Err(error) => ToolCheck::Failed(error),
    }
}
