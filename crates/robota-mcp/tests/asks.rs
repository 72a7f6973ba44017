//! Servers that ask the user or the model, or that need more time. The servers are this test
//! binary, started as a program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use robota_core::call::CallContext;
use robota_core::tool::{DidRun, Progress, ToolContext, ToolOutcome, ToolSource as _};
use robota_exec::{Environment, Supervisor};
use robota_mcp::client::{
    ElicitAnswer, Elicitation, ElicitationKind, Elicitor, McpClientOptions, McpServers,
    READ_RESOURCE, Sampler, SamplingAnswer, SamplingRequest,
};
use robota_mcp::config::ServerConfig;
use robota_testkit::fake_mcp;
use serde_json::{Value, json};

#[test]
fn fake_server() {
    fake_mcp::serve_if_asked();
}

/// A user who gives the same answer to every question, and a model that repeats its prompt.
struct Client {
    answer: ElicitAnswer,
    addresses: bool,
    asked: Mutex<Vec<Elicitation>>,
    sampled: Mutex<Vec<SamplingRequest>>,
}

impl Client {
    fn new(answer: ElicitAnswer) -> Arc<Self> {
        let (asked, sampled) = (Mutex::default(), Mutex::default());
        Arc::new(Self { answer, addresses: true, asked, sampled })
    }
}

#[async_trait::async_trait]
impl Elicitor for Client {
    async fn ask(&self, question: Elicitation) -> ElicitAnswer {
        self.asked.lock().unwrap().push(question);
        self.answer.clone()
    }

    fn shows_addresses(&self) -> bool {
        self.addresses
    }
}

#[async_trait::async_trait]
impl Sampler for Client {
    async fn sample(&self, request: SamplingRequest) -> Result<SamplingAnswer, String> {
        self.sampled.lock().unwrap().push(request.clone());
        if request.summary().contains("secret") {
            return Err("the user did not allow it".to_owned());
        }
        let text = format!("You said: {}", request.summary());
        Ok(SamplingAnswer { model: "model-1".to_owned(), text, cut: false })
    }
}

/// Starts the server for a client; `entry` is added to its configuration.
fn servers(words: &str, client: Option<&Arc<Client>>, entry: &[(&str, Value)]) -> McpServers {
    let elicitor = client.map(|client| client.clone() as _);
    servers_for(words, elicitor, client.map(|client| client.clone() as _), entry)
}

fn servers_for(
    words: &str,
    elicitor: Option<Arc<dyn Elicitor>>,
    sampler: Option<Arc<dyn Sampler>>,
    entry: &[(&str, Value)],
) -> McpServers {
    let mut fields = fake_mcp::command("fake_server", &format!("asks {words}"));
    for (key, value) in entry {
        fields[*key] = value.clone();
    }
    let config = ServerConfig::parse("fake", fields.as_object().unwrap(), &|_| None).unwrap();
    let options = McpClientOptions {
        environment: Environment::new().with("PATH", std::env::var_os("PATH").unwrap()),
        elicitor,
        sampler,
        ..McpClientOptions::new(Supervisor::new(), std::env::temp_dir())
    };
    McpServers::new(vec![config.config], &options)
}

async fn run(servers: &McpServers, name: &str, input: Value, context: ToolContext) -> ToolOutcome {
    servers.check("fake").await.unwrap();
    let name = format!("mcp__fake__{name}");
    let tools = servers.session_tools().tools();
    let tool = tools.into_iter().find(|tool| tool.spec().name == name).expect("the tool is there");
    let running = tool.run(input, context);
    tokio::time::timeout(Duration::from_secs(60), running).await.expect("it ends")
}

async fn call(servers: &McpServers, name: &str, input: Value) -> Value {
    let outcome = run(servers, name, input, ToolContext::detached()).await;
    let text = outcome.text();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

#[tokio::test]
async fn a_form_of_a_server_is_answered_with_its_defaults() {
    let client = Client::new(ElicitAnswer::Accept(json!({"name": "Ada", "unknown": 1})));
    let servers = servers("", Some(&client), &[]);
    let answer = call(&servers, "ask", json!({})).await;
    let content = json!({"name": "Ada", "color": "g"});
    assert_eq!(answer, json!({"action": "accept", "content": content}));
    let asked = client.asked.lock().unwrap();
    assert_eq!((asked[0].server.as_str(), asked[0].message.as_str()), ("fake", "Who are you?"));
    let ElicitationKind::Form { form, .. } = &asked[0].kind else { panic!("{asked:?}") };
    assert_eq!(form.fields.len(), 3);
}

/// A user who does not answer. Sends a message when the question is shown and when it is withdrawn.
struct Thinking(tokio::sync::mpsc::UnboundedSender<&'static str>);

#[async_trait::async_trait]
impl Elicitor for Thinking {
    async fn ask(&self, _question: Elicitation) -> ElicitAnswer {
        struct Shown(tokio::sync::mpsc::UnboundedSender<&'static str>);
        impl Drop for Shown {
            fn drop(&mut self) {
                self.0.send("withdrawn").unwrap();
            }
        }
        let _shown = Shown(self.0.clone());
        self.0.send("shown").unwrap();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_question_that_its_server_withdraws_is_no_longer_shown() {
    let (send, mut happened) = tokio::sync::mpsc::unbounded_channel();
    let servers = servers_for("", Some(Arc::new(Thinking(send))), None, &[]);
    let open = run(&servers, "open", json!({}), ToolContext::detached()).await;
    assert_eq!((open.text().as_str(), happened.recv().await), ("opened", Some("shown")));
    run(&servers, "withdraw", json!({}), ToolContext::detached()).await;
    let withdrawn = tokio::time::timeout(Duration::from_secs(60), happened.recv()).await;
    assert_eq!(withdrawn.expect("it is withdrawn"), Some("withdrawn"));
}

#[tokio::test]
async fn answers_that_do_not_fit_the_form_are_not_sent() {
    let client = Client::new(ElicitAnswer::Accept(json!({"name": "A"})));
    let answer = call(&servers("", Some(&client), &[]), "ask", json!({})).await;
    assert_eq!(answer, json!({"action": "cancel"}), "the name is too short");
}

#[tokio::test]
async fn a_server_that_asks_too_often_is_declined() {
    let client = Client::new(ElicitAnswer::Accept(json!({"name": "Ada"})));
    let servers = servers("", Some(&client), &[]);
    for _ in 0..100 {
        assert_eq!(call(&servers, "ask", json!({})).await["action"], "accept");
    }
    assert_eq!(call(&servers, "ask", json!({})).await["action"], "decline");
    assert_eq!(client.asked.lock().unwrap().len(), 100);
}

#[tokio::test]
async fn without_a_user_questions_are_declined_and_not_announced() {
    let servers = servers("", None, &[]);
    let capabilities = call(&servers, "capabilities", json!({})).await;
    assert!(capabilities.get("elicitation").is_none(), "{capabilities}");
    assert!(capabilities.get("sampling").is_none(), "{capabilities}");
    assert_eq!(call(&servers, "ask", json!({})).await["action"], "decline");
    let refused = call(&servers, "sample", json!({"text": "hello"})).await;
    assert_eq!(refused["code"], -32601, "{refused}");
}

#[tokio::test]
async fn addresses_are_passed_on_only_if_they_can_be_shown() {
    let client = Client::new(ElicitAnswer::Accept(Value::Null));
    let visible = servers("", Some(&client), &[]);
    let answer = call(&visible, "visit", json!({"text": "https://example.com/login?a=b"})).await;
    assert_eq!(answer, json!({"action": "accept"}));
    let kind = client.asked.lock().unwrap()[0].kind.clone();
    let url = "https://example.com/login?a=b".to_owned();
    assert_eq!(kind, ElicitationKind::Address { url, id: Some("1".to_owned()) });
    for address in ["file:///etc/passwd", "javascript:alert(1)", "nonsense"] {
        let answer = call(&visible, "visit", json!({"text": address})).await;
        assert_eq!(answer, json!({"action": "decline"}), "{address}");
    }
    let (asked, sampled) = (Mutex::default(), Mutex::default());
    let answer = ElicitAnswer::Accept(Value::Null);
    let forms = Arc::new(Client { answer, addresses: false, asked, sampled });
    let hidden = servers("", Some(&forms), &[]);
    let capabilities = call(&hidden, "capabilities", json!({})).await;
    assert_eq!(capabilities["elicitation"], json!({"form": {}}), "{capabilities}");
    let answer = call(&hidden, "visit", json!({"text": "https://example.com/"})).await;
    assert_eq!(answer, json!({"action": "decline"}));
    assert!(forms.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn forms_that_the_protocol_does_not_allow_are_declined() {
    let client = Client::new(ElicitAnswer::Accept(json!({})));
    let answer = call(&servers("", Some(&client), &[]), "nest", json!({})).await;
    assert_eq!(answer, json!({"action": "decline"}));
    assert!(client.asked.lock().unwrap().is_empty(), "the user is not asked");
}

#[tokio::test]
async fn only_servers_that_are_configured_so_use_the_model() {
    let client = Client::new(ElicitAnswer::Decline);
    let refused = servers("", Some(&client), &[]);
    assert!(call(&refused, "capabilities", json!({})).await.get("sampling").is_none());
    assert_eq!(call(&refused, "sample", json!({"text": "hello"})).await["code"], -32601);
    assert!(client.sampled.lock().unwrap().is_empty(), "the model was not asked");
    let allowed = servers("", Some(&client), &[("sampling", json!(true))]);
    assert!(call(&allowed, "capabilities", json!({})).await.get("sampling").is_some());
    let answer = call(&allowed, "sample", json!({"text": "hello"})).await;
    assert_eq!(answer["content"]["text"], "You said: hello");
    assert_eq!((&answer["model"], &answer["role"]), (&json!("model-1"), &json!("assistant")));
    let sampled = client.sampled.lock().unwrap()[0].clone();
    assert_eq!((sampled.system.as_deref(), sampled.max_tokens), (Some("Be short."), 100));
    let refused = call(&allowed, "sample", json!({"text": "secret"})).await;
    assert_eq!(refused["message"], "the user did not allow it", "{refused}");
}

#[tokio::test]
async fn a_server_cannot_use_the_model_without_end() {
    let client = Client::new(ElicitAnswer::Decline);
    let servers = servers("", Some(&client), &[("sampling", json!(true))]);
    let mut last = Value::Null;
    for _ in 0..101 {
        last = call(&servers, "sample", json!({"text": "again"})).await;
    }
    assert!(last["message"].as_str().unwrap().contains("100 times"), "{last}");
    assert_eq!(client.sampled.lock().unwrap().len(), 100);
}

#[tokio::test]
async fn a_task_is_waited_for_and_its_questions_are_answered() {
    let client = Client::new(ElicitAnswer::Accept(json!({"name": "Ada"})));
    let servers = servers("", Some(&client), &[]);
    let capabilities = call(&servers, "capabilities", json!({})).await;
    let extension = "io.modelcontextprotocol/tasks";
    assert!(capabilities["extensions"].get(extension).is_some(), "{capabilities}");
    let seen = Arc::new(Mutex::new(String::new()));
    let sink = seen.clone();
    let progress = Progress::new(move |text: String| sink.lock().unwrap().push_str(&text));
    let context = ToolContext { progress, ..ToolContext::detached() };
    let outcome = run(&servers, "task", json!({}), context).await;
    let text = outcome.text();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["content"]["name"], "Ada", "{text}");
    assert!(seen.lock().unwrap().contains("half done"), "{:?}", seen.lock().unwrap());
    assert_eq!(client.asked.lock().unwrap().len(), 1, "each question is asked once");
}

#[tokio::test]
async fn a_task_that_does_not_end_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cancelled");
    let servers = servers(&format!("stuck cancelled={}", file.display()), None, &[]);
    servers.check("fake").await.unwrap();
    let scope = CallContext::detached();
    let context = ToolContext { scope: scope.clone(), ..ToolContext::detached() };
    let cancelling = async {
        tokio::task::yield_now().await;
        scope.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run(&servers, "long_task", json!({}), context), cancelling);
    assert!(matches!(outcome.ran, DidRun::Maybe | DidRun::No), "{outcome:?}");
    // After the time limit the server gets a cancellation.
    let mut entry = fake_mcp::command("fake_server", "");
    entry["timeout"] = json!(1_000);
    let limited = self::servers(
        &format!("stuck cancelled={}", file.display()),
        None,
        &[("timeout", json!(1_000))],
    );
    let outcome = run(&limited, "long_task", json!({}), ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("timeout"), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\"task-1\"");
}

/// Waits until a file has a text.
async fn written(file: &std::path::Path, text: &str) {
    let written = async {
        while std::fs::read_to_string(file).unwrap_or_default() != text {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), written).await.expect("it is written");
}

#[tokio::test]
async fn a_task_is_cancelled_with_a_call_that_waits_for_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cancelled");
    for dropped in [false, true] {
        let (sender, mut messages) = tokio::sync::mpsc::unbounded_channel();
        let elicitor = Some(Arc::new(Thinking(sender)) as Arc<dyn Elicitor>);
        let servers = servers_for(&format!("cancelled={}", file.display()), elicitor, None, &[]);
        let scope = CallContext::detached();
        let context = ToolContext { scope: scope.clone(), ..ToolContext::detached() };
        let running = run(&servers, "task", json!({}), context);
        let cancelling = async {
            messages.recv().await.expect("the user is asked");
            if !dropped {
                scope.cancel.cancel();
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            outcome = running => assert!(!outcome.ok, "{outcome:?}"),
            () = cancelling => {}
        }
        written(&file, "\"task-1\"").await;
        std::fs::remove_file(&file).unwrap();
    }
}

#[tokio::test]
async fn a_prompt_that_no_one_waits_for_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    let servers = servers(&format!("prompts mute-prompts={}", file.display()), None, &[]);
    servers.check("fake").await.unwrap();
    let survey = servers.prompts().into_iter().find(|it| it.name == "mcp__fake__survey").unwrap();
    tokio::select! {
        _ = servers.prompt(&survey, "") => panic!("it has no answer"),
        () = written(&file, "asked") => {}
    }
    written(&file, "\"notifications/cancelled\"").await;
}

#[tokio::test]
async fn prompts_and_resources_may_ask_the_user_first() {
    let client = Client::new(ElicitAnswer::Accept(json!({"name": "Ada"})));
    let servers = servers("prompts", Some(&client), &[]);
    servers.check("fake").await.unwrap();
    let survey = servers.prompts().into_iter().find(|it| it.name == "mcp__fake__survey").unwrap();
    let text = servers.prompt(&survey, "").await.unwrap();
    assert!(text.starts_with("\"state-1\"") && text.contains("\"name\":\"Ada\""), "{text}");
    let input = json!({"server": "fake", "uri": "demo://survey"});
    let tools = servers.session_tools().tools();
    let read = tools.into_iter().find(|it| it.spec().name == READ_RESOURCE).unwrap();
    let outcome = read.run(input, ToolContext::detached()).await;
    assert!(outcome.text().contains("\"name\":\"Ada\""), "{}", outcome.text());
    assert_eq!(client.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn an_address_that_a_server_requires_first_is_shown_and_the_call_sent_again() {
    let client = Client::new(ElicitAnswer::Accept(Value::Null));
    let servers = self::servers("", Some(&client), &[]);
    let outcome = run(&servers, "locked", json!({}), ToolContext::detached()).await;
    assert_eq!(outcome.text(), "unlocked");
    let url = "https://example.com/login?a=1".to_owned();
    {
        let asked = client.asked.lock().unwrap();
        let address = ElicitationKind::Address { url: url.clone(), id: Some("e1".to_owned()) };
        assert_eq!(asked[0].kind, address);
        assert_eq!(asked[0].message, "Please log in.");
    }
    // Without a user, or one who refuses, the error names the address.
    let refusing = Client::new(ElicitAnswer::Decline);
    for client in [Some(&refusing), None] {
        let servers = self::servers("", client, &[]);
        let outcome = run(&servers, "locked", json!({}), ToolContext::detached()).await;
        assert_eq!(outcome.error_code.as_deref(), Some("mcp_needs_address"), "{outcome:?}");
        assert!(outcome.text().contains(&url), "{}", outcome.text());
    }
}

#[tokio::test]
async fn errors_that_a_server_logs_are_shown_to_the_user() {
    let notices = Arc::new(Mutex::new(Vec::new()));
    let sink = notices.clone();
    let fields = fake_mcp::command("fake_server", "asks");
    let config = ServerConfig::parse("fake", fields.as_object().unwrap(), &|_| None).unwrap();
    let options = McpClientOptions {
        on_notice: Arc::new(move |text| sink.lock().unwrap().push(text)),
        ..McpClientOptions::new(Supervisor::new(), std::env::temp_dir())
    };
    let servers = McpServers::new(vec![config.config], &options);
    let outcome = run(&servers, "log", json!({}), ToolContext::detached()).await;
    assert_eq!(outcome.text(), "logged from \"warning\"");
    // The messages came before the result, but their handler may run after it.
    let shown = async {
        while notices.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), shown).await.expect("it is shown");
    let expected = ["MCP server `fake`: it reports: the disk is full"];
    assert_eq!(*notices.lock().unwrap(), expected);
}
