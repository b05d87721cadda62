//! Our words to the crate's and back.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use genai::chat::{self as wire, ContentPart, MessageContent};

use crate::domain::chat::{ChatMessage, ChatRequest, ImagePart, ModelError, ToolCall};

/// The request as it leaves. Pictures are read from `files`; one that is gone is named in the text instead.
pub(super) async fn request(request: &ChatRequest, files: &Path) -> Result<wire::ChatRequest, ModelError> {
    let mut messages: Vec<wire::ChatMessage> = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match message {
            ChatMessage::User { text, images } => {
                let mut parts = vec![ContentPart::from_text(text.clone())];
                for image in images {
                    parts.push(picture(image, files).await);
                }
                messages.push(wire::ChatMessage::user(MessageContent::from_parts(parts)));
            }
            ChatMessage::Assistant { text, calls } => {
                let mut parts = Vec::with_capacity(calls.len() + 1);
                if !text.is_empty() {
                    parts.push(ContentPart::from_text(text.clone()));
                }
                parts.extend(calls.iter().map(|call| ContentPart::ToolCall(call_out(call))));
                messages.push(wire::ChatMessage::assistant(MessageContent::from_parts(parts)));
            }
            ChatMessage::ToolResult { call_id, name, content } => {
                let response = wire::ToolResponse::new(call_id.clone(), content.clone()).with_fn_name(name.clone());
                messages.push(wire::ChatMessage::from(response));
            }
        }
    }
    let mut out = wire::ChatRequest::new(messages).with_system(request.system.clone());
    if !request.tools.is_empty() {
        out = out.with_tools(request.tools.iter().map(|tool| {
            wire::Tool::new(tool.name.clone())
                .with_description(tool.description.clone())
                .with_schema(tool.schema.clone())
        }));
    }
    Ok(out)
}

async fn picture(image: &ImagePart, files: &Path) -> ContentPart {
    match tokio::fs::read(files.join(&image.sha256)).await {
        Ok(bytes) => ContentPart::from_binary_base64(image.mime.clone(), STANDARD.encode(bytes), None),
        Err(error) => {
            tracing::warn!(%error, "a picture could not be read for the model");
            ContentPart::from_text("[a picture that can no longer be read]")
        }
    }
}

fn call_out(call: &ToolCall) -> wire::ToolCall {
    wire::ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        // Providers take objects only; broken text goes back as the model can read it.
        fn_arguments: match &call.arguments {
            serde_json::Value::Object(_) => call.arguments.clone(),
            serde_json::Value::Null => serde_json::json!({}),
            other => serde_json::json!({ "unreadable": other.to_string() }),
        },
        thought_signatures: None,
    }
}

/// Text and calls of a reply. Arguments that were no JSON stay text.
pub(super) fn reply(content: MessageContent) -> (String, Vec<ToolCall>) {
    let text = content.texts().concat();
    let calls = content
        .into_tool_calls()
        .into_iter()
        .map(|call| ToolCall { id: call.call_id, name: call.fn_name, arguments: call.fn_arguments })
        .collect();
    (text, calls)
}
