//! Estimates what a batch of agents will use, for the user who approves it and for the budget.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use robota_core::catalogue::{Catalogue, format_tokens};
use robota_core::event::{Envelope, Event};
use robota_core::gate::{Gate, Judgement, Restrictions};
use robota_core::ids::CallId;
use robota_core::message::ToolUse;
use robota_core::permission::{Mode, PermissionUpdate, Verdict};
use robota_core::tool::ToolSpec;
use robota_core::usage::Usage;
use robota_runtime::TaskManager;

use crate::budget::BudgetGuard;

/// What an agent is assumed to use if none has ended yet: five model calls with 8,000 tokens each, and
/// 400 tokens of answers.
const ASSUMED: (u64, u64) = (40_000, 2_000);

/// What a batch of agents will use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    agents: usize,
    tokens: u64,
    usd: Option<f64>,
    /// Whether it is computed from agents of the session that have ended.
    measured: bool,
}

impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { agents, tokens, usd, measured } = self;
        write!(f, "{agents} agents, about {} tokens", format_tokens(*tokens))?;
        if let Some(usd) = usd {
            write!(f, " and ${usd:.2}")?;
        }
        let basis = if *measured { "as earlier agents of the session" } else { "assumed" };
        write!(f, " ({basis})")
    }
}

/// Adds an estimate to the question about a batch of agents, and lets a batch need approval that would
/// exceed the budget.
pub(crate) struct EstimatingGate {
    pub(crate) inner: Arc<dyn Gate>,
    pub(crate) budget: BudgetGuard,
    pub(crate) model: String,
    /// The tasks of the session.
    pub(crate) tasks: TaskManager,
    pub(crate) answer: AnswerAgents,
}

/// The agents that the calls of the current answer start: a model can start several by one call, or by
/// several calls of one answer. A session and its forks share one count.
#[derive(Clone, Default)]
pub(crate) struct AnswerAgents(Arc<Mutex<HashMap<CallId, usize>>>);

impl AnswerAgents {
    /// Begins a new count with each model call.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        if let Event::ModelRequested(_) = envelope.event {
            self.lock().clear();
        }
    }

    /// Counts the agents of a call. Returns those of the answer so far.
    fn add(&self, call: &CallId, agents: usize) -> usize {
        let mut calls = self.lock();
        // A call is judged again if a hook changes its arguments.
        calls.insert(call.clone(), agents);
        calls.values().sum()
    }

    /// Removes a call that does not run.
    fn remove(&self, call: &CallId) {
        self.lock().remove(call);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EstimatingGate {
    /// Returns a gate with the same estimates around another one.
    fn around(&self, inner: Arc<dyn Gate>) -> Arc<dyn Gate> {
        Arc::new(Self {
            inner,
            budget: self.budget.clone(),
            model: self.model.clone(),
            tasks: self.tasks.clone(),
            answer: self.answer.clone(),
        })
    }

    fn estimate(&self, agents: usize) -> Estimate {
        let ended = self.tasks.list();
        // A task without usage is a command, or an agent that has not ended: neither says what an
        // agent uses.
        let uses: Vec<_> = ended.iter().filter(|task| !task.usage.is_empty()).collect();
        let count = uses.len();
        let catalogue = Catalogue::builtin();
        let (tokens, usd) = if count == 0 {
            let assumed = Usage::new(ASSUMED.0, ASSUMED.1);
            (assumed.total(), catalogue.cost(&self.model, assumed))
        } else {
            let used = || uses.iter().flat_map(|task| &task.usage);
            let tokens: u64 = used().map(|used| used.usage.total()).sum();
            // One model without a price makes the sum unknown.
            let usd: Option<f64> = used().map(|it| catalogue.cost(&it.model, it.usage)).sum();
            (tokens / count as u64, usd.map(|usd| usd / count as f64))
        };
        Estimate {
            agents,
            tokens: tokens * agents as u64,
            usd: usd.map(|usd| usd * agents as f64),
            measured: count > 0,
        }
    }

    /// Returns why a batch needs approval: it would use more than the budget has left.
    fn exceeds(&self, estimate: &Estimate) -> Option<String> {
        let (limits, used) = (self.budget.budget().session, self.budget.used());
        let tokens = limits.tokens.is_some_and(|most| used.tokens + estimate.tokens > most);
        let usd = limits.usd.zip(estimate.usd);
        let usd = usd.is_some_and(|(most, usd)| used.usd + usd > most);
        (tokens || usd).then(|| "it may use more than is left of the budget".to_owned())
    }
}

/// Returns how many agents a call starts; none if it is a call of another tool.
fn agents_of(call: &ToolUse) -> Option<usize> {
    // The tool has two names; a call under the older one must not escape the estimate.
    if !matches!(call.name.as_str(), "Agent" | "Task") {
        return None;
    }
    let jobs = call.input.json().and_then(|input| input.get("jobs")?.as_array());
    Some(jobs.map_or(1, Vec::len))
}

#[async_trait]
impl Gate for EstimatingGate {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let mut judgement = self.inner.judge(call, tool).await;
        let Some(agents) = agents_of(call) else { return judgement };
        let agents = self.answer.add(&call.call, agents);
        // The question about a single agent needs no estimate: the user sees the one task.
        if agents < 2 && judgement.verdict != Verdict::Deny {
            return judgement;
        }
        let estimate = self.estimate(agents);
        match judgement.verdict {
            Verdict::Deny => self.answer.remove(&call.call),
            Verdict::Ask => judgement.reason = format!("{}; {estimate}", judgement.reason),
            Verdict::Allow => {
                // Rules allow the call, but they cannot know what it costs.
                if let Some(why) = self.exceeds(&estimate) {
                    judgement.verdict = Verdict::Ask;
                    judgement.reason = format!("{why}: {estimate}");
                }
            }
        }
        judgement
    }

    fn remember(&self, rules: &[String]) -> Result<(), String> {
        self.inner.remember(rules)
    }

    fn restrict(&self, verdict: Verdict, rules: &[String]) -> Result<(), String> {
        self.inner.restrict(verdict, rules)
    }

    fn update(&self, update: &PermissionUpdate, file: Option<&str>) -> Result<(), String> {
        self.inner.update(update, file)
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.inner.folders()
    }

    fn restrictions(&self) -> Restrictions {
        self.inner.restrictions()
    }

    fn pass_restrictions_to(&self, gate: Weak<dyn Gate>) {
        self.inner.pass_restrictions_to(gate);
    }

    fn add_turn_rules(&self, allow: &[String], deny: &[String]) -> Vec<String> {
        self.inner.add_turn_rules(allow, deny)
    }

    fn allowing(&self, rules: &[String]) -> Option<Arc<dyn Gate>> {
        self.inner.allowing(rules).map(|inner| self.around(inner))
    }

    fn forget_turn_rules(&self) {
        self.inner.forget_turn_rules();
    }

    fn remembered(&self) -> Vec<String> {
        self.inner.remembered()
    }

    fn forget(&self) {
        self.inner.forget();
    }

    fn for_fork(&self) -> Option<Arc<dyn Gate>> {
        self.inner.for_fork().map(|inner| self.around(inner))
    }

    fn set_mode(&self, mode: Mode) {
        self.inner.set_mode(mode);
    }

    fn may_ask(&self) -> bool {
        self.inner.may_ask()
    }
}
