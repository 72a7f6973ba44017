//! The tool with which the model uses a skill.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use robota_config::skills::Skills;
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSource, ToolSpec};
use robota_policy::Policy;
use serde_json::{Value, json};

use super::{Invoker, PreparedSkill, SkillRunner};
use crate::context::lock;
use crate::interactive::OpenSessions;

/// Reads a skill: its text is the result.
pub(crate) struct SkillTool {
    spec: ToolSpec,
    runner: SkillRunner,
    open: OpenSessions,
}

/// The name of the tool with which the model uses skills.
pub(crate) const SKILL_TOOL: &str = "Skill";

impl SkillTool {
    pub(crate) fn new(runner: SkillRunner, open: OpenSessions) -> Self {
        let spec = ToolSpec {
            name: SKILL_TOOL.to_owned(),
            description: "Returns the instructions of a skill. The section Skills of the system \
                          prompt lists them. Use it when the description of a skill fits the \
                          task."
                .to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "skill": {"type": "string", "description": "The name of the skill"},
                    "args": {"type": "string", "description": "The arguments of the skill"},
                },
                "required": ["skill"],
                "additionalProperties": false,
            }),
            class: Class::Inspect,
        };
        Self { spec, runner, open }
    }
}

#[async_trait]
impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn timeout(&self) -> Option<Duration> {
        // A skill may run in a subagent, which works for hours.
        Some(Duration::from_secs(7 * 24 * 3600))
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let text = |key| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("skill").trim_start_matches('/');
        // A fork has this tool too, with a gate of its own.
        let session = context.scope.session.as_ref().and_then(|id| self.open.get(id));
        let Some(session) = session else {
            return ToolOutcome::not_run("unavailable", "the session is not open");
        };
        let opened = session;
        let session = opened.session();
        let prepared = self.runner.prepare(session, name, text("args"), Invoker::Model).await;
        match prepared {
            Ok(PreparedSkill { fork: Some(fork), .. }) => {
                let call = Some(context.call.clone());
                let ran = tokio::select! {
                    ran = SkillRunner::run_fork(&opened, name, fork, Invoker::Model, call) => ran,
                    () = context.scope.cancel.cancelled() => {
                        return ToolOutcome::failed("interrupted", "the skill was interrupted");
                    }
                };
                match ran {
                    Ok(forked) => ToolOutcome::ok(forked.to_string()),
                    Err(error) => ToolOutcome::failed("skill_failed", error.to_string()),
                }
            }
            Ok(skill) => {
                // They end with the turn.
                let invalid = match session.permissions().add_turn_rules(skill.rules).await {
                    Ok(invalid) => invalid,
                    Err(error) => {
                        return ToolOutcome::failed("skill_failed", error.to_string());
                    }
                };
                let mut text = skill.text;
                for rule in invalid {
                    text.push_str(&format!("\n[the skill's rule `{rule}` is not valid]"));
                }
                ToolOutcome::ok(text)
            }
            Err(error) => ToolOutcome::failed("skill_failed", error.to_string()),
        }
    }
}

/// Offers the tool once there are skills, for a session that starts without any: files that are used
/// later may be in a folder with skills.
pub(crate) struct LateSkillTool {
    skills: Arc<Mutex<Skills>>,
    tool: Arc<dyn Tool>,
    policy: Policy,
    /// Stays true: the conversation names the tool.
    offered: AtomicBool,
}

impl LateSkillTool {
    pub(crate) fn new(skills: Arc<Mutex<Skills>>, tool: Arc<dyn Tool>, policy: Policy) -> Self {
        Self { skills, tool, policy, offered: AtomicBool::new(false) }
    }
}

impl ToolSource for LateSkillTool {
    fn version(&self) -> u64 {
        if !self.offered.load(Ordering::Relaxed) && lock(&self.skills).has_name_for_model() {
            self.offered.store(true, Ordering::Relaxed);
        }
        self.offered.load(Ordering::Relaxed).into()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let offered = self.version() > 0 && !self.policy.denies_tool(&self.tool.spec().name);
        offered.then(|| self.tool.clone()).into_iter().collect()
    }
}
