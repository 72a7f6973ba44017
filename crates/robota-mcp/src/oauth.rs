//! Logins to servers with OAuth 2.1: discovery, registration, PKCE, refresh, and tokens on disk.
//!
//! The library finds the authorisation server of a server; `requests` checks every address that it
//! finds. A token is stored for the address that it was made for, together with its issuer and the
//! address that renews it, and sent nowhere else.

mod login;
mod redirect;
mod requests;
mod store;
mod token;

pub use login::{Login, LoginError, start_login};
pub use store::TokenStore;
pub(crate) use store::stored_login;
pub(crate) use token::{SendError, StoredToken, send};
