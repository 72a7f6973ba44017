//! Caches what one judgement has read from the disk. A file that a script names a hundred times is
//! looked up once, and is the same file each time.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use robota_core::paths::Paths;

use crate::policy::Rules;
use crate::rule::Rule;
use crate::workspace::FileRef;

/// The key of a lookup: the list (by its address), the file, and whether files below it count.
type RuleKey = (usize, Rc<FileRef>, bool);

pub(crate) struct Disk<'a> {
    pub(crate) paths: &'a dyn Paths,
    files: RefCell<HashMap<PathBuf, Rc<FileRef>>>,
    rules: RefCell<HashMap<RuleKey, Option<&'a Rule>>>,
    fold: OnceCell<bool>,
    /// How many scripts inside the command may still be analysed.
    scripts: Cell<usize>,
    pub(crate) budget: Budget,
}

const MAX_SCRIPTS: usize = 256;

const MAX_STEPS: usize = 20_000;

/// The number of steps that one verdict may still take in searches whose cost can grow faster than
/// the command.
pub(crate) struct Budget(Cell<usize>);

impl Budget {
    pub(crate) fn spend(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(steps));
        !self.is_spent()
    }

    /// Returns whether no step is left. Then the command was not analysed to the end.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

impl<'a> Disk<'a> {
    pub(crate) fn new(paths: &'a dyn Paths) -> Self {
        Self {
            paths,
            files: RefCell::default(),
            rules: RefCell::default(),
            fold: OnceCell::new(),
            scripts: Cell::new(MAX_SCRIPTS),
            budget: Budget(Cell::new(MAX_STEPS)),
        }
    }

    /// Returns whether one more script may be analysed: each can contain others.
    pub(crate) fn may_open_script(&self) -> bool {
        let left = self.scripts.get();
        self.scripts.set(left.saturating_sub(1));
        left > 0
    }

    pub(crate) fn lookup(&self, path: &Path) -> Rc<FileRef> {
        if let Some(known) = self.files.borrow().get(path) {
            return Rc::clone(known);
        }
        let file = Rc::new(FileRef::lookup(path, self.paths));
        self.files.borrow_mut().insert(path.to_owned(), Rc::clone(&file));
        file
    }

    pub(crate) fn rule(
        &self,
        list: &'a Rules,
        file: &Rc<FileRef>,
        below: bool,
        find: impl FnOnce() -> Option<&'a Rule>,
    ) -> Option<&'a Rule> {
        // By address: the lists belong to the policy, which outlives this cache.
        let key = (std::ptr::from_ref(list).addr(), Rc::clone(file), below);
        if let Some(known) = self.rules.borrow().get(&key) {
            return *known;
        }
        let rule = find();
        self.rules.borrow_mut().insert(key, rule);
        rule
    }

    /// Returns whether the names of programs are compared without case.
    pub(crate) fn folds_programs(&self) -> bool {
        // Asked for one folder: where programs are installed decides whether `RM` runs `rm`.
        *self.fold.get_or_init(|| !self.paths.case_sensitive(Path::new("/usr/bin")))
    }
}
