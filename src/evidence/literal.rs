//! The literal hash: what an approval is bound to.

use crate::domain::action::Action;
use crate::domain::ids::LiteralHash;
use crate::runtime::hash::sha256_parts;
use crate::store::StoreError;

/// Hash of the action exactly as shown and as it will leave: every address, every byte of the body, the attachments'
/// own hashes. The order of keys does not matter (RFC 8785), nothing else is forgiven.
pub fn literal_hash(account: &str, action: &Action) -> Result<LiteralHash, StoreError> {
    let canonical = serde_json_canonicalizer::to_vec(action)?;
    Ok(LiteralHash(sha256_parts(&[b"unavez literal 1", account.as_bytes(), &canonical])))
}
