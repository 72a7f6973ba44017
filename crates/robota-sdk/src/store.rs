//! Opens the session store by its name: `file[:DIR]`, `sqlite:FILE` or `postgres://…`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::error::error_chain;
use robota_core::ids::{Ids as _, RandomIds};
use robota_core::journal::JournalStore;
use robota_store::{DurabilityLevel, FileStore};

use crate::error::SdkError;
use crate::notice::Notice;
use crate::project::Project;

/// Returns the folder of a project's sessions.
#[must_use]
pub fn project_folder(cwd: &Path) -> PathBuf {
    cwd.join(".robota").join("sessions")
}

/// Fails if a link in the project's `.robota` would redirect what this program writes there: sessions,
/// records of the reaper and logs. A checkout can contain such a link.
///
/// # Errors
/// If there is such a link.
pub fn check_project_folder(cwd: &Path) -> Result<(), SdkError> {
    let robota = cwd.join(".robota");
    let folders =
        ["sessions", "sessions/blobs", "reaper", "logs", "tasks"].map(|name| robota.join(name));
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
            Err(SdkError::Link { link, target })
        }
    }
}

/// Opens the store that a name selects; without a name, the files of the project. What the user
/// should know is added to `notices`.
///
/// # Errors
/// If the name selects no store, or the store cannot be opened.
pub async fn open(
    name: Option<&str>,
    level: DurabilityLevel,
    project: &Project,
    notices: &mut Vec<Notice>,
) -> Result<Arc<dyn JournalStore>, SdkError> {
    let unknown = |name: &str| SdkError::Option {
        option: "store",
        problem: format!(
            "unknown store `{name}`; use file, file:DIR, sqlite:FILE or \
             postgres://USER@HOST/DATABASE"
        ),
    };
    match name {
        None | Some("file") => {
            // Only for the default: a folder that the user names is the user's own choice.
            check_project_folder(project.cwd())?;
            Ok(Arc::new(files(project_folder(project.cwd()), level, project, notices)))
        }
        Some(name) => match name.split_once(':') {
            Some(("file", folder)) if !folder.is_empty() => {
                Ok(Arc::new(files(PathBuf::from(folder), level, project, notices)))
            }
            Some(("sqlite", file)) if !file.is_empty() => sqlite(Path::new(file), level).await,
            Some(("postgres" | "postgresql", _)) => postgres(name, level).await,
            _ => Err(unknown(name)),
        },
    }
}

/// Opens the store of sessions that belong to no project: the files in `~/.robota/sessions`.
///
/// ```
/// use robota_config::ProgramEnvironment;
/// use robota_store::DurabilityLevel;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let home = tempfile::tempdir()?;
/// # let home = home.path().display().to_string();
/// let environment = ProgramEnvironment::from_iter([("HOME".to_owned(), home)]);
/// let store = robota_sdk::store::of_user(&environment, DurabilityLevel::default())?;
/// # drop(store);
/// # Ok(()) }
/// ```
///
/// # Errors
/// If there is no home folder, or the user's key cannot be read and written.
pub fn of_user(
    environment: &robota_config::ProgramEnvironment,
    level: DurabilityLevel,
) -> Result<FileStore, SdkError> {
    let places = robota_config::Places::from_env(environment).unwrap_or_default();
    let home = places.home.ok_or_else(|| SdkError::Option {
        option: "store",
        problem: "there is no home folder for sessions without a project".to_owned(),
    })?;
    let key = owner_key(&home.join(".robota").join("owner-key"))?;
    Ok(FileStore::new(project_folder(&home)).with_level(level).with_owner_key(key))
}

/// Opens a store of files below a folder, with the user's key as its owner key. By the key the store
/// recognises the sessions that this user wrote. A session that came with a checkout is not one
/// of them, although git made the user the owner of its files.
fn files(
    folder: PathBuf,
    level: DurabilityLevel,
    project: &Project,
    notices: &mut Vec<Notice>,
) -> FileStore {
    let store = FileStore::new(folder).with_level(level);
    let Some(home) = &project.places.home else { return store };
    let key = owner_key(&home.join(".robota").join("owner-key")).unwrap_or_else(|error| {
        // A key that is not kept is safe: sessions of earlier runs then count as foreign.
        let text = "sessions of this run cannot be resumed later";
        notices.push(Notice::Error(format!("{}; {text}", error_chain(&error))));
        new_key()
    });
    store.with_owner_key(key)
}

/// Reads the user's key; creates it if there is none.
fn owner_key(file: &Path) -> Result<Vec<u8>, SdkError> {
    let read = |file: &Path| std::fs::read(file).ok().filter(|key| key.len() >= 32);
    if let Some(key) = read(file) {
        return Ok(key);
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let fail = |source| SdkError::Io {
        what: format!("cannot create the owner key of your sessions, {}", file.display()),
        source,
    };
    std::fs::create_dir_all(folder).map_err(fail)?;
    let key = new_key();
    // Two programs may start at the same time: the first to rename its file wins, and no reader
    // sees a partly written key.
    let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
    std::io::Write::write_all(&mut fresh, &key).map_err(fail)?;
    fresh.as_file().sync_all().map_err(fail)?;
    match fresh.persist_noclobber(file) {
        Ok(_) => Ok(key),
        Err(error) => read(file).ok_or_else(|| fail(error.error)),
    }
}

#[expect(clippy::disallowed_methods, reason = "a key must be random, not an injected id")]
fn new_key() -> Vec<u8> {
    format!("{}{}", RandomIds.next(), uuid::Uuid::new_v4()).into_bytes()
}

#[cfg(feature = "sqlite")]
async fn sqlite(file: &Path, level: DurabilityLevel) -> Result<Arc<dyn JournalStore>, SdkError> {
    let options = robota_store::SqlOptions { level, ..Default::default() };
    Ok(Arc::new(robota_store::SqliteStore::open_with(file, options).await?))
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str, level: DurabilityLevel) -> Result<Arc<dyn JournalStore>, SdkError> {
    let options = robota_store::SqlOptions { level, ..Default::default() };
    Ok(Arc::new(robota_store::PostgresStore::connect_at(url, options).await?))
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_file: &Path, _level: DurabilityLevel) -> Result<Arc<dyn JournalStore>, SdkError> {
    Err(SdkError::Option {
        option: "store",
        problem: "this program was built without the feature `sqlite`".to_owned(),
    })
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_url: &str, _level: DurabilityLevel) -> Result<Arc<dyn JournalStore>, SdkError> {
    Err(SdkError::Option {
        option: "store",
        problem: "this program was built without the feature `postgres`".to_owned(),
    })
}
