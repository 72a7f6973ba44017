//! Finds and reads the files that apply from the start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use robota_core::context::serialized_tokens;

use super::sections::{beginning, without_comments};
use super::{Globs, InstructionFile, InstructionKind, InstructionOptions, PendingImport};
use crate::frontmatter::{Fields, Markdown};
use crate::layer::{Layer, Origin};
use crate::reader::{Boundary, ContextReader, Depth, TextFile, warning};
use crate::report::Problem;

/// The size of a file that is not read at all.
const MAX_FILE_SIZE: u64 = 4 * 1024 * 1024;

/// Loads files and remembers what was loaded.
#[derive(Debug, Clone)]
pub(super) struct Loader {
    pub(super) reader: ContextReader,
    pub(super) options: InstructionOptions,
    excludes: Globs,
    /// The real paths of the files that were loaded or wait.
    seen: BTreeSet<PathBuf>,
    /// The folders whose files were loaded.
    pub(super) visited: BTreeSet<PathBuf>,
    pub(super) waiting: Vec<WaitingRule>,
    bytes_left: u64,
    pub(super) problems: Vec<Problem>,
    pub(super) pending: Vec<PendingImport>,
}

/// A rule that applies when a file is read that its `paths` match.
#[derive(Debug, Clone)]
pub(super) struct WaitingRule {
    /// The folder that `paths` are relative to.
    pub(super) base: PathBuf,
    pub(super) globs: Globs,
    pub(super) place: Place,
    pub(super) text: String,
    pub(super) cut_bytes: Option<u64>,
}

/// Where a file was found.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) layer: Layer,
    pub(super) boundary: Boundary,
    pub(super) kind: InstructionKind,
    pub(super) imported_by: Option<PathBuf>,
    /// The number of imports between a found file and this one.
    pub(super) hops: usize,
}

impl Loader {
    pub(super) fn new(reader: ContextReader, mut options: InstructionOptions) -> Self {
        let (excludes, invalid) = Globs::new(&options.excludes);
        let problems = invalid.iter().map(|glob| {
            let origin = Origin::of(Layer::BuiltIn);
            let key = crate::path::KeyPath::parse("claudeMdExcludes");
            let message = format!("the glob `{}` is not valid", crate::clean::one_line(glob));
            Problem { severity: crate::report::Severity::Warning, origin, key, message }
        });
        let problems = problems.collect();
        // Imports are compared by their real paths.
        for approved in &mut options.approved_imports {
            if let Ok(real) = approved.canonicalize() {
                *approved = real;
            }
        }
        // One limit for all files: many small ones must not fill the prompt either.
        let bytes_left = options.caps.total_bytes;
        Self {
            reader,
            options,
            excludes,
            seen: BTreeSet::new(),
            visited: BTreeSet::new(),
            waiting: Vec::new(),
            bytes_left,
            problems,
            pending: Vec::new(),
        }
    }

    /// Loads the files of the administrator, those of the user, and those from the root of the file system to the working folder.
    pub(super) fn start(&mut self) -> Vec<InstructionFile> {
        let mut out = Vec::new();
        let folders = self.reader.folders.clone();
        for folder in &folders.managed {
            let (layer, kind) = (Layer::Managed, InstructionKind::Claude);
            self.add_found(folder.join("CLAUDE.md"), layer, kind, Boundary::User, &mut out);
        }
        let users = [
            (Layer::UserRobota, "AGENTS.md", InstructionKind::Agents),
            (Layer::UserClaude, "CLAUDE.md", InstructionKind::Claude),
        ];
        for (layer, name, kind) in users {
            if let Some(path) = folders.user(layer, name) {
                self.add_found(path, layer, kind, Boundary::User, &mut out);
            }
        }
        if let Some(rules) = folders.user(Layer::UserClaude, "rules") {
            self.add_rules(&rules, &folders.cwd, Layer::UserClaude, &Boundary::User, &mut out);
        }
        // The files of the working folder are the last: a model follows later instructions rather
        // than earlier ones.
        let mut above: Vec<_> = folders.cwd.ancestors().collect();
        above.reverse();
        for folder in above {
            self.add_folder(folder, &mut out);
        }
        out
    }

    /// Loads the files of one folder of the project.
    pub(super) fn add_folder(&mut self, folder: &Path, out: &mut Vec<InstructionFile>) {
        if !self.visited.insert(folder.to_owned()) {
            return;
        }
        let boundary = self.reader.folders.boundary(folder);
        let found = |name: &str, layer, kind| (folder.join(name), layer, kind);
        let files = [
            found("AGENTS.md", Layer::ProjectRobota, InstructionKind::Agents),
            found("CLAUDE.md", Layer::ProjectClaude, InstructionKind::Claude),
            found(".claude/CLAUDE.md", Layer::ProjectClaude, InstructionKind::Claude),
        ];
        for (path, layer, kind) in files {
            self.add_found(path, layer, kind, boundary.clone(), out);
        }
        let rules = folder.join(".claude/rules");
        self.add_rules(&rules, folder, Layer::ProjectClaude, &boundary, out);
        let local = folder.join("CLAUDE.local.md");
        self.add_found(local, Layer::ProjectClaudeLocal, InstructionKind::Local, boundary, out);
    }

    fn add_found(
        &mut self,
        path: PathBuf,
        layer: Layer,
        kind: InstructionKind,
        boundary: Boundary,
        out: &mut Vec<InstructionFile>,
    ) {
        let place = Place { path, layer, boundary, kind, imported_by: None, hops: 0 };
        if self.reader.folders.places.reads(layer)
            && let Some(file) = self.read(&place)
        {
            self.add_text(&place, &file.text, cut(&file), out);
        }
    }

    /// Loads the rules of a folder. A rule with `paths` waits for a file that they match.
    fn add_rules(
        &mut self,
        folder: &Path,
        base: &Path,
        layer: Layer,
        boundary: &Boundary,
        out: &mut Vec<InstructionFile>,
    ) {
        if !self.reader.folders.places.reads(layer) {
            return;
        }
        let files = self.reader.markdown(folder, boundary, Depth::Tree, layer, &mut self.problems);
        for file in files {
            let kind = InstructionKind::Rule;
            let boundary = boundary.clone();
            let place =
                Place { path: file.path, layer, boundary, kind, imported_by: None, hops: 0 };
            let Some(file) = self.read(&place) else { continue };
            let parsed = Markdown::parse(&file.text);
            let mut fields = Fields::new(&parsed.header, layer, Some(&place.path));
            fields.note(&parsed.notes);
            let paths = fields.globs("paths");
            if paths.is_empty() {
                fields.warn_of("globs", "has no effect: write `paths`. The rule always applies");
            }
            let (globs, invalid) = Globs::new(&paths);
            for glob in invalid {
                // A header has room for one that fills the screen.
                let glob: String = crate::clean::one_line(&glob).chars().take(100).collect();
                fields.warn(Some("paths"), None, format!("the glob `{glob}` is not valid"));
            }
            self.problems.append(&mut fields.problems);
            if globs.is_empty() {
                self.add_text(&place, &parsed.body, cut(&file), out);
            } else {
                self.waiting.push(WaitingRule {
                    base: base.to_owned(),
                    globs,
                    place,
                    text: parsed.body,
                    cut_bytes: cut(&file),
                });
            }
        }
    }

    /// Reads a file; none if it does not exist, was loaded before, is excluded, or cannot be read.
    pub(super) fn read(&mut self, place: &Place) -> Option<TextFile> {
        if self.is_excluded(place, &place.path) {
            return None;
        }
        // At most this much is read, whatever the size of the file.
        let limit = self.options.caps.file_bytes;
        let real = match self.reader.resolve(&place.path, &place.boundary) {
            Ok(real) => real?,
            Err(reason) => return self.refuse(place, &reason),
        };
        // By the real path: a link and its target are the same text.
        if self.seen.contains(&real) || self.is_excluded(place, &real) {
            return None;
        }
        // Waiting rules count, too: they were read.
        if self.seen.len() >= self.options.caps.files {
            let files = self.options.caps.files;
            return self.refuse(place, &format!("{files} files are read already"));
        }
        match self.reader.read(&real, &place.boundary, limit) {
            // A file of this size is no text that people wrote.
            Ok(Some(file)) if file.size > MAX_FILE_SIZE => {
                self.refuse(place, &format!("it has {} bytes, at most {MAX_FILE_SIZE}", file.size))
            }
            Ok(Some(file)) if !file.utf8 => self.refuse(place, "it is not UTF-8 text"),
            Ok(file) => {
                self.seen.insert(real);
                file
            }
            Err(reason) => self.refuse(place, &reason),
        }
    }

    /// Returns whether the user leaves out a file. Those of the administrator cannot be left out.
    fn is_excluded(&self, place: &Place, path: &Path) -> bool {
        place.layer != Layer::Managed
            && self.excludes.match_path(path.strip_prefix("/").unwrap_or(path))
    }

    pub(super) fn refuse<T>(&mut self, place: &Place, reason: &str) -> Option<T> {
        let message = format!("not read: {reason}");
        self.problems.push(warning(place.layer, &place.path, message));
        None
    }

    /// Adds the text of a file, and the files that it imports.
    pub(super) fn add_text(
        &mut self,
        place: &Place,
        text: &str,
        cut_bytes: Option<u64>,
        out: &mut Vec<InstructionFile>,
    ) {
        let text = without_comments(text);
        if text.trim().is_empty() {
            return;
        }
        let room = usize::try_from(self.bytes_left).unwrap_or(usize::MAX);
        let kept = beginning(&text, room);
        if kept.is_empty() {
            let total = self.options.caps.total_bytes;
            let reason = format!("the instructions have {total} bytes already");
            return self.refuse::<()>(place, &reason).unwrap_or_default();
        }
        self.bytes_left -= kept.len() as u64;
        let left_out = (text.len() - kept.len()) as u64 + cut_bytes.unwrap_or(0);
        let mut shown = kept.to_owned();
        if left_out > 0 {
            shown.push_str(&format!("\n[{left_out} bytes of this file are left out]\n"));
            let message = format!("{left_out} bytes are left out: the file is too long");
            self.problems.push(warning(place.layer, &place.path, message));
        }
        out.push(InstructionFile {
            path: place.path.clone(),
            origin: Origin { layer: place.layer, file: Some(place.path.clone()), line: None },
            kind: place.kind,
            bytes: shown.len() as u64,
            tokens: serialized_tokens(shown.len() as u64),
            text: shown,
            imported_by: place.imported_by.clone(),
            cut_bytes: (left_out > 0).then_some(left_out),
        });
        // Only of the text that is shown: imports behind the cut are not read.
        self.add_imports(place, kept, out);
    }
}

fn cut(file: &TextFile) -> Option<u64> {
    file.cut.then(|| file.size.saturating_sub(file.text.len() as u64).max(1))
}
