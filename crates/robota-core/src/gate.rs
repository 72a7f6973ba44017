//! The gate: no tool call runs without passing one. There is no driver without a [`Gate`], and
//! the default one lets nothing through but looking.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::ToolUse;
use crate::permission::{Class, Mode, Verdict};
use crate::tool::ToolSpec;

/// Judges tool calls.
#[async_trait::async_trait]
pub trait Gate: Send + Sync {
    /// What is to happen with this call, and why.
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement;

    /// Lets calls like these pass for the rest of the session: somebody said so.
    ///
    /// # Errors
    /// When it keeps no rules, or cannot read one of these; in words for people.
    fn remember(&self, _rules: &[String]) -> Result<(), String> {
        Err("this gate keeps no rules".to_owned())
    }

    /// The rules it was told to remember.
    fn remembered(&self) -> Vec<String> {
        Vec::new()
    }

    /// Forgets the rules it was told to remember.
    fn forget(&self) {}

    /// A gate for a fork of the session: the same rules, without those it was told to remember.
    /// One that keeps nothing may be shared.
    fn for_fork(&self) -> Option<Arc<dyn Gate>> {
        None
    }

    /// Judges by another mode from now on, if it judges by one.
    fn set_mode(&self, _mode: Mode) {}
}

/// What a gate says of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What is to happen.
    pub verdict: Verdict,
    /// What this call does.
    pub class: Class,
    /// Why: which rule, from which file, about which part.
    pub reason: String,
    /// Where the verdict came from.
    pub source: Source,
    /// The narrow rules that would allow it, for an ask that can be answered with "always".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// Where a verdict came from. A hook may lift an ask of the mode, never one of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The permission mode.
    Mode,
    /// A rule, a protected path or a danger: nothing lifts it but an answer.
    Rule,
}

/// Mode × declared class: the simplest gate that is one.
#[derive(Debug, Clone, Copy)]
pub struct ModeGate(pub Mode);

#[async_trait::async_trait]
impl Gate for ModeGate {
    async fn judge(&self, _call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let verdict = self.0.verdict(tool.class);
        let what = match tool.class {
            Class::Inspect => "only looks",
            Class::Modify => "changes files",
            Class::Execute => "runs commands",
        };
        let says = match verdict {
            Verdict::Allow => "allows it",
            Verdict::Ask => "asks first",
            Verdict::Deny => "does not allow it",
        };
        Judgement {
            verdict,
            class: tool.class,
            reason: format!("{} {what}; mode `{}` {says}", tool.name, self.0),
            source: Source::Mode,
            rules: Vec::new(),
        }
    }
}

/// Lets nothing through but inspect-class tools, and asks nobody. The default.
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
            reason: "no gate was configured, so only tools that look may run".to_owned(),
            source: Source::Rule,
            rules: Vec::new(),
        }
    }
}

/// Lets everything through. It must be written out: nothing chooses it for you.
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
        }
    }
}
