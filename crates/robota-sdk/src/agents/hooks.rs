//! The hooks of agents: those of tool calls run as in the session; those of the end of a turn are
//! SubagentStop instead.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use robota_config::agents::AgentDefinition;
use robota_core::hook::{
    EventDecision, EventReport, HookData, HookEvent, HookGroup, HookInput, HookPoint, HookReply,
    HookRunner, HookTranscript as _, Hooks,
};
use robota_exec::OsPaths;
use robota_runtime::{AgentJob, AgentStop, SubagentHooks, WorktreeHooks};
use serde_json::{Map, Value};

use super::AgentParts;
use crate::settings_hooks::HookFiles;
use crate::skills::{HookOwner, OwnHooks};
use crate::transcript::SessionTranscript;

/// The hooks of tool calls and of the events that calls cause, and no others.
pub(crate) struct ToolHooks {
    pub(crate) hooks: Arc<dyn Hooks>,
    /// The folder of an agent that does not work in that of the session. The hooks know only the
    /// session's, so they get paths that are absolute.
    pub(crate) folder: Option<PathBuf>,
}

#[async_trait]
impl Hooks for ToolHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::PreToolUse | HookPoint::PostToolUse | HookPoint::PostToolBatch => {
                self.hooks.has_point(point)
            }
            HookPoint::UserPromptSubmit | HookPoint::Stop => false,
        }
    }

    async fn run(&self, mut input: HookInput) -> HookReply {
        if let Some(folder) = &self.folder {
            input.make_paths_absolute(folder, Some(&OsPaths));
        }
        self.hooks.run(input).await
    }

    fn has_event(&self, event: HookEvent) -> bool {
        let point = HookPoint::ALL.into_iter().find(|point| HookEvent::from(*point) == event);
        match point {
            Some(point) => self.has_point(point),
            None => runs_in_agents(event) && self.hooks.has_event(event),
        }
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        match runs_in_agents(data.event()) {
            true => self.hooks.run_event(data).await,
            false => EventReport::default(),
        }
    }
}

/// Returns whether the hooks of an event that is no point of a turn run for the calls of an agent. A
/// model that is used instead of the agent's is a change of the model, too.
fn runs_in_agents(event: HookEvent) -> bool {
    event.is_during_call() || event.is_model_switch()
}

/// Returns how messages name an agent whose definition has hooks.
pub(crate) fn hook_owner(agent: &AgentDefinition) -> HookOwner {
    HookOwner { name: format!("the agent `{}`", agent.name), layer: agent.origin.layer }
}

/// Runs the hooks of the settings, and those of their definitions, for agents and their worktrees.
pub(crate) struct SettingsAgentHooks {
    pub(crate) runner: Arc<HookRunner>,
    pub(crate) parts: Arc<AgentParts>,
    pub(crate) files: HookFiles,
}

impl SettingsAgentHooks {
    /// Adds the hooks of an agent's definition that run when it ends. `Stop` is SubagentStop there.
    fn add_own(&self, agent: &str) {
        let Ok(definition) = self.parts.definition(agent) else { return };
        let Some(hooks) = &definition.hooks else { return };
        let Some(ends) = hooks.as_object() else { return };
        let ends: Map<String, Value> = ends
            .iter()
            .filter(|(event, _)| matches!(event.as_str(), "Stop" | "SubagentStop"))
            .map(|(event, groups)| (event.clone(), groups.clone()))
            .collect();
        if ends.is_empty() {
            return;
        }
        let own = OwnHooks {
            runner: self.runner.clone(),
            files: self.files.clone(),
            on_notice: self.parts.on_notice.clone(),
        };
        // The runner belongs to the whole session: without this matcher the hooks of one definition
        // would run at the end of every agent.
        let place = |_, mut group: HookGroup| {
            group.matcher = Some(agent.to_owned());
            (HookEvent::SubagentStop, group)
        };
        let owner = hook_owner(definition);
        own.add_as(&self.parts.project, &owner, &Value::Object(ends), place);
    }
}

#[async_trait]
impl SubagentHooks for SettingsAgentHooks {
    async fn started(&self, job: &AgentJob) -> Option<String> {
        self.add_own(&job.work.agent);
        if !self.runner.has_event(HookEvent::SubagentStart) {
            return None;
        }
        let agent_id = job.task.to_string();
        let data = HookData::SubagentStart { agent_id, agent_type: job.work.agent.clone() };
        match self.runner.run_event(data).await.decision {
            EventDecision::Continue { context } => context,
            // SubagentStart cannot refuse an agent: the task has started.
            EventDecision::Block { .. } => None,
        }
    }

    async fn stopping(&self, job: &AgentJob, end: AgentStop<'_>) -> Option<String> {
        if !self.runner.has_event(HookEvent::SubagentStop) {
            return None;
        }
        // The file exists until the hooks have run.
        let cwd = self.parts.project.cwd().display().to_string();
        let (store, session) = (self.parts.store.clone(), end.session.clone());
        let transcript = SessionTranscript::new(store, session, cwd);
        let agent_transcript_path = transcript.write().await;
        let data = HookData::SubagentStop {
            agent_id: job.task.to_string(),
            agent_type: job.work.agent.clone(),
            stop_hook_active: end.again,
            agent_transcript_path,
            last_assistant_message: end.answer.to_owned(),
        };
        let report = self.runner.run_event(data).await;
        match report.decision {
            // A hook that stops everything does not also ask the agent to continue.
            EventDecision::Block { reason } if report.stop.is_none() => Some(reason),
            _ => None,
        }
    }
}

#[async_trait]
impl WorktreeHooks for SettingsAgentHooks {
    async fn create(&self, name: &str) -> Result<Option<PathBuf>, String> {
        if !self.runner.has_event(HookEvent::WorktreeCreate) {
            return Ok(None);
        }
        let report =
            self.runner.run_event(HookData::WorktreeCreate { name: name.to_owned() }).await;
        match report.decision {
            EventDecision::Block { reason } => Err(reason),
            EventDecision::Continue { .. } => {
                // A path that is no folder would fail later, in the tools of the agent, where the
                // cause is no longer visible.
                Ok(report.worktree_path.map(PathBuf::from).filter(|path| path.is_dir()))
            }
        }
    }

    async fn removed(&self, path: &str) {
        if self.runner.has_event(HookEvent::WorktreeRemove) {
            self.runner
                .run_event(HookData::WorktreeRemove { worktree_path: path.to_owned() })
                .await;
        }
    }
}
