//! Unavez, the core: a personal assistant that never silently does the same thing twice.
//!
//! The way of one message, in the order of the modules below:
//!
//! 1. A **channel** ([`channels`]) hands an input to the **inbox** ([`inbox`]), which stores it durably before
//!    anything else happens to it, once, by the channel's own identity.
//! 2. **Debounce** ([`debounce`]) waits for the rest of the thought and merges the messages into one burst.
//! 3. A **turn** ([`turns`]) runs the agent loop over the burst: it asks the **model** ([`model`]) and calls
//!    **tools** ([`tools`]), each step recorded.
//! 4. Every call with an effect passes the **guard** ([`guard`]), which knows when two calls are the same business
//!    action, and may wait for a person in **approvals** ([`approvals`]).
//! 5. **Evidence** ([`evidence`]) carries the effect out through an edge ([`calendar`], [`mail`], [`mcp`]) and keeps
//!    the receipt, or says honestly that it does not know.
//! 6. The **outbox** ([`outbox`]) delivers what the agent says, in order, never blindly twice.
//! 7. **Schedules** ([`schedules`]) and **memory** ([`memory`]) bring things back later; the **audit** ([`audit`])
//!    holds the hash-chained record of all of it.
//!
//! [`domain`] has the shared words, [`store`] the database, [`runtime`] time and ids; [`api`] is what a host may ask,
//! [`app`] composes everything, [`cli`] and [`config`] are the command line and its file.

pub mod approvals;
pub mod audit;
pub mod calendar;
pub mod channels;
pub mod debounce;
pub mod evidence;
pub mod guard;
pub mod inbox;
pub mod mail;
pub mod mcp;
pub mod memory;
pub mod model;
pub mod outbox;
pub mod schedules;
pub mod tools;
pub mod turns;

pub mod domain;
pub mod runtime;
pub mod store;

pub mod api;
pub mod app;
pub mod cli;
pub mod config;
