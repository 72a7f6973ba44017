//! The tools of a session whose sources change while it runs.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use robota_core::blob::Blobs;
use robota_core::guard::guarded;
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
            self.fixed.names().into_iter().zip(self.fixed.iter().cloned()).collect();
        // A source that panics offers no tools.
        let tools_of = |source: &Arc<dyn ToolSource>| guarded(SOURCE, || source.tools());
        for inner in self.sources.iter().filter_map(tools_of).flatten() {
            // Asked here, so that one tool that panics is left out, and not all that change.
            let describe = || (inner.spec().name.clone(), inner.offered(), inner.aliases());
            let Some((name, ..)) = guarded(SOURCE, describe) else { continue };
            let (blobs, redactor) = (self.blobs.clone(), self.redactor.clone());
            // A fixed tool takes precedence over one of a source.
            tools.entry(name).or_insert_with(|| {
                Arc::new(SessionTool { inner, blobs, limit: self.limit, redactor })
            });
        }
        // Names that are taken were left out above.
        let set = guarded(SOURCE, || ToolSet::new(tools.into_values()));
        set.and_then(Result::ok).unwrap_or_else(|| self.fixed.clone())
    }
}

/// How the log names what panicked.
const SOURCE: &str = "a source of tools";

impl LiveTools for LiveToolSet {
    fn changed(&self) -> Option<ToolSet> {
        let version = |source: &Arc<dyn ToolSource>| guarded(SOURCE, || source.version());
        let versions: Vec<_> = self.sources.iter().map(version).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref() == Some(&versions) {
            return None;
        }
        *seen = Some(versions);
        Some(self.tool_set())
    }
}
