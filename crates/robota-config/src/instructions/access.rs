//! Loads what becomes active when a file is read.

use std::path::Path;

use super::InstructionFile;
use super::load::Loader;

impl Loader {
    pub(super) fn on_access(&mut self, path: &Path) -> Vec<InstructionFile> {
        let mut out = Vec::new();
        let Some(real) = self.reader.accessed(path) else { return out };
        for folder in self.reader.nested_folders(&real) {
            self.add_folder(&folder, &mut out);
        }
        let matches = |rule: &super::load::WaitingRule| {
            // By the real path, so that a link cannot make a rule apply to another file.
            real.strip_prefix(&rule.base).is_ok_and(|path| rule.globs.match_path(path))
        };
        let (active, waiting) =
            // Each rule becomes active once; its text stays in the conversation.
            std::mem::take(&mut self.waiting).into_iter().partition::<Vec<_>, _>(matches);
        self.waiting = waiting;
        for rule in active {
            self.add_text(&rule.place, &rule.text, rule.cut_bytes, &mut out);
        }
        out
    }
}
