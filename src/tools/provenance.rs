//! Where the targets of an action come from: looked up in what people and tools wrote, never asked of the model.

use rusqlite::{Connection, params};
use serde_json::Value;

use crate::approvals;
use crate::domain::action::Action;
use crate::domain::address::{Mailbox, identity_of};
use crate::domain::ids::ConversationId;
use crate::domain::provenance::{TargetKind, TargetOrigin, TargetSource};
use crate::store::StoreError;

/// Steps of a conversation that are searched for a target that no owner wrote; newest first.
const STEPS: i64 = 200;

/// Source of every address and URL that `action` names.
pub fn trace(
    connection: &Connection,
    conversation: ConversationId,
    action: &Action,
    own_addresses: &[String],
) -> Result<Vec<TargetOrigin>, StoreError> {
    let mut targets: Vec<(TargetKind, String)> = Vec::new();
    match action {
        Action::SendEmail(mail) => {
            let people = mail.to.iter().chain(&mail.cc).chain(&mail.bcc);
            targets.extend(people.map(|person| (TargetKind::Mail, person.clone())));
        }
        Action::CreateEvent(event) => {
            targets.extend(event.guests.iter().map(|guest| (TargetKind::Mail, guest.clone())));
        }
        Action::UpdateEvent(update) => {
            let guests = update.changes.guests.iter().flatten();
            targets.extend(guests.map(|guest| (TargetKind::Mail, guest.clone())));
        }
        Action::DeleteEvent(_) => {}
        Action::Other(other) => texts(&other.arguments, &mut targets),
    }
    targets
        .into_iter()
        .map(|(kind, target)| {
            let source = source(connection, conversation, kind, &target, own_addresses)?;
            Ok(TargetOrigin { kind, target, source })
        })
        .collect()
}

/// Addresses and URLs among the texts of a tool's arguments.
fn texts(value: &Value, targets: &mut Vec<(TargetKind, String)>) {
    match value {
        Value::String(text) => {
            for word in
                text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '>' | '"' | '\'' | '(' | ')'))
            {
                let lower = word.to_lowercase();
                if lower.starts_with("http://") || lower.starts_with("https://") {
                    targets.push((TargetKind::Url, word.trim_end_matches(['.', '!', '?']).to_owned()));
                } else if word.contains('@') && Mailbox::parse(word.trim_end_matches('.')).is_ok() {
                    targets.push((TargetKind::Mail, word.trim_end_matches('.').to_owned()));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, targets)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, targets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The first URL among the arguments of a read that no owner wrote, configured or confirmed. An argument that is called
/// like an address counts as one, with a scheme or without: a read can carry what was read to whoever serves it.
pub(super) fn foreign_url(
    connection: &Connection,
    conversation: ConversationId,
    arguments: &Value,
) -> Result<Option<String>, StoreError> {
    let mut urls = Vec::new();
    addresses(arguments, false, &mut urls);
    for url in urls {
        // People write addresses without scheme and closing slash.
        let bare = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).trim_end_matches('/');
        let wrote = owner_wrote(connection, &bare.to_lowercase())?
            || matches!(source(connection, conversation, TargetKind::Url, &url, &[])?, TargetSource::Owner)
            || approvals::is_known(connection, TargetKind::Url, &url)?;
        if !wrote {
            return Ok(Some(url));
        }
    }
    Ok(None)
}

/// Everything in `value` that a server could take for an address.
fn addresses(value: &Value, named: bool, urls: &mut Vec<String>) {
    const NAMES: [&str; 8] = ["url", "uri", "link", "href", "endpoint", "host", "hostname", "domain"];
    match value {
        Value::String(text) if named && !text.trim().is_empty() => urls.push(text.trim().to_owned()),
        Value::String(text) => {
            let words =
                text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '>' | '"' | '\'' | '(' | ')'));
            let trimmed = words.map(|word| word.trim_end_matches(['.', '!', '?']));
            urls.extend(trimmed.filter(|word| word.contains("://") || word.starts_with("www.")).map(str::to_owned));
        }
        Value::Array(items) => items.iter().for_each(|item| addresses(item, named, urls)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            let name = name.to_lowercase();
            let named = name.split(['_', '-', '.']).any(|part| NAMES.contains(&part.trim_end_matches('s')));
            addresses(field, named, urls);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn source(
    connection: &Connection,
    conversation: ConversationId,
    kind: TargetKind,
    target: &str,
    own_addresses: &[String],
) -> Result<TargetSource, StoreError> {
    let needle = match kind {
        TargetKind::Mail => identity_of(target),
        TargetKind::Calendar | TargetKind::Url => target.to_lowercase(),
    };
    if kind == TargetKind::Mail && own_addresses.iter().any(|own| identity_of(own) == needle) {
        return Ok(TargetSource::Configuration);
    }
    if owner_wrote(connection, &needle)? || is_contact(connection, kind, &needle)? {
        return Ok(TargetSource::Owner);
    }
    match carrier(connection, conversation, &needle)? {
        Some(carrier) => Ok(TargetSource::Untrusted { carrier }),
        None if reads_outsiders(connection, conversation)? => Ok(TargetSource::Unseen),
        None => Ok(TargetSource::Model),
    }
}

/// Whether the model saw any text of this conversation that no owner wrote. What the assistant's own effects answered
/// is no such text.
fn reads_outsiders(connection: &Connection, conversation: ConversationId) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM inbound WHERE conversation_id = ?1
                        AND (parts ->> '$.forward' IS NOT NULL OR parts ->> '$.reply' IS NOT NULL
                             OR json_array_length(parts, '$.media') > 0 OR owner = 0))
             OR EXISTS (SELECT 1 FROM turn_steps s JOIN turns t ON t.id = s.turn_id
                        WHERE t.conversation_id = ?1 AND s.kind = 'tool_result'
                          AND COALESCE(s.content ->> '$.name', '') NOT IN
                              ('message', 'create_event', 'update_event', 'delete_event', 'send_email', 'remind_me',
                               'schedule_request', 'cancel_schedule', 'remember', 'forget'))",
    )?;
    Ok(statement.query_row([conversation], |row| row.get(0))?)
}

/// In their own words: not forwarded, not quoted, in any conversation.
pub(super) fn owner_wrote(connection: &Connection, needle: &str) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT text FROM inbound
         WHERE owner = 1 AND kind IN ('message', 'edit') AND state IN ('merged', 'buffered')
           AND parts ->> '$.forward' IS NULL AND instr(lower(text), ?1) > 0
         ORDER BY id DESC LIMIT 20",
    )?;
    let rows = statement.query_map([needle], |row| row.get::<_, String>(0))?;
    for text in rows {
        if mentions(&text?, needle) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_contact(connection: &Connection, kind: TargetKind, needle: &str) -> Result<bool, StoreError> {
    if kind != TargetKind::Mail {
        return Ok(false);
    }
    let mut statement = connection.prepare_cached(
        "SELECT address FROM facts WHERE kind = 'contact' AND erased_at IS NULL AND address IS NOT NULL",
    )?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    for address in rows {
        if identity_of(&address?) == needle {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What brought the target here, if anything that was read has it.
fn carrier(connection: &Connection, conversation: ConversationId, needle: &str) -> Result<Option<String>, StoreError> {
    let mut forwarded = connection.prepare_cached(
        "SELECT text || ' ' || COALESCE(parts ->> '$.reply.text', '') || ' '
                || COALESCE((SELECT group_concat(value ->> '$.text', ' ') FROM json_each(parts, '$.media')), '')
         FROM inbound
         WHERE conversation_id = ?1
           AND (parts ->> '$.forward' IS NOT NULL OR parts ->> '$.reply' IS NOT NULL OR owner = 0
                OR json_array_length(parts, '$.media') > 0)
         ORDER BY id DESC LIMIT ?2",
    )?;
    let texts = forwarded.query_map(params![conversation, STEPS], |row| row.get::<_, String>(0))?;
    for text in texts {
        if mentions(&text?, needle) {
            return Ok(Some("a forwarded or quoted message".to_owned()));
        }
    }
    let mut results = connection.prepare_cached(
        "SELECT s.content FROM turn_steps s JOIN turns t ON t.id = s.turn_id
         WHERE t.conversation_id = ?1 AND s.kind = 'tool_result' ORDER BY s.id DESC LIMIT ?2",
    )?;
    let steps = results.query_map(params![conversation, STEPS], |row| row.get::<_, String>(0))?;
    for step in steps {
        let step = step?;
        if mentions(&step, needle) {
            let tool = serde_json::from_str::<Value>(&step)
                .ok()
                .and_then(|step| step.get("name")?.as_str().map(str::to_owned))
                .unwrap_or_default();
            return Ok(Some(format!("a result of {tool}")));
        }
    }
    Ok(None)
}

/// `needle` (lower case) stands in `text` as a word of its own: `a@example.test` is not in `ana@example.test`.
fn mentions(text: &str, needle: &str) -> bool {
    if needle.is_empty() {
        return false;
    }
    let text = text.to_lowercase();
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-' | '@' | '/');
    text.match_indices(needle).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + found.len()..].chars();
        let next = after.next();
        // A full stop at the end of a sentence is no part of an address.
        let goes_on = match next {
            Some('.') => after.next().is_some_and(|c| c.is_alphanumeric()),
            Some(c) => inner(c),
            None => false,
        };
        !before.is_some_and(inner) && !goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_word_of_its_own() {
        for (text, found) in [
            ("write to a@example.test.", true),
            ("<A@Example.Test>", true),
            ("a@example.test, b@example.test", true),
            ("ana@example.test", false),
            ("a@example.test.evil.test", false),
            ("a@example.testing", false),
            ("x+a@example.test", false),
        ] {
            assert_eq!(mentions(text, "a@example.test"), found, "{text}");
        }
    }

    #[test]
    fn a_reads_addresses_are_found_by_shape_and_by_name() {
        let mut urls = Vec::new();
        let arguments = serde_json::json!({
            "query": "see ftp://a.test/x, www.b.test.", "page_url": "c.test/y", "urls": ["d.test"], "title": "e.test",
        });
        addresses(&arguments, false, &mut urls);
        urls.sort();
        assert_eq!(urls, ["c.test/y", "d.test", "ftp://a.test/x", "www.b.test"]);
    }

    #[test]
    fn arguments_are_searched_for_addresses_and_links() {
        let mut targets = Vec::new();
        texts(
            &serde_json::json!({"a": ["see https://x.test/p?q=1."], "b": {"c": "to bo@example.test, 3@"}}),
            &mut targets,
        );
        assert_eq!(
            targets,
            [(TargetKind::Url, "https://x.test/p?q=1".to_owned()), (TargetKind::Mail, "bo@example.test".to_owned())]
        );
    }
}
