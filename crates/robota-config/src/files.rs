//! Reads the settings files: each once, with a size limit, and regular files only.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::json::Document;
use crate::layer::{Layer, LayerScope, Origin};
use crate::managed::{self, ManagedFiles, ManagedServersFile};
use crate::places::{Places, SettingsArgument};
use crate::report::{Problem, Severity};
use crate::validate::{self, Checked};

/// The size limit of a settings file, in bytes.
// Far more than people write; a checkout could contain a file that fills the memory.
pub const MAX_FILE_BYTES: u64 = 2 * 1024 * 1024;

/// Holds the content of all layers, read once: the bytes that are shown to the user for trust,
/// hashed and loaded are the same.
#[derive(Debug, Clone)]
pub struct Files {
    pub(crate) folder: Option<PathBuf>,
    /// The folder of the checkout, which contains `folder`.
    pub(crate) checkout: PathBuf,
    pub(crate) sources: Vec<Source>,
    /// The project's `.mcp.json`, or why it cannot be read. It needs trust, because it names programs to
    /// run.
    pub(crate) servers: Option<Result<Vec<u8>, String>>,
    /// The administrator's files with MCP servers, lowest first.
    pub(crate) managed_servers: Vec<ManagedServersFile>,
}

/// The content of one layer.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) layer: Layer,
    pub(crate) checked: Checked,
}

impl Files {
    /// Reads the settings files of all layers. A file that cannot be read is a problem in the
    /// report.
    #[must_use]
    pub fn read(places: &Places) -> Self {
        let at_home = same_folder(&places.cwd, places.home.as_deref());
        let users = Layer::FILES.into_iter().filter(|layer| layer.scope() == LayerScope::User);
        // By the real path: `~/.claude` is often a link.
        let canonical = |layer: Layer| places.file(layer)?.canonicalize().ok();
        let user_files: Vec<_> = users.filter(|_| at_home).filter_map(canonical).collect();
        let mut sources = Vec::new();
        for layer in Layer::FILES {
            let Some(path) = places.file(layer) else { continue };
            // In the home folder the project's files are the user's own, which were read already.
            let users_own = at_home
                && layer.scope() == LayerScope::Project
                && path.canonicalize().is_ok_and(|path| user_files.contains(&path));
            if !users_own && places.reads(layer) {
                sources.extend(from_file(layer, &path, Missing::Allowed));
            }
        }
        match &places.settings {
            Some(SettingsArgument::File(_)) => {
                let path = places.file(Layer::Argument).unwrap_or_default();
                sources.extend(from_file(Layer::Argument, &path, Missing::Error));
            }
            Some(SettingsArgument::Inline(text)) => {
                sources.push(from_text(Layer::Argument, None, text.clone()));
            }
            None => {}
        }
        if !places.flags.is_empty() {
            let text = serde_json::Value::Object(places.flags.clone()).to_string();
            sources.push(from_text(Layer::Flags, None, text));
        }
        let managed = ManagedFiles::all(places);
        for file in &managed.settings {
            sources.extend(from_file(Layer::Managed, file, Missing::Allowed));
        }
        for (path, reason) in &managed.unreadable {
            let origin = Origin { layer: Layer::Managed, file: Some(path.clone()), line: None };
            let message = format!("cannot read this part of the managed settings: {reason}");
            sources.push(unknown(origin, message));
        }
        Self {
            folder: places.cwd.canonicalize().ok(),
            checkout: places.checkout(),
            sources,
            servers: places
                .reads(Layer::ProjectRobota)
                .then(|| read_servers(&places.cwd.join(".mcp.json")))
                .flatten(),
            managed_servers: managed::server_files(places),
        }
    }

    /// Returns a copy with one layer replaced.
    pub(crate) fn with(&self, layer: Layer, checked: Checked) -> Self {
        let mut files = self.clone();
        let source = Source { layer, checked };
        // The sources are sorted by layer, because they are read in this order.
        match files.sources.binary_search_by_key(&layer, |source| source.layer) {
            Ok(at) => {
                if let Some(there) = files.sources.get_mut(at) {
                    *there = source;
                }
            }
            Err(at) => files.sources.insert(at, source),
        }
        files
    }

    /// Returns the canonical folder of the project's files; none if it cannot be resolved.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

fn same_folder(cwd: &Path, home: Option<&Path>) -> bool {
    match (cwd.canonicalize(), home.map(Path::canonicalize)) {
        (Ok(cwd), Some(Ok(home))) => cwd == home,
        _ => false,
    }
}

/// How to treat a missing file.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Allowed,
    Error,
}

fn from_file(layer: Layer, path: &Path, missing: Missing) -> Option<Source> {
    match read_bounded(path) {
        Ok(Some(bytes)) => Some(from_bytes(layer, path, bytes)),
        Ok(None) if missing == Missing::Allowed => None,
        Ok(None) => Some(unreadable(layer, Some(path), None, "the file does not exist")),
        Err(error) => Some(unreadable(layer, Some(path), None, &error.to_string())),
    }
}

pub(crate) fn from_bytes(layer: Layer, path: &Path, bytes: Vec<u8>) -> Source {
    match String::from_utf8(bytes) {
        Ok(text) => from_text(layer, Some(path), text),
        Err(_) => unreadable(layer, Some(path), None, "it is not UTF-8 text"),
    }
}

fn from_text(layer: Layer, file: Option<&Path>, text: String) -> Source {
    match Document::parse(text) {
        Ok(document) => {
            let mut checked = validate::check(&document, layer, file);
            if let Some(at) = document.lenient {
                let line = file.is_some().then(|| document.line(at));
                let origin = Origin { layer, file: file.map(Path::to_path_buf), line };
                let message =
                    "JSON has no comments and no trailing commas; the file is read anyway";
                let message = message.to_owned();
                let severity = Severity::Warning;
                checked.problems.push(Problem { severity, origin, key: None, message });
            }
            Source { layer, checked }
        }
        Err(error) => unreadable(layer, file, file.is_some().then_some(error.line), &error.message),
    }
}

/// Returns the content of an unreadable file: it grants nothing, and its restrictions are unknown.
fn unreadable(layer: Layer, file: Option<&Path>, line: Option<usize>, reason: &str) -> Source {
    let origin = Origin { layer, file: file.map(Path::to_path_buf), line };
    unknown(origin, format!("cannot read these settings: {reason}"))
}

fn unknown(origin: Origin, message: String) -> Source {
    let layer = origin.layer;
    let problem = Problem { severity: Severity::Error, origin, key: None, message };
    Source {
        layer,
        checked: Checked {
            entries: Vec::new(),
            problems: vec![problem],
            // A file that cannot be read may forbid something, so nothing is allowed until it can
            // be read.
            restrictions_unknown: true,
            // Without the administrator's list every model would be allowed. A user whose own file is
            // broken can still ask a model about it.
            models_unknown: layer == Layer::Managed,
        },
    }
}

/// Reads a file; none if it does not exist. Follows links, but reads regular files only.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    read_regular(path, MAX_FILE_BYTES)
}

/// Reads a regular file of at most `limit` bytes; none if it does not exist. A pipe or a device in its
/// place is an error and does not block.
///
/// # Errors
/// If it cannot be read, is no regular file or is longer.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_regular(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("it is larger than {} KiB", limit / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(bytes))
}

/// Opens a file; none if it does not exist. Follows links, but opens regular files only: a read of a
/// pipe could block indefinitely, and a device may have no end.
pub(crate) fn open_regular(path: &Path) -> io::Result<Option<File>> {
    // Check the type before opening: opening a pipe blocks until another process writes.
    let opened = path.metadata().and_then(|metadata| {
        require_regular(&metadata)?;
        // Without waiting: a pipe may have replaced the file meanwhile.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
    });
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_absent(&error) && path.symlink_metadata().is_ok() => {
            return Err(io::Error::new(error.kind(), "it is a broken link"));
        }
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    // Check the opened file again: the path may have been replaced in between.
    require_regular(&file.metadata()?)?;
    Ok(Some(file))
}

pub(crate) fn require_regular(metadata: &Metadata) -> io::Result<()> {
    let what = match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => return Ok(()),
        (false, true) => "it is a folder",
        (false, false) => "it is not a regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads `.mcp.json`. It is not validated here. A file that cannot be read still needs trust.
fn read_servers(path: &Path) -> Option<Result<Vec<u8>, String>> {
    read_bounded(path).map_err(|error| error.to_string()).transpose()
}
