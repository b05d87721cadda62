//! `search_mail`: finds mails; a read, so never meets the guard.

use std::collections::HashSet;

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

/// As many as a model can look through at once.
const MOST: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Words, and any of from:ana to:bo subject:offer since:2026-11-01 before:2026-12-01 thread:MESSAGE-ID unread in:sent. Quotes keep words together.
    query: String,
}

pub(super) struct SearchMailTool {
    pub mail: MailAccess,
}

#[async_trait]
impl Tool for SearchMailTool {
    fn declaration(&self) -> ToolDeclaration {
        read("search_mail")
    }

    fn spec(&self) -> ToolSpec {
        schema::spec::<Arguments>("search_mail", "Finds mails, newest first. read_mail takes the ids it gives.")
    }

    async fn call(&self, _context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let Arguments { query } = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(error.result()),
        };
        let reader = match self.mail.reader() {
            Ok(reader) => reader,
            Err(result) => return Ok(result),
        };
        match reader.search(&query, MOST).await {
            Ok(found) => {
                // The same mail twice in the mailbox is one mail.
                let mut seen = HashSet::new();
                let mails: Vec<Value> = found
                    .iter()
                    .filter(|mail| mail.message_id.as_ref().is_none_or(|id| seen.insert(id.clone())))
                    .map(line)
                    .collect();
                let saved_only = self.mail.sender.saves_only();
                let mut content = json!({ "status": "ok", "note": MAIL_IS_DATA, "mails": mails });
                if saved_only {
                    content["mailbox"] = json!("mails saved as files on this computer; no mail account is set up");
                }
                Ok(ToolResult::new(content))
            }
            Err(error) => Ok(read_error(&error)),
        }
    }
}
