//! What an agent knows from the start: the text of the skills that its definition names, and its memory.
//! The conversation gets the same if it runs as an agent.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use robota_config::agents::{AgentDefinition, AgentMemory};
use robota_config::skills::{SkillInvocation, SkillPart, Skills};
use robota_config::{TrustStore, clean};
use robota_tools::file::{ResolvedPath, read_start};
use serde::{Deserialize, Serialize};

use super::AgentParts;
use crate::context::lock;
use crate::notice::Notice;
use crate::project::Project;

/// The most lines and bytes of a memory that the prompt contains: the limits of the memory of the
/// project.
const MAX_LINES: usize = 200;
const MAX_BYTES: usize = 25 * 1024;

/// How many bytes of an index are read. Cleaning can make the text shorter, so this is more than the
/// prompt contains.
const MAX_READ_BYTES: u64 = 4 * MAX_BYTES as u64;

/// The file of a memory that the prompt contains.
const INDEX: &str = "MEMORY.md";

/// Text for the prompt of an agent, and the rules that it needs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Preloaded {
    /// Names and texts of parts of the prompt.
    pub(crate) parts: Vec<(String, String)>,
    /// Rules that let the agent read its memory.
    pub(crate) allow: Vec<String>,
}

impl Preloaded {
    /// Reads the skills and the memory of an agent. What cannot be read is added to `notices`.
    pub(crate) fn of(
        definition: &AgentDefinition,
        project: &Project,
        skills: Option<&Mutex<Skills>>,
        notices: &mut Vec<Notice>,
    ) -> Self {
        let mut loaded = Self::default();
        let mut problem = |text: String| {
            notices.push(Notice::Note(format!("the agent `{}`: {text}", definition.name)));
        };
        if !definition.skills.is_empty() {
            let trust = TrustStore::load(&project.places);
            for name in &definition.skills {
                match skill_text(skills, name, &trust) {
                    Ok(text) => loaded.parts.push((format!("skill {name}"), text)),
                    Err(error) => problem(format!("the skill `{name}` is not loaded: {error}")),
                }
            }
        }
        if let Some(memory) = definition.memory {
            match memory_of(project, memory, &definition.name) {
                Ok((folder, text)) => {
                    loaded.parts.push(("memory".to_owned(), text));
                    let path = folder.display();
                    // The second slash makes the rule an absolute path; the memory of the user is
                    // outside of the workspace.
                    loaded.allow = vec![format!("Read(/{path}/**)")];
                }
                Err(error) => problem(format!("its memory is not used: {error}")),
            }
        }
        loaded
    }
}

impl AgentParts {
    /// Reads the skills and the memory of an agent. What cannot be read is reported to the user.
    pub(super) fn preload(&self, definition: &AgentDefinition) -> Preloaded {
        let mut notices = Vec::new();
        let skills = self.skills.as_deref();
        let loaded = Preloaded::of(definition, &self.project, skills, &mut notices);
        notices.into_iter().for_each(|notice| (self.on_notice)(notice));
        loaded
    }
}

/// Returns the text of a skill. Its commands do not run: the user did not start the skill.
fn skill_text(
    skills: Option<&Mutex<Skills>>,
    name: &str,
    trust: &TrustStore,
) -> Result<String, String> {
    let skills = skills.ok_or("there are no skills here")?;
    let body = lock(skills).open(name, trust).map_err(|error| error.to_string())?;
    let invocation = SkillInvocation {
        arguments: "",
        session_id: None,
        effort: None,
        // A definition can come from a checkout, so a skill that it names must not run commands
        // at the start.
        commands_disabled: true,
    };
    let parts = body.expand(&invocation).map_err(|error| error.to_string())?;
    let text = parts.into_iter().map(|part| match part {
        SkillPart::Text(text) | SkillPart::File { text, .. } => text,
        SkillPart::Command { command } => format!("`{command}`"),
    });
    Ok(format!("# Skill {name}\n\n{}", text.collect::<String>()))
}

/// Returns the folder of an agent's memory, and the text about it for the prompt.
fn memory_of(
    project: &Project,
    memory: AgentMemory,
    agent: &str,
) -> Result<(PathBuf, String), String> {
    let home = || project.places.home.clone().ok_or("there is no home folder");
    let (root, folder) = match memory {
        AgentMemory::User => (home()?, ".robota/agent-memory"),
        AgentMemory::Project => (project.cwd().to_owned(), ".robota/agent-memory"),
        AgentMemory::Local => (project.cwd().to_owned(), ".robota/agent-memory-local"),
    };
    let name: String = agent
        .chars()
        // The name is data of a file: without this, `../..` would name a folder outside of the
        // memory.
        .map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' })
        .collect();
    let folder = root.join(folder).join(name);
    // Before anything is read.
    inside(&root, &folder)?;
    let index = read_index(&folder.join(INDEX));
    let mut text = format!(
        "# Memory\n\nYour notes from earlier tasks are in {}. Keep what is worth knowing later in {INDEX} \
         there, briefly.",
        folder.display()
    );
    if !index.trim().is_empty() {
        let lines: Vec<_> = index.lines().take(MAX_LINES).collect();
        let mut shown = lines.join("\n");
        let cut = (0..=MAX_BYTES.min(shown.len())).rev().find(|at| shown.is_char_boundary(*at));
        shown.truncate(cut.unwrap_or(0));
        text.push_str(&format!("\n\n{INDEX}:\n{shown}"));
    }
    Ok((folder, text))
}

/// Reads the beginning of the index of a memory, a regular file, as text that a terminal can show.
fn read_index(file: &Path) -> String {
    let read = ResolvedPath::new(file).and_then(|file| read_start(&file, MAX_READ_BYTES));
    read.map_or_else(|_| String::new(), |(bytes, _)| clean(&String::from_utf8_lossy(&bytes)).into())
}

/// Fails if a link leads out of the root. A checkout can contain such a link.
fn inside(root: &Path, folder: &Path) -> Result<(), String> {
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let file = folder.join(INDEX);
    for place in folder.ancestors().chain([file.as_path()]) {
        if let Ok(real) = place.canonicalize()
            && place.starts_with(&root)
            && !real.starts_with(&root)
        {
            return Err(format!("{} is a link out of {}", place.display(), root.display()));
        }
    }
    Ok(())
}
