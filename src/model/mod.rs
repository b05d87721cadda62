//! 5. The model's edge: [`crate::domain::ports::ChatModel`] by a provider's API, by a script, or by the practice parser.
//!
//! In: system prompt, messages, tools. Out: text and tool calls, or an error named by what may be done about it.
//! Invariants: a reply is whole or an error; a stream without its end event is cut; nothing is tried twice in here;
//! no key and no prompt reaches a log. The prompts of the agent loop are files in `prompts/`.

pub mod discovery;
pub mod genai;
pub mod practice;
pub mod scripted;
pub mod transcription;
