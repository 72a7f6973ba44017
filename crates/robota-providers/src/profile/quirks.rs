//! Compatibility options: everything in which services on one wire differ.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Says how a service differs from the specification of its wire. The default describes a service
/// that follows its wire's specification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// The field that limits the output tokens.
    pub max_tokens: MaxTokens,
    /// Whether usage in streams must be requested (`stream_options`).
    pub stream_usage: bool,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// The content of an assistant message that has only tool calls.
    pub empty_content: EmptyContent,
    /// How reasoning is sent back to the service.
    pub reasoning_replay: ReasoningReplay,
    /// Which ids of tool calls the service accepts.
    pub tool_ids: ToolIds,
    /// Whether the service rejects a user message directly after a tool result.
    pub no_user_after_tool: bool,
    /// How the option `effort` is sent.
    pub effort: EffortStyle,
    /// The marks of reasoning inside text; empty if the service sends reasoning separately.
    pub think_marks: Vec<ThinkMark>,
    /// The forms of tool calls inside text; empty if the service sends calls separately.
    pub text_calls: Vec<TextCallForm>,
    /// Whether the service accepts images; otherwise a note replaces them.
    pub images: bool,
    /// Whether the service accepts PDF files.
    pub documents: bool,
    /// Whether tools are sent in strict mode where their schema allows it.
    pub strict_tools: bool,
    /// How requests of the Chat wire ask for a required tool call.
    pub required_choice: RequiredChoice,
    /// How the form of an answer is sent on the Chat wire.
    pub output_schema: OutputStyle,
    /// Whether the session's id is sent as the key of the prompt cache, on the wires of OpenAI.
    pub prompt_cache_key: bool,
    /// The tool type of the service's own web search, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<String>,
    /// The tool type of the service's own web fetch, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_fetch: Option<String>,
    /// Whether cache markers are sent on the Anthropic wire.
    pub cache_markers: bool,
    /// Whether cache markers are sent on the Chat wire, for services that forward them.
    pub part_cache_markers: bool,
    /// The form of tool schemas on the Gemini wire.
    pub gemini_schema: GeminiSchema,
    /// How the option `effort` is sent on the Gemini wire.
    pub gemini_thinking: GeminiThinking,
    /// Whether calls without a thought signature are marked as such on the Gemini wire.
    pub skip_signatures: bool,
    /// Whether encrypted reasoning is requested on the Responses wire.
    pub encrypted_reasoning: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            max_tokens: MaxTokens::default(),
            // Most services send the usage of a stream only on request.
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
            required_choice: RequiredChoice::default(),
            output_schema: OutputStyle::default(),
            prompt_cache_key: false,
            web_search: None,
            web_fetch: None,
            cache_markers: true,
            part_cache_markers: false,
            gemini_schema: GeminiSchema::default(),
            gemini_thinking: GeminiThinking::default(),
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
        #[non_exhaustive]
        pub enum $name { $( $(#[$vdoc])* $variant, )* }
    )* };
}

choices! {
    /// The field that limits the output tokens.
    MaxTokens {
        /// `max_tokens`, or the wire's equivalent.
        #[default]
        MaxTokens,
        /// `max_completion_tokens`, which reasoning models of OpenAI require.
        MaxCompletionTokens,
        /// No limit is sent: servers whose context is smaller than the limit would reject the
        /// request.
        Omit,
    }

    /// The role of the system prompt.
    SystemRole {
        /// `system`, which every service knows.
        #[default]
        System,
        /// `developer`, as OpenAI calls it for reasoning models.
        Developer,
    }

    /// The content of an assistant message that has only tool calls.
    EmptyContent {
        /// `null`, as the specification says.
        #[default]
        Null,
        /// An empty string, for services that refuse `null`.
        Empty,
        /// The field is omitted.
        Omit,
    }

    /// How reasoning is sent back to the service on the Chat wire.
    ReasoningReplay {
        /// It is not sent back.
        #[default]
        Never,
        /// As `reasoning_content` of messages with tool calls; empty if there is no reasoning.
        ReasoningContent,
        /// As `reasoning_details`, unchanged, as OpenRouter requires.
        ReasoningDetails,
    }

    /// Which ids of tool calls a service accepts.
    ToolIds {
        /// Any id that is not empty.
        #[default]
        Any,
        /// Exactly nine letters and digits.
        Alnum9,
    }

    /// How the option `effort` is sent.
    EffortStyle {
        /// In the wire's standard field.
        #[default]
        Wire,
        /// As `reasoning: {effort}` on the Chat wire.
        ReasoningObject,
        /// As `enable_thinking`: any value but `none` enables it.
        EnableThinking,
        /// As `thinking: {type}` in addition to `reasoning_effort`.
        ThinkingType,
        /// It is not sent.
        Never,
    }

    /// How reasoning is marked inside text.
    ThinkMark {
        /// `<think>…</think>` at the beginning of an answer.
        #[default]
        Think,
        /// `<|channel>thought…<channel|>`, anywhere.
        GemmaChannel,
    }

    /// How a tool call is written inside text.
    TextCallForm {
        /// `<tool_call>{"name": …, "arguments": …}</tool_call>`, or the XML form inside this tag.
        #[default]
        ToolCallTag,
        /// `<function=name><parameter=key>value</parameter></function>` without an enclosing tag.
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

    /// The word for a required tool call on the Chat wire.
    RequiredChoice {
        /// `required`, as OpenAI.
        #[default]
        Required,
        /// `any`, as Mistral.
        Any,
    }

    /// How the form of an answer is sent on the Chat wire.
    OutputStyle {
        /// It is not sent: the prompt alone asks for it.
        #[default]
        Never,
        /// As `response_format` with a JSON Schema.
        JsonSchema,
        /// As `response_format` of the type `json_object`, which only requires JSON.
        JsonObject,
    }

    /// How the option `effort` is sent on the Gemini wire.
    GeminiThinking {
        /// As `thinkingLevel`, for models of generation 3 and later.
        #[default]
        Level,
        /// As `thinkingBudget`, for models that have no levels.
        Budget,
    }

    /// The form of tool schemas on the Gemini wire.
    GeminiSchema {
        /// The OpenAPI subset, as `parameters`.
        #[default]
        OpenApi,
        /// JSON Schema, as `parametersJsonSchema`, without the limits of the subset.
        JsonSchema,
    }
}
