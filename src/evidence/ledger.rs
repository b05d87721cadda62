//! "Did you do it?": what was done, what waits and what is in doubt, found by the words of the action itself.
//!
//! The command `/did` and the tool `recent_actions` both answer from here, so they cannot disagree.

use rusqlite::{Connection, params};

use crate::domain::ids::EffectId;
use crate::domain::time::Wall;
use crate::store::StoreError;

/// One effect as it is told.
#[derive(Clone, PartialEq, Debug)]
pub struct LedgerEntry {
    pub effect: EffectId,
    pub asked_at: Wall,
    pub tool: String,
    pub account: String,
    /// As in the table; see [`crate::domain::effect::EffectState`].
    pub state: String,
    pub partial: bool,
    pub summary: String,
    pub provider_id: Option<String>,
    pub message_id: Option<String>,
    pub last_error: Option<String>,
    pub done_at: Option<Wall>,
    /// Of its last change.
    pub updated_at: Wall,
}

/// At most `most` effects asked for since `since` whose title, recipients or text hold every word of `text`, newest first.
pub fn ledger(
    connection: &Connection,
    text: &str,
    since: Option<Wall>,
    most: usize,
) -> Result<Vec<LedgerEntry>, StoreError> {
    let words: Vec<String> = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut statement = connection.prepare_cached(
        "SELECT id, created_at, tool, account, state, partial, summary, provider_id, message_id, last_error, accepted_at,
                updated_at, action
         FROM effects WHERE created_at >= ?1 ORDER BY created_at DESC, id DESC",
    )?;
    let mut rows = statement.query(params![since.unwrap_or(Wall(i64::MIN))])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() >= most {
            break;
        }
        let (summary, action): (String, String) = (row.get(6)?, row.get(12)?);
        let said = format!("{summary} {action}").to_lowercase();
        if !words.iter().all(|word| said.contains(word)) {
            continue;
        }
        found.push(LedgerEntry {
            effect: row.get(0)?,
            asked_at: row.get(1)?,
            tool: row.get(2)?,
            account: row.get(3)?,
            state: row.get(4)?,
            partial: row.get(5)?,
            summary,
            provider_id: row.get(7)?,
            message_id: row.get(8)?,
            last_error: row.get(9)?,
            done_at: row.get(10)?,
            updated_at: row.get(11)?,
        });
    }
    Ok(found)
}
