//! Follows imports: `@path` in the text of a file.

use std::path::{Component, Path, PathBuf};

use super::load::{Loader, Place};
use super::{InstructionFile, InstructionKind, PendingImport};
use crate::layer::LayerScope;
use crate::mentions::mentions;
use crate::reader::Boundary;

/// The most imports from a found file to an imported one. Files can import each other in a circle.
const MAX_HOPS: usize = 4;

/// The folders whose files the kernel makes, such as the variables of this process. The files of a
/// project never import them, even if all its imports are approved at once.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

impl Loader {
    /// Adds the files that a text imports. A path without a file is no import: `@name` has many
    /// meanings.
    pub(super) fn add_imports(
        &mut self,
        place: &Place,
        text: &str,
        out: &mut Vec<InstructionFile>,
    ) {
        for mention in mentions(text) {
            let Some(path) = self.import_path(place, &mention.path) else { continue };
            // A folder, or nothing: then `@name` is text.
            if !path.is_file() {
                continue;
            }
            let Some(boundary) = self.import_boundary(place, &path) else { continue };
            let import = Place {
                path,
                layer: place.layer,
                boundary,
                kind: InstructionKind::Import,
                imported_by: Some(place.path.clone()),
                hops: place.hops + 1,
            };
            if import.hops > MAX_HOPS {
                let reason = format!("imports are followed {MAX_HOPS} files deep");
                self.refuse::<()>(&import, &reason);
                continue;
            }
            if let Some(file) = self.read(&import) {
                let cut = file.cut.then(|| file.size.saturating_sub(file.text.len() as u64).max(1));
                self.add_text(&import, &file.text, cut, out);
            }
        }
    }

    fn import_path(&self, place: &Place, path: &str) -> Option<PathBuf> {
        let folder = place.path.parent()?;
        let path = match path.strip_prefix("~/") {
            Some(rest) => self.reader.folders.home.as_deref()?.join(rest),
            None => folder.join(path),
        };
        Some(lexical(&path))
    }

    /// Returns how far the links of an import may lead; none if it is not read. Files of the user
    /// import what they like; files of a project import files of the working folder, and others only
    /// if the user approved them.
    fn import_boundary(&mut self, place: &Place, path: &Path) -> Option<Boundary> {
        let real = path.canonicalize().ok()?;
        let folders = &self.reader.folders;
        let inside = path.starts_with(&folders.cwd);
        let refused = Place { path: path.to_owned(), ..place.clone() };
        // Before the approvals: `trust --yes` approves what is pending, and this must never be
        // pending.
        if place.layer.scope() == LayerScope::Project && is_of_system(&real, &folders.root) {
            return self.refuse(&refused, "it is not a file of a user, but of the system");
        }
        if self.options.import_filter.as_ref().is_some_and(|filter| !(filter.0)(&real)) {
            return self.refuse(&refused, "a permission rule denies it");
        }
        if place.layer.scope() == LayerScope::User || self.options.approved_imports.contains(&real)
        {
            return Some(Boundary::User);
        }
        if inside {
            return Some(Boundary::Within(folders.root.clone()));
        }
        let import = PendingImport { path: real, imported_by: place.path.clone() };
        if !self.pending.contains(&import) {
            self.refuse::<()>(&refused, "it is outside the working folder and not approved");
            self.pending.push(import);
        }
        None
    }
}

/// Returns whether a path without links leads to a file of the system and not into the checkout, which
/// may be in memory (`/dev/shm`).
fn is_of_system(real: &Path, checkout: &Path) -> bool {
    let is_below = |folder: &&str| real.starts_with(folder);
    // Folders in memory have files of users, and tests and builds work there.
    SYSTEM.iter().any(is_below) && !real.starts_with("/dev/shm") && !real.starts_with(checkout)
}

/// Returns the path without `.` and `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // Lexically, so that `@../x` means the same whether or not the folder is a link.
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_system_are_not_those_of_a_checkout_in_memory() {
        let checkout = Path::new("/dev/shm/project");
        for path in ["/proc/1/environ", "/proc/self/environ", "/sys/kernel/notes", "/dev/zero"] {
            assert!(is_of_system(Path::new(path), checkout), "{path}");
        }
        for path in ["/dev/shm/project/a.md", "/dev/shm/other.md", "/etc/hostname", "/device/x"] {
            assert!(!is_of_system(Path::new(path), checkout), "{path}");
        }
    }
}
