//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use robota_core::permission::Mode;

/// Agents that outlive their process.
#[derive(Debug, Parser)]
#[command(name = "robota", version, args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Exit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted.

Try it without a key:  robota demo")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) print: PrintArgs,
}

/// What the program can do beside answering a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a whole run, offline and without a key: a read, an edit, a command, the journal.
    Demo(DemoArgs),
    /// Explain what may run.
    Permissions(PermissionsArgs),
    /// Show and change settings.
    Config(ConfigArgs),
    /// Show what this folder's settings would do, and say whether they may.
    Trust(TrustArgs),
    /// List, show, export, import, check, fork and delete sessions.
    Sessions(Box<crate::commands::sessions::args::SessionsArgs>),
    /// List the models of the service that would answer.
    Models(ModelsArgs),
    /// Check that everything a run needs works: settings, sessions, shell, model.
    Doctor(DoctorArgs),
}

/// What settings hold: the same for a run and for an explanation.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// Work in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Settings that override those of files: a file, or JSON.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) settings: Option<String>,

    /// Rules for what runs without a question, such as `Bash(git log *)`. May be repeated.
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULES")]
    pub(crate) allowed_tools: Vec<String>,

    /// Rules for what never runs. May be repeated.
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULES")]
    pub(crate) disallowed_tools: Vec<String>,

    /// Another folder that belongs to the workspace. May be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,

    /// Trust this folder's settings, for this run.
    #[arg(long)]
    pub(crate) trust: bool,
}

/// `robota permissions`
#[derive(Debug, Args)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

/// What can be asked about permissions.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Say what would happen to a tool call, and why. Nothing is run.
    Check(Box<CheckArgs>),
}

/// `robota permissions check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The tool, for example Bash.
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// Its arguments, for example {"command": "ls"}.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// A rule of this session that allows. May be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// A rule of this session that asks. May be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// A rule of this session that denies. May be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// The permission mode.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read one case per line from standard input, print one verdict per line. No settings are
    /// read: only what the case says counts.
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

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the value that holds.
    Get {
        /// For example permissions.allow.
        key: String,
        #[command(flatten)]
        settings: SettingsArgs,
    },
    /// Write a value into a settings file; without a value the key is taken out.
    Set {
        /// For example model.
        key: String,
        /// JSON, or text.
        value: Option<String>,
        /// Which file: ~/.robota/settings.json, .robota/settings.json or
        /// .robota/settings.local.json.
        #[arg(long, value_enum, default_value_t = SetLayer::User)]
        layer: SetLayer,
        #[command(flatten)]
        settings: SettingsArgs,
    },
    /// Say which file set a key, and what was dropped and why.
    Explain {
        /// For example permissions; all keys when left out.
        key: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        settings: SettingsArgs,
    },
}

/// Which file `robota config set` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetLayer {
    /// The user's.
    User,
    /// The project's, for everybody.
    Project,
    /// The project's, for this user.
    Local,
}

/// `robota trust`
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Trust them, as they are now.
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) yes: bool,
    /// Trust them no longer.
    #[arg(long)]
    pub(crate) revoke: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `robota models`
#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Of this vendor, or of this profile of the settings.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Of every vendor, as far as they are known without asking.
    #[arg(long, conflicts_with = "provider")]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `robota doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Of this vendor, or of this profile of the settings.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Which model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Give up on the model after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// Options of the demonstration.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Make the throw-away project here instead of in a temporary folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The part that dies in the middle of a command; the demonstration starts it by itself.
    #[arg(long, hide = true, requires = "dir")]
    pub(crate) first_act: bool,
    /// In colour, although this is no terminal.
    #[arg(long, hide = true)]
    pub(crate) colour: bool,
}

/// Options of a headless run.
#[derive(Debug, Args)]
pub(crate) struct PrintArgs {
    /// Answer PROMPT and exit. Piped input is added to the prompt; `-` waits for all of it.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1)]
    pub(crate) print: Option<Option<String>>,

    /// The prompt, if it does not follow -p directly.
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,

    /// Who answers: a profile of the settings, a vendor (see `robota models --all`), or
    /// `scripted:FILE`, which plays a script.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,

    /// Which model; `vendor/model` names both.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// What to print: the answer, one JSON object, or the journal's lines as they happen.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,

    /// What may run: plan, default, acceptEdits or bypassPermissions. Nobody is there to ask,
    /// so what would ask is denied.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<Mode>,

    /// What commands may do once they run, kept by the system [default: the sandbox settings].
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) sandbox: Option<SandboxLevelArg>,

    /// At most this many rounds of model and tools, then one call for a summary; 0 is no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_turns: u32,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    pub(crate) settings: SettingsArgs,

    /// Write a trace of what happens inside to FILE [default: .robota/logs/debug.log].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) debug: Option<Option<PathBuf>>,
}

/// How much is kept from commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxLevelArg {
    /// Nothing.
    Off,
    /// Changing any file, and the network.
    ReadOnly,
    /// Changing files outside the workspace, and the network.
    WorkspaceWrite,
}

impl From<SandboxLevelArg> for robota_core::sandbox::SandboxLevel {
    fn from(level: SandboxLevelArg) -> Self {
        match level {
            SandboxLevelArg::Off => Self::Off,
            SandboxLevelArg::ReadOnly => Self::ReadOnly,
            SandboxLevelArg::WorkspaceWrite => Self::WorkspaceWrite,
        }
    }
}

/// Which session, and where it is kept.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Go on with the newest session of this folder.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) go_on: bool,

    /// Go on with a session: its id, the beginning of it, or its name.
    #[arg(short = 'r', long, value_name = "ID|NAME", num_args = 0..=1)]
    pub(crate) resume: Option<Option<String>>,

    /// With -c or -r: go on with a copy, and leave the session as it is.
    #[arg(long)]
    pub(crate) fork_session: bool,

    /// The id of the new session: a UUID, or a name such as agent:dev/session:main.
    #[arg(long, value_name = "ID")]
    pub(crate) session_id: Option<String>,

    /// What the session is called.
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Where sessions are kept: file[:DIR], sqlite:FILE or postgres://…
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,

    /// What a loss of power may take: strict nothing, barrier only what nobody was told is safe,
    /// relaxed the last seconds.
    #[arg(long, value_enum, default_value_t = Durability::Barrier, hide_possible_values = false)]
    pub(crate) durability: Durability,
}

/// How much a store waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Durability {
    /// For every event.
    Strict,
    /// Before anything that depends on it.
    Barrier,
    /// Never.
    Relaxed,
}

impl From<Durability> for robota_store::DurabilityLevel {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Strict => Self::Strict,
            Durability::Barrier => Self::Barrier,
            Durability::Relaxed => Self::Relaxed,
        }
    }
}

/// What a headless run prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer.
    Text,
    /// One JSON object with the answer and what it took.
    Json,
    /// The journal's lines, as they happen.
    Events,
}
