//! The event emitter: functions that are called for events by name.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use super::{Plugin, PluginCategory};
use crate::event::Envelope;

type OnEvent = Arc<dyn Fn(&Envelope) + Send + Sync>;
type OnMessage = Arc<dyn Fn(&Value) + Send + Sync>;

/// Calls functions for the events of a run, by the name that they have in the journal, and lets
/// plugins send messages to each other.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::agent::Agent;
/// use robota_core::plugin::EventEmitter;
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let emitter = Arc::new(EventEmitter::default());
/// let (ended, end) = std::sync::mpsc::channel();
/// emitter.on("turn_finished", move |event| drop(ended.send(event.seq)));
/// let model = ScriptedProvider::new(Script::new().text("Hello!"));
/// Agent::builder(model, "any-model").plugin(emitter).build()?.run("Hi").await;
/// assert!(end.try_recv().is_ok());
/// # Ok(()) }
/// ```
#[derive(Default)]
pub struct EventEmitter {
    events: RwLock<Vec<(String, OnEvent)>>,
    messages: RwLock<Vec<(String, OnMessage)>>,
}

impl EventEmitter {
    /// Calls a function for every event of a name, such as `tool_finished`; `*` is every event. It
    /// runs in the task of the session and must not block.
    pub fn on(&self, event: &str, call: impl Fn(&Envelope) + Send + Sync + 'static) {
        let mut events = self.events.write().unwrap_or_else(PoisonError::into_inner);
        events.push((event.to_owned(), Arc::new(call)));
    }

    /// Calls a function for every message of a name.
    pub fn on_message(&self, name: &str, call: impl Fn(&Value) + Send + Sync + 'static) {
        let mut messages = self.messages.write().unwrap_or_else(PoisonError::into_inner);
        messages.push((name.to_owned(), Arc::new(call)));
    }

    /// Sends a message to the functions that wait for its name, and returns how many there are.
    pub fn emit(&self, name: &str, message: &Value) -> usize {
        // Copied out of the lock: a function may register another one.
        let calls = matching(&self.messages, name);
        calls.iter().for_each(|call| call(message));
        calls.len()
    }
}

/// Returns the functions of a name. None of them holds the lock, so that one can add others.
fn matching<T: ?Sized>(calls: &RwLock<Vec<(String, Arc<T>)>>, name: &str) -> Vec<Arc<T>> {
    let calls = calls.read().unwrap_or_else(PoisonError::into_inner);
    let matching = calls.iter().filter(|(wanted, _)| wanted == name || wanted == "*");
    matching.map(|(_, call)| call.clone()).collect()
}

impl Plugin for EventEmitter {
    fn name(&self) -> &str {
        "event-emitter"
    }

    fn category(&self) -> PluginCategory {
        PluginCategory::EventProcessing
    }

    fn on_event(&self, event: &Envelope) {
        matching(&self.events, event.event.kind()).iter().for_each(|call| call(event));
    }
}
