//! The OpenAI Chat Completions wire, which many services speak.

mod request;
mod stream;

pub(crate) use request::{Encoder, file_name};
pub(crate) use stream::Decoder;
