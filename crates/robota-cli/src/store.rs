//! Where sessions are kept: the store that is named, or the project's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_store::FileStore;

use crate::Usage;

/// A store that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// Files below a folder.
    File(PathBuf),
    /// A SQLite database.
    Sqlite(PathBuf),
    /// A PostgreSQL server.
    Postgres(String),
}

impl StoreChoice {
    /// Reads `file`, `file:DIR`, `sqlite:FILE` or `postgres://…`; nothing is the project's own.
    pub(crate) fn parse(spec: Option<&str>, cwd: &Path) -> Result<Self, Usage> {
        let Some(spec) = spec.filter(|spec| *spec != "file") else {
            return Ok(Self::File(cwd.join(".robota").join("sessions")));
        };
        if let Some(folder) = spec.strip_prefix("file:").filter(|folder| !folder.is_empty()) {
            return Ok(Self::File(cwd.join(folder)));
        }
        if let Some(file) = spec.strip_prefix("sqlite:").filter(|file| !file.is_empty()) {
            return Ok(Self::Sqlite(cwd.join(file)));
        }
        if spec.starts_with("postgres://") || spec.starts_with("postgresql://") {
            return Ok(Self::Postgres(spec.to_owned()));
        }
        let known = "say file, file:DIR, sqlite:FILE or postgres://…";
        Err(Usage(format!("`{spec}` is no store; {known}")))
    }

    /// Opens it.
    pub(crate) fn open(&self) -> anyhow::Result<Arc<dyn JournalStore>> {
        match self {
            Self::File(root) => Ok(Arc::new(FileStore::new(root))),
            Self::Sqlite(file) => {
                anyhow::bail!("{}: SQLite is not built into this program", file.display())
            }
            // The address may hold a password.
            Self::Postgres(_) => anyhow::bail!("PostgreSQL is not built into this program"),
        }
    }

    /// The segments of a session's journal, where they are files: the bytes themselves, which a
    /// store that finds damage does not hand out.
    pub(crate) fn segments(&self, session: &SessionId) -> anyhow::Result<Option<Vec<PathBuf>>> {
        let Self::File(root) = self else { return Ok(None) };
        let folder = FileStore::new(root).folder(session);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot look into {}", folder.display()));
            }
        };
        let mut segments = Vec::new();
        for entry in entries {
            let path =
                entry.with_context(|| format!("cannot look into {}", folder.display()))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let number = name.and_then(|name| name.strip_suffix(".jsonl")?.parse::<u64>().ok());
            segments.extend(number.map(|number| (number, path)));
        }
        segments.sort();
        Ok(Some(segments.into_iter().map(|(_, path)| path).collect()))
    }
}

/// The store that is named, or the project's own.
pub(crate) fn open_store(spec: Option<&str>, cwd: &Path) -> anyhow::Result<Arc<dyn JournalStore>> {
    StoreChoice::parse(spec, cwd)?.open()
}

#[cfg(test)]
mod tests;
