//! What is wrong with a value.

/// More than this many mistakes do not help a model: further ones are counted only.
// The model gets this text; a thousand wrong items of a list would fill its context.
const MAX_MISTAKES: usize = 16;

/// The mistakes that a check found.
#[derive(Default)]
pub(super) struct Mistakes {
    named: Vec<String>,
    more: usize,
    /// The depth of the value to which the schema applies.
    base: usize,
    /// Whether the value has another form than the schema describes.
    other_form: bool,
}

impl Mistakes {
    /// Creates the list for one of several schemas that a value at this depth may fit.
    pub(super) fn of_branch(base: usize) -> Self {
        Self { base, ..Self::default() }
    }

    /// Adds a mistake. The text is created only if it is listed.
    pub(super) fn push(&mut self, text: impl FnOnce() -> String) {
        if self.named.len() < MAX_MISTAKES {
            self.named.push(text());
        } else {
            self.more += 1;
        }
    }

    /// Records that a value at `depth` has another type or tag than the schema says. The type counts at
    /// the value itself, a tag (`fixed`) also one level below: `{"kind": "circle"}`.
    pub(super) fn mark_other_form(&mut self, depth: usize, fixed: bool) {
        if depth == self.base || (fixed && depth == self.base + 1) {
            self.other_form = true;
        }
    }

    /// Adds the mistakes of a schema that the value was meant to fit.
    pub(super) fn append(&mut self, other: Self) {
        for text in other.named {
            self.push(|| text);
        }
        self.more += other.more;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Returns true if the value has another type or tag than the schema describes.
    pub(super) fn is_other_form(&self) -> bool {
        self.other_form
    }

    /// Returns the first mistake, cut to a length that allows several in one text.
    pub(super) fn first(&self) -> String {
        const MOST: usize = 160;
        let text = self.named.first().map(String::as_str).unwrap_or_default();
        match text.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        }
    }

    pub(super) fn into_result(mut self) -> Result<(), String> {
        if self.more > 0 {
            self.named.push(format!("and {} more", self.more));
        }
        if self.named.is_empty() { Ok(()) } else { Err(self.named.join("; ")) }
    }
}
