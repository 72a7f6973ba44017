//! Approvers for tests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use robota_core::approve::{Answer, Approver, Question};

use crate::lock;

/// Answers by the name of the tool. It denies calls of tools that the test did not configure, with
/// a note that says so, so that an unexpected question never passes.
#[derive(Debug, Clone, Default)]
pub struct ScriptedApprover {
    by_name: HashMap<String, Option<Answer>>,
}

impl ScriptedApprover {
    /// Creates an approver without any configured tool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows calls of that tool, without a note.
    #[must_use]
    pub fn allow(self, tool: impl Into<String>) -> Self {
        self.answer(tool, Some(Answer::Allow { note: None }))
    }

    /// Denies calls of that tool with this note.
    #[must_use]
    pub fn deny(self, tool: impl Into<String>, note: impl Into<String>) -> Self {
        self.answer(tool, Some(Answer::Deny { note: Some(note.into()) }))
    }

    /// Never answers questions about that tool.
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

/// Records the questions that another approver receives. Clones share the record.
#[derive(Debug, Clone)]
pub struct RecordingApprover<A> {
    inner: A,
    questions: Arc<Mutex<Vec<Question>>>,
}

impl<A: Approver> RecordingApprover<A> {
    /// Records the questions and passes them to this approver.
    pub fn new(inner: A) -> Self {
        Self { inner, questions: Arc::default() }
    }

    /// Returns every question so far, in order, including unanswered ones.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        lock(&self.questions).clone()
    }
}

#[async_trait::async_trait]
impl<A: Approver> Approver for RecordingApprover<A> {
    async fn ask(&self, question: Question) -> Answer {
        // Before the question is passed on: the inner approver may never answer.
        lock(&self.questions).push(question.clone());
        self.inner.ask(question).await
    }
}

#[cfg(test)]
mod tests;
