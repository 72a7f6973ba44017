//! Descriptions of commands, for menus, transports and models.

use serde::Serialize;

/// Where a command comes from.
///
/// ```
/// use robota_sdk::{CommandInfo, CommandOrigin};
///
/// assert_eq!(CommandInfo::new("ping", "Answers").origin, CommandOrigin::Builtin);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CommandOrigin {
    /// This crate or a command module.
    Builtin,
    /// A skill or a command file of the user or the folder.
    Skill,
    /// A plugin; the name begins with that of the plugin and a colon.
    Plugin,
    /// A prompt of an MCP server.
    Mcp,
}

/// What a command can do.
///
/// ```
/// use robota_sdk::{CommandInfo, CommandSafety};
///
/// assert_eq!(CommandInfo::new("fix", "Fixes").safety, CommandSafety::Modifies);
/// let info = CommandInfo::new("status", "Shows what runs").reads_only();
/// assert_eq!(info.safety, CommandSafety::ReadOnly);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandSafety {
    /// It only reads: as a tool it runs without a question where reading does.
    ReadOnly,
    /// It may change the session or files: the default.
    Modifies,
}

/// Describes a command.
///
/// ```
/// use robota_sdk::CommandInfo;
///
/// let info = CommandInfo::new("greet", "Greets a person").arguments("NAME");
/// assert!(info.user_invocable);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CommandInfo {
    /// The name without the slash, by which commands are found. The first command with a name wins.
    pub name: String,
    /// What the command does, in one sentence: menus show it, and models select commands by it.
    pub description: String,
    /// The arguments, as a menu shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// Whether the model may use it.
    pub model_invocable: bool,
    /// Whether users see it in menus.
    pub user_invocable: bool,
    /// Whether the command only reads, or changes something.
    pub safety: CommandSafety,
    /// What the command comes from, such as the program, a skill or a plugin.
    pub origin: CommandOrigin,
    /// The commands below it, such as `list` of `/memory list`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subcommands: Vec<CommandInfo>,
}

impl CommandInfo {
    /// Creates the description of a built-in command for users, which may change something.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            argument_hint: None,
            model_invocable: false,
            user_invocable: true,
            safety: CommandSafety::Modifies,
            origin: CommandOrigin::Builtin,
            subcommands: Vec::new(),
        }
    }

    /// Sets the arguments that a menu shows.
    #[must_use]
    pub fn arguments(mut self, hint: impl Into<String>) -> Self {
        self.argument_hint = Some(hint.into());
        self
    }

    /// Marks the command as one that only reads. The commands below it have marks of their own.
    #[must_use]
    pub fn reads_only(mut self) -> Self {
        self.safety = CommandSafety::ReadOnly;
        self
    }

    /// Lets the model use the command.
    #[must_use]
    pub fn for_model(mut self) -> Self {
        self.model_invocable = true;
        self
    }

    /// Adds a command below it, which may change something, whatever this one can do.
    #[must_use]
    pub fn subcommand(mut self, name: &str, description: &str) -> Self {
        self.subcommands.push(Self::new(name, description));
        self
    }

    /// Adds a command below it that only reads, whatever this one can do.
    #[must_use]
    pub fn reading_subcommand(mut self, name: &str, description: &str) -> Self {
        self.subcommands.push(Self::new(name, description).reads_only());
        self
    }

    /// Returns whether the command only reads with these arguments.
    #[must_use]
    pub fn only_reads(&self, arguments: &str) -> bool {
        let arguments = arguments.trim_start();
        let (first, rest) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        match self.subcommands.iter().find(|below| below.name == first) {
            Some(below) => below.only_reads(rest),
            None => self.safety == CommandSafety::ReadOnly,
        }
    }
}
