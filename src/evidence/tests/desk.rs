//! Effects as the guard would insert them.

use std::time::Duration;

use crate::audit::Actor;
use crate::domain::action::Action;
use crate::domain::effect::Intent;
use crate::domain::ids::{AccountId, ConversationId, Digest, EffectId, ExactKey, Identity};
use crate::domain::ports::IdSource;
use crate::evidence::testing::World;
use crate::evidence::{Birth, NewEffect, insert, literal_hash};

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3600);

/// Inserts an effect as the guard would; the identity is the literal hash, which is as good for this stage.
pub async fn put(world: &World, action: Action, birth: Birth, conversation: Option<ConversationId>) -> EffectId {
    let (tool, target) = match &action {
        Action::SendEmail(_) => ("send_email", "mail"),
        Action::CreateEvent(_) => ("create_event", "calendar"),
        Action::UpdateEvent(_) => ("update_event", "calendar"),
        Action::DeleteEvent(_) => ("delete_event", "calendar"),
        Action::Other(_) => ("notes__add", "mcp:notes"),
    };
    let literal = literal_hash("me", &action).unwrap();
    let id = EffectId(world.ids.uuid());
    let near_key = match &action {
        Action::UpdateEvent(update) => Some(format!("change:{}", update.event_id)),
        Action::DeleteEvent(delete) => Some(format!("change:{}", delete.event_id)),
        Action::CreateEvent(_) | Action::SendEmail(_) | Action::Other(_) => None,
    };
    let new = NewEffect {
        id: id.clone(),
        tool: tool.into(),
        target: target.into(),
        account: AccountId::new("me"),
        key: ExactKey(world.ids.token()),
        identity: Identity(format!("{}{}", literal.as_str(), id)),
        digest: Digest(literal.0.clone()),
        literal,
        normalisation: 1,
        near_key,
        intent: Intent::default(),
        action,
        conversation,
        turn: None,
        call_id: None,
        repeat_of: None,
        replaces: None,
        told: conversation.is_some(),
    };
    let (settings, targets) = (world.settings.clone(), world.targets.clone());
    world.write(move |tx, now| insert(tx, now, &settings, &targets, &new, birth, Actor::Model)).await.unwrap();
    id
}
