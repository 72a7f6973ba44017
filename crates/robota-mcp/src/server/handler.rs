//! Answers the requests of hosts.

#![expect(deprecated, reason = "hosts of older versions set a log level")]

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};

use super::{
    McpHost, ServedCall, ServedContent, ServedResult, ServedTool, ServedTools, ServerInfo,
};

/// Answers one host.
#[derive(Clone)]
pub struct Handler {
    info: ServerInfo,
    tools: Arc<dyn ServedTools>,
}

impl Handler {
    pub(super) fn new(info: ServerInfo, tools: Arc<dyn ServedTools>) -> Self {
        Self { info, tools }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_logging().build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new(self.info.name, self.info.version);
        config.instructions = Some(self.info.instructions.clone());
        config
    }

    // No log messages are sent, at any level that a host sets: its model would read them.
    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), rmcp::ErrorData> {
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        let tools = self.tools.list().into_iter().map(tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.list().into_iter().find(|tool| tool.name == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        if self.get_tool(&request.name).is_none() {
            let problem = format!("there is no tool `{}`", request.name);
            return Err(rmcp::ErrorData::invalid_params(problem, None));
        }
        let call = ServedCall {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            cancel: context.ct.clone(),
            host: McpHost::new(context.peer, context.meta.get_progress_token()),
        };
        Ok(result(self.tools.call(call).await).into())
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

fn result(served: ServedResult) -> CallToolResult {
    let content = served.content.into_iter().map(|part| match part {
        ServedContent::Text(text) => ContentBlock::text(text),
        ServedContent::Image { data, media_type } => ContentBlock::image(data, media_type),
    });
    let mut result = CallToolResult::success(content.collect());
    result.is_error = Some(served.is_error);
    result.structured_content = served.structured;
    result
}
