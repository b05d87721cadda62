//! Who performs effects of which target. External tool servers come and go while the program runs.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::domain::ports::EffectTarget;

/// Cheap to clone; every clone sees the same targets.
#[derive(Clone, Default)]
pub struct Targets(Arc<RwLock<HashMap<String, Arc<dyn EffectTarget>>>>);

impl Targets {
    pub fn new(targets: HashMap<String, Arc<dyn EffectTarget>>) -> Self {
        Self(Arc::new(RwLock::new(targets)))
    }

    pub fn get(&self, target: &str) -> Option<Arc<dyn EffectTarget>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(target).cloned()
    }

    pub fn set(&self, target: impl Into<String>, performer: Arc<dyn EffectTarget>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(target.into(), performer);
    }

    pub fn remove(&self, target: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(target);
    }

    /// Names, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        names.sort();
        names
    }
}
