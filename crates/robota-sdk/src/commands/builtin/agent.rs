//! `/agent`: runs agents, and shows and ends those that run (RUN-08).

use async_trait::async_trait;
use robota_core::ids::TaskId;
use robota_core::task::{TaskKind, TaskMode, WaitPolicy};
use robota_runtime::AgentWork;
use serde_json::json;

use super::background::{cancel, list, no_tasks, offset, read, split};
use super::failed;
use crate::agents::{AgentResult, AgentRun, AgentRuns};
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;

pub(super) struct AgentCommand;

const USAGE: &str = "Usage: /agent list | run [--detach] NAME PROMPT | \
    parallel [--detach] NAME PROMPT | NAME PROMPT ... | read ID [OFFSET] | transcript ID | \
    send ID TEXT | cancel ID";

#[async_trait]
impl SystemCommand for AgentCommand {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("agent", "Runs agents, and shows and ends those that run")
            .arguments("list | run NAME PROMPT | parallel [--detach] NAME PROMPT | NAME PROMPT ...")
            .subcommand("list", "Lists the agents that run or have ended, and those to choose from")
            .subcommand("run", "Runs an agent; with --detach in the background")
            .subcommand("parallel", "Runs agents at the same time, separated by |")
            .subcommand("read", "Shows what an agent wrote")
            .subcommand("transcript", "Shows the whole conversation of an agent")
            .subcommand("send", "Sends a follow-up to an agent, also to one that has ended")
            .subcommand("cancel", "Ends an agent and everything below it")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let (Some(tasks), Some(runs)) = (session.tasks(), session.agent_runs()) else {
            return no_tasks();
        };
        let (name, rest) = split(arguments);
        let (id, text) = split(rest);
        let id = TaskId::from(id);
        match name {
            "" | "list" => {
                let mut tasks = tasks.list();
                tasks.retain(|task| task.kind == TaskKind::Agent);
                let empty = tasks.is_empty();
                let mut result = list(&tasks, session.session().config().clock().now());
                if empty {
                    result.message = "No agent has run in this session.".to_owned();
                }
                let names: Vec<_> = runs.kinds().into_iter().map(|(name, _)| name).collect();
                result.message.push_str(&format!("\nAgents to run: {}", names.join(", ")));
                result
            }
            "run" => run(&runs, rest).await,
            "parallel" => parallel(&runs, rest).await,
            _ if id.as_str().is_empty() => CommandResult::failed(USAGE),
            "read" | "logs" | "cancel" | "transcript" | "send" => {
                if tasks.get(&id).is_ok_and(|task| task.kind != TaskKind::Agent) {
                    let text = format!("`{id}` is a command, not an agent; use /background.");
                    return CommandResult::failed(text);
                }
                match (name, offset(text)) {
                    ("read" | "logs", Some(offset)) => read(&tasks, &id, offset).await,
                    ("cancel", _) => cancel(&tasks, &id).await,
                    ("transcript", _) => match runs.transcript(&id).await {
                        Ok(text) => CommandResult::ok(text),
                        Err(error) => failed(&error),
                    },
                    ("send", _) if !text.is_empty() => send(&runs, &id, text).await,
                    _ => CommandResult::failed(USAGE),
                }
            }
            _ => CommandResult::failed(USAGE),
        }
    }
}

/// Sends text to an agent, and says under which id it continues if it had ended.
pub(super) async fn send(runs: &AgentRuns, id: &TaskId, text: &str) -> CommandResult {
    match runs.send(id, text).await {
        Ok(task) if task == *id => CommandResult::ok(format!("Sent to {id}.")),
        Ok(task) => CommandResult::ok(format!("{id} continues in the background as {task}."))
            .with("agentId", task.as_str()),
        Err(error) => failed(&error),
    }
}

/// Removes `--detach` from the front.
fn detached(text: &str) -> (bool, &str) {
    match split(text) {
        ("--detach", rest) => (true, rest),
        _ => (false, text.trim()),
    }
}

/// Reads `NAME PROMPT`. An unknown name is an error that lists the known ones.
fn agent_run(text: &str, runs: &AgentRuns) -> Result<AgentRun, String> {
    let (agent, prompt) = split(text);
    let names: Vec<_> = runs.kinds().into_iter().map(|(name, _)| name).collect();
    if agent.is_empty() {
        return Err(USAGE.to_owned());
    }
    if !names.iter().any(|name| name == agent) {
        return Err(format!("There is no agent `{agent}`; known: {}", names.join(", ")));
    }
    if prompt.is_empty() {
        return Err(USAGE.to_owned());
    }
    // Lists show labels in one line.
    let label = prompt.lines().next().unwrap_or_default().chars().take(60).collect();
    let work =
        AgentWork { agent: agent.to_owned(), prompt: prompt.to_owned(), ..AgentWork::default() };
    Ok(AgentRun { label, work, ..AgentRun::default() })
}

async fn run(runs: &AgentRuns, text: &str) -> CommandResult {
    let (detach, text) = detached(text);
    let run = match agent_run(text, runs) {
        Ok(run) => run,
        Err(text) => return CommandResult::failed(text),
    };
    if detach {
        return match runs.start(run, TaskMode::Background, None).await {
            Ok(agent) => CommandResult::ok(format!("Runs in the background as {}.", agent.id()))
                .with("agentId", agent.id().as_str()),
            Err(error) => failed(&error),
        };
    }
    // The model learns what the user saw with the next prompt.
    shown(&runs.run_as(run, TaskMode::Background, None).await)
}

fn shown(result: &AgentResult) -> CommandResult {
    let text = match &result.error {
        Some(error) if result.output.is_empty() => format!("The agent failed: {error}"),
        Some(error) => format!("{}\n[the agent failed: {error}]", result.output),
        None => result.output.clone(),
    };
    let shown = if result.success { CommandResult::ok(text) } else { CommandResult::failed(text) };
    shown.with("result", json!(result))
}

async fn parallel(runs: &AgentRuns, text: &str) -> CommandResult {
    let (detach, text) = detached(text);
    let agents: Result<Vec<_>, _> = text.split('|').map(|part| agent_run(part, runs)).collect();
    let agents = match agents {
        Ok(agents) => agents,
        Err(text) => return CommandResult::failed(text),
    };
    let label = format!("{} agents", agents.len());
    if detach {
        return match runs.start_all(&label, agents, WaitPolicy::Detached, None).await {
            Ok((group, started)) => {
                let ids: Vec<_> = started.iter().flatten().map(ToString::to_string).collect();
                let text = format!("Run in the background as {group}: {}", ids.join(", "));
                CommandResult::ok(text).with("groupId", group.as_str()).with("agentIds", json!(ids))
            }
            Err(error) => failed(&error),
        };
    }
    // The model learns what the user saw with the next prompt.
    match runs.run_all_as(&label, agents, TaskMode::Background, None).await {
        Ok((group, results)) => {
            let parts = results.iter().map(|result| {
                let id = result.agent_id.as_ref().map_or("not started", TaskId::as_str);
                format!("## {} ({id})\n{}", result.label, shown(result).message)
            });
            let text = parts.collect::<Vec<_>>().join("\n\n");
            let complete = results.iter().all(|result| result.success);
            let result =
                if complete { CommandResult::ok(text) } else { CommandResult::failed(text) };
            let result = result.with("results", json!(results));
            match runs.manager.groups().summarize(&group) {
                Ok(summary) => result.with("summary", json!(summary)),
                Err(_) => result,
            }
        }
        Err(error) => failed(&error),
    }
}
