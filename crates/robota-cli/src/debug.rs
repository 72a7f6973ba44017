//! Installs the tracing subscriber: the log of `--debug` and the OpenTelemetry export.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context as _;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, fmt};

use crate::telemetry::Telemetry;

/// Where the debug log goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DebugLog<'a> {
    /// A file; none is the default one.
    File(Option<&'a Path>),
    /// Standard error.
    Stderr,
}

/// Installs the subscriber if a debug log or the OpenTelemetry export needs one. Returns the log
/// file.
pub(crate) fn start(
    debug: Option<DebugLog<'_>>,
    cwd: &Path,
    telemetry: &Telemetry,
) -> anyhow::Result<Option<PathBuf>> {
    let exported = telemetry.layer();
    if debug.is_none() && exported.is_none() {
        return Ok(None);
    }
    let (path, writer) = match debug {
        None => (None, None),
        Some(DebugLog::Stderr) => (None, Some(BoxMakeWriter::new(stderr))),
        Some(DebugLog::File(file)) => {
            let (path, file) = log_file(file, cwd)?;
            (Some(path), Some(BoxMakeWriter::new(Mutex::new(file))))
        }
    };
    let log = writer.map(layer);
    tracing::subscriber::set_global_default(
        tracing_subscriber::registry().with(log).with(exported),
    )
    .context("cannot install the tracing subscriber")?;
    Ok(path)
}

/// Returns the note for the user about the log file.
pub(crate) fn note(log: &Path) -> String {
    format!("robota: writing the debug log to {}", log.display())
}

#[expect(clippy::disallowed_methods, reason = "the log that the user asked for")]
fn stderr() -> std::io::Stderr {
    std::io::stderr()
}

/// Returns the layer that writes the log. It has spans and events of robota's crates only, and no
/// content of messages.
fn layer<S>(writer: BoxMakeWriter) -> impl Layer<S> + Send + Sync
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    fmt::layer().with_ansi(false).with_writer(writer).with_filter(EnvFilter::new(
        "robota=debug,robota_core=debug,robota_exec=debug,robota_store=debug,robota_tools=debug",
    ))
}

/// Opens the log file.
fn log_file(file: Option<&Path>, cwd: &Path) -> anyhow::Result<(PathBuf, std::fs::File)> {
    let default = cwd.join(".robota").join("logs").join("debug.log");
    let path = file.unwrap_or(&default);
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot create the folder {}", dir.display()))?;
    }
    if file.is_none() {
        let ignore = cwd.join(".robota").join("logs").join(".gitignore");
        // Keeps the log from being committed by accident.
        std::fs::write(&ignore, "*\n")
            .with_context(|| format!("cannot write {}", ignore.display()))?;
    }
    let file = open(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok((path.to_owned(), file))
}

fn open(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    // The log has paths and names of sessions, which are for the user only.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
