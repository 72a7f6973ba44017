//! Instructions and skills of subfolders, which become active when a file there is used.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use robota_config::instructions::Instructions;
use robota_config::shown;
use robota_config::skills::Skills;
use robota_core::hook::{HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision};

/// The tools whose file makes instructions active.
const FILE_TOOLS: [&str; 5] = ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Adds instructions of subfolders to the result of the call that used a file there. The system
/// prompt stays the same, so that a provider's cache of it stays valid.
#[derive(Clone)]
pub(crate) struct NestedContext {
    instructions: Arc<Mutex<Instructions>>,
    skills: Arc<Mutex<Skills>>,
}

impl NestedContext {
    pub(super) fn new(instructions: Instructions, skills: Arc<Mutex<Skills>>) -> Self {
        Self { instructions: Arc::new(Mutex::new(instructions)), skills }
    }

    /// Returns the text that a file makes active; none if there is nothing new.
    fn on_access(&self, path: &Path) -> Option<String> {
        let mut instructions = self.instructions.lock().unwrap_or_else(PoisonError::into_inner);
        let files = instructions.on_access(path);
        let skills = super::lock(&self.skills).on_access(path);
        let mut parts: Vec<_> = files
            .iter()
            .map(|file| format!("Instructions from {}:\n{}", shown(&file.path), file.text.trim()))
            .collect();
        if !skills.is_empty() {
            parts.push(format!("Skills of this folder: {}", skills.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}

#[async_trait::async_trait]
impl Hooks for NestedContext {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PostToolUse
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let HookInput::PostToolUse { tool_use, outcome, .. } = input else {
            return HookAnswer::PostToolUse(PostToolDecision::Continue).into();
        };
        let path = tool_use.input.json().and_then(|input| input.get("file_path")?.as_str());
        // A call that failed has used no file; its path may not even exist.
        let used = outcome.ok && FILE_TOOLS.contains(&tool_use.name.as_str());
        let context = match path.filter(|_| used).map(PathBuf::from) {
            Some(path) => {
                let nested = self.clone();
                // Files are read, which must not block the task of the session.
                let read = tokio::task::spawn_blocking(move || nested.on_access(&path));
                read.await.ok().flatten()
            }
            None => None,
        };
        let answer = HookAnswer::PostToolUse(PostToolDecision::Continue);
        HookReply { answer, context, stop: None }
    }
}
