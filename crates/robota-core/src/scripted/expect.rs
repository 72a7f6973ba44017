//! What an answer expects of its request.

use crate::message::{Message, Role};
use crate::provider::ModelRequest;

/// The conditions that a request must meet to get its answer. Fields that are not set allow
/// anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expect {
    /// The text of the last user or tool message contains this.
    pub last: Option<String>,
    /// The system prompt contains this text.
    pub system: Option<String>,
    /// Tools that are offered; others may be offered too.
    pub tools: Vec<String>,
    /// The request offers no tool that the model may call.
    pub no_tools: bool,
    /// The number of messages in the conversation.
    pub messages: Option<usize>,
}

/// The maximum number of characters of a text that an error quotes.
const QUOTE: usize = 200;

impl Expect {
    /// Checks the conditions; the error says which one is not met.
    pub(super) fn check(&self, request: &ModelRequest) -> Result<(), String> {
        if let Some(expected) = &self.last {
            let last = request
                .messages_for_api()
                .filter(|message| matches!(message.role(), Role::User | Role::Tool))
                .last();
            match last.map(|message| text_of(&message)) {
                Some(text) if text.contains(expected.as_str()) => {}
                Some(text) => {
                    return Err(format!(
                        "the last user or tool text should contain {expected:?}, but it is {}",
                        quote(&text)
                    ));
                }
                None => {
                    return Err(format!(
                        "the last user or tool text should contain {expected:?}, but there is none"
                    ));
                }
            }
        }
        if let Some(expected) = &self.system {
            let system = request.system.as_deref().unwrap_or_default();
            if !system.contains(expected.as_str()) {
                return Err(format!(
                    "the system prompt should contain {expected:?}, but it is {}",
                    quote(system)
                ));
            }
        }
        if let Some(expected) = self.messages {
            let sent = request.messages_for_api().count();
            if sent != expected {
                return Err(format!("there should be {expected} messages, but there are {sent}"));
            }
        }
        self.check_tools(request)
    }

    fn check_tools(&self, request: &ModelRequest) -> Result<(), String> {
        let offered: Vec<&str> =
            request.callable_tools().iter().map(|tool| tool.name.as_str()).collect();
        if self.no_tools && !offered.is_empty() {
            return Err(format!("no tools should be offered, but these are: {}", list(&offered)));
        }
        let missing: Vec<&str> =
            self.tools.iter().map(String::as_str).filter(|tool| !offered.contains(tool)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "these tools should be offered: {}; offered are: {}",
            list(&missing),
            list(&offered)
        ))
    }
}

fn text_of(message: &Message) -> String {
    let mut parts: Vec<String> =
        message.tool_results().map(crate::message::ToolResult::as_text).collect();
    let text = message.text();
    if !text.is_empty() || parts.is_empty() {
        parts.push(text);
    }
    parts.join("\n")
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTE) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}… ({} characters)", &text[..end], text.chars().count()),
    }
}
