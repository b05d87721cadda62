//! Verification: any edit, insertion, reordering or deletion, and a tail that was cut off.
//!
//! The chain alone cannot show a cut tail; an anchored head (sequence and hash of an entry known to be on disk) can.

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::append::{GENESIS, chain_hash};
use super::query::{Personal, Stored, chain_page, personal};
use crate::runtime::hash::sha256_parts;
use crate::store::StoreError;

/// Entries read at a time: a short snapshot each, so that a long check never holds back a checkpoint.
pub(super) const PAGE: i64 = 1_000;

/// A head kept outside the database.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Anchor {
    pub seq: i64,
    pub hash: String,
    /// Wall milliseconds.
    pub at: i64,
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verification {
    pub entries: i64,
    /// Hash of the last good entry.
    pub head: String,
    pub bad: Option<Bad>,
}

/// The first entry that does not fit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bad {
    pub seq: i64,
    pub reason: String,
}

/// Walks a chain entry by entry.
#[derive(Clone, Debug)]
pub struct Walk {
    entries: i64,
    seq: i64,
    hash: String,
}

impl Default for Walk {
    fn default() -> Self {
        Self { entries: 0, seq: 0, hash: GENESIS.to_owned() }
    }
}

impl Walk {
    pub fn seq(&self) -> i64 {
        self.seq
    }

    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The next entry must follow the last one and hash to what it says.
    pub fn step(&mut self, entry: &Stored) -> Result<(), Bad> {
        let bad = |reason: String| Err(Bad { seq: entry.seq, reason });
        if entry.seq != self.seq + 1 {
            let reason = if entry.seq <= self.seq {
                format!("it stands after entry {}", self.seq)
            } else {
                format!("entry {} is missing before it", self.seq + 1)
            };
            return Err(Bad { seq: entry.seq.min(self.seq + 1), reason });
        }
        if entry.prev_hash != self.hash {
            return bad(format!("it does not follow entry {}", self.seq));
        }
        let hash = chain_hash(
            &entry.prev_hash,
            entry.seq,
            entry.at,
            &entry.kind,
            entry.conversation,
            entry.turn.as_deref(),
            entry.effect.as_deref(),
            &entry.actor,
            &entry.details,
        );
        if hash != entry.hash {
            return bad("its contents were changed".to_owned());
        }
        if let Some(field) = entry.personal.iter().find(|personal| !matches_hash(&entry.details, personal)) {
            return bad(format!("its value of {} was changed", field.field));
        }
        self.entries += 1;
        self.seq = entry.seq;
        self.hash = hash;
        Ok(())
    }

    /// An entry of which only the hash is known (a filtered export): the next one must follow it.
    pub fn skip(&mut self, hash: &str) {
        self.seq += 1;
        hash.clone_into(&mut self.hash);
    }

    pub fn end(self, bad: Option<Bad>) -> Verification {
        Verification { entries: self.entries, head: self.hash, bad }
    }
}

fn matches_hash(details: &str, personal: &Personal) -> bool {
    let details: serde_json::Value = serde_json::from_str(details).unwrap_or_default();
    let expected = details.get(&personal.field).and_then(|slot| slot.get("sha256")).and_then(|hash| hash.as_str());
    expected == Some(&sha256_parts(&[personal.salt.as_bytes(), personal.value.as_bytes()]))
}

/// Checks the whole log in one go. For a live database page by page, use [`page`].
pub fn verify(connection: &Connection, anchor: Option<&Anchor>) -> Result<Verification, StoreError> {
    let mut walk = Walk::default();
    loop {
        match page(connection, &mut walk, anchor)? {
            Progress::More => {}
            Progress::Bad(bad) => return Ok(walk.end(Some(bad))),
            Progress::End => {
                let cut = cut_tail(&walk, anchor);
                return Ok(walk.end(cut));
            }
        }
    }
}

/// What one page showed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    More,
    End,
    Bad(Bad),
}

/// Checks the next page.
pub fn page(connection: &Connection, walk: &mut Walk, anchor: Option<&Anchor>) -> Result<Progress, StoreError> {
    let entries = chain_page(connection, walk.seq, PAGE)?;
    let full = i64::try_from(entries.len()).unwrap_or(i64::MAX) == PAGE;
    for mut entry in entries {
        entry.personal = personal(connection, entry.seq)?;
        if let Err(bad) = walk.step(&entry) {
            return Ok(Progress::Bad(bad));
        }
        if let Some(anchor) = anchor.filter(|anchor| anchor.seq == entry.seq && anchor.hash != entry.hash) {
            let reason = "it is not the entry that was anchored: the log was rewritten".to_owned();
            return Ok(Progress::Bad(Bad { seq: anchor.seq, reason }));
        }
    }
    Ok(if full { Progress::More } else { Progress::End })
}

/// The end of the walk must have reached the anchored head.
pub fn cut_tail(walk: &Walk, anchor: Option<&Anchor>) -> Option<Bad> {
    let anchor = anchor.filter(|anchor| anchor.seq > walk.seq)?;
    let reason =
        format!("the log ends at entry {}, but entry {} was anchored: the end was cut off", walk.seq, anchor.seq);
    Some(Bad { seq: walk.seq + 1, reason })
}
