//! Notices of hooks for the user.

use super::HookEvent;

/// What a notice says to the user about a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// A hook failed or its output is wrong.
    Warning,
    /// A message that a hook wants to show.
    Message,
    /// What a hook that starts now does (`statusMessage`).
    Status,
}

/// A notice about a hook, which clients show to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookNotice {
    /// The event at which the hook ran.
    pub event: HookEvent,
    /// Whether it is a warning, a message or a status.
    pub kind: NoticeKind,
    /// The text to show, for people.
    pub text: String,
}

impl HookNotice {
    /// Creates a warning about a hook.
    pub fn warning(event: HookEvent, text: impl Into<String>) -> Self {
        Self { event, kind: NoticeKind::Warning, text: text.into() }
    }

    /// Creates a message from a hook.
    pub fn message(event: HookEvent, text: impl Into<String>) -> Self {
        Self { event, kind: NoticeKind::Message, text: text.into() }
    }

    /// Creates the status of a hook that starts.
    pub fn status(event: HookEvent, text: impl Into<String>) -> Self {
        Self { event, kind: NoticeKind::Status, text: text.into() }
    }
}
