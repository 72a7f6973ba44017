//! Gates for tests.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use robota_core::gate::{Gate, Grant, Judgement, Restrictions, Source};
use robota_core::message::ToolUse;
use robota_core::permission::{Mode, PermissionUpdate, Verdict};
use robota_core::tool::ToolSpec;

use crate::lock;

/// Judges calls by the name of the tool.
#[derive(Debug, Clone)]
pub struct ScriptedGate {
    default: Verdict,
    by_name: HashMap<String, Verdict>,
}

impl ScriptedGate {
    /// Creates a gate that returns this verdict for tools that are not configured.
    #[must_use]
    pub fn new(default: Verdict) -> Self {
        Self { default, by_name: HashMap::new() }
    }

    /// Sets the verdict for calls of that tool.
    #[must_use]
    pub fn on(mut self, tool: impl Into<String>, verdict: Verdict) -> Self {
        self.by_name.insert(tool.into(), verdict);
        self
    }
}

#[async_trait::async_trait]
impl Gate for ScriptedGate {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let verdict = self.by_name.get(&call.name).copied().unwrap_or(self.default);
        Judgement {
            verdict,
            class: tool.class,
            reason: format!("the test's verdict for {}", call.name),
            // As if a rule had decided: hooks may not allow what this gate asks about.
            source: Source::Rule,
            rules: Vec::new(),
            grant: Grant::Full,
        }
    }
}

/// Records the calls that another gate judges, and its judgements. Clones share the record.
#[derive(Debug, Clone)]
pub struct RecordingGate<G> {
    inner: G,
    judgements: Arc<Mutex<Vec<(ToolUse, Judgement)>>>,
}

impl<G: Gate> RecordingGate<G> {
    /// Records the calls and passes them to this gate.
    pub fn new(inner: G) -> Self {
        Self { inner, judgements: Arc::default() }
    }

    /// Returns every call so far with its judgement, in order.
    #[must_use]
    pub fn judgements(&self) -> Vec<(ToolUse, Judgement)> {
        lock(&self.judgements).clone()
    }
}

#[async_trait::async_trait]
impl<G: Gate> Gate for RecordingGate<G> {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        // After the judgement: a test should see what the gate decided, not only what it was asked.
        let judgement = self.inner.judge(call, tool).await;
        lock(&self.judgements).push((call.clone(), judgement.clone()));
        judgement
    }

    fn remember(&self, rules: &[String]) -> Result<(), String> {
        self.inner.remember(rules)
    }

    fn restrict(&self, verdict: Verdict, rules: &[String]) -> Result<(), String> {
        self.inner.restrict(verdict, rules)
    }

    fn update(&self, update: &PermissionUpdate, file: Option<&str>) -> Result<(), String> {
        self.inner.update(update, file)
    }

    fn restrictions(&self) -> Restrictions {
        self.inner.restrictions()
    }

    fn folders(&self) -> Option<Vec<PathBuf>> {
        self.inner.folders()
    }

    fn set_folders(&self, folders: &[PathBuf]) -> Result<(), String> {
        self.inner.set_folders(folders)
    }

    fn pass_changes_to(&self, gate: Weak<dyn Gate>) {
        self.inner.pass_changes_to(gate);
    }

    fn add_turn_rules(&self, allow: &[String], deny: &[String]) -> Vec<String> {
        self.inner.add_turn_rules(allow, deny)
    }

    fn forget_turn_rules(&self) {
        self.inner.forget_turn_rules();
    }

    fn remembered(&self) -> Vec<String> {
        self.inner.remembered()
    }

    fn forget(&self) {
        self.inner.forget();
    }

    fn set_mode(&self, mode: Mode) {
        self.inner.set_mode(mode);
    }

    fn may_ask(&self) -> bool {
        self.inner.may_ask()
    }
}
