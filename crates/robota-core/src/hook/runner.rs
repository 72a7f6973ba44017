//! Runs hooks out of settings: finds those that match, runs them side by side, and puts together
//! what they say.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use super::{
    BadMatcher, EventDecision, HookAnswer, HookCondition, HookContext, HookData, HookDefinition,
    HookEnd, HookEvent, HookExecutor, HookExit, HookGroup, HookInput, HookKind, HookNotice,
    HookOutput, HookPoint, HookReply, Hooks, Matcher,
};

/// How long a hook may take that does not say it itself.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How much longer an executor may take to end a hook whose time is up. After that it is left.
const SLACK: Duration = Duration::from_secs(10);

type Show = dyn Fn(HookNotice) + Send + Sync;

/// The hooks of a session.
///
/// ```
/// use robota_core::hook::{HookContext, HookEvent, HookGroup, HookRunner, Hooks as _, HookPoint};
///
/// let groups: Vec<HookGroup> = serde_json::from_str(
///     r#"[{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check"}]}]"#,
/// )?;
/// let runner = HookRunner::new(HookContext::new("session", "/work"))
///     .groups(HookEvent::PreToolUse, groups);
/// assert!(runner.has_point(HookPoint::PreToolUse) && !runner.has_point(HookPoint::Stop));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct HookRunner {
    context: Mutex<HookContext>,
    hooks: BTreeMap<HookEvent, Vec<(Matcher, Arc<HookDefinition>)>>,
    executors: BTreeMap<HookKind, Arc<dyn HookExecutor>>,
    condition: Option<Arc<dyn HookCondition>>,
    timeout: Duration,
    show: Arc<Show>,
    problems: Vec<BadMatcher>,
}

/// What hooks at a point of a turn came to.
#[derive(Debug, Clone, PartialEq)]
pub struct PointReport {
    /// For the driver.
    pub reply: HookReply,
    /// For people.
    pub notices: Vec<HookNotice>,
}

/// What hooks at any other event came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventReport {
    /// What they decided.
    pub decision: EventDecision,
    /// Why all work is to stop, if a hook wants that (`continue: false`).
    pub stop: Option<String>,
    /// Where the worktree lies that a WorktreeCreate hook made.
    pub worktree_path: Option<String>,
    /// For people.
    pub notices: Vec<HookNotice>,
}

impl HookRunner {
    /// No hooks yet, and nothing to run them with.
    #[must_use]
    pub fn new(context: HookContext) -> Self {
        Self {
            context: Mutex::new(context),
            hooks: BTreeMap::new(),
            executors: BTreeMap::new(),
            condition: None,
            timeout: DEFAULT_TIMEOUT,
            show: Arc::new(|_| {}),
            problems: Vec::new(),
        }
    }

    /// The same with these groups at that event, after those it has.
    #[must_use]
    pub fn groups(mut self, event: HookEvent, groups: impl IntoIterator<Item = HookGroup>) -> Self {
        for group in groups {
            let (matcher, bad) = Matcher::read(event, group.matcher.as_deref());
            self.problems.extend(bad);
            let hooks = group.hooks.into_iter().map(|hook| (matcher.clone(), Arc::new(hook)));
            self.hooks.entry(event).or_default().extend(hooks);
        }
        self
    }

    /// The same with that executor for hooks of a kind.
    #[must_use]
    pub fn executor(mut self, kind: HookKind, executor: Arc<dyn HookExecutor>) -> Self {
        self.executors.insert(kind, executor);
        self
    }

    /// The same with somebody who reads the `if` of hooks. Without one, `if` is not looked at
    /// and such hooks run.
    #[must_use]
    pub fn condition(mut self, condition: Arc<dyn HookCondition>) -> Self {
        self.condition = Some(condition);
        self
    }

    /// The same with that timeout for hooks that do not say one.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same with somebody who is shown what the driver has no place for: notices at points
    /// of a turn and of hooks nobody waits for.
    #[must_use]
    pub fn on_notice(mut self, show: impl Fn(HookNotice) + Send + Sync + 'static) -> Self {
        self.show = Arc::new(show);
        self
    }

    /// The matchers that could not be read.
    #[must_use]
    pub fn problems(&self) -> &[BadMatcher] {
        &self.problems
    }

    /// Changes what every hook is told from now on, such as the permission mode.
    pub fn update_context(&self, change: impl FnOnce(&mut HookContext)) {
        change(&mut self.context.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether any hook stands at that event.
    #[must_use]
    pub fn has_event(&self, event: HookEvent) -> bool {
        self.hooks.get(&event).is_some_and(|hooks| !hooks.is_empty())
    }

    /// Runs the hooks of a point of a turn.
    pub async fn run_point(&self, input: HookInput) -> PointReport {
        let data = HookData::from(&input);
        let mut output = self.ask(&data).await;
        let notices = std::mem::take(&mut output.notices);
        let (context, stop) = match input.point() {
            // These two have a place of their own for it.
            HookPoint::UserPromptSubmit => (None, None),
            HookPoint::Stop => (output.context.take().filter(|_| output.stop.is_none()), None),
            HookPoint::PreToolUse | HookPoint::PostToolUse => {
                (output.context.take(), output.stop.clone())
            }
        };
        let answer = match input {
            HookInput::UserPromptSubmit { .. } => {
                HookAnswer::UserPromptSubmit(output.into_prompt())
            }
            HookInput::PreToolUse { .. } => HookAnswer::PreToolUse(output.into_pre_tool()),
            HookInput::PostToolUse { outcome, .. } => {
                HookAnswer::PostToolUse(output.into_post_tool(&outcome))
            }
            HookInput::Stop { .. } => HookAnswer::Stop(output.into_stop()),
        };
        PointReport { reply: HookReply { answer, context, stop }, notices }
    }

    /// Runs the hooks of any event.
    pub async fn run_event(&self, data: HookData) -> EventReport {
        let event = data.event();
        let mut output = self.ask(&data).await;
        EventReport {
            notices: std::mem::take(&mut output.notices),
            stop: output.stop.clone(),
            worktree_path: output.worktree_path.take(),
            decision: output.into_event(event),
        }
    }

    /// The hooks that are to run, in configured order, each once.
    fn chosen(&self, data: &HookData) -> Vec<Arc<HookDefinition>> {
        let mut chosen: Vec<Arc<HookDefinition>> = Vec::new();
        for (matcher, hook) in self.hooks.get(&data.event()).into_iter().flatten() {
            if matcher.matches(data.target()) && self.holds(hook, data) && !chosen.contains(hook) {
                chosen.push(hook.clone());
            }
        }
        chosen
    }

    /// Whether the hook's `if` holds. Only calls of tools have something a rule can match:
    /// elsewhere such a hook runs where it might refuse, and nowhere else.
    fn holds(&self, hook: &HookDefinition, data: &HookData) -> bool {
        let Some(rule) = hook.condition() else { return true };
        match (data.call(), &self.condition) {
            (Some((tool, input)), Some(condition)) => {
                condition.holds(rule, tool, input).unwrap_or(true)
            }
            (Some(_), None) => true,
            (None, _) => data.event().is_gate(),
        }
    }

    fn executor_of(&self, hook: &HookDefinition) -> Result<Arc<dyn HookExecutor>, String> {
        let kind = match (hook, hook.runs_as()) {
            (HookDefinition::Unusable(unusable), _) => return Err(unusable.reason.clone()),
            (_, Some(kind)) => kind,
            (_, None) => return Err("it is of no kind".to_owned()),
        };
        self.executors
            .get(&kind)
            .cloned()
            .ok_or_else(|| format!("nothing here can run hooks of kind `{}` yet", kind.name()))
    }

    async fn ask(&self, data: &HookData) -> HookOutput {
        let event = data.event();
        let chosen = self.chosen(data);
        if chosen.is_empty() {
            return HookOutput::default();
        }
        let payload: Arc<str> = {
            let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
            data.to_json(&context).to_string().into()
        };
        // What is not overwritten below counts as a failure.
        let mut exits = vec![HookExit::failed("it was lost"); chosen.len()];
        let mut running = JoinSet::new();
        let mut places = HashMap::new();
        for (at, hook) in chosen.iter().enumerate() {
            match self.executor_of(hook) {
                Err(why) => exits[at] = HookExit::failed(why),
                Ok(executor) => {
                    let limit = hook.timeout().unwrap_or(self.timeout);
                    let task = execute(executor, hook.clone(), payload.clone(), limit);
                    if hook.is_detached() {
                        exits[at] = HookExit::code(0, "", "");
                        self.detach(event, hook.clone(), task);
                    } else {
                        places.insert(running.spawn(async move { (at, task.await) }).id(), at);
                    }
                }
            }
        }
        while let Some(joined) = running.join_next_with_id().await {
            match joined {
                Ok((_, (at, exit))) => exits[at] = exit,
                Err(error) => {
                    if let Some(at) = places.get(&error.id()) {
                        let why = if error.is_panic() { "it panicked" } else { "it was cancelled" };
                        exits[*at] = HookExit::failed(why);
                    }
                }
            }
        }
        let outputs =
            chosen.iter().zip(&exits).map(|(hook, exit)| HookOutput::read(event, hook, exit));
        HookOutput::merge(event, outputs)
    }

    /// Nobody waits for it, so it decides nothing; what it wants shown is shown.
    fn detach(
        &self,
        event: HookEvent,
        hook: Arc<HookDefinition>,
        task: impl Future<Output = HookExit> + Send + 'static,
    ) {
        let show = self.show.clone();
        drop(tokio::spawn(async move {
            let output = HookOutput::read(event, &hook, &task.await);
            let ignored = output.block.map(|reason| {
                let text = format!("{event} {} came too late to block: {reason}", hook.label());
                HookNotice::warning(event, text)
            });
            output.notices.into_iter().chain(ignored).for_each(|notice| show(notice));
        }));
    }
}

async fn execute(
    executor: Arc<dyn HookExecutor>,
    hook: Arc<HookDefinition>,
    payload: Arc<str>,
    limit: Duration,
) -> HookExit {
    // Executors keep the time themselves; one that does not must not keep everybody waiting.
    tokio::time::timeout(limit.saturating_add(SLACK), executor.execute(&hook, &payload, limit))
        .await
        .unwrap_or_else(|_| HookExit::silent(HookEnd::TimedOut))
}

#[async_trait::async_trait]
impl Hooks for HookRunner {
    fn has_point(&self, point: HookPoint) -> bool {
        self.has_event(point.into())
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let report = self.run_point(input).await;
        report.notices.into_iter().for_each(|notice| (self.show)(notice));
        report.reply
    }

    fn has_event(&self, event: HookEvent) -> bool {
        Self::has_event(self, event)
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        let mut report = Self::run_event(self, data).await;
        std::mem::take(&mut report.notices).into_iter().for_each(|notice| (self.show)(notice));
        report
    }
}

#[cfg(test)]
mod tests;
