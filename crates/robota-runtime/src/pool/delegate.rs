//! The agents of the Agent tool in a pool: templates. Each task is a session of its own, with its own
//! journal (KODE-14).

use std::sync::{Arc, Weak};

use robota_core::event::SpawnedBy;
use robota_core::ids::{SessionId, SessionName};
use robota_core::task::Isolation;
use robota_core::tool::{Tool, ToolContext, ToolOutcome};
use robota_tools::{AgentKind, AgentRunner, AgentTask, AgentTool};
use serde_json::json;

use super::registry::Entry;
use super::{Inner, Pool, PoolAgentOptions, PoolError};

/// How many sessions above a session may have delegated to each other. Templates can name each other.
const MAX_DEPTH: usize = 4;

/// Delegates tasks to templates of a pool.
struct PoolTemplates {
    /// The tools must not keep the pool alive: it owns the sessions that own the tools.
    pool: Weak<Inner>,
    kinds: Vec<AgentKind>,
}

impl Inner {
    /// Returns the tool with which a session delegates work; none if its template names no others, or
    /// too many sessions are above it.
    pub(super) fn agent_tool(self: &Arc<Self>, entry: &Entry) -> Option<Arc<dyn Tool>> {
        let names = entry.template.delegates_to();
        if names.is_empty() || self.sessions_above(entry) >= MAX_DEPTH {
            return None;
        }
        let kind = |name: &String| {
            let described = self.templates.get(name).and_then(|template| template.described());
            AgentKind { name: name.clone(), when: described.unwrap_or_default().to_owned() }
        };
        let kinds = names.iter().map(kind).collect();
        Some(Arc::new(AgentTool::new(Arc::new(PoolTemplates {
            pool: Arc::downgrade(self),
            kinds,
        }))))
    }

    fn sessions_above(&self, entry: &Entry) -> usize {
        let parent = |options: &Option<Box<PoolAgentOptions>>| {
            let spawned = options.as_ref()?.spawned_by.as_ref()?;
            Some(spawned.session.clone())
        };
        let registry = self.registry();
        let mut above = 0;
        let mut next = parent(&entry.options);
        while let Some(id) = next.filter(|_| above < MAX_DEPTH) {
            above += 1;
            next = registry.get(&id).and_then(|entry| parent(&entry.options));
        }
        above
    }
}

impl PoolTemplates {
    async fn delegate(&self, request: AgentTask, context: &ToolContext) -> Result<String, String> {
        if request.background || request.isolation == Some(Isolation::Worktree) {
            return Err("agents of a pool run in the foreground and in the folder of their \
                        template: leave out run_in_background and isolation"
                .to_owned());
        }
        let pool = self.pool.upgrade().ok_or("the pool was closed")?;
        let parent = context.scope.session.clone();
        let id = child_id(parent.as_ref(), &request.agent, &pool);
        let spawned_by = parent.map(|session| SpawnedBy {
            session,
            turn: context.scope.turn.clone(),
            call: Some(context.call.clone()),
        });
        let pool = Pool::of(pool);
        let failed = |error: PoolError| error.to_string();
        let options =
            PoolAgentOptions { spawned_by, model: request.model, ..PoolAgentOptions::default() };
        let child = pool.create(id, &request.agent, options).await.map_err(failed)?;
        let answer = tokio::select! {
            biased;
            () = context.scope.cancel.cancelled() => Err("the call was cancelled".to_owned()),
            answer = child.run(request.prompt) => answer.map_err(failed),
        };
        // Closing it interrupts what still runs. Its journal stays.
        if let Err(error) = pool.remove(child.id()).await {
            tracing::warn!(session = %child.id(), %error, "a delegated session was not closed");
        }
        answer
    }
}

#[async_trait::async_trait]
impl AgentRunner for PoolTemplates {
    fn kinds(&self) -> Vec<AgentKind> {
        self.kinds.clone()
    }

    async fn run(&self, request: AgentTask, context: ToolContext) -> ToolOutcome {
        match Box::pin(self.delegate(request, &context)).await {
            Ok(answer) => ToolOutcome::ok(answer),
            Err(error) => ToolOutcome::failed("agent_failed", error),
        }
    }

    async fn run_all(&self, requests: Vec<AgentTask>, context: ToolContext) -> ToolOutcome {
        let runs = requests.into_iter().map(|request| async {
            let label = request.description.clone();
            (label, Box::pin(self.delegate(request, &context)).await)
        });
        let ended = futures::future::join_all(runs).await;
        let success = ended.iter().any(|(_, answer)| answer.is_ok());
        let results = ended.into_iter().map(|(label, answer)| match answer {
            Ok(output) => json!({"label": label, "success": true, "output": output}),
            Err(error) => json!({"label": label, "success": false, "error": error}),
        });
        let text = json!({"results": results.collect::<Vec<_>>()}).to_string();
        if success { ToolOutcome::ok(text) } else { ToolOutcome::failed("agents_failed", text) }
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
