//! What a folder offers to its sessions, for clients that show it before a session is open.

use std::sync::{Arc, Mutex};

use robota_config::agents::{AgentDefinition, Agents};
use robota_config::output_styles::OutputStyles;
use robota_config::skills::Skills;
use robota_config::{ContextReader, TrustStore};

use crate::commands::{CommandInfo, CommandRegistry, builtin};
use crate::project::Project;
use crate::skills::SkillSource;

/// The name of the output style that changes nothing.
pub const DEFAULT_OUTPUT_STYLE: &str = "default";

/// What a folder offers to its sessions.
///
/// ```
/// use robota_sdk::{Project, ProjectOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let options = ProjectOptions { cwd: Some(folder.path().to_owned()), ..Default::default() };
/// let listing = Project::load(options)?.listing(Vec::new());
/// assert!(listing.commands.iter().any(|command| command.name == "compact"));
/// assert!(listing.agents.iter().any(|agent| agent.name == "Explore"));
/// assert_eq!(listing.output_styles[0], "default");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProjectListing {
    /// The commands that users can invoke: built-in ones, skills, and those of plugins. Prompts of
    /// MCP servers are not among them: a server says what it has when it runs.
    pub commands: Vec<CommandInfo>,
    /// All definitions: built-in ones, those of files and plugins, and those of the caller.
    pub agents: Vec<AgentDefinition>,
    /// The names of the output styles, the default first.
    pub output_styles: Vec<String>,
}

impl Project {
    /// Returns what the folder offers. `agents` are definitions that the caller adds.
    #[must_use]
    pub fn listing(&self, agents: Vec<AgentDefinition>) -> ProjectListing {
        let reader = ContextReader::new(&self.places);
        let mut registry = CommandRegistry::new();
        registry.add_module(&builtin::commands());
        registry
            .add_source(Arc::new(self.skill_source(Arc::new(Mutex::new(self.skills(&reader))))));
        // Those that only the model uses are not part of a menu.
        let commands = registry.list("").into_iter().filter(|command| command.user_invocable);
        let styles = OutputStyles::load(&reader);
        let named = styles.iter().map(|style| style.name.clone());
        ProjectListing {
            commands: commands.collect(),
            agents: self.agents(&reader, agents).iter().cloned().collect(),
            output_styles: std::iter::once(DEFAULT_OUTPUT_STYLE.to_owned()).chain(named).collect(),
        }
    }

    /// Finds the skills of the user, the folder and the plugins.
    pub(crate) fn skills(&self, reader: &ContextReader) -> Skills {
        let overrides = self.settings.values.skill_overrides.iter();
        Skills::find(reader)
            .with_plugins(self.plugins.active())
            .with_overrides(overrides.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Returns the skills as a source of commands.
    pub(crate) fn skill_source(&self, skills: Arc<Mutex<Skills>>) -> SkillSource {
        let plugins = self.plugins.active().map(|plugin| plugin.manifest.name.clone());
        SkillSource { skills, plugins: plugins.collect() }
    }

    /// Reads the definitions of agents; those of the caller come first.
    pub(crate) fn agents(&self, reader: &ContextReader, given: Vec<AgentDefinition>) -> Agents {
        let trust = TrustStore::load(&self.places);
        Agents::load(reader, &trust, given).with_plugins(reader, self.plugins.active())
    }
}
