//! The wires: how each encodes requests, decodes streams and reports failures.
//!
//! This module does no I/O. An encoder converts a request to bytes, and a decoder converts events
//! to deltas.

pub(crate) mod anthropic;
pub(crate) mod cache;
pub(crate) mod citations;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod gemini;
mod ids;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod plan;
pub(crate) mod thinking;

use std::sync::Arc;

use robota_core::tool::ToolSpec;

pub(crate) use decode::{Decode, DeltaQueue};
pub(crate) use encode::{Body, Encode, Piece, PieceRole};

use crate::profile::{Quirks, Wire};

/// Returns the encoder of a wire.
pub(crate) fn encoder(wire: Wire) -> &'static dyn Encode {
    match wire {
        Wire::AnthropicMessages => &anthropic::Encoder,
        Wire::ChatCompletions => &openai_chat::Encoder,
        Wire::Responses => &openai_responses::Encoder,
        Wire::GeminiGenerateContent => &gemini::Encoder,
    }
}

/// Creates a decoder for one answer.
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
    Box::new(crate::text_calls::TextCallDecoder::new(plain, quirks, Arc::clone(tools)))
}

/// The index that deltas of tool input use for the service's own tools, so that they cannot be
/// confused with calls of the client's tools.
pub const SERVER_TOOL_INDEX: u32 = 1 << 16;

/// The key under which a block stores the model that wrote it: reasoning is sent back only to it.
pub(crate) const MODEL_KEY: &str = "model";
/// The key under which a block stores the [fingerprint](plan::Plan::prefix) of the conversation before
/// it: services refuse reasoning after another conversation.
pub(crate) const PREFIX_KEY: &str = "prefix";
/// The key under which a block stores the wire it came from.
pub(crate) const WIRE_KEY: &str = "wire";

#[cfg(test)]
mod tests;
