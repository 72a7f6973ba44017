//! The Anthropic Messages wire.

mod request;
mod stream;

pub(crate) use request::{Encoder, last_user_turns};
pub(crate) use stream::Decoder;
