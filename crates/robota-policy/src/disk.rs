//! What one judgement has seen of the disk. A file that a script names a hundred times is looked
//! up once, and is the same file each time.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use robota_core::paths::Paths;

use crate::rule::Rule;
use crate::workspace::FileRef;

/// The disk, as far as it was looked at.
pub(crate) struct Disk<'a> {
    pub(crate) paths: &'a dyn Paths,
    files: RefCell<HashMap<PathBuf, Rc<FileRef>>>,
    /// For a folder, by whether the rule denies: the rule about something in it.
    below: RefCell<HashMap<(bool, Rc<FileRef>), Option<&'a Rule>>>,
    fold: OnceCell<bool>,
}

impl<'a> Disk<'a> {
    pub(crate) fn new(paths: &'a dyn Paths) -> Self {
        Self { paths, files: RefCell::default(), below: RefCell::default(), fold: OnceCell::new() }
    }

    /// Looks an absolute path up.
    pub(crate) fn look(&self, path: &Path) -> Rc<FileRef> {
        if let Some(known) = self.files.borrow().get(path) {
            return Rc::clone(known);
        }
        let file = Rc::new(FileRef::look(path, self.paths));
        self.files.borrow_mut().insert(path.to_owned(), Rc::clone(&file));
        file
    }

    /// The rule about something in a folder, as `find` finds it.
    pub(crate) fn rule_below(
        &self,
        denies: bool,
        folder: &Rc<FileRef>,
        find: impl FnOnce() -> Option<&'a Rule>,
    ) -> Option<&'a Rule> {
        let key = (denies, Rc::clone(folder));
        if let Some(known) = self.below.borrow().get(&key) {
            return *known;
        }
        let rule = find();
        self.below.borrow_mut().insert(key, rule);
        rule
    }

    /// Whether programs are found by a name in any case.
    pub(crate) fn folds_programs(&self) -> bool {
        *self.fold.get_or_init(|| !self.paths.case_sensitive(Path::new("/usr/bin")))
    }
}
