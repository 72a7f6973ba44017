//! The four wires, and which of their addresses means what.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a model's service is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and all that copy it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini generateContent.
    Gemini,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Self; 4] =
        [Self::Anthropic, Self::OpenaiChat, Self::OpenaiResponses, Self::Gemini];

    /// Its name in scenarios and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
        }
    }

    /// The base address as its vendor's users write it.
    #[must_use]
    pub fn base_url(self, origin: &str) -> String {
        match self {
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
    /// A model is called.
    Call {
        /// On this wire.
        wire: Wire,
        /// The model of the address, where the wire has it there.
        model: Option<String>,
        /// Whether the address asks for a stream; else the body may.
        stream: Option<bool>,
    },
    /// Tokens are counted.
    Count(Wire),
    /// The list of models, in the shape of that wire.
    Models(Wire),
    /// One model, in the shape of that wire.
    Model(Wire, String),
    /// Ollama's list of models.
    OllamaTags,
    /// Ollama's version.
    OllamaVersion,
    /// llama.cpp's and others' word that they are up.
    Health,
    /// Nothing the mock knows.
    Unknown,
}

impl Route {
    /// What that request is for. The list of models has one address on three wires; the header
    /// that only one of them sends tells them apart.
    #[must_use]
    pub fn of(method: &str, path: &str, anthropic: bool) -> Self {
        let call = |wire| Self::Call { wire, model: None, stream: None };
        let list = if anthropic { Wire::Anthropic } else { Wire::OpenaiChat };
        match (method, path) {
            ("POST", "/v1/messages") => call(Wire::Anthropic),
            ("POST", "/v1/messages/count_tokens") => Self::Count(Wire::Anthropic),
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
