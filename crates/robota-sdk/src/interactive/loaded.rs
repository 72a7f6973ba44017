//! What was read of the user's files when a session was opened.

use std::path::Path;

use robota_config::instructions::{InstructionFile, InstructionKind};
use robota_config::{Places, ReadCounts};
use robota_core::hook::HookData;

use super::InteractiveSession;
use crate::prompt::PromptPart;

/// What was read of the user's files for agents when a session was opened.
///
/// ```
/// use robota_sdk::LoadedContext;
///
/// fn tokens(loaded: &LoadedContext) -> u64 {
///     loaded.parts.iter().map(|part| part.tokens).sum()
/// }
/// assert_eq!(tokens(&LoadedContext::default()), 0);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadedContext {
    /// The parts of the system prompt, with their size.
    pub parts: Vec<PromptPart>,
    /// How many files, folders and bytes were read, those of agent definitions included.
    pub read: ReadCounts,
    /// The name of the output style; none for the default.
    pub output_style: Option<String>,
    /// The language of the answers that the settings ask for.
    pub language: Option<String>,
}

impl InteractiveSession {
    /// Runs the hooks about the files with instructions that are part of the system prompt.
    pub(super) async fn report_instructions(&self, places: &Places) {
        for part in &self.0.loaded.parts {
            let file = Path::new(&part.name);
            // Only parts that come from files have a path as their name.
            if file.is_absolute() {
                let data = HookData::InstructionsLoaded {
                    file_path: part.name.clone(),
                    memory_type: memory_type(file, places),
                    load_reason: "session_start",
                };
                self.session().config().run_hooks(data).await;
            }
        }
    }
}

/// Runs the hooks about a file of a subfolder, or a rule for some files, which a session loaded because
/// it used a file there. The call that used it does not wait for them.
pub(super) fn report_nested(session: &InteractiveSession, file: &InstructionFile, places: &Places) {
    let data = HookData::InstructionsLoaded {
        file_path: file.path.display().to_string(),
        memory_type: memory_type(&file.path, places),
        load_reason: match file.kind {
            InstructionKind::Rule => "path_glob_match",
            InstructionKind::Import => "include",
            InstructionKind::Agents | InstructionKind::Claude | InstructionKind::Local => {
                "nested_traversal"
            }
        },
    };
    let session = session.session().clone();
    // From a thread that reads files.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        drop(runtime.spawn(async move { session.config().run_hooks(data).await }));
    }
}

/// Returns whose instructions a file has.
fn memory_type(file: &Path, places: &Places) -> &'static str {
    let home = places.home.iter().flat_map(|home| [home.join(".claude"), home.join(".robota")]);
    let mut of_user = home.chain(places.claude_dir.clone());
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if places.managed.iter().any(|folder| file.starts_with(folder)) {
        "Managed"
    } else if of_user.any(|folder| file.starts_with(folder)) {
        "User"
    } else if name.contains(".local.") {
        "Local"
    } else {
        "Project"
    }
}
