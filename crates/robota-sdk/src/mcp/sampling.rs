//! MCP servers that use the model of the session: through the gate and the budget, and the user sees the
//! answer.

use std::sync::Arc;

use robota_core::call::CallContext;
use robota_core::ids::{CallId, RandomIds, SessionId};
use robota_core::message::{Message, MessageState, ToolInput, ToolUse};
use robota_core::permission::{Class, Verdict};
use robota_core::provider::{AskLimits, ModelRequest, StopReason, ask};
use robota_core::tool::ToolSpec;
use robota_mcp::client::{Sampler, SamplingAnswer, SamplingMessage, SamplingRequest};
use robota_tools::{AnswerOption, QuestionHandler, UserQuestion};
use serde_json::json;

use crate::budget::BudgetGuard;
use crate::hooks::OnHookUsage;
use crate::interactive::OpenSessions;
use crate::model_setup::ModelSetup;
use crate::notice::Notice;

/// The name that permission rules have for the use of the model by a server.
const TOOL: &str = "McpSampling";
/// The most tokens that a server gets.
const MAX_TOKENS: u64 = 4_096;
/// How much of an answer the user is shown, in characters.
const SHOWN: usize = 2_000;

/// Lets servers use the model of a session.
pub(crate) struct ModelSampler {
    pub(crate) session: SessionId,
    pub(crate) open: OpenSessions,
    pub(crate) model: ModelSetup,
    pub(crate) budget: BudgetGuard,
    pub(crate) on_usage: OnHookUsage,
    pub(crate) on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
    /// Asks the user; none denies what needs approval.
    pub(crate) questions: Option<Arc<dyn QuestionHandler>>,
}

#[async_trait::async_trait]
impl Sampler for ModelSampler {
    async fn sample(&self, request: SamplingRequest) -> Result<SamplingAnswer, String> {
        if let Some(reason) = self.budget.refuses_call(&self.model.model) {
            return Err(reason);
        }
        self.check(&request).await?;
        let model = self.model.model.clone();
        let messages = request.messages.iter().map(message).map(Arc::new).collect();
        let mut asked = ModelRequest::new(&model, Arc::new(messages));
        asked.system = request.system.as_deref().map(Into::into);
        asked.max_output_tokens = Some(request.max_tokens.min(MAX_TOKENS));
        let limits = AskLimits { idle_timeout: self.model.idle_timeout, ..AskLimits::default() };
        let context = CallContext::detached();
        let answer = ask(&*self.model.provider, asked, &context, limits, &RandomIds).await;
        let (answer, stop) = answer.map_err(|error| format!("the model failed: {error}"))?;
        if let Some(usage) = answer.usage {
            (self.on_usage)(&model, usage);
        }
        let text = answer.text();
        let shown: String = text.chars().take(SHOWN).collect();
        let server = &request.server;
        let notice = format!(
            "the MCP server `{server}` asked the model: {}\nThe model answered: {shown}",
            request.summary()
        );
        (self.on_notice)(Notice::Note(notice));
        Ok(SamplingAnswer { model, text, cut: stop == StopReason::MaxTokens })
    }
}

impl ModelSampler {
    /// Asks the gate, and the user if the gate says so.
    async fn check(&self, request: &SamplingRequest) -> Result<(), String> {
        let session = self.open.get(&self.session);
        let session = session.ok_or("the session is not open yet, or it has ended")?;
        let spec = ToolSpec {
            name: TOOL.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            // It costs money and sends text to the service, so what allows reading must not allow
            // it.
            class: Class::Execute,
        };
        let (server, summary) = (&request.server, request.summary());
        let input = ToolInput::Json(json!({"server": server, "prompt": summary}));
        let call = ToolUse::new(CallId::mint(&RandomIds), "sampling", TOOL, input);
        let judgement = session.session().permissions().judge(&call, &spec).await;
        match (judgement.verdict, &self.questions) {
            (Verdict::Allow, _) => Ok(()),
            (Verdict::Deny, _) => {
                Err(format!("the use of the model is denied: {}", judgement.reason))
            }
            (Verdict::Ask, None) => Err(format!(
                "the use of the model needs approval, and this client has no user who can approve it; a rule `{TOOL}` allows it"
            )),
            (Verdict::Ask, Some(questions)) => {
                let options = ["Allow", "Deny"].map(|text| AnswerOption::Label(text.to_owned()));
                let question = UserQuestion {
                    question: format!(
                        "The MCP server `{server}` wants to use your model, for at most {} tokens: \
                         {summary}",
                        request.max_tokens.min(MAX_TOKENS)
                    ),
                    header: Some("MCP".to_owned()),
                    options: Some(options.to_vec()),
                    multi_select: None,
                };
                match questions.ask(&question).await.as_deref() {
                    Some("Allow") => Ok(()),
                    // An answer in other words is no permission.
                    _ => Err("the user did not allow the use of the model".to_owned()),
                }
            }
        }
    }
}

fn message(message: &SamplingMessage) -> Message {
    let text = message.text.as_str();
    if message.by_model {
        Message::assistant(&RandomIds, text, MessageState::Complete)
    } else {
        Message::user(&RandomIds, text)
    }
}
