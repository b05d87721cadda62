//! `read_mail`: one mail in full; a read, so never meets the guard.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::parse;
use super::context::{CallContext, CallError, ToolResult};
use super::mail_access::{MAIL_IS_DATA, MailAccess, line, read_error};
use super::read_declaration::read;
use super::registry::Tool;
use super::schema;
use crate::domain::chat::ToolSpec;
use crate::domain::tool::ToolDeclaration;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id that search_mail gave.
    id: String,
}

pub(super) struct ReadMailTool {
    pub mail: MailAccess,
}

#[async_trait]
impl Tool for ReadMailTool {
    fn declaration(&self) -> ToolDeclaration {
        read("read_mail")
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>("read_mail", "Reads one mail with its thread and the names of its attachments.")
    }

    async fn call(&self, _context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let Arguments { id } = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(error.result()),
        };
        let reader = match self.mail.reader() {
            Ok(reader) => reader,
            Err(result) => return Ok(result),
        };
        let mail = match reader.read(&id).await {
            Ok(mail) => mail,
            Err(error) => return Ok(read_error(&error)),
        };
        let answers = self.mail.ours(mail.references.clone()).await?;
        let attachments: Vec<Value> = mail
            .attachments
            .iter()
            .map(|(name, mime, bytes)| json!({ "name": name, "type": mime, "bytes": bytes }))
            .collect();
        let mut content = line(&mail.summary);
        content["status"] = json!("ok");
        content["note"] = json!(MAIL_IS_DATA);
        content["cc"] = json!(mail.cc);
        content["message_id"] = json!(mail.summary.message_id);
        content["references"] = json!(mail.references);
        content["attachments"] = json!(attachments);
        content["text"] = json!(mail.text);
        if let Some(fields) = content.as_object_mut() {
            fields.remove("preview");
        }
        if !answers.is_empty() {
            content["answers_mail_you_sent"] = json!(answers);
        }
        Ok(ToolResult::new(content))
    }
}
