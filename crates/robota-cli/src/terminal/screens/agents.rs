//! The agents that can be given tasks.

use robota_config::agents::AgentDefinition;
use robota_sdk::AgentRuns;

use super::details::{self, Body, Entry, Kind, LoadedDetails};
use super::{Opening, work};

const KIND: Kind = Kind {
    title: "Agents",
    empty: "This session has no agents.",
    find: || {
        work(|context| async move {
            LoadedDetails(Ok(context
                .session
                .agent_runs()
                .map(|runs| entries(&runs))
                .unwrap_or_default()))
        })
    },
};

/// Opens the page.
pub(super) fn open() -> Opening {
    details::open(&KIND)
}

fn entries(runs: &AgentRuns) -> Vec<Entry> {
    let agents = runs.definitions();
    let mut entries: Vec<_> = agents.iter().map(entry).collect();
    entries.extend(agents.report.problems.iter().map(|problem| Entry {
        title: "! problem".to_owned(),
        detail: problem.to_string(),
        body: Body::Text(problem.to_string()),
        file: None,
    }));
    entries
}

fn entry(agent: &AgentDefinition) -> Entry {
    let mut text = format!("{}\n\n{}\n\nFrom: {}\n", agent.name, agent.description, agent.origin);
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("{name}: {value}\n"));
        }
    };
    field("Tools", agent.tools.as_ref().map(|tools| tools.join(", ")));
    let denied = &agent.disallowed_tools;
    field("Not allowed", (!denied.is_empty()).then(|| denied.join(", ")));
    field("Mode", agent.permission_mode.map(|mode| mode.to_string()));
    field("Most rounds", agent.max_turns.map(|turns| turns.to_string()));
    field("Effort", agent.effort.clone());
    field("Runs", agent.background.then(|| "in the background".to_owned()));
    let untrusted =
        (!agent.trusted && !agent.requests.is_empty()).then(|| agent.requests.join(", "));
    field("Not trusted, so without", untrusted);
    text.push_str(&format!("\n{}", agent.prompt));
    Entry {
        title: agent.name.clone(),
        detail: agent.description.lines().next().unwrap_or_default().to_owned(),
        body: Body::Text(text),
        file: agent.origin.file.clone(),
    }
}
