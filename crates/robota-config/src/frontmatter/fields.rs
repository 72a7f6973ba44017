//! Reads typed fields and collects what is wrong with them for the report. A wrong field counts as
//! absent.

use std::path::Path;

use serde_json::Value;

use super::{FieldError, Header, HeaderNote};
use crate::layer::{Layer, Origin};
use crate::path::KeyPath;
use crate::report::{Problem, Severity};

/// Reads the fields of one header.
pub(crate) struct Fields<'a> {
    header: &'a Header,
    layer: Layer,
    file: Option<&'a Path>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(header: &'a Header, layer: Layer, file: Option<&'a Path>) -> Self {
        Self { header, layer, file, problems: Vec::new() }
    }

    /// Adds the notes about the header itself.
    pub(crate) fn note(&mut self, notes: &[HeaderNote]) {
        for HeaderNote { line, message } in notes {
            self.warn(None, Some(*line), message.clone());
        }
    }

    pub(crate) fn warn(&mut self, key: Option<&str>, line: Option<usize>, message: String) {
        self.problems.push(Problem {
            severity: Severity::Warning,
            origin: Origin { layer: self.layer, file: self.file.map(Path::to_path_buf), line },
            key: key.map(|key| KeyPath(vec![key.to_owned()])),
            message,
        });
    }

    /// Warns of a key, if the header has it.
    pub(crate) fn warn_of(&mut self, key: &str, message: &str) {
        if self.header.value(key).is_some() {
            self.warn(Some(key), self.header.line(key), message.to_owned());
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.header.value(key).is_some()
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.header.text(key)
    }

    pub(crate) fn words(&self, key: &str) -> Vec<String> {
        self.header.words(key)
    }

    pub(crate) fn globs(&self, key: &str) -> Vec<String> {
        self.header.globs(key)
    }

    pub(crate) fn value(&self, key: &str) -> Option<Value> {
        self.header.value(key).cloned()
    }

    pub(crate) fn flag(&mut self, key: &str) -> Option<bool> {
        let read = self.header.flag(key);
        self.keep(read)
    }

    pub(crate) fn number(&mut self, key: &str) -> Option<u32> {
        let read = self.header.number(key);
        self.keep(read)
    }

    /// Reads one of several words; `meaning` returns none for a word it does not know.
    pub(crate) fn choice<T>(
        &mut self,
        key: &str,
        known: &str,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.header.text(key)?;
        let read = meaning(&text);
        if read.is_none() {
            let error = self.header.error(key, &format!("is not known; write {known}"));
            self.keep::<T>(Err(error));
        }
        read
    }

    fn keep<T>(&mut self, read: Result<Option<T>, FieldError>) -> Option<T> {
        read.unwrap_or_else(|FieldError { key, line, message }| {
            self.warn(Some(&key), line, message);
            None
        })
    }
}
