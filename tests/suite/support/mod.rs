//! What the tests share: the composed program under test and the fakes around it.

#![allow(dead_code, reason = "a fake is whole even where the tests of the day use a part of it")]

pub mod caldav;
pub mod chat;
pub mod daemon;
pub mod exchange;
pub mod gmail;
pub mod google;
pub mod imap;
pub mod llm;
pub mod post;
pub mod proxy;
pub mod smtp;
pub mod socket;
pub mod telegram;
pub mod tls;
