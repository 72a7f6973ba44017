//! Credentials of the clouds, against mock token endpoints.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(all(feature = "bedrock", feature = "vertex", feature = "entra"))]

#[expect(dead_code, reason = "other tests use the rest of it")]
mod prepared_server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use prepared_server::{Answer, Server};
use robota_core::call::CallContext;
use robota_core::clock::Clock;
use robota_core::env_ref::Secret;
use robota_core::error::Diagnose as _;
use robota_core::ids::CountingIds;
use robota_core::message::Message;
use robota_core::provider::{
    AskLimits, FailureReason, ModelRequest, ProviderError, RetryPolicy, ask,
};
use robota_providers::{
    Credentials, Host, HttpClientOptions, HttpProvider, ProviderSettings, Vendors, build,
};
use serde_json::json;

const KEY: &str = include_str!("../src/credentials/service_account/rfc7515.pem");
const GEMINI: &[&str] = &[
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n",
];
const CHAT: &[&str] = &[
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
];
const RESPONSES: &[&str] = &[
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
];

/// A clock that tests set.
#[derive(Clone)]
struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    fn new() -> Self {
        Self(Arc::new(Mutex::new("2026-11-16T10:00:00Z".parse().unwrap())))
    }

    fn advance(&self, time: Duration) {
        let mut now = self.0.lock().unwrap();
        *now += time;
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

fn provider(
    vendor: &str,
    server: &Server,
    credentials: Credentials,
    clock: &Hands,
) -> Arc<HttpProvider> {
    let settings = ProviderSettings {
        model: Some("m-1".into()),
        credentials: Some(credentials),
        base_url: Some(format!("{}/v1", server.url)),
        ..ProviderSettings::default()
    };
    let host = Host::default().with_clock(Arc::new(clock.clone()));
    build(Vendors::builtin().find(vendor).unwrap(), settings, &host).unwrap()
}

async fn answer(provider: &HttpProvider) -> Result<String, ProviderError> {
    let ids = CountingIds::default();
    let messages = Arc::new(vec![Arc::new(Message::user(&ids, "Hello"))]);
    let limits = AskLimits { retry: RetryPolicy::never(), ..AskLimits::default() };
    let request = ModelRequest::new("m-1", messages);
    let context = CallContext::detached();
    ask(provider, request, &context, limits, &ids).await.map(|(message, _)| message.text())
}

fn token(name: &str) -> Answer {
    Answer::body(200, &json!({"access_token": name, "expires_in": 3600}).to_string())
}

fn service_account(server: &Server) -> Credentials {
    let file = json!({"client_email": "bot@p.test", "private_key": KEY,
        "token_uri": format!("{}/token", server.url)});
    Credentials::ServiceAccount { key_file: Secret::new(file.to_string()) }
}

#[tokio::test]
async fn a_service_account_gets_a_token_reuses_it_and_renews_it() {
    let answers = vec![
        token("token-1"),
        Answer::stream(GEMINI),
        Answer::stream(GEMINI),
        token("token-2"),
        Answer::stream(GEMINI),
    ];
    let server = Server::start(answers).await;
    let clock = Hands::new();
    let vertex = provider("vertex", &server, service_account(&server), &clock);
    assert_eq!(answer(&vertex).await.unwrap(), "Hi");
    clock.advance(Duration::from_secs(3_000));
    assert_eq!(answer(&vertex).await.unwrap(), "Hi");
    clock.advance(Duration::from_secs(590));
    assert_eq!(answer(&vertex).await.unwrap(), "Hi");
    let received = server.received();
    let lines: Vec<_> = received.iter().map(|request| request.line.as_str()).collect();
    let call = "POST /v1/models/m-1:streamGenerateContent?alt=sse HTTP/1.1";
    let exchange = "POST /token HTTP/1.1";
    assert_eq!(lines, [exchange, call, call, exchange, call]);
    let sent: Vec<_> =
        [1, 2, 4].map(|at| received[at].header("authorization").unwrap().to_owned()).into();
    assert_eq!(sent, ["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn the_login_of_a_user_gets_a_token_and_shows_no_secret() {
    let refused = r#"{"error":"invalid_grant","error_description":"bad token very-secret-2"}"#;
    let answers = vec![token("token-1"), Answer::stream(GEMINI), Answer::body(400, refused)];
    let server = Server::start(answers).await;
    let file = json!({"type": "authorized_user", "client_id": "client-1",
        "client_secret": "very-secret-1", "refresh_token": "very-secret-2",
        "quota_project_id": "payer-1", "token_uri": format!("{}/token", server.url)});
    let login = Credentials::ServiceAccount { key_file: Secret::new(file.to_string()) };
    let clock = Hands::new();
    let vertex = provider("vertex", &server, login, &clock);
    assert_eq!(answer(&vertex).await.unwrap(), "Hi");
    let received = server.received();
    assert_eq!(received[0].line, "POST /token HTTP/1.1");
    assert_eq!(received[1].header("authorization"), Some("Bearer token-1"));
    assert_eq!(received[1].header("x-goog-user-project"), Some("payer-1"));
    clock.advance(Duration::from_secs(3_600));
    let error = answer(&vertex).await.unwrap_err();
    assert_eq!((error.reason, error.retryable()), (Some(FailureReason::BadKey), false));
    assert!(!format!("{error} {error:?}").contains("very-secret"), "{error}");
}

#[tokio::test]
async fn the_metadata_server_has_tokens_and_no_proxy_sees_them() {
    let flavored = |name: &str| token(name).header("metadata-flavor", "Google");
    let answers = vec![flavored("token-1"), Answer::stream(GEMINI), token("of-another-server")];
    let server = Server::start(answers).await;
    // The same server, by an address that would be reached through a proxy.
    let address = server.url.replace("http://127.0.0.1", "0.0.0.0");
    let clock = Hands::new();
    let settings = ProviderSettings {
        model: Some("m-1".into()),
        credentials: Some(Credentials::MetadataServer { host: address }),
        base_url: Some(format!("{}/v1", server.url)),
        ..ProviderSettings::default()
    };
    // Nothing listens at the address of the proxy.
    let proxy = Some("http://127.0.0.1:9".to_owned());
    let host = Host::new(HttpClientOptions { proxy, ..HttpClientOptions::default() });
    let host = host.with_clock(Arc::new(clock.clone()));
    let vertex = build(Vendors::builtin().find("vertex").unwrap(), settings, &host).unwrap();
    assert_eq!(answer(&vertex).await.unwrap(), "Hi");
    let received = server.received();
    let path = "GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1";
    assert_eq!(received[0].line, path);
    assert_eq!(received[0].header("metadata-flavor"), Some("Google"));
    assert_eq!(received[1].header("authorization"), Some("Bearer token-1"));
    // Whatever answers there without the header is not the metadata server.
    clock.advance(Duration::from_secs(3_600));
    let error = answer(&vertex).await.unwrap_err();
    assert_eq!((error.reason, error.retryable()), (Some(FailureReason::BadKey), false));
}

#[tokio::test]
async fn an_application_of_entra_gets_a_token() {
    let server = Server::start(vec![token("token-1"), Answer::stream(RESPONSES)]).await;
    let credentials = Credentials::Entra {
        tenant: "tenant-1".to_owned(),
        client_id: "client-1".to_owned(),
        client_secret: Secret::new("very-secret-1"),
        authority: Some(server.url.clone()),
    };
    let azure = provider("azure", &server, credentials, &Hands::new());
    assert_eq!(answer(&azure).await.unwrap(), "Hi");
    let received = server.received();
    assert_eq!(received[0].line, "POST /tenant-1/oauth2/v2.0/token HTTP/1.1");
    let form = received[0].header("content-type").unwrap();
    assert_eq!(form, "application/x-www-form-urlencoded");
    assert_eq!(received[1].line, "POST /v1/responses HTTP/1.1");
    assert_eq!(received[1].header("authorization"), Some("Bearer token-1"));
    assert_eq!(received[1].header("api-key"), None);
}

#[tokio::test]
async fn refused_credentials_say_so_and_show_no_secret() {
    let refused = r#"{"error":"invalid_client","error_description":"bad secret very-secret-1"}"#;
    let server = Server::start(vec![Answer::body(401, refused)]).await;
    let credentials = Credentials::Entra {
        tenant: "tenant-1".to_owned(),
        client_id: "client-1".to_owned(),
        client_secret: Secret::new("very-secret-1"),
        authority: Some(server.url.clone()),
    };
    let azure = provider("azure", &server, credentials.clone(), &Hands::new());
    let error = answer(&azure).await.unwrap_err();
    assert_eq!((error.reason, error.retryable()), (Some(FailureReason::BadKey), false));
    let shown = format!("{error} {error:?} {credentials:?} {azure:?}");
    assert!(shown.contains("token service") && !shown.contains("very-secret-1"), "{shown}");
}

#[tokio::test]
async fn requests_to_bedrock_are_signed() {
    let server = Server::start(vec![Answer::stream(CHAT)]).await;
    let credentials = Credentials::Aws {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        session_token: Some(Secret::new("session-1")),
        region: "eu-central-1".to_owned(),
    };
    let bedrock = provider("bedrock", &server, credentials, &Hands::new());
    assert_eq!(answer(&bedrock).await.unwrap(), "Hi");
    let sent = &server.received()[0];
    assert_eq!(sent.header("x-amz-date"), Some("20261116T100000Z"));
    assert_eq!(sent.header("x-amz-security-token"), Some("session-1"));
    let authorization = sent.header("authorization").unwrap();
    let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261116/eu-central-1/bedrock/aws4_request, \
                 SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(authorization.starts_with(start), "{authorization}");
}
