//! `robota permissions check`: explains the verdict on a command or a tool call, without running
//! it.

use std::io::BufRead as _;
use std::path::PathBuf;

use anyhow::Context as _;
use robota_core::permission::{Mode, Verdict};
use robota_exec::OsPaths;
use robota_policy::{
    ExplainedCommand, Explanation, List, Policy, PolicySpec, PolicyVerdict, Reason, RuleSource,
    ToolCall, Workspace,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{declared_class, deny_questions, judge, name};
use crate::args::CheckArgs;
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// The size limit of one line of a batch, in bytes.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Explains one verdict, or with `--batch` one per line of standard input.
pub(super) fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    if args.batch {
        return batch(args);
    }
    let (tool, input) = match (&args.command, &args.tool, &args.input) {
        (Some(command), None, None) => ("Bash", json!({ "command": command })),
        (None, Some(tool), Some(input)) => {
            let input: Value = serde_json::from_str(input)
                .map_err(|error| Usage(format!("--input: invalid JSON: {error}")))?;
            (tool.as_str(), input)
        }
        _ => {
            output::error(
                "a command is required, e.g. 'git status | head', or --tool and --input, e.g. \
                 --tool Read --input '{\"file_path\": \".env\"}'",
            );
            return Ok(Exit::Usage);
        }
    };
    let setup = Setup::load(&args.settings, args.mode)?;
    setup.report_problems();
    let mut policy = setup.policy.clone();
    for (list, rules) in
        [(List::Allow, &args.allow), (List::Ask, &args.ask), (List::Deny, &args.deny)]
    {
        for rule in rules {
            let source = std::sync::Arc::new(RuleSource::session());
            policy.add(list, &source, rule, &OsPaths)?;
        }
    }
    let explanation = judge(&policy, tool, &input);
    if args.json {
        output::line(&with_reason(json!(explanation), &explanation.verdict).to_string());
    } else {
        explain(tool, &explanation);
    }
    Ok(Exit::Ok)
}

fn explain(tool: &str, explanation: &Explanation) {
    let judged = &explanation.verdict;
    output::line(match (judged.verdict, judged.read_only_proof) {
        (Verdict::Allow, true) => {
            "allow: runs without approval, where it cannot write and has no network"
        }
        (Verdict::Allow, false) => "allow: runs without approval",
        (Verdict::Ask, _) => "ask: needs approval (denied in headless mode)",
        (Verdict::Deny, _) => "deny: never runs",
    });
    // A single command has the reasons of the call.
    let listed = if explanation.commands.len() > 1 { explanation.commands.as_slice() } else { &[] };
    tree_lines(listed).iter().for_each(|line| output::line(line));
    let shown = |reason: &&Reason| listed.iter().any(|one| one.reasons.first() == Some(reason));
    for reason in judged.reasons.iter().filter(|reason| !shown(reason)) {
        output::line(&format!("  {}", described(reason)));
    }
    for doubt in &explanation.doubts {
        if !judged.reasons.iter().any(|reason| reason.text == *doubt) {
            output::line(&format!("  {doubt}"));
        }
    }
    if let Some(suggestion) = &judged.suggestion {
        output::line(&format!("  \"always allow\" would save: {}", suggestion.rules.join(", ")));
    }
    if judged.reasons.is_empty() {
        output::line(&format!("  {tool}: no rule applies and the mode allows it"));
    }
}

/// Lists the commands, each with its verdict, below the statements that contain them.
pub(crate) fn tree_lines(commands: &[ExplainedCommand]) -> Vec<String> {
    let mut lines = Vec::new();
    let indent = |depth: usize| "  ".repeat(depth + 1);
    let mut within: &[&str] = &[];
    for command in commands {
        let shared = within.iter().zip(&command.within).take_while(|(a, b)| a == b).count();
        for (depth, label) in command.within.iter().enumerate().skip(shared) {
            lines.push(format!("{}{label}", indent(depth)));
        }
        within = &command.within;
        let verdict = name(command.verdict);
        let why = match command.reasons.first() {
            Some(reason) => format!("  ({})", reason.text),
            None => String::new(),
        };
        lines.push(format!("{}{verdict:5} {}{why}", indent(command.within.len()), command.text));
    }
    lines
}

/// Returns the text of a reason. The text of a rule already names the rule, its file and the part of the
/// call that it matched; to other texts the part is added.
fn described(reason: &Reason) -> String {
    match (&reason.part, &reason.rule) {
        (Some(part), None) => format!("{} [{part}]", reason.text),
        _ => reason.text.clone(),
    }
}

fn with_reason(mut value: Value, judged: &PolicyVerdict) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.insert("reason".to_owned(), judged.why().into());
    }
    value
}

/// One case of a batch. Its rules are session rules: `/p` is anchored at its `cwd`.
#[derive(Deserialize)]
#[serde(expecting = "an object with `tool` and `input`")]
struct Case {
    #[serde(default)]
    id: Value,
    tool: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    home: Option<PathBuf>,
    #[serde(default, rename = "additionalDirectories")]
    additional_directories: Vec<PathBuf>,
}

/// Prints one verdict per line of input, in order. An invalid line gets the verdict `error` and does
/// not end the batch.
fn batch(args: &CheckArgs) -> anyhow::Result<Exit> {
    let mut lines = std::io::stdin().lock();
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        let read = lines.read_until(b'\n', &mut line).context("cannot read standard input")?;
        if read == 0 {
            return Ok(Exit::Ok);
        }
        number += 1;
        output::line(&verdict_line(&line, number, args).to_string());
    }
}

fn verdict_line(line: &[u8], number: u64, args: &CheckArgs) -> Value {
    if line.iter().all(u8::is_ascii_whitespace) {
        return failure(&Value::Null, &format!("line {number} is empty"));
    }
    if line.len() > MAX_LINE {
        return failure(&Value::Null, &format!("line {number} is longer than {MAX_LINE} bytes"));
    }
    let case: Case = match serde_json::from_slice(line) {
        Ok(case) => case,
        Err(error) => {
            // The id is read without the rest, so that the caller can assign the error to its case.
            let id = serde_json::from_slice::<Value>(line)
                .ok()
                .and_then(|value| value.get("id").cloned())
                .unwrap_or_default();
            return failure(&id, &format!("line {number} is not a valid case: {error}"));
        }
    };
    let cwd = match case.cwd.clone().map_or_else(|| robota_sdk::working_directory(None), Ok) {
        Ok(cwd) => cwd,
        Err(error) => return failure(&case.id, &format!("{error:#}")),
    };
    // The verdict of a case must not depend on the user who runs it.
    let home = case.home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let mut workspace = Workspace::new(cwd, home);
    for dir in &case.additional_directories {
        workspace = workspace.with_additional(dir);
    }
    let spec = PolicySpec::new(workspace)
        .with_defaults()
        .mode(case.mode.or(args.mode).unwrap_or_default())
        .rules(List::Allow, RuleSource::session(), with(&args.allow, case.allow))
        .rules(List::Ask, RuleSource::session(), with(&args.ask, case.ask))
        .rules(List::Deny, RuleSource::session(), with(&args.deny, case.deny));
    let (policy, errors) = Policy::new(&spec, &OsPaths);
    let call = ToolCall { tool: &case.tool, input: &case.input, class: declared_class(&case.tool) };
    let mut judged = policy.judge(&call, &OsPaths);
    deny_questions(&policy, &mut judged);
    let mut value = with_reason(json!(judged), &judged);
    if let Value::Object(fields) = &mut value {
        fields.shift_insert(0, "id".to_owned(), case.id);
        if !errors.is_empty() {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            fields.insert("rule_errors".to_owned(), json!(errors));
        }
    }
    value
}

/// Returns the rules of the command line, which apply to every case, followed by those of a case.
fn with(arguments: &[String], case: Vec<String>) -> Vec<String> {
    arguments.iter().cloned().chain(case).collect()
}

fn failure(id: &Value, reason: &str) -> Value {
    json!({"id": id, "verdict": "error", "reason": reason})
}
