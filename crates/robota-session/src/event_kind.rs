//! What subscribers ask for (KODE-03): kinds of events, each a projection of the journal's.

use robota_core::event::Event;

/// A kind of event. The first seven are what a subscriber gets who names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// Text as it streams, and resets: the text of an attempt that failed is void.
    TextChunk,
    /// A whole answer.
    Text,
    /// The model asks for a tool call.
    ToolUse,
    /// What the model is told of a call.
    ToolResult,
    /// What a model call cost.
    Usage,
    /// Something failed.
    Error,
    /// The conversation changed.
    MessagesUpdate,
    /// The session is ready, busy or paused now.
    State,
    /// There is a new safe point.
    Commit,
    /// Somebody is asked whether a call may run.
    PermissionAsk,
    /// That was decided.
    PermissionDecision,
    /// A writer opened the session, or sealed what another left open.
    Resume,
    /// Another session continues from a point of this one.
    Forked,
}

impl EventKind {
    /// What a subscriber gets who names nothing.
    pub const MINIMAL: [Self; 7] = [
        Self::TextChunk,
        Self::Text,
        Self::ToolUse,
        Self::ToolResult,
        Self::Usage,
        Self::Error,
        Self::MessagesUpdate,
    ];

    /// The name clients use.
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

    /// The kinds an event of the journal is, as the table in `docs/events.md` says.
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
            // A reset takes back the text of the attempt that failed.
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

/// What a subscriber wants. Naming kinds takes the place of the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventFilter {
    /// [`EventKind::MINIMAL`].
    #[default]
    Minimal,
    /// These.
    Only(Vec<EventKind>),
    /// Every event of the journal, those without a kind included.
    Everything,
}

impl EventFilter {
    /// The kinds of this event that are wanted; none when it is not.
    #[must_use]
    pub fn wanted(&self, event: &Event) -> Option<Vec<EventKind>> {
        let kinds = EventKind::of(event);
        let wanted = |wanted: &[EventKind]| {
            let kinds: Vec<_> =
                kinds.iter().copied().filter(|kind| wanted.contains(kind)).collect();
            (!kinds.is_empty()).then_some(kinds)
        };
        match self {
            Self::Minimal => wanted(&EventKind::MINIMAL),
            Self::Only(named) => wanted(named),
            Self::Everything => Some(kinds.to_vec()),
        }
    }
}

impl<const N: usize> From<[EventKind; N]> for EventFilter {
    fn from(kinds: [EventKind; N]) -> Self {
        Self::Only(kinds.to_vec())
    }
}
