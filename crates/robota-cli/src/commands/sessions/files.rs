//! Exports on disk: the file itself, and what lies beside it.
//!
//! ```text
//! FILE                          the export
//! FILE.blobs/{sha256}           what it refers to by hash: pictures, long output
//! {id}.payloads/{sha256}.json   large fields of a log, from the folder of the log
//! ```

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use robota_session::replay::log::{self, Payloads};

use crate::Usage;
use crate::commands::sessions::args::ImportFormat;

/// A file larger than this is no export of a session.
const LARGEST: u64 = 2 * 1024 * 1024 * 1024;

/// Writes a file that only its owner reads.
pub(super) fn write(path: &Path, bytes: &[u8], force: bool) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path);
    if let Err(error) = &file
        && error.kind() == std::io::ErrorKind::AlreadyExists
    {
        let text = format!("{} is there already; --force writes over it", path.display());
        return Err(Usage(text).into());
    }
    file.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file into a folder beside an export; what is there by that name is the same.
pub(super) fn write_beside(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    write(path, bytes, true)
}

/// Where the blobs of an export lie.
pub(super) fn blobs_folder(export: &Path) -> PathBuf {
    let mut name = export.file_name().map(OsString::from).unwrap_or_default();
    name.push(".blobs");
    export.with_file_name(name)
}

/// An export with what lies beside it.
pub(super) struct Source {
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// In which shape it is.
    pub(super) format: ImportFormat,
    /// Its blobs by hash.
    pub(super) blobs: HashMap<String, Vec<u8>>,
    /// The payload files that a log names, as far as they are there.
    pub(super) payloads: Payloads,
}

/// Reads an export; `-` is standard input.
pub(super) fn read(name: &str, format: ImportFormat) -> anyhow::Result<Source> {
    let mut bytes = Vec::new();
    let path = Path::new(name);
    if name == "-" {
        std::io::stdin()
            .lock()
            .take(LARGEST)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
    } else {
        bytes = read_file(path)?;
    }
    let format = match format {
        ImportFormat::Auto => guess(&bytes).ok_or_else(|| {
            Usage(format!("{name} looks like no export of a session; name its --format"))
        })?,
        given => given,
    };
    let mut source = Source { bytes, format, blobs: HashMap::new(), payloads: Payloads::new() };
    if name == "-" {
        return Ok(source);
    }
    if let Ok(entries) = std::fs::read_dir(blobs_folder(path)) {
        for entry in entries.filter_map(Result::ok) {
            if let Some(name) = entry.file_name().to_str().filter(|name| name.len() == 64) {
                source.blobs.insert(name.to_owned(), read_file(&entry.path())?);
            }
        }
    }
    if source.format == ImportFormat::Log {
        let folder = path.parent().unwrap_or(Path::new(""));
        for reference in log::references(&source.bytes) {
            // What is not there is reported by whoever needs it.
            if let Ok(bytes) = read_file(&folder.join(&reference.relative_path)) {
                source.payloads.insert(reference.relative_path, bytes);
            }
        }
    }
    Ok(source)
}

fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let describe = || format!("cannot read {}", path.display());
    let facts = std::fs::metadata(path).with_context(describe)?;
    anyhow::ensure!(facts.is_file(), "{} is no file", path.display());
    anyhow::ensure!(facts.len() <= LARGEST, "{} is too large", path.display());
    std::fs::read(path).with_context(describe)
}

/// In which shape something is, from how it begins.
fn guess(bytes: &[u8]) -> Option<ImportFormat> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<serde_json::Value>();
    let first = values.next()?.ok()?;
    let has = |name: &str| first.get(name).is_some();
    if has("seq") && has("crc") {
        return Some(ImportFormat::Journal);
    }
    if has("event") && (has("sessionId") || has("timestamp")) {
        return Some(ImportFormat::Log);
    }
    (has("messages") || has("history")).then_some(ImportFormat::Record)
}
