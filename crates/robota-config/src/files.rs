//! Reading the files: once, bounded, and without being fooled by what is not a file.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::json::Document;
use crate::layer::{Layer, Origin, Scope};
use crate::places::{Places, SettingsArgument};
use crate::report::{Problem, Severity};
use crate::validate::{self, Checked};

/// No settings file is larger.
pub const LARGEST_FILE: u64 = 1024 * 1024;

/// Everything the settings are made of, as it was at one moment: what is shown for trust, what
/// is hashed and what is loaded are the same bytes.
#[derive(Debug, Clone)]
pub struct Files {
    pub(crate) folder: Option<PathBuf>,
    pub(crate) sources: Vec<Source>,
    /// The project's `.mcp.json`, which names programs to run.
    pub(crate) servers: Option<Vec<u8>>,
}

/// One layer.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) layer: Layer,
    pub(crate) checked: Checked,
}

impl Files {
    /// Reads all layers.
    #[must_use]
    pub fn read(places: &Places) -> Self {
        let users: Vec<_> =
            Layer::FILES.into_iter().filter(|layer| layer.scope() == Scope::User).collect();
        let canonical = |layer: Layer| places.file(layer)?.canonicalize().ok();
        let user_files: Vec<_> = users.into_iter().filter_map(canonical).collect();
        let mut sources = Vec::new();
        for layer in Layer::FILES {
            let Some(path) = places.file(layer) else { continue };
            // In the home folder the project's files are the user's own, which are there already.
            let users_own = layer.scope() == Scope::Project
                && path.canonicalize().is_ok_and(|path| user_files.contains(&path))
                && same_folder(&places.cwd, places.home.as_deref());
            if !users_own {
                sources.extend(from_file(layer, &path, Missing::Fine));
            }
        }
        match &places.settings {
            Some(SettingsArgument::File(_)) => {
                let path = places.file(Layer::Argument).unwrap_or_default();
                sources.extend(from_file(Layer::Argument, &path, Missing::Wrong));
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
        Self {
            folder: places.cwd.canonicalize().ok(),
            sources,
            servers: servers(&places.cwd.join(".mcp.json")),
        }
    }

    /// The same, with one layer saying something else.
    pub(crate) fn with(&self, layer: Layer, checked: Checked) -> Self {
        let mut files = self.clone();
        let source = Source { layer, checked };
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

    /// The folder the project's files are in; none when it cannot be found.
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

/// What to make of a file that is not there.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Fine,
    Wrong,
}

fn from_file(layer: Layer, path: &Path, missing: Missing) -> Option<Source> {
    match read_bounded(path) {
        Ok(Some(bytes)) => Some(from_bytes(layer, path, bytes)),
        Ok(None) if missing == Missing::Fine => None,
        Ok(None) => Some(broken(layer, Some(path), None, "there is no such file")),
        Err(error) => Some(broken(layer, Some(path), None, &error.to_string())),
    }
}

pub(crate) fn from_bytes(layer: Layer, path: &Path, bytes: Vec<u8>) -> Source {
    match String::from_utf8(bytes) {
        Ok(text) => from_text(layer, Some(path), text),
        Err(_) => broken(layer, Some(path), None, "it is not UTF-8 text"),
    }
}

fn from_text(layer: Layer, file: Option<&Path>, text: String) -> Source {
    match Document::parse(text) {
        Ok(document) => Source { layer, checked: validate::check(&document, layer, file) },
        Err(error) => broken(layer, file, file.is_some().then_some(error.line), &error.message),
    }
}

/// A file nobody can read: what it grants is gone, and what it forbids is not known.
fn broken(layer: Layer, file: Option<&Path>, line: Option<usize>, reason: &str) -> Source {
    let origin = Origin { layer, file: file.map(Path::to_path_buf), line };
    let message = format!("these settings cannot be read: {reason}");
    let problem = Problem { severity: Severity::Error, origin, key: None, message };
    Source {
        layer,
        checked: Checked { entries: Vec::new(), problems: vec![problem], forbids_unknown: true },
    }
}

/// The content of a file; none when there is none. Links are followed, but only a regular
/// file is read: a pipe would wait for ever, a device would never end.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // What it is comes first: opening a pipe waits for somebody to write.
    let opened = path.metadata().and_then(|facts| {
        regular(&facts)?;
        File::open(path)
    });
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_absent(&error) && path.symlink_metadata().is_ok() => {
            return Err(io::Error::new(error.kind(), "it is a link that leads nowhere"));
        }
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    regular(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        let message = format!("it is larger than {} KiB", LARGEST_FILE / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(bytes))
}

fn regular(facts: &Metadata) -> io::Result<()> {
    let what = match (facts.is_file(), facts.is_dir()) {
        (true, _) => return Ok(()),
        (false, true) => "it is a folder",
        (false, false) => "it is not a regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whatever is wrong with it is said by who starts the servers; here it is only that something
/// which may be run is there, and whether it is still the same.
fn servers(path: &Path) -> Option<Vec<u8>> {
    match read_bounded(path) {
        Ok(bytes) => bytes,
        Err(error) => Some(error.to_string().into_bytes()),
    }
}
