//! The OpenAI Responses wire, without server-side storage.

mod request;
mod stream;

pub(crate) use request::Encoder;
pub(crate) use stream::Decoder;
