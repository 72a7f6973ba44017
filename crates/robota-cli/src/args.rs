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
}

/// Options of the demonstration.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Make the throw-away project here instead of in a temporary folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
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

    /// Who answers: `scripted:FILE` plays a script (see docs/scripted.md).
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,

    /// Which model.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// What to print: the answer, one JSON object, or the journal's lines as they happen.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,

    /// What may run: plan, default, acceptEdits or bypassPermissions. Nobody is there to ask,
    /// so what would ask is denied.
    #[arg(long, value_name = "MODE", default_value_t = Mode::Default)]
    pub(crate) permission_mode: Mode,

    /// At most this many model calls; 0 is no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_turns: u32,

    /// Work in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Write a trace of what happens inside to FILE [default: .robota/logs/debug.log].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) debug: Option<Option<PathBuf>>,
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
