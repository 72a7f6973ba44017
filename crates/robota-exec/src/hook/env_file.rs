//! The file in which a hook sets variables for later commands (`CLAUDE_ENV_FILE`).
//!
//! Hooks append lines such as `export NAME=value`. The file is read once, when the hook has ended: it
//! is never run, so that only assignments have an effect, and a later change of the file has none.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::{Arc, Mutex, PoisonError};

use crate::env::Environment;

/// The maximum size of the file.
pub(super) const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Variables that hooks set for the commands of a session. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SessionVariables(Arc<Mutex<BTreeMap<String, String>>>);

impl SessionVariables {
    /// Returns the environment with these variables.
    #[must_use]
    pub fn apply(&self, env: Environment) -> Environment {
        let variables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        variables.iter().fold(env, |env, (name, value)| env.with(name, value))
    }

    /// Returns variables of their own, with the same values.
    #[must_use]
    pub fn copied(&self) -> Self {
        let variables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Self(Arc::new(Mutex::new(variables.clone())))
    }

    /// Reads the assignments in a file's text. `env` has the values of the variables that they refer
    /// to. Returns the numbers of the lines that are not assignments; these have no effect.
    pub(super) fn read(&self, text: &str, env: &Environment) -> Vec<usize> {
        let mut reader =
            Reader { chars: text.chars().peekable(), line: 1, env: self.apply(env.clone()) };
        let mut ignored = Vec::new();
        let mut variables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while reader.chars.peek().is_some() {
            let line = reader.line;
            match reader.command() {
                Some(assigned) => variables.extend(assigned),
                None => {
                    ignored.push(line);
                    while reader.next().is_some_and(|c| c != '\n') {}
                }
            }
        }
        ignored
    }
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
    env: Environment,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    /// Reads one line, or several if a quote spans them; `None` if it is anything else than
    /// assignments.
    fn command(&mut self) -> Option<Vec<(String, String)>> {
        let mut assigned = Vec::new();
        let mut first = true;
        loop {
            while let Some(c) = self.chars.next_if(|c| matches!(c, ' ' | '\t' | '\r' | ';')) {
                first |= c == ';';
            }
            match self.chars.peek() {
                None => return Some(assigned),
                Some('\n') => {
                    self.next();
                    return Some(assigned);
                }
                Some('#') => {
                    while self.chars.next_if(|c| *c != '\n').is_some() {}
                    continue;
                }
                Some(_) => {}
            }
            let name = self.name();
            if self.chars.next_if_eq(&'=').is_some() {
                let value = self.value()?;
                // Later assignments may refer to this one, as in a script.
                self.env.set(&name, &value);
                assigned.push((name, value));
            } else {
                let export = name == "export" || (name == "declare" && self.option_x());
                let end = self.chars.peek().is_none_or(|c| matches!(c, ' ' | '\t'));
                // `export` counts only where bash would take it as a command: at the start of a
                // line or after `;`. Anything else would have to be run, and the file is only read.
                if !(first && export && end) {
                    return None;
                }
            }
            first = false;
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
        }
        name
    }

    /// Reads the ` -x` of `declare -x`, the form in which `export -p` prints.
    fn option_x(&mut self) -> bool {
        [' ', '-', 'x'].into_iter().all(|c| self.chars.next_if_eq(&c).is_some())
    }

    /// Reads a value; `None` if it would have to be run, or a quote is not closed.
    fn value(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut quote = None;
        loop {
            let c = match (quote, self.chars.peek()) {
                (None, None | Some(' ' | '\t' | '\r' | '\n' | ';')) => return Some(value),
                (Some(_), None) => return None,
                (_, Some(c)) => *c,
            };
            self.next();
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if c == open => quote = None,
                (Some('\''), c) => value.push(c),
                // These run something or redirect in bash.
                (_, '`') | (None, '&' | '|' | '<' | '>' | '(' | ')') => return None,
                (_, '$') => value.push_str(&self.variable()?),
                (None, '\\') => value.push(self.next()?),
                (Some(_), '\\') => match self.next()? {
                    c @ ('"' | '\\' | '$' | '`') => value.push(c),
                    c => value.extend(['\\', c]),
                },
                (_, c) => value.push(c),
            }
        }
    }

    /// Reads a variable behind a `$`: `NAME` or `{NAME}`.
    fn variable(&mut self) -> Option<String> {
        let braced = self.chars.next_if_eq(&'{').is_some();
        let name = self.name();
        if name.is_empty() || (braced && self.chars.next_if_eq(&'}').is_none()) {
            return None;
        }
        Some(
            self.env
                .get(&name)
                .map(|value| value.to_string_lossy().into_owned())
                .unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests;
