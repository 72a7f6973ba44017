//! Callbacks (SESS-02): functions that are called with what happens in one session. They see no
//! other session, also when both use one provider (SESS-16).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::context::{ContextEstimate, ContextInputs, ContextState, estimate};
use robota_core::driver::Observer;
use robota_core::event::{CompactionTrigger, Event};
use robota_core::ids::CallId;
use robota_core::message::ToolUse;
use robota_core::project::{StreamText, TextUpdate};
use robota_core::tool::{DidRun, ToolOutcome};
use serde_json::Value;

type Shown<T> = Arc<dyn Fn(T) + Send + Sync>;

/// A tool call, as it is shown to people.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolExecution {
    /// It begins.
    Start {
        /// The tool.
        tool: String,
        /// Its arguments.
        input: Value,
    },
    /// It ended, or was not to begin.
    End {
        /// The tool.
        tool: String,
        /// Its arguments.
        input: Value,
        /// Whether it did what it was asked.
        success: bool,
        /// Whether it was not allowed.
        denied: bool,
        /// What the model is told.
        result: String,
        /// Why it failed, as a stable word.
        error_code: Option<String>,
    },
}

/// A compaction, as it is shown to people.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionReport {
    /// Who wanted it.
    pub trigger: CompactionTrigger,
    /// The summary.
    pub summary: String,
    /// How full the window was.
    pub before: ContextState,
    /// How full it is now.
    pub after: ContextState,
}

/// Functions that are called as things happen. They run while the session works and must not
/// block. A panic in one is logged and ends nothing else.
#[derive(Clone, Default)]
pub struct Callbacks {
    text: Option<Shown<String>>,
    text_reset: Option<Shown<()>>,
    tool: Option<Shown<ToolExecution>>,
    context: Option<Shown<ContextState>>,
    compaction: Option<Shown<CompactionReport>>,
}

impl Callbacks {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Called with text as it streams, rounds separated by a blank line. When a model call fails and
    /// is tried again, it is called with a line that says that the answer starts again, unless
    /// [`Callbacks::on_text_reset`] is set.
    #[must_use]
    pub fn on_text(mut self, show: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.text = Some(Arc::new(show));
        self
    }

    /// Called when the text since the last whole answer is void: its model call failed and is tried
    /// again.
    #[must_use]
    pub fn on_text_reset(mut self, reset: impl Fn() + Send + Sync + 'static) -> Self {
        self.text_reset = Some(Arc::new(move |()| reset()));
        self
    }

    /// Called with tool calls: twice with one that runs, once with one that does not.
    #[must_use]
    pub fn on_tool(mut self, show: impl Fn(ToolExecution) + Send + Sync + 'static) -> Self {
        self.tool = Some(Arc::new(show));
        self
    }

    /// Called with how full the window is: an estimate before each request, the count after.
    #[must_use]
    pub fn on_context(mut self, show: impl Fn(ContextState) + Send + Sync + 'static) -> Self {
        self.context = Some(Arc::new(show));
        self
    }

    /// Called with compactions.
    #[must_use]
    pub fn on_compaction(
        mut self,
        show: impl Fn(CompactionReport) + Send + Sync + 'static,
    ) -> Self {
        self.compaction = Some(Arc::new(show));
        self
    }

    /// An observer of a session whose model has a window of that size; none when nobody wants
    /// to be shown anything.
    pub(crate) fn observer(&self, window: u64) -> Option<Observer> {
        let silent = self.text.is_none()
            && self.text_reset.is_none()
            && self.tool.is_none()
            && self.context.is_none()
            && self.compaction.is_none();
        if silent {
            return None;
        }
        let follower = Mutex::new(Follower {
            callbacks: self.clone(),
            window,
            text: StreamText::default(),
            calls: HashMap::new(),
            begun: None,
            finished: None,
        });
        Some(Arc::new(move |envelope| {
            follower.lock().unwrap_or_else(PoisonError::into_inner).see(&envelope.event);
        }))
    }
}

/// Follows a session, so that what several events tell can be shown as one.
struct Follower {
    callbacks: Callbacks,
    window: u64,
    text: StreamText,
    calls: HashMap<CallId, ToolUse>,
    /// A compaction that has begun.
    begun: Option<(CompactionTrigger, ContextEstimate)>,
    /// Its summary, until it is known how full the window is now.
    finished: Option<String>,
}

impl Follower {
    fn see(&mut self, event: &Event) {
        if let Some(update) = self.text.push(event) {
            match (&update, &self.callbacks.text_reset, &self.callbacks.text) {
                (TextUpdate::Reset, Some(show), _) => show(()),
                (_, _, Some(show)) => show(update.printed().to_owned()),
                (_, _, None) => {}
            }
        }
        match event {
            Event::ToolCalled(data) => {
                self.calls.insert(data.tool_use.call.clone(), data.tool_use.clone());
            }
            Event::ToolStarted(data) => {
                if let Some(call) = self.calls.get(&data.call) {
                    let input = data.input.clone().unwrap_or_else(|| arguments(call));
                    self.show_tool(ToolExecution::Start { tool: call.name.clone(), input });
                }
            }
            Event::ToolFinished(data) => {
                if let Some(call) = self.calls.remove(&data.call) {
                    self.show_tool(end(&call, &data.outcome));
                }
            }
            Event::ContextMeasured(data) => {
                if let Some(show) = &self.callbacks.context {
                    show(data.estimate.state());
                }
                self.show_compaction(&data.estimate);
            }
            Event::AssistantMessage(data) => {
                let exact = estimate(&ContextInputs {
                    latest_usage: data.message.usage,
                    usage_is_last: true,
                    window: self.window,
                    ..ContextInputs::default()
                });
                if let (Some(show), true) = (&self.callbacks.context, exact.exact) {
                    show(exact.state());
                }
            }
            Event::CompactionStarted(data) => self.begun = Some((data.trigger, data.before)),
            Event::CompactionFinished(data) => self.finished = Some(data.summary.text()),
            Event::CompactionFailed(_) => (self.begun, self.finished) = (None, None),
            Event::TurnFinished(_) => self.calls.clear(),
            _ => {}
        }
    }

    fn show_tool(&self, execution: ToolExecution) {
        if let Some(show) = &self.callbacks.tool {
            show(execution);
        }
    }

    fn show_compaction(&mut self, after: &ContextEstimate) {
        if let (Some(summary), Some((trigger, before))) = (self.finished.take(), self.begun.take())
            && let Some(show) = &self.callbacks.compaction
        {
            let (before, after) = (before.state(), after.state());
            show(CompactionReport { trigger, summary, before, after });
        }
    }
}

fn arguments(call: &ToolUse) -> Value {
    call.input.json().cloned().unwrap_or_default()
}

fn end(call: &ToolUse, outcome: &ToolOutcome) -> ToolExecution {
    let code = outcome.error_code.clone();
    ToolExecution::End {
        tool: call.name.clone(),
        input: arguments(call),
        success: outcome.ok,
        denied: outcome.ran == DidRun::No
            && matches!(code.as_deref(), Some("denied" | "blocked_by_hook")),
        result: outcome.text(),
        error_code: code,
    }
}
