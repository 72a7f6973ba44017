//! The part of jq that computes from its input. A filter can reach other files, the environment
//! or the end of the memory only by a name, a variable or a large number, so that it is enough
//! to read all of its tokens.

use crate::shell::word::is_name;

/// Functions and words that compute from what they are given, and end.
const PURE: &str = "\
    and or not if then elif else end as reduce foreach try catch label break def empty error \
    null true false length utf8bytelength keys keys_unsorted values has in inside contains \
    map map_values path paths leaf_paths del delpaths getpath to_entries from_entries \
    with_entries select recurse any all flatten range floor ceil round sqrt pow log log2 \
    log10 exp abs fabs trunc tostring tonumber toarray type arrays objects iterables \
    booleans numbers normals finites strings nulls scalars isnan isinfinite isnormal isvalid \
    nan sort sort_by group_by min max min_by max_by unique unique_by reverse add index \
    rindex indices startswith endswith ltrimstr rtrimstr trim ltrim rtrim trimstr explode \
    implode split splits join ascii ascii_downcase ascii_upcase test match capture scan sub \
    gsub first last nth limit skip input inputs tojson fromjson todate fromdate now dateadd \
    datesub date strptime strftime strflocaltime mktime gmtime localtime todateiso8601 \
    fromdateiso8601 tostream fromstream truncate_stream transpose bsearch walk pick isempty \
    IN INDEX input_line_number debug stderr halt significand logb gamma setpath @text @json \
    @html @uri @csv @tsv @sh @base64 @base64d @base32 @base32d";

fn is_pure(name: &str) -> bool {
    PURE.split(' ').any(|pure| pure == name)
}

/// A number above this is too large for a count, an index or a repetition.
const MAX_NUMBER: f64 = 1_000_000.0;

/// More strings than this many multiplications could make too long a one.
const MAX_TIMES: usize = 2;

#[derive(Default)]
struct Filter {
    chars: Vec<char>,
    at: usize,
    /// Names that it defines itself.
    own: Vec<String>,
    largest: f64,
    strings: bool,
    times: usize,
    counts: bool,
    /// How often it counts with `range`.
    ranges: i32,
    /// It makes large numbers from small ones, or from a text.
    enlarges: bool,
    /// It has a part that it evaluates several times: its own function, or the body of a fold.
    reuses: bool,
}

/// Functions whose result may be a large number.
const ENLARGE: &[&str] = &[
    "pow",
    "exp",
    "gamma",
    "now",
    "mktime",
    "fromdate",
    "fromdateiso8601",
    "date",
    "dateadd",
    "datesub",
    "tonumber",
    "fromjson",
];

/// Returns whether the filter only computes from its input, and ends.
pub(super) fn is_harmless(filter: &str) -> bool {
    let mut seen = Filter { chars: filter.chars().collect(), ..Filter::default() };
    let read = seen.tokens(false, 0).is_some();
    // `*` repeats a string, so a short filter could fill the memory.
    let repeats =
        seen.times > 0 && (seen.strings || seen.times > MAX_TIMES || seen.largest > 10_000.0);
    // What is inside of a `range` runs for each of its numbers.
    let rounds = seen.largest.max(1.0).powi(seen.ranges);
    let floods = seen.ranges > 0 && (rounds > MAX_NUMBER || seen.enlarges || seen.reuses);
    read && !repeats && !floods && !(seen.counts && (seen.largest > MAX_NUMBER || seen.times > 0))
}

impl Filter {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// Returns the last character before this position that is no blank.
    fn before(&self, at: usize) -> Option<char> {
        self.chars[..at].iter().rev().find(|c| !c.is_whitespace()).copied()
    }

    /// Reads tokens to the end, or to the bracket that closes what is put into a text.
    fn tokens(&mut self, inner: bool, depth: usize) -> Option<()> {
        // It recurses for every filter inside a text.
        if depth > 8 {
            return None;
        }
        let mut brackets: Vec<char> = Vec::new();
        while let Some(c) = self.peek() {
            let from = self.at;
            self.at += 1;
            match c {
                ' ' | '\t' | '\n' => {}
                '"' => self.text(depth)?,
                '(' | '[' | '{' => brackets.push(c),
                ')' if inner && brackets.is_empty() => return Some(()),
                ')' | ']' | '}' => {
                    brackets.pop()?;
                }
                '0'..='9' => {
                    while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '.')
                        || (matches!(self.peek(), Some('+' | '-'))
                            && matches!(self.chars[self.at - 1], 'e' | 'E'))
                    {
                        self.at += 1;
                    }
                    let number = self.chars[from..self.at].iter().collect::<String>();
                    let number: f64 = number.parse().ok()?;
                    // An index makes a list that long.
                    if self.before(from) == Some('[') && number > MAX_NUMBER {
                        return None;
                    }
                    self.largest = self.largest.max(number);
                }
                // A field's name is no function.
                '.' if self.peek().is_some_and(|c| c.is_ascii_digit()) => {}
                '.' => {
                    self.name();
                }
                '$' => {
                    let name = self.name();
                    if name.is_empty() || name == "ENV" || name.starts_with("__prog") {
                        return None;
                    }
                }
                '@' | 'a'..='z' | 'A'..='Z' | '_' => {
                    self.name();
                    // `{name}` and `{name: 1}` name fields.
                    let field = matches!(self.before(from), Some('{' | ','));
                    if brackets.last() != Some(&'{') || !field {
                        let word: String = self.chars[from..self.at].iter().collect();
                        self.word_is_tame(&word)?;
                    }
                }
                '*' => self.times += 1,
                ',' | ':' | ';' | '|' | '?' | '=' | '<' | '>' | '!' | '+' | '-' | '/' | '%' => {}
                _ => return None,
            }
        }
        (!inner && brackets.is_empty()).then_some(())
    }

    fn name(&mut self) -> String {
        let from = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            self.at += 1;
        }
        self.chars[from..self.at].iter().collect()
    }

    fn word_is_tame(&mut self, word: &str) -> Option<()> {
        let next = self.chars[self.at..].iter().find(|c| !c.is_whitespace());
        match word {
            "def" => {
                self.reuses = true;
                while self.peek().is_some_and(char::is_whitespace) {
                    self.at += 1;
                }
                let name = self.name();
                // A name that is known already might call itself.
                if name.is_empty() || is_pure(&name) || self.own.contains(&name) {
                    return None;
                }
                self.definition(&name)
            }
            // With a filter as its argument it may never end.
            "recurse" if next == Some(&'(') => None,
            word if is_pure(word) || self.own.iter().any(|own| own == word) => {
                self.counts |= matches!(word, "range" | "setpath" | "pow");
                self.ranges = self.ranges.saturating_add(i32::from(word == "range"));
                self.enlarges |= ENLARGE.contains(&word);
                self.reuses |= matches!(word, "reduce" | "foreach");
                Some(())
            }
            _ => None,
        }
    }

    /// `name(a; $b): body;` The name counts from the end of the body on, so that it cannot call itself.
    fn definition(&mut self, name: &str) -> Option<()> {
        let colon = (self.at..self.chars.len()).find(|i| self.chars[*i] == ':')?;
        let head: String = self.chars[self.at..colon].iter().collect();
        let head = head.trim().trim_start_matches('(').trim_end_matches(')');
        for parameter in head.split(';').map(str::trim).filter(|name| !name.is_empty()) {
            let bare = parameter.trim_start_matches('$');
            ((bare.is_empty() || is_name(bare)) && !is_pure(bare)).then_some(())?;
            self.own.push(bare.to_owned());
        }
        // The body ends at the first `;` outside brackets and texts.
        let mut depth = 0usize;
        let mut quoted = false;
        let mut i = colon + 1;
        let end = loop {
            match self.chars.get(i)? {
                '\\' if quoted => i += 1,
                '"' => quoted = !quoted,
                '(' | '[' | '{' if !quoted => depth += 1,
                ')' | ']' | '}' if !quoted => depth = depth.checked_sub(1)?,
                ';' if !quoted && depth == 0 => break i,
                _ => {}
            }
            i += 1;
        };
        // Strings with filters in them, and nested definitions, are not understood, so the command
        // asks.
        let body: String = self.chars[colon + 1..end].iter().collect();
        if body.contains("\\(") || body.contains("def ") {
            return None;
        }
        // Only the body is read here, so its brackets have to close in it.
        let rest = self.chars.split_off(end);
        self.at = colon + 1;
        self.tokens(false, 1)?;
        self.chars.extend(rest);
        self.own.push(name.to_owned());
        self.at = end + 1;
        Some(())
    }

    /// Inside a text, after its opening quote.
    fn text(&mut self, depth: usize) -> Option<()> {
        self.strings = true;
        loop {
            let c = self.peek()?;
            self.at += 1;
            match c {
                '"' => return Some(()),
                '\\' => {
                    let escaped = self.peek()?;
                    self.at += 1;
                    if escaped == '(' {
                        self.tokens(true, depth + 1)?;
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
