//! `TaskRun`: a tool with which a session delegates work to another template of its pool.

use std::sync::Weak;

use robota_core::event::SpawnedBy;
use robota_core::ids::{SessionId, SessionName};
use robota_core::permission::Class;
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::{AgentOptions, Inner, Pool, PoolError};
use crate::template::{Template, Templates};

/// Delegates work to named templates: each call is a session of its own, with its own journal.
pub struct TaskRun {
    spec: ToolSpec,
    pool: Weak<Inner>,
    allowed: Vec<String>,
}

impl TaskRun {
    pub(super) fn new(pool: Weak<Inner>, templates: &Templates, of: &Template) -> Self {
        let allowed: Vec<String> = of.delegates_to().to_vec();
        let lines = allowed.iter().map(|id| {
            let about = templates.get(id).and_then(|template| template.described());
            about.map_or_else(|| format!("- {id}"), |about| format!("- {id}: {about}"))
        });
        let description = format!(
            "Gives a task to another agent and returns its answer. The agent sees only the prompt. \
             Agents:\n{}",
            lines.collect::<Vec<_>>().join("\n")
        );
        let spec = ToolSpec {
            name: "TaskRun".to_owned(),
            description,
            input_schema: json!({
                "type": "object",
                "properties": {
                    "agent": {"type": "string", "enum": allowed, "description": "The agent."},
                    "prompt": {"type": "string", "description": "The task, complete in itself."},
                },
                "required": ["agent", "prompt"],
                "additionalProperties": false,
            }),
            // The other agent acts under the permissions of its own template.
            class: Class::Execute,
        };
        Self { spec, pool, allowed }
    }

    async fn delegate(&self, input: Value, context: &ToolContext) -> Result<String, String> {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        let (agent, prompt) = (text("agent").to_owned(), text("prompt").to_owned());
        if !self.allowed.contains(&agent) {
            return Err(format!("there is no agent `{agent}`; use {}", self.allowed.join(", ")));
        }
        let pool = self.pool.upgrade().ok_or("the pool was closed")?;
        let parent = context.scope.session.clone();
        let id = child_id(parent.as_ref(), &agent, &pool);
        let spawned_by = parent.map(|session| SpawnedBy {
            session,
            turn: context.scope.turn.clone(),
            call: Some(context.call.clone()),
        });
        let pool = Pool::of(pool);
        let failed = |error: PoolError| error.to_string();
        let options = AgentOptions { spawned_by, ..AgentOptions::default() };
        let child = pool.create(id, &agent, options).await.map_err(failed)?;
        let answer = tokio::select! {
            biased;
            () = context.scope.cancel.cancelled() => Err("the call was cancelled".to_owned()),
            answer = child.run(prompt) => answer.map_err(failed),
        };
        // Closing it interrupts what still runs. Its journal stays.
        if let Err(error) = pool.remove(child.id()).await {
            tracing::warn!(session = %child.id(), %error, "a delegated session was not closed");
        }
        answer
    }
}

/// Returns the id of a session that another one starts: of the same tenant.
fn child_id(parent: Option<&SessionId>, agent: &str, pool: &Inner) -> SessionId {
    let fresh = SessionId::mint(&*pool.ids);
    let parent = parent.and_then(|id| SessionName::parse(id.as_str()).ok());
    let tenant = match parent {
        Some(SessionName::Path(path)) => {
            [("org", path.org), ("team", path.team), ("user", path.user)]
                .into_iter()
                .filter_map(|(key, value)| Some(format!("{key}:{}/", value?)))
                .collect()
        }
        _ => String::new(),
    };
    SessionId::from(format!("{tenant}agent:{agent}/session:{fresh}"))
}

#[async_trait::async_trait]
impl Tool for TaskRun {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        match Box::pin(self.delegate(input, &context)).await {
            Ok(answer) => ToolOutcome::ok(answer),
            Err(error) => ToolOutcome::failed("delegation_failed", error),
        }
    }
}
