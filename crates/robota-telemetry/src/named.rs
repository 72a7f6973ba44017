//! Events by name, for observers: `execution.start`, `tool.execute_success`, `user.input`.
//!
//! A name is `owner.local`: the kind of thing the event belongs to, and what happened. Which
//! one of its kind says the owner path, from the outermost owner to the innermost. These
//! events are a view for people who watch a program; the journal is the truth, and nothing
//! is ever rebuilt from here. By default they go nowhere ([`NoSink`]).
//!
//! ```
//! use std::sync::Arc;
//! use robota_telemetry::named::{
//!     BoundSink, EventHistory, EventSink, NamedEvent, OwnerKind, OwnerSegment,
//! };
//!
//! let history = Arc::new(EventHistory::new(100));
//! let agent = BoundSink::new(history.clone(), vec![OwnerSegment::new(OwnerKind::Agent, "a1")]);
//! let tool = agent.bind(OwnerSegment::new(OwnerKind::Tool, "call_0"));
//! tool.emit(NamedEvent::new("tool.execute_start".parse()?, jiff::Timestamp::UNIX_EPOCH));
//! assert_eq!(history.snapshot()[0].owner_path.len(), 2);
//! # Ok::<(), robota_telemetry::named::EventNameError>(())
//! ```

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use robota_core::error::{Diagnose, ErrorKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod history;
mod projection;

pub use history::EventHistory;
pub use projection::NamedProjection;

/// What kind of thing an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// One run of the loop.
    Execution,
    /// One tool call.
    Tool,
    /// An agent.
    Agent,
    /// A background task.
    Task,
    /// The user.
    User,
}

impl OwnerKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Execution, Self::Tool, Self::Agent, Self::Task, Self::User];

    /// What stands before the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Execution => "execution",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Task => "task",
            Self::User => "user",
        }
    }
}

impl fmt::Display for OwnerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of an event, `owner.local`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct EventName {
    owner: OwnerKind,
    local: String,
}

impl EventName {
    /// The name `owner.local`.
    ///
    /// # Errors
    /// When the local part is empty or has anything but lower-case letters, digits and `_`.
    pub fn new(owner: OwnerKind, local: impl Into<String>) -> Result<Self, EventNameError> {
        let local = local.into();
        let proper =
            |letter: char| letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if local.is_empty() || !local.chars().all(proper) {
            return Err(EventNameError::Local { local });
        }
        Ok(Self { owner, local })
    }

    /// The kind of thing it belongs to.
    #[must_use]
    pub fn owner(&self) -> OwnerKind {
        self.owner
    }

    /// What happened.
    #[must_use]
    pub fn local(&self) -> &str {
        &self.local
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.owner, self.local)
    }
}

impl FromStr for EventName {
    type Err = EventNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (owner, local) = text
            .split_once('.')
            .ok_or_else(|| EventNameError::NoOwner { name: text.to_owned() })?;
        let owner = OwnerKind::ALL
            .into_iter()
            .find(|kind| kind.name() == owner)
            .ok_or_else(|| EventNameError::UnknownOwner { owner: owner.to_owned() })?;
        Self::new(owner, local)
    }
}

impl TryFrom<String> for EventName {
    type Error = EventNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<EventName> for String {
    fn from(name: EventName) -> Self {
        name.to_string()
    }
}

/// Why a text is no name of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventNameError {
    /// There is no dot in it.
    #[error("the event name `{name}` has no owner")]
    NoOwner {
        /// The text.
        name: String,
    },
    /// What stands before the dot owns no events.
    #[error("`{owner}` owns no events")]
    UnknownOwner {
        /// What stands before the dot.
        owner: String,
    },
    /// What stands after the dot is empty or odd.
    #[error("`{local}` cannot stand after the dot of an event name")]
    Local {
        /// What stands after the dot.
        local: String,
    },
}

impl Diagnose for EventNameError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Validation
    }

    fn hint(&self) -> Option<String> {
        let owners: Vec<_> = OwnerKind::ALL.iter().map(|kind| kind.name()).collect();
        Some(format!(
            "write `owner.local`: the owner one of {}, then lower-case letters, digits and `_`",
            owners.join(", ")
        ))
    }
}

/// One step of an owner path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OwnerSegment {
    /// What kind of thing.
    pub owner_type: OwnerKind,
    /// Which one.
    pub owner_id: String,
}

impl OwnerSegment {
    /// The thing of this kind and id.
    pub fn new(owner_type: OwnerKind, owner_id: impl Into<String>) -> Self {
        Self { owner_type, owner_id: owner_id.into() }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedEvent {
    /// What happened.
    pub name: EventName,
    /// Whom it belongs to, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owner_path: Vec<OwnerSegment>,
    /// When.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// What else is known about it.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub data: serde_json::Map<String, serde_json::Value>,
}

impl NamedEvent {
    /// An event without owner and data.
    #[must_use]
    pub fn new(name: EventName, timestamp: Timestamp) -> Self {
        Self { name, owner_path: Vec::new(), timestamp, data: serde_json::Map::new() }
    }

    /// The same event with one more fact.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.data.insert(key.into(), value.into());
        self
    }
}

/// Takes events. It must not block and cannot refuse: who emits does not wait for observers.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: NamedEvent);
}

impl<S: EventSink + ?Sized> EventSink for Arc<S> {
    fn emit(&self, event: NamedEvent) {
        (**self).emit(event);
    }
}

/// Takes events nowhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSink;

impl EventSink for NoSink {
    fn emit(&self, _event: NamedEvent) {}
}

/// A sink for what one owner emits: it puts the owner's path in front of each event's own.
#[derive(Clone)]
pub struct BoundSink {
    inner: Arc<dyn EventSink>,
    path: Vec<OwnerSegment>,
}

impl BoundSink {
    /// Binds a sink to an owner path.
    #[must_use]
    pub fn new(inner: Arc<dyn EventSink>, path: Vec<OwnerSegment>) -> Self {
        Self { inner, path }
    }

    /// The sink of something this owner owns.
    #[must_use]
    pub fn bind(&self, owner: OwnerSegment) -> Self {
        let path = self.path.iter().cloned().chain([owner]).collect();
        Self { inner: Arc::clone(&self.inner), path }
    }

    /// The path it puts in front.
    #[must_use]
    pub fn path(&self) -> &[OwnerSegment] {
        &self.path
    }
}

impl Default for BoundSink {
    fn default() -> Self {
        Self::new(Arc::new(NoSink), Vec::new())
    }
}

impl fmt::Debug for BoundSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundSink").field("path", &self.path).finish_non_exhaustive()
    }
}

impl EventSink for BoundSink {
    fn emit(&self, mut event: NamedEvent) {
        event.owner_path.splice(0..0, self.path.iter().cloned());
        self.inner.emit(event);
    }
}

#[cfg(test)]
mod tests;
