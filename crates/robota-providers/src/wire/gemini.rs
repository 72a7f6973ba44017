//! The Gemini wire: streaming `generateContent`.

mod request;
mod stream;

pub(crate) use request::Encoder;
pub(crate) use stream::Decoder;

/// The key under which a block stores its thought signature.
const SIGNATURE: &str = "thought_signature";
/// The field with the token that continues a paused answer, in answers and requests.
const CONTINUATION: &str = "continuationToken";
