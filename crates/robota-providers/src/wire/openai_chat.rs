//! OpenAI Chat Completions, and the many services that speak it.

mod request;
mod stream;

pub(crate) use request::{Encoder, file_name};
pub(crate) use stream::Decoder;
