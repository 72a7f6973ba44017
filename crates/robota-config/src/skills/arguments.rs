//! The arguments of a skill, and their places in its text.

/// The most names of arguments that are used.
const MAX_NAMES: usize = 64;

/// The values that replace the placeholders of a text.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    /// The arguments as one text.
    all: &'a str,
    /// The arguments, split as a shell splits them.
    words: Vec<String>,
    /// The names that the header gives to the arguments, in order.
    names: &'a [String],
    /// Other names in `${...}` and their values.
    variables: Vec<(String, String)>,
    /// Whether a placeholder of an argument was replaced.
    used: bool,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(all: &'a str, names: &'a [String], variables: Vec<(String, String)>) -> Self {
        Self { all, words: split(all), names, variables, used: false }
    }

    /// Returns the arguments that the text did not use.
    pub(super) fn unused(&self) -> Option<&'a str> {
        (!self.used && !self.all.trim().is_empty()).then_some(self.all)
    }

    /// Returns the text with all placeholders replaced. Values are not searched for placeholders.
    pub(super) fn substitute(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, placeholder) = rest.split_at(at);
            let escaped = before.ends_with('\\');
            match self.value(placeholder) {
                // The backslash is removed only before a real placeholder: `\$5` in other texts
                // stays as it is.
                Some((length, _)) if escaped => {
                    out.push_str(&before[..before.len() - 1]);
                    out.push_str(&placeholder[..length]);
                    rest = &placeholder[length..];
                }
                Some((length, Value::Argument(value))) => {
                    out.push_str(before);
                    out.push_str(&value);
                    self.used = true;
                    rest = &placeholder[length..];
                }
                Some((length, Value::Variable(value))) => {
                    out.push_str(before);
                    out.push_str(&value);
                    rest = &placeholder[length..];
                }
                Some((_, Value::Missing)) | None => {
                    out.push_str(before);
                    out.push('$');
                    rest = &placeholder[1..];
                }
            }
        }
        out.push_str(rest);
        out
    }

    /// Returns the length and the value of the placeholder at the start of a text.
    fn value(&self, text: &str) -> Option<(usize, Value)> {
        let after = text.strip_prefix('$')?;
        if let Some(inner) = after.strip_prefix('{') {
            let mut known = self.variables.iter().filter_map(|(name, value)| {
                inner.strip_prefix(name.as_str())?.strip_prefix('}').map(|_| (name, value))
            });
            let (name, value) = known.next()?;
            return Some((name.len() + 3, Value::Variable(value.clone())));
        }
        if let Some(rest) = after.strip_prefix("ARGUMENTS") {
            let index = rest.strip_prefix('[').and_then(|rest| {
                // Nine digits fit into a number on every machine.
                let length = rest.bytes().take_while(u8::is_ascii_digit).take(9).count();
                let (digits, rest) = rest.split_at(length);
                rest.strip_prefix(']')?;
                Some((length + 2, digits.parse().ok()?))
            });
            let length = "$ARGUMENTS".len();
            return match index {
                Some((more, index)) => Some((length + more, self.word(index))),
                // `$ARGUMENTSX` is another name.
                None if continues(rest) => None,
                None => Some((length, Value::Argument(self.all.to_owned()))),
            };
        }
        let digits = after.bytes().take_while(u8::is_ascii_digit).take(9).count();
        if digits > 0 {
            let index = after[..digits].parse().ok().filter(|_| !continues(&after[digits..]))?;
            return Some((1 + digits, self.word(index)));
        }
        let named = self.names.iter().enumerate().take(MAX_NAMES).filter(|(_, name)| {
            after.strip_prefix(name.as_str()).is_some_and(|rest| !continues(rest))
        });
        // The longest: `$filename` must not be read as `$file` with `name` behind it.
        let (index, name) = named.max_by_key(|(_, name)| name.len())?;
        Some((1 + name.len(), self.word(index)))
    }

    fn word(&self, index: usize) -> Value {
        self.words.get(index).map_or(Value::Missing, |word| Value::Argument(word.clone()))
    }
}

enum Value {
    Argument(String),
    Variable(String),
    /// The index of an argument that was not given. The placeholder stays.
    Missing,
}

/// Returns whether a text starts with a character that can be part of a name.
fn continues(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
}

/// Splits a text as a shell does: at spaces outside quotes. If a quote does not end, only spaces
/// separate.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', None | Some('"')) => {
                word.get_or_insert_default().extend(letters.next());
            }
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return text.split_whitespace().map(str::to_owned).collect();
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests;
