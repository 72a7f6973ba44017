//! `robota permissions`: explains decisions and rules, tests them, and adds shipped rule sets.

mod check;
mod explain;
mod preset;
mod test;

use robota_core::permission::{Class, Verdict};
use robota_exec::OsPaths;
use robota_policy::{Explanation, Policy, ToolCall};
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
    policy.explain(&ToolCall { tool, input, class: declared_class(tool) }, &OsPaths)
}

/// Returns the class of a built-in tool. An unknown tool is treated as one that executes code.
fn declared_class(tool: &str) -> Class {
    match tool {
        "Read" | "Glob" | "Grep" | "WebFetch" | "WebSearch" | "TodoWrite" | "AskUserQuestion" => {
            Class::Inspect
        }
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => Class::Modify,
        _ => Class::Execute,
    }
}

/// The name of a verdict, as rules and test files spell it.
fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}
