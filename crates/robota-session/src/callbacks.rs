//! Callbacks (SESS-02): functions that the session calls as events happen. They receive events of
//! one session only, even if several sessions use one provider (SESS-16).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::context::{ContextEstimate, ContextInputs, ContextState, estimate};
use robota_core::driver::Observer;
use robota_core::event::{CompactionTrigger, Event};
use robota_core::guard::guarded;
use robota_core::ids::CallId;
use robota_core::message::ToolUse;
use robota_core::project::{StreamText, TextUpdate};
use robota_core::tool::{DidRun, ToolOutcome};
use serde_json::Value;

/// How the log names what panicked.
const CALLBACK: &str = "a callback";

type Callback<T> = Arc<dyn Fn(T) + Send + Sync>;

/// Shows a tool call as it starts and as it ends.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolExecution {
    /// The call is allowed and starts to run.
    Start {
        /// The tool's name as the model wrote it.
        tool: String,
        /// The arguments with which the tool runs: those of the model, or what a hook made of them.
        input: Value,
    },
    /// The call ended, or did not run.
    End {
        /// The tool's name as the model wrote it.
        tool: String,
        /// The arguments as the model wrote them; null if they are not valid JSON.
        input: Value,
        /// Whether the tool reported success; false for a call that did not run.
        success: bool,
        /// Whether a rule, a hook or the user denied the call.
        denied: bool,
        /// The text that the model receives.
        result: String,
        /// A stable code for the failure, such as `denied`; none after a success.
        error_code: Option<String>,
    },
}

/// A compaction that finished, prepared for display.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionReport {
    /// What caused it: the user, or a full window.
    pub trigger: CompactionTrigger,
    /// The text that replaces the old messages.
    pub summary: String,
    /// How full the window was before.
    pub before: ContextState,
    /// How full the window is after.
    pub after: ContextState,
}

/// Functions that the session calls as events happen. They run in the session's task and must not
/// block. A panic in one is logged and affects nothing else.
#[derive(Clone, Default)]
pub struct Callbacks {
    event: Option<Observer>,
    text: Option<Callback<String>>,
    text_reset: Option<Callback<()>>,
    tool: Option<Callback<ToolExecution>>,
    context: Option<Callback<ContextState>>,
    compaction: Option<Callback<CompactionReport>>,
}

impl Callbacks {
    /// Creates an empty set of callbacks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the callback for every event, after it was written.
    #[must_use]
    pub fn on_event(mut self, observer: Observer) -> Self {
        self.event = Some(observer);
        self
    }

    /// Adds a callback for every event, which is called before the one that is set.
    #[must_use]
    pub fn first_on_event(mut self, observer: Observer) -> Self {
        self.event = Some(match self.event.take() {
            None => observer,
            Some(set) => Arc::new(move |envelope| {
                guarded(CALLBACK, || observer(envelope));
                set(envelope);
            }),
        });
        self
    }

    /// Sets the callback for streamed text. Rounds are separated by a blank line. When a failed
    /// model call is retried, the callback receives a line that says that the answer starts again,
    /// unless [`Callbacks::on_text_reset`] is set.
    #[must_use]
    pub fn on_text(mut self, show: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.text = Some(Arc::new(show));
        self
    }

    /// Sets the callback for discarded text: the text since the last whole answer is void, because
    /// its model call failed and is retried.
    #[must_use]
    pub fn on_text_reset(mut self, reset: impl Fn() + Send + Sync + 'static) -> Self {
        self.text_reset = Some(Arc::new(move |()| reset()));
        self
    }

    /// Sets the callback for tool calls. It is called twice for a call that runs, once for one that
    /// does not.
    #[must_use]
    pub fn on_tool(mut self, show: impl Fn(ToolExecution) + Send + Sync + 'static) -> Self {
        self.tool = Some(Arc::new(show));
        self
    }

    /// Sets the callback for the window's state: an estimate before each request, the exact count
    /// after.
    #[must_use]
    pub fn on_context(mut self, show: impl Fn(ContextState) + Send + Sync + 'static) -> Self {
        self.context = Some(Arc::new(show));
        self
    }

    /// Sets the callback for compactions that finished; failed ones are not reported.
    #[must_use]
    pub fn on_compaction(
        mut self,
        show: impl Fn(CompactionReport) + Send + Sync + 'static,
    ) -> Self {
        self.compaction = Some(Arc::new(show));
        self
    }

    /// Returns an observer for a session whose model has a window of that size; none if no callback
    /// is set.
    pub(crate) fn observer(&self, window: u64) -> Option<Observer> {
        let silent = self.event.is_none()
            && self.text.is_none()
            && self.text_reset.is_none()
            && self.tool.is_none()
            && self.context.is_none()
            && self.compaction.is_none();
        // Most sessions of a server have no callback; without an observer the events of a stream
        // cost nothing extra.
        if silent {
            return None;
        }
        let follower = Mutex::new(Follower {
            callbacks: self.clone(),
            window,
            text: StreamText::default(),
            calls: HashMap::new(),
            compaction_started: None,
            compaction_summary: None,
        });
        let event = self.event.clone();
        Some(Arc::new(move |envelope| {
            if let Some(event) = &event {
                // Called outside the lock: a callback may itself wait for another session.
                guarded(CALLBACK, || event(envelope));
            }
            follower.lock().unwrap_or_else(PoisonError::into_inner).on_event(&envelope.event);
        }))
    }
}

/// Combines several events into one call of a callback.
struct Follower {
    callbacks: Callbacks,
    window: u64,
    text: StreamText,
    calls: HashMap<CallId, ToolUse>,
    /// The trigger and the window of a compaction that has started.
    compaction_started: Option<(CompactionTrigger, ContextEstimate)>,
    /// The summary of a finished compaction, until the new size of the window is measured.
    compaction_summary: Option<String>,
}

impl Follower {
    fn on_event(&mut self, event: &Event) {
        if let Some(update) = self.text.push(event) {
            let Callbacks { text_reset, text, .. } = &self.callbacks;
            guarded(CALLBACK, || match (&update, text_reset, text) {
                (TextUpdate::Reset, Some(show), _) => show(()),
                (_, _, Some(show)) => show(update.printed().to_owned()),
                (_, _, None) => {}
            });
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
                    guarded(CALLBACK, || show(data.estimate.state()));
                }
                // A compaction is reported with the size after it, and that is measured by the
                // event that follows its end.
                self.show_compaction(&data.estimate);
            }
            Event::AssistantMessage(data) => {
                // Only the provider knows the exact number of tokens, and it reports it with the
                // answer.
                let exact = estimate(&ContextInputs {
                    latest_usage: data.message.usage,
                    usage_is_last: true,
                    window: self.window,
                    ..ContextInputs::default()
                });
                if let (Some(show), true) = (&self.callbacks.context, exact.exact) {
                    guarded(CALLBACK, || show(exact.state()));
                }
            }
            Event::CompactionStarted(data) => {
                self.compaction_started = Some((data.trigger, data.before));
            }
            Event::CompactionFinished(data) => self.compaction_summary = Some(data.summary.text()),
            Event::CompactionFailed(_) => {
                (self.compaction_started, self.compaction_summary) = (None, None);
            }
            // Calls without an end (a crash, an abort) would otherwise stay in memory.
            Event::TurnFinished(_) => self.calls.clear(),
            _ => {}
        }
    }

    fn show_tool(&self, execution: ToolExecution) {
        if let Some(show) = &self.callbacks.tool {
            guarded(CALLBACK, || show(execution));
        }
    }

    fn show_compaction(&mut self, after: &ContextEstimate) {
        if let (Some(summary), Some((trigger, before))) =
            (self.compaction_summary.take(), self.compaction_started.take())
            && let Some(show) = &self.callbacks.compaction
        {
            let (before, after) = (before.state(), after.state());
            guarded(CALLBACK, || show(CompactionReport { trigger, summary, before, after }));
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
