//! `robota permissions`: explains decisions and rules, tests them, and adds shipped rule sets.

mod check;
mod explain;
mod preset;
mod test;

use std::collections::HashMap;
use std::sync::LazyLock;

use robota_core::permission::{Class, Mode, Verdict};
use robota_core::tool::READ_OUTPUT;
use robota_exec::{Environment, OsPaths, Supervisor};
use robota_policy::{Explanation, Policy, PolicyVerdict, ToolCall};
use robota_tools::ToolWorkspace;
use serde_json::Value;

pub(crate) use check::tree_lines;

use crate::Exit;
use crate::args::PermissionsCommand;

/// Runs one of the subcommands.
pub(crate) fn run(command: &PermissionsCommand) -> anyhow::Result<Exit> {
    match command {
        PermissionsCommand::Check(args) => check::check(args),
        PermissionsCommand::Explain(args) => explain::explain(args),
        PermissionsCommand::Test(args) => test::test(args),
        PermissionsCommand::Preset(args) => preset::run(&args.command),
    }
}

/// Judges a call and each command in it.
pub(crate) fn judge(policy: &Policy, tool: &str, input: &Value) -> Explanation {
    let call = ToolCall { tool, input, class: declared_class(tool) };
    let mut explanation = policy.explain(&call, &OsPaths);
    deny_questions(policy, &mut explanation.verdict);
    explanation
}

/// Denies a call that needs approval if the mode is `dontAsk`, which never asks the user.
fn deny_questions(policy: &Policy, judged: &mut PolicyVerdict) {
    if policy.mode() == Mode::DontAsk && judged.verdict == Verdict::Ask {
        judged.verdict = Verdict::Deny;
        judged.suggestion = None;
    }
}

/// Returns the class that a tool declares. An unknown tool is treated as one that executes code.
fn declared_class(tool: &str) -> Class {
    CLASSES.get(tool).copied().unwrap_or(Class::Execute)
}

/// The classes of the built-in tools, as the tools themselves declare them: `permissions check` must
/// give the verdict that a run gives.
// Made once, because a batch judges many calls.
static CLASSES: LazyLock<HashMap<String, Class>> = LazyLock::new(|| {
    let workspace = ToolWorkspace::new("/", Supervisor::new(), Environment::new());
    let mut classes = HashMap::new();
    for tool in robota_tools::tools(&workspace) {
        let spec = tool.spec();
        let aliases = tool.aliases().iter().map(|alias| (*alias).to_owned());
        classes.extend(aliases.chain([spec.name.clone()]).map(|name| (name, spec.class)));
    }
    // These need parts of a session, so they are not in the list.
    for name in ["Agent", "Task", "Skill", READ_OUTPUT] {
        classes.insert(name.to_owned(), Class::Inspect);
    }
    classes
});

/// Returns the name of a verdict, as rules and test files spell it.
fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}
