//! Real providers through the `genai` crate: OpenAI-compatible servers, Anthropic, Gemini, Ollama.
//!
//! Always by the stream API: the plain one fails the whole reply when one tool call's arguments are broken, and puts
//! the prompt into that error.

mod adapter;
mod convert;
mod failure;

pub use adapter::{GenaiModel, Provider, ProviderSettings};
