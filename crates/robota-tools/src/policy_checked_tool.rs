//! Applies permission rules to a tool that is used without a session, which has no gate.

use std::sync::Arc;
use std::time::Duration;

use robota_core::approve::{Answer, Approver, NoApprover, Question};
use robota_core::gate::EACH_CALL_NEEDS_A_USER;
use robota_core::ids::CallId;
use robota_core::message::{ToolInput, ToolUse};
use robota_core::paths::Paths;
use robota_core::permission::Verdict;
use robota_core::tool::{AwaitedTools, InvalidInput, Tool, ToolContext, ToolOutcome, ToolSpec};
use robota_policy::{Policy, ToolCall};
use serde_json::{Map, Value};

/// A tool that runs only calls that a policy allows. Calls with the verdict ask are passed to the
/// approver; without an approver they are denied.
pub struct PolicyCheckedTool {
    tool: Arc<dyn Tool>,
    policy: Arc<Policy>,
    paths: Arc<dyn Paths>,
    approver: Arc<dyn Approver>,
}

impl PolicyCheckedTool {
    /// Wraps a tool with a policy, without an approver.
    pub fn new(tool: Arc<dyn Tool>, policy: Arc<Policy>, paths: Arc<dyn Paths>) -> Self {
        Self { tool, policy, paths, approver: Arc::new(NoApprover) }
    }

    /// Sets who decides about calls for which the rules ask.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = approver;
        self
    }
}

#[async_trait::async_trait]
impl Tool for PolicyCheckedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        self.tool.check(input)
    }

    fn check_changed(&self, input: &Value) -> Result<(), InvalidInput> {
        self.tool.check_changed(input)
    }

    fn gate_input(&self, call: &CallId, input: &Value) -> Option<Value> {
        self.tool.gate_input(call, input)
    }

    fn judged_spec(&self, input: &Value) -> &ToolSpec {
        self.tool.judged_spec(input)
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.tool.aliases()
    }

    fn always_asks(&self) -> bool {
        self.tool.always_asks()
    }

    fn output_limit(&self) -> Option<usize> {
        self.tool.output_limit()
    }

    fn timeout(&self) -> Option<Duration> {
        self.tool.timeout()
    }

    fn offered(&self) -> bool {
        self.tool.offered()
    }

    fn awaited(&self) -> Vec<AwaitedTools> {
        self.tool.awaited()
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        // Before the policy: rules look at arguments whose form the schema guarantees.
        if let Err(error) = self.check(&input) {
            return ToolOutcome::not_run("invalid_input", error.to_string());
        }
        let spec = self.tool.judged_spec(&input);
        let gate_input = self.gate_input(&context.call, &input);
        let judged = gate_input.as_ref().unwrap_or(&input);
        let call = ToolCall { tool: &spec.name, input: judged, class: spec.class };
        let judgement = self.policy.judge(&call, &*self.paths);
        let (mut verdict, mut reason) = (judgement.verdict, judgement.why().to_owned());
        if verdict == Verdict::Allow && self.tool.always_asks() {
            (verdict, reason) = (Verdict::Ask, EACH_CALL_NEEDS_A_USER.to_owned());
        }
        match verdict {
            Verdict::Allow => {}
            Verdict::Deny => return ToolOutcome::not_run("denied", reason),
            Verdict::Ask => {
                let question = Question {
                    call: ToolUse {
                        call: context.call.clone(),
                        id: context.call.to_string(),
                        name: spec.name.clone(),
                        input: ToolInput::Json(input.clone()),
                        extra: Map::new(),
                    },
                    class: judgement.class,
                    reason: reason.clone(),
                    rules: Vec::new(),
                    needs_user: self.tool.always_asks(),
                    metadata: Map::new(),
                    agent: None,
                    task: None,
                };
                let note = match self.approver.ask(question).await.without_hook().0 {
                    Answer::Allow { .. }
                    | Answer::Remember { .. }
                    | Answer::Update { input: None, .. } => None,
                    Answer::Deny { note } => Some(note),
                    // Taken off above.
                    Answer::ByHook { .. } => Some(None),
                    Answer::DenyAndStop { reason } | Answer::Unanswered { reason } => {
                        Some(Some(reason))
                    }
                    // The changed arguments were not judged.
                    Answer::AllowChanged { .. } | Answer::Update { input: Some(_), .. } => {
                        Some(Some("this tool cannot run with other arguments".to_owned()))
                    }
                };
                if let Some(note) = note {
                    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
                    return ToolOutcome::not_run("denied", format!("{reason}{note}"));
                }
            }
        }
        // With the original input: the tool itself takes the paths that the gate judged.
        self.tool.run(input, context).await
    }
}

#[cfg(test)]
mod tests;
