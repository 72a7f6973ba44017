//! Finds agent definitions: the built-in agents, and Markdown files of the user and the project.
//!
//! ```
//! use robota_config::agents::Agents;
//! use robota_config::{ContextReader, Places, TrustStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (home, project) = (home.path(), project.path());
//! std::fs::create_dir_all(project.join(".claude/agents"))?;
//! std::fs::write(
//!     project.join(".claude/agents/tester.md"),
//!     "---\nname: tester\ndescription: Runs tests\ntools: Bash, Read\n---\nRun the tests.\n",
//! )?;
//!
//! let places = Places::new(home, project);
//! let agents = Agents::load(&ContextReader::new(&places), &TrustStore::load(&places), Vec::new());
//! let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
//! assert_eq!(names, ["tester", "general-purpose", "Explore", "Plan"]);
//! assert_eq!(agents.get("tester").and_then(|agent| agent.tools.as_deref()).unwrap(), ["Bash", "Read"]);
//! # Ok(()) }
//! ```

mod definition;
mod model;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde_json::{Map, Value};

pub use definition::{AgentDefinition, AgentMemory};
pub use model::AgentModel;

use crate::clean::one_line;
use crate::frontmatter::{Fields, Header, Markdown};
use crate::layer::{Layer, LayerScope, Origin};
use crate::plugins::{InstalledPlugin, agent_folders};
use crate::reader::{Boundary, ContextReader, Depth, Folders, TreeFile, warning};
use crate::report::{Problem, Report, Severity};
use crate::trust::TrustStore;

/// The built-in agents. They are the last source, so that a file can replace each of them.
const BUILT_IN: [&str; 3] = [
    include_str!("../data/agents/general-purpose.md"),
    include_str!("../data/agents/Explore.md"),
    include_str!("../data/agents/Plan.md"),
];

/// The folders of a project with agents, highest priority first.
const PROJECT: [(&str, Layer); 3] = [
    (".robota/agents", Layer::ProjectRobota),
    (".agents/agents", Layer::ProjectRobota),
    (".claude/agents", Layer::ProjectClaude),
];

/// The most bytes of one file, and the most agents.
// More than people write; a checkout must not fill the memory or the prompt.
const MAX_FILE_BYTES: u64 = 256 * 1024;
const MAX_AGENTS: usize = 500;

/// The most characters of a description in the list for the model, and the most bytes of the list.
const MAX_DESCRIPTION: usize = 1_536;
const MAX_LISTING: usize = 16 * 1024;

/// Finds the agents of a working folder by name.
#[derive(Debug, Clone)]
pub struct Agents {
    /// Files that were not read or have invalid fields, and why.
    pub report: Report,
    agents: IndexMap<String, AgentDefinition>,
    /// Names of agents of the administrator that cannot be read. Others must not take their place.
    blocked: BTreeSet<String>,
    /// How many files may be read; none for all.
    files: Option<usize>,
    unread: usize,
}

impl Agents {
    /// Reads all definitions. The first of a name applies: the files of the administrator, `arguments` (see
    /// [`agents_from_json`]), then the files of the project, nearest folder first, then the user's, then the built-in ones.
    #[must_use]
    pub fn load(
        reader: &ContextReader,
        trust: &TrustStore,
        arguments: Vec<AgentDefinition>,
    ) -> Self {
        Self::load_files(reader, trust, arguments, None)
    }

    /// Reads the definitions of at most that many files, highest priority first, to list names and
    /// descriptions. [`Agents::unread`] counts the other files. Agents are run with the result of
    /// [`Agents::load`] only: a file that was not read can restrict one that was.
    #[must_use]
    pub fn load_first(
        reader: &ContextReader,
        trust: &TrustStore,
        arguments: Vec<AgentDefinition>,
        files: usize,
    ) -> Self {
        Self::load_files(reader, trust, arguments, Some(files))
    }

    fn load_files(
        reader: &ContextReader,
        trust: &TrustStore,
        arguments: Vec<AgentDefinition>,
        files: Option<usize>,
    ) -> Self {
        let mut agents = Self { files, ..Self::of([]) };
        // Highest priority first: the first definition of a name applies.
        for folder in reader.folders.managed("agents") {
            let source = Source { folder, layer: Layer::Managed, boundary: Boundary::User };
            agents.add_folder(reader, trust, &source, |agent| agent);
        }
        agents.extend(arguments);
        for source in sources(&reader.folders) {
            agents.add_folder(reader, trust, &source, |agent| agent);
        }
        for text in BUILT_IN {
            let Markdown { header, body, .. } = Markdown::parse(text);
            let mut problems = Vec::new();
            let origin = Origin::of(Layer::BuiltIn);
            let read = AgentDefinition::read(&header, &body, &origin, true, &mut problems);
            agents.extend(read);
        }
        agents
    }

    /// Returns only these definitions.
    pub fn of(definitions: impl IntoIterator<Item = AgentDefinition>) -> Self {
        let (report, agents) = (Report::default(), IndexMap::new());
        let mut agents = Self { report, agents, blocked: BTreeSet::new(), files: None, unread: 0 };
        agents.extend(definitions);
        agents
    }

    /// Adds the agents of plugins that the user enabled. Their names have the name of the plugin in
    /// front: `plugin:name`. They have no hooks, MCP servers and permission mode of their own: what the
    /// plugin does is what the user saw when enabling it.
    #[must_use]
    pub fn with_plugins<'a>(
        mut self,
        reader: &ContextReader,
        plugins: impl IntoIterator<Item = &'a InstalledPlugin>,
    ) -> Self {
        for plugin in plugins {
            let root = plugin.root.canonicalize().unwrap_or_else(|_| plugin.root.clone());
            for folder in agent_folders(plugin) {
                // A plugin's links must not lead out of the files that its hash covers.
                let boundary = Boundary::Within(root.clone());
                let source = Source { folder, layer: Layer::UserRobota, boundary };
                self.add_folder(reader, &TrustStore::default(), &source, |agent| AgentDefinition {
                    name: format!("{}:{}", plugin.manifest.name, agent.name),
                    hooks: None,
                    mcp_servers: None,
                    permission_mode: None,
                    requests: Vec::new(),
                    ..agent
                });
            }
        }
        self
    }

    /// Returns an agent by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.get(name)
    }

    /// Returns all agents, highest priority first.
    pub fn iter(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.agents.values()
    }

    /// Returns the number of files that were not read because of the limit of [`Agents::load_first`].
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// Returns names and descriptions for the model, one line for each agent. Agents that do not fit
    /// are counted in the last line.
    #[must_use]
    pub fn listing(&self) -> String {
        let mut text = String::new();
        let mut more = 0usize;
        for agent in self.iter() {
            let description: String =
                one_line(&agent.description).chars().take(MAX_DESCRIPTION).collect();
            let line = format!("- {}: {description}\n", one_line(&agent.name));
            // After the first that does not fit none is listed, so that the list is a beginning and
            // not a choice.
            if more > 0 || text.len() + line.len() > MAX_LISTING {
                more += 1;
            } else {
                text.push_str(&line);
            }
        }
        if more > 0 {
            text.push_str(&format!("- {more} more agents\n"));
        }
        text
    }

    /// Adds definitions whose names do not exist yet. A definition of a checkout that replaces one of
    /// the user or a built-in one keeps its restrictions until the file is trusted.
    fn extend(&mut self, agents: impl IntoIterator<Item = AgentDefinition>) {
        for agent in agents {
            if self.blocked.contains(&agent.name) {
                continue;
            }
            match self.agents.entry(agent.name.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(agent);
                }
                Entry::Occupied(mut entry) => entry.get_mut().keep_restrictions(&agent),
            }
        }
    }

    /// Keeps other files from defining the agent that a file of the administrator is named after.
    fn block(&mut self, layer: Layer, file: &TreeFile) {
        let name = file.names.last().filter(|_| layer == Layer::Managed);
        self.blocked.extend(name.cloned());
    }

    /// Adds the definitions of a folder and of the folders in it.
    fn add_folder(
        &mut self,
        reader: &ContextReader,
        trust: &TrustStore,
        source: &Source,
        change: impl Fn(AgentDefinition) -> AgentDefinition,
    ) {
        let Source { folder, layer, boundary } = source;
        let files =
            reader.markdown(folder, boundary, Depth::Tree, *layer, &mut self.report.problems);
        for file in files {
            // Only counted: the description of the tool says how many agents it does not list.
            if self.files == Some(0) {
                self.unread += 1;
                continue;
            }
            self.files = self.files.map(|files| files - 1);
            if self.agents.len() >= MAX_AGENTS {
                let message = format!("not read: there are {MAX_AGENTS} agents already");
                self.report.problems.push(warning(*layer, &file.path, message));
                return;
            }
            match read_file(reader, trust, source, &file.path, &mut self.report.problems) {
                Ok(Some(agent)) => self.extend([change(agent)]),
                Ok(None) => self.block(*layer, &file),
                Err(reason) => {
                    self.block(*layer, &file);
                    let message = format!("not read: {reason}");
                    self.report.problems.push(warning(*layer, &file.path, message));
                }
            }
        }
    }
}

/// A folder with agents.
struct Source {
    folder: PathBuf,
    layer: Layer,
    boundary: Boundary,
}

/// Returns the folders, highest priority first.
fn sources(folders: &Folders) -> Vec<Source> {
    let mut sources = Vec::new();
    for at in folders.checkout() {
        for (name, layer) in PROJECT {
            let folder = at.join(name);
            let is_users = folder.parent().is_some_and(|config| folders.is_users(config));
            if folders.places.reads(layer) && !is_users {
                sources.push(Source { folder, layer, boundary: folders.boundary(at) });
            }
        }
    }
    for layer in [Layer::UserRobota, Layer::UserClaude] {
        let folder = folders.user(layer, "agents");
        sources.extend(folder.map(|folder| Source { folder, layer, boundary: Boundary::User }));
    }
    sources
}

/// Reads one file; none if it has no valid definition, which is then in `problems`.
fn read_file(
    reader: &ContextReader,
    trust: &TrustStore,
    source: &Source,
    file: &Path,
    problems: &mut Vec<Problem>,
) -> Result<Option<AgentDefinition>, String> {
    let Some(text) = reader.read(file, &source.boundary, MAX_FILE_BYTES)? else { return Ok(None) };
    if text.cut {
        return Err(format!("it has {} bytes, at most {MAX_FILE_BYTES}", text.size));
    }
    // Most files ask for nothing, and the user has not been asked about them.
    let hash = if trust.has_file(&text.real) { text.hash() } else { None };
    let trusted = source.layer.scope() == LayerScope::User
        || hash.as_ref().is_some_and(|hash| trust.trusts_file(&text.real, hash));
    let Markdown { header, body, notes } = Markdown::of_clean(&text.text);
    let mut fields = Fields::new(&header, source.layer, Some(file));
    fields.note(&notes);
    problems.append(&mut fields.problems);
    let origin = Origin { layer: source.layer, file: Some(file.to_owned()), line: None };
    let agent = AgentDefinition::read(&header, &body, &origin, trusted, problems);
    Ok(agent.map(|agent| {
        let asks = !agent.requests.is_empty();
        let hash = if asks && hash.is_none() { text.hash() } else { hash };
        AgentDefinition { hash, ..agent }
    }))
}

/// Reads the definition of a checkout again, with the fields that need trust, for the user who decides
/// about them; none if the file has changed.
pub(crate) fn with_requested_fields(
    reader: &ContextReader,
    agent: &AgentDefinition,
) -> Option<AgentDefinition> {
    let file = agent.origin.file.as_deref()?;
    let boundary = reader.folders.boundary(file);
    let text = reader.read(file, &boundary, MAX_FILE_BYTES).ok()??;
    // The user would decide about other bytes than those that were shown.
    if text.hash() != agent.hash {
        return None;
    }
    let Markdown { header, body, .. } = Markdown::of_clean(&text.text);
    AgentDefinition::read(&header, &body, &agent.origin, true, &mut Vec::new())
}

/// Reads the value of `--agents`: an object with one definition for each name, whose `prompt` is the
/// system prompt. An invalid definition is left out and reported.
///
/// ```
/// use robota_config::agents::agents_from_json;
///
/// let (agents, report) = agents_from_json(
///     r#"{"reviewer": {"description": "Reviews", "prompt": "Review.", "model": "opus"}, "bad": 7}"#,
/// );
/// assert_eq!(agents[0].name, "reviewer");
/// assert_eq!(agents[0].prompt, "Review.");
/// assert_eq!(report.problems.len(), 1);
/// ```
#[must_use]
pub fn agents_from_json(text: &str) -> (Vec<AgentDefinition>, Report) {
    let mut report = Report::default();
    let error = |message: String| Problem {
        severity: Severity::Error,
        origin: Origin::of(Layer::Flags),
        key: None,
        message: format!("--agents: {message}"),
    };
    let definitions: Map<String, Value> = match serde_json::from_str(text) {
        Ok(definitions) => definitions,
        Err(reason) => {
            report.problems.push(error(format!("is not a JSON object: {reason}")));
            return (Vec::new(), report);
        }
    };
    let mut agents = Vec::new();
    for (name, definition) in definitions {
        let Value::Object(mut fields) = definition else {
            let name = one_line(&name);
            report.problems.push(error(format!("the definition of `{name}` is not an object")));
            continue;
        };
        // In a file the body is the prompt; here it is a field.
        let prompt = fields.shift_remove("prompt");
        let prompt = prompt.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        fields.insert("name".to_owned(), Value::from(name));
        let header = Header::from_json(fields);
        let origin = Origin::of(Layer::Flags);
        agents.extend(AgentDefinition::read(&header, &prompt, &origin, true, &mut report.problems));
    }
    (agents, report)
}

#[cfg(test)]
mod tests;
