//! Follows imports: `@path` in the text of a file.

use std::path::{Component, Path, PathBuf};

use super::load::{Loader, Place};
use super::{InstructionFile, InstructionKind, PendingImport};
use crate::layer::Scope;
use crate::mentions::mentions;
use crate::reader::Boundary;

/// The most imports from a found file to an imported one.
const MAX_HOPS: usize = 4;

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
        if self.options.import_filter.as_ref().is_some_and(|filter| !(filter.0)(&real)) {
            return self.refuse(&refused, "a permission rule denies it");
        }
        if place.layer.scope() == Scope::User || self.options.approved_imports.contains(&real) {
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

/// Returns the path without `.` and `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}
