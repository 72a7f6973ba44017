//! The tools, resources and prompts that the MCP conformance suite expects of a server, offered through the
//! public interface of the server.

use robota_mcp::server::{
    Asked, LogLevel, PromptArgumentInfo, PromptInfo, ResourceBody, ResourceInfo, ServedCall,
    ServedContent, ServedMessage, ServedPrompts, ServedResource, ServedResources, ServedResult,
    ServedTool, ServedTools,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

/// A picture of one pixel, as base64.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A recording of one sample, as base64.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

/// Offers what the suite expects.
pub(crate) struct TestHost {
    changes: broadcast::Sender<String>,
}

impl Default for TestHost {
    fn default() -> Self {
        Self { changes: broadcast::channel(16).0 }
    }
}

impl TestHost {
    /// Announces that a resource changed.
    pub(crate) fn change(&self, uri: &str) {
        let _ = self.changes.send(uri.to_owned());
    }
}

fn text(text: &str) -> ServedContent {
    ServedContent::Text(text.to_owned())
}

fn image() -> ServedContent {
    ServedContent::Image { data: PNG.to_owned(), media_type: "image/png".to_owned() }
}

fn resource(uri: &str, media_type: &str, body: &str) -> ServedResource {
    ServedResource {
        uri: uri.to_owned(),
        media_type: Some(media_type.to_owned()),
        body: ResourceBody::Text(body.to_owned()),
    }
}

fn schema(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("not a schema: {other}"),
    }
}

/// The tools without the schema of their arguments.
const TOOLS: [&str; 13] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_error_handling",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "json_schema_2020_12_tool",
];

fn arguments(tool: &str) -> Value {
    let required = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    match tool {
        "test_sampling" => required("prompt"),
        "test_elicitation" => required("message"),
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"type": "object", "properties": {
                "street": {"type": "string"}, "city": {"type": "string"},
            }}},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
            "additionalProperties": false,
        }),
        _ => json!({"type": "object", "properties": {}}),
    }
}

#[async_trait::async_trait]
impl ServedTools for TestHost {
    fn list(&self) -> Vec<ServedTool> {
        let tool = |name: &&str| ServedTool {
            name: (*name).to_owned(),
            description: format!("{name} of the conformance suite"),
            input_schema: schema(arguments(name)),
            output_schema: None,
            read_only: true,
        };
        TOOLS.iter().map(tool).collect()
    }

    async fn call(&self, call: ServedCall) -> ServedResult {
        let of = |content: Vec<ServedContent>| ServedResult { content, ..ServedResult::default() };
        let given = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or("-");
        match call.tool.as_str() {
            "test_simple_text" => ServedResult::text("This is a simple text response for testing."),
            "test_image_content" => of(vec![image()]),
            "test_audio_content" => {
                let (data, media_type) = (WAV.to_owned(), "audio/wav".to_owned());
                of(vec![ServedContent::Audio { data, media_type }])
            }
            "test_embedded_resource" => of(vec![ServedContent::Resource(resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            ))]),
            "test_multiple_content_types" => of(vec![
                text("Multiple content types test:"),
                image(),
                ServedContent::Resource(resource(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                )),
            ]),
            "test_tool_with_logging" => {
                for message in ["started", "processing data", "completed"] {
                    let message = format!("Tool execution {message}");
                    call.host.log(LogLevel::Info, message).await;
                }
                ServedResult::text("Three messages were logged.")
            }
            "test_tool_with_progress" => {
                for step in [0.0, 50.0, 100.0] {
                    call.host.progress(step, Some(100.0), None).await;
                }
                ServedResult::text("Progress was reported.")
            }
            "test_sampling" => match call.host.sample(given("prompt"), 100).await {
                Ok(answer) => ServedResult::text(format!("LLM response: {answer}")),
                Err(problem) => ServedResult::error(problem),
            },
            "test_elicitation" => asked(
                "User response",
                call.host
                    .ask(
                        given("message"),
                        json!({
                            "type": "object",
                            "properties": {
                                "username": {"type": "string", "description": "User's response"},
                                "email": {"type": "string", "description": "User's email address"},
                            },
                            "required": ["username", "email"],
                        }),
                    )
                    .await,
            ),
            "test_elicitation_sep1034_defaults" => {
                asked("Elicitation completed", call.host.ask("Fill in.", defaults()).await)
            }
            "test_elicitation_sep1330_enums" => {
                asked("Elicitation completed", call.host.ask("Choose.", enums()).await)
            }
            "json_schema_2020_12_tool" => ServedResult::text("It was called."),
            _ => ServedResult::error("This tool intentionally returns an error for testing"),
        }
    }
}

fn asked(prefix: &str, answer: Asked) -> ServedResult {
    match answer {
        Asked::Accepted(form) => {
            ServedResult::text(format!("{prefix}: action=accept, content={form}"))
        }
        Asked::Declined => ServedResult::text(format!("{prefix}: action=decline")),
        Asked::Unsupported | Asked::Gone => ServedResult::error("the host cannot ask its user"),
    }
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string", "enum": ["active", "inactive", "pending"], "default": "active",
        },
        "verified": {"type": "boolean", "default": true},
    }})
}

fn enums() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = |word: &str| {
        let option = |(number, name): (usize, &str)| json!({"const": format!("value{number}"), "title": format!("{name} {word}")});
        let options = [(1, "First"), (2, "Second"), (3, "Third")].map(option);
        json!(options)
    };
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }})
}

fn info(uri: &str, media_type: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.to_owned(),
        name: uri.trim_start_matches("test://").to_owned(),
        description: "A resource of the conformance suite.".to_owned(),
        media_type: Some(media_type.to_owned()),
    }
}

#[async_trait::async_trait]
impl ServedResources for TestHost {
    fn list(&self) -> Vec<ResourceInfo> {
        vec![
            info("test://static-text", "text/plain"),
            info("test://static-binary", "image/png"),
            info("test://watched-resource", "text/plain"),
        ]
    }

    fn templates(&self) -> Vec<ResourceInfo> {
        vec![info("test://template/{id}/data", "application/json")]
    }

    async fn read(&self, uri: &str) -> Option<ServedResource> {
        if let Some(id) =
            uri.strip_prefix("test://template/").and_then(|it| it.strip_suffix("/data"))
        {
            let data = json!({
                "id": id, "templateTest": true, "data": format!("Data for ID: {id}"),
            });
            return Some(resource(uri, "application/json", &data.to_string()));
        }
        match uri {
            "test://static-text" => {
                let body = "This is the content of the static text resource.";
                Some(resource(uri, "text/plain", body))
            }
            "test://static-binary" => {
                let body = ResourceBody::Base64(PNG.to_owned());
                Some(ServedResource { body, ..resource(uri, "image/png", "") })
            }
            "test://watched-resource" => Some(resource(uri, "text/plain", "It changes.")),
            _ => None,
        }
    }

    fn changes(&self) -> Option<broadcast::Receiver<String>> {
        Some(self.changes.subscribe())
    }
}

#[async_trait::async_trait]
impl ServedPrompts for TestHost {
    fn list(&self) -> Vec<PromptInfo> {
        let prompt = |name: &str, arguments: &[&str]| PromptInfo {
            name: name.to_owned(),
            description: "A prompt of the conformance suite.".to_owned(),
            arguments: arguments
                .iter()
                .map(|name| PromptArgumentInfo {
                    name: (*name).to_owned(),
                    description: "An argument.".to_owned(),
                    required: true,
                })
                .collect(),
        };
        vec![
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_simple_prompt", &[]),
        ]
    }

    async fn get(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Vec<ServedMessage>, String> {
        let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let content = match name {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given("arg1"),
                given("arg2")
            ))],
            "test_prompt_with_embedded_resource" => {
                let body = "Embedded resource content for testing.";
                let embedded = resource(given("resourceUri"), "text/plain", body);
                vec![
                    ServedContent::Resource(embedded),
                    text("Please process the embedded resource above."),
                ]
            }
            _ => vec![image(), text("Please analyze the image above.")],
        };
        Ok(content.into_iter().map(ServedMessage::user).collect())
    }
}
