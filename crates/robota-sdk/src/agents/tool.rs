//! The Agent tool of a session.

use async_trait::async_trait;
use robota_config::agents::{AgentDefinition, Agents};
use robota_core::ids::TaskId;
use robota_core::message::{ToolInput, ToolUse};
use robota_core::permission::{Class, Verdict};
use robota_core::task::{TaskMode, WaitPolicy};
use robota_core::tool::{ToolContext, ToolOutcome, ToolSpec};
use robota_runtime::AgentWork;
use robota_tools::{AgentKind, AgentRunner, AgentTask};
use serde_json::json;

use super::jobs::{AgentResult, AgentRun, AgentRuns, Waited};

/// The most characters of a description in the list of the tool.
const MAX_WHEN: usize = 300;

/// Runs the tasks of the Agent tool.
pub(crate) struct SessionAgentRunner(pub(crate) AgentRuns);

#[async_trait]
impl AgentRunner for SessionAgentRunner {
    fn kinds(&self) -> Vec<AgentKind> {
        self.startable(self.0.parts.definitions.all())
    }

    fn listed(&self) -> (Vec<AgentKind>, usize) {
        let listed = self.0.parts.definitions.listed();
        (self.startable(listed), listed.unread())
    }

    async fn run(&self, request: AgentTask, context: ToolContext) -> ToolOutcome {
        let background = self.is_background(&request);
        let run = agent_run(request);
        if background {
            return self.start(run, &context).await;
        }
        let waited = tokio::select! {
            waited = self.0.run_for(run, &context.call) => waited,
            () = context.scope.cancel.cancelled() => {
                return ToolOutcome::failed("interrupted", "the agent was cancelled");
            }
        };
        match waited {
            Waited::Ended(result) => outcome(&result),
            Waited::Moved(tasks) => moved(&tasks, &[]),
        }
    }

    async fn run_all(&self, requests: Vec<AgentTask>, context: ToolContext) -> ToolOutcome {
        // Before any is started, so that a denied one stops the whole batch.
        for request in &requests {
            if let Err(reason) = self.judge(&request.agent, &context).await {
                return ToolOutcome::not_run("denied", reason);
            }
        }
        let label = requests.first().map(|it| it.description.clone()).unwrap_or_default();
        // One agent that the model waits for makes the whole call wait.
        let background = requests.iter().all(|request| self.is_background(request));
        let runs = requests.into_iter().map(agent_run).collect();
        if background {
            return self.start_all(&label, runs, &context).await;
        }
        let waited = tokio::select! {
            waited = self.0.run_all_for(&label, runs, &context.call) => waited,
            () = context.scope.cancel.cancelled() => {
                return ToolOutcome::failed("interrupted", "the agents were cancelled");
            }
        };
        match waited {
            Err(error) => ToolOutcome::failed("agents_failed", error.to_string()),
            Ok((group, Waited::Moved(tasks))) => {
                // The ends of the others were to be reported by this result.
                let tasks_of_group = self.0.manager.groups().get(&group).map(|it| it.tasks);
                let ended: Vec<_> = tasks_of_group
                    .unwrap_or_default()
                    .iter()
                    .filter(|task| !tasks.contains(task))
                    .filter_map(|task| self.0.manager.get(task).ok().map(AgentResult::of))
                    .collect();
                moved(&tasks, &ended).with_metadata("group_id", group.as_str())
            }
            Ok((group, Waited::Ended(results))) => {
                // The results name those that failed, so a partial success is a success of the
                // call.
                let success = results.iter().any(|result| result.success);
                let ids: Vec<_> = results.iter().map(|result| &result.agent_id).collect();
                let text = json!({"groupId": group, "results": results}).to_string();
                let outcome = if success {
                    ToolOutcome::ok(text)
                } else {
                    ToolOutcome::failed("agents_failed", text)
                };
                outcome
                    .with_metadata("group_id", group.as_str())
                    .with_metadata("agent_ids", json!(ids))
            }
        }
    }
}

impl SessionAgentRunner {
    /// Returns those agents that the conversation may start.
    fn startable(&self, agents: &Agents) -> Vec<AgentKind> {
        // One line for each agent: a line break in a description would look like another agent.
        let short = |text: &str| text.replace('\n', " ").chars().take(MAX_WHEN).collect();
        let kind = |agent: &AgentDefinition| AgentKind {
            name: agent.name.clone(),
            when: short(&agent.description),
        };
        let limits = &self.0.parts.tool_limits;
        agents.iter().filter(|agent| limits.may_start(&agent.name)).map(kind).collect()
    }

    /// Returns whether the model does not wait for the agent, by its own wish or by the definition.
    fn is_background(&self, request: &AgentTask) -> bool {
        let definition = self.0.parts.definition(&request.agent);
        request.background || definition.is_ok_and(|definition| definition.background)
    }

    /// Starts an agent in the background.
    async fn start(&self, run: AgentRun, context: &ToolContext) -> ToolOutcome {
        match self.0.start(run, TaskMode::Background, Some(context.call.clone())).await {
            Err(error) => ToolOutcome::failed("agent_failed", error.to_string()),
            Ok(agent) => {
                let task = agent.id();
                let text = format!(
                    "Agent {task} works in the background. Its result is reported to you when it \
                     ends; do not wait for it."
                );
                let log = agent.log_path().ok().flatten().map(|log| log.display().to_string());
                ToolOutcome::ok(text)
                    .with_metadata("agent_id", task.as_str())
                    .with_metadata("log", log)
                    .with_metadata("background", true)
            }
        }
    }

    /// Starts agents in the background, as a group.
    async fn start_all(
        &self,
        label: &str,
        runs: Vec<AgentRun>,
        context: &ToolContext,
    ) -> ToolOutcome {
        let call = Some(context.call.clone());
        match self.0.start_all(label, runs, WaitPolicy::Detached, call).await {
            Err(error) => ToolOutcome::failed("agents_failed", error.to_string()),
            Ok((group, started)) => {
                let lines: Vec<_> = started
                    .iter()
                    .map(|task| match task {
                        Ok(task) => format!("Agent {task} works in the background."),
                        Err(error) => format!("An agent was not started: {error}"),
                    })
                    .collect();
                let ids: Vec<_> = started.iter().flatten().map(TaskId::as_str).collect();
                let text = format!("{}\nThe results are reported when they end.", lines.join("\n"));
                ToolOutcome::ok(text)
                    .with_metadata("group_id", group.as_str())
                    .with_metadata("agent_ids", json!(ids))
                    .with_metadata("background", true)
            }
        }
    }

    /// Applies the rules about agents to one of several tasks. The gate has judged only the call.
    async fn judge(&self, agent: &str, context: &ToolContext) -> Result<(), String> {
        let session = context.scope.session.as_ref().and_then(|id| self.0.parts.open.get(id));
        let session = session.ok_or_else(|| "the session is not open".to_owned())?;
        let input = ToolInput::Json(json!({ "subagent_type": agent }));
        let call = ToolUse::new(context.call.clone(), "agent", "Agent", input);
        // A rule such as `Agent(Explore)` looks at the name of the tool and the type of the agent
        // only.
        let spec = ToolSpec {
            name: "Agent".to_owned(),
            description: String::new(),
            input_schema: json!({}),
            class: Class::Inspect,
        };
        let judgement = session.session().permissions().judge(&call, &spec).await;
        match judgement.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Deny => Err(judgement.reason),
            // One question about several agents could not be answered for each of them.
            Verdict::Ask => Err(format!(
                "{}; give the task to `{agent}` in a call of its own, which can be approved",
                judgement.reason
            )),
        }
    }
}

fn agent_run(request: AgentTask) -> AgentRun {
    let AgentTask { description, prompt, agent, model, isolation, background: _ } = request;
    AgentRun {
        label: description,
        work: AgentWork { agent, prompt, model, ..AgentWork::default() },
        isolation,
        own_process: None,
    }
}

/// Returns what the model sees when the user moved agents to the background.
fn moved(tasks: &[TaskId], ended: &[AgentResult]) -> ToolOutcome {
    let ids: Vec<_> = tasks.iter().map(TaskId::as_str).collect();
    let lines: Vec<_> =
        ids.iter().map(|task| format!("Agent {task} works in the background.")).collect();
    let mut text = format!(
        "The user does not wait for this call.\n{}\nResults are reported to you when agents end; do \
         not wait for them.",
        lines.join("\n")
    );
    if !ended.is_empty() {
        text.push_str(&format!("\n{}", json!({ "results": ended })));
    }
    ToolOutcome::ok(text)
        .with_metadata("agent_ids", json!(ids))
        .with_metadata("background", true)
        .with_metadata("moved_by_user", true)
}

/// Returns what the model sees of a result.
pub(crate) fn outcome(result: &AgentResult) -> ToolOutcome {
    let mut text = result.output.clone();
    let mut note = |line: String| {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&line);
    };
    if let Some(error) = &result.error {
        note(format!("[the agent failed: {error}]"));
    }
    if let (Some(path), Some(branch)) = (&result.worktree_path, &result.branch) {
        note(format!("[its changes are in {path} on branch {branch}]"));
    }
    let outcome = if result.success {
        ToolOutcome::ok(text)
    } else {
        ToolOutcome::failed("agent_failed", text)
    };
    let id = result.agent_id.as_ref().map(ToString::to_string);
    outcome.with_metadata("success", result.success).with_metadata("agent_id", id)
}
