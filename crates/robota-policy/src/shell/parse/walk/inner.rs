//! Walks what the shell evaluates inside words: substitutions, expansions and computations.

use robota_core::redact::is_secret_variable;

use super::Walker;
use crate::program::{Program, Trait};
use crate::shell::parse::Part;
use crate::shell::scan;
use crate::shell::syntax::{Arithmetic, Inner, Sequence, WordSpan};
use crate::shell::vars::Value;
use crate::shell::word::{Piece, Word};

/// Why a computation is not free: a variable's value is evaluated, and an index in it can be a
/// command.
const COMPUTES: &str = "it computes, which can run commands";

impl<'t> Walker<'t, '_> {
    pub(super) fn word(&mut self, word: &'t WordSpan) -> Word {
        self.inner(&word.inner);
        self.parsed(self.raw(word.span))
    }

    /// Parses a word, and records which variables it reads.
    pub(super) fn parsed(&mut self, text: &str) -> Word {
        let word = Word::parse(text);
        for piece in &word.pieces {
            if let Piece::Var { name, .. } = piece {
                self.reads(name);
            }
        }
        word
    }

    /// Notes a variable with the name of a secret that the script does not set itself: commands get
    /// such variables where a setting passes them.
    pub(super) fn reads(&mut self, name: &str) {
        // Names in small letters are those of scripts.
        let is_set = self.bound.contains(name)
            || (name.contains(|c: char| c.is_ascii_lowercase())
                && self.script.vars.contains_key(name));
        self.reads_secret |= is_secret_variable(name) && !is_set;
    }

    pub(super) fn inner(&mut self, inner: &'t [Inner]) {
        for inner in inner {
            match inner {
                Inner::Command(body) => self.substitution("$( )", body),
                Inner::Process(body) => self.substitution("<( )", body),
                Inner::Arithmetic(arithmetic) => self.computed(arithmetic),
                Inner::Parameter { body, inner } => {
                    self.inner(inner);
                    self.parameter(self.raw(*body));
                }
                Inner::Escaped(span) => {
                    self.script.doubt("it contains a command substitution with escapes", false);
                    let text = self.raw(*span).replace('\\', "");
                    self.script.substitutions.push(text);
                }
            }
        }
    }

    fn substitution(&mut self, label: &'static str, body: &'t Sequence) {
        let outer = std::mem::replace(&mut self.substituted, true);
        self.within.push(label);
        self.scoped(|this| this.sequence(body));
        self.within.pop();
        self.substituted = outer;
    }

    fn parameter(&mut self, text: &str) {
        // `${#x}` is a length.
        if let Some(of) = text.strip_prefix('#')
            && of.chars().all(|c| c.is_ascii_alphanumeric() || "_@*[]".contains(c))
        {
            return;
        }
        // `${!x}` reads the variable whose name is in `x`.
        if text.starts_with('!') {
            return self.computes();
        }
        let len = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let special = usize::from(len == 0 && text.starts_with(['@', '*', '#', '?', '-', '$']));
        let (name, mut rest) = text.split_at(len + special);
        // `${x:+y}` shows `y`.
        if !rest.trim_start_matches(':').starts_with('+') {
            self.reads(name);
        }
        if let Some(indexed) = rest.strip_prefix('[') {
            let Some((index, after)) = indexed.split_once(']') else { return self.computes() };
            if !matches!(index, "@" | "*") {
                self.names(index);
            }
            rest = after;
        }
        let harmless = match rest.as_bytes() {
            [] | [b'-' | b'?' | b'+' | b'#' | b'%' | b'/' | b'^' | b',', ..] => true,
            [b':', b'-' | b'?' | b'+', ..] => true,
            // `${x@P}` expands the value as a prompt, which runs the commands in it.
            [b'@', how @ ..] => !how.contains(&b'P'),
            // A default that is assigned as well.
            [b'=', ..] | [b':', b'=', ..] => {
                self.script.vars.entry(name.to_owned()).or_default().push(Value::Unknown);
                !crate::shell::vars::is_dangerous(name)
            }
            [b':', offset @ ..] => {
                self.names(&String::from_utf8_lossy(offset));
                true
            }
            _ => false,
        };
        if !harmless {
            self.computes();
        }
    }

    pub(super) fn computes(&mut self) {
        self.script.doubt(COMPUTES, false);
        self.script.computes = true;
    }

    pub(super) fn computed(&mut self, arithmetic: &'t Arithmetic) {
        self.inner(&arithmetic.inner);
        // What a command prints is evaluated too.
        if arithmetic.inner.iter().any(|inner| !matches!(inner, Inner::Arithmetic(_))) {
            return self.computes();
        }
        let text = self.raw(arithmetic.body);
        self.names(text);
        if text.contains('=') || text.contains("++") || text.contains("--") {
            for name in names_in(text) {
                let number = Word::of("…", vec![Piece::Number]);
                self.script.vars.entry(name).or_default().push(Value::Set(number));
            }
        }
    }

    /// Text that is evaluated as a number: its names are checked when all values are known.
    fn names(&mut self, text: &str) {
        let plain = |c: char| {
            c.is_ascii_alphanumeric()
                || c.is_ascii_whitespace()
                || "_+-*/%()<>=!&|^~?:,#${}".contains(c)
        };
        if !text.chars().all(plain) {
            return self.computes();
        }
        self.numbers.extend(names_in(text));
    }

    /// Checks at the end: computations with other values than numbers, aliases, and text that may
    /// be run.
    pub(super) fn settle(&mut self) {
        for (name, target) in std::mem::take(&mut self.aliases) {
            // The name of the target is no value of either.
            let is_value = |value: &Value| !matches!(value, Value::Set(word) if word.value().as_ref() == Some(&target));
            let values = |name| self.script.vars.get(name).cloned().unwrap_or_default();
            let both = values(&name).into_iter().chain(values(&target));
            let both: Vec<Value> = both.filter(is_value).collect();
            let whole = Piece::Var { name: target.clone(), quoted: false };
            let mut aliased = both.clone();
            aliased.push(Value::Set(Word::of(format!("${target}"), vec![whole])));
            self.script.vars.insert(name, aliased);
            if !both.is_empty() {
                self.script.vars.insert(target, both);
            }
        }
        let numeric = |value: &Value| match value {
            Value::Unknown => false,
            Value::Set(word) => is_number(word),
            Value::Each(word) => is_number(word) || is_range(word),
        };
        let vars = &self.script.vars;
        let known = |name| vars.get(name).is_some_and(|values| values.iter().all(numeric));
        if !self.numbers.iter().all(known) {
            self.computes();
        }
        if !self.script.computes {
            return;
        }
        // A value that is evaluated can contain a command, so all texts are searched for some.
        let mut texts = Vec::new();
        for part in &self.script.parts {
            let values = part.assigns.iter().filter_map(|assign| assign.value.as_ref());
            texts.extend(part.words.iter().chain(values).filter_map(Word::value));
        }
        for value in self.script.vars.values().flatten() {
            if let Value::Each(word) = value {
                texts.extend(word.value());
            }
        }
        for text in texts {
            self.script.substitutions.extend(scan::substitutions(&text));
        }
    }

    /// Builtins that take a word for the name of a variable, and so evaluate an index in it.
    pub(super) fn indexes(&mut self, part: &Part) {
        let Some(program) = part.words.first().and_then(Word::value) else { return };
        let names = Program::find(&program).is_some_and(|known| known.is(Trait::Indexes));
        let runs = |text: String| text.contains('[') && (text.contains("$(") || text.contains('`'));
        if program == "let" || (names && part.words.iter().filter_map(Word::value).any(runs)) {
            self.computes();
        }
    }
}

fn names_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .map(str::to_owned)
        .collect()
}

fn is_number(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Number])
        || word.literal().is_some_and(|text| text.parse::<i64>().is_ok())
}

/// Returns whether a word is a range such as `{1..9}`.
fn is_range(word: &Word) -> bool {
    let Some(text) = word.value() else { return false };
    let body = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    body.is_some_and(|body| body.split("..").all(|number| number.parse::<i64>().is_ok()))
}
