//! Applies rules about whole calls, and judges the tools that use neither files nor a shell.

use robota_core::permission::{Mode, Verdict};

use super::Base;
use crate::call::{self, Family, ToolCall};
use crate::policy::{Policy, Rules};
use crate::rule::{Matcher, Rule};
use crate::verdict::{Findings, VerdictSource};
use crate::web::Target;

impl Policy {
    /// Applies deny and ask rules that need only the call's name and parameters.
    pub(super) fn whole_call_rules(&self, call: &ToolCall<'_>, found: &mut Findings) {
        for (rules, verdict) in self.forbidding() {
            for rule in rules.calls() {
                if call_matches(rule, call, false) {
                    found.rule(verdict, rule, None);
                }
            }
        }
    }

    pub(super) fn whole_call_allowed(&self, call: &ToolCall<'_>) -> Option<&Rule> {
        self.allow.calls().find(|rule| call_matches(rule, call, true))
    }

    pub(super) fn other_call(&self, call: &ToolCall<'_>, found: &mut Findings) -> Base {
        match call::canonical(call.tool) {
            "WebFetch" => self.web_fetch(call, found),
            // Only the user approves a plan; no rule can. Outside plan mode the tool changes nothing.
            "ExitPlanMode" => {
                if self.mode == Mode::Plan {
                    let why = "the user approves the plan before plan mode ends";
                    found.add(Verdict::Ask, VerdictSource::Input, why, None);
                }
                Base::ReadOnly
            }
            name => {
                let allowed = self.whole_call_allowed(call);
                if let Some(rule) = allowed {
                    found.rule(Verdict::Allow, rule, None);
                }
                match (name, allowed) {
                    ("WebSearch", Some(_)) => Base::ReadAllowed,
                    ("WebSearch", None) => Base::ReadOutside,
                    (_, Some(_)) => Base::Allowed(call.class),
                    (_, None) => Base::ByMode(call.class),
                }
            }
        }
    }

    fn web_fetch(&self, call: &ToolCall<'_>, found: &mut Findings) -> Base {
        let Some(url) = call.input.get("url").and_then(serde_json::Value::as_str) else {
            found.ask(VerdictSource::Input, "the call has no `url`", None);
            return Base::ReadOutside;
        };
        let target = match Target::parse(url) {
            Ok(target) => target,
            Err(problem) => {
                found.add(Verdict::Deny, VerdictSource::Input, problem, Some(url));
                return Base::ReadOutside;
            }
        };
        fn host<'r>(rules: &'r Rules, target: &Target) -> Option<&'r Rule> {
            let hit = |rule: &&Rule| match &rule.matcher {
                Matcher::Host(pattern) => pattern.matches(target),
                _ => false,
            };
            rules.calls().find(hit)
        }
        found.rules(self.forbidding(), &target.host, |rules| host(rules, &target));
        match self.whole_call_allowed(call).or_else(|| host(&self.allow, &target)) {
            Some(rule) => {
                found.rule(Verdict::Allow, rule, Some(&target.host));
                Base::ReadAllowed
            }
            None => Base::ReadOutside,
        }
    }
}

/// Returns whether a rule over calls matches. For allow rules every doubt is a no.
pub(super) fn call_matches(rule: &Rule, call: &ToolCall<'_>, allow: bool) -> bool {
    let name = call::canonical(call.tool);
    match &rule.matcher {
        Matcher::Family(family) => Family::of_tool(call.tool) == Some(*family),
        Matcher::Name(wild) => wild.matches(name) || wild.matches(call.tool),
        Matcher::Named { tool, name: want, boundary } => {
            if name != *tool {
                return false;
            }
            let fields: &[&str] = match *tool {
                "Agent" => &["subagent_type", "subagentType", "agent", "agentType", "type", "name"],
                _ => &["skill", "name", "command"],
            };
            let given: Vec<String> = fields
                .iter()
                .filter_map(|field| call.input.get(field).and_then(call::scalar))
                .collect();
            let hit = |text: &String| {
                want.matches(text)
                    || (*boundary
                        && text.split_whitespace().next().is_some_and(|w| want.matches(w)))
            };
            // For an allow rule every field that may name the agent has to match, or a second field
            // could name another one.
            if allow { !given.is_empty() && given.iter().all(hit) } else { given.iter().any(hit) }
        }
        Matcher::Parameter { tool, name: param, value } => {
            (tool.matches(name) || tool.matches(call.tool))
                && call.input.get(param).and_then(call::scalar).is_some_and(|v| value.matches(&v))
        }
        Matcher::Argument { tool, value } => {
            if tool != name && tool != call.tool {
                return false;
            }
            let Some(fields) = call.input.as_object() else { return false };
            let mut texts = fields.values().filter_map(call::scalar);
            // Another field could change what the call does, so an allow rule needs a call with
            // this one alone.
            if allow {
                fields.len() == 1 && texts.next().is_some_and(|text| value.matches(&text))
            } else {
                texts.any(|text| value.matches(&text))
            }
        }
        Matcher::Command(_) | Matcher::File { .. } | Matcher::Host(_) => false,
    }
}
