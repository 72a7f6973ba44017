//! What a provider can do, as data, so that no code depends on a provider's name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProviderError;
use crate::error::ErrorKind;

/// Says what a provider can do, so that requests ask for nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Whether its models can call tools.
    pub function_calling: bool,
    /// Support for a web search that the service runs itself.
    pub web_search: WebSupport,
    /// Support for a web fetch that the service runs itself.
    pub web_fetch: WebSupport,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            function_calling: true,
            web_search: WebSupport::Unsupported,
            web_fetch: WebSupport::Unsupported,
        }
    }
}

/// Whether the service has a native web tool, and whether it is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WebSupport {
    /// The service does not have it.
    Unsupported,
    /// The service has it; it is disabled.
    Supported,
    /// The service has it; it is enabled.
    Enabled,
}

/// Which native web tools a call or an instance uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NativeWeb {
    /// Whether the model may use the service's own web search.
    pub search: bool,
    /// Whether the model may use the service's own fetch of pages.
    pub fetch: bool,
}

/// Names a web tool that a model service runs itself, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeWebTool {
    /// Searches of the web that the model service makes itself.
    Search,
    /// The service's own fetch of pages.
    Fetch,
}

/// Checks, before a request is sent, that the provider has the requested native web tools.
///
/// # Errors
/// When the provider does not have one of them.
pub fn check_native_web(capabilities: &Capabilities, web: NativeWeb) -> Result<(), ProviderError> {
    let missing = [
        (web.search, capabilities.web_search, NativeWebTool::Search),
        (web.fetch, capabilities.web_fetch, NativeWebTool::Fetch),
    ]
    .into_iter()
    .find(|(requested, support, _)| *requested && *support == WebSupport::Unsupported);
    match missing {
        None => Ok(()),
        Some((_, _, tool)) => {
            let name = match tool {
                NativeWebTool::Search => "web search",
                NativeWebTool::Fetch => "web fetch",
            };
            Err(ProviderError::new(
                ErrorKind::Configuration,
                format!("this provider has no native {name}"),
            )
            .with_hint("use the local WebSearch and WebFetch tools instead"))
        }
    }
}
