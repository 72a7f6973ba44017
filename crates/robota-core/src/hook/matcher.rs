//! Matchers: which tools, or other targets of an event, a group of hooks is for.
//!
//! - None, empty or `*`: everything.
//! - Only letters, digits, `_`, `-`, spaces, `,` and `|`: a list of names separated by `|` or
//!   `,`. A name is compared exactly, case included: `mcp__memory` is no prefix.
//! - Anything else: a regular expression that is searched for anywhere in the name; `^` and `$`
//!   anchor it. It takes time linear in the name, so look-around and back-references do not
//!   exist: a matcher that uses them cannot be read.
//!
//! Where hooks decide ([`HookEvent::is_gate`]) a matcher that cannot be read matches everything,
//! elsewhere nothing; both are reported.

use regex::{Regex, RegexBuilder};

use super::{HookEvent, MatchedOn};

/// How much memory a compiled expression may take.
const COMPILED_LIMIT: usize = 1 << 20;

/// A matcher, read.
#[derive(Debug, Clone)]
pub struct Matcher(Kind);

#[derive(Debug, Clone)]
enum Kind {
    All,
    Names(Vec<String>),
    Search(Box<Regex>),
    Never,
}

/// Why a matcher cannot be read, and what it counts as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the matcher `{}` at {event} cannot be read ({reason}); {}", matcher.escape_debug(), self.counts_as())]
pub struct InvalidMatcher {
    /// At which event.
    pub event: HookEvent,
    /// As it was written.
    pub matcher: String,
    /// What is wrong.
    pub reason: String,
}

impl InvalidMatcher {
    fn counts_as(&self) -> &'static str {
        if self.event.is_gate() { "its hooks run always" } else { "its hooks never run" }
    }
}

impl Matcher {
    /// Reads the matcher of a group at that event. There always is one; what is wrong with the
    /// text, if anything, comes beside it.
    #[must_use]
    pub fn read(event: HookEvent, matcher: Option<&str>) -> (Self, Option<InvalidMatcher>) {
        let text = matcher.unwrap_or_default();
        if event.matched_on() == MatchedOn::Nothing || text.is_empty() || text == "*" {
            return (Self(Kind::All), None);
        }
        if text.bytes().all(is_plain) {
            let names: Vec<_> = text
                .split(['|', ','])
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect();
            // Separators around nothing name nothing, which is what an empty matcher does.
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
                let kind = if event.is_gate() { Kind::All } else { Kind::Never };
                (Self(kind), Some(InvalidMatcher { event, matcher: text.to_owned(), reason }))
            }
        }
    }

    /// Whether it is for that target.
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

/// The parser draws the place in several lines and ends with what is wrong.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or(text);
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests;
