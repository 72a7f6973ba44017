//! Choices out of bytes. When they run out every choice is the first.

/// What is left to choose with.
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

    /// A number below `of`.
    pub(super) fn pick(&mut self, of: usize) -> usize {
        usize::from(self.next().unwrap_or(0)) % of.max(1)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.pick(2) == 1
    }

    /// One of these.
    pub(super) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.pick(values.len())]
    }

    /// A few characters, whatever they are.
    pub(super) fn text(&mut self) -> String {
        let length = self.pick(9).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }
}
