//! `robota permissions explain`: shows what a rule covers, with examples that were judged.

use robota_policy::{List, RuleExample, explain_rule};
use serde_json::json;

use super::name;
use crate::args::{ExplainRuleArgs, RuleListArg};
use crate::setup::Setup;
use crate::{Exit, Usage, output};

pub(super) fn explain(args: &ExplainRuleArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let list = match args.list {
        RuleListArg::Allow => List::Allow,
        RuleListArg::Ask => List::Ask,
        RuleListArg::Deny => List::Deny,
    };
    let explanation = explain_rule(&args.rule, list, &setup.workspace())
        .map_err(|error| Usage(error.to_string()))?;
    if args.json {
        output::line(&json!(explanation).to_string());
        return Ok(Exit::Ok);
    }
    output::line(&format!("{} in the {list} list: {}.", explanation.rule, explanation.about));
    section("covers:", &explanation.covered);
    section("does not cover:", &explanation.not_covered);
    Ok(Exit::Ok)
}

fn section(title: &str, examples: &[RuleExample]) {
    if examples.is_empty() {
        return;
    }
    output::line(title);
    let width = examples.iter().map(|example| example.call.chars().count()).max().unwrap_or(0);
    for example in examples {
        let verdict = name(example.verdict);
        output::line(&format!("  {verdict:5}  {:width$}  {}", example.call, example.reason));
    }
}
