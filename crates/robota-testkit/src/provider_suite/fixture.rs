//! A mock server, a provider that calls it, and the result of a call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use robota_core::blob::Blobs;
use robota_core::call::CallContext;
use robota_core::ids::{CountingIds, MessageId};
use robota_core::journal::JournalError;
use robota_core::message::{BlobRef, Block, Message, MessageState, ToolResult, ToolUse};
use robota_core::permission::Class;
use robota_core::provider::{Delta, ModelRequest, Provider, ProviderError, StopReason, View};
use robota_core::streaming::StreamingAnswer;
use robota_core::tool::ToolSpec;
use robota_core::usage::Usage;
use serde_json::{Value, json};

use super::{Suite, WireSetup};
use crate::lock;
use crate::mock::{MockServer, ReceivedRequest, Scenario, Wire};

/// The model that the cases call.
pub const MODEL: &str = "mock-model";

/// The key that is sent. It is unusual enough to be found wherever it must not be.
pub(super) const KEY: &str = "sk-test-0123456789abcdefTOPSECRET";

/// A mock server and a provider on one wire.
pub struct Fixture {
    /// The wire under test, for cases that differ by wire.
    pub wire: Wire,
    /// The mock server, to which a case adds answers and whose requests it reads.
    pub mock: MockServer,
    /// The provider under test, connected to the mock server.
    pub provider: Arc<dyn Provider>,
    /// The store of attachments.
    pub blobs: Arc<SuiteBlobs>,
    /// The source of message ids, which counts.
    pub ids: CountingIds,
    /// The tools that requests offer: `list` and `read`, unless a case changes them.
    pub tools: Arc<[ToolSpec]>,
}

impl Suite {
    /// Creates a fixture with that scenario.
    pub async fn fixture(self, scenario: impl Into<Scenario>) -> Fixture {
        self.build_fixture(scenario, false).await
    }

    /// Creates a fixture with a provider for models that write tool calls as text.
    pub async fn fixture_with_text_calls(self, scenario: impl Into<Scenario>) -> Fixture {
        self.build_fixture(scenario, true).await
    }

    async fn build_fixture(self, scenario: impl Into<Scenario>, text_calls: bool) -> Fixture {
        let mut scenario = scenario.into();
        // The mock server rejects a wrong or missing key, so that it shows immediately.
        scenario.key = Some(KEY.to_owned());
        let mock = MockServer::start(scenario).await.unwrap();
        let blobs = Arc::new(SuiteBlobs::default());
        let provider = self.provider(mock.origin(), &blobs, text_calls);
        let tools = Arc::from([
            tool("list", &json!({})),
            tool("read", &json!({"path": {"type": "string"}})),
        ]);
        Fixture { wire: self.wire, mock, provider, blobs, ids: CountingIds::default(), tools }
    }

    /// Builds a provider for the service at that origin.
    pub fn provider(
        self,
        origin: String,
        blobs: &Arc<SuiteBlobs>,
        text_calls: bool,
    ) -> Arc<dyn Provider> {
        (self.build)(WireSetup {
            wire: self.wire,
            base_url: self.wire.base_url(&origin),
            origin,
            api_key: KEY.to_owned(),
            model: MODEL.to_owned(),
            blobs: blobs.clone(),
            text_calls,
        })
    }
}

fn tool(name: &str, properties: &Value) -> ToolSpec {
    let required: Vec<&String> =
        properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
    ToolSpec {
        name: name.to_owned(),
        description: format!("{name}, for a test"),
        input_schema: json!({"type": "object", "properties": properties, "required": required}),
        class: Class::Inspect,
    }
}

impl Fixture {
    /// Creates a message of the user with this text.
    pub fn user(&self, text: &str) -> Arc<Message> {
        Arc::new(Message::user(&self.ids, text))
    }

    /// Creates one message with the results of calls.
    pub fn results(&self, results: Vec<ToolResult>) -> Arc<Message> {
        Arc::new(Message::tool(MessageId::mint(&self.ids), results))
    }

    /// Creates a request with that conversation, a system prompt and tools.
    pub fn request(&self, messages: Vec<Arc<Message>>) -> ModelRequest {
        let view: View = Arc::new(messages);
        let mut request = ModelRequest::new(MODEL, view);
        request.system = Some(Arc::from("You are a test."));
        request.tools = self.tools.clone();
        // A limit that no catalogue has: the request must contain the caller's.
        request.max_output_tokens = Some(1000);
        request
    }

    /// Sends "hello" and waits for the whole answer.
    pub async fn hello(&self) -> Result<ProviderAnswer, ProviderError> {
        self.ask(vec![self.user("hello")]).await
    }

    /// Sends a conversation and waits for the whole answer.
    pub async fn ask(&self, messages: Vec<Arc<Message>>) -> Result<ProviderAnswer, ProviderError> {
        self.send(self.request(messages)).await
    }

    /// Sends a request and waits for the whole answer. Checks that the stream keeps its contract.
    pub async fn send(&self, request: ModelRequest) -> Result<ProviderAnswer, ProviderError> {
        let context = CallContext::detached().with_blobs(self.blobs.clone());
        let mut stream = self.provider.stream(request, context).await?;
        let mut deltas = Vec::new();
        while let Some(item) = stream.next().await {
            match item {
                Err(error) => {
                    // The contract of a stream: an error is its last item.
                    assert!(stream.next().await.is_none(), "nothing follows an error");
                    return Err(error);
                }
                Ok(delta) => deltas.push(delta),
            }
        }
        assert!(
            matches!(deltas.last(), Some(Delta::End(_))),
            "a stream ends with a terminal event or an error: {deltas:?}"
        );
        // Quirks repeat the end; a provider must pass it on once.
        let ends = deltas.iter().filter(|delta| matches!(delta, Delta::End(_))).count();
        assert_eq!(ends, 1, "there is one terminal event: {deltas:?}");
        Ok(self.collect(deltas))
    }

    fn collect(&self, deltas: Vec<Delta>) -> ProviderAnswer {
        let mut pending = StreamingAnswer::default();
        let (mut usage, mut stop) = (None, None);
        for delta in &deltas {
            match delta {
                Delta::Text(text) => pending.push_text(text),
                Delta::Thinking(text) => pending.push_thinking(text),
                Delta::Block(block) => {
                    pending.push_block(block.clone(), &self.ids);
                }
                Delta::Usage(now) => usage = Some(*now),
                Delta::End(reason) => stop = Some(reason.clone()),
                Delta::ToolInput { .. } | Delta::LeftOut(_) | Delta::Activity => {}
            }
        }
        let message = Message::assistant(&self.ids, pending.take_blocks(), MessageState::Complete)
            .with_usage(usage);
        ProviderAnswer { deltas, message: Arc::new(message), usage, stop: stop.unwrap() }
    }

    /// Returns the n-th model call that the mock server received, counted from one.
    pub fn sent(&self, nth: usize) -> Arc<ReceivedRequest> {
        self.mock
            .calls()
            .get(nth - 1)
            .cloned()
            .unwrap_or_else(|| panic!("there was no model call {nth}: {:?}", self.mock.received()))
    }
}

/// The result of a call.
#[derive(Debug)]
pub struct ProviderAnswer {
    /// All deltas in the order of their arrival.
    pub deltas: Vec<Delta>,
    /// The answer as a turn would commit it.
    pub message: Arc<Message>,
    /// The usage of the last report; none if the service sent none.
    pub usage: Option<Usage>,
    /// Why the model stopped.
    pub stop: StopReason,
}

impl ProviderAnswer {
    /// Returns the text of the answer.
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// Returns the reasoning of the answer.
    pub fn thinking(&self) -> String {
        let thoughts = self.message.content.iter().filter_map(|block| match block {
            Block::Thinking(thinking) => Some(thinking.thinking.as_str()),
            _ => None,
        });
        thoughts.collect()
    }

    /// Returns the calls of the answer, in their order.
    pub fn calls(&self) -> Vec<ToolUse> {
        self.message.tool_uses().cloned().collect()
    }

    /// Returns the names and arguments of the tool calls.
    pub fn called(&self) -> Vec<(String, Value)> {
        self.message
            .tool_uses()
            .map(|call| (call.name.clone(), call.input.json().cloned().unwrap_or_default()))
            .collect()
    }
}

/// A blob store in memory, empty at the start of each case.
#[derive(Debug, Default)]
pub struct SuiteBlobs(Mutex<BTreeMap<String, Vec<u8>>>);

#[async_trait::async_trait]
impl Blobs for SuiteBlobs {
    async fn put(&self, bytes: &[u8]) -> Result<BlobRef, JournalError> {
        let blob = BlobRef::of(bytes);
        lock(&self.0).insert(blob.sha256.clone(), bytes.to_vec());
        Ok(blob)
    }

    async fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(lock(&self.0).get(&blob.sha256).cloned())
    }
}

/// Freezes tokio's time until it is dropped: timers do not fire, and sockets work as usual. (Paused
/// time alone advances automatically whenever all tasks wait for sockets.)
pub struct FrozenTime {
    _resume: std::sync::mpsc::Sender<()>,
}

impl FrozenTime {
    /// Freezes time. Needs a single-threaded runtime, as tests have.
    #[must_use]
    pub fn start() -> Self {
        let (resume, frozen) = std::sync::mpsc::channel::<()>();
        tokio::time::pause();
        // While a blocking task runs, tokio does not advance paused time.
        tokio::task::spawn_blocking(move || frozen.recv());
        Self { _resume: resume }
    }
}

impl Drop for FrozenTime {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}

/// Fails a case that hangs. A minute is far longer than any case takes. It is real time, which
/// passes while tokio's time is frozen.
///
/// # Panics
/// When the case takes longer.
pub async fn within_a_minute<T>(case: impl Future<Output = T>) -> T {
    let (_done, waiting) = std::sync::mpsc::channel::<()>();
    let minute = Duration::from_secs(60);
    let watchdog = tokio::task::spawn_blocking(move || waiting.recv_timeout(minute));
    tokio::select! {
        // The case first: one that ends in the last moment has ended.
        biased;
        done = case => done,
        _ = watchdog => panic!("the case did not end within a minute"),
    }
}
