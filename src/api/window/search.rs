//! Search over everything that was said, asked and done.

use rusqlite::{Connection, params};

use super::wire::{Failure, SearchHit, Topic};

/// Hits of each kind.
const MOST: i64 = 12;

pub(super) fn hits(connection: &Connection, text: &str) -> Result<Vec<SearchHit>, Failure> {
    let escaped = text.trim().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    let like = format!("%{escaped}%");
    let mut found = Vec::new();
    let sources: [(Topic, &str); 4] = [
        (
            Topic::Conversations,
            "SELECT conversations.id, coalesce(nullif(conversations.title, ''), conversations.channel), inbound.text, inbound.received_at
             FROM inbound JOIN conversations ON conversations.id = inbound.conversation_id
             WHERE inbound.text LIKE ?1 ESCAPE '\\' AND conversations.erased_at IS NULL ORDER BY inbound.id DESC LIMIT ?2",
        ),
        (
            Topic::Conversations,
            "SELECT conversations.id, coalesce(nullif(conversations.title, ''), conversations.channel), outbound.content, outbound.queued_at
             FROM outbound JOIN conversations ON conversations.id = outbound.conversation_id
             WHERE outbound.content LIKE ?1 ESCAPE '\\' AND outbound.kind IN ('message', 'reply', 'notice')
               AND conversations.erased_at IS NULL ORDER BY outbound.id DESC LIMIT ?2",
        ),
        (
            Topic::Evidence,
            "SELECT id, summary, tool, created_at FROM effects
             WHERE summary LIKE ?1 ESCAPE '\\' OR action LIKE ?1 ESCAPE '\\' ORDER BY created_at DESC LIMIT ?2",
        ),
        (
            Topic::Approvals,
            "SELECT id, summary, state, requested_at FROM approvals
             WHERE summary LIKE ?1 ESCAPE '\\' AND state = 'pending' ORDER BY id DESC LIMIT ?2",
        ),
    ];
    for (topic, sql) in sources {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![like, MOST], |row| {
            let id: rusqlite::types::Value = row.get(0)?;
            let id = match id {
                rusqlite::types::Value::Integer(id) => id.to_string(),
                rusqlite::types::Value::Text(id) => id,
                _ => String::new(),
            };
            Ok(SearchHit { topic, id, title: row.get(1)?, snippet: row.get(2)?, at: row.get(3)? })
        })?;
        for row in rows {
            found.push(row?);
        }
    }
    found.sort_by_key(|hit| std::cmp::Reverse(hit.at));
    Ok(found)
}
