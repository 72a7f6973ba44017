//! The four wires and their routes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The API shape of a model service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages, `/v1/messages`.
    Anthropic,
    /// OpenAI Chat Completions and compatible services.
    OpenaiChat,
    /// OpenAI Responses, `/v1/responses`.
    OpenaiResponses,
    /// Gemini, `:generateContent` and `:streamGenerateContent`.
    Gemini,
}

impl Wire {
    /// All wires, in the order of the tables.
    pub const ALL: [Self; 4] =
        [Self::Anthropic, Self::OpenaiChat, Self::OpenaiResponses, Self::Gemini];

    /// Returns the name in scenarios and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the base URL in the form that users of the vendor write.
    #[must_use]
    pub fn base_url(self, origin: &str) -> String {
        match self {
            // The clients of these two vendors add the version themselves; those of OpenAI do not.
            Self::Anthropic | Self::Gemini => origin.to_owned(),
            Self::OpenaiChat | Self::OpenaiResponses => format!("{origin}/v1"),
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// A request for an answer of a model.
    Call {
        /// The wire, which the path decides.
        wire: Wire,
        /// The model in the path, if the wire has it there.
        model: Option<String>,
        /// Whether the path asks for a stream; `None` if the body decides.
        stream: Option<bool>,
    },
    /// A request that counts tokens without an answer.
    Count(Wire),
    /// The list of models, in the form of that wire.
    Models(Wire),
    /// One model, in the form of that wire.
    Model(Wire, String),
    /// Ollama's list of models.
    OllamaTags,
    /// The version of Ollama, by which clients recognise it.
    OllamaVersion,
    /// The health check of llama.cpp and other servers.
    Health,
    /// A path that the mock server does not know.
    Unknown,
}

impl Route {
    /// Returns what a request is for. Three wires share the path of the model list; the header that
    /// only Anthropic clients send decides between them.
    #[must_use]
    pub fn of(method: &str, path: &str, anthropic: bool) -> Self {
        let call = |wire| Self::Call { wire, model: None, stream: None };
        let list = if anthropic { Wire::Anthropic } else { Wire::OpenaiChat };
        match (method, path) {
            ("POST", "/v1/messages") => call(Wire::Anthropic),
            ("POST", "/v1/messages/count_tokens") => Self::Count(Wire::Anthropic),
            // Some compatible services have no version in their path.
            ("POST", "/v1/chat/completions" | "/chat/completions") => call(Wire::OpenaiChat),
            ("POST", "/v1/responses") => call(Wire::OpenaiResponses),
            ("POST", "/v1/responses/input_tokens") => Self::Count(Wire::OpenaiResponses),
            ("GET", "/v1/models" | "/models") => Self::Models(list),
            ("GET", "/v1beta/models") => Self::Models(Wire::Gemini),
            ("GET", "/api/tags") => Self::OllamaTags,
            ("GET", "/api/version") => Self::OllamaVersion,
            ("GET", "/health" | "/") => Self::Health,
            _ => Self::by_prefix(method, path, list),
        }
    }

    fn by_prefix(method: &str, path: &str, list: Wire) -> Self {
        let beta = path.strip_prefix("/v1beta/models/");
        let gemini = beta.or_else(|| path.strip_prefix("/v1/models/"));
        let verb = gemini.and_then(|rest| rest.split_once(':'));
        match (method, verb, gemini) {
            ("POST", Some((model, "streamGenerateContent")), _) => Self::gemini(model, true),
            ("POST", Some((model, "generateContent")), _) => Self::gemini(model, false),
            ("POST", Some((_, "countTokens")), _) => Self::Count(Wire::Gemini),
            ("GET", None, Some(model)) => {
                let wire = if beta.is_some() { Wire::Gemini } else { list };
                Self::Model(wire, model.to_owned())
            }
            _ => Self::Unknown,
        }
    }

    fn gemini(model: &str, stream: bool) -> Self {
        Self::Call { wire: Wire::Gemini, model: Some(model.to_owned()), stream: Some(stream) }
    }
}
