//! Detects commands that only read, but fill the memory or never end.

use super::word::{Piece, Word};

/// A word that expands to more words than this is not analysed any further.
pub(crate) const MAX_WORDS: u64 = 10_000;
/// A loop's body that runs more often than this is not read-only.
pub(crate) const MAX_ROUNDS: u64 = 10_000;
const MAX_WAIT: f64 = 120.0;
const MAX_COUNT: f64 = 1_000_000.0;
const MAX_WIDTH: u64 = 4_096;

/// Returns how many words the braces of this word make of it, at most. Never too few.
pub(crate) fn count(word: &Word) -> u64 {
    let live: String = word
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Text { text, quoted: false } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !live.contains('{') {
        return 1;
    }
    // Adjacent lists multiply, nested ones add. Multiplying all of them is an upper bound.
    let mut total = 1_u64;
    for open in live.split('{').skip(1) {
        let body = open.split('}').next().unwrap_or(open);
        let list = body.matches(',').count() as u64 + 1;
        let times = match body.split_once("..") {
            Some((from, rest)) => {
                let to = rest.split("..").next().unwrap_or(rest);
                match (from.trim().parse::<i128>(), to.trim().parse::<i128>()) {
                    // Padding makes long words out of few.
                    _ if from.len() > 12 || to.len() > 12 => u64::MAX,
                    (Ok(from), Ok(to)) => u64::try_from(from.abs_diff(to)).unwrap_or(u64::MAX),
                    // Of letters there are at most as many as ASCII has.
                    _ if from.chars().count() == 1 && to.chars().count() == 1 => 128,
                    _ => u64::MAX,
                }
                .saturating_add(1)
            }
            None => list,
        };
        total = total.saturating_mul(times.max(list));
    }
    total
}

pub(crate) fn short_sleep(args: &[Word]) -> bool {
    let mut total = 0.0;
    for word in args {
        let Some(text) = word.literal() else { return false };
        let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
            Some(number) => (number, &text[number.len()..]),
            None => (text.as_str(), "s"),
        };
        let factor = match unit {
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => 1.0,
        };
        // `parse` would also take `inf`, `nan` and exponents.
        let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
        let Some(seconds) = number.parse::<f64>().ok().filter(|_| plain) else { return false };
        total += seconds * factor;
    }
    total <= MAX_WAIT
}

/// Returns whether `seq` with these operands counts no further than a person would read.
pub(crate) fn short_count(operands: &[Word]) -> bool {
    let numbers: Option<Vec<f64>> =
        operands.iter().map(|word| word.literal()?.parse().ok()).collect();
    let Some(numbers) = numbers else { return false };
    // `seq inf` never ends.
    if numbers.iter().any(|n| !n.is_finite()) {
        return false;
    }
    let steps = match numbers.as_slice() {
        [last] => last.abs(),
        [first, last] => (last - first).abs(),
        [first, step, last] if *step != 0.0 => ((last - first) / step).abs(),
        _ => return false,
    };
    steps <= MAX_COUNT
}

pub(crate) fn narrow(format: &str) -> bool {
    let digits = format.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    let mut wide = digits.map(|run| run.parse::<u64>().unwrap_or(u64::MAX));
    wide.all(|width| width <= MAX_WIDTH)
}

#[cfg(test)]
mod tests;
