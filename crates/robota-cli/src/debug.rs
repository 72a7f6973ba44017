//! Who gets the trace of what happens inside: the file of `--debug`, and a collector.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Context as _;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, fmt};

use crate::output;
use crate::telemetry::Telemetry;

/// Starts the trace, where there is somebody to write it for. `debug` is the argument of
/// `--debug`, if that was given.
pub(crate) fn start(
    debug: Option<Option<&Path>>,
    cwd: &Path,
    telemetry: &Telemetry,
) -> anyhow::Result<()> {
    let exported = telemetry.layer();
    if debug.is_none() && exported.is_none() {
        return Ok(());
    }
    let written = debug.map(|file| layer(file, cwd)).transpose()?;
    tracing::subscriber::set_global_default(
        tracing_subscriber::registry().with(written).with(exported),
    )
    .context("a trace is already being written")
}

/// Writes to a file. Only our own spans are in it, and no content of messages.
fn layer<S>(file: Option<&Path>, cwd: &Path) -> anyhow::Result<impl Layer<S> + Send + Sync + use<S>>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let default = cwd.join(".robota").join("logs").join("debug.log");
    let path = file.unwrap_or(&default);
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot make the folder {}", dir.display()))?;
    }
    if file.is_none() {
        let ignore = cwd.join(".robota").join("logs").join(".gitignore");
        // A trace is not committed by accident.
        std::fs::write(&ignore, "*\n")
            .with_context(|| format!("cannot write {}", ignore.display()))?;
    }
    let file = open(path).with_context(|| format!("cannot write {}", path.display()))?;
    output::note(&format!("robota: tracing to {}", path.display()));
    Ok(fmt::layer().with_ansi(false).with_writer(Mutex::new(file)).with_filter(EnvFilter::new(
        "robota=debug,robota_core=debug,robota_exec=debug,robota_store=debug,robota_tools=debug",
    )))
}

fn open(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
