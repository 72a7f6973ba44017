//! What in the typed text opens a popup.

/// What in the typed text opens a popup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trigger {
    /// `/` at the beginning.
    Command {
        /// What follows the slash.
        query: String,
    },
    /// `@` after a space.
    File {
        /// What follows the sign, without quotes.
        query: String,
        /// How many bytes before the cursor belong to it.
        length: usize,
    },
}

impl Trigger {
    /// Returns how many bytes before the cursor a completion replaces.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Command { query } => query.len() + 1,
            Self::File { length, .. } => *length,
        }
    }
}

/// Finds what opens a popup in the text before the cursor.
pub(super) fn find(before: &str) -> Option<Trigger> {
    if let Some(query) = before.strip_prefix('/') {
        // A path such as /usr/bin is no command.
        let command = !query.contains(['\n', '/']);
        return command
            .then(|| Trigger::Command { query: query.to_owned() })
            .or_else(|| file(before));
    }
    file(before)
}

fn file(before: &str) -> Option<Trigger> {
    let at = before
        .match_indices('@')
        .map(|(at, _)| at)
        // Only after a space: the sign in an e-mail address begins no mention.
        .rfind(|at| before[..*at].chars().next_back().is_none_or(char::is_whitespace))?;
    let query = &before[at + 1..];
    let length = before.len() - at;
    if let Some(quoted) = query.strip_prefix('"') {
        let open = !quoted.contains(['"', '\n']);
        return open.then(|| Trigger::File { query: quoted.to_owned(), length });
    }
    let open = !query.contains(char::is_whitespace);
    open.then(|| Trigger::File { query: query.to_owned(), length })
}

/// Returns how a file is named in a prompt: quoted if its name has spaces.
pub(crate) fn mention(path: &str) -> String {
    if path.contains(|letter: char| letter.is_whitespace()) {
        format!("@\"{path}\"")
    } else {
        format!("@{path}")
    }
}
