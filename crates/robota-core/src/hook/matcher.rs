//! Matchers: which tools, or other targets of an event, a group of hooks applies to.
//!
//! - None, empty or `*`: everything.
//! - Only letters, digits, `_`, `-`, spaces, `,` and `|`: a list of names separated by `|` or
//!   `,`. Names are compared exactly and case-sensitively: `mcp__memory` is not a prefix.
//! - Anything else: a regular expression, searched for anywhere in the name; `^` and `$` anchor it.
//!   Matching takes time linear in the name, so look-around and back-references are not supported:
//!   a matcher that uses them is invalid.
//!
//! At events where hooks decide ([`HookEvent::is_gate`]) an invalid matcher matches everything, so
//! that its hooks cannot be bypassed. Elsewhere it matches nothing. Both are reported.

use regex::{Regex, RegexBuilder};

use super::{HookEvent, MatchedOn};

/// The maximum memory of a compiled expression, in bytes.
// The pattern comes from a checkout: `(a{1000}){1000}` would take gigabytes.
const COMPILED_LIMIT: usize = 1 << 20;

/// Decides by a name, such as that of a tool, whether the hooks of a group run.
#[derive(Debug, Clone)]
pub struct Matcher(Kind);

#[derive(Debug, Clone)]
enum Kind {
    All,
    Names(Vec<String>),
    Search(Box<Regex>),
    Never,
}

/// A matcher of the settings that cannot be used, and what happens instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the matcher `{}` at {event} is invalid ({reason}); {}", matcher.escape_debug(), self.effect())]
pub struct InvalidMatcher {
    /// The event whose group has the matcher.
    pub event: HookEvent,
    /// The text in the settings.
    pub matcher: String,
    /// What is wrong with it.
    pub reason: String,
}

impl InvalidMatcher {
    fn effect(&self) -> &'static str {
        if self.event.is_gate() { "its hooks always run" } else { "its hooks never run" }
    }
}

impl Matcher {
    /// Parses the matcher of a group at that event. Always returns a matcher; for an invalid text
    /// also the error.
    #[must_use]
    pub fn read(event: HookEvent, matcher: Option<&str>) -> (Self, Option<InvalidMatcher>) {
        let text = matcher.unwrap_or_default();
        if event.matched_on() == MatchedOn::Nothing || text.is_empty() || text == "*" {
            return (Self(Kind::All), None);
        }
        // Names are compared as a whole. As a regular expression, `Edit` would match `MultiEdit`
        // too.
        if text.bytes().all(is_plain) {
            let names: Vec<_> = text
                .split(['|', ','])
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect();
            // A list without names is the same as an empty matcher.
            let kind = if names.is_empty() { Kind::All } else { Kind::Names(names) };
            return (Self(kind), None);
        }
        match RegexBuilder::new(text).size_limit(COMPILED_LIMIT).build() {
            Ok(search) => (Self(Kind::Search(Box::new(search))), None),
            Err(error) => {
                let reason = match error {
                    regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                    error => last_line(&error.to_string()),
                };
                // Where hooks decide, a broken matcher must not let calls through; elsewhere it
                // must not run things at random.
                let kind = if event.is_gate() { Kind::All } else { Kind::Never };
                (Self(kind), Some(InvalidMatcher { event, matcher: text.to_owned(), reason }))
            }
        }
    }

    /// Returns true if it matches that target.
    #[must_use]
    pub fn matches(&self, target: &str) -> bool {
        match &self.0 {
            Kind::All => true,
            Kind::Names(names) => names.iter().any(|name| name == target),
            Kind::Search(search) => search.is_match(target),
            Kind::Never => false,
        }
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b',' | b'|')
}

/// Returns the reason, which is the last line of the parser's message; the lines before show the
/// position.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or(text);
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests;
