//! The gate: every tool call must pass one before it runs. The driver cannot be built without a
//! [`Gate`], and the default gate allows only read-only tools.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

use crate::message::{ToolInput, ToolUse};
use crate::permission::{Class, Mode, PermissionUpdate, Verdict};
use crate::tool::{Tool, ToolSpec};

/// Judges tool calls.
///
/// ```
/// use robota_core::gate::{Gate, Grant, Judgement, Source};
/// use robota_core::message::ToolUse;
/// use robota_core::permission::Verdict;
/// use robota_core::tool::ToolSpec;
///
/// /// Denies one tool, and allows all others.
/// struct Without(&'static str);
///
/// #[async_trait::async_trait]
/// impl Gate for Without {
///     async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
///         let denied = tool.name == self.0;
///         Judgement {
///             verdict: if denied { Verdict::Deny } else { Verdict::Allow },
///             class: tool.class,
///             reason: format!("{} is {}", tool.name, if denied { "denied" } else { "allowed" }),
///             source: Source::Rule,
///             rules: Vec::new(),
///             grant: Grant::Full,
///         }
///     }
/// }
/// # let _ = Without("Bash");
/// ```
#[async_trait::async_trait]
pub trait Gate: Send + Sync {
    /// Decides whether the call may run, and why.
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement;

    /// Allows calls that match these rules until the session ends, because a user approved that.
    ///
    /// # Errors
    /// When the gate does not store rules, or cannot parse one of these; the text is for users.
    fn remember(&self, _rules: &[String]) -> Result<(), String> {
        Err("this gate cannot remember rules".to_owned())
    }

    /// Denies calls that match these rules until the session ends, or requires approval for them.
    ///
    /// # Errors
    /// As [`Gate::remember`], and for the verdict allow.
    fn restrict(&self, _verdict: Verdict, _rules: &[String]) -> Result<(), String> {
        Err("this gate cannot remember rules".to_owned())
    }

    /// Makes the part of a change of permissions that is about rules and folders, until the session
    /// ends. `file` is the settings file of its destination: rules of that file are removed too.
    ///
    /// # Errors
    /// As [`Gate::remember`]; then nothing has changed.
    fn update(&self, _update: &PermissionUpdate, _file: Option<&str>) -> Result<(), String> {
        Err("this gate cannot change its rules".to_owned())
    }

    /// Returns the folders of the workspace that calls are judged by, the working folder first. Empty if
    /// the gate has no workspace.
    fn folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the rules of [`Gate::restrict`] and those of the running turn that deny calls. The gate of
    /// a subagent applies them too.
    fn restrictions(&self) -> Restrictions {
        Restrictions::default()
    }

    /// Passes each later call of [`Gate::restrict`] on to this gate, as long as it exists: that of a
    /// subagent that runs.
    fn pass_restrictions_to(&self, _gate: Weak<dyn Gate>) {}

    /// Adds rules that apply until [`Gate::forget_turn_rules`]: calls that match `allow` run, calls
    /// that match `deny` do not. Returns the rules that the gate cannot apply.
    fn add_turn_rules(&self, allow: &[String], deny: &[String]) -> Vec<String> {
        [allow, deny].concat()
    }

    /// Returns a gate that also allows calls that match these rules, for calls of the program itself.
    /// This gate stays as it is. A rule that is not valid allows nothing; `None` means that the gate
    /// has no rules.
    fn allowing(&self, _rules: &[String]) -> Option<Arc<dyn Gate>> {
        None
    }

    /// Removes the rules of [`Gate::add_turn_rules`]. The session calls it when a turn ends.
    fn forget_turn_rules(&self) {}

    /// Returns the rules of [`Gate::remember`], for display.
    fn remembered(&self) -> Vec<String> {
        Vec::new()
    }

    /// Forgets the rules of [`Gate::remember`]. Those of [`Gate::restrict`] stay.
    fn forget(&self) {}

    /// Returns a gate for a fork of the session: the same rules, without the remembered ones.
    /// `None` means that the fork may share this gate.
    fn for_fork(&self) -> Option<Arc<dyn Gate>> {
        None
    }

    /// Sets the permission mode, for a gate that uses one.
    fn set_mode(&self, _mode: Mode) {}

    /// Returns whether a user may be asked about calls that need approval. Otherwise they are denied:
    /// a hook can still allow them.
    fn may_ask(&self) -> bool {
        true
    }
}

/// Asks a gate about a call of a tool. The tool says what is judged ([`Tool::gate_input`],
/// [`Tool::judged_spec`]), and whether a user must approve each call ([`Tool::always_asks`]).
pub async fn judge_call(gate: &dyn Gate, tool: &dyn Tool, call: &ToolUse) -> Judgement {
    let judgement = match call.input.json() {
        None => gate.judge(call, tool.spec()).await,
        Some(input) => {
            let spec = tool.judged_spec(input);
            match tool.gate_input(&call.call, input) {
                // For instance, a command runs in a working folder that only its tool knows.
                Some(judged) => {
                    let call = ToolUse { input: ToolInput::Json(judged), ..call.clone() };
                    gate.judge(&call, spec).await
                }
                None => gate.judge(call, spec).await,
            }
        }
    };
    if tool.always_asks() { judgement.asking() } else { judgement }
}

/// Permission rules that make a gate stricter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restrictions {
    /// Calls that match one of these are denied.
    pub deny: Vec<String>,
    /// Calls that match one of these need approval.
    pub ask: Vec<String>,
}

impl Restrictions {
    /// Adds the rules to a gate.
    ///
    /// # Errors
    /// As [`Gate::restrict`].
    pub fn apply(&self, gate: &dyn Gate) -> Result<(), String> {
        for (verdict, rules) in [(Verdict::Deny, &self.deny), (Verdict::Ask, &self.ask)] {
            // A gate without rules need not refuse an empty list.
            if !rules.is_empty() {
                gate.restrict(verdict, rules)?;
            }
        }
        Ok(())
    }
}

/// What the gate decides about a call.
///
/// ```
/// use robota_core::gate::Judgement;
/// use robota_core::permission::Verdict;
///
/// fn may_run(judgement: &Judgement) -> bool {
///     judgement.verdict == Verdict::Allow
/// }
/// # let _ = may_run;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Whether the call runs, needs approval, or never runs.
    pub verdict: Verdict,
    /// What this call does, which can be less than its tool can do.
    pub class: Class,
    /// Why: which rule, from which file, about which part.
    pub reason: String,
    /// Whether the mode or a rule led to the verdict.
    pub source: Source,
    /// For verdict ask: the rules that the answer "always" would save. They allow as little as
    /// possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// For verdict allow: what the call may do.
    #[serde(default)]
    pub grant: Grant,
}

impl Judgement {
    /// Returns the judgement of a tool whose calls a user must approve one by one: *allow* becomes
    /// *ask*, and the question offers no rule that would allow the next call.
    #[must_use]
    pub fn asking(self) -> Self {
        if self.verdict == Verdict::Deny {
            return self;
        }
        let reason = match self.verdict {
            Verdict::Allow => EACH_CALL_NEEDS_A_USER.to_owned(),
            Verdict::Ask | Verdict::Deny => self.reason,
        };
        Self { verdict: Verdict::Ask, source: Source::Tool, rules: Vec::new(), reason, ..self }
    }
}

/// The reason of the verdict ask for a call that rules would allow.
pub const EACH_CALL_NEEDS_A_USER: &str = "the tool requires that a user approves each call";

/// What an allowed call may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// The call may do everything that the tool does.
    #[default]
    Full,
    /// Reading only. The call was allowed for no other reason than a proof that it changes nothing,
    /// so the tool prevents changes where the system can enforce that.
    ReadOnly,
}

/// What led to a verdict. A PreToolUse hook may lift an ask of the mode, but no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Source {
    /// The permission mode: no rule matches the call.
    Mode,
    /// A rule, a protected path or a dangerous command. A hook that runs before the call does not lift
    /// an ask; the answer to the question does, also that of a PermissionRequest hook.
    Rule,
    /// The tool itself, which requires that a user approves each call. No hook lifts it.
    Tool,
}

/// Judges by the mode and the tool's declared class.
///
/// ```
/// use robota_core::gate::ModeGate;
/// use robota_core::permission::Mode;
///
/// let gate = ModeGate(Mode::AcceptEdits);
/// assert_eq!(gate.0, Mode::AcceptEdits);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ModeGate(pub Mode);

#[async_trait::async_trait]
impl Gate for ModeGate {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let verdict = self.0.verdict(tool.class);
        let what = match tool.class {
            Class::Inspect => "is read-only",
            Class::Modify => "changes files",
            Class::Execute => "runs commands",
        };
        let says = match verdict {
            Verdict::Allow => "allows it",
            Verdict::Ask if self.0 == Mode::DontAsk => "requires approval",
            Verdict::Ask => "asks first",
            Verdict::Deny => "does not allow it",
        };
        Judgement {
            verdict,
            class: tool.class,
            reason: format!("{} {what}; mode `{}` {says}", tool.name, self.0),
            source: Source::Mode,
            rules: Vec::new(),
            grant: Grant::Full,
        }
    }

    fn may_ask(&self) -> bool {
        self.0 != Mode::DontAsk
    }
}

/// Allows read-only tools and denies all others, without asking. The default.
///
/// ```
/// use robota_core::agent::Agent;
/// use robota_core::gate::ReadOnlyGate;
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// let model = ScriptedProvider::new(Script::new());
/// let builder = Agent::builder(model, "any-model").gate(ReadOnlyGate);
/// # drop(builder);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOnlyGate;

#[async_trait::async_trait]
impl Gate for ReadOnlyGate {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let verdict = match tool.class {
            Class::Inspect => Verdict::Allow,
            Class::Modify | Class::Execute => Verdict::Deny,
        };
        Judgement {
            verdict,
            class: tool.class,
            reason: "no gate was configured, so only read-only tools may run".to_owned(),
            source: Source::Rule,
            rules: Vec::new(),
            grant: Grant::Full,
        }
    }
}

/// Denies every call: takes the place of a gate that panicked while its rules were changed.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct FailedGate;

#[async_trait::async_trait]
impl Gate for FailedGate {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        Judgement {
            verdict: Verdict::Deny,
            class: tool.class,
            reason: "the gate panicked while its rules were changed, so nothing may run".to_owned(),
            source: Source::Rule,
            rules: Vec::new(),
            grant: Grant::Full,
        }
    }
}

/// Allows every call. It is never a default: a program has to choose it.
///
/// ```
/// use robota_core::agent::Agent;
/// use robota_core::gate::AllowAll;
/// use robota_core::scripted::{Script, ScriptedProvider};
///
/// let model = ScriptedProvider::new(Script::new());
/// // Only for tools that are safe in every call.
/// let builder = Agent::builder(model, "any-model").gate(AllowAll);
/// # drop(builder);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

#[async_trait::async_trait]
impl Gate for AllowAll {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        Judgement {
            verdict: Verdict::Allow,
            class: tool.class,
            reason: "everything is allowed".to_owned(),
            source: Source::Mode,
            rules: Vec::new(),
            grant: Grant::Full,
        }
    }
}
