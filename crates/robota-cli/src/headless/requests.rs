//! Answers the control requests of the host.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use robota_config::agents::AgentDefinition;
use robota_core::catalogue::Catalogue;
use robota_core::hook::{HookEffort, HookRunner, ModelSwitchSource};
use robota_core::ids::TaskId;
use robota_core::permission::Mode;
use robota_core::provider::Thinking;
use robota_sdk::{InteractiveSession, SessionMcp, TaskManager};
use robota_session::Session;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::context_usage;
use super::decisions::Decisions;
use super::describe::{self, Described};
use super::fallback::Fallback;
use super::hook_listing;
use super::hooks::{HooksInput, HostHooks};
use super::host::{Host, Reply};
use super::host_files::{self, SeenFile};
use super::input::ControlInput;
use super::mcp::{CallIds, pending_reply, status_reply};
use super::mcp_requests::McpCall;
use super::meter::Meter;
use super::mode::parse_mode;
use super::model_watch::ModelWatch;
use super::options::{RunOptions, read_agents};
use super::permissions::HostApprover;
use super::queries;
use super::rewind::rewind_files;
use super::saved_rules::SavedRules;
use super::settings_requests::{self, SettingsUpdate};
use super::structured::parse_schema;
use super::tool_policies::ToolPolicies;
use super::writer::LineWriter;
use crate::args::EFFORTS;
use crate::provider::ChosenProvider;
use crate::setup::Setup;
use robota_stream_json::{ControlErrorCode, StatusLine};

/// What this program supports beyond the basic protocol.
pub(crate) const CAPABILITIES: &[&str] = &["interrupt_receipt_v1", "interrupt_cancel_queued_v1"];

/// The version of the protocol that this program implements, and its own.
// The number comes first: the Agent SDK for Python compares it with the least version it needs.
pub(crate) const VERSION: &str =
    concat!("2.1.325 (robota ", env!("CARGO_PKG_VERSION"), ", protocol compatible)");

/// What the host sets before the first turn.
#[derive(Default)]
pub(crate) struct HostSetup {
    /// The system prompt.
    pub(crate) system: Option<String>,
    /// The text to add to the system prompt.
    pub(crate) append_system: Option<String>,
    /// The schema of the answer.
    pub(crate) schema: Option<Value>,
    /// The name of the session.
    pub(crate) title: Option<String>,
    /// The names of its MCP servers.
    pub(crate) mcp_servers: Vec<String>,
    /// The MCP servers that it set before the first message.
    pub(crate) replaceable: Map<String, Value>,
    /// What it declares about the tools of its servers.
    pub(crate) tool_policies: ToolPolicies,
    /// The files that the model has read in an earlier conversation.
    pub(crate) seen_files: Vec<SeenFile>,
    /// The names of the skills that the model may use; none allows all.
    pub(crate) skills: Option<Vec<String>>,
    /// Definitions of agents.
    pub(crate) agents: Vec<AgentDefinition>,
    /// Whether the host receives the text and reasoning of agents, not only their calls.
    pub(crate) agent_text: bool,
}

/// Answers the requests of the host.
pub(crate) struct Requests {
    pub(crate) host: Arc<Host>,
    pub(crate) writer: Arc<LineWriter>,
    pub(crate) options: Arc<RunOptions>,
    pub(crate) setup: Arc<Setup>,
    /// `--provider`, for changes of the model.
    pub(crate) provider: Option<String>,
    /// The model of the command line, for a change back to the default.
    pub(crate) default_model: String,
    /// The current model, and the provider of one that was set before the session exists.
    pub(crate) model: String,
    pub(crate) chosen: Option<ChosenProvider>,
    pub(crate) vendor: Option<String>,
    /// The model that is used while the current one is overloaded.
    pub(crate) fallback: Option<Fallback>,
    pub(crate) api_key_source: &'static str,
    pub(crate) mode: Mode,
    pub(crate) meter: Arc<Meter>,
    pub(crate) watch: Arc<ModelWatch>,
    /// What decides about calls that need approval; it has the mode that the host set.
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) approver: Option<Arc<HostApprover>>,
    /// Writes changes of permissions to settings files.
    pub(crate) saved: Arc<SavedRules>,
    pub(crate) host_setup: HostSetup,
    /// The hooks that the host registered in `initialize`.
    pub(crate) host_hooks: HostHooks,
    /// The hooks, which learn the permission mode.
    pub(crate) hook_runners: Vec<Arc<HookRunner>>,
    /// Why `initialize` was refused: the run then has no turn, although the host may send one.
    pub(crate) refused: Option<String>,
    /// The agents that arguments and the host define.
    pub(crate) agents: Vec<AgentDefinition>,
    /// How hard the model thinks, as arguments and the host set it.
    pub(crate) effort: Option<String>,
    /// Whether the model thinks, as arguments and settings say at the start, and as the host changed
    /// it.
    pub(crate) start_thinking: Option<Thinking>,
    pub(crate) thinking: Option<Thinking>,
    /// The session, once it exists.
    pub(crate) interactive: Option<InteractiveSession>,
    /// The ids that calls have for the host.
    pub(crate) call_ids: Arc<CallIds>,
    /// The answers that take long.
    pub(crate) later: JoinSet<()>,
    /// Held while hooks decide about a change of settings and it is made: changes are made in order.
    pub(crate) changing: Arc<tokio::sync::Mutex<()>>,
}

/// The settings that the host can change in a running session.
const FLAG_SETTINGS: [&str; 3] = ["model", "effortLevel", "alwaysThinkingEnabled"];

#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Request {
    Initialize(Box<Initialize>),
    Interrupt {},
    CancelAsyncMessage {},
    SetPermissionMode {
        mode: String,
    },
    SetModel {
        #[serde(default)]
        model: Option<String>,
    },
    SetMaxThinkingTokens {
        #[serde(default, deserialize_with = "given")]
        max_thinking_tokens: Option<Option<u64>>,
    },
    McpStatus {},
    #[serde(rename_all = "camelCase")]
    McpReconnect {
        server_name: String,
    },
    McpSetServers {
        servers: Map<String, Value>,
    },
    #[serde(rename_all = "camelCase")]
    McpToggle {
        server_name: String,
        enabled: bool,
    },
    McpMessage {
        server_name: String,
        message: Value,
    },
    ReadFile(queries::ReadFile),
    FileSuggestions {
        query: String,
    },
    SeedReadState(SeenFile),
    UpdateSettings(SettingsUpdate),
    GetHooksListing {},
    // Boxed, so that the other requests stay small.
    McpCall(Box<McpCall>),
    #[serde(rename_all = "camelCase")]
    McpReadResource {
        server_name: String,
        uri: String,
    },
    #[serde(rename_all = "camelCase")]
    SetMcpPermissionModeOverride {
        server_name: String,
        #[serde(default)]
        mode: Option<String>,
    },
    BackgroundTasks {
        #[serde(default)]
        tool_use_id: Option<String>,
    },
    ReloadPlugins {},
    GetTaskOutput {
        task_id: String,
    },
    ReloadSkills {},
    ReloadOutputStyles {},
    GetSettings {},
    ApplyFlagSettings {
        settings: Map<String, Value>,
    },
    ListPermissionRules {},
    GetSessionCost {},
    GetUsage {},
    SetHasSubscribers {},
    RewindFiles {
        user_message_id: String,
        #[serde(default)]
        dry_run: bool,
    },
    GetContextUsage {},
    StopTask {
        task_id: String,
    },
    RenameSession {
        title: String,
    },
    GetBinaryVersion {},
    ListModels {},
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Initialize {
    hooks: Option<HooksInput>,
    agents: Option<Value>,
    sdk_mcp_servers: Option<Vec<String>>,
    sdk_mcp_server_configs: Value,
    json_schema: Option<Value>,
    system_prompt: Option<Value>,
    append_system_prompt: Option<String>,
    title: Option<String>,
    forward_subagent_text: bool,
    skills: Option<Value>,
    exclude_dynamic_sections: Option<Value>,
}

/// The change of the model, and the other settings.
pub(super) type CheckedSettings = (Option<Option<String>>, Map<String, Value>);

/// When a request is answered.
enum Answer {
    Now(Reply),
    /// When a server has answered, or files were listed. Other requests are answered meanwhile.
    Later(LaterReply),
}

/// An answer that takes long.
pub(super) type LaterReply = Pin<Box<dyn Future<Output = Reply> + Send>>;

impl Requests {
    /// Answers one request.
    pub(crate) async fn handle(&mut self, input: ControlInput) {
        let subtype = input.request.get("subtype").and_then(Value::as_str).unwrap_or_default();
        let subtype = subtype.to_owned();
        let reply = match serde_json::from_value(input.request) {
            Ok(request) => self.reply(request, &subtype).await,
            Err(error) => Answer::Now(Err((
                ControlErrorCode::InvalidRequest,
                format!("the request `{subtype}` is not valid: {error}"),
            ))),
        };
        match reply {
            Answer::Now(reply) => self.host.reply(&input.request_id, &reply),
            Answer::Later(reply) => {
                let host = self.host.clone();
                self.later.spawn(async move { host.reply(&input.request_id, &reply.await) });
            }
        }
    }

    /// Waits for the answers that take long.
    pub(crate) async fn finish(&mut self) {
        while self.later.join_next().await.is_some() {}
    }

    async fn reply(&mut self, request: Request, subtype: &str) -> Answer {
        Answer::Now(match request {
            Request::McpSetServers { servers } => {
                return Answer::Later(self.set_mcp_servers(servers));
            }
            Request::McpToggle { server_name, enabled } => {
                return Answer::Later(self.toggle_mcp_server(server_name, enabled));
            }
            Request::McpReconnect { server_name } => {
                return Answer::Later(self.reconnect_mcp_server(server_name));
            }
            Request::McpCall(call) => return Answer::Later(self.call_mcp_tool(*call)),
            Request::McpReadResource { server_name, uri } => {
                return Answer::Later(self.read_mcp_resource(server_name, uri));
            }
            Request::ReloadSkills {} => return Answer::Later(self.reload_skills()),
            Request::UpdateSettings(update) => return Answer::Later(self.update_settings(update)),
            // A task may use its whole grace period; meanwhile lines are printed and requests answered.
            Request::StopTask { task_id } => return Answer::Later(self.stop_task(task_id)),
            Request::FileSuggestions { query } => {
                return Answer::Later(host_files::suggestions(&self.setup, query));
            }
            Request::Initialize(initialize) => {
                let reply = self.initialize(*initialize);
                self.refused = reply.as_ref().err().map(|(_, why)| why.clone());
                reply
            }
            // Nothing runs yet; with a session the run itself interrupts.
            Request::Interrupt {} => Ok(json!({"still_queued": []})),
            Request::CancelAsyncMessage {} => Ok(json!({"cancelled": false})),
            Request::SetPermissionMode { mode } => self.set_mode(&mode).await,
            Request::SetModel { model } => self.set_model(model, ModelSwitchSource::Host).await,
            Request::SetMaxThinkingTokens { max_thinking_tokens } => {
                if let Some(tokens) = max_thinking_tokens {
                    self.set_thinking(tokens.map(Thinking::tokens));
                }
                Ok(json!({}))
            }
            Request::McpStatus {} => match &self.interactive {
                Some(session) => Ok(status_reply(session.mcp())),
                None => Ok(pending_reply(&self.setup, &self.options, &self.host_setup)),
            },
            Request::GetContextUsage {} => self.context_usage().await,
            Request::RenameSession { title } => match self.session() {
                Some(session) => session.rename(title).await.map(|()| json!({})).map_err(failed),
                None => {
                    self.host_setup.title = Some(title);
                    Ok(json!({}))
                }
            },
            Request::GetBinaryVersion {} => Ok(json!({"version": VERSION})),
            Request::ListModels {} => {
                let vendor = self.vendor.as_deref();
                let available = &self.setup.settings.available_models;
                let models = describe::models(vendor, &self.default_model, &self.model, available);
                Ok(json!({"models": models}))
            }
            Request::ReadFile(file) => queries::read_file(&self.setup, self.session(), &file).await,
            Request::GetTaskOutput { task_id } => match self.tasks() {
                Some(tasks) => queries::task_output(&tasks, task_id).await,
                None => Err(missing(subtype, "there are no background tasks")),
            },
            Request::ReloadOutputStyles {} => {
                let styles = self.setup.listing(Vec::new()).output_styles;
                Ok(json!({"available_output_styles": styles}))
            }
            Request::GetSettings {} => Ok(self.settings()),
            Request::ApplyFlagSettings { settings } => self.set_settings(settings).await,
            Request::ListPermissionRules {} => {
                Ok(queries::permission_rules(&self.setup, self.session()))
            }
            Request::GetSessionCost {} => Ok(json!({"text": queries::cost_text(&self.meter)})),
            Request::GetUsage {} => Ok(queries::usage(&self.meter)),
            // Every line is written, also if the host has no subscribers.
            Request::SetHasSubscribers {} => Ok(json!({})),
            Request::McpMessage { server_name, message } => {
                let servers = self.mcp().map(SessionMcp::servers);
                let received = servers.map(|all| all.receive_from_host(&server_name, message));
                // Acknowledged all the same: the host cannot know whether its server is connected.
                if let Some(Err(error)) = received {
                    tracing::debug!(%error, "a message of a server in the host is dropped");
                }
                Ok(json!({}))
            }
            Request::RewindFiles { user_message_id, dry_run } => match self.session() {
                Some(session) => Ok(rewind_files(session, &user_message_id, dry_run).await),
                None => Err(missing(subtype, "no turn has run yet")),
            },
            Request::SeedReadState(file) => match &self.interactive {
                Some(session) => file.apply(session, self.setup.cwd()).await,
                None => {
                    self.host_setup.seen_files.push(file);
                    Ok(json!({}))
                }
            },
            Request::GetHooksListing {} => {
                Ok(hook_listing::reply(&self.setup, &self.host_hooks, &self.hook_runners))
            }
            // Null takes an override back, and there is none.
            Request::SetMcpPermissionModeOverride { mode: None, .. } => Ok(json!({})),
            Request::SetMcpPermissionModeOverride { server_name, .. } => Err(missing(
                subtype,
                &format!(
                    "not supported: the mode of the session applies to `{server_name}` too; use \
                     permission rules for mcp__{server_name}__*"
                ),
            )),
            Request::BackgroundTasks { tool_use_id } => match self.tasks() {
                Some(tasks) => {
                    let call = tool_use_id.map(|id| self.call_ids.call(&id));
                    queries::move_to_background(&tasks, call).await
                }
                None => Ok(json!({"backgrounded": false})),
            },
            Request::ReloadPlugins {} => Err(missing(
                subtype,
                "not supported: the plugins of a session are those of its start; start the program \
                 again, with --resume for the same conversation",
            )),
            Request::Other => Err(missing(subtype, "this program does not know the request")),
        })
    }

    fn stop_task(&self, task_id: String) -> LaterReply {
        let (tasks, task) = (self.tasks(), TaskId::from(task_id));
        Box::pin(async move {
            match tasks {
                Some(tasks) => tasks.cancel(&task).await.map(|_| json!({})).map_err(failed),
                None => {
                    let why = format!("there is no background task `{task}`");
                    Err((ControlErrorCode::Failed, why))
                }
            }
        })
    }

    fn initialize(&mut self, request: Initialize) -> Reply {
        // The prompt, the hooks and the schema of a session are those of its start: `hooks_applied`
        // says that these had no effect.
        if self.interactive.is_some() {
            return Ok(self.described(false));
        }
        let agents = match request.agents {
            None | Some(Value::Null) => Vec::new(),
            Some(agents) => read_agents(&agents.to_string())
                .map_err(|why| (ControlErrorCode::InvalidRequest, why))?,
        };
        let hooks = HostHooks::read(request.hooks.unwrap_or_default())
            .map_err(|why| (ControlErrorCode::InvalidRequest, why))?;
        let schema =
            match request.json_schema {
                None => None,
                Some(schema) => Some(parse_schema(&schema.to_string()).map_err(|why| {
                    (ControlErrorCode::InvalidRequest, format!("jsonSchema: {why}"))
                })?),
            };
        let system = match request.system_prompt {
            Some(Value::String(text)) => Some(text),
            // The Agent SDK for TypeScript sends a list, with an empty text if no prompt is set.
            Some(Value::Array(parts)) => {
                let parts: Vec<_> = parts.iter().filter_map(Value::as_str).collect();
                Some(parts.join("\n\n"))
            }
            _ => None,
        };
        let has_prompt = system.as_ref().is_some_and(|text| !text.is_empty());
        if request.exclude_dynamic_sections == Some(Value::Bool(true)) && !has_prompt {
            return Err((
                ControlErrorCode::InvalidRequest,
                "excludeDynamicSections is not supported: the facts about the folder are part of the \
                 system prompt; pass a systemPrompt of your own, which has none"
                    .to_owned(),
            ));
        }
        let skills =
            read_skills(request.skills).map_err(|why| (ControlErrorCode::InvalidRequest, why))?;
        let title = request.title.or_else(|| self.host_setup.title.take());
        self.agents = [agents.as_slice(), &self.options.agents].concat();
        let append_system = request.append_system_prompt;
        let mcp_servers = request.sdk_mcp_servers.unwrap_or_default();
        self.host_hooks = hooks;
        self.host_setup = HostSetup {
            system,
            append_system,
            schema,
            title,
            mcp_servers,
            tool_policies: ToolPolicies::read(&request.sdk_mcp_server_configs),
            // A host may send `mcp_set_servers`, `seed_read_state` and `rename_session` before
            // `initialize`.
            replaceable: std::mem::take(&mut self.host_setup.replaceable),
            seen_files: std::mem::take(&mut self.host_setup.seen_files),
            skills,
            agents,
            agent_text: request.forward_subagent_text,
        };
        Ok(self.described(true))
    }

    /// Describes this program to the host.
    fn described(&self, hooks_applied: bool) -> Value {
        let described = Described {
            project: &self.setup.project,
            agents: self.agents.clone(),
            commands: self.options.commands,
            vendor: self.vendor.as_deref(),
            default_model: &self.default_model,
            model: &self.model,
            api_key_source: self.api_key_source,
        };
        // Plain data always serialises.
        let mut reply = serde_json::to_value(described.reply()).unwrap_or_default();
        let more = json!({
            "pid": std::process::id(),
            "claude_code_version": VERSION,
            "current_permission_mode": self.mode.name(),
            "session_state": if self.session().is_some_and(Session::is_running) {
                "running"
            } else {
                "idle"
            },
            "capabilities": CAPABILITIES,
            "fast_mode_state": "off",
            // Without this field the Agent SDKs refuse to start if a hook has `onFailure`.
            "hook_on_failure_supported": true,
            "hooks_applied": hooks_applied,
            "unsupported_hook_events": self.host_hooks.unknown,
            "pending_permission_requests": [],
        });
        if let (Value::Object(reply), Value::Object(more)) = (&mut reply, more) {
            reply.extend(more);
        }
        reply
    }

    /// Returns the session, once it exists.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.interactive.as_ref().map(InteractiveSession::session)
    }

    pub(super) fn mcp(&self) -> Option<&SessionMcp> {
        self.interactive.as_ref().and_then(InteractiveSession::mcp)
    }

    fn tasks(&self) -> Option<TaskManager> {
        self.interactive.as_ref().and_then(InteractiveSession::tasks)
    }

    /// Changes whether the model thinks, from the next turn on; none goes back to the start.
    fn set_thinking(&mut self, thinking: Option<Thinking>) {
        self.thinking = thinking.or(self.start_thinking);
        if let Some(session) = self.session() {
            session.config().set_option(Thinking::OPTION, self.thinking.map(Thinking::option));
        }
    }

    fn settings(&self) -> Value {
        let effort = self.setup.settings.values.effort_level.as_deref();
        let effort = self.effort.as_deref().or(effort);
        settings_requests::settings(&self.setup, &self.model, effort)
    }

    /// Reads a change of settings for the rest of the session. Those that cannot change are refused,
    /// before anything changes. The model comes apart, because hooks decide about it; the inner value
    /// is none for the model of the start.
    pub(super) fn check_settings(
        mut settings: Map<String, Value>,
    ) -> Result<CheckedSettings, (ControlErrorCode, String)> {
        let unknown = settings.keys().find(|key| !FLAG_SETTINGS.contains(&&***key));
        if let Some(key) = unknown {
            let why = format!(
                "`{key}` cannot change in a running session; those that can: {}",
                FLAG_SETTINGS.join(", ")
            );
            return Err((ControlErrorCode::UnsupportedRequest, why));
        }
        for (key, value) in &settings {
            let valid = match (key.as_str(), value) {
                (_, Value::Null) | ("alwaysThinkingEnabled", Value::Bool(_)) => true,
                ("model", Value::String(_)) => true,
                ("effortLevel", Value::String(level)) => EFFORTS.contains(&level.as_str()),
                _ => false,
            };
            if !valid {
                let why = format!("the value of `{key}` is not valid");
                return Err((ControlErrorCode::InvalidRequest, why));
            }
        }
        let model = settings.remove("model").map(|model| model.as_str().map(str::to_owned));
        Ok((model, settings))
    }

    /// Changes settings before the session is open.
    async fn set_settings(&mut self, settings: Map<String, Value>) -> Reply {
        let (model, settings) = Self::check_settings(settings)?;
        if let Some(model) = model {
            self.set_model(model, ModelSwitchSource::Host).await?;
        }
        self.apply_settings(settings)
    }

    /// Changes checked settings for the rest of the session, except the model.
    pub(super) fn apply_settings(&mut self, settings: Map<String, Value>) -> Reply {
        for (key, value) in settings {
            match key.as_str() {
                "effortLevel" => {
                    self.effort = value.as_str().map(str::to_owned);
                    let option = self
                        .effort
                        .clone()
                        .or_else(|| self.setup.settings.values.effort_level.clone());
                    if let Some(session) = self.session() {
                        session.config().set_option("effort", option.clone().map(Value::from));
                    }
                    for hooks in &self.hook_runners {
                        let effort = option.clone().map(|level| HookEffort { level });
                        hooks.update_context(|context| context.effort = effort);
                    }
                }
                "alwaysThinkingEnabled" => {
                    let on = |on| if on { Thinking::On } else { Thinking::Off };
                    self.set_thinking(value.as_bool().map(on));
                }
                _ => {}
            }
        }
        Ok(json!({}))
    }

    /// Changes the permission mode.
    pub(crate) async fn set_mode(&mut self, name: &str) -> Reply {
        let mode = parse_mode(name).map_err(|why| (ControlErrorCode::InvalidMode, why))?;
        if mode == Mode::BypassPermissions && !self.options.may_bypass {
            return Err((
                ControlErrorCode::BypassNotLaunched,
                "the mode bypassPermissions must be allowed at the start: \
                 --allow-dangerously-skip-permissions"
                    .to_owned(),
            ));
        }
        let setup = &self.setup.settings.permissions;
        if mode == Mode::BypassPermissions && setup.bypass_disabled {
            let why = "the settings forbid the mode bypassPermissions".to_owned();
            return Err((ControlErrorCode::BypassNotLaunched, why));
        }
        // The session first: if it refuses the mode, the approvers keep the former one.
        if let Some(session) = self.session() {
            session.permissions().set_mode(mode).await.map_err(failed)?;
        }
        self.decisions.set_mode(mode);
        self.announce_mode(mode);
        Ok(json!({"mode": mode.name()}))
    }

    /// Takes a mode that the host did not request: plan mode began, a plan was approved, or an approval
    /// came with a mode.
    pub(crate) fn mode_changed(&mut self, mode: Mode) {
        self.decisions.follow_mode(mode);
        if mode != self.mode {
            self.announce_mode(mode);
        }
    }

    fn announce_mode(&mut self, mode: Mode) {
        for hooks in &self.hook_runners {
            hooks.update_context(|context| context.permission_mode = Some(mode));
        }
        if mode != self.mode {
            self.writer.print(&StatusLine {
                kind: Default::default(),
                subtype: Default::default(),
                status: None,
                permission_mode: Some(mode.name()),
                session_id: self.writer.session(),
                uuid: self.writer.id().as_str(),
            });
        }
        self.mode = mode;
    }

    async fn context_usage(&self) -> Reply {
        match &self.interactive {
            Some(session) => {
                context_usage::reply(session, &self.model, &self.meter).await.map_err(failed)
            }
            None => Ok(context_usage::empty_reply(&self.model)),
        }
    }
}

/// Reads the skills that the host chose; none is all of them.
fn read_skills(skills: Option<Value>) -> Result<Option<Vec<String>>, String> {
    match skills {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(all)) if all == "all" => Ok(None),
        Some(list) => serde_json::from_value(list)
            .map(Some)
            .map_err(|_| "skills: a list of names or \"all\" is needed".to_owned()),
    }
}

/// Returns whether the built-in list has a price for the model.
pub(crate) fn has_price(model: &str) -> bool {
    Catalogue::builtin().get(model).is_some_and(|model| model.prices.is_some())
}

/// Reads a field that can be null, apart from one that is absent.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// Returns the error for a budget that cannot be kept.
pub(crate) fn no_price(model: &str) -> String {
    format!("the price of the model `{model}` is not known, so --max-budget-usd cannot be kept")
}

pub(super) fn failed(error: impl Into<anyhow::Error>) -> (ControlErrorCode, String) {
    (ControlErrorCode::Failed, format!("{:#}", error.into()))
}

fn missing(subtype: &str, why: &str) -> (ControlErrorCode, String) {
    (ControlErrorCode::UnsupportedRequest, format!("{subtype}: {why}"))
}
