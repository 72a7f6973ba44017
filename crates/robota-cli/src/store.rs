//! Where sessions are kept: the store that is named, or the project's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use robota_core::ids::{Ids as _, RandomIds, SessionId};
use robota_core::journal::JournalStore;
use robota_store::{FileStore, Level};

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

/// The folder of a project's sessions.
pub(crate) fn project_folder(cwd: &Path) -> PathBuf {
    cwd.join(".robota").join("sessions")
}

impl StoreChoice {
    /// Reads `file`, `file:DIR`, `sqlite:FILE` or `postgres://…`; nothing is the project's own.
    pub(crate) fn parse(spec: Option<&str>, cwd: &Path) -> Result<Self, Usage> {
        let Some(spec) = spec.filter(|spec| *spec != "file") else {
            return Ok(Self::File(project_folder(cwd)));
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
        // What stands behind the colon may be a password.
        let kind = spec.split(':').next().unwrap_or_default();
        let known = "say file, file:DIR, sqlite:FILE or postgres://…";
        Err(Usage(format!("`{kind}` is no store; {known}")))
    }

    /// Opens it. Files are sealed by the user's key, which lies in the home folder: a session
    /// that came with a checkout is not the user's, whoever its files belong to.
    pub(crate) async fn open(
        &self,
        level: Level,
        home: Option<&Path>,
    ) -> anyhow::Result<Arc<dyn JournalStore>> {
        match self {
            Self::File(root) => {
                let store = FileStore::new(root).with_level(level);
                Ok(match home {
                    Some(home) => {
                        let key = owner_key(&home.join(".robota").join("owner-key"))?;
                        Arc::new(store.with_owner_key(key))
                    }
                    None => Arc::new(store),
                })
            }
            Self::Sqlite(file) => sqlite(file, level).await,
            Self::Postgres(address) => postgres(address).await,
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

/// The user's key: made once, kept from others.
fn owner_key(file: &Path) -> anyhow::Result<Vec<u8>> {
    let read = |file: &Path| std::fs::read(file).ok().filter(|key| key.len() >= 32);
    if let Some(key) = read(file) {
        return Ok(key);
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let fail = || format!("cannot make {}, by which your sessions are known", file.display());
    std::fs::create_dir_all(folder).with_context(fail)?;
    let key = format!("{}{}", RandomIds.next(), chance()).into_bytes();
    // Two programs may start at once: the first to be there wins, and the file is never half.
    let mut fresh = tempfile::NamedTempFile::new_in(folder).with_context(fail)?;
    std::io::Write::write_all(&mut fresh, &key).with_context(fail)?;
    fresh.as_file().sync_all().with_context(fail)?;
    match fresh.persist_noclobber(file) {
        Ok(_) => Ok(key),
        Err(_) => read(file).with_context(fail),
    }
}

#[expect(clippy::disallowed_methods, reason = "a key must be chance, not an injected id")]
fn chance() -> uuid::Uuid {
    uuid::Uuid::new_v4()
}

#[cfg(feature = "sqlite")]
async fn sqlite(file: &Path, level: Level) -> anyhow::Result<Arc<dyn JournalStore>> {
    let options = robota_store::SqlOptions { level, ..robota_store::SqlOptions::default() };
    Ok(Arc::new(robota_store::SqliteStore::open_with(file, options).await?))
}

#[cfg(feature = "postgres")]
async fn postgres(address: &str) -> anyhow::Result<Arc<dyn JournalStore>> {
    Ok(Arc::new(robota_store::PostgresStore::connect(address).await?))
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(file: &Path, _level: Level) -> anyhow::Result<Arc<dyn JournalStore>> {
    anyhow::bail!("{}: SQLite is not built into this program", file.display())
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_address: &str) -> anyhow::Result<Arc<dyn JournalStore>> {
    // The address may hold a password.
    anyhow::bail!("PostgreSQL is not built into this program")
}

#[cfg(test)]
mod tests;
