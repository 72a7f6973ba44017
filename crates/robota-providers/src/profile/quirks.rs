//! What is odd about a service: everything in which services on one wire differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is odd about a service. The default is a service that does what its wire says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// How the longest answer is limited.
    pub max_tokens: MaxTokens,
    /// Whether it must be asked for usage in streams (`stream_options`).
    pub stream_usage: bool,
    /// Who gives instructions.
    pub system_role: SystemRole,
    /// What an answer of tool calls alone has for content.
    pub empty_content: EmptyContent,
    /// How reasoning goes back.
    pub reasoning_replay: ReasoningReplay,
    /// Which ids of tool calls it takes.
    pub tool_ids: ToolIds,
    /// Whether a tool result must not be followed by a user's message.
    pub no_user_after_tool: bool,
    /// How the option `effort` is said.
    pub effort: EffortStyle,
    /// How reasoning is marked inside of text, if it is.
    pub think_marks: Vec<ThinkMark>,
    /// How tool calls are written inside of text, if they are.
    pub text_calls: Vec<TextCallForm>,
    /// Whether it sees pictures.
    pub images: bool,
    /// Whether it reads PDF files.
    pub documents: bool,
    /// Whether tools are sent in strict mode where their schema allows it.
    pub strict_tools: bool,
    /// Its own web search: the type of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<String>,
    /// Its own web fetch: the type of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_fetch: Option<String>,
    /// Whether cache markers are sent on Anthropic's wire.
    pub cache_markers: bool,
    /// Whether cache markers are sent on the Chat wire, for services that pass them on.
    pub part_cache_markers: bool,
    /// How tools' schemas are said on Gemini's wire.
    pub gemini_schema: GeminiSchema,
    /// Whether calls without a thought signature are marked as such on Gemini's wire.
    pub skip_signatures: bool,
    /// Whether reasoning is asked for in encrypted form on the Responses wire.
    pub encrypted_reasoning: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            max_tokens: MaxTokens::default(),
            stream_usage: true,
            system_role: SystemRole::default(),
            empty_content: EmptyContent::default(),
            reasoning_replay: ReasoningReplay::default(),
            tool_ids: ToolIds::default(),
            no_user_after_tool: false,
            effort: EffortStyle::default(),
            think_marks: Vec::new(),
            text_calls: Vec::new(),
            images: true,
            documents: true,
            strict_tools: false,
            web_search: None,
            web_fetch: None,
            cache_markers: true,
            part_cache_markers: false,
            gemini_schema: GeminiSchema::default(),
            skip_signatures: true,
            encrypted_reasoning: true,
        }
    }
}

macro_rules! choices {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$vdoc:meta])* $variant:ident ),* $(,)? } )*) => { $(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $( $(#[$vdoc])* $variant, )* }
    )* };
}

choices! {
    /// How the longest answer is limited.
    MaxTokens {
        /// By `max_tokens`, or what the wire has in its place.
        #[default]
        MaxTokens,
        /// By `max_completion_tokens`.
        MaxCompletionTokens,
        /// Not at all: servers whose context is smaller than our limit refuse the request.
        Omit,
    }

    /// Who gives instructions.
    SystemRole {
        /// `system`.
        #[default]
        System,
        /// `developer`.
        Developer,
    }

    /// What an answer of tool calls alone has for content.
    EmptyContent {
        /// Null.
        #[default]
        Null,
        /// An empty text.
        Empty,
        /// Nothing.
        Omit,
    }

    /// How reasoning goes back to the service on the Chat wire.
    ReasoningReplay {
        /// It does not.
        #[default]
        Never,
        /// As `reasoning_content` of answers with tool calls, empty if there is none.
        ReasoningContent,
        /// As `reasoning_details`, as they came.
        ReasoningDetails,
    }

    /// Which ids of tool calls a service takes.
    ToolIds {
        /// Any.
        #[default]
        Any,
        /// Nine letters and digits.
        Alnum9,
    }

    /// How the option `effort` is said.
    EffortStyle {
        /// As the wire says it.
        #[default]
        Wire,
        /// As `reasoning: {effort}` on the Chat wire.
        ReasoningObject,
        /// As `enable_thinking`: anything but `none` switches it on.
        EnableThinking,
        /// As `thinking: {type}` beside `reasoning_effort`.
        ThinkingType,
        /// It is not.
        Never,
    }

    /// How reasoning is marked inside of text.
    ThinkMark {
        /// `<think>…</think>` at the beginning of an answer.
        #[default]
        Think,
        /// `<|channel>thought…<channel|>`, anywhere.
        GemmaChannel,
    }

    /// How a tool call is written inside of text.
    TextCallForm {
        /// `<tool_call>{"name": …, "arguments": …}</tool_call>`, or XML inside of it.
        #[default]
        ToolCallTag,
        /// `<function=name><parameter=key>value</parameter></function>` without a tag around it.
        FunctionXml,
        /// `<|tool_call>call:name{key:<|"|>value<|"|>}<tool_call|>`.
        Gemma,
        /// `<start_function_call>call:name{key:<escape>value<escape>}<end_function_call>`.
        FunctionGemma,
        /// `[TOOL_CALLS][{"name": …, "arguments": …}]` or `[TOOL_CALLS]name[ARGS]{…}`.
        ToolCallsToken,
        /// A fenced block of JSON with a name and arguments.
        Fenced,
    }

    /// How tools' schemas are said on Gemini's wire.
    GeminiSchema {
        /// In the subset of OpenAPI, as `parameters`.
        #[default]
        OpenApi,
        /// As JSON Schema, as `parametersJsonSchema`.
        JsonSchema,
    }
}
