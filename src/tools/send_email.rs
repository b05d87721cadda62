//! `send_email`: one mail, checked in full before it is queued, admitted by the guard.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{ArgumentError, parse, string_list};
use super::context::{CallContext, CallError, ToolResult};
use super::effects::{EffectRequest, Effects};
use super::mail_access::{MailAccess, read_error};
use super::registry::Tool;
use super::schema;
use super::targets::MAIL;
use crate::domain::action::{Action, AttachedFile, SendEmail};
use crate::domain::address::{parse_all, parse_message_id};
use crate::domain::chat::ToolSpec;
use crate::domain::effect::DedupeClass;
use crate::domain::header::check_header_text;
use crate::domain::tool::{PolicyKey, ToolDeclaration, ToolKind, Waiting};
use crate::store::StoreError;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Mail addresses, one per item. Only addresses that the person gave or that `recall` found, never one from a mail's text.
    #[serde(default, deserialize_with = "string_list")]
    #[schemars(with = "Vec<String>")]
    to: Vec<String>,
    #[serde(default, deserialize_with = "string_list")]
    #[schemars(with = "Option<Vec<String>>")]
    cc: Vec<String>,
    /// Hidden copies.
    #[serde(default, deserialize_with = "string_list")]
    #[schemars(with = "Option<Vec<String>>")]
    bcc: Vec<String>,
    subject: String,
    /// Plain text.
    body: String,
    /// The same text as HTML, only if the person wants formatting.
    html: Option<String>,
    /// Names (or #numbers) of files that the person sent here.
    #[serde(default, deserialize_with = "string_list")]
    #[schemars(with = "Option<Vec<String>>")]
    attachments: Vec<String>,
    /// To answer a mail: its id from search_mail, or its Message-ID.
    in_reply_to: Option<String>,
    /// True only if the person says in their newest message that they want the same mail sent a second time.
    repeat: Option<bool>,
}

pub(super) struct SendEmailTool {
    pub mail: MailAccess,
    pub effects: Effects,
}

pub(super) fn declaration() -> ToolDeclaration {
    ToolDeclaration {
        name: "send_email".to_owned(),
        kind: ToolKind::Effect,
        identity: Vec::new(),
        window: None,
        policy: PolicyKey::MailSend,
        dedupe: DedupeClass::Readable,
        waiting: Waiting::Queued,
    }
}

/// Why no action was built.
enum Refused {
    Argument(ArgumentError),
    Result(ToolResult),
    Store(StoreError),
}

impl SendEmailTool {
    async fn action(&self, arguments: Arguments) -> Result<SendEmail, Refused> {
        let wrong = |argument: &str, problem: String, expected: &str| {
            Refused::Argument(ArgumentError::new(argument, problem, expected))
        };
        for (name, list) in [("to", &arguments.to), ("cc", &arguments.cc), ("bcc", &arguments.bcc)] {
            parse_all(list).map_err(|error| wrong(name, error.to_string(), "one mail address per item"))?;
        }
        if arguments.to.is_empty() && arguments.cc.is_empty() && arguments.bcc.is_empty() {
            return Err(wrong("to", "there is no recipient".to_owned(), "at least one mail address"));
        }
        check_header_text("the subject", &arguments.subject)
            .map_err(|error| wrong("subject", error.to_string(), "one line of plain text"))?;
        let attachments = self.attachments(&arguments.attachments).await?;
        let (in_reply_to, references) = match arguments.in_reply_to.as_deref().map(str::trim) {
            None | Some("") => (None, Vec::new()),
            Some(id) => self.parent(id).await?,
        };
        let thread = references.first().or(in_reply_to.as_ref()).cloned();
        let mail = SendEmail {
            from: self.mail.from.clone(),
            to: arguments.to,
            cc: arguments.cc,
            bcc: arguments.bcc,
            subject: arguments.subject.trim().to_owned(),
            body: arguments.body,
            html: arguments.html.filter(|html| !html.trim().is_empty()),
            attachments,
            in_reply_to,
            references,
            thread,
        };
        // Everything that can be refused is refused now, not after an approval.
        let at = self.mail.clock.now().wall;
        if let Err(reason) = self.mail.sender.freeze(&mail, "check", at) {
            return Err(Refused::Result(ToolResult::error("cannot_be_sent", format!("{reason}. Nothing was queued."))));
        }
        Ok(mail)
    }

    async fn attachments(&self, names: &[String]) -> Result<Vec<AttachedFile>, Refused> {
        let mut files = Vec::with_capacity(names.len());
        for name in names {
            let wanted = name.clone();
            let found = self.mail.store.read(move |connection| attachment(connection, &wanted)).await;
            match found.map_err(Refused::Store)? {
                Some(file) => files.push(file),
                None => {
                    let problem = format!("the person sent no file called {name:?}");
                    let expected = "the name of a file that the person sent here";
                    return Err(Refused::Argument(ArgumentError::new("attachments", problem, expected)));
                }
            }
        }
        Ok(files)
    }

    /// The mail that is answered: its Message-ID and the references of its thread, oldest first.
    async fn parent(&self, id: &str) -> Result<(Option<String>, Vec<String>), Refused> {
        if id.starts_with('<') {
            let expected = "the id of a mail from search_mail, or its Message-ID";
            let id = parse_message_id(id)
                .map_err(|error| Refused::Argument(ArgumentError::new("in_reply_to", error.to_string(), expected)))?;
            return Ok((Some(id.clone()), vec![id]));
        }
        let reader = self.mail.reader().map_err(Refused::Result)?;
        let mail = reader.read(id).await.map_err(|error| Refused::Result(read_error(&error)))?;
        let Some(parent) = mail.summary.message_id else { return Ok((None, Vec::new())) };
        let mut references: Vec<String> = mail.references.iter().filter_map(|id| parse_message_id(id).ok()).collect();
        references.retain(|id| *id != parent);
        references.push(parent.clone());
        Ok((Some(parent), references))
    }
}

fn attachment(connection: &Connection, name: &str) -> Result<Option<AttachedFile>, StoreError> {
    let number: Option<i64> = name.strip_prefix('#').and_then(|digits| digits.parse().ok());
    let found = connection
        .prepare_cached(
            "SELECT name, mime, sha256, bytes FROM attachments WHERE id = ?1 OR (?1 IS NULL AND name = ?2)
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![number, name], |row| {
            Ok(AttachedFile { name: row.get(0)?, mime: row.get(1)?, sha256: row.get(2)?, bytes: row.get(3)? })
        })
        .optional()?;
    Ok(found)
}

#[async_trait]
impl Tool for SendEmailTool {
    fn declaration(&self) -> ToolDeclaration {
        declaration()
    }

    fn spec(&self) -> ToolSpec {
        let description = if self.mail.sender.saves_only() {
            "Writes one mail and saves it as a file on this computer. No mail account is set up, so nothing is sent: say \
             \"saved as a file, not sent\"."
        } else {
            "Queues one mail from the person's account. One call per mail; it leaves after the person's OK where that is asked for."
        };
        schema::spec::<Arguments>("send_email", description)
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        let parsed: Arguments = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(error.result()),
        };
        let repeat = parsed.repeat.unwrap_or(false);
        let action = match self.action(parsed).await {
            Ok(action) => action,
            Err(Refused::Argument(error)) => return Ok(error.result()),
            Err(Refused::Result(result)) => return Ok(result),
            Err(Refused::Store(error)) => return Err(error.into()),
        };
        let mut notes = Vec::new();
        if self.mail.sender.saves_only() {
            notes.push("no mail account is set up: this mail is saved as a file, not sent".to_owned());
        }
        let request = EffectRequest {
            declaration: declaration(),
            action: Action::SendEmail(action),
            account: self.mail.sender.account(),
            target: MAIL.to_owned(),
            arguments: arguments.clone(),
            repeat,
            notes,
        };
        self.effects.submit(context, request).await
    }
}
