//! The files of an export on disk.
//!
//! ```text
//! FILE                          the export
//! FILE.blobs/{sha256}           blobs that it refers to: images, long output
//! {id}.payloads/{sha256}.json   large fields of a log, in the folder of the log
//! ```

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use robota_session::replay::log::{self, Payloads};

use crate::Usage;
use crate::commands::sessions::args::ImportFormat;

/// The size limit of a file to import.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Writes a file that only its owner can read.
pub(super) fn write(path: &Path, bytes: &[u8], force: bool) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        // Not checked before: another program could create the file in between.
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
        let text = format!("{} already exists; pass --force to overwrite it", path.display());
        return Err(Usage(text).into());
    }
    file.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a blob or payload file of an export. It may exist: the name is the hash of the content.
pub(super) fn write_attachment(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    write(path, bytes, true)
}

/// Returns the folder of the blobs of an export.
pub(super) fn blobs_folder(export: &Path) -> PathBuf {
    let mut name = export.file_name().map(OsString::from).unwrap_or_default();
    name.push(".blobs");
    export.with_file_name(name)
}

/// An export that was read, with its blobs and payloads.
pub(super) struct Source {
    /// The content of the export file.
    pub(super) bytes: Vec<u8>,
    /// The format, never [`ImportFormat::Auto`].
    pub(super) format: ImportFormat,
    /// The blobs by hash.
    pub(super) blobs: HashMap<String, Vec<u8>>,
    /// The payload files that a log refers to, as far as they exist.
    pub(super) payloads: Payloads,
}

/// Reads an export from a file, or from standard input if the name is `-`.
pub(super) fn read(name: &str, format: ImportFormat) -> anyhow::Result<Source> {
    let mut bytes = Vec::new();
    let path = Path::new(name);
    if name == "-" {
        std::io::stdin()
            .lock()
            // Standard input has no size that could be checked before.
            .take(MAX_BYTES)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
    } else {
        bytes = read_file(path)?;
    }
    let format = match format {
        ImportFormat::Auto => detect_format(&bytes).ok_or_else(|| {
            Usage(format!("{name} is not recognised as an export of a session; pass --format"))
        })?,
        given => given,
    };
    let mut source = Source { bytes, format, blobs: HashMap::new(), payloads: Payloads::new() };
    if name == "-" {
        return Ok(source);
    }
    if let Ok(entries) = std::fs::read_dir(blobs_folder(path)) {
        for entry in entries.filter_map(Result::ok) {
            // The length of a SHA-256 hash in hexadecimal digits; other files are not of the
            // export.
            if let Some(name) = entry.file_name().to_str().filter(|name| name.len() == 64) {
                source.blobs.insert(name.to_owned(), read_file(&entry.path())?);
            }
        }
    }
    if source.format == ImportFormat::Log {
        let folder = path.parent().unwrap_or(Path::new(""));
        for reference in log::references(&source.bytes) {
            // The importer and the validator report payloads that are missing.
            if let Ok(bytes) = read_file(&folder.join(&reference.relative_path)) {
                source.payloads.insert(reference.relative_path, bytes);
            }
        }
    }
    Ok(source)
}

/// Reads a regular file of limited size.
pub(super) fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let describe = || format!("cannot read {}", path.display());
    let metadata = std::fs::metadata(path).with_context(describe)?;
    anyhow::ensure!(metadata.is_file(), "{} is not a regular file", path.display());
    anyhow::ensure!(
        metadata.len() <= MAX_BYTES,
        "{} is too large for an export of a session",
        path.display()
    );
    std::fs::read(path).with_context(describe)
}

/// Detects the format by the keys of the first JSON value.
fn detect_format(bytes: &[u8]) -> Option<ImportFormat> {
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
