//! Installs the tracing subscriber: the log file of `--debug` and the OpenTelemetry export.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context as _;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, fmt};

use crate::telemetry::Telemetry;

/// Installs the subscriber if `--debug` or the OpenTelemetry export needs one. `debug` is the
/// optional FILE of `--debug`, if that was given. Returns the log file.
pub(crate) fn start(
    debug: Option<Option<&Path>>,
    cwd: &Path,
    telemetry: &Telemetry,
) -> anyhow::Result<Option<PathBuf>> {
    let exported = telemetry.layer();
    if debug.is_none() && exported.is_none() {
        return Ok(None);
    }
    let (path, log_file) = debug.map(|file| layer(file, cwd)).transpose()?.unzip();
    tracing::subscriber::set_global_default(
        tracing_subscriber::registry().with(log_file).with(exported),
    )
    .context("cannot install the tracing subscriber")?;
    Ok(path)
}

/// Returns the note for the user about the log file.
pub(crate) fn note(log: &Path) -> String {
    format!("robota: writing the debug log to {}", log.display())
}

/// Returns the log file and the layer that writes it. The log has spans and events of robota's crates
/// only, and no content of messages.
fn layer<S>(
    file: Option<&Path>,
    cwd: &Path,
) -> anyhow::Result<(PathBuf, impl Layer<S> + Send + Sync + use<S>)>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
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
    let layer = fmt::layer().with_ansi(false).with_writer(Mutex::new(file)).with_filter(EnvFilter::new(
        "robota=debug,robota_core=debug,robota_exec=debug,robota_store=debug,robota_tools=debug",
    ));
    Ok((path.to_owned(), layer))
}

fn open(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
