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
//! that its hooks cannot be bypassed. Elsewhere it matches nothing. Both are reported, and so is a
//! valid expression that no name of a tool can match, such as `tool == "Bash"`.

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
#[error("the matcher `{}` at {event} {}", matcher.escape_debug(), self.consequence())]
pub struct InvalidMatcher {
    /// The event whose group has the matcher.
    pub event: HookEvent,
    /// The matcher as the settings have it.
    pub matcher: String,
    /// Why the matcher cannot be used.
    pub reason: String,
    /// Whether it is a valid expression that can match no target.
    pub never_matches: bool,
}

impl InvalidMatcher {
    fn consequence(&self) -> String {
        let Self { reason, .. } = self;
        match (self.never_matches, self.event.is_gate()) {
            (true, _) => format!("can never match: {reason}; its hooks never run"),
            (false, true) => format!("is invalid ({reason}); its hooks always run"),
            (false, false) => format!("is invalid ({reason}); its hooks never run"),
        }
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
            Ok(search) => {
                let never = event.matched_on() == MatchedOn::Tool && needs_foreign_letter(text);
                let invalid = never.then(|| InvalidMatcher {
                    event,
                    matcher: text.to_owned(),
                    reason:
                        "it is compared with the name of the tool, such as `Bash`, and no name \
                             of a tool has such characters"
                            .to_owned(),
                    never_matches: true,
                });
                (Self(Kind::Search(Box::new(search))), invalid)
            }
            Err(error) => {
                let reason = match error {
                    regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                    error => last_line(&error.to_string()),
                };
                // Where hooks decide, a broken matcher must not let calls through; elsewhere it
                // must not run things at random.
                let kind = if event.is_gate() { Kind::All } else { Kind::Never };
                let matcher = text.to_owned();
                (Self(kind), Some(InvalidMatcher { event, matcher, reason, never_matches: false }))
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

/// Returns whether each alternative of an expression needs a character that no name of a tool has.
/// Groups and classes are not examined, so this can miss an expression that never matches.
fn needs_foreign_letter(pattern: &str) -> bool {
    let (mut depth, mut in_class, mut found) = (0_u32, false, false);
    let mut rest = pattern.chars().peekable();
    while let Some(letter) = rest.next() {
        let literal = match letter {
            '\\' => rest.next().filter(|escaped| !escaped.is_alphanumeric()),
            ']' if in_class => {
                in_class = false;
                None
            }
            _ if in_class => None,
            '[' => {
                in_class = true;
                None
            }
            // The comma of `{1,3}` is no character of the name.
            '{' => {
                rest.by_ref().take_while(|inner| *inner != '}').for_each(drop);
                None
            }
            '(' | ')' => {
                depth = if letter == '(' { depth + 1 } else { depth.saturating_sub(1) };
                None
            }
            '|' if depth == 0 => {
                if !std::mem::take(&mut found) {
                    return false;
                }
                None
            }
            other => Some(other),
        };
        let optional = rest.peek().is_some_and(|next| matches!(next, '?' | '*' | '{'));
        let foreign = literal.is_some_and(|it| " \"'=&<>!,;".contains(it));
        found |= foreign && depth == 0 && !in_class && !optional;
    }
    found
}

/// Returns the reason, which is the last line of the parser's message; the lines before show the
/// position.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or(text);
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests;
