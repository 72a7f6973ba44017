//! Web services that an OpenAPI document describes.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A web service whose operations are tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenApiService {
    /// The OpenAPI 3 document: a file, relative to the working folder, or an address.
    pub document: String,
    /// The operations to use, as globs over `METHOD /path`, the id, and `tag:NAME`; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// The operations to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The server, instead of that of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The credentials by the name of the document's security scheme; `$ENV:NAME` is a variable.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub credentials: IndexMap<String, String>,
    /// Whether private and loopback addresses may be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_private: bool,
}
