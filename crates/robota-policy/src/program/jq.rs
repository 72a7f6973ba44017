//! The part of jq that computes from its input. A filter can reach other files, the environment
//! or the end of the memory only by a name, a variable or a large number, so that it is enough
//! to read all of its tokens.

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
struct Seen {
    own: Vec<String>,
    largest: f64,
    strings: bool,
    times: usize,
    counts: bool,
}

/// Whether the filter only computes from its input, and ends.
pub(super) fn is_harmless(filter: &str) -> bool {
    let mut seen = Seen::default();
    let chars: Vec<char> = filter.chars().collect();
    let read = tokens(&chars, &mut 0, &mut seen, false, 0).is_some();
    let repeats =
        seen.times > 0 && (seen.strings || seen.times > MAX_TIMES || seen.largest > 10_000.0);
    read && !repeats && !(seen.counts && (seen.largest > MAX_NUMBER || seen.times > 0))
}

/// Reads tokens to the end, or to the bracket that closes what is put into a text.
fn tokens(
    chars: &[char],
    at: &mut usize,
    seen: &mut Seen,
    inner: bool,
    depth: usize,
) -> Option<()> {
    if depth > 8 {
        return None;
    }
    let mut brackets: Vec<char> = Vec::new();
    while let Some(c) = chars.get(*at).copied() {
        let from = *at;
        *at += 1;
        match c {
            ' ' | '\t' | '\n' => {}
            '"' => text(chars, at, seen, depth)?,
            '(' | '[' | '{' => brackets.push(c),
            ')' if inner && brackets.is_empty() => return Some(()),
            ')' | ']' | '}' => {
                brackets.pop()?;
            }
            '0'..='9' => {
                let part = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
                while chars.get(*at).is_some_and(part)
                    || (matches!(chars.get(*at), Some('+' | '-'))
                        && matches!(chars[*at - 1], 'e' | 'E'))
                {
                    *at += 1;
                }
                let number: f64 = chars[from..*at].iter().collect::<String>().parse().ok()?;
                let before = chars[..from].iter().rev().find(|c| !c.is_whitespace());
                // An index makes a list that long.
                if before == Some(&'[') && number > MAX_NUMBER {
                    return None;
                }
                seen.largest = seen.largest.max(number);
            }
            '.' => {
                // A field's name is no function.
                if chars.get(*at).is_some_and(|c| c.is_ascii_alphabetic() || *c == '_') {
                    name(chars, at);
                }
            }
            '$' => {
                let name = name(chars, at);
                if name.is_empty() || name == "ENV" || name.starts_with("__prog") {
                    return None;
                }
            }
            '@' | 'a'..='z' | 'A'..='Z' | '_' => {
                name(chars, at);
                let word: String = chars[from..*at].iter().collect();
                // `{name}` and `{name: 1}` name fields.
                let before = chars[..from].iter().rev().find(|c| !c.is_whitespace());
                if brackets.last() == Some(&'{') && matches!(before, Some('{' | ',')) {
                    continue;
                }
                let next = chars[*at..].iter().find(|c| !c.is_whitespace());
                word_is_tame(&word, next.copied(), chars, at, seen)?;
            }
            '*' => seen.times += 1,
            ',' | ':' | ';' | '|' | '?' | '=' | '<' | '>' | '!' | '+' | '-' | '/' | '%' => {}
            _ => return None,
        }
    }
    (!inner && brackets.is_empty()).then_some(())
}

fn name(chars: &[char], at: &mut usize) -> String {
    let from = *at;
    while chars.get(*at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_') {
        *at += 1;
    }
    chars[from..*at].iter().collect()
}

fn word_is_tame(
    word: &str,
    next: Option<char>,
    chars: &[char],
    at: &mut usize,
    seen: &mut Seen,
) -> Option<()> {
    match word {
        "def" => {
            while chars.get(*at).is_some_and(|c| c.is_whitespace()) {
                *at += 1;
            }
            let name = name(chars, at);
            // A name that is known already might call itself.
            if name.is_empty() || is_pure(&name) || seen.own.contains(&name) {
                return None;
            }
            definition(&name, chars, at, seen)
        }
        // With a filter it may go on for ever.
        "recurse" if next == Some('(') => None,
        "range" | "setpath" | "pow" | "exp" | "limit" | "splits" => {
            seen.counts |= matches!(word, "range" | "setpath" | "pow");
            Some(())
        }
        word if is_pure(word) || seen.own.iter().any(|own| own == word) => Some(()),
        _ => None,
    }
}

/// `name(a; $b): body;` The name counts from the end of the body on, so that it cannot call itself.
fn definition(name: &str, chars: &[char], at: &mut usize, seen: &mut Seen) -> Option<()> {
    let colon = (*at..chars.len()).find(|i| chars[*i] == ':')?;
    let head: String = chars[*at..colon].iter().collect();
    let head = head.trim().trim_start_matches('(').trim_end_matches(')');
    for parameter in head.split(';').map(str::trim).filter(|name| !name.is_empty()) {
        let bare = parameter.trim_start_matches('$');
        let plain = bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (plain && !is_pure(bare)).then_some(())?;
        seen.own.push(bare.to_owned());
    }
    // The body ends at the first `;` outside brackets and texts.
    let mut depth = 0usize;
    let mut quoted = false;
    let mut i = colon + 1;
    let end = loop {
        match chars.get(i)? {
            '\\' if quoted => i += 1,
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth = depth.checked_sub(1)?,
            ';' if !quoted && depth == 0 => break i,
            _ => {}
        }
        i += 1;
    };
    let body = &chars[colon + 1..end];
    // Texts with filters in them, and definitions in definitions, are left to people.
    let text: String = body.iter().collect();
    if text.contains("\\(") || text.contains("def ") {
        return None;
    }
    tokens(body, &mut 0, seen, false, 1)?;
    seen.own.push(name.to_owned());
    *at = end + 1;
    Some(())
}

/// Inside a text, after its opening quote.
fn text(chars: &[char], at: &mut usize, seen: &mut Seen, depth: usize) -> Option<()> {
    seen.strings = true;
    loop {
        let c = *chars.get(*at)?;
        *at += 1;
        match c {
            '"' => return Some(()),
            '\\' => {
                let escaped = *chars.get(*at)?;
                *at += 1;
                if escaped == '(' {
                    tokens(chars, at, seen, true, depth + 1)?;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
