//! Converts a conversation to text, in pieces of limited size.

use std::sync::Arc;

use robota_core::message::{Block, Message, Role, ToolInput};

/// Returns the approximate length of a message as text, in bytes.
pub(super) fn size(message: &Message) -> usize {
    message.content.iter().map(|block| block_text(block).len() + 8).sum()
}

/// Converts messages to text, in pieces of at most `room` bytes. A longer message continues in the
/// next piece.
pub(super) fn pieces(messages: &[&Arc<Message>], room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for message in messages {
        let who = match message.role() {
            Role::User => "User",
            Role::Assistant => "Agent",
            Role::System => "Instructions",
            Role::Tool => "Tools",
        };
        for block in &message.content {
            let text = block_text(block);
            if !text.is_empty() {
                push(&mut pieces, &format!("{who}: {text}\n"), room);
            }
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn push(pieces: &mut Vec<String>, mut text: &str, room: usize) {
    loop {
        let full = pieces.last().is_none_or(|piece| piece.len() + text.len() > room);
        match pieces.last_mut() {
            Some(piece) if !full => return piece.push_str(text),
            Some(piece) if piece.is_empty() => {
                let at = (1..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
                let (head, rest) = text.split_at(at.unwrap_or(text.len()));
                piece.push_str(head);
                text = rest;
                if text.is_empty() {
                    return;
                }
                pieces.push(String::new());
            }
            _ => pieces.push(String::new()),
        }
    }
}

fn block_text(block: &Block) -> String {
    match block {
        Block::Text(text) => text.text.clone(),
        Block::ToolUse(tool_use) => {
            let input = match &tool_use.input {
                ToolInput::Json(input) => input.to_string(),
                ToolInput::Unparsed(_) => "arguments that could not be read".to_owned(),
            };
            format!("calls {} with {input}", tool_use.name)
        }
        Block::ToolResult(result) => {
            let how = if result.is_error { "failed" } else { "returned" };
            format!("{} {how}: {}", result.name, result.as_text())
        }
        Block::Image(_) => "(an image)".to_owned(),
        // Reasoning is only useful for its own answer, and opaque blocks are not readable.
        Block::Thinking(_) | Block::Opaque(_) | Block::Unknown(_) => String::new(),
    }
}
