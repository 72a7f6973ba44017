//! OpenAI Responses, without anything kept on the service's side.

mod request;
mod stream;

pub(crate) use request::Encoder;
pub(crate) use stream::{CITATIONS, Decoder};
