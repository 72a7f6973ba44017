//! The OpenAI Chat Completions wire, which many services offer.

mod request;
mod stream;

pub(crate) use request::{Encoder, file_name, system_role};
pub(crate) use stream::Decoder;
