//! Answers the requests of hosts.

#![expect(
    deprecated,
    reason = "hosts of older versions set a log level and subscribe to resources"
)]

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    Prompt, PromptArgument, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, ToolAnnotations,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::json;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use super::host::Asks;
use super::keep_alive::KeepAlive;
use super::rounds::{Rounds, RunningCall};
use super::subscriptions::{Changed, Choices, next};
use super::{
    LogLevel, McpHost, PromptInfo, ResourceInfo, Served, ServedCall, ServedResult, ServedTool,
    ServerInfo, content,
};

/// Answers the requests of one host over its connection.
#[derive(Clone)]
pub struct Handler {
    info: ServerInfo,
    served: Served,
    choices: Arc<Choices>,
    /// The number of the connection.
    number: u64,
    rounds: Rounds,
    keep_alive: KeepAlive,
}

impl Handler {
    pub(super) fn new(
        info: ServerInfo,
        served: Served,
        rounds: Rounds,
        keep_alive: KeepAlive,
    ) -> Self {
        let number = rounds.next_connection();
        Self { info, served, choices: Arc::default(), number, rounds, keep_alive }
    }

    /// Runs a call of a host that takes no requests of a server.
    async fn call_in_rounds(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        level: LogLevel,
    ) -> Result<CallToolResponse, ErrorData> {
        let running = match &request.request_state {
            Some(state) => self.rounds.resume(&request, state)?,
            None => {
                let capabilities = Box::new(context.client_capabilities().unwrap_or_default());
                let (questions, asked) = mpsc::channel(16);
                let token = context.meta.get_progress_token();
                let number = self.host_number(&context);
                let asks = Asks::Rounds { capabilities, questions };
                let call = ServedCall {
                    tool: request.name.to_string(),
                    arguments: request.arguments.clone().unwrap_or_default(),
                    cancel: CancellationToken::new(),
                    host: McpHost::new(number, context.peer, token, level, asks),
                };
                RunningCall::start(self.served.tools.clone(), call, asked)
            }
        };
        Ok(self.rounds.run(running, &context.ct).await)
    }

    /// Returns the number of the host. Over HTTP each request of a newer host is a connection of its own, and
    /// the host is known by the name of its program.
    fn host_number(&self, context: &RequestContext<RoleServer>) -> u64 {
        let over_http = context.extensions.get::<Parts>().is_some();
        context.client_info().filter(|_| over_http).map_or(self.number, |client| {
            let mut hasher = DefaultHasher::new();
            (client.name, client.version).hash(&mut hasher);
            // Connections are counted from zero, so that none has the highest bit.
            hasher.finish() | (1 << 63)
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<String>> {
        self.served.resources.as_ref()?.changes()
    }

    fn resource_infos(&self) -> Vec<ResourceInfo> {
        self.served.resources.as_ref().map(|resources| resources.list()).unwrap_or_default()
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities =
            ServerCapabilities::builder().enable_tools().enable_logging().build();
        if self.served.resources.is_some() {
            let mut resources = rmcp::model::ResourcesCapability::default();
            // Hosts of older versions only subscribe if this is announced.
            resources.subscribe = self.changes().map(|_| true);
            capabilities.resources = Some(resources);
        }
        if self.served.prompts.is_some() {
            capabilities.prompts = Some(rmcp::model::PromptsCapability::default());
        }
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new(self.info.name, self.info.version);
        config.instructions = Some(self.info.instructions.clone());
        config
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.choices.set_level(LogLevel::of(request.level));
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.served.tools.list().into_iter().map(tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.served.tools.list().into_iter().find(|tool| tool.name == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The protocol makes an unknown tool an error of the request; a failed call is a result.
        if self.get_tool(&request.name).is_none() {
            let problem = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(problem, None));
        }
        // Newer hosts send the level with each request.
        let level = context.meta.log_level().map(LogLevel::of);
        let level = level.unwrap_or_else(|| self.choices.level());
        if context.protocol_version().is_some_and(|it| it >= ProtocolVersion::V_2026_07_28) {
            return self.call_in_rounds(request, context, level).await;
        }
        let call = ServedCall {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            cancel: context.ct.clone(),
            host: McpHost::new(
                self.number,
                context.peer,
                context.meta.get_progress_token(),
                level,
                Asks::Requests,
            ),
        };
        let keeps = call.host.keeps_session();
        let called = self.served.tools.call(call);
        Ok(result(self.keep_alive.during(&context.extensions, &keeps, called).await).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.resource_infos().into_iter().map(resource).collect();
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let resources = self.served.resources.as_ref();
        let templates = resources.map(|resources| resources.templates()).unwrap_or_default();
        let templates = templates.into_iter().map(template).collect();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = match &self.served.resources {
            Some(resources) => resources.read(&request.uri).await,
            None => None,
        };
        let Some(read) = read else {
            let problem = format!("there is no resource `{}`", request.uri);
            return Err(ErrorData::resource_not_found(problem, Some(json!({"uri": request.uri}))));
        };
        Ok(ReadResourceResult::new(vec![content::resource(read)]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(changes) = self.changes() else {
            let problem = "this server does not announce changes of resources";
            return Err(ErrorData::invalid_request(problem, None));
        };
        if self.choices.subscribe(request.uri, context.peer, changes) {
            Ok(())
        } else {
            Err(ErrorData::invalid_request("there are too many subscriptions", None))
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.choices.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.changes()?;
        let mut accepted = SubscriptionFilter::new();
        accepted.resource_subscriptions.clone_from(&requested.resource_subscriptions);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(mut changes) = self.changes() else { return Ok(()) };
        let accepted = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = next(&mut changes) => changed,
            };
            let wanted: &[String] = match &changed {
                None => return Ok(()),
                Some(Changed::One(uri)) if accepted.contains(uri) => std::slice::from_ref(uri),
                Some(Changed::One(_)) => &[],
                // The host was too slow and missed some: each of its resources may have changed.
                Some(Changed::Any) => &accepted,
            };
            for uri in wanted {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.served.prompts.as_ref().map(|prompts| prompts.list());
        let prompts = prompts.unwrap_or_default().into_iter().map(prompt).collect();
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let invalid = |problem: String| ErrorData::invalid_params(problem, None);
        let found = self.served.prompts.as_ref().and_then(|prompts| {
            let info = prompts.list().into_iter().find(|info| info.name == request.name)?;
            Some((prompts, info))
        });
        let Some((prompts, info)) = found else {
            return Err(invalid(format!("there is no prompt `{}`", request.name)));
        };
        let arguments = request.arguments.unwrap_or_default();
        let mut required = info.arguments.iter().filter(|argument| argument.required);
        // Checked for all prompts here, so that no prompt has to.
        if let Some(missing) = required.find(|argument| !arguments.contains_key(&argument.name)) {
            let problem = format!("the prompt `{}` needs `{}`", info.name, missing.name);
            return Err(invalid(problem));
        }
        let messages = prompts.get(&info.name, &arguments).await.map_err(invalid)?;
        let messages = messages.into_iter().map(content::message).collect();
        Ok(GetPromptResult::new(messages).with_description(info.description).into())
    }
}

fn tool(served: ServedTool) -> Tool {
    let annotations = if served.read_only {
        ToolAnnotations::new().read_only(true).destructive(false)
    } else {
        ToolAnnotations::new().read_only(false)
    };
    let mut tool = Tool::new(served.name, served.description, Arc::new(served.input_schema))
        .with_annotations(annotations);
    tool.output_schema = served.output_schema.map(Arc::new);
    tool
}

fn resource(info: ResourceInfo) -> Resource {
    let mut resource = Resource::new(info.uri, info.name).with_description(info.description);
    resource.mime_type = info.media_type;
    resource
}

fn template(info: ResourceInfo) -> ResourceTemplate {
    let mut template =
        ResourceTemplate::new(info.uri, info.name).with_description(info.description);
    template.mime_type = info.media_type;
    template
}

fn prompt(info: PromptInfo) -> Prompt {
    let arguments = info.arguments.into_iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.required)
    });
    Prompt::new(info.name, Some(info.description), Some(arguments.collect()))
}

pub(super) fn result(served: ServedResult) -> CallToolResult {
    let content = served.content.into_iter().map(content::block);
    let mut result = CallToolResult::success(content.collect());
    result.is_error = Some(served.is_error);
    result.structured_content = served.structured;
    result
}

#[cfg(test)]
mod tests;
