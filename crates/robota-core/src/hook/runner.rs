//! Runs hooks from settings: selects those that match, runs them in parallel, and merges their
//! output.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::output::plain_text;
use super::{
    EventDecision, HookAnswer, HookCondition, HookContext, HookData, HookDefinition,
    HookElicitation, HookEnd, HookEvent, HookExecutor, HookExit, HookGroup, HookInput, HookKind,
    HookNotice, HookObserver, HookOutput, HookPermission, HookPoint, HookReply, HookTimes,
    HookTranscript, HookVerdict, Hooks, InvalidMatcher, Matcher, ObservedHook,
};
use crate::approve::{Answer, Question};
use crate::paths::Paths;
use crate::permission::PermissionUpdate;

/// How long an executor may take to end a hook after its timeout. After that the runner stops
/// waiting for it.
const EXECUTOR_GRACE: Duration = Duration::from_secs(10);

/// The hooks of each event, in the order in which they were added.
type HookTable = BTreeMap<HookEvent, Vec<Arc<Entry>>>;

type Show = dyn Fn(HookNotice) + Send + Sync;

type Wake = dyn Fn(HookWake) + Send + Sync;

/// What a hook in the background reports to the model, whether or not a turn runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookWake {
    /// The event at which the hook ran.
    pub event: HookEvent,
    /// The hook, as users know it.
    pub hook: String,
    /// What it printed: on standard error, else on standard output.
    pub text: String,
}

/// Runs the hooks of a session: selects those that match, runs them in parallel and merges their
/// output.
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
    hooks: RwLock<HookTable>,
    executors: BTreeMap<HookKind, Arc<dyn HookExecutor>>,
    condition: Option<Arc<dyn HookCondition>>,
    transcript: Option<Arc<dyn HookTranscript>>,
    paths: Option<Arc<dyn Paths>>,
    observer: Option<Arc<dyn HookObserver>>,
    times: HookTimes,
    show: Arc<Show>,
    on_title: Arc<dyn Fn(String) + Send + Sync>,
    /// Takes the reports of hooks that wake the model; without it they are waited for.
    wake: Option<Arc<Wake>>,
    problems: Vec<InvalidMatcher>,
}

/// A hook with its matcher.
struct Entry {
    matcher: Matcher,
    /// The matcher as it is written.
    written: Option<Arc<str>>,
    hook: Arc<HookDefinition>,
    of_skill: bool,
    /// The plugin, skill or agent that brought it; none for a hook of settings.
    owner: Option<Arc<str>>,
    /// Whether a hook that runs once has run.
    spent: AtomicBool,
}

impl Entry {
    fn runs_once(&self) -> bool {
        self.of_skill && self.hook.once()
    }

    /// Returns the right to run the hook now; none if it runs once, and has run or runs.
    fn claim(self: &Arc<Self>) -> Option<Claim> {
        // One atomic step: two calls at the same time must not both run it.
        let free = !self.runs_once() || !self.spent.swap(true, Ordering::SeqCst);
        free.then(|| Claim { entry: self.clone(), used_up: false })
    }

    /// Two equal definitions of settings are one hook. A copy in a skill is a hook of its own.
    fn is_copy_of(&self, other: &Self) -> bool {
        !self.of_skill && !other.of_skill && self.hook == other.hook
    }
}

/// The right to run a hook. A hook that runs once gets it back when the run does not end with code 0,
/// also if it is cancelled.
struct Claim {
    entry: Arc<Entry>,
    used_up: bool,
}

impl Claim {
    /// Records how the run ended: only the exit code 0 uses the right up.
    fn record_end(&mut self, exit: &HookExit) {
        self.used_up = exit.end == HookEnd::Code(0);
    }

    /// Passes the right on to a run that is not waited for.
    fn hand_over(&mut self) -> Self {
        let used_up = std::mem::replace(&mut self.used_up, true);
        Self { entry: self.entry.clone(), used_up }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.entry.runs_once() && !self.used_up {
            self.entry.spent.store(false, Ordering::SeqCst);
        }
    }
}

/// Returns the hooks of a group that are not turned off.
fn entries(
    matcher: Matcher,
    group: HookGroup,
    owner: Option<&Arc<str>>,
) -> impl Iterator<Item = Arc<Entry>> {
    let written = group.matcher.map(Arc::<str>::from);
    group.hooks.into_iter().filter(HookDefinition::is_enabled).map(move |hook| {
        let (matcher, written) = (matcher.clone(), written.clone());
        let (owner, of_skill) = (owner.cloned(), owner.is_some());
        let (hook, spent) = (Arc::new(hook), AtomicBool::new(false));
        Arc::new(Entry { matcher, written, hook, of_skill, owner, spent })
    })
}

/// Describes a hook that settings do not define: one of a plugin, or of a skill or an agent that was
/// used.
#[derive(Debug, Clone)]
pub struct OwnedHook {
    /// What brought it, such as the skill `review`.
    pub owner: Arc<str>,
    /// The event at which it runs.
    pub event: HookEvent,
    /// The matcher of its group, as it is written.
    pub matcher: Option<Arc<str>>,
    /// The definition of the hook, with its limits.
    pub hook: Arc<HookDefinition>,
}

/// Reports what the hooks at a point of a turn decided, and what users should see of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PointReport {
    /// The reply for the driver, without notices.
    pub reply: HookReply,
    /// Warnings and messages that clients show to the user.
    pub notices: Vec<HookNotice>,
}

/// Reports what the hooks at any other event decided, and what users should see of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventReport {
    /// What all hooks together decide; the strictest one wins.
    pub decision: EventDecision,
    /// Why all work is to stop (`continue: false`); `None` if it is not.
    pub stop: Option<String>,
    /// The path of the worktree that a WorktreeCreate hook created.
    pub worktree_path: Option<String>,
    /// What PermissionRequest hooks decide about the call, unless they block it.
    pub permission: Option<HookPermission>,
    /// The arguments that PermissionRequest hooks give the call.
    pub updated_input: Option<Map<String, Value>>,
    /// The changes of permissions that PermissionRequest hooks make together with the call.
    pub updated_permissions: Vec<PermissionUpdate>,
    /// The name that SessionStart hooks give the session.
    pub session_title: Option<String>,
    /// What SessionStart hooks say for the user before the first prompt.
    pub initial_user_message: Option<String>,
    /// What Elicitation and ElicitationResult hooks answer to the question, unless they block it.
    pub elicitation: Option<HookElicitation>,
    /// Warnings and messages that clients show to the user.
    pub notices: Vec<HookNotice>,
}

impl EventReport {
    /// Returns what PermissionRequest hooks answer to this question about a call; none if they leave it
    /// to the user, or allow a call that only a user may allow.
    #[must_use]
    pub fn approval(self, question: &Question) -> Option<Answer> {
        if let EventDecision::Block { reason } = self.decision {
            return Some(match self.stop {
                Some(reason) => Answer::DenyAndStop { reason },
                None => Answer::Deny { note: Some(reason) },
            });
        }
        let HookPermission { verdict: HookVerdict::Allow, reason: note } = self.permission? else {
            return None;
        };
        if question.needs_user {
            return None;
        }
        let input = self.updated_input.map(Value::Object);
        Some(Answer::allow(input, self.updated_permissions, note))
    }
}

impl HookRunner {
    /// Creates a runner without hooks and without executors.
    #[must_use]
    pub fn new(context: HookContext) -> Self {
        Self {
            context: Mutex::new(context),
            hooks: RwLock::default(),
            executors: BTreeMap::new(),
            condition: None,
            transcript: None,
            paths: None,
            observer: None,
            times: HookTimes::default(),
            show: Arc::new(|_| {}),
            on_title: Arc::new(|_| {}),
            wake: None,
            problems: Vec::new(),
        }
    }

    /// Adds groups of settings at an event, after those it already has.
    #[must_use]
    pub fn groups(self, event: HookEvent, groups: impl IntoIterator<Item = HookGroup>) -> Self {
        self.add(event, groups, None)
    }

    /// Adds groups of a skill or a plugin, which `owner` names, at an event. Their hooks may run only
    /// once (`"once": true`): such a hook does not run again after a run that ended with code 0.
    #[must_use]
    pub fn skill_groups(
        self,
        owner: &str,
        event: HookEvent,
        groups: impl IntoIterator<Item = HookGroup>,
    ) -> Self {
        self.add(event, groups, Some(&Arc::from(owner)))
    }

    fn add(
        mut self,
        event: HookEvent,
        groups: impl IntoIterator<Item = HookGroup>,
        owner: Option<&Arc<str>>,
    ) -> Self {
        for group in groups {
            let (matcher, bad) = Matcher::read(event, group.matcher.as_deref());
            self.problems.extend(bad);
            let hooks = entries(matcher, group, owner);
            let table = self.hooks.get_mut().unwrap_or_else(PoisonError::into_inner);
            table.entry(event).or_default().extend(hooks);
        }
        self
    }

    /// Adds the hooks of a skill that is used while the session runs. They stay until the session
    /// ends. Using the skill again adds nothing, unless its hooks have changed: then they replace the
    /// old ones. Returns the invalid matchers.
    pub fn use_skill(
        &self,
        skill: &str,
        hooks: impl IntoIterator<Item = (HookEvent, Vec<HookGroup>)>,
    ) -> Vec<InvalidMatcher> {
        let (mut added, mut invalid, skill) = (HookTable::new(), Vec::new(), Arc::from(skill));
        for (event, groups) in hooks {
            for group in groups {
                let (matcher, bad) = Matcher::read(event, group.matcher.as_deref());
                invalid.extend(bad);
                let hooks = entries(matcher, group, Some(&skill));
                added.entry(event).or_default().extend(hooks);
            }
        }
        let mut table = self.hooks.write().unwrap_or_else(PoisonError::into_inner);
        let definitions = |table: &HookTable| -> Vec<(HookEvent, String, Arc<HookDefinition>)> {
            let all = table.iter().flat_map(|(event, list)| list.iter().map(|it| (*event, it)));
            let own = all.filter(|(_, entry)| entry.owner.as_ref() == Some(&skill));
            own.map(|(event, it)| (event, format!("{:?}", it.matcher), it.hook.clone())).collect()
        };
        // Replacing equal hooks would make those that run once run again.
        if definitions(&table) != definitions(&added) {
            for list in table.values_mut() {
                list.retain(|entry| entry.owner.as_ref() != Some(&skill));
            }
            for (event, list) in added {
                table.entry(event).or_default().extend(list);
            }
        }
        invalid
    }

    /// Returns the hooks that settings do not define, in the order in which they run.
    #[must_use]
    pub fn owned_hooks(&self) -> Vec<OwnedHook> {
        let table = self.table();
        let all = table.iter().flat_map(|(event, list)| list.iter().map(move |it| (*event, it)));
        all.filter_map(|(event, entry)| {
            let (matcher, hook) = (entry.written.clone(), entry.hook.clone());
            Some(OwnedHook { owner: entry.owner.clone()?, event, matcher, hook })
        })
        .collect()
    }

    fn table(&self) -> RwLockReadGuard<'_, HookTable> {
        self.hooks.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the executor for hooks of a kind.
    #[must_use]
    pub fn executor(mut self, kind: HookKind, executor: Arc<dyn HookExecutor>) -> Self {
        self.executors.insert(kind, executor);
        self
    }

    /// Sets what evaluates the `if` of hooks. Without it, `if` is ignored and such hooks always
    /// run.
    #[must_use]
    pub fn condition(mut self, condition: Arc<dyn HookCondition>) -> Self {
        self.condition = Some(condition);
        self
    }

    /// Sets what writes the transcript that hooks can read. It is written only when a hook runs.
    #[must_use]
    pub fn transcript(mut self, transcript: Arc<dyn HookTranscript>) -> Self {
        self.transcript = Some(transcript);
        self
    }

    /// Sets the file system on which `..` in the paths of a call is resolved. Without it, no part of a
    /// path is taken for a link.
    #[must_use]
    pub fn paths(mut self, paths: Arc<dyn Paths>) -> Self {
        self.paths = Some(paths);
        self
    }

    /// Sets what observes each run of a hook.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn HookObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets the timeout of hooks that do not define one. Without it, they have that of their kind
    /// ([`HookDefinition::timeout_at`]).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.times.default = Some(timeout);
        self
    }

    /// Sets how long hooks may run at the end of the session; none is the usual time.
    #[must_use]
    pub fn session_end_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.times.session_end = timeout;
        self
    }

    /// Sets what receives the notices that are not part of a reply to the driver: those of hooks at
    /// points of a turn and of hooks that run detached.
    #[must_use]
    pub fn on_notice(mut self, show: impl Fn(HookNotice) + Send + Sync + 'static) -> Self {
        self.show = Arc::new(show);
        self
    }

    /// Sets what receives the name that UserPromptSubmit hooks give the session.
    #[must_use]
    pub fn on_title(mut self, rename: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.on_title = Arc::new(rename);
        self
    }

    /// Sets what takes the reports of hooks that wake the model (`"asyncRewake": true`). Without it, the
    /// session waits for these hooks.
    #[must_use]
    pub fn on_wake(mut self, wake: impl Fn(HookWake) + Send + Sync + 'static) -> Self {
        self.wake = Some(Arc::new(wake));
        self
    }

    /// Returns the invalid matchers.
    #[must_use]
    pub fn problems(&self) -> &[InvalidMatcher] {
        &self.problems
    }

    /// Changes the fields that every hook receives from now on, such as the permission mode.
    pub fn update_context(&self, change: impl FnOnce(&mut HookContext)) {
        change(&mut self.context.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns true if the event has hooks.
    #[must_use]
    pub fn has_event(&self, event: HookEvent) -> bool {
        self.table().get(&event).is_some_and(|hooks| !hooks.is_empty())
    }

    /// Runs the hooks of a point of a turn.
    pub async fn run_point(&self, input: HookInput) -> PointReport {
        let data = HookData::from(&input);
        let mut output = self.run_matching(&data).await;
        let notices = std::mem::take(&mut output.notices);
        if let Some(title) = output.session_title.take() {
            (self.on_title)(title);
        }
        let (context, stop) = match input.point() {
            // The decisions of these two points contain their context themselves.
            HookPoint::UserPromptSubmit | HookPoint::PostToolBatch => (None, None),
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
            HookInput::PostToolBatch { .. } => HookAnswer::PostToolBatch(output.into_batch()),
            HookInput::Stop { .. } => HookAnswer::Stop(output.into_stop()),
        };
        PointReport { reply: HookReply { answer, context, stop }, notices }
    }

    /// Runs the hooks of any event.
    pub async fn run_event(&self, data: HookData) -> EventReport {
        let event = data.event();
        let mut output = self.run_matching(&data).await;
        EventReport {
            notices: std::mem::take(&mut output.notices),
            stop: output.stop.clone(),
            worktree_path: output.worktree_path.take(),
            permission: output.permission.take(),
            updated_input: output.updated_input.take(),
            updated_permissions: std::mem::take(&mut output.updated_permissions),
            session_title: output.session_title.take(),
            initial_user_message: output.initial_user_message.take(),
            elicitation: output.elicitation.take(),
            decision: output.into_event(event),
        }
    }

    /// Returns the hooks to run, in configured order, without duplicates.
    fn matching(&self, data: &HookData) -> Vec<Claim> {
        let mut matching: Vec<Claim> = Vec::new();
        for entry in self.table().get(&data.event()).into_iter().flatten() {
            if entry.matcher.matches(data.target())
                && self.condition_holds(&entry.hook, data)
                && !matching.iter().any(|other| entry.is_copy_of(&other.entry))
            {
                // Last, because it uses the hook up: a hook that does not match has not run.
                matching.extend(entry.claim());
            }
        }
        matching
    }

    /// Evaluates the hook's `if`. Only tool calls can match a rule. At other events a hook with an
    /// `if` runs only where it could block.
    fn condition_holds(&self, hook: &HookDefinition, data: &HookData) -> bool {
        let Some(rule) = hook.condition() else { return true };
        match (data.call(), &self.condition) {
            (Some((tool, input)), Some(condition)) => {
                // A rule that cannot be read does not keep a hook from running: a hook may be what
                // forbids the call.
                condition.holds(rule, tool, input).unwrap_or(true)
            }
            (Some(_), None) => true,
            (None, _) => data.event().is_gate(),
        }
    }

    fn executor_for(&self, hook: &HookDefinition) -> Result<Arc<dyn HookExecutor>, String> {
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

    async fn run_matching(&self, data: &HookData) -> HookOutput {
        let event = data.event();
        let mut matching = self.matching(data);
        if matching.is_empty() {
            return HookOutput::default();
        }
        if let Some(transcript) = &self.transcript {
            // Written now and not with every event: most sessions have no hook that reads it.
            let path = transcript.write().await;
            self.update_context(|context| context.transcript_path = path);
        }
        // What the hooks read: with absolute paths.
        let mut shown = data.clone();
        let payload: Arc<str> = {
            let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
            shown.make_paths_absolute(Path::new(&context.cwd), self.paths.as_deref());
            shown.to_json(&context).to_string().into()
        };
        // An exit that is not replaced below counts as a failure.
        let mut exits = vec![HookExit::failed("it was lost"); matching.len()];
        let mut observed: Vec<_> = matching.iter().map(|_| self.observe(data)).collect();
        let mut running = JoinSet::new();
        let mut indexes = HashMap::new();
        for (at, claim) in matching.iter_mut().enumerate() {
            let hook = &claim.entry.hook;
            match self.executor_for(hook) {
                Err(why) => {
                    exits[at] = HookExit::failed(why);
                    end(&mut observed[at], &exits[at]);
                }
                Ok(executor) => {
                    if let Some(text) = hook.status_message() {
                        (self.show)(HookNotice::status(event, text));
                    }
                    let limit = hook.timeout_or(&self.times, event);
                    let task = execute(executor, hook.clone(), payload.clone(), limit);
                    let wake = self.wake.clone().filter(|_| hook.wakes_at(event));
                    if wake.is_some() || hook.is_detached() {
                        // A detached hook cannot decide anything; its exit is reported later.
                        exits[at] = HookExit::code(0, "", "");
                        self.detach(event, (claim.hand_over(), wake), observed[at].take(), task);
                    } else {
                        indexes.insert(running.spawn(async move { (at, task.await) }).id(), at);
                    }
                }
            }
        }
        while let Some(joined) = running.join_next_with_id().await {
            match joined {
                Ok((_, (at, exit))) => {
                    // Now and not after the last one, which may be cancelled.
                    matching[at].record_end(&exit);
                    end(&mut observed[at], &exit);
                    exits[at] = exit;
                }
                Err(error) => {
                    if let Some(at) = indexes.get(&error.id()) {
                        let why = if error.is_panic() { "it panicked" } else { "it was cancelled" };
                        exits[*at] = HookExit::failed(why);
                        end(&mut observed[*at], &exits[*at]);
                    }
                }
            }
        }
        let outputs = matching
            .iter()
            .zip(&exits)
            .map(|(claim, exit)| HookOutput::read(event, &claim.entry.hook, exit));
        HookOutput::merge(event, outputs.map(|output| without_repeated(output, [data, &shown])))
    }

    fn observe(&self, data: &HookData) -> Option<Box<dyn ObservedHook>> {
        Some(self.observer.as_ref()?.started(data.event(), data.target()))
    }

    /// Runs a hook without waiting for it. It cannot decide anything; its notices are shown. Its exit code
    /// 2 wakes the model, if there is something to do that.
    fn detach(
        &self,
        event: HookEvent,
        (mut claim, wake): (Claim, Option<Arc<Wake>>),
        mut observed: Option<Box<dyn ObservedHook>>,
        task: impl Future<Output = HookExit> + Send + 'static,
    ) {
        let show = self.show.clone();
        drop(tokio::spawn(async move {
            let exit = task.await;
            claim.record_end(&exit);
            end(&mut observed, &exit);
            let hook = claim.entry.hook.clone();
            // Before the notices are shown: a client that gets one may run the hook again.
            drop(claim);
            if let Some(wake) = wake.filter(|_| exit.end == HookEnd::Code(2)) {
                let said = [&exit.stderr, &exit.stdout].map(|bytes| plain_text(bytes));
                let text = said.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
                return wake(HookWake { event, hook: hook.label(), text });
            }
            let output = HookOutput::read(event, &hook, &exit);
            let ignored = output.block.map(|reason| {
                let text = format!("{event} {} came too late to block: {reason}", hook.label());
                HookNotice::warning(event, text)
            });
            output.notices.into_iter().chain(ignored).for_each(|notice| show(notice));
        }));
    }
}

/// Removes arguments that an answer to a question repeats: they change nothing, and must not push aside the
/// rules that come with them.
fn without_repeated(mut output: HookOutput, calls: [&HookData; 2]) -> HookOutput {
    let repeated = |new: &Map<String, Value>| {
        let mut inputs = calls.iter().filter_map(|data| data.call());
        inputs.any(|(_, input)| input.as_object() == Some(new))
    };
    if matches!(calls[0], HookData::PermissionRequest { .. }) {
        output.updated_input = output.updated_input.filter(|new| !repeated(new));
    }
    output
}

fn end(observed: &mut Option<Box<dyn ObservedHook>>, exit: &HookExit) {
    if let Some(mut observed) = observed.take() {
        observed.ended(exit);
    }
}

async fn execute(
    executor: Arc<dyn HookExecutor>,
    hook: Arc<HookDefinition>,
    payload: Arc<str>,
    limit: Duration,
) -> HookExit {
    // Executors enforce the timeout themselves. One that does not must not block the session.
    tokio::time::timeout(
        limit.saturating_add(EXECUTOR_GRACE),
        executor.execute(&hook, &payload, limit),
    )
    .await
    .unwrap_or_else(|_| HookExit::silent(HookEnd::TimedOut))
}

#[async_trait::async_trait]
impl Hooks for HookRunner {
    fn has_point(&self, point: HookPoint) -> bool {
        // Whether a call failed is known only when the point is reached.
        let failures =
            point == HookPoint::PostToolUse && self.has_event(HookEvent::PostToolUseFailure);
        failures || self.has_event(point.into())
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
