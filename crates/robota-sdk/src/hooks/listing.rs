//! The list of configured hooks: what runs when, and from which file.

use std::fmt;
use std::time::Duration;

use robota_config::{Layer, Origin, Settings};
use robota_core::hook::{HookDefinition, HookEvent, HookKind, MatchedOn, Matcher, OwnedHook};
use serde::Serialize;

use crate::agents::hook_owner;
use crate::interactive::InteractiveSession;
use crate::skills::{HookOwner, written_groups};

/// The hooks of a session: those of the settings in the order in which they are merged, then those of
/// plugins, of skills that were used, and of agents.
///
/// ```
/// use robota_sdk::hooks::HookListing;
///
/// fn count(listing: &HookListing) -> usize {
///     if listing.disabled { 0 } else { listing.hooks.len() }
/// }
/// # let _ = count;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HookListing {
    /// Whether `disableAllHooks` turns them all off.
    pub disabled: bool,
    /// The hooks in the order of the settings; one that is there twice is listed twice.
    pub hooks: Vec<ListedHook>,
}

/// Describes one configured hook.
///
/// ```
/// use robota_sdk::hooks::ListedHook;
///
/// fn line(hook: &ListedHook) -> String {
///     format!("{}: {} ({})", hook.event, hook.label, hook.source())
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedHook {
    /// The event as it is written in the settings.
    pub event: String,
    /// The matcher; `None` if the hook applies to everything.
    pub matcher: Option<String>,
    /// The permission rule of `if`: the hook runs only for calls that it matches.
    pub condition: Option<String>,
    /// A short text that identifies the hook: its kind and its command, URL or prompt.
    pub label: String,
    /// How long the hook may run before it is ended.
    pub timeout: Duration,
    /// The file and line of its group; none for a hook that settings do not define.
    pub origin: Option<Origin>,
    /// The plugin, skill or agent that brought it; none for a hook of settings.
    pub owner: Option<String>,
    /// Whether it runs, and why not.
    pub effect: HookEffect,
    /// What a user should know about it.
    pub notes: Vec<String>,
}

/// Whether a configured hook runs.
///
/// ```
/// use robota_sdk::hooks::HookEffect;
///
/// fn runs(effect: &HookEffect) -> bool {
///     matches!(effect, HookEffect::Runs | HookEffect::RunsDetached)
/// }
/// assert!(!runs(&HookEffect::Never("its event is not known".to_owned())));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEffect {
    /// It runs, and the session waits for it.
    Runs,
    /// It runs in the background and cannot block. Its exit code 2 may wake the model.
    RunsDetached,
    /// An equal hook, defined before, runs instead.
    Duplicate,
    /// It cannot run and blocks where hooks decide.
    Blocks(String),
    /// It never runs; the text says why.
    Never(String),
}

impl HookListing {
    /// Lists the hooks of settings. `kinds` are the kinds that have an executor.
    #[must_use]
    pub fn of(settings: &Settings, kinds: &[HookKind]) -> Self {
        let mut hooks: Vec<ListedHook> = Vec::new();
        for (event, groups) in &settings.hooks {
            let mut seen: Vec<(Option<&str>, &HookDefinition)> = Vec::new();
            for sourced in groups {
                // An empty matcher matches everything, as an absent one does.
                let matcher = sourced.group.matcher.as_deref().filter(|text| !text.is_empty());
                for hook in &sourced.group.hooks {
                    let mut listed = list(event, matcher, hook, kinds);
                    listed.origin = Some(sourced.origin.clone());
                    if hook.once() {
                        listed.notes.push("`once` has an effect only in a skill".to_owned());
                    }
                    if seen.contains(&(matcher, hook)) {
                        listed.effect = HookEffect::Duplicate;
                    }
                    seen.push((matcher, hook));
                    hooks.push(listed);
                }
            }
        }
        Self { disabled: settings.values.disable_all_hooks == Some(true), hooks }
    }

    /// Lists the hooks of a session, also those that skills have brought since it was opened; none for
    /// a session without settings.
    #[must_use]
    pub fn of_session(session: &InteractiveSession) -> Option<Self> {
        let mut listing = Self::of(&session.project()?.settings, &HookKind::ALL);
        // Without hooks of settings none of these run either.
        if listing.disabled {
            return Some(listing);
        }
        let managed_only = session.project()?.settings.managed_hooks_only;
        let mut agents = Vec::new();
        for agent in session.agent_runs().iter().flat_map(|runs| runs.definitions().iter()) {
            let HookOwner { name: owner, layer } = hook_owner(agent);
            let excluded = managed_only && layer != Layer::Managed;
            for (event, group) in agent.hooks.iter().flat_map(written_groups) {
                for hook in &group.hooks {
                    let mut listed = list(event, group.matcher.as_deref(), hook, &HookKind::ALL);
                    listed.notes.push("it runs while the agent works, or when it ends".to_owned());
                    if excluded {
                        let why = "the administrator allows only hooks of managed files";
                        listed.effect = HookEffect::Never(why.to_owned());
                    }
                    agents.push(ListedHook { owner: Some(owner.clone()), ..listed });
                }
            }
        }
        let owned = session.settings_hooks().map(|runner| runner.owned_hooks());
        for OwnedHook { owner, event, matcher, hook } in owned.into_iter().flatten() {
            // Those of its end, which the session runs.
            if !agents.iter().any(|of_agent| of_agent.owner.as_deref() == Some(&*owner)) {
                let listed = list(event.name(), matcher.as_deref(), &hook, &HookKind::ALL);
                listing.hooks.push(ListedHook { owner: Some(owner.to_string()), ..listed });
            }
        }
        listing.hooks.extend(agents);
        Some(listing)
    }
}

impl ListedHook {
    /// Returns where the hook comes from: the file and line, or the plugin, skill or agent.
    #[must_use]
    pub fn source(&self) -> String {
        let origin = self.origin.as_ref().map(ToString::to_string);
        origin.or_else(|| self.owner.clone()).unwrap_or_default()
    }
}

fn list(
    event_name: &str,
    matcher: Option<&str>,
    hook: &HookDefinition,
    kinds: &[HookKind],
) -> ListedHook {
    // An empty matcher matches everything, as an absent one does.
    let matcher = matcher.filter(|text| !text.is_empty());
    let event = event_name.parse::<HookEvent>().ok();
    let mut notes = Vec::new();
    if let (Some(event), Some(_)) = (event, matcher) {
        if event.matched_on() == MatchedOn::Nothing {
            notes.push("the matcher is ignored at this event".to_owned());
        }
        notes.extend(Matcher::read(event, matcher).1.map(|invalid| invalid.to_string()));
    }
    notes.extend(hook.timeout_warning());
    ListedHook {
        event: event_name.to_owned(),
        matcher: matcher.map(str::to_owned),
        condition: hook.condition().map(str::to_owned),
        label: hook.label(),
        // Hooks of an unknown event never run.
        timeout: hook.timeout_at(event.unwrap_or(HookEvent::PreToolUse)),
        origin: None,
        owner: None,
        effect: effect(event, hook, kinds),
        notes,
    }
}

fn effect(event: Option<HookEvent>, hook: &HookDefinition, kinds: &[HookKind]) -> HookEffect {
    let Some(event) = event else {
        return HookEffect::Never("this version does not have the event".to_owned());
    };
    if !hook.is_enabled() {
        return HookEffect::Never("`enabled` is false".to_owned());
    }
    let broken = match (hook, hook.runs_as()) {
        (HookDefinition::Unusable(hook), _) => Some(hook.reason.clone()),
        (_, Some(kind)) if kinds.contains(&kind) => None,
        (_, kind) => {
            let kind = kind.map_or("unknown", HookKind::name);
            Some(format!("nothing here runs hooks of kind `{kind}`"))
        }
    };
    match broken {
        Some(reason) if event.is_gate() => HookEffect::Blocks(reason),
        Some(reason) => HookEffect::Never(reason),
        None if hook.condition().is_some()
            && !event.is_gate()
            && event.matched_on() != MatchedOn::Tool =>
        {
            HookEffect::Never("`if` is for tool events".to_owned())
        }
        None if hook.is_detached() || hook.wakes_at(event) => HookEffect::RunsDetached,
        None => HookEffect::Runs,
    }
}

impl fmt::Display for ListedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.event)?;
        if let Some(matcher) = &self.matcher {
            write!(f, " ({})", matcher.escape_debug())?;
        }
        write!(f, ": {}", self.label)?;
        if let Some(rule) = &self.condition {
            write!(f, " if {}", rule.escape_debug())?;
        }
        match &self.effect {
            HookEffect::Runs => {}
            HookEffect::RunsDetached => write!(f, ", in the background")?,
            HookEffect::Duplicate => write!(f, ", a copy that does not run again")?,
            HookEffect::Blocks(reason) => write!(f, ", cannot run and blocks: {reason}")?,
            HookEffect::Never(reason) => write!(f, ", never runs: {reason}")?,
        }
        write!(f, ", from {}", self.source())?;
        self.notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
    }
}

impl fmt::Display for HookListing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.disabled {
            writeln!(f, "All hooks are turned off (disableAllHooks).")?;
        }
        if self.hooks.is_empty() {
            return writeln!(f, "No hooks are configured.");
        }
        self.hooks.iter().try_for_each(|hook| writeln!(f, "{hook}"))
    }
}
