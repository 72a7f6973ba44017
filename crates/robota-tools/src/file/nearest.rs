//! Finds the lines of a file that are most similar to a text that was not found, so that the model can
//! see the difference.

use std::collections::HashMap;
use std::fmt;

/// The most lines that are compared, in the file and in the searched text.
const LINES_SEARCHED: usize = 50_000;
const LINES_COMPARED: usize = 40;
/// The number of candidate positions that are compared in full.
const CANDIDATES: usize = 8;
/// The most lines, and characters per line, of the message.
const LINES_SHOWN: usize = 12;
const CHARS_SHOWN: usize = 200;
/// The minimum similarity of a candidate.
const MIN_SIMILARITY: f32 = 0.5;

/// Shows the lines of a file that are most similar to a text that does not occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearestMatch {
    /// The number of the first line, counted from 1.
    pub line: u64,
    /// The lines as the file has them, as many as the searched text has.
    pub lines: Vec<String>,
    /// Whether only white space differs.
    pub only_white_space: bool,
    /// Whether the searched text seems to contain line numbers.
    pub numbered: bool,
}

impl fmt::Display for NearestMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.numbered {
            f.write_str("It seems to contain the line numbers of Read; leave them out. ")?;
        }
        f.write_str("The closest lines")?;
        if self.only_white_space {
            f.write_str(" differ in white space only")?;
        }
        f.write_str(":")?;
        for (number, line) in (self.line..).zip(&self.lines).take(LINES_SHOWN) {
            let shown: String = line.chars().take(CHARS_SHOWN).collect();
            write!(f, "\n{number:>6}\t{shown}")?;
        }
        if self.lines.len() > LINES_SHOWN {
            write!(f, "\n[and {} more]", self.lines.len() - LINES_SHOWN)?;
        }
        Ok(())
    }
}

/// Returns the lines of `content` that are most similar to `wanted`; `None` if none is similar.
pub(super) fn nearest(content: &[u8], wanted: &str) -> Option<NearestMatch> {
    let content = String::from_utf8_lossy(content);
    let lines: Vec<&str> = content.lines().take(LINES_SEARCHED).collect();
    let numbered = wanted.lines().all(|line| without_number(line).is_some());
    let wanted: Vec<&str> = wanted
        .lines()
        .map(|line| if numbered { without_number(line).unwrap_or(line) } else { line })
        .take(LINES_COMPARED)
        .collect();

    // The longest line is the most specific one.
    let (anchor, text) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let pairs = Pairs::of(text);
    let mut places: Vec<(f32, usize)> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            let start = at.checked_sub(anchor)?;
            let similarity = if comparable(text, line) { pairs.similarity(line) } else { 0.0 };
            (similarity >= MIN_SIMILARITY).then_some((similarity, start))
        })
        .collect();
    places.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    places.truncate(CANDIDATES);

    let wanted_pairs: Vec<Pairs> = wanted.iter().map(|line| Pairs::of(line)).collect();
    let score = |start: usize| -> f32 {
        let here = lines.get(start..).unwrap_or_default();
        let sum: f32 =
            wanted_pairs.iter().zip(here).map(|(pairs, line)| pairs.similarity(line)).sum();
        sum / wanted.len() as f32
    };
    let (_, start) = places
        .into_iter()
        .map(|(_, start)| (score(start), start))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;

    let found: Vec<String> =
        lines.iter().skip(start).take(wanted.len()).map(|line| (*line).to_owned()).collect();
    let only_white_space = found.len() == wanted.len()
        && found.iter().zip(&wanted).all(|(a, b)| a.split_whitespace().eq(b.split_whitespace()));
    Some(NearestMatch { line: start as u64 + 1, lines: found, only_white_space, numbered })
}

/// Returns false for lines of very different length, which cannot be similar. This cheap check
/// comes first.
fn comparable(a: &str, b: &str) -> bool {
    // Factor 3 for the similarity, factor 4 because a character can have four bytes.
    let (a, b) = (a.trim().len(), b.trim().len());
    a.min(b).saturating_mul(12) >= a.max(b)
}

/// Removes the number and the tab that Read puts before a line; `None` if there are none.
fn without_number(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once('\t')?;
    let number = number.trim_start();
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

/// Returns the pairs of adjacent characters of a line, without white space. Lines that share many
/// pairs are similar, also after insertions and deletions.
struct Pairs {
    counts: HashMap<(char, char), u32>,
    total: u32,
}

impl Pairs {
    fn of(line: &str) -> Self {
        let mut counts = HashMap::new();
        let mut total = 0;
        for pair in pairs(line) {
            *counts.entry(pair).or_default() += 1;
            total += 1;
        }
        Self { counts, total }
    }

    /// Returns the similarity: 1 for the same pairs, 0 for no common pair.
    fn similarity(&self, line: &str) -> f32 {
        let mut left = self.counts.clone();
        let (mut shared, mut total) = (0, 0);
        for pair in pairs(line) {
            total += 1;
            if let Some(count) = left.get_mut(&pair)
                && *count > 0
            {
                *count -= 1;
                shared += 1;
            }
        }
        match self.total + total {
            0 => 1.0,
            all => 2.0 * shared as f32 / all as f32,
        }
    }
}

fn pairs(line: &str) -> impl Iterator<Item = (char, char)> + '_ {
    let letters = || line.chars().filter(|c| !c.is_whitespace()).take(CHARS_SHOWN);
    // A newline on each side, so that a single character has pairs too.
    std::iter::once('\n').chain(letters()).zip(letters().chain(std::iter::once('\n')))
}

#[cfg(test)]
mod tests;
