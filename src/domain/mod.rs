//! The words every stage shares: ids, messages, effects, outcomes, tool declarations and the port traits.
//!
//! Purpose: plain types without IO, so that a stage can be read without its neighbours.
//! Absent on purpose: SQL, clocks, network, and any vendor's vocabulary.

pub mod action;
pub mod address;
pub mod calendar;
pub mod chat;
pub mod conversation;
pub mod document;
pub mod effect;
pub mod header;
pub mod ids;
pub mod language;
pub mod literal;
pub mod mail;
pub mod message;
pub mod ports;
pub mod provenance;
pub mod session;
pub mod time;
pub mod tool;
pub mod tool_server;
pub mod untrusted;
pub mod when;
