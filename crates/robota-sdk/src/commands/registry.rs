//! Finds commands: the built-in ones, those of modules, and those that sources list.

use std::sync::Arc;

use super::{CommandInfo, SystemCommand};

/// Lists commands that others execute, such as skills.
///
/// ```
/// use robota_sdk::{CommandInfo, CommandSource};
///
/// struct Two;
///
/// impl CommandSource for Two {
///     fn commands(&self) -> Vec<CommandInfo> {
///         vec![CommandInfo::new("one", "First"), CommandInfo::new("two", "Second")]
///     }
/// }
/// assert_eq!(Two.commands().len(), 2);
/// ```
pub trait CommandSource: Send + Sync {
    /// Returns the commands as they are now. Menus call it each time they are shown.
    fn commands(&self) -> Vec<CommandInfo>;
}

/// Adds commands to sessions. This crate does not know their names.
///
/// ```
/// use robota_sdk::{CommandModule, CommandRegistry};
///
/// CommandRegistry::new().add_module(&CommandModule::new("mine"));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CommandModule {
    /// A name for people; nothing looks a module up by it.
    pub name: String,
    /// The commands that it executes, in order: the first with a name wins.
    pub commands: Vec<Arc<dyn SystemCommand>>,
    /// The sources that further commands come from, such as skills.
    pub sources: Vec<Arc<dyn CommandSource>>,
    /// The parts of a session that its commands need.
    pub requires: Vec<SessionPart>,
}

/// A part of a session that is there only if something asks for it.
///
/// ```
/// use robota_sdk::{CommandModule, SessionPart};
///
/// let module = CommandModule::new("teams").requires(SessionPart::Agents);
/// assert_eq!(module.requires, [SessionPart::Agents]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionPart {
    /// The tool Agent, and the agents in its description.
    Agents,
    /// The tool BackgroundProcess, another name for Bash with `run_in_background`.
    BackgroundProcess,
    /// Schedules that fire while the session is open.
    Schedules,
}

impl CommandModule {
    /// Creates a module without commands.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a command that users, and the model if it says so, can run.
    #[must_use]
    pub fn command(mut self, command: impl SystemCommand + 'static) -> Self {
        self.commands.push(Arc::new(command));
        self
    }

    /// Asks for a part of the session.
    #[must_use]
    pub fn requires(mut self, part: SessionPart) -> Self {
        self.requires.push(part);
        self
    }

    /// Adds a source of commands that are listed in menus and executed elsewhere.
    #[must_use]
    pub fn source(mut self, source: impl CommandSource + 'static) -> Self {
        self.sources.push(Arc::new(source));
        self
    }
}

/// Finds the commands of a session by name. The first command with a name wins.
///
/// ```
/// use robota_sdk::CommandRegistry;
///
/// let registry = CommandRegistry::new();
/// assert!(registry.find("help").is_none());
/// assert!(registry.list("").is_empty());
/// ```
#[derive(Clone, Default)]
pub struct CommandRegistry {
    commands: Vec<Arc<dyn SystemCommand>>,
    sources: Vec<Arc<dyn CommandSource>>,
    /// The names of commands that the model does not get.
    hidden: Vec<String>,
}

impl CommandRegistry {
    /// Creates a registry without commands.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the commands and sources of a module.
    pub fn add_module(&mut self, module: &CommandModule) {
        self.commands.extend(module.commands.iter().cloned());
        self.sources.extend(module.sources.iter().cloned());
    }

    /// Adds a source of commands. Its commands come after those of all modules.
    pub fn add_source(&mut self, source: Arc<dyn CommandSource>) {
        self.sources.push(source);
    }

    /// Returns the command with this name, if this crate or a module executes it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn SystemCommand>> {
        self.commands.iter().find(|command| command.info().name == name)
    }

    /// Keeps a command from the model; users can still execute it.
    pub fn hide_from_model(&mut self, name: &str) {
        self.hidden.push(name.to_owned());
    }

    /// Returns the commands that the model may use.
    pub(crate) fn for_model(&self) -> impl Iterator<Item = &Arc<dyn SystemCommand>> {
        self.commands.iter().filter(|command| {
            let info = command.info();
            info.model_invocable && !self.hidden.contains(&info.name)
        })
    }

    /// Returns all commands whose name starts with a text, sorted by name.
    #[must_use]
    pub fn list(&self, prefix: &str) -> Vec<CommandInfo> {
        let own = self.commands.iter().map(|command| command.info());
        let listed = self.sources.iter().flat_map(|source| source.commands());
        let mut all: Vec<CommandInfo> = Vec::new();
        for info in own.chain(listed) {
            let matches = info.name.starts_with(prefix);
            // The order decides: a skill cannot hide a command.
            if matches && all.iter().all(|other| other.name != info.name) {
                all.push(info);
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Returns the commands below a command.
    #[must_use]
    pub fn subcommands(&self, name: &str) -> Vec<CommandInfo> {
        let found = self.list(name).into_iter().find(|info| info.name == name);
        found.map(|info| info.subcommands).unwrap_or_default()
    }

    /// Returns the full name of a plugin's command for a short name, such as
    /// `my-plugin:audit` for `audit`; none if no command or several match.
    #[must_use]
    pub fn qualified_name(&self, short: &str) -> Option<String> {
        let suffix = format!(":{short}");
        let mut found =
            self.list("").into_iter().map(|info| info.name).filter(|name| name.ends_with(&suffix));
        let name = found.next()?;
        found.next().is_none().then_some(name)
    }
}
