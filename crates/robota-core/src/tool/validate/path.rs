//! Where in the checked value a check is.

use std::fmt;

/// The place of a value inside the checked value. Its text is made only for a mistake, so a check
/// that finds none allocates nothing.
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
    depth: usize,
}

enum Step<'p> {
    /// The whole value, by the name that messages use.
    Root(&'p str),
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// Returns the place of the whole value.
    pub(super) fn root(what: &'p str) -> Self {
        Self { parent: None, step: Step::Root(what), depth: 0 }
    }

    /// Returns the place of a value of this object.
    pub(super) fn key(&'p self, key: &'p str) -> Self {
        Self { parent: Some(self), step: Step::Key(key), depth: self.depth + 1 }
    }

    /// Returns the place of an item of this array.
    pub(super) fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index), depth: self.depth + 1 }
    }

    /// Returns how many objects and arrays the place is in.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    fn write(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.write(out)?;
        }
        match &self.step {
            Step::Root(_) => Ok(()),
            Step::Key(key) if self.depth == 1 => out.write_str(key),
            Step::Key(key) => write!(out, ".{key}"),
            Step::Index(index) => write!(out, "[{index}]"),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Step::Root(what) = self.step {
            return out.write_str(what);
        }
        out.write_str("`")?;
        self.write(out)?;
        out.write_str("`")
    }
}
