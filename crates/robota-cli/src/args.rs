//! The command line. Clap prints the doc comments of commands, options and values as help.

pub(crate) mod before_command;
mod headless;
pub(crate) mod refused;
mod serve;
pub(crate) mod similar;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use robota_core::permission::Mode;
use serde::{Deserialize, Serialize};

use crate::headless::FailureFormat;
pub(crate) use headless::{
    Durability, EFFORTS, HOST_TIMEOUT, InputFormat, NativeWebArg, OutputFormat, PermissionPrompts,
    PrintArgs, SessionArgs, ThinkingArg, ThinkingDisplayArg,
};
pub(crate) use serve::{AcpArgs, McpServeArgs, ServeArgs};

/// Durable, crash-safe agents: a coding agent and an SDK.
#[derive(Debug, Parser)]
#[command(name = "robota", version, args_conflicts_with_subcommands = true)]
// Other programs with these options take all values that follow.
#[command(mut_arg("allowed_tools", |arg| arg.num_args(1..)))]
#[command(mut_arg("disallowed_tools", |arg| arg.num_args(1..)))]
#[command(mut_arg("add_dir", |arg| arg.num_args(1..)))]
#[command(after_help = "\
Exit codes: 0 done, 1 failed, 2 usage error, 3 configuration error, 4 limit reached (turns, budget,
output cut), 130 interrupted, 143 terminated.

Try it without an API key:  robota demo")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

impl Cli {
    /// Makes one option of two that mean the same.
    pub(crate) fn complete(mut self) -> Self {
        if let Some(file) = self.print.debug_file.take() {
            self.print.debug = Some(Some(file));
        }
        self
    }
}

/// Returns the format in which a caller expects a failure, also if the arguments are not valid; none
/// if they ask for no format of a program. A host that names `stream-json` anywhere reads lines.
pub(crate) fn asked_format(arguments: &[OsString]) -> Option<FailureFormat> {
    let texts: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let verbose = texts.iter().any(|text| text == "--verbose");
    // Also as the input format, and behind `=`: a caller that passes either reads lines.
    if texts.iter().any(|text| text.ends_with("stream-json")) {
        return Some(FailureFormat { output: OutputFormat::StreamJson, verbose });
    }
    let value = texts.iter().any(|text| text == "--output-format=json");
    // By hand, because the parser has refused these arguments or will.
    let mut pairs = texts.iter().zip(texts.iter().skip(1));
    let pair = pairs.any(|(flag, value)| flag == "--output-format" && value == "json");
    (value || pair).then_some(FailureFormat { output: OutputFormat::Json, verbose })
}

/// The subcommands. Without one, the program answers a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an offline demo (no API key): read, edit, run a command, crash, recover.
    Demo(DemoArgs),
    /// Explain permission decisions.
    Permissions(PermissionsArgs),
    /// Show and change settings.
    Config(ConfigArgs),
    /// Show, grant or revoke trust in this folder's settings.
    Trust(TrustArgs),
    /// Install, list, enable, disable and remove plugins.
    Plugin(PluginArgs),
    /// List, show, export, import, validate, fork, rewind and delete sessions.
    Sessions(Box<crate::commands::sessions::args::SessionsArgs>),
    /// List and remove the git worktrees of agents.
    Worktrees(WorktreesArgs),
    /// List, add, pause, resume and remove the schedules of a session, and run them.
    Schedule(Box<crate::commands::schedule::ScheduleArgs>),
    /// List the models of a provider.
    Models(ModelsArgs),
    /// Choose a provider, store its key, choose a model and try it.
    Setup(SetupArgs),
    /// Check settings, session storage, shell, sandbox and model.
    Doctor(DoctorArgs),
    /// Serve an editor through the Agent Client Protocol, over standard input and output.
    Acp(Box<AcpArgs>),
    /// Add, list, test, approve and remove MCP servers, log in to them, and serve as one.
    Mcp(Box<crate::commands::mcp::args::McpArgs>),
    /// Print the completion script of a shell.
    Completions {
        /// Shell, e.g. bash: `robota completions bash > ~/.local/share/bash-completion/completions/robota`
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands to a folder.
    Man {
        /// Folder to write to, e.g. ~/.local/share/man/man1.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Options that say which settings are read, for `robota trust`: trust for one run would hide what needs
/// trust.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TrustPlaceArgs {
    /// Working folder [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Settings that override the settings files: a file or inline JSON.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) settings: Option<String>,

    /// Use the plugin in this folder for this run (repeatable). It is trusted.
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,
}

impl From<&TrustPlaceArgs> for SettingsArgs {
    fn from(args: &TrustPlaceArgs) -> Self {
        let TrustPlaceArgs { cwd, settings, plugin_dir } = args.clone();
        Self { cwd, settings, plugin_dir, ..Self::default() }
    }
}

/// Options that say which settings are read, for commands that neither run nor judge a call.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Working folder [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Settings that override the settings files: a file or inline JSON.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) settings: Option<String>,

    /// Use the plugin in this folder for this run (repeatable). It is trusted.
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,

    /// Trust this folder's settings for this run.
    #[arg(long)]
    pub(crate) trust: bool,
}

impl From<&PlaceArgs> for SettingsArgs {
    fn from(args: &PlaceArgs) -> Self {
        let PlaceArgs { cwd, settings, plugin_dir, trust } = args.clone();
        Self { cwd, settings, plugin_dir, trust, ..Self::default() }
    }
}

impl From<&Self> for SettingsArgs {
    fn from(args: &Self) -> Self {
        args.clone()
    }
}

/// Options that select or override settings, for commands that run or judge calls, or show the settings.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
pub(crate) struct SettingsArgs {
    /// Working folder [default: the current folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Settings that override the settings files: a file or inline JSON.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) settings: Option<String>,

    /// Allow tool calls that match these rules without approval, e.g. `Bash(git log *)`
    /// (repeatable).
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULES")]
    pub(crate) allowed_tools: Vec<String>,

    /// Deny tool calls that match these rules (repeatable).
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULES")]
    pub(crate) disallowed_tools: Vec<String>,

    /// Add a folder to the workspace (repeatable).
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Use the plugin in this folder for this run (repeatable). It is trusted.
    #[arg(long, value_name = "DIR")]
    #[serde(default)]
    pub(crate) plugin_dir: Vec<PathBuf>,

    /// Trust this folder's settings for this run.
    #[arg(long)]
    pub(crate) trust: bool,
}

/// `robota permissions`
#[derive(Debug, Args)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

/// The subcommands of `robota permissions`.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Explain what would happen to a command or a tool call, without running it.
    Check(Box<CheckArgs>),
    /// Show what a rule covers, with examples that it covers and examples that it does not.
    Explain(Box<ExplainRuleArgs>),
    /// Check that calls get the verdicts that files expect; exit code 1 if one does not.
    ///
    /// Each line of a file is a verdict and a call: `allow git status`, `deny Read(.env)`. A call
    /// without a tool is a shell command. `mode NAME` sets the mode of the lines that follow.
    #[command(verbatim_doc_comment)]
    Test(Box<TestArgs>),
    /// Show the built-in rule sets, and add one to your settings.
    Preset(PresetArgs),
}

/// `robota permissions explain`
#[derive(Debug, Args)]
pub(crate) struct ExplainRuleArgs {
    /// Rule, e.g. 'Bash(git log *)'.
    pub(crate) rule: String,
    /// The list that contains the rule.
    #[arg(long, value_enum, default_value_t = RuleListArg::Allow)]
    pub(crate) list: RuleListArg,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// A list of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleListArg {
    /// Calls that run without approval.
    Allow,
    /// Calls that need approval.
    Ask,
    /// Calls that never run.
    Deny,
}

/// `robota permissions test`
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Files with expected verdicts.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Permission mode: plan, default, dontAsk, acceptEdits or bypassPermissions.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `robota permissions preset`
#[derive(Debug, Args)]
pub(crate) struct PresetArgs {
    #[command(subcommand)]
    pub(crate) command: PresetCommand,
}

/// The subcommands of `robota permissions preset`.
#[derive(Debug, Subcommand)]
pub(crate) enum PresetCommand {
    /// List the rule sets.
    List,
    /// Show the rules of a set.
    Show {
        /// Name of the set, e.g. queries.
        name: String,
    },
    /// Show the rules of a set, and with --yes add them to your settings.
    Add {
        /// Name of the set, e.g. queries.
        name: String,
        /// Write the rules.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        settings: Box<PlaceArgs>,
    },
}

/// `robota permissions check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Shell command as it is typed, e.g. 'cd src && ls 2>&1 | head'.
    #[arg(conflicts_with_all = ["tool", "input", "batch"])]
    pub(crate) command: Option<String>,
    /// Tool name, e.g. Bash.
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// Tool arguments, e.g. '{"command": "ls"}'.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Add a session rule that allows calls (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Add a session rule that requires approval (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// Add a session rule that denies calls (repeatable).
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Permission mode: plan, default, dontAsk, acceptEdits or bypassPermissions.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read one JSON case per line from standard input and print one verdict per line.
    /// Settings files are ignored.
    #[arg(long, conflicts_with_all = ["tool", "input"])]
    pub(crate) batch: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `robota config`
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// The subcommands of `robota config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the effective values of all keys that are set. API keys are not shown.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: SettingsArgs,
    },
    /// Print the effective value of a key.
    Get {
        /// Settings key, e.g. permissions.allow.
        key: String,
        #[command(flatten)]
        settings: SettingsArgs,
    },
    /// Write a value to a settings file, or remove the key if no value is given.
    Set {
        /// Settings key, e.g. model.
        key: String,
        /// New value: JSON, or plain text.
        value: Option<String>,
        /// Settings file to write.
        #[arg(long, value_enum, default_value_t = SetLayer::User)]
        layer: SetLayer,
        #[command(flatten)]
        settings: PlaceArgs,
    },
    /// Show which file set a key, and which values were ignored and why.
    Explain {
        /// Settings key, e.g. permissions [default: all keys].
        key: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: SettingsArgs,
    },
}

/// The settings file that `robota config set` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetLayer {
    /// ~/.robota/settings.json: your own settings.
    User,
    /// .robota/settings.json: settings for everyone who works on the project.
    Project,
    /// .robota/settings.local.json: your settings for this project.
    Local,
}

/// `robota trust`
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Trust the folder's current settings.
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) yes: bool,
    /// Revoke trust.
    #[arg(long)]
    pub(crate) revoke: bool,
    #[command(flatten)]
    pub(crate) settings: TrustPlaceArgs,
}

/// `robota plugin`
#[derive(Debug, Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

/// What to do with plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Copy a plugin from a folder, a git repository, or a marketplace by NAME@MARKETPLACE. It is not
    /// used before it is enabled.
    #[command(visible_alias = "add")]
    Install {
        /// The folder, the address of a repository (URL, URL#BRANCH, or OWNER/NAME on GitHub), or
        /// NAME@MARKETPLACE.
        source: String,
        /// Install it for this project only.
        #[arg(long)]
        project: bool,
    },
    /// List the installed plugins.
    List,
    /// Show what a plugin does and use it from now on.
    Enable {
        /// The name of the plugin.
        name: String,
        /// Enable it. Without this option, the command only shows what the plugin does.
        #[arg(long)]
        yes: bool,
    },
    /// Look for a new version of a plugin, show how it differs, and install it.
    Update {
        /// The name of the plugin; all plugins without it.
        name: Option<String>,
        /// Install the new version; without this, only the differences are shown. A plugin that was
        /// enabled stays enabled.
        #[arg(long)]
        yes: bool,
        /// Take this commit instead of the newest.
        #[arg(long, requires = "name")]
        commit: Option<String>,
    },
    /// Stop using a plugin.
    Disable {
        /// The name of the plugin.
        name: String,
    },
    /// Delete a plugin.
    Remove {
        /// The name of the plugin.
        name: String,
    },
    /// Add, list, remove and search marketplaces.
    Marketplace {
        #[command(subcommand)]
        command: MarketplaceCommand,
    },
}

/// What to do with marketplaces.
#[derive(Debug, Subcommand)]
pub(crate) enum MarketplaceCommand {
    /// Add a folder or a git repository that lists plugins.
    Add {
        /// The folder, the address of a repository, or a name of `extraKnownMarketplaces` in the
        /// settings.
        source: String,
    },
    /// Fetch the newest lists of marketplaces from their repositories.
    Update {
        /// The name of the marketplace; all without it.
        name: Option<String>,
    },
    /// List the marketplaces.
    List,
    /// Forget a marketplace.
    Remove {
        /// The name of the marketplace.
        name: String,
    },
    /// Search the plugins of all marketplaces.
    Search {
        /// Part of a name, a description or a keyword; all plugins without it.
        #[arg(default_value = "")]
        text: String,
    },
}

/// `robota worktrees`
#[derive(Debug, Args)]
pub(crate) struct WorktreesArgs {
    #[command(subcommand)]
    pub(crate) command: WorktreesCommand,
}

/// The commands of `robota worktrees`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorktreesCommand {
    /// List the worktrees that agents left in this repository, and what would be lost with each.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: PlaceArgs,
    },
    /// Remove a worktree. Its branch is kept if it has commits.
    Remove {
        /// Name, path or branch of the worktree.
        name: String,
        /// Remove it with its uncommitted and untracked files.
        #[arg(long)]
        force: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: PlaceArgs,
    },
    /// Remove all worktrees that no agent uses and that have nothing to lose.
    Prune {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: PlaceArgs,
    },
}

/// `robota models`
#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Model provider: a vendor or a profile from the settings.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// List the built-in models of every vendor, without network requests.
    #[arg(long, conflicts_with = "provider")]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// `robota setup`
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Model provider (see `robota models --all`).
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Model [default: the provider's default model].
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Address of the service [default: the provider's own].
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Take the key from this environment variable at each start, and store nothing.
    #[arg(long, value_name = "NAME", conflicts_with = "key_stdin")]
    pub(crate) key_env: Option<String>,
    /// Read the key from standard input.
    #[arg(long)]
    pub(crate) key_stdin: bool,
    /// Where to keep a key that you enter or pipe in.
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = KeyPlaceArg::File)]
    pub(crate) key_in: KeyPlaceArg,
    /// Do not try the model.
    #[arg(long)]
    pub(crate) no_probe: bool,
    #[command(flatten)]
    pub(crate) settings: PlaceArgs,
}

/// Where `robota setup` keeps a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyPlaceArg {
    /// ~/.robota/keys.json, which only you can read.
    File,
    /// The keyring of the system, by secret-tool (Linux) or security (macOS).
    Keyring,
}

/// `robota doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Model provider to check: a vendor or a profile from the settings.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Model to check.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Time limit for the model check, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `robota demo`
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Create the demo project in this empty folder [default: a temporary folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Run only the first part, which kills itself while a command runs. The demo starts it as a
    /// child process.
    #[arg(long, hide = true, requires = "dir")]
    pub(crate) first_act: bool,
    /// Use colour even if standard output is not a terminal. The demo passes it to its child
    /// process, whose output it captures.
    #[arg(long, hide = true)]
    pub(crate) colour: bool,
}

#[cfg(test)]
mod tests;
