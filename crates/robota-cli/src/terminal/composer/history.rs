//! Earlier prompts, and the search in them.

/// Earlier prompts, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// The entry that is shown, and what was typed before.
    shown: Option<(usize, String)>,
    search: Option<Search>,
}

#[derive(Debug, Default)]
struct Search {
    query: String,
    found: Option<usize>,
}

impl History {
    pub(super) fn new(entries: Vec<String>) -> Self {
        Self { entries, ..Self::default() }
    }

    /// Adds a prompt, unless it is empty or the same as the last one.
    pub(super) fn add(&mut self, text: &str) {
        self.shown = None;
        self.search = None;
        if !text.trim().is_empty() && self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
        }
    }

    /// Returns the entry before the one that is shown. `typed` comes back after the newest.
    pub(super) fn older(&mut self, typed: &str) -> Option<String> {
        let (at, typed) = match self.shown.take() {
            Some((at, typed)) => (at, typed),
            None => (self.entries.len(), typed.to_owned()),
        };
        let older = at.checked_sub(1);
        if at < self.entries.len() || older.is_some() {
            self.shown = Some((older.unwrap_or(at), typed));
        }
        older.map(|at| self.entries[at].clone())
    }

    /// Returns the entry after the one that is shown, or what was typed.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, typed) = self.shown.take()?;
        let Some(entry) = self.entries.get(at + 1) else { return Some(typed) };
        let entry = entry.clone();
        self.shown = Some((at + 1, typed));
        Some(entry)
    }

    /// Records that the text was edited, so it is no longer an entry of the history.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }

    pub(super) fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    pub(super) fn start_search(&mut self) {
        self.search = Some(Search::default());
    }

    pub(super) fn end_search(&mut self) -> bool {
        self.search.take().is_some()
    }

    pub(super) fn query(&self) -> &str {
        self.search.as_ref().map_or("", |search| &search.query)
    }

    /// Returns the entry that the search found.
    pub(super) fn found(&self) -> Option<&str> {
        let found = self.search.as_ref()?.found?;
        self.entries.get(found).map(String::as_str)
    }

    pub(super) fn type_search(&mut self, text: &str) {
        if let Some(search) = &mut self.search {
            search.query.push_str(text);
            // The entry that is found stays if it matches the longer query too.
            let from = search.found.map_or(self.entries.len(), |at| at + 1);
            search.found = find_before(&self.entries, &search.query, from);
        }
    }

    pub(super) fn shorten_search(&mut self) -> bool {
        let Some(search) = &mut self.search else { return false };
        search.query.pop();
        // From the newest entry on: the longer text may have passed over entries with this one.
        search.found = if search.query.is_empty() {
            None
        } else {
            find_before(&self.entries, &search.query, self.entries.len())
        };
        true
    }

    /// Moves to the next older entry. Equal entries are shown once.
    pub(super) fn search_older(&mut self) -> bool {
        let Some(search) = &mut self.search else { return false };
        let shown = search.found.and_then(|at| self.entries.get(at));
        let mut from = search.found.unwrap_or(self.entries.len());
        while let Some(at) = find_before(&self.entries, &search.query, from) {
            if self.entries.get(at) != shown {
                search.found = Some(at);
                return true;
            }
            from = at;
        }
        false
    }

    pub(super) fn search_newer(&mut self) -> bool {
        let Some(search) = &mut self.search else { return false };
        let Some(found) = search.found else { return false };
        let mut newer =
            (found + 1..self.entries.len()).filter(|at| self.entries[*at] != self.entries[found]);
        let Some(at) = newer.find(|at| find(&self.entries[*at], &search.query).is_some()) else {
            return false;
        };
        search.found = Some(at);
        true
    }
}

fn find_before(entries: &[String], query: &str, from: usize) -> Option<usize> {
    let from = from.min(entries.len());
    (0..from).rev().find(|at| find(&entries[*at], query).is_some())
}

/// Finds a text in another, without regard to case unless it has capitals.
pub(super) fn find(text: &str, query: &str) -> Option<(usize, usize)> {
    if query.chars().any(char::is_uppercase) {
        return text.find(query).map(|at| (at, at + query.len()));
    }
    // Letter by letter: the lower case of a letter can have another length, so offsets in a copy in
    // lower case would be wrong.
    let starts = text.char_indices().map(|(at, _)| at);
    for start in starts.chain([text.len()]) {
        let mut rest = text[start..].char_indices();
        let mut end = start;
        let same = query.chars().all(|letter| match rest.next() {
            Some((at, other)) => {
                end = start + at + other.len_utf8();
                other == letter || other.to_lowercase().eq(letter.to_lowercase())
            }
            None => false,
        });
        if same {
            return Some((start, end));
        }
    }
    None
}
