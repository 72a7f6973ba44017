//! What the session used, by model, and its budget.

use robota_core::catalogue::format_tokens;
use robota_sdk::{Budget, BudgetUse, Costs};

use super::report::{self, Report};
use super::{Opening, work};
use crate::terminal::event::clock_text;
use crate::terminal::text::{Line, Role};

/// Opens the page and asks for the costs.
pub(super) fn open() -> Opening {
    report::open(work(|context| async move {
        let spending = context.session.spending();
        let costs = spending.costs().await.map_err(|error| error.to_string());
        Report(costs.map(|costs| lines(&costs, &spending.budget(), &spending.used())))
    }))
}

/// Renders the models, and the budget.
pub(super) fn lines(costs: &Costs, budget: &Budget, used: &BudgetUse) -> Vec<Line> {
    let total = match costs.cost() {
        Some(cost) => format!("${cost:.4}"),
        None => format!("at least ${:.4} (a model has no known price)", costs.known_cost()),
    };
    let mut lines = vec![Line::new(format!("Cost: {total}"), Role::Accent), Line::default()];
    for (model, cost) in &costs.models {
        let usage = cost.usage;
        let price = cost.cost.map_or("unknown price".to_owned(), |cost| format!("${cost:.4}"));
        let calls = if cost.calls == 1 { "call" } else { "calls" };
        lines.push(Line::new(model, Role::Text));
        // Two rows, which fit into narrow terminals too.
        let used = format!(
            "  {price} · {} {calls} · {} in · {} out · {} cache read · {} cache write",
            cost.calls,
            format_tokens(usage.uncached_input()),
            format_tokens(usage.output_tokens),
            format_tokens(usage.cache_read_tokens),
            format_tokens(usage.cache_write_tokens),
        );
        lines.push(Line::new(used, Role::Dim));
    }
    if costs.models.is_empty() {
        lines.push(Line::new("No model was called yet.", Role::Dim));
    }
    let limits = &budget.session;
    let mut limit = |name: &str, used: String, most: Option<String>| {
        if let Some(most) = most {
            lines.push(Line::new(format!("Budget, {name}: {used} of {most}"), Role::Text));
        }
    };
    limit("dollars", format!("${:.4}", used.usd), limits.usd.map(|usd| format!("${usd:.2}")));
    limit("tokens", format_tokens(used.tokens), limits.tokens.map(format_tokens));
    limit("turns", used.turns.to_string(), limits.turns.map(|turns| turns.to_string()));
    limit("time", clock_text(used.time), limits.time.map(clock_text));
    lines
}
