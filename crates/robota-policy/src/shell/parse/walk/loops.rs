//! Walks loops, cases and comparisons.

use super::Walker;
use crate::program::read_only::indexes;
use crate::shell::bomb;
use crate::shell::parse::{Assign, Part};
use crate::shell::syntax::{Sequence, Span, WordSpan};
use crate::shell::vars::Value;
use crate::shell::word::{Word, is_name};

const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl<'t> Walker<'t, '_> {
    pub(super) fn for_loop(
        &mut self,
        name: Span,
        values: Option<&'t [WordSpan]>,
        select: bool,
        body: &'t Sequence,
    ) {
        let (rounds, bound) = (self.rounds, self.bound.clone());
        // `select` asks again until its input ends, so it may never end.
        self.script.endless |= select;
        let name = self.raw(name).to_owned();
        self.push(Part {
            assigns: vec![Assign { name: name.clone(), value: None }],
            ..Part::default()
        });
        let from = self.script.parts.len();
        let values: Vec<Word> =
            values.unwrap_or_default().iter().map(|value| self.word(value)).collect();
        let listed = self.script.parts[from..].iter().map(|part| lines(&part.words));
        let listed = listed.fold(0_u64, u64::saturating_add);
        let times = values.iter().fold(listed, |sum, word| sum.saturating_add(bomb::count(word)));
        self.rounds = self.rounds.saturating_mul(times.max(1));
        if self.rounds > bomb::MAX_ROUNDS {
            self.script.doubt("its loops run too often", false);
        }
        if values.iter().any(indexes) {
            self.script.doubt("an array index can run commands", false);
        }
        let known = self.script.vars.entry(name.clone()).or_default();
        if values.is_empty() {
            known.push(Value::Unknown);
        }
        known.extend(values.into_iter().map(Value::Each));
        self.bound = self.bound.with(name);
        self.sequence(body);
        self.rounds = rounds;
        self.bound = bound;
    }

    pub(super) fn case(&mut self, value: &'t WordSpan, items: &'t [(Vec<WordSpan>, Sequence)]) {
        self.word(value);
        for (patterns, body) in items {
            for pattern in patterns {
                self.inner(&pattern.inner);
            }
            self.sequence(body);
        }
    }

    pub(super) fn compare(&mut self, words: &'t [WordSpan]) {
        let index = self.push(Part { is_test: true, ..Part::default() });
        let outer = std::mem::take(&mut self.reads_secret);
        let words: Vec<Word> = words.iter().map(|word| self.word(word)).collect();
        self.tested(&words, true);
        self.script.parts[index].words = words;
        self.script.parts[index].reads_secret = std::mem::replace(&mut self.reads_secret, outer);
    }

    pub(super) fn single_bracket(&mut self, part: &mut Part) {
        let program = part.program().unwrap_or_default();
        let closed = part.words.last().and_then(Word::value).as_deref() == Some("]");
        if program == "test" || (program == "[" && closed) {
            self.tested(&part.words, false);
            part.is_test = true;
        }
    }

    /// Walks a test: a comparison of numbers evaluates its sides, and `-v` an index.
    fn tested(&mut self, words: &[Word], doubled: bool) {
        let is = |word: &Word, known: &[&str]| {
            word.value().is_some_and(|text| known.contains(&text.as_str()))
        };
        let number = |w: &Word| w.literal().is_some_and(|l| l.parse::<i64>().is_ok());
        let plain = |w: &Word| w.literal().is_some_and(|text| text.is_empty() || is_name(&text));
        let compares = doubled && words.iter().any(|word| is(word, NUMERIC));
        let all_numbers = words.iter().all(|w| {
            number(w) || is(w, NUMERIC) || is(w, &["[[", "]]", "&&", "||", "!", "(", ")"])
        });
        let looks_up = words
            .iter()
            .enumerate()
            .any(|(at, w)| is(w, &["-v", "-R"]) && !words.get(at + 1).is_some_and(plain));
        if words.iter().any(|word| bomb::count(word) > bomb::MAX_WORDS) {
            self.script.doubt("a brace list expands to too many words", false);
        }
        if (compares && !all_numbers) || looks_up || words.iter().any(indexes) {
            self.computes();
        }
    }
}

/// Returns how many words a command prints, as far as is known: `seq` gives the number, the others
/// list files.
fn lines(words: &[Word]) -> u64 {
    const FILES: u64 = 1_000;
    if words.first().and_then(Word::value).as_deref() != Some("seq") {
        return FILES;
    }
    let numbers: Option<Vec<i64>> =
        words[1..].iter().map(|word| word.value()?.parse().ok()).collect();
    match numbers.as_deref() {
        Some([to]) => to.unsigned_abs(),
        Some([from, to]) => from.abs_diff(*to).saturating_add(1),
        _ => u64::MAX,
    }
}
