//! The verdict on a call, with its reasons.

use robota_core::permission::{Class, Verdict};
use serde::{Deserialize, Serialize};

use crate::policy::Rules;
use crate::rule::{List, Rule};

/// What a verdict comes from, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictSource {
    /// The mode, because no rule matched. A trusted hook may lift an ask of this kind.
    Mode,
    /// It could not be proven that a command is one that rules allow, or that it is none that they
    /// forbid.
    Unproven,
    /// An option, a variable or a program that makes a command do more than its rule covers.
    Danger,
    /// A file that decides what other programs run.
    Protected,
    /// The removal of a place that matters, such as the home or the workspace: asks in every mode.
    Critical,
    /// The call's arguments cannot be judged.
    Input,
    /// A rule that matches the call; [`Reason::rule`] says which.
    Rule,
}

/// Refers to the rule behind a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The rule as it was written, such as `Bash(git status)`.
    pub rule: String,
    /// The list that has the rule. A deny rule leads to an ask where it may not match.
    pub list: List,
    /// Where it was written: a file, a flag or this session.
    pub from: String,
}

impl From<&Rule> for RuleRef {
    fn from(rule: &Rule) -> Self {
        Self { rule: rule.text.clone(), list: rule.list, from: rule.source.label.clone() }
    }
}

/// Gives one reason for a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What this reason alone asks for.
    pub verdict: Verdict,
    /// What it comes from.
    pub source: VerdictSource,
    /// Why, in words for people.
    pub text: String,
    /// The rule, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// The part of a command or the file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// Rules to save when the user says "always". They are as narrow as can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// At most five; together they allow the call.
    pub rules: Vec<String>,
}

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyVerdict {
    /// Whether the call runs, asks first or never runs.
    pub verdict: Verdict,
    /// What the call does, as far as its arguments prove it.
    pub class: Class,
    /// What the verdict comes from.
    pub source: VerdictSource,
    /// Why, the decisive reasons first.
    pub reasons: Vec<Reason>,
    /// What "always" would save; only for an ask, and only where it would help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
    /// Whether a shell command is allowed for no other reason than that every part of it was
    /// proven to only read: no rule and no mode allows it to run as a program. Such a command
    /// must run where it cannot write and has no network, so that a wrong proof does no harm. A
    /// command runs in one shell, so one part that a rule or the mode allows makes this false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only_proof: bool,
}

impl PolicyVerdict {
    /// Returns whether a trusted hook's "allow" may turn this into an allow.
    #[must_use]
    pub fn hook_may_lift(&self) -> bool {
        self.verdict == Verdict::Ask && self.source == VerdictSource::Mode
    }

    /// Returns the decisive reason as one line.
    #[must_use]
    pub fn why(&self) -> &str {
        self.reasons.first().map_or("", |reason| &reason.text)
    }
}

// A script can have thousands of parts; people read the first reasons.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Findings {
    reasons: Vec<Reason>,
}

impl Findings {
    pub(crate) fn add(
        &mut self,
        verdict: Verdict,
        source: VerdictSource,
        text: impl Into<String>,
        part: Option<&str>,
    ) {
        if self.is_idle(verdict) {
            return;
        }
        self.push(Reason {
            verdict,
            source,
            text: text.into(),
            rule: None,
            part: part.map(str::to_owned),
        });
    }

    pub(crate) fn ask(&mut self, from: VerdictSource, text: impl Into<String>, part: Option<&str>) {
        self.add(Verdict::Ask, from, text, part);
    }

    /// Adds a rule of each list that forbids, where there is one.
    pub(crate) fn rules<'r>(
        &mut self,
        lists: [(&'r Rules, Verdict); 2],
        part: &str,
        find: impl Fn(&'r Rules) -> Option<&'r Rule>,
    ) {
        for (rules, verdict) in lists {
            if let Some(rule) = find(rules) {
                self.rule(verdict, rule, Some(part));
            }
        }
    }

    pub(crate) fn rule(&mut self, verdict: Verdict, rule: &Rule, part: Option<&str>) {
        if self.is_idle(verdict) {
            return;
        }
        let named = RuleRef::from(rule);
        let RuleRef { rule: name, list, from } = &named;
        let about = part.map(|part| format!(" `{part}`")).unwrap_or_default();
        let verb = match list {
            List::Allow => "allows",
            List::Ask => "asks about",
            List::Deny => "denies",
        };
        self.push(Reason {
            verdict,
            source: VerdictSource::Rule,
            text: format!("the rule {name} ({from}) {verb}{about}"),
            rule: Some(named),
            part: part.map(str::to_owned),
        });
    }

    fn is_idle(&self, verdict: Verdict) -> bool {
        self.reasons.len() >= MOST && self.worst() >= verdict
    }

    fn push(&mut self, reason: Reason) {
        if self.reasons.len() < MOST && !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        } else if self.worst() < reason.verdict {
            // Many weak reasons must not hide a strong one.
            self.reasons.pop();
            self.reasons.push(reason);
        }
    }

    pub(crate) fn worst(&self) -> Verdict {
        self.reasons.iter().map(|reason| reason.verdict).max().unwrap_or(Verdict::Allow)
    }

    pub(crate) fn into_verdict(mut self, class: Class) -> PolicyVerdict {
        let verdict = self.worst();
        let source = self
            .reasons
            .iter()
            .filter(|reason| reason.verdict == verdict)
            .map(|reason| reason.source)
            .max()
            .unwrap_or(VerdictSource::Mode);
        self.reasons.sort_by_key(|reason| {
            (std::cmp::Reverse(reason.verdict), std::cmp::Reverse(reason.source))
        });
        PolicyVerdict {
            verdict,
            class,
            source,
            reasons: self.reasons,
            suggestion: None,
            read_only_proof: false,
        }
    }
}
