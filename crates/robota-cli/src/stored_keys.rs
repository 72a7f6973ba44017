//! API keys that `robota setup` stored: in `~/.robota/keys.json`, or in the keyring of the system.
//!
//! The file maps the name of an environment variable to a key, or to the word `keyring`. A stored
//! key is used where the variable is not set, so everything that refers to a variable works with
//! stored keys too. They are never part of the environment of commands.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use robota_core::env_ref::Secret;
use robota_exec::{CommandSpec, Exit};
use serde::{Deserialize, Serialize};

use crate::user_program;

/// Where a key is.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum StoredKey {
    /// The file has it.
    Key(String),
    /// The keyring of the system has it.
    Keyring,
}

/// Where `robota setup` puts a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// The file, which only the user can read.
    File,
    /// The keyring of the system.
    Keyring,
}

/// The stored keys.
#[derive(Debug, Default)]
pub(crate) struct StoredKeys {
    keys: BTreeMap<String, StoredKey>,
    /// Why the file could not be read.
    pub(crate) problem: Option<String>,
}

/// The file with the keys, as permission rules name it.
pub(crate) const RULE_PATH: &str = "~/.robota/keys.json";

/// Returns the file with the keys.
pub(crate) fn file(home: &Path) -> PathBuf {
    home.join(".robota/keys.json")
}

impl StoredKeys {
    /// Reads the stored keys. A file that cannot be read has no keys and a problem.
    pub(crate) fn load(home: Option<&Path>) -> Self {
        let Some(file) = home.map(file) else { return Self::default() };
        let read = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                // The position only: the message could repeat a part of a key.
                format!("it is not valid JSON (line {}, column {})", error.line(), error.column())
            }),
            Err(error) if is_missing(&error) => Ok(BTreeMap::new()),
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(keys) => Self { keys, problem: None },
            Err(reason) => {
                let problem = format!("cannot use the keys in {}: {reason}", file.display());
                Self { problem: Some(problem), ..Self::default() }
            }
        }
    }

    /// Returns whether there is a file with keys.
    pub(crate) fn exist(&self) -> bool {
        !self.keys.is_empty() || self.problem.is_some()
    }

    /// Returns the key for a variable.
    pub(crate) fn get(&self, variable: &str) -> Option<String> {
        match self.keys.get(variable)? {
            StoredKey::Key(key) => Some(key.clone()),
            StoredKey::Keyring => from_keyring(variable),
        }
    }

    /// Returns the keys that the file has, for the redactor.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Secret> + '_ {
        self.keys.values().filter_map(|key| match key {
            StoredKey::Key(key) => Some(Secret::new(key.as_str())),
            // The keyring may ask for a password. Its keys become known when a provider is built.
            StoredKey::Keyring => None,
        })
    }

    /// Stores a key for a variable.
    pub(crate) fn set(
        &mut self,
        home: &Path,
        variable: &str,
        key: &Secret,
        place: KeyPlace,
    ) -> anyhow::Result<()> {
        // Writing would replace a file whose keys could not be read.
        if let Some(problem) = &self.problem {
            anyhow::bail!("{problem}; correct or delete the file first");
        }
        let stored = match place {
            KeyPlace::File => StoredKey::Key(key.expose().to_owned()),
            // The keyring first: the file must not name a key that is not there.
            KeyPlace::Keyring => {
                to_keyring(variable, key)?;
                StoredKey::Keyring
            }
        };
        self.keys.insert(variable.to_owned(), stored);
        let file = file(home);
        write(&file, &serde_json::to_vec_pretty(&self.keys)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

/// Returns whether there is no such file. In a home that is no folder there is none.
fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Replaces the file; only the user can read it.
fn write(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // Temporary files are created with mode 0600.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    // Synced before it replaces the old file: a crash leaves one of the two whole.
    new.as_file().sync_all()?;
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// The program that reaches the keyring, and its arguments to store and to read a key.
struct KeyringProgram {
    program: &'static str,
    store: &'static [&'static str],
    read: &'static [&'static str],
    /// Whether the program reads the key from its standard input.
    stdin: bool,
    install: &'static str,
}

const KEYRING: KeyringProgram = if cfg!(target_os = "macos") {
    KeyringProgram {
        program: "security",
        store: &["add-generic-password", "-U", "-s", "robota", "-a"],
        read: &["find-generic-password", "-w", "-s", "robota", "-a"],
        stdin: false,
        install: "it is part of macOS",
    }
} else {
    KeyringProgram {
        program: "secret-tool",
        store: &["store", "--label=robota", "service", "robota", "account"],
        read: &["lookup", "service", "robota", "account"],
        stdin: true,
        install: "install libsecret-tools, or keep the key in a file (--key-in file)",
    }
};

/// How long the keyring may take: it may ask the user for a password.
const KEYRING_LIMIT: Duration = Duration::from_secs(120);

fn keyring(arguments: &[&str], variable: &str) -> CommandSpec {
    let arguments = arguments.iter().copied().chain([variable]);
    // Any folder that exists will do: the program reads no files of the project.
    CommandSpec::new(KEYRING.program, "/").args(arguments).timeout(KEYRING_LIMIT)
}

fn to_keyring(variable: &str, key: &Secret) -> anyhow::Result<()> {
    let tool = keyring(KEYRING.store, variable);
    let tool = match KEYRING.stdin {
        true => tool.stdin(key.expose().as_bytes()),
        // `security` of macOS takes the key as an argument, which other processes can see for a
        // moment.
        false => tool.args(["-w", key.expose()]),
    };
    let ran = user_program::run_blocking(tool)
        .with_context(|| format!("cannot run {}; {}", KEYRING.program, KEYRING.install))?;
    anyhow::ensure!(
        ran.exit == Exit::Code(0),
        "{} could not store the key: {}",
        KEYRING.program,
        ran.stderr.text().trim()
    );
    Ok(())
}

fn from_keyring(variable: &str) -> Option<String> {
    let ran = user_program::run_blocking(keyring(KEYRING.read, variable)).ok()?;
    let key = ran.stdout.text();
    Some(key.trim_end_matches('\n').to_owned())
        .filter(|key| ran.exit == Exit::Code(0) && !key.is_empty())
}

#[cfg(test)]
mod tests;
