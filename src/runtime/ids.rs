//! Ids and randomness behind [`IdSource`].

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::ports::IdSource;

/// The operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn uuid(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
    fn token(&self) -> String {
        URL_SAFE_NO_PAD.encode(uuid::Uuid::new_v4().as_bytes())
    }
    fn fraction(&self) -> f64 {
        fastrand::f64()
    }
}

/// Repeats the same sequence for the same seed.
#[derive(Debug)]
pub struct SeededIds(std::sync::Mutex<fastrand::Rng>);

impl SeededIds {
    pub fn new(seed: u64) -> Self {
        Self(std::sync::Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    fn draw(&self) -> u128 {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).u128(..)
    }
}

impl IdSource for SeededIds {
    fn uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.draw().to_be_bytes()).into_uuid().to_string()
    }
    fn token(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.draw().to_be_bytes())
    }
    fn fraction(&self) -> f64 {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).f64()
    }
}
