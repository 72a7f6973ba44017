//! The tools of a session whose sources change while it runs.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use robota_core::blob::Blobs;
use robota_core::redact::Redactor;
use robota_core::tool::{LiveTools, Tool, ToolScope, ToolSet, ToolSource};

use crate::setup::Setup;
use crate::tool_output::SessionTool;

/// The fixed tools of a session and those of its sources.
pub(crate) struct LiveToolSet {
    fixed: ToolSet,
    sources: Vec<Arc<dyn ToolSource>>,
    blobs: Arc<dyn Blobs>,
    limit: Option<usize>,
    redactor: Redactor,
    /// The versions of the sources that the session has seen.
    seen: Mutex<Option<Vec<Option<u64>>>>,
}

impl LiveToolSet {
    /// Creates it; none if the session has no sources.
    pub(crate) fn new(fixed: &ToolSet, setup: &Setup, scope: &ToolScope) -> Option<Self> {
        (!setup.sources.is_empty()).then(|| Self {
            fixed: fixed.clone(),
            sources: setup.sources.clone(),
            blobs: scope.blobs.clone(),
            limit: setup.output_limit,
            redactor: setup.base.config.redactor.clone(),
            seen: Mutex::default(),
        })
    }

    fn tool_set(&self) -> ToolSet {
        let mut tools: IndexMap<String, Arc<dyn Tool>> =
            self.fixed.iter().map(|tool| (tool.spec().name.clone(), tool.clone())).collect();
        let tools_of = |source: &Arc<dyn ToolSource>| guarded("offers tools", || source.tools());
        for inner in self.sources.iter().filter_map(tools_of).flatten() {
            let (blobs, redactor) = (self.blobs.clone(), self.redactor.clone());
            // A fixed tool takes precedence over one of a source.
            tools.entry(inner.spec().name.clone()).or_insert_with(|| {
                Arc::new(SessionTool { inner, blobs, limit: self.limit, redactor })
            });
        }
        // Cannot fail: names that are taken were left out above.
        ToolSet::new(tools.into_values()).unwrap_or_else(|_| self.fixed.clone())
    }
}

/// Calls a source, in the session's task; none if it panics. Then it offers no tools.
fn guarded<T>(what: &str, call: impl FnOnce() -> T) -> Option<T> {
    let called = std::panic::catch_unwind(AssertUnwindSafe(call));
    if called.is_err() {
        tracing::error!(what, "a source of tools panicked");
    }
    called.ok()
}

impl LiveTools for LiveToolSet {
    fn changed(&self) -> Option<ToolSet> {
        let version = |source: &Arc<dyn ToolSource>| guarded("has a version", || source.version());
        let versions: Vec<_> = self.sources.iter().map(version).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref() == Some(&versions) {
            return None;
        }
        *seen = Some(versions);
        Some(self.tool_set())
    }
}
