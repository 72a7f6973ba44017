//! The policy gate: judges every call by rules, mode, protected files and dangerous commands.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use robota_core::gate::{Gate, Grant, Judgement, Restrictions, Source};
use robota_core::message::ToolUse;
use robota_core::paths::Paths;
use robota_core::permission::{
    Class, Mode, PermissionUpdate, RuleUpdate, UpdateDestination, Verdict,
};
use robota_core::tool::ToolSpec;
use robota_policy::{CallLimits, List, Policy, Rule, RuleError, RuleSource, ToolCall};

/// Judges every call by a policy. `robota permissions check` gives the same verdicts, because both
/// use [`Policy::judge`].
pub struct PolicyGate {
    rules: Arc<RwLock<Rules>>,
    /// Held while the folders change here and at the subagents.
    folder_order: Arc<Mutex<()>>,
    /// What agents may call of their tools. A call must pass all of them.
    limits: Vec<CallLimits>,
    paths: Arc<dyn Paths>,
}

/// The policy with and without the rules that apply for a while.
struct Rules {
    configured: Policy,
    /// The rules of this session, in their order.
    session: Vec<SessionRule>,
    /// The rules of the running turn.
    turn: Vec<(List, String)>,
    /// With the rules of the session and of the turn.
    effective: Policy,
    /// The gates of subagents, which get later restrictions and folders too.
    followers: Vec<Weak<dyn Gate>>,
    /// What else follows the folders of the workspace.
    on_folders: Option<OnFolders>,
}

/// Why a fork cannot change the folders of its workspace.
const FORK_FOLDERS: &str = "a fork has the sandbox of the session that it was forked from, so its folders \
    cannot change: resume it in a process of its own";

/// Takes the additional folders of a workspace, or fails with the reason why they cannot change.
type OnFolders = Arc<dyn Fn(&[PathBuf]) -> Result<(), String> + Send + Sync>;

/// A rule that applies until the session ends.
#[derive(Clone, PartialEq, Eq)]
struct SessionRule {
    list: List,
    text: String,
    /// Where it is also kept: a removal there removes it here, too.
    destination: UpdateDestination,
}

impl SessionRule {
    fn new(list: List, text: &str) -> Self {
        Self { list, text: text.to_owned(), destination: UpdateDestination::Session }
    }
}

impl Rules {
    /// Replaces the rules of the session.
    ///
    /// # Errors
    /// If one of them is not valid; then nothing changes.
    fn set_session(
        &mut self,
        configured: Policy,
        session: Vec<SessionRule>,
        paths: &dyn Paths,
    ) -> Result<(), RuleError> {
        let source = Arc::new(RuleSource::session());
        let mut effective = configured.clone();
        for rule in &session {
            effective.add(rule.list, &source, &rule.text, paths)?;
        }
        for (list, rule) in &self.turn {
            // Cannot fail: the rule was valid when it was added.
            let _ = effective.add(*list, &source, rule, paths);
        }
        (self.configured, self.session, self.effective) = (configured, session, effective);
        Ok(())
    }
}

impl PolicyGate {
    /// Creates a gate with that policy, on that file system.
    pub fn new(policy: Policy, paths: Arc<dyn Paths>) -> Self {
        let rules = Rules {
            configured: policy.clone(),
            session: Vec::new(),
            turn: Vec::new(),
            effective: policy,
            followers: Vec::new(),
            on_folders: None,
        };
        let rules = Arc::new(RwLock::new(rules));
        Self { rules, folder_order: Arc::default(), limits: Vec::new(), paths }
    }

    /// Denies the calls that the list of an agent's tools does not leave, such as `ls` with `Bash(git *)`.
    /// Returns what is wrong with entries; such an entry leaves no call.
    pub fn limit_calls<'a>(&mut self, tools: impl IntoIterator<Item = &'a str>) -> Vec<RuleError> {
        let workspace = self.read().effective.workspace().clone();
        let (limits, errors) = CallLimits::new(tools, &workspace, &*self.paths);
        self.limits.extend(limits);
        errors
    }

    /// Calls `follow` with the additional folders of the workspace before they change. If it fails,
    /// they stay as they are. A sandbox follows them, for example.
    pub fn on_folders(
        &self,
        follow: impl Fn(&[PathBuf]) -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.write().on_folders = Some(Arc::new(follow));
    }

    /// Adds a rule for this session.
    ///
    /// # Errors
    /// If the rule is not valid.
    pub fn add_session_rule(&self, list: List, rule: &str) -> Result<(), RuleError> {
        self.add_all([SessionRule::new(list, rule)])
    }

    /// Adds all rules or none: an approval that is remembered in part would surprise the user.
    fn add_all(&self, added: impl IntoIterator<Item = SessionRule>) -> Result<(), RuleError> {
        let mut rules = self.write();
        let mut session = rules.session.clone();
        for rule in added {
            if !session.contains(&rule) {
                session.push(rule);
            }
        }
        let configured = rules.configured.clone();
        rules.set_session(configured, session, &*self.paths)
    }

    fn read(&self) -> RwLockReadGuard<'_, Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rules> {
        self.rules.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the rules of one list: removes some, then adds some.
    fn change_rules(
        &self,
        update: &RuleUpdate,
        removed: impl Fn(&str) -> bool,
        added: &[String],
        file: Option<&str>,
    ) -> Result<(), RuleError> {
        let (list, destination) = (list_of(update.behavior), update.destination);
        let mut rules = self.write();
        let mut configured = rules.configured.clone();
        if let Some(file) = file {
            configured.remove(list, |rule| is_of_file(rule, file) && removed(&rule.text));
        }
        let mut session = rules.session.clone();
        session.retain(|rule| {
            rule.list != list || rule.destination != destination || !removed(&rule.text)
        });
        for text in added {
            let rule = SessionRule { list, text: text.clone(), destination };
            if !session.contains(&rule) {
                session.push(rule);
            }
        }
        rules.set_session(configured, session, &*self.paths)
    }

    /// Changes the folders of the workspace, here and for the subagents that run.
    fn change_folders(&self, change: impl FnOnce(&mut Vec<PathBuf>)) -> Result<(), String> {
        // Held until the subagents have the change: each replaces their list, so the last one must be the
        // last one here, too. A subagent has a gate of its own.
        let _order = self.folder_order.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rules = self.write();
        let before = &rules.configured.workspace().additional;
        let mut folders = before.clone();
        change(&mut folders);
        if *before == folders {
            return Ok(());
        }
        if let Some(follow) = &rules.on_folders {
            follow(&folders)?;
        }
        let configured = rules.configured.clone().with_additional(folders.clone(), &*self.paths);
        let session = rules.session.clone();
        let set = rules.set_session(configured, session, &*self.paths);
        set.map_err(|error| error.to_string())?;
        drop(rules);
        self.to_followers(|gate| gate.set_folders(&folders))
    }

    /// Passes rules that deny or ask on to the gates of subagents that run.
    fn restrict_followers(&self, verdict: Verdict, rules: &[String]) -> Result<(), String> {
        self.to_followers(|gate| gate.restrict(verdict, rules))
    }

    /// Changes the gates of subagents that run: all of them, also if one fails.
    fn to_followers(&self, change: impl Fn(&dyn Gate) -> Result<(), String>) -> Result<(), String> {
        // Called without the lock: a follower has followers of its own.
        let followers = self.read().followers.clone();
        let changed: Vec<_> =
            followers.iter().filter_map(Weak::upgrade).map(|gate| change(&*gate)).collect();
        changed.into_iter().collect()
    }

    fn resolve(&self, folders: &[String]) -> Vec<PathBuf> {
        let rules = self.read();
        let workspace = rules.configured.workspace();
        folders.iter().map(|folder| workspace.resolve(folder)).collect()
    }
}

fn list_of(verdict: Verdict) -> List {
    match verdict {
        Verdict::Allow => List::Allow,
        Verdict::Ask => List::Ask,
        Verdict::Deny => List::Deny,
    }
}

/// Returns whether a rule was read from this file; the label of its source may have a line, too.
fn is_of_file(rule: &Rule, file: &str) -> bool {
    let line = rule.source.label.strip_prefix(file);
    line.is_some_and(|line| line.is_empty() || line.starts_with(':'))
}

fn judge(rules: &RwLock<Rules>, call: &ToolCall<'_>, paths: &dyn Paths) -> Judgement {
    let judgement =
        rules.read().unwrap_or_else(PoisonError::into_inner).effective.judge(call, paths);
    Judgement {
        verdict: judgement.verdict,
        class: judgement.class,
        reason: judgement.why().to_owned(),
        source: match judgement.source {
            robota_policy::VerdictSource::Mode => Source::Mode,
            robota_policy::VerdictSource::Unproven
            | robota_policy::VerdictSource::Danger
            | robota_policy::VerdictSource::Protected
            | robota_policy::VerdictSource::Critical
            | robota_policy::VerdictSource::Input
            // Only an ask of the mode may be lifted by a hook. Everything else is as strict as a
            // rule.
            | robota_policy::VerdictSource::Rule => Source::Rule,
        },
        grant: if judgement.read_only_proof { Grant::ReadOnly } else { Grant::Full },
        rules: judgement.suggestion.map(|suggestion| suggestion.rules).unwrap_or_default(),
    }
}

fn denied(reason: &str) -> Judgement {
    Judgement {
        verdict: Verdict::Deny,
        class: Class::Execute,
        reason: reason.to_owned(),
        source: Source::Rule,
        rules: Vec::new(),
        grant: Grant::Full,
    }
}

#[async_trait::async_trait]
impl Gate for PolicyGate {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let Some(input) = call.input.json().cloned() else {
            return denied("the arguments cannot be read, so they cannot be judged");
        };
        let (rules, paths) = (Arc::clone(&self.rules), Arc::clone(&self.paths));
        let (name, class) = (tool.name.clone(), tool.class);
        let limits = self.limits.clone();
        // Paths are resolved on disk, which may take long, so this runs in a blocking thread.
        let judged = tokio::task::spawn_blocking(move || {
            let call = ToolCall { tool: &name, input: &input, class };
            match limits.iter().find_map(|limits| limits.refusal(&call, &*paths)) {
                Some(refusal) => denied(&refusal),
                None => judge(&rules, &call, &*paths),
            }
        });
        judged.await.unwrap_or_else(|_| denied("the policy panicked, so nothing may run"))
    }

    fn remember(&self, rules: &[String]) -> Result<(), String> {
        let rules = rules.iter().map(|rule| SessionRule::new(List::Allow, rule));
        self.add_all(rules).map_err(|error| error.to_string())
    }

    fn restrict(&self, verdict: Verdict, rules: &[String]) -> Result<(), String> {
        if verdict == Verdict::Allow {
            return Err("a restriction cannot allow".to_owned());
        }
        let added = rules.iter().map(|rule| SessionRule::new(list_of(verdict), rule));
        self.add_all(added).map_err(|error| error.to_string())?;
        self.restrict_followers(verdict, rules)
    }

    fn update(&self, update: &PermissionUpdate, file: Option<&str>) -> Result<(), String> {
        let changed = match update {
            PermissionUpdate::AddRules(update) => {
                self.change_rules(update, |_| false, &update.rules, file)
            }
            PermissionUpdate::ReplaceRules(update) => {
                self.change_rules(update, |_| true, &update.rules, file)
            }
            PermissionUpdate::RemoveRules(update) => {
                let named = |text: &str| update.rules.iter().any(|rule| rule == text);
                self.change_rules(update, named, &[], file)
            }
            PermissionUpdate::SetMode { mode, .. } => {
                self.set_mode(*mode);
                return Ok(());
            }
            PermissionUpdate::AddDirectories(update) => {
                let added = self.resolve(&update.directories);
                return self.change_folders(|folders| {
                    for folder in added {
                        if !folders.contains(&folder) {
                            folders.push(folder);
                        }
                    }
                });
            }
            PermissionUpdate::RemoveDirectories(update) => {
                let removed = self.resolve(&update.directories);
                let kept = |folder: &PathBuf| !removed.contains(folder);
                return self.change_folders(|folders| folders.retain(kept));
            }
        };
        changed.map_err(|error| error.to_string())?;
        match update {
            PermissionUpdate::AddRules(update) | PermissionUpdate::ReplaceRules(update)
                if update.behavior != Verdict::Allow =>
            {
                self.restrict_followers(update.behavior, &update.rules)
            }
            _ => Ok(()),
        }
    }

    fn restrictions(&self) -> Restrictions {
        let rules = self.read();
        let session = rules.session.iter().map(|rule| (rule.list, &rule.text));
        let mut restrictions = Restrictions::default();
        for (list, text) in session.chain(rules.turn.iter().map(|(list, text)| (*list, text))) {
            match list {
                List::Deny => restrictions.deny.push(text.clone()),
                List::Ask => restrictions.ask.push(text.clone()),
                List::Allow => {}
            }
        }
        restrictions
    }

    fn folders(&self) -> Option<Vec<PathBuf>> {
        Some(self.read().configured.workspace().additional.clone())
    }

    fn set_folders(&self, folders: &[PathBuf]) -> Result<(), String> {
        self.change_folders(|own| *own = folders.to_vec())
    }

    fn pass_changes_to(&self, gate: Weak<dyn Gate>) {
        let mut rules = self.write();
        rules.followers.retain(|follower| follower.strong_count() > 0);
        rules.followers.push(gate);
    }

    fn add_turn_rules(&self, allow: &[String], deny: &[String]) -> Vec<String> {
        let mut rules = self.write();
        let source = Arc::new(RuleSource::session());
        let allow = allow.iter().map(|rule| (List::Allow, rule));
        let all = allow.chain(deny.iter().map(|rule| (List::Deny, rule)));
        let mut invalid = Vec::new();
        for (list, rule) in all {
            match rules.effective.add(list, &source, rule, &*self.paths) {
                Ok(()) => rules.turn.push((list, rule.clone())),
                // An invalid rule allows nothing, and must not end the turn that came with it.
                Err(_) => invalid.push(rule.clone()),
            }
        }
        invalid
    }

    fn allowing(&self, rules: &[String]) -> Option<Arc<dyn Gate>> {
        let mut policy = self.read().effective.clone();
        let source = Arc::new(RuleSource::session());
        for rule in rules {
            // An invalid rule allows nothing.
            let _ = policy.add(List::Allow, &source, rule, &*self.paths);
        }
        let mut gate = Self::new(policy, self.paths.clone());
        gate.limits.clone_from(&self.limits);
        Some(Arc::new(gate))
    }

    fn forget_turn_rules(&self) {
        let mut rules = self.write();
        if rules.turn.is_empty() {
            return;
        }
        rules.turn.clear();
        let (configured, session) = (rules.configured.clone(), rules.session.clone());
        // Cannot fail: these rules were valid when they were added.
        let _ = rules.set_session(configured, session, &*self.paths);
    }

    fn remembered(&self) -> Vec<String> {
        let mut remembered: Vec<String> = Vec::new();
        for rule in self.read().session.iter().filter(|rule| rule.list == List::Allow) {
            if !remembered.contains(&rule.text) {
                remembered.push(rule.text.clone());
            }
        }
        remembered
    }

    fn forget(&self) {
        let mut rules = self.write();
        let mut session = rules.session.clone();
        session.retain(|rule| rule.list != List::Allow);
        let configured = rules.configured.clone();
        // Cannot fail: these rules were valid when they were added.
        let _ = rules.set_session(configured, session, &*self.paths);
    }

    fn for_fork(&self) -> Option<Arc<dyn Gate>> {
        // Without what the user allowed in this session: they have not seen what the fork does with
        // it.
        let mut fork = Self::new(self.read().configured.clone(), self.paths.clone());
        fork.limits.clone_from(&self.limits);
        let mut session = self.read().session.clone();
        session.retain(|rule| rule.list != List::Allow);
        // Cannot fail: these rules were valid when they were added.
        let _ = fork.add_all(session);
        if self.read().on_folders.is_some() {
            // The fork's commands start in the sandbox of this session, which must not follow the fork.
            fork.on_folders(|_| Err(FORK_FOLDERS.to_owned()));
        }
        Some(Arc::new(fork))
    }

    fn set_mode(&self, mode: Mode) {
        let mut rules = self.write();
        rules.configured = rules.configured.clone().with_mode(mode);
        rules.effective = rules.effective.clone().with_mode(mode);
    }

    fn may_ask(&self) -> bool {
        self.read().effective.mode() != Mode::DontAsk
    }
}

#[cfg(test)]
mod tests;
