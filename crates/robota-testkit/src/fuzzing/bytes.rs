//! Derives choices from bytes. When the bytes run out, every choice is the first one.

/// What is left of the bytes; choices take from its start.
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Returns a number below `of`.
    pub(super) fn pick(&mut self, of: usize) -> usize {
        // Zero when nothing is left, so that a short input still makes a whole run.
        usize::from(self.next().unwrap_or(0)) % of.max(1)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.pick(2) == 1
    }

    /// Returns one of these values; the first when no bytes are left.
    pub(super) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.pick(values.len())]
    }

    /// Returns a few arbitrary characters.
    pub(super) fn text(&mut self) -> String {
        let length = self.pick(9).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }
}
