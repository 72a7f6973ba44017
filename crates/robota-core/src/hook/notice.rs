//! What people should see of hooks.

use super::HookEvent;

/// Why it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// Something is wrong with a hook.
    Warning,
    /// A hook wants this to be shown.
    Message,
}

/// Something to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookNotice {
    /// At which event.
    pub event: HookEvent,
    /// Why it is said.
    pub kind: NoticeKind,
    /// The words.
    pub text: String,
}

impl HookNotice {
    /// Something is wrong with a hook.
    pub fn warning(event: HookEvent, text: impl Into<String>) -> Self {
        Self { event, kind: NoticeKind::Warning, text: text.into() }
    }

    /// A hook wants this to be shown.
    pub fn message(event: HookEvent, text: impl Into<String>) -> Self {
        Self { event, kind: NoticeKind::Message, text: text.into() }
    }
}
