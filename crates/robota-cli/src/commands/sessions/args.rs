//! What `robota sessions` is told.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use robota_session::Selector;

use crate::args::SettingsArgs;

/// `robota sessions`
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// What can be done with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List them, newest first.
    List(ListArgs),
    /// Tell what happened in one, turn by turn.
    Show(ShowArgs),
    /// Write one out: its journal, a record, a log, or text to read.
    Export(ExportArgs),
    /// Make a session of your own from an export, or from one that somebody else wrote.
    Import(ImportArgs),
    /// Say all that is missing or does not fit, in sessions or in exports of them.
    Validate(ValidateArgs),
    /// Begin another that goes on from a point of one.
    Fork(ForkArgs),
    /// Delete some.
    Delete(DeleteArgs),
    /// Delete those that are old.
    Prune(PruneArgs),
}

/// Which sessions.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where they are kept: file[:DIR], sqlite:FILE or postgres://…
    /// [default: .robota/sessions of the folder].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `robota sessions list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Those of every folder; a store that is named may hold some of others.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only those with this in their id, name or first words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Only ids that begin so.
    #[arg(long, value_name = "ID")]
    pub(crate) prefix: Option<String>,
    /// Only those changed since: a time, a date (UTC) or an age such as 2d.
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only those last changed before.
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// At most this many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Go on where another list ended.
    #[arg(long, value_name = "MARK")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its id, the beginning of it, or its name.
    pub(crate) session: String,
    /// Print the lines of the journal instead.
    #[arg(long, conflicts_with = "json")]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The shapes of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The lines of the journal, as they are: loses nothing.
    Journal,
    /// One JSON document with messages and history.
    Record,
    /// JSON lines that repeat all that a replay needs.
    Log,
    /// Text to read.
    Markdown,
}

impl ExportFormat {
    /// In a word.
    pub(super) fn word(self) -> &'static str {
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
    /// Its id, the beginning of it, or its name.
    pub(crate) session: String,
    /// In which shape.
    #[arg(long, value_enum, default_value_t = ExportFormat::Journal)]
    pub(crate) format: ExportFormat,
    /// Write to this file; what belongs to it lies beside it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that is there.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Take this text out, wherever it stands (eight characters or more). May be repeated.
    #[arg(long, value_name = "TEXT")]
    pub(crate) redact: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The shapes of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Whatever it looks like.
    Auto,
    /// Lines of a journal.
    Journal,
    /// One JSON document with messages and history.
    Record,
    /// JSON lines of a log.
    Log,
}

/// `robota sessions import`
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A file (`-` is standard input), or a session that somebody else wrote.
    pub(crate) source: String,
    /// In which shape it is.
    #[arg(long, value_enum, default_value_t = ImportFormat::Auto)]
    pub(crate) format: ImportFormat,
    /// The id it gets, instead of its own.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions validate`
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Sessions, or files that are exports; all sessions when none is named.
    pub(crate) sources: Vec<String>,
    /// Warnings count as well.
    #[arg(long)]
    pub(crate) strict: bool,
    /// In which shape files are.
    #[arg(long, value_enum, default_value_t = ImportFormat::Auto)]
    pub(crate) format: ImportFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions fork`
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Its id, the beginning of it, or its name.
    pub(crate) session: String,
    /// From where: latest, sfp:N (the n-th safe point), label:NAME, or a cursor (1-42).
    #[arg(long, value_name = "PLACE", default_value = "latest")]
    pub(crate) at: Selector,
    /// The id the new one gets.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Their ids, the beginnings of them, or their names.
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `robota sessions prune`
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// The newest so many stay. Alone: all others go.
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Those in which nothing happened for this long go: 30d, 12h, 2w.
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// The oldest go until the others take no more than this: 500M, 2G.
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<String>,
    /// Only say which would go.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
