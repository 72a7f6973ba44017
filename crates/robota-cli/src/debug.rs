//! `--debug`: a trace of what happens inside, to a file.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::output;

/// Keeps the trace going while it lives.
pub(crate) struct Trace(());

/// Begins the trace. Only our own spans are in it, and no content of messages.
pub(crate) fn start(file: Option<&Path>, cwd: &Path) -> anyhow::Result<Trace> {
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
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(
            "robota=debug,robota_core=debug,robota_exec=debug,robota_store=debug,robota_tools=debug",
        ))
        .with_ansi(false)
        .with_writer(Mutex::new(file))
        .finish();
    tracing::subscriber::set_global_default(subscriber)
        .context("a trace is already being written")?;
    output::note(&format!("robota: tracing to {}", path.display()));
    Ok(Trace(()))
}

fn open(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
