//! Gates for tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use robota_core::gate::{Gate, Judgement, Source};
use robota_core::message::ToolUse;
use robota_core::permission::Verdict;
use robota_core::tool::ToolSpec;

use crate::lock;

/// Judges by the tool's name.
#[derive(Debug, Clone)]
pub struct ScriptedGate {
    other: Verdict,
    by_name: HashMap<String, Verdict>,
}

impl ScriptedGate {
    /// Says this of every call it was told nothing about.
    #[must_use]
    pub fn new(other: Verdict) -> Self {
        Self { other, by_name: HashMap::new() }
    }

    /// Says this of calls to that tool.
    #[must_use]
    pub fn on(mut self, tool: impl Into<String>, verdict: Verdict) -> Self {
        self.by_name.insert(tool.into(), verdict);
        self
    }
}

#[async_trait::async_trait]
impl Gate for ScriptedGate {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let verdict = self.by_name.get(&call.name).copied().unwrap_or(self.other);
        Judgement {
            verdict,
            class: tool.class,
            reason: format!("the test says so of {}", call.name),
            source: Source::Rule,
            rules: Vec::new(),
        }
    }
}

/// Keeps what another gate was asked and what it said. Clones keep it together.
#[derive(Debug, Clone)]
pub struct RecordingGate<G> {
    inner: G,
    judged: Arc<Mutex<Vec<(ToolUse, Judgement)>>>,
}

impl<G: Gate> RecordingGate<G> {
    /// Asks that gate.
    pub fn new(inner: G) -> Self {
        Self { inner, judged: Arc::default() }
    }

    /// Every call so far with what was said of it, in order.
    #[must_use]
    pub fn judged(&self) -> Vec<(ToolUse, Judgement)> {
        lock(&self.judged).clone()
    }
}

#[async_trait::async_trait]
impl<G: Gate> Gate for RecordingGate<G> {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let judgement = self.inner.judge(call, tool).await;
        lock(&self.judged).push((call.clone(), judgement.clone()));
        judgement
    }
}
