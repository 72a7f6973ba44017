//! Approvers for tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use robota_core::approve::{Answer, Approver, Question};

use crate::lock;

/// Answers by the tool's name. Of a tool it was told nothing about, it says no and that it was
/// told nothing: a question nobody expected never passes.
#[derive(Debug, Clone, Default)]
pub struct ScriptedApprover {
    by_name: HashMap<String, Option<Answer>>,
}

impl ScriptedApprover {
    /// One that was told nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows calls to that tool.
    #[must_use]
    pub fn allow(self, tool: impl Into<String>) -> Self {
        self.answer(tool, Some(Answer::Allow { note: None }))
    }

    /// Denies calls to that tool, in these words.
    #[must_use]
    pub fn deny(self, tool: impl Into<String>, note: impl Into<String>) -> Self {
        self.answer(tool, Some(Answer::Deny { note: Some(note.into()) }))
    }

    /// Never answers about that tool.
    #[must_use]
    pub fn silent(self, tool: impl Into<String>) -> Self {
        self.answer(tool, None)
    }

    fn answer(mut self, tool: impl Into<String>, answer: Option<Answer>) -> Self {
        self.by_name.insert(tool.into(), answer);
        self
    }
}

#[async_trait::async_trait]
impl Approver for ScriptedApprover {
    async fn ask(&self, question: Question) -> Answer {
        let name = question.call.name;
        match self.by_name.get(&name) {
            Some(Some(answer)) => answer.clone(),
            Some(None) => std::future::pending().await,
            None => Answer::Deny { note: Some(format!("the test has no answer for {name}")) },
        }
    }
}

/// Keeps what another approver was asked. Clones keep it together.
#[derive(Debug, Clone)]
pub struct RecordingApprover<A> {
    inner: A,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl<A: Approver> RecordingApprover<A> {
    /// Asks that approver.
    pub fn new(inner: A) -> Self {
        Self { inner, asked: Arc::default() }
    }

    /// Every question so far, in order, answered or not.
    #[must_use]
    pub fn asked(&self) -> Vec<Question> {
        lock(&self.asked).clone()
    }
}

#[async_trait::async_trait]
impl<A: Approver> Approver for RecordingApprover<A> {
    async fn ask(&self, question: Question) -> Answer {
        lock(&self.asked).push(question.clone());
        self.inner.ask(question).await
    }
}

#[cfg(test)]
mod tests;
