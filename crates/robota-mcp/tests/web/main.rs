//! The client against servers behind an address.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod hostile_logins;
mod limits;
mod oauth;
mod server;
mod sessions;
