//! From the inbound message to its effects and answers, over the composed program.

mod api;
mod commands;
mod incident;
mod keychain;
mod mail;
mod mail_wakes;
mod mcp;
mod sign_in;
mod telegram_bursts;
mod telegram_control;
mod telegram_media;
mod telegram_streaming;
mod voice;
