//! Wildcards. Two kinds: a flat one for command text, host labels and names ([`Wild`]), and a
//! gitignore-like one for paths ([`PathGlob`]). Both are matched in polynomial time for every
//! pattern, because rules come from files of a checkout, too.

use std::borrow::Cow;

/// One position of text to be matched: a known character, or an unknown stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ch {
    Is(char),
    /// Any run of characters, also none: a variable, a substitution, a glob.
    Any,
}

/// A pattern in which `*` matches any run of characters and `\*` a star.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wild {
    toks: Vec<SegTok>,
    /// The text before the first wildcard. Most texts differ from it, which is a cheap first check.
    prefix: String,
}

impl Wild {
    pub(crate) fn new(pattern: &str) -> Self {
        let mut toks = Vec::with_capacity(pattern.len());
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let tok = match c {
                '*' => SegTok::Star,
                '\\' if matches!(chars.peek(), Some('*' | '\\')) => {
                    SegTok::Is(chars.next().unwrap_or('\\'))
                }
                other => SegTok::Is(other),
            };
            if tok != SegTok::Star || toks.last() != Some(&SegTok::Star) {
                toks.push(tok);
            }
        }
        let prefix = toks.iter().map_while(SegTok::plain).collect();
        Self { toks, prefix }
    }

    pub(crate) fn has_star(&self) -> bool {
        self.toks.contains(&SegTok::Star)
    }

    pub(crate) fn ends_open(&self) -> bool {
        self.toks.last() == Some(&SegTok::Star)
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        if !self.has_star() {
            return text == self.prefix;
        }
        let Some(rest) = text.strip_prefix(self.prefix.as_str()) else { return false };
        let toks = &self.toks[self.prefix.chars().count()..];
        if toks.len() == 1 {
            return true;
        }
        seg_match(toks, rest, false)
    }

    /// Returns whether the pattern *could* match text of which parts are unknown: whether any
    /// filling of the unknown stretches is matched.
    pub(crate) fn may_match(&self, text: &[Ch]) -> bool {
        let cols = text.len() + 1;
        // reach[t]: the pattern so far and the text's first t positions agree.
        let mut reach = vec![false; cols];
        reach[0] = true;
        for p in 0..=self.toks.len() {
            let tok = self.toks.get(p);
            let mut next = vec![false; cols];
            for t in 0..cols {
                if !reach[t] {
                    continue;
                }
                let ch = text.get(t);
                if tok == Some(&SegTok::Star) || ch == Some(&Ch::Any) {
                    if t + 1 < cols {
                        reach[t + 1] = true;
                    }
                    next[t] = true;
                }
                if let (Some(SegTok::Is(a)), Some(Ch::Is(b))) = (tok, ch)
                    && a == b
                {
                    next[t + 1] = true;
                }
            }
            if p == self.toks.len() {
                return reach[cols - 1];
            }
            reach = next;
        }
        false
    }
}

/// Folds the case of a name, as file systems without case do.
pub(crate) fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        return name.into();
    }
    name.chars().flat_map(char::to_lowercase).collect::<String>().into()
}

fn same(a: char, b: char, fold: bool) -> bool {
    a == b || (fold && a.to_lowercase().eq(b.to_lowercase()))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SegTok {
    Is(char),
    One,
    Star,
    Set { not: bool, ranges: Vec<(char, char)> },
}

impl SegTok {
    fn plain(&self) -> Option<char> {
        match self {
            Self::Is(c) => Some(*c),
            Self::One | Self::Star | Self::Set { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seg {
    /// `**`: any number of folders, also none.
    Deep,
    Name(Vec<SegTok>),
}

/// A pattern over absolute paths, split at `/`. `*` and `?` stay inside one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathGlob {
    segs: Vec<Seg>,
    /// A name that every matched path contains. Most paths do not have it, which is a cheap first
    /// check.
    needle: String,
}

impl PathGlob {
    /// `base` is literal; `pattern` has wildcards. An error says what is wrong.
    pub(crate) fn new(base: &str, pattern: &str) -> Result<Self, String> {
        let mut segs = literal(base);
        for name in pattern.split('/') {
            match name {
                "" | "." => {}
                "**" => {
                    if segs.last() != Some(&Seg::Deep) {
                        segs.push(Seg::Deep);
                    }
                }
                ".." => match segs.last() {
                    Some(Seg::Name(_)) => {
                        segs.pop();
                    }
                    None => {}
                    Some(Seg::Deep) => return Err("`..` after `**` means nothing".into()),
                },
                other => segs.push(Seg::Name(segment(other)?)),
            }
        }
        Ok(Self::of(segs))
    }

    fn of(segs: Vec<Seg>) -> Self {
        let needle = segs.iter().rev().find_map(plain).unwrap_or_default();
        Self { segs, needle }
    }

    /// Returns a name that every matched path has among its folders and files; empty when there is
    /// none.
    pub(crate) fn needle(&self) -> &str {
        &self.needle
    }

    pub(crate) fn literal_prefix(&self) -> String {
        let mut path = String::new();
        for seg in &self.segs {
            let Some(name) = plain(seg) else { break };
            path.push('/');
            path.push_str(&name);
        }
        path
    }

    /// Returns the pattern with its literal prefix replaced (by where a link in it leads).
    pub(crate) fn rebased(&self, base: &str) -> Self {
        let mut segs = literal(base);
        segs.extend(self.segs.iter().skip_while(|seg| plain(seg).is_some()).cloned());
        Self::of(segs)
    }

    pub(crate) fn covers(&self, path: &str, fold: bool) -> bool {
        // Not with folded case: the needle is compared as it is written.
        if !fold && !path.contains(&self.needle) {
            return false;
        }
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        // A trailing `**` requires something below the folder; a folder's name without it matches
        // everything below.
        self.run(&names, fold, |p, n, _| p == self.segs.len() && n <= names.len())
    }

    pub(crate) fn may_match_below(&self, folder: &str, fold: bool) -> bool {
        let names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
        self.run(&names, fold, |_, n, total| n == total)
    }

    /// Tries all ways to match the pattern with the names. Returns true if `done(p, n, names)` is
    /// true for one of them, with `p` segments and `n` names matched.
    fn run(&self, names: &[&str], fold: bool, done: impl Fn(usize, usize, usize) -> bool) -> bool {
        let cols = names.len() + 1;
        let mut reach = vec![false; cols];
        reach[0] = true;
        for p in 0..=self.segs.len() {
            if (0..cols).any(|n| reach[n] && done(p, n, names.len())) {
                return true;
            }
            let Some(seg) = self.segs.get(p) else { break };
            let mut next = vec![false; cols];
            match seg {
                Seg::Deep => {
                    let last = p + 1 == self.segs.len();
                    let mut seen = false;
                    for n in 0..cols {
                        // `src/**` matches what is in src, not src itself.
                        next[n] = if last { seen } else { seen || reach[n] };
                        seen = seen || reach[n];
                    }
                }
                Seg::Name(toks) => {
                    for n in 1..cols {
                        next[n] = reach[n - 1] && seg_match(toks, names[n - 1], fold);
                    }
                }
            }
            reach = next;
        }
        false
    }
}

fn literal(path: &str) -> Vec<Seg> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| Seg::Name(name.chars().map(SegTok::Is).collect())).collect()
}

fn plain(seg: &Seg) -> Option<String> {
    match seg {
        Seg::Deep => None,
        Seg::Name(toks) => toks.iter().map(SegTok::plain).collect(),
    }
}

fn segment(text: &str) -> Result<Vec<SegTok>, String> {
    let mut toks = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    let mut i = 0;
    while i < chars.len() {
        match chars[i] {
            '*' => {
                if toks.last() != Some(&SegTok::Star) {
                    toks.push(SegTok::Star);
                }
            }
            '?' => toks.push(SegTok::One),
            '\\' => {
                i += 1;
                let c = chars.get(i).ok_or("a backslash at the end escapes nothing")?;
                toks.push(SegTok::Is(*c));
            }
            '[' => {
                let (set, end) = set(&chars, i)?;
                toks.push(set);
                i = end;
            }
            c => toks.push(SegTok::Is(c)),
        }
        i += 1;
    }
    Ok(toks)
}

/// `[a-z]`, `[!x]`, `[^x]`; returns the set and the index of its `]`.
fn set(chars: &[char], open: usize) -> Result<(SegTok, usize), String> {
    let mut i = open + 1;
    let not = matches!(chars.get(i), Some('!' | '^'));
    if not {
        i += 1;
    }
    let first = i;
    let mut ranges = Vec::new();
    loop {
        let c = *chars.get(i).ok_or("`[` is never closed by `]`")?;
        if c == ']' && i > first {
            return Ok((SegTok::Set { not, ranges }, i));
        }
        match (chars.get(i + 1), chars.get(i + 2)) {
            (Some('-'), Some(end)) if *end != ']' => {
                ranges.push((c, *end));
                i += 3;
            }
            _ => {
                ranges.push((c, c));
                i += 1;
            }
        }
    }
}

fn seg_match(toks: &[SegTok], name: &str, fold: bool) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Only the last star is tried again: what an earlier one could match, the last one can match as
    // well. So the time is not exponential.
    let mut retry: Option<(usize, usize)> = None;
    while t < name.len() {
        let hit = match toks.get(p) {
            Some(SegTok::Star) => {
                p += 1;
                retry = Some((p, t));
                continue;
            }
            Some(SegTok::Is(c)) => same(*c, name[t], fold),
            Some(SegTok::One) => true,
            Some(SegTok::Set { not, ranges }) => {
                let c = name[t];
                let inside = |c: char| ranges.iter().any(|(a, b)| (*a..=*b).contains(&c));
                let hit = inside(c)
                    || (fold && (c.to_lowercase().any(inside) || c.to_uppercase().any(inside)));
                hit != *not
            }
            None => false,
        };
        if hit {
            p += 1;
            t += 1;
        } else if let Some((star, from)) = retry {
            p = star;
            t = from + 1;
            retry = Some((star, from + 1));
        } else {
            return false;
        }
    }
    toks[p..].iter().all(|tok| *tok == SegTok::Star)
}

/// Matches one name of a path with one segment of a pattern, as a shell's glob does.
pub(crate) fn name_matches(pattern: &str, name: &str) -> bool {
    segment(pattern).is_ok_and(|toks| seg_match(&toks, name, false))
}

#[cfg(test)]
mod tests;
