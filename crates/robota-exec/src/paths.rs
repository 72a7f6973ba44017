//! Implements the `Paths` port for the real file system.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use robota_core::paths::{PathKind, Paths};

/// The number of links that Linux follows before it reports a loop.
const MAX_LINKS: usize = 40;

/// How many names of a directory are tried to find out whether names are case-sensitive.
const NAMES_PROBED: usize = 64;

/// Answers questions about paths of this machine's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsPaths;

/// The largest settings file that is read.
const MAX_TEXT: u64 = 256 * 1024;

impl Paths for OsPaths {
    fn text(&self, path: &Path) -> Option<String> {
        // A pipe would block, and a device is no settings file.
        let metadata = path.symlink_metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MAX_TEXT {
            return None;
        }
        std::fs::read_to_string(path).ok()
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        if !path.is_absolute() {
            return None;
        }
        let mut rest: VecDeque<Step> = steps(path).collect();
        let mut done = PathBuf::new();
        let mut links = 0;
        while let Some(step) = rest.pop_front() {
            let name = match step {
                Step::Root(root) => {
                    done = root;
                    continue;
                }
                // `done` contains no links, so its parent is the one the system would use.
                Step::Up => {
                    done.pop();
                    continue;
                }
                Step::Down(name) => name,
            };
            let next = done.join(name);
            match next.symlink_metadata() {
                Ok(metadata) if metadata.is_symlink() => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    // Links in /proc have a different target for each process: a child has another
                    // working directory and other open files.
                    if next.starts_with("/proc") {
                        return None;
                    }
                    let target = next.read_link().ok()?;
                    for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                        rest.push_front(step);
                    }
                }
                Ok(_) => done = next,
                Err(error) => match error.kind() {
                    ErrorKind::NotFound | ErrorKind::NotADirectory => done = next,
                    _ => return None,
                },
            }
        }
        Some(done)
    }

    fn kind(&self, path: &Path) -> PathKind {
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => PathKind::Link,
            Ok(metadata) if metadata.is_dir() => PathKind::Dir,
            Ok(metadata) if metadata.is_file() => PathKind::File,
            Ok(_) => PathKind::Other,
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => PathKind::Missing,
                // Without permission to read the folder, something may still exist there.
                _ => PathKind::Other,
            },
        }
    }

    fn entries(&self, dir: &Path) -> Vec<String> {
        // A name that is not UTF-8 cannot occur in a rule or an argument.
        names(dir).filter_map(|name| name.into_string().ok()).collect()
    }

    /// Tests on disk whether an existing name also exists with the case of its letters swapped. A
    /// directory without a suitable name gets the answer of its parent.
    fn case_sensitive(&self, path: &Path) -> bool {
        let system_default = !cfg!(any(target_os = "macos", target_os = "ios", windows));
        let Some(path) = self.canonical(path) else { return system_default };
        for dir in path.ancestors().filter(|dir| dir.is_dir()) {
            let existing: Vec<OsString> = names(dir).take(NAMES_PROBED).collect();
            let candidate =
                existing.iter().find_map(|name| Some((name, swap_case(name.to_str()?)?)));
            if let Some((name, swapped)) = candidate {
                // Both spellings of a hard link are the same file; then both are in the directory.
                return !same_file(&dir.join(name), &dir.join(&swapped))
                    || names(dir).any(|name| *name == *swapped);
            }
        }
        system_default
    }
}

enum Step {
    Root(PathBuf),
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl Iterator<Item = Step> {
    path.components().filter_map(|component| match component {
        Component::Prefix(prefix) => Some(Step::Root(PathBuf::from(prefix.as_os_str()))),
        Component::RootDir => Some(Step::Root(PathBuf::from(std::path::MAIN_SEPARATOR_STR))),
        Component::CurDir => None,
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
    })
}

fn names(dir: &Path) -> impl Iterator<Item = OsString> {
    dir.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()))
}

/// Returns the name with the case of its ASCII letters swapped; `None` if it has none.
fn swap_case(name: &str) -> Option<String> {
    let swapped: String =
        name.chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
    (swapped != name).then_some(swapped)
}

#[cfg(unix)]
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (a.symlink_metadata(), b.symlink_metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(a: &Path, b: &Path) -> bool {
    a.symlink_metadata().is_ok() && b.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests;
