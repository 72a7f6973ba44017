//! Paths of keys: `permissions.allow`, `env."MY.VAR"`.

use std::fmt;

use serde::{Serialize, Serializer};

/// Names a key by its path, such as `permissions.allow`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct KeyPath(pub(crate) Vec<String>);

impl KeyPath {
    /// Parses a path: names separated by dots. A name that contains a dot is in double quotes.
    /// Returns none if the path is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut names = Vec::new();
        let mut rest = text;
        loop {
            let (name, after) = if rest.starts_with('"') {
                let mut quoted = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let name = quoted.next()?.ok()?;
                (name, rest.get(quoted.byte_offset()..)?)
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest.get(..end)?.to_owned(), rest.get(end..)?)
            };
            if name.is_empty() {
                return None;
            }
            names.push(name);
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None => return after.is_empty().then_some(Self(names)),
            }
        }
    }

    /// Returns the names of the path, outermost first, without quotes.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns whether this path equals the other path or is below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@' | '/');
            // Quotes and escapes other names: the file of a checkout could otherwise send control
            // characters to the terminal.
            if !name.is_empty() && name.chars().all(plain) {
                f.write_str(name)?;
            } else {
                let name = serde_json::Value::from(name.as_str()).to_string();
                f.write_str(&crate::clean::visible(&name))?;
            }
        }
        Ok(())
    }
}

impl Serialize for KeyPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
