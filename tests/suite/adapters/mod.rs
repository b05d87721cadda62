//! The edges against servers that speak their protocol on loopback.

mod caldav;
mod gmail;
mod google;
mod imap;
mod llm;
mod mcp;
mod smtp;
mod telegram_delivery;
mod telegram_polling;
