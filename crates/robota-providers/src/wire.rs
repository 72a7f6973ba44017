//! The wires: how each writes a request, reads a stream and tells of failures.
//!
//! Everything here is pure. An encoder makes bytes of a request, a decoder makes deltas of
//! events; neither knows the network.

pub(crate) mod anthropic;
pub(crate) mod cache;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod gemini;
mod ids;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod plan;

use std::sync::Arc;

use robota_core::tool::ToolSpec;

pub(crate) use decode::{Decode, Out};
pub(crate) use encode::{Body, Encode, Piece, Side};

use crate::profile::{Quirks, Wire};

/// The encoder of a wire.
pub(crate) fn encoder(wire: Wire) -> &'static dyn Encode {
    match wire {
        Wire::AnthropicMessages => &anthropic::Encoder,
        Wire::ChatCompletions => &openai_chat::Encoder,
        Wire::Responses => &openai_responses::Encoder,
        Wire::GeminiGenerateContent => &gemini::Encoder,
    }
}

/// A decoder for one answer of a wire.
pub(crate) fn decoder(
    wire: Wire,
    quirks: &Quirks,
    model: &str,
    tools: &Arc<[ToolSpec]>,
) -> Box<dyn Decode> {
    let plain: Box<dyn Decode> = match wire {
        Wire::AnthropicMessages => Box::new(anthropic::Decoder::new(model)),
        Wire::ChatCompletions => Box::new(openai_chat::Decoder::new(model)),
        Wire::Responses => Box::new(openai_responses::Decoder::new(model)),
        Wire::GeminiGenerateContent => Box::new(gemini::Decoder::new(model)),
    };
    if quirks.think_marks.is_empty() && (quirks.text_calls.is_empty() || tools.is_empty()) {
        return plain;
    }
    Box::new(crate::text_calls::Projected::new(plain, quirks, Arc::clone(tools)))
}

/// The number under which a service's own tools appear among pieces of tool input, so that they
/// are not taken for calls of ours.
pub const SERVER_TOOL_INDEX: u32 = 1 << 16;

/// The key under which a block keeps which model wrote it: reasoning goes back to that one only.
pub(crate) const MODEL_KEY: &str = "model";
/// The key under which a block keeps which wire it came over.
pub(crate) const WIRE_KEY: &str = "wire";

/// What blocks are kept under whose content is for people and goes back to nobody.
pub(crate) const ASIDE: [&str; 3] =
    [anthropic::CITATIONS, gemini::GROUNDING, openai_responses::CITATIONS];

#[cfg(test)]
mod tests;
