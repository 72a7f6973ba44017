//! Selects what of a conversation is sent, before a wire encodes it: every call has exactly one
//! result, every result has its call, and every id is one that the wire accepts.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use robota_core::message::{Message, MessageState, Role, ToolResult, ToolUse};
use robota_core::provider::ModelRequest;

pub(crate) use super::ids::IdRule;

/// The result that is sent for a call whose outcome is unknown.
pub(crate) const NO_RESULT: &str = "[No result: this call was not run to its end]";

/// One element of the conversation.
pub(crate) enum Step<'a> {
    /// A message, and the `Arc` that the conversation holds it in, if it is part of it.
    Message {
        message: &'a Message,
        shared: Option<&'a Arc<Message>>,
        /// The fingerprint of everything before it.
        prefix: u64,
    },
    /// Calls without a result.
    Unanswered(Vec<&'a ToolUse>),
}

/// A conversation that is ready to be encoded.
pub(crate) struct Plan<'a> {
    /// The elements to encode, in order.
    pub(crate) steps: Vec<Step<'a>>,
    /// The ids to send instead of the provider's, by our own call id.
    aliases: HashMap<&'a str, String>,
    /// The call ids of results whose call is missing.
    orphans: HashSet<&'a str>,
    /// How many steps are part of the conversation; the rest is for this request only.
    pub(crate) persistent: usize,
    /// The fingerprint of the whole request: which messages it has, in which order. An instruction for
    /// this request only belongs to it, so an answer to one is never followed by the same
    /// conversation again.
    pub(crate) prefix: u64,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(request: &'a ModelRequest, rule: IdRule) -> Self {
        let messages = || {
            let shared = request.messages.iter().map(|message| (message.as_ref(), Some(message)));
            let own = request.instruction.iter().map(|message| (message, None));
            shared.chain(own).filter(|(message, _)| is_sent(message))
        };
        let mut plan = Self {
            steps: Vec::with_capacity(request.messages.len() + 1),
            aliases: HashMap::new(),
            orphans: HashSet::new(),
            persistent: 0,
            prefix: FNV_OFFSET,
        };
        let mut used_ids = HashSet::new();
        let mut open: Vec<&'a ToolUse> = Vec::new();
        for (message, shared) in messages() {
            if message.role() == Role::Tool {
                for result in message.tool_results() {
                    match open.iter().position(|call| call.call == result.call) {
                        Some(at) => drop(open.remove(at)),
                        None => drop(plan.orphans.insert(result.call.as_str())),
                    }
                }
            } else {
                // Another message between a call and its result would be refused, so open calls are
                // answered here.
                plan.close(&mut open);
            }
            for call in message.tool_uses() {
                let is_unique = !rule.unique() || used_ids.insert(call.id.as_str());
                if !(rule.accepts(&call.id) && is_unique) {
                    plan.aliases.insert(call.call.as_str(), rule.generate(&call.call));
                }
                open.push(call);
            }
            plan.steps.push(Step::Message { message, shared, prefix: plan.prefix });
            plan.prefix = extend(plan.prefix, message.id.as_str());
            if shared.is_some() {
                plan.persistent = plan.steps.len();
            }
        }
        plan.close(&mut open);
        plan
    }

    fn close(&mut self, open: &mut Vec<&'a ToolUse>) {
        if !open.is_empty() {
            self.steps.push(Step::Unanswered(std::mem::take(open)));
        }
    }

    /// Returns the id of a call on this wire.
    pub(crate) fn id<'b>(&'b self, call: &str, id: &'b str) -> &'b str {
        self.aliases.get(call).map_or(id, String::as_str)
    }

    /// Returns whether the call of a result is present, so that the result can be sent.
    pub(crate) fn has_call(&self, result: &ToolResult) -> bool {
        !self.orphans.contains(result.call.as_str())
    }

    /// Hashes everything that the encoding of a message depends on apart from the message itself.
    pub(crate) fn fingerprint(&self, message: &Message, origin: &Origin<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        origin.hash(&mut hasher);
        if !self.aliases.is_empty() || !self.orphans.is_empty() {
            let calls = message.tool_uses().map(|call| call.call.as_str());
            let results = message.tool_results().map(|result| result.call.as_str());
            for call in calls.chain(results) {
                self.aliases.get(call).hash(&mut hasher);
                self.orphans.contains(call).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// What reasoning must come from to be sent back.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Origin<'a> {
    /// The model that wrote it.
    pub(crate) model: &'a str,
    /// The conversation before it; `None` if the model does not check that.
    pub(crate) prefix: Option<u64>,
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends a fingerprint by a message (FNV-1a, which is the same in every version of the program,
/// because journals keep it).
fn extend(prefix: u64, id: &str) -> u64 {
    id.bytes()
        .chain([0])
        .fold(prefix, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns whether a message is sent. Empty answers are left out, because services reject them.
fn is_sent(message: &Message) -> bool {
    message.role() != Role::Assistant
        || !message.content.is_empty()
        || message.state() != MessageState::Complete
}
