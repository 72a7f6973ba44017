//! Opens the session store: `--store file[:DIR] | sqlite:FILE | postgres://…`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use robota_core::ids::{Ids as _, RandomIds};
use robota_core::journal::JournalStore;
use robota_store::{DurabilityLevel, FileStore};

use crate::setup::Setup;
use crate::{Usage, output};

/// Returns the folder of a project's sessions.
pub(crate) fn project_folder(cwd: &Path) -> PathBuf {
    cwd.join(".robota").join("sessions")
}

/// Fails if a link in the project's `.robota` would redirect what this program writes there: sessions,
/// records of the reaper and logs. A checkout can contain such a link.
pub(crate) fn check_project_folder(cwd: &Path) -> anyhow::Result<()> {
    let robota = cwd.join(".robota");
    let folders = ["sessions", "sessions/blobs", "reaper", "logs"].map(|name| robota.join(name));
    let mut written = vec![robota.clone(), robota.join(".gitignore")];
    for folder in folders {
        if !folder.is_symlink() && !robota.is_symlink() {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            let links = entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_symlink()));
            written.extend(links.map(|entry| entry.path()));
        }
        written.push(folder);
    }
    match written.into_iter().find(|path| path.is_symlink()) {
        None => Ok(()),
        Some(link) => {
            let target = link.read_link().unwrap_or_default();
            anyhow::bail!(
                "{} is a link to {}; this program does not write through it. Remove the link. To \
                 store sessions elsewhere, use --store file:DIR",
                link.display(),
                target.display()
            )
        }
    }
}

/// Opens the store that `--store` names; without it, the files of the project.
pub(crate) async fn open(
    name: Option<&str>,
    level: DurabilityLevel,
    setup: &Setup,
) -> anyhow::Result<Arc<dyn JournalStore>> {
    let unknown = |name: &str| {
        Usage(format!(
            "--store {name}: unknown store; use file, file:DIR, sqlite:FILE or \
             postgres://USER@HOST/DATABASE"
        ))
    };
    match name {
        None | Some("file") => {
            check_project_folder(&setup.places.cwd)?;
            Ok(Arc::new(files(project_folder(&setup.places.cwd), level, setup)))
        }
        Some(name) => match name.split_once(':') {
            Some(("file", folder)) if !folder.is_empty() => {
                Ok(Arc::new(files(PathBuf::from(folder), level, setup)))
            }
            Some(("sqlite", file)) if !file.is_empty() => sqlite(Path::new(file), level).await,
            Some(("postgres" | "postgresql", _)) => postgres(name, level).await,
            _ => Err(unknown(name).into()),
        },
    }
}

/// Opens a store of files below a folder, with the user's key as its owner key. By the key the store
/// recognises the sessions that this user wrote. A session that came with a checkout is not one
/// of them, although git made the user the owner of its files.
pub(crate) fn files(folder: PathBuf, level: DurabilityLevel, setup: &Setup) -> FileStore {
    let store = FileStore::new(folder).with_level(level);
    let Some(home) = &setup.places.home else { return store };
    let key = owner_key(&home.join(".robota").join("owner-key")).unwrap_or_else(|error| {
        // A key that is not kept is safe: sessions of earlier runs then count as foreign.
        output::error(&format!("{error:#}; sessions of this run cannot be resumed later"));
        new_key()
    });
    store.with_owner_key(key)
}

/// Reads the user's key; creates it if there is none.
fn owner_key(file: &Path) -> anyhow::Result<Vec<u8>> {
    let read = |file: &Path| std::fs::read(file).ok().filter(|key| key.len() >= 32);
    if let Some(key) = read(file) {
        return Ok(key);
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let fail = || format!("cannot create the owner key of your sessions, {}", file.display());
    std::fs::create_dir_all(folder).with_context(fail)?;
    let key = new_key();
    // Two programs may start at the same time: the first to rename its file wins, and no reader
    // sees a partly written key.
    let mut fresh = tempfile::NamedTempFile::new_in(folder).with_context(fail)?;
    std::io::Write::write_all(&mut fresh, &key).with_context(fail)?;
    fresh.as_file().sync_all().with_context(fail)?;
    match fresh.persist_noclobber(file) {
        Ok(_) => Ok(key),
        Err(_) => read(file).with_context(fail),
    }
}

#[expect(clippy::disallowed_methods, reason = "a key must be random, not an injected id")]
fn new_key() -> Vec<u8> {
    format!("{}{}", RandomIds.next(), uuid::Uuid::new_v4()).into_bytes()
}

#[cfg(feature = "sqlite")]
async fn sqlite(file: &Path, level: DurabilityLevel) -> anyhow::Result<Arc<dyn JournalStore>> {
    let options = robota_store::SqlOptions { level, ..Default::default() };
    Ok(Arc::new(robota_store::SqliteStore::open_with(file, options).await?))
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str, level: DurabilityLevel) -> anyhow::Result<Arc<dyn JournalStore>> {
    let options = robota_store::SqlOptions { level, ..Default::default() };
    Ok(Arc::new(robota_store::PostgresStore::connect_at(url, options).await?))
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_file: &Path, _level: DurabilityLevel) -> anyhow::Result<Arc<dyn JournalStore>> {
    Err(Usage("--store sqlite: this program was built without the feature `sqlite`".to_owned())
        .into())
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_url: &str, _level: DurabilityLevel) -> anyhow::Result<Arc<dyn JournalStore>> {
    Err(Usage("--store postgres: this program was built without the feature `postgres`".to_owned())
        .into())
}
