//! Named events for observers: `execution.start`, `tool.execute_success`, `user.input`.
//!
//! A name is `owner.local`: the kind of the owner, and what happened. The owner path identifies the
//! owner, from the outermost to the innermost. Named events are for people who watch a program. The
//! journal is the source of truth; no state is computed from named events. By default they are
//! discarded ([`NoSink`]).
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

/// Says which kind of component owns an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// One turn of an agent.
    Execution,
    /// One tool call, identified by the call and not by the tool.
    Tool,
    /// An agent or a session: the outermost owner.
    Agent,
    /// A background task: an agent or a command.
    Task,
    /// The person or program that sends input.
    User,
}

impl OwnerKind {
    /// Lists every kind, for parsing and for messages.
    pub const ALL: [Self; 5] = [Self::Execution, Self::Tool, Self::Agent, Self::Task, Self::User];

    /// Returns the part of the event name before the dot.
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

/// Names an event in the form `owner.local`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct EventName {
    owner: OwnerKind,
    local: String,
}

impl EventName {
    /// Creates the name `owner.local`.
    ///
    /// # Errors
    /// If the local part is empty or has characters other than lower-case letters, digits and `_`.
    pub fn new(owner: OwnerKind, local: impl Into<String>) -> Result<Self, EventNameError> {
        let local = local.into();
        // A dot or a capital letter would make `owner.local` ambiguous for filters on names.
        let allowed =
            |letter: char| letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if local.is_empty() || !local.chars().all(allowed) {
            return Err(EventNameError::Local { local });
        }
        Ok(Self { owner, local })
    }

    /// Returns the kind of owner, the part before the dot.
    #[must_use]
    pub fn owner(&self) -> OwnerKind {
        self.owner
    }

    /// Returns the part after the dot: what happened.
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

/// Why a text is not a valid event name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventNameError {
    /// The text has no dot.
    #[error("the event name `{name}` has no owner before a dot")]
    NoOwner {
        /// The text as it was given.
        name: String,
    },
    /// The part before the dot is not an owner.
    #[error("`{owner}` is not an owner of events")]
    UnknownOwner {
        /// The part before the dot.
        owner: String,
    },
    /// The part after the dot is empty or has invalid characters.
    #[error("`{local}` is not valid after the dot of an event name")]
    Local {
        /// The part after the dot.
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
            "write `owner.local`: an owner ({}), a dot, then lower-case letters, digits and `_`",
            owners.join(", ")
        ))
    }
}

/// Names one element of an owner path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OwnerSegment {
    /// Which id space `owner_id` is from.
    pub owner_type: OwnerKind,
    /// The id of the agent, turn, call or task.
    pub owner_id: String,
}

impl OwnerSegment {
    /// Creates the segment of an owner.
    pub fn new(owner_type: OwnerKind, owner_id: impl Into<String>) -> Self {
        Self { owner_type, owner_id: owner_id.into() }
    }
}

/// Adds to an event a name of the form `owner.local` and the path of its owners.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedEvent {
    /// What happened, and to which kind of owner.
    pub name: EventName,
    /// The owners of the event, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owner_path: Vec<OwnerSegment>,
    /// When it happened: the time of the journal event.
    #[schemars(with = "String")]
    pub timestamp: Timestamp,
    /// Further facts about the event.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub data: serde_json::Map<String, serde_json::Value>,
}

impl NamedEvent {
    /// Creates an event without owner and data.
    #[must_use]
    pub fn new(name: EventName, timestamp: Timestamp) -> Self {
        Self { name, owner_path: Vec::new(), timestamp, data: serde_json::Map::new() }
    }

    /// Adds a fact to the data.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.data.insert(key.into(), value.into());
        self
    }
}

/// Receives events. It must not block and cannot fail, because the emitter does not wait for
/// observers.
pub trait EventSink: Send + Sync {
    /// Receives one event. Called on the task that emits it.
    fn emit(&self, event: NamedEvent);
}

impl<S: EventSink + ?Sized> EventSink for Arc<S> {
    fn emit(&self, event: NamedEvent) {
        (**self).emit(event);
    }
}

/// A sink that discards every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSink;

impl EventSink for NoSink {
    fn emit(&self, _event: NamedEvent) {}
}

/// Receives the events of one owner: it prepends the owner's path to the path of each event.
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

    /// Returns the sink of a child owner.
    #[must_use]
    pub fn bind(&self, owner: OwnerSegment) -> Self {
        let path = self.path.iter().cloned().chain([owner]).collect();
        Self { inner: Arc::clone(&self.inner), path }
    }

    /// Returns the path that it prepends.
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
        // In front, because the sink is bound by an outer owner and events already name the inner
        // ones.
        event.owner_path.splice(0..0, self.path.iter().cloned());
        self.inner.emit(event);
    }
}

#[cfg(test)]
mod tests;
