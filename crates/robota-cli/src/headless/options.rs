//! The checked options of a headless run.

use std::path::Path;
use std::time::Duration;

use robota_config::agents::{AgentDefinition, agents_from_json};
use robota_config::{SettingSource, Severity};
use robota_core::permission::Mode;
use robota_sdk::Budget;
use serde_json::Value;

use super::structured::parse_schema;
use crate::Usage;
use crate::args::similar::similar_command;
use crate::args::{HOST_TIMEOUT, InputFormat, OutputFormat, PermissionPrompts, PrintArgs};

/// Which lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineMode {
    /// None.
    Off,
    /// All, as they are made.
    Stream,
    /// All, as one array at the end.
    Collect,
}

/// The checked options of a headless run.
#[derive(Debug, Clone)]
pub(crate) struct RunOptions {
    /// What is printed.
    pub(crate) format: OutputFormat,
    /// Which lines are printed.
    pub(crate) lines: LineMode,
    /// Whether the host sends lines on standard input.
    pub(crate) stream_input: bool,
    /// Whether pieces of answers are printed.
    pub(crate) partial: bool,
    /// Whether hooks are printed.
    pub(crate) hook_events: bool,
    /// Whether user messages are printed when they are delivered.
    pub(crate) replay: bool,
    /// The permission mode; `None` leaves it to the settings.
    pub(crate) mode: Option<Mode>,
    /// Whether the host may switch to `bypassPermissions`.
    pub(crate) may_bypass: bool,
    /// Whether the host is asked about calls that need approval.
    pub(crate) asks_host: bool,
    /// How long the host may take to answer.
    pub(crate) host_timeout: Duration,
    /// The budget in dollars.
    pub(crate) budget: Option<f64>,
    /// The other limits.
    pub(crate) limits: Budget,
    /// The schema of the answer.
    pub(crate) schema: Option<Value>,
    /// The system prompt that replaces the default.
    pub(crate) system: Option<String>,
    /// The text that is added to the system prompt.
    pub(crate) append_system: Option<String>,
    /// The tools to offer; `None` offers all.
    pub(crate) tools: Option<Vec<String>>,
    /// Configurations of MCP servers.
    pub(crate) mcp_config: Vec<String>,
    /// Whether other MCP servers are ignored.
    pub(crate) strict_mcp: bool,
    /// The MCP tool that decides about approvals.
    pub(crate) prompt_tool: Option<String>,
    /// The settings files to read.
    pub(crate) sources: Option<Vec<SettingSource>>,
    /// Agents that the arguments define.
    pub(crate) agents: Vec<AgentDefinition>,
    /// The agent that the conversation runs as; `None` leaves it to the settings.
    pub(crate) agent: Option<String>,
    /// Whether text and reasoning of agents are printed.
    pub(crate) agent_text: bool,
    /// Whether prompts can be commands and skills.
    pub(crate) commands: bool,
}

impl RunOptions {
    /// Checks the arguments.
    pub(crate) fn from_args(args: &PrintArgs) -> Result<Self, Usage> {
        let stream_output = args.output_format == OutputFormat::StreamJson;
        let stream_input = args.input_format == InputFormat::StreamJson;
        check(args, stream_input, stream_output)?;
        let mode = match (args.permission_mode, args.dangerously_skip_permissions) {
            (None, true) => Some(Mode::BypassPermissions),
            (mode, _) => mode,
        };
        let mut prompt_tool = None;
        let asks_host = match args.permission_prompt_tool.as_deref() {
            None => false,
            Some("stdio") if stream_input => true,
            Some(tool) if tool.starts_with("mcp__") => {
                prompt_tool = Some(tool.to_owned());
                false
            }
            Some("stdio") => {
                return usage("--permission-prompt-tool stdio needs --input-format stream-json");
            }
            Some(tool) => {
                return usage(&format!(
                    "--permission-prompt-tool {tool}: use stdio or a tool mcp__server__tool"
                ));
            }
        };
        let nobody = args.permission_prompts == PermissionPrompts::None;
        let (asks_host, prompt_tool) = (asks_host && !nobody, prompt_tool.filter(|_| !nobody));
        let schema = match &args.json_schema {
            None => None,
            Some(text) => {
                Some(parse_schema(text).map_err(|why| Usage(format!("--json-schema: {why}")))?)
            }
        };
        let split = |list: &String| {
            // Claude Code takes both separators.
            let names = list.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let sources = match &args.setting_sources {
            None => None,
            Some(list) => Some(
                split(list)
                    .iter()
                    .map(|name| name.parse())
                    .collect::<Result<Vec<SettingSource>, String>>()
                    .map_err(|why| Usage(format!("--setting-sources: {why}")))?,
            ),
        };
        Ok(Self {
            format: args.output_format,
            lines: match args.output_format {
                OutputFormat::StreamJson => LineMode::Stream,
                OutputFormat::Json if args.verbose => LineMode::Collect,
                OutputFormat::Json | OutputFormat::Text | OutputFormat::Events => LineMode::Off,
            },
            stream_input,
            partial: args.include_partial_messages,
            hook_events: args.include_hook_events,
            replay: args.replay_user_messages,
            mode,
            may_bypass: args.dangerously_skip_permissions
                || args.allow_dangerously_skip_permissions
                || mode == Some(Mode::BypassPermissions),
            asks_host,
            // With 0 every question would be denied before the host could read it.
            host_timeout: Duration::from_secs(args.host_timeout.max(1)),
            budget: args.max_budget_usd,
            limits: limits(&args.budget)?,
            schema,
            system: text_or_file(
                args.system_prompt.as_ref(),
                ("--system-prompt-file", args.system_prompt_file.as_deref()),
            )?,
            append_system: text_or_file(
                args.append_system_prompt.as_ref(),
                ("--append-system-prompt-file", args.append_system_prompt_file.as_deref()),
            )?,
            agents: match &args.agents {
                None => Vec::new(),
                Some(text) => read_agents(text).map_err(|why| Usage(format!("--agents: {why}")))?,
            },
            agent: args.agent.clone(),
            agent_text: args.forward_subagent_text,
            commands: !args.disable_slash_commands,
            tools: args
                .tools
                .as_ref()
                .map(|lists| lists.iter().flat_map(split).map(own_name).collect())
                // `default` is all tools, so other names next to it change nothing.
                .filter(|names: &Vec<_>| !names.iter().any(|name| name == "default")),
            mcp_config: args.mcp_config.clone(),
            strict_mcp: args.strict_mcp_config,
            prompt_tool,
            sources,
        })
    }
}

/// Returns the name that a tool has here: hosts call the tool Agent `Task`.
fn own_name(tool: String) -> String {
    if tool == TASK { AGENT.to_owned() } else { tool }
}

/// Returns the name that hosts know a tool by.
pub(crate) fn host_name(tool: String) -> String {
    if tool == AGENT { TASK.to_owned() } else { tool }
}

/// The tool that starts agents, and its older name, which hosts still expect in lists of tools.
const AGENT: &str = "Agent";
const TASK: &str = "Task";

/// Reads definitions of agents from JSON.
///
/// # Errors
/// If a definition is not valid; the text says which.
pub(crate) fn read_agents(text: &str) -> Result<Vec<AgentDefinition>, String> {
    let (agents, report) = agents_from_json(text);
    let error = report.problems.iter().find(|problem| problem.severity == Severity::Error);
    match error {
        Some(problem) => Err(problem.message.clone()),
        None => Ok(agents),
    }
}

/// Reads the limits of `--budget`.
fn limits(given: &[String]) -> Result<Budget, Usage> {
    let mut budget = Budget::default();
    for limit in given {
        budget.set(limit).map_err(|why| Usage(format!("--budget: {why}")))?;
    }
    Ok(budget)
}

/// Checks which options can be used together.
fn check(args: &PrintArgs, stream_input: bool, stream_output: bool) -> Result<(), Usage> {
    // Hosts and scripts know the texts that begin with `Error:` from Claude Code.
    if stream_input && !stream_output {
        return usage("Error: --input-format=stream-json requires output-format=stream-json.");
    }
    if stream_output && !args.verbose {
        return usage("Error: When using --print, --output-format=stream-json requires --verbose");
    }
    for (given, name) in [
        (args.include_partial_messages, "--include-partial-messages"),
        (args.include_hook_events, "--include-hook-events"),
        (args.forward_subagent_text, "--forward-subagent-text"),
    ] {
        if given && !stream_output {
            return usage(&format!(
                "Error: {name} requires --print and --output-format=stream-json."
            ));
        }
    }
    if args.replay_user_messages && !(stream_input && stream_output) {
        return usage(
            "Error: --replay-user-messages requires both --input-format=stream-json and \
             --output-format=stream-json.",
        );
    }
    let asks_tool = args.permission_prompt_tool.as_deref().is_some_and(|it| it != "stdio");
    if args.host_timeout != HOST_TIMEOUT && !stream_input && !asks_tool {
        return usage(
            "--host-timeout needs a host (--input-format stream-json) or a tool that decides \
             (--permission-prompt-tool mcp__SERVER__TOOL)",
        );
    }
    if let Some(budget) = args.max_budget_usd
        && !(budget.is_finite() && budget > 0.0)
    {
        return usage("--max-budget-usd must be more than 0");
    }
    let words = args.words.len();
    match (&args.print, stream_input) {
        (_, true) if words > 0 || matches!(args.print, Some(Some(_))) => {
            usage("with --input-format stream-json the prompt comes from standard input")
        }
        (Some(Some(_)), false) if words > 0 => too_many_words(args),
        (Some(None), false) if words > 1 => too_many_words(args),
        // A mistyped command must not be sent to a model as a prompt.
        (None, false) if words > 0 => {
            let word = args.words.first().map(String::as_str).unwrap_or_default();
            let similar = similar_command(word).map(|name| format!("; similar: robota {name}"));
            usage(&format!(
                "unknown command `{word}`{}; to send a prompt: robota -p {}",
                similar.unwrap_or_default(),
                shell_quoted(&args.words.join(" "))
            ))
        }
        _ => Ok(()),
    }
}

fn too_many_words(args: &PrintArgs) -> Result<(), Usage> {
    let first = args.print.iter().flatten().cloned();
    let words: Vec<_> = first.chain(args.words.iter().cloned()).collect();
    usage(&format!(
        "the prompt must be one argument; quote it: robota -p {}",
        shell_quoted(&words.join(" "))
    ))
}

fn shell_quoted(text: &str) -> String {
    // Within single quotes the shell knows no escape, so the quotes are closed for each `'`.
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn text_or_file(
    text: Option<&String>,
    (flag, file): (&str, Option<&Path>),
) -> Result<Option<String>, Usage> {
    match file {
        None => Ok(text.cloned()),
        Some(file) => std::fs::read_to_string(file)
            .map(Some)
            .map_err(|error| Usage(format!("{flag}: cannot read {}: {error}", file.display()))),
    }
}

/// Returns the prompt of the command line; `None` if it has none.
pub(crate) fn prompt(args: &PrintArgs) -> Option<String> {
    args.print.clone().flatten().or_else(|| args.words.first().cloned())
}

fn usage<T>(text: &str) -> Result<T, Usage> {
    Err(Usage(text.to_owned()))
}
