//! The hooks of agents: those of tool calls run as in the session; those of the end of a turn are
//! SubagentStop instead.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use robota_core::hook::{
    EventDecision, HookData, HookEvent, HookInput, HookPoint, HookReply, HookRunner, Hooks,
};
use robota_runtime::{AgentHooks, AgentJob, WorktreeHooks};

/// The hooks of tool calls, and no others.
pub(crate) struct ToolHooks(pub(crate) Arc<dyn Hooks>);

#[async_trait]
impl Hooks for ToolHooks {
    fn has_point(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::PreToolUse | HookPoint::PostToolUse => self.0.has_point(point),
            HookPoint::UserPromptSubmit | HookPoint::Stop => false,
        }
    }

    async fn run(&self, input: HookInput) -> HookReply {
        self.0.run(input).await
    }

    fn has_event(&self, event: HookEvent) -> bool {
        HookPoint::ALL
            .into_iter()
            .any(|point| HookEvent::from(point) == event && self.has_point(point))
    }
}

/// Runs the hooks of the settings for agents and their worktrees.
pub(crate) struct SettingsAgentHooks(pub(crate) Arc<HookRunner>);

#[async_trait]
impl AgentHooks for SettingsAgentHooks {
    async fn started(&self, job: &AgentJob) -> Option<String> {
        if !self.0.has_event(HookEvent::SubagentStart) {
            return None;
        }
        let agent_id = job.task.to_string();
        let data = HookData::SubagentStart { agent_id, agent_type: job.work.agent.clone() };
        match self.0.run_event(data).await.decision {
            EventDecision::Continue { context } => context,
            EventDecision::Block { .. } => None,
        }
    }

    async fn stopping(&self, job: &AgentJob, answer: &str, again: bool) -> Option<String> {
        if !self.0.has_event(HookEvent::SubagentStop) {
            return None;
        }
        let data = HookData::SubagentStop {
            agent_id: job.task.to_string(),
            agent_type: job.work.agent.clone(),
            stop_hook_active: again,
            agent_transcript_path: None,
            last_assistant_message: answer.to_owned(),
        };
        let report = self.0.run_event(data).await;
        match report.decision {
            EventDecision::Block { reason } if report.stop.is_none() => Some(reason),
            _ => None,
        }
    }
}

#[async_trait]
impl WorktreeHooks for SettingsAgentHooks {
    async fn create(&self, name: &str) -> Result<Option<PathBuf>, String> {
        if !self.0.has_event(HookEvent::WorktreeCreate) {
            return Ok(None);
        }
        let report = self.0.run_event(HookData::WorktreeCreate { name: name.to_owned() }).await;
        match report.decision {
            EventDecision::Block { reason } => Err(reason),
            EventDecision::Continue { .. } => {
                Ok(report.worktree_path.map(PathBuf::from).filter(|path| path.is_dir()))
            }
        }
    }

    async fn removed(&self, path: &str) {
        if self.0.has_event(HookEvent::WorktreeRemove) {
            self.0.run_event(HookData::WorktreeRemove { worktree_path: path.to_owned() }).await;
        }
    }
}
