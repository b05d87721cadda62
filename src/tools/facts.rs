//! `remember`, `recall`, `forget`: facts and contacts.
//!
//! A contact's address counts as the person's own word afterwards, so it is kept only if an owner wrote it.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{ArgumentError, parse};
use super::context::{CallContext, CallError, ToolResult};
use super::own::fence;
use super::read_declaration::read;
use super::registry::Tool;
use super::{provenance, schema};
use crate::domain::address::Mailbox;
use crate::domain::chat::ToolSpec;
use crate::domain::ids::FactId;
use crate::domain::ports::Clock;
use crate::domain::tool::ToolDeclaration;
use crate::memory::{self, Fact, FactKind, NewFact};
use crate::store::{Durability, Store};

/// Facts in one answer.
const MOST: usize = 30;
/// A fact is a sentence, not a document.
const LONGEST: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RememberArguments {
    /// What to keep, as one sentence. Only what the person said themselves.
    text: String,
    /// For a contact: their name.
    name: Option<String>,
    /// For a contact: the mail address, exactly as the person wrote it.
    address: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RecallArguments {
    /// Words to look for; empty for everything.
    query: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForgetArguments {
    /// As given by recall.
    id: String,
}

#[derive(Clone, Copy)]
enum Which {
    Remember,
    Recall,
    Forget,
}

struct FactTool {
    which: Which,
    store: Store,
    clock: Arc<dyn Clock>,
}

/// The three tools, ready for the registry.
pub(super) fn memory_tools(store: &Store, clock: &Arc<dyn Clock>) -> Vec<Arc<dyn Tool>> {
    [Which::Remember, Which::Recall, Which::Forget]
        .into_iter()
        .map(|which| Arc::new(FactTool { which, store: store.clone(), clock: clock.clone() }) as Arc<dyn Tool>)
        .collect()
}

#[async_trait]
impl Tool for FactTool {
    fn declaration(&self) -> ToolDeclaration {
        read(match self.which {
            Which::Remember => "remember",
            Which::Recall => "recall",
            Which::Forget => "forget",
        })
    }

    fn spec(&self) -> ToolSpec {
        let name = self.declaration().name;
        match self.which {
            Which::Remember => {
                schema::spec::<RememberArguments>(&name, "Keeps a fact or a contact that the person told you to keep.")
            }
            Which::Recall => {
                schema::spec::<RecallArguments>(&name, "Looks up kept facts and contacts, e.g. a person's address.")
            }
            Which::Forget => schema::spec::<ForgetArguments>(&name, "Erases a kept fact or contact."),
        }
    }

    async fn call(&self, context: &CallContext, arguments: &Value) -> Result<ToolResult, CallError> {
        match self.which {
            Which::Remember => match parse(arguments) {
                Ok(given) => self.remember(context, given).await,
                Err(error) => Ok(error.result()),
            },
            Which::Recall => match parse::<RecallArguments>(arguments) {
                Ok(given) => {
                    let found = self.store.read(move |connection| memory::recall(connection, &given.query, MOST));
                    let found: Vec<Value> = found.await?.iter().map(row).collect();
                    Ok(ToolResult::new(json!({ "status": "ok", "facts": found })))
                }
                Err(error) => Ok(error.result()),
            },
            Which::Forget => match parse::<ForgetArguments>(arguments) {
                Ok(given) => self.forget(context, &given.id).await,
                Err(error) => Ok(error.result()),
            },
        }
    }
}

impl FactTool {
    async fn remember(&self, context: &CallContext, given: RememberArguments) -> Result<ToolResult, CallError> {
        let text = given.text.trim().to_owned();
        if text.is_empty() || text.len() > LONGEST {
            let problem = format!("the text has {} bytes", text.len());
            return Ok(ArgumentError::new("text", problem, "one sentence").result());
        }
        let trimmed = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let (name, address) = (trimmed(given.name), trimmed(given.address));
        if let Some(address) = &address {
            if name.is_none() {
                return Ok(ArgumentError::new("name", "an address without a name", "whose address it is").result());
            }
            let identity = match Mailbox::parse(address) {
                Ok(mailbox) => mailbox.identity(),
                Err(error) => return Ok(ArgumentError::new("address", error.to_string(), "one mail address").result()),
            };
            let wrote = self.store.read(move |connection| provenance::owner_wrote(connection, &identity)).await?;
            if !wrote {
                let message = format!(
                    "the person never wrote the address {address}: nothing was kept. Ask them to write it themselves"
                );
                return Ok(ToolResult::error("not_the_persons_word", message));
            }
        }
        let kind = if address.is_some() { FactKind::Contact } else { FactKind::Fact };
        let new = NewFact { kind, text, name, address, said_by: format!("conversation:{}", context.conversation) };
        let (now, call) = (self.clock.now(), context.clone());
        let (id, fresh) = self
            .store
            .write("memory.remember", Durability::Full, move |tx| {
                fence(tx, &call)?;
                memory::remember(tx, now, &new).map_err(CallError::Store)
            })
            .await?;
        Ok(ToolResult::new(json!({ "status": "done", "id": id, "was_known": !fresh })))
    }

    async fn forget(&self, context: &CallContext, id: &str) -> Result<ToolResult, CallError> {
        let Ok(id) = id.trim().parse::<FactId>() else {
            return Ok(ArgumentError::new("id", format!("{id:?} is no id"), "an id from recall").result());
        };
        let (now, call) = (self.clock.now(), context.clone());
        let forgotten = self
            .store
            .write("memory.forget", Durability::Full, move |tx| {
                fence(tx, &call)?;
                memory::forget(tx, now, id).map_err(CallError::Store)
            })
            .await?;
        Ok(match forgotten {
            Some(fact) => ToolResult::new(json!({ "status": "done", "forgotten": row(&fact) })),
            None => ToolResult::error("not_found", format!("nothing is kept under id {id}")),
        })
    }
}

fn row(fact: &Fact) -> Value {
    let mut row = json!({ "id": fact.id, "kind": fact.kind, "text": fact.text });
    if let Some(name) = &fact.name {
        row["name"] = json!(name);
    }
    if let Some(address) = &fact.address {
        row["address"] = json!(address);
    }
    row
}
