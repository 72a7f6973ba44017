//! Tools that run until a test releases them.

use std::sync::Arc;

use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::Value;
use tokio::sync::watch;

use super::spec;

/// A tool whose calls run until they are released. Clones share the state.
#[derive(Debug, Clone)]
pub struct HeldTool {
    spec: ToolSpec,
    stops_on_cancel: bool,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    started: watch::Sender<usize>,
    cancelled: watch::Sender<usize>,
    released: watch::Sender<Option<String>>,
}

/// Creates a tool that runs until it is released or cancelled.
#[must_use]
pub fn blocking_tool(name: &str, class: Class) -> HeldTool {
    HeldTool { spec: spec(name, class), stops_on_cancel: true, shared: Arc::default() }
}

/// Creates a tool that runs until it is released and ignores cancellation.
#[must_use]
pub fn stubborn_tool(name: &str, class: Class) -> HeldTool {
    HeldTool { stops_on_cancel: false, ..blocking_tool(name, class) }
}

impl HeldTool {
    /// Waits until that many calls have started.
    pub async fn started(&self, calls: usize) {
        at_least(&self.shared.started, calls).await;
    }

    /// Waits until that many calls were cancelled.
    pub async fn cancelled(&self, calls: usize) {
        at_least(&self.shared.cancelled, calls).await;
    }

    /// Ends every call, including later ones, with this text.
    pub fn release(&self, text: impl Into<String>) {
        self.shared.released.send_replace(Some(text.into()));
    }
}

#[async_trait::async_trait]
impl Tool for HeldTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _input: Value, context: ToolContext) -> ToolOutcome {
        // Counted before anything is awaited: a test that waits for the start must not miss it.
        self.shared.started.send_modify(|calls| *calls += 1);
        let mut released = self.shared.released.subscribe();
        let released = async {
            // Waiting fails only if the sender was dropped, and `self` owns it.
            let text = released.wait_for(Option::is_some).await.map(|text| text.clone());
            ToolOutcome::ok(text.ok().flatten().unwrap_or_default())
        };
        let stopped = async {
            context.scope.cancel.cancelled().await;
            self.shared.cancelled.send_modify(|calls| *calls += 1);
            if !self.stops_on_cancel {
                std::future::pending::<()>().await;
            }
            ToolOutcome::failed("cancelled", format!("{} was cancelled", self.spec.name))
        };
        tokio::select! {
            // A release that comes with a cancellation wins, so that the outcome does not depend on
            // timing.
            biased;
            outcome = released => outcome,
            outcome = stopped => outcome,
        }
    }
}

async fn at_least(counter: &watch::Sender<usize>, minimum: usize) {
    // Waiting fails only if the sender was dropped, and this borrows it.
    let _ = counter.subscribe().wait_for(|count| *count >= minimum).await;
}
