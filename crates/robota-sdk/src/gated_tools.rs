//! Runs tools for the program itself, such as the commands of a skill, through the same gate as the
//! calls of a model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use robota_core::gate::Judgement;
use robota_core::ids::{CallId, RandomIds, SessionId};
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::Verdict;
use robota_core::tool::{Progress, Tool, ToolContext, ToolOutcome};
use robota_session::Session;
use serde_json::Value;

use crate::context::lock;
use crate::interactive::ShellRun;

/// Runs tools through the gate of a session. A call that needs approval does not run.
#[derive(Clone)]
pub(crate) struct GatedTools {
    tools: Vec<Arc<dyn Tool>>,
    readers: Readers,
    /// Rules that allow calls besides those of the session.
    allow: Vec<String>,
}

/// The Read tools that the models of a session and its forks use. They remember which files were
/// read, so that a model may edit a file that a prompt mentioned.
#[derive(Clone, Default)]
pub(crate) struct Readers(Arc<Mutex<HashMap<SessionId, Arc<dyn Tool>>>>);

impl Readers {
    /// Remembers the Read tool of a session.
    pub(crate) fn add(&self, session: &SessionId, tools: &[Arc<dyn Tool>]) {
        if let Some(reader) = tools.iter().find(|tool| tool.spec().name == READ) {
            lock(&self.0).insert(session.clone(), reader.clone());
        }
    }

    fn get(&self, session: &SessionId) -> Option<Arc<dyn Tool>> {
        lock(&self.0).get(session).cloned()
    }
}

/// The name of the tool that reads files. Only its calls use the state of a session.
pub(crate) const READ: &str = "Read";

/// Why a tool was not run.
pub(crate) enum NotRun {
    /// The gate denies the call.
    Denied(String),
    /// The call needs an approval. There is no question: no call of a model could wait for the answer.
    NeedsApproval(String),
    /// There is no such tool.
    Missing(String),
}

impl NotRun {
    /// Returns the reason, which is for people.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Denied(reason) | Self::NeedsApproval(reason) | Self::Missing(reason) => reason,
        }
    }
}

impl GatedTools {
    /// Creates them. `readers` is filled later, when the tools of each session are made.
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>, readers: Readers) -> Self {
        Self { tools, readers, allow: Vec::new() }
    }

    /// Returns the same tools with rules that allow more of their calls.
    pub(crate) fn allowing(&self, rules: &[String]) -> Self {
        Self { allow: rules.to_vec(), ..self.clone() }
    }

    /// Runs a tool for a session.
    ///
    /// # Errors
    /// If there is no such tool, or the gate does not allow the call; the text says why.
    pub(crate) async fn run(
        &self,
        session: &Session,
        name: &str,
        input: Value,
    ) -> Result<ToolOutcome, NotRun> {
        self.run_by(session, name, input, &[Verdict::Allow], ShellRun::default()).await
    }

    /// Runs a tool with arguments that the user typed, which answers the question of the gate. What
    /// the gate denies does not run.
    ///
    /// # Errors
    /// If there is no such tool, or the gate denies the call.
    pub(crate) async fn run_for_user(
        &self,
        session: &Session,
        name: &str,
        input: Value,
        run: ShellRun,
    ) -> Result<ToolOutcome, NotRun> {
        self.run_by(session, name, input, &[Verdict::Allow, Verdict::Ask], run).await
    }

    async fn run_by(
        &self,
        session: &Session,
        name: &str,
        input: Value,
        enough: &[Verdict],
        run: ShellRun,
    ) -> Result<ToolOutcome, NotRun> {
        let own = if name == READ { self.readers.get(session.id()) } else { None };
        let tool = own.as_ref().or_else(|| self.find(name));
        let tool = tool.ok_or_else(|| missing(name))?;
        let call = CallId::mint(&RandomIds);
        let judgement = self.judge(session, tool, &call, &input, enough).await?;
        let ShellRun { cancel, progress } = run;
        // As the driver does for the calls of a model: nothing that is shown, stored or returned
        // contains secrets.
        let redactor = session.config().redactor();
        let output = Arc::new(Mutex::new(redactor.stream()));
        let show = move |text: String| {
            // The start of a possible secret is held back.
            if !text.is_empty() {
                progress.show(text);
            }
        };
        let (piece, sink) = (output.clone(), show.clone());
        let mut context = ToolContext {
            call,
            grant: judgement.grant,
            progress: Progress::new(move |text| sink(lock(&piece).push(&text))),
            ..ToolContext::detached()
        };
        context.scope.cancel = cancel;
        context.scope.redactor = redactor.clone();
        let mut outcome = tool.run(input, context).await;
        redactor.outcome(&mut outcome);
        show(lock(&output).finish());
        Ok(outcome)
    }

    /// Asks the gate about a call without running it.
    ///
    /// # Errors
    /// If there is no such tool, or the gate does not allow the call.
    pub(crate) async fn check(
        &self,
        session: &Session,
        name: &str,
        input: &Value,
    ) -> Result<(), NotRun> {
        let tool = self.find(name).ok_or_else(|| missing(name))?;
        let call = CallId::mint(&RandomIds);
        self.judge(session, tool, &call, input, &[Verdict::Allow]).await.map(drop)
    }

    /// Judges a call; the verdicts in `enough` let it run.
    async fn judge(
        &self,
        session: &Session,
        tool: &Arc<dyn Tool>,
        call: &CallId,
        input: &Value,
        enough: &[Verdict],
    ) -> Result<Judgement, NotRun> {
        let input = ToolInput::Json(input.clone());
        let tool_use = ToolUse::new(call.clone(), "skill", &*tool.spec().name, input);
        let permissions = session.permissions();
        let judgement = permissions.judge_allowing(&self.allow, &tool_use, &**tool).await;
        match judgement.verdict {
            verdict if enough.contains(&verdict) => Ok(judgement),
            Verdict::Deny => Err(NotRun::Denied(judgement.reason)),
            Verdict::Allow | Verdict::Ask => Err(NotRun::NeedsApproval(judgement.reason)),
        }
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }
}

fn missing(name: &str) -> NotRun {
    NotRun::Missing(format!("the tool {name} is not available"))
}
