//! The kinds of events that clients subscribe to (KODE-03). Each is a projection of journal events.

use robota_core::event::Event;

/// Classifies events for subscribers. A subscriber that names no kinds gets the first seven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EventKind {
    /// Text as it streams, and resets: a reset makes the text of a failed attempt void.
    TextChunk,
    /// A whole answer of the model.
    Text,
    /// The model asks for a tool call.
    ToolUse,
    /// The result of a call, as the model receives it.
    ToolResult,
    /// The token usage of a model call.
    Usage,
    /// A model call, a compaction or something else failed. A failed tool call is a
    /// [`ToolResult`](Self::ToolResult).
    Error,
    /// A message was added to the conversation, or the conversation was cut or restored.
    MessagesUpdate,
    /// The session became ready, busy or paused.
    State,
    /// There is a new safe point.
    Commit,
    /// A call needs approval and waits for a decision.
    PermissionAsk,
    /// The approval of a call was decided.
    PermissionDecision,
    /// A process opened the session, or closed what a crash left open.
    Resume,
    /// Another session was forked from this one.
    Forked,
}

impl EventKind {
    /// The kinds that a subscriber gets by default.
    pub const MINIMAL: [Self; 7] = [
        Self::TextChunk,
        Self::Text,
        Self::ToolUse,
        Self::ToolResult,
        Self::Usage,
        Self::Error,
        Self::MessagesUpdate,
    ];

    /// Returns the name that clients use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TextChunk => "text_chunk",
            Self::Text => "text",
            Self::ToolUse => "tool_use",
            Self::ToolResult => "tool_result",
            Self::Usage => "usage",
            Self::Error => "error",
            Self::MessagesUpdate => "messages_update",
            Self::State => "state",
            Self::Commit => "commit",
            Self::PermissionAsk => "permission_ask",
            Self::PermissionDecision => "permission_decision",
            Self::Resume => "resume",
            Self::Forked => "forked",
        }
    }

    /// Returns the kinds of a journal event, as in the table of `docs/events.md`.
    #[must_use]
    pub fn of(event: &Event) -> &'static [Self] {
        use EventKind as K;

        match event {
            Event::Opened(_) | Event::Recovered(_) => &[K::Resume],
            Event::MessageInjected(_)
            | Event::UserMessage(_)
            | Event::CompactionFinished(_)
            | Event::Rewound(_)
            | Event::ViewRestored(_) => &[K::MessagesUpdate],
            Event::TurnStarted(_) | Event::TurnFinished(_) => &[K::State],
            Event::CompactionFailed(_) | Event::ModelFailed(_) | Event::Failed(_) => &[K::Error],
            // A reset makes the text of the failed attempt void.
            Event::TextChunk(_) | Event::StreamReset(_) => &[K::TextChunk],
            Event::ModelResponded(_) => &[K::Usage],
            Event::AssistantMessage(data) if data.message.tool_uses().next().is_some() => {
                &[K::Text, K::MessagesUpdate]
            }
            Event::AssistantMessage(_) => &[K::Text, K::MessagesUpdate, K::Commit],
            Event::ToolCalled(_) => &[K::ToolUse],
            Event::PermissionAsked(_) => &[K::PermissionAsk, K::State],
            Event::PermissionDecided(_) => &[K::PermissionDecision, K::State],
            Event::ToolResultAdded(_) => &[K::ToolResult, K::MessagesUpdate],
            Event::ToolBatchFinished(_) => &[K::Commit],
            Event::Forked(_) => &[K::Forked],
            _ => &[],
        }
    }
}

/// Which events a subscriber gets; the others are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventFilter {
    /// Only the kinds in [`EventKind::MINIMAL`].
    #[default]
    Minimal,
    /// Only these kinds, instead of the default ones.
    Only(Vec<EventKind>),
    /// Every event of the journal, including those without a kind.
    Everything,
}

impl EventFilter {
    /// Returns the kinds of this event that the filter selects; none if it does not select the
    /// event.
    #[must_use]
    pub fn matching(&self, event: &Event) -> Option<Vec<EventKind>> {
        let kinds = EventKind::of(event);
        let select = |selected: &[EventKind]| {
            let kinds: Vec<_> =
                kinds.iter().copied().filter(|kind| selected.contains(kind)).collect();
            (!kinds.is_empty()).then_some(kinds)
        };
        match self {
            Self::Minimal => select(&EventKind::MINIMAL),
            Self::Only(named) => select(named),
            Self::Everything => Some(kinds.to_vec()),
        }
    }
}

impl<const N: usize> From<[EventKind; N]> for EventFilter {
    fn from(kinds: [EventKind; N]) -> Self {
        Self::Only(kinds.to_vec())
    }
}
