//! The command line of `robota sessions`. Clap prints the doc comments as help.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use robota_session::Selector;

use crate::args::PlaceArgs;

/// `robota sessions`
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// The subcommands of `robota sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, most recent first.
    List(ListArgs),
    /// Show a session transcript.
    Show(ShowArgs),
    /// Export a session as a journal, record, log or Markdown.
    Export(ExportArgs),
    /// Import a session: from an export, from another agent, or one that another user wrote.
    Import(ImportArgs),
    /// Validate sessions or exports.
    Validate(ValidateArgs),
    /// Fork a session at a given point.
    Fork(ForkArgs),
    /// List the checkpoints of a session, or go back to one.
    Rewind(RewindArgs),
    /// Delete sessions.
    Delete(DeleteArgs),
    /// Delete old sessions.
    Prune(PruneArgs),
}

/// Options of every command that works on stored sessions. `Settings` are those that select or override
/// settings: a command that runs calls has more of them.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs<Settings: Args = PlaceArgs> {
    /// Session store: file[:DIR], sqlite:FILE or postgres://… [default: .robota/sessions].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `robota sessions list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List sessions of all folders in the store [default: only this folder's].
    ///
    /// Has an effect only with --store; the default store is always listed completely.
    #[arg(long)]
    pub(crate) all: bool,
    /// List the sessions of agents too [default: hidden].
    #[arg(long)]
    pub(crate) agents: bool,
    /// Only sessions whose id, name or title contains TEXT.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Only sessions whose id starts with ID.
    #[arg(long, value_name = "ID")]
    pub(crate) prefix: Option<String>,
    /// Only sessions changed since WHEN: a time, a date (UTC) or an age such as 2d.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only sessions last changed before WHEN.
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Maximum number of sessions to list.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Continue after the position that a previous list printed.
    #[arg(long, value_name = "MARK")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Session id, unique id prefix or name.
    pub(crate) session: String,
    /// Print the journal events as JSON lines.
    #[arg(long, conflicts_with = "json")]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The formats of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Journal lines, unchanged (complete).
    Journal,
    /// One JSON document with messages and history.
    Record,
    /// JSON lines in which every entry has all that a replay needs.
    Log,
    /// Markdown transcript.
    Markdown,
}

impl ExportFormat {
    /// Returns the name of the format, as it is written on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Record => "record",
            Self::Log => "log",
            Self::Markdown => "markdown",
        }
    }
}

/// `robota sessions export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Session id, unique id prefix or name.
    pub(crate) session: String,
    /// Export format.
    #[arg(long, value_enum, default_value_t = ExportFormat::Journal)]
    pub(crate) format: ExportFormat,
    /// Write to FILE; blobs and payload files are written next to it [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Redact TEXT everywhere (at least eight characters; repeatable).
    #[arg(long, value_name = "TEXT")]
    pub(crate) redact: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The formats of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Detect the format from the content.
    Auto,
    /// Journal lines.
    Journal,
    /// One JSON document with messages and history.
    Record,
    /// JSON lines of a log export.
    Log,
}

/// The agents whose sessions can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForeignAgent {
    /// Claude Code (`~/.claude/projects`).
    Claude,
    /// Codex (`~/.codex/sessions`).
    Codex,
}

/// `robota sessions import`
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Export file (`-` for standard input), or a session that another user wrote. With --from: a
    /// file of the agent, or a part of its name.
    #[arg(required_unless_present = "list")]
    pub(crate) source: Option<String>,
    /// Import a session of another agent.
    #[arg(long, value_enum, value_name = "AGENT", conflicts_with = "format")]
    pub(crate) from: Option<ForeignAgent>,
    /// List the sessions of the agent, most recent first.
    #[arg(long, requires = "from", conflicts_with_all = ["source", "id"])]
    pub(crate) list: bool,
    /// Format of the file.
    #[arg(long, value_enum, default_value_t = ImportFormat::Auto)]
    pub(crate) format: ImportFormat,
    /// Id for the imported session [default: the id in the export].
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions validate`
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Sessions or export files to validate [default: all sessions].
    pub(crate) sources: Vec<String>,
    /// Treat warnings as errors.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Format of the files.
    #[arg(long, value_enum, default_value_t = ImportFormat::Auto)]
    pub(crate) format: ImportFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions fork`
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Session id, unique id prefix or name.
    pub(crate) session: String,
    /// Fork point: latest, sfp:N (the n-th safe point), label:NAME, or a cursor such as 1-42.
    #[arg(long, value_name = "PLACE", default_value = "latest")]
    pub(crate) at: Selector,
    /// Id for the new session [default: a new UUID].
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions rewind`
#[derive(Debug, Args)]
pub(crate) struct RewindArgs {
    /// Session id, unique id prefix or name.
    pub(crate) session: String,
    /// List the checkpoints (the default).
    #[arg(long, conflicts_with = "to")]
    pub(crate) list: bool,
    /// Restore files and conversation as they were before this prompt: number or id of a checkpoint.
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) to: Option<String>,
    /// Restore the files only.
    #[arg(long, requires = "to", conflicts_with = "conversation")]
    pub(crate) code: bool,
    /// Restore the conversation only.
    #[arg(long, requires = "to")]
    pub(crate) conversation: bool,
    /// Show what a restore would change, and change nothing.
    #[arg(long, requires = "to")]
    pub(crate) diff: bool,
    /// Overwrite files that were changed outside of the session. Their content is kept: the restore
    /// can be undone.
    #[arg(long, requires = "to")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Session ids, unique id prefixes or names.
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
    /// Delete without asking for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions prune`
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Keep the N most recent sessions. Without another option, delete all others.
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Delete sessions unchanged for AGE: 30d, 12h, 2w.
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// Delete the oldest sessions until the rest use at most SIZE: 500M, 2G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<String>,
    /// Show what would be deleted, without deleting.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
