//! The real file system behind the `Paths` port.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use robota_core::paths::{PathKind, Paths};

/// As many links as Linux follows before it calls it a loop.
const MOST_LINKS: usize = 40;

/// How many names of a directory are looked at to learn whether case matters in it.
const NAMES_PROBED: usize = 64;

/// Facts about the file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsPaths;

impl Paths for OsPaths {
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
                // `done` has no links, so its parent is the one the system would go to.
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
                    if links > MOST_LINKS {
                        return None;
                    }
                    // Links in /proc lead elsewhere for whoever looks: a child of ours has
                    // another working directory and other open files.
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
                // Something may well be there; it is just not for us to see.
                _ => PathKind::Other,
            },
        }
    }

    fn entries(&self, dir: &Path) -> Vec<String> {
        // A name that is not text cannot be written in a rule or an argument.
        names(dir).filter_map(|name| name.into_string().ok()).collect()
    }

    /// Asks the disk: does a name that exists also exist with its case turned? Directories
    /// without a name to try are judged by their parents.
    fn case_sensitive(&self, path: &Path) -> bool {
        let by_system = !cfg!(any(target_os = "macos", target_os = "ios", windows));
        let Some(path) = self.canonical(path) else { return by_system };
        for dir in path.ancestors().filter(|dir| dir.is_dir()) {
            let known: Vec<OsString> = names(dir).take(NAMES_PROBED).collect();
            let turned = known.iter().find_map(|name| Some((name, turn_case(name.to_str()?)?)));
            if let Some((name, turned)) = turned {
                return !same_file(&dir.join(name), &dir.join(&turned))
                    || names(dir).any(|name| *name == *turned);
            }
        }
        by_system
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

/// The same name with the case of its ASCII letters turned; `None` if it has none.
fn turn_case(name: &str) -> Option<String> {
    let turned: String =
        name.chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
    (turned != name).then_some(turned)
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
