//! Logins to servers and authorisation servers that misuse them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use robota_mcp::McpError;
use robota_mcp::oauth::{Login, LoginError, TokenStore, start_login};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::oauth::{config, config_of, log_in, metadata, protected, servers, token};
use crate::server::{Http, Request, Response, rpc};

const METADATA: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Starts a server with its authorisation server. Where `change` returns an answer, it differs from a usual
/// one.
async fn rogue(
    change: impl Fn(&str, &Request) -> Option<Response> + Send + Sync + 'static,
) -> Http {
    Http::start(move |base, request| {
        change(base, request).unwrap_or_else(|| protected(base, request, "token-1"))
    })
    .await
}

/// Starts a server whose metadata has other values.
async fn described(fields: impl Fn(&str) -> Value + Send + Sync + 'static) -> Http {
    rogue(move |base, request| {
        (request.path == METADATA).then(|| {
            let mut described = metadata(base);
            for (name, value) in fields(base).as_object().unwrap() {
                described[name] = value.clone();
            }
            Response::json(&described)
        })
    })
    .await
}

fn redirect(to: &str) -> Response {
    let headers = vec![("Location", to.to_owned())];
    Response { headers, ..Response::status("307 Temporary Redirect") }
}

struct Tokens {
    _folder: tempfile::TempDir,
    store: TokenStore,
    file: std::path::PathBuf,
}

impl Tokens {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.json");
        Self { _folder: folder, store: TokenStore::new(&file), file }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap_or_default()
    }
}

async fn start(web: &Http, tokens: &Tokens) -> Result<Login, LoginError> {
    let config = config(&format!("{}/mcp", web.origin));
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, start_login(&config, &tokens.store)).await.expect("it ends")
}

/// Starts a login that must be refused, and returns why.
async fn refused(web: &Http) -> String {
    match start(web, &Tokens::new()).await {
        Ok(login) => panic!("a user would be sent to {}", login.url()),
        Err(error) => error.to_string(),
    }
}

fn paths(web: &Http) -> Vec<String> {
    web.requests().into_iter().map(|request| request.path).collect()
}

fn value(url: &str, name: &str) -> String {
    let url = url::Url::parse(url).unwrap();
    url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned()
}

/// Returns the address to which a browser is redirected.
fn returned(login: &Login, more: &str) -> String {
    let (to, state) = (value(login.url(), "redirect_uri"), value(login.url(), "state"));
    format!("{to}?code=code-1&state={state}{more}")
}

/// Requests an address as a browser does, and returns the answer; empty if there was none.
async fn get(url: &str) -> String {
    let url = url::Url::parse(url).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap())).await.unwrap();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let request = format!("GET {}{query} HTTP/1.1\r\nHost: localhost\r\n\r\n", url.path());
    // The other side may refuse a long request before it was sent.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn metadata_names_no_address_of_another_kind_or_of_a_private_network() {
    for field in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        for target in [
            "http://169.254.169.254/latest",
            "http://10.0.0.1/login",
            "http://[fe80::1]/login",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "vscode://open?x=$(id)",
            "not an address",
        ] {
            let web = described(move |_| json!({field: target})).await;
            let why = refused(&web).await;
            assert!(why.contains("an address that is not used"), "{field} {target}: {why}");
            assert!(!paths(&web).contains(&"/register".to_owned()), "nothing is sent before");
        }
    }
}

#[tokio::test]
async fn redirects_to_another_server_are_not_followed() {
    let thief = Arc::new(Http::start(|_, request| rpc(&request.body)).await);
    for redirected in ["/register", METADATA, RESOURCE] {
        let to = format!("{}{redirected}", thief.origin);
        let web =
            rogue(move |_, request| request.path.starts_with(redirected).then(|| redirect(&to)))
                .await;
        refused(&web).await;
    }
    // The code, and the proof that belongs to it.
    let to = format!("{}/token", thief.origin);
    let web = rogue(move |_, request| (request.path == "/token").then(|| redirect(&to))).await;
    let tokens = Tokens::new();
    let login = start(&web, &tokens).await.unwrap();
    login.finish_with(&returned(&login, "")).await.unwrap_err();
    assert_eq!((thief.requests().len(), tokens.text()), (0, String::new()));
}

#[tokio::test]
async fn a_token_is_not_sent_to_where_the_server_redirects() {
    let thief = Http::start(|_, request| rpc(&request.body)).await;
    let (to, redirects) = (format!("{}/mcp", thief.origin), Arc::new(AtomicBool::new(false)));
    let now = redirects.clone();
    let web = rogue(move |_, request| {
        (now.load(Ordering::SeqCst) && request.path == "/mcp").then(|| redirect(&to))
    })
    .await;
    let (tokens, config) = (Tokens::new(), config(&format!("{}/mcp", web.origin)));
    log_in(&config, &tokens.store).await;
    redirects.store(true, Ordering::SeqCst);
    servers(&config, &tokens.store).check("web").await.unwrap_err();
    assert_eq!(thief.requests().len(), 0);
}

#[tokio::test]
async fn an_authorisation_server_cannot_claim_to_be_another() {
    let honest = Http::start(|base, request| protected(base, request, "token-1")).await;
    let issuer = honest.origin.clone();
    let web = described(move |_| json!({"issuer": issuer})).await;
    refused(&web).await;
    // At a place where the library does not know which issuer to expect.
    let issuer = honest.origin.clone();
    let web = rogue(move |base, request| match request.path.as_str() {
        path if path.starts_with(RESOURCE) => Some(Response::json(&json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [format!("{base}/a/.well-known/b")],
        }))),
        "/a/.well-known/b" => {
            let mut described = metadata(base);
            described["issuer"] = json!(issuer);
            described["authorization_endpoint"] = json!(format!("{issuer}/authorize"));
            Some(Response::json(&described))
        }
        _ => None,
    })
    .await;
    let why = refused(&web).await;
    assert!(why.contains("which is another one"), "{why}");
}

#[tokio::test]
async fn the_issuer_of_the_redirect_is_compared() {
    let (web, tokens) = (described(|_| json!({})).await, Tokens::new());
    let login = start(&web, &tokens).await.unwrap();
    let other = returned(&login, "&iss=https%3A%2F%2Fhonest.example");
    let why = login.finish_with(&other).await.unwrap_err().to_string();
    assert!(why.contains("honest.example"), "{why}");
    let twice = returned(&login, &format!("&iss={0}&iss={0}", web.origin));
    login.finish_with(&twice).await.unwrap_err();
    assert!(!paths(&web).contains(&"/token".to_owned()), "the code was not used");
    login.finish_with(&returned(&login, &format!("&iss={}", web.origin))).await.unwrap();
    // A server that announces it must send it.
    let announced = json!({"authorization_response_iss_parameter_supported": true});
    let web = described(move |_| announced.clone()).await;
    let login = start(&web, &tokens).await.unwrap();
    login.finish_with(&returned(&login, "")).await.unwrap_err();
    assert!(!paths(&web).contains(&"/token".to_owned()));
}

#[tokio::test]
async fn metadata_of_another_resource_is_refused() {
    for resource in ["https://honest.example/mcp", "http://127.0.0.1:1/mcp", "not an address"] {
        let web = rogue(move |base, request| {
            let described = json!({"resource": resource, "authorization_servers": [base]});
            request.path.starts_with(RESOURCE).then(|| Response::json(&described))
        })
        .await;
        refused(&web).await;
        assert!(!paths(&web).contains(&"/register".to_owned()), "{resource}");
    }
}

#[tokio::test]
async fn logins_without_proof_of_the_code_are_refused() {
    for methods in [json!(["plain"]), json!([]), Value::Null] {
        let web = described(move |_| json!({"code_challenge_methods_supported": methods})).await;
        let why = refused(&web).await;
        assert!(why.contains("PKCE"), "{why}");
        assert!(!paths(&web).contains(&"/register".to_owned()));
    }
}

#[tokio::test]
async fn a_server_cannot_make_the_login_ask_thousands_of_others() {
    let web = rogue(|base, request| {
        let named: Vec<_> = (0..5_000).map(|number| format!("{base}/as/{number}")).collect();
        let described = json!({"resource": format!("{base}/mcp"), "authorization_servers": named});
        match request.path.as_str() {
            path if path.starts_with(RESOURCE) => Some(Response::json(&described)),
            path if path.contains("/as/") || path == METADATA => {
                Some(Response::status("404 Not Found"))
            }
            _ => None,
        }
    })
    .await;
    let why = refused(&web).await;
    assert!(why.contains("more than 40 documents"), "{why}");
    assert!(web.requests().len() <= 50, "{}", web.requests().len());
}

#[tokio::test]
async fn requests_without_the_state_do_not_end_the_login() {
    let web = Http::start(|base, request| protected(base, request, "token-1")).await;
    let tokens = Tokens::new();
    let login = start(&web, &tokens).await.unwrap();
    let (to, good) = (value(login.url(), "redirect_uri"), returned(&login, ""));
    let state = value(login.url(), "state");
    let browser = async {
        // Connections on which nothing is sent.
        let port = url::Url::parse(&to).unwrap().port().unwrap();
        let mut idle = Vec::new();
        for _ in 0..3 {
            idle.push(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
        }
        for query in [
            "?code=code-1".to_owned(),
            "?code=code-1&state=wrong".to_owned(),
            "?error=access_denied".to_owned(),
            "?error=access_denied&state=wrong".to_owned(),
            format!("?code=code-1&state=wrong&state={state}"),
        ] {
            let answer = get(&format!("{to}{query}")).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{query}: {answer}");
        }
        assert_eq!(get(&format!("{to}?state={state}&x={}", "x".repeat(200_000))).await, "");
        assert!(get(&format!("{to}x?code=1&state={state}")).await.starts_with("HTTP/1.1 404"));
        let answer = get(&good).await;
        assert!(answer.contains("You are logged in"), "{answer}");
    };
    // Less than one of the idle connections may take.
    let both = async { tokio::join!(login.finish(), browser).0 };
    tokio::time::timeout(Duration::from_secs(8), both).await.expect("nothing delays it").unwrap();
    assert_eq!(paths(&web).iter().filter(|path| *path == "/token").count(), 1);
    let port = url::Url::parse(&to).unwrap().port().unwrap();
    TcpStream::connect(("127.0.0.1", port)).await.unwrap_err();
}

#[tokio::test]
async fn an_address_is_used_once() {
    let web = Http::start(|base, request| protected(base, request, "token-1")).await;
    let tokens = Tokens::new();
    let login = start(&web, &tokens).await.unwrap();
    let good = returned(&login, "");
    let twice = returned(&login, "&code=code-2");
    login.finish_with(&twice).await.unwrap_err();
    login.finish_with("http://localhost/callback?code=code-1").await.unwrap_err();
    login.finish_with(&good).await.unwrap();
    login.finish_with(&good).await.unwrap_err();
    assert_eq!(paths(&web).iter().filter(|path| *path == "/token").count(), 1);
}

#[tokio::test]
async fn answers_to_a_registration_are_bounded_and_cleaned() {
    let long = "x".repeat(900_000);
    let too_long = json!({"client_id": "x".repeat(2_000_000), "redirect_uris": []}).to_string();
    let long_id = json!({"client_id": long, "redirect_uris": []}).to_string();
    for (status, body, expected) in [
        ("201 Created", too_long, "the answer has more than 1048576 bytes"),
        ("201 Created", long_id, "more than 16384 bytes"),
        ("201 Created", "{broken".to_owned(), "failed"),
        ("201 Created", "[]".to_owned(), "failed"),
        ("201 Created", "{}".to_owned(), "client_id"),
        ("400 Bad Request", format!("\u{1b}[2J\u{1b}]0;x\u{7}no{}", "y".repeat(9_000)), "400"),
    ] {
        let web = rogue(move |_, request| {
            let body = body.clone();
            (request.path == "/register").then(|| Response { body, ..Response::status(status) })
        })
        .await;
        let why = refused(&web).await;
        assert!(why.contains(expected), "{expected}: {why}");
        assert!(why.len() < 600 && !why.chars().any(char::is_control), "{why}");
    }
}

#[tokio::test]
async fn odd_lifetimes_of_tokens_are_survived() {
    for (expires_in, accepted) in [
        (json!(-5), false),
        (json!("soon"), false),
        (json!(u64::MAX), true),
        (json!(1e30), false),
        (Value::Null, true),
    ] {
        let given = expires_in.clone();
        let web = rogue(move |_, request| {
            let mut answer = token("token-1", "refresh-1", 0);
            answer["expires_in"] = given.clone();
            (request.path == "/token").then(|| Response::json(&answer))
        })
        .await;
        let tokens = Tokens::new();
        let login = start(&web, &tokens).await.unwrap();
        let finished = login.finish_with(&returned(&login, "")).await;
        assert_eq!(finished.is_ok(), accepted, "{expires_in}: {finished:?}");
        if accepted {
            let config = config(&format!("{}/mcp", web.origin));
            servers(&config, &tokens.store).check("web").await.unwrap();
        }
    }
}

/// Logs in to a server whose token expires at once, and that names another authorisation server later.
async fn moved(later: impl Fn(&str) -> Response + Send + Sync + 'static) -> (Http, McpError) {
    let moved = Arc::new(AtomicBool::new(false));
    let now = moved.clone();
    let web = rogue(move |base, request| match request.path.as_str() {
        "/token" => Some(Response::json(&token("token-1", "refresh-1", 1))),
        METADATA if now.load(Ordering::SeqCst) => Some(later(base)),
        _ => None,
    })
    .await;
    let (tokens, config) = (Tokens::new(), config(&format!("{}/mcp", web.origin)));
    log_in(&config, &tokens.store).await;
    moved.store(true, Ordering::SeqCst);
    let error = servers(&config, &tokens.store).check("web").await.unwrap_err();
    (web, error)
}

#[tokio::test]
async fn a_refresh_token_is_sent_only_to_the_address_that_made_it() {
    let thief = Http::start(|_, _| Response::json(&token("token-2", "refresh-2", 3_600))).await;
    let to = format!("{}/token", thief.origin);
    let (_web, error) = moved(move |base| {
        let mut described = metadata(base);
        described["token_endpoint"] = json!(to);
        Response::json(&described)
    })
    .await;
    assert_eq!(error, McpError::NeedsLogin { server: "web".to_owned() });
    assert_eq!(thief.requests().len(), 0);
}

#[tokio::test]
async fn a_server_without_metadata_does_not_get_the_refresh_token_of_another() {
    let login = Http::start(|base, request| match request.path.as_str() {
        "/token" => Response::json(&token("token-1", "refresh-1", 1)),
        _ => protected(base, request, "token-1"),
    })
    .await;
    let (named, hides) = (login.origin.clone(), Arc::new(AtomicBool::new(false)));
    let now = hides.clone();
    let web = rogue(move |base, request| {
        let described =
            json!({"resource": format!("{base}/mcp"), "authorization_servers": [named]});
        match request.path.as_str() {
            path if path.starts_with("/.well-known") && now.load(Ordering::SeqCst) => {
                Some(Response::status("404 Not Found"))
            }
            path if path.starts_with(RESOURCE) => Some(Response::json(&described)),
            _ => None,
        }
    })
    .await;
    let (tokens, config) = (Tokens::new(), config(&format!("{}/mcp", web.origin)));
    log_in(&config, &tokens.store).await;
    hides.store(true, Ordering::SeqCst);
    servers(&config, &tokens.store).check("web").await.unwrap_err();
    let leaked = web.requests().into_iter().find(|request| request.body.contains("refresh-1"));
    assert!(leaked.is_none(), "{leaked:?}");
}

#[tokio::test]
async fn a_server_of_the_older_transport_that_refuses_every_token_does_not_get_one_after_the_other()
{
    let count = std::sync::atomic::AtomicUsize::new(1);
    let web = rogue(move |base, request| match request.path.as_str() {
        "/token" => {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let (access, refresh) = (format!("token-{number}"), format!("refresh-{number}"));
            Some(Response::json(&token(&access, &refresh, 3_600)))
        }
        "/sse" => Some(Response::status("401 Unauthorized")),
        path if path.starts_with(RESOURCE) => {
            let resource = format!("{base}/sse");
            Some(Response::json(&json!({"resource": resource, "authorization_servers": [base]})))
        }
        _ => None,
    })
    .await;
    let (tokens, config) = (Tokens::new(), config_of("sse", &format!("{}/sse", web.origin)));
    log_in(&config, &tokens.store).await;
    let servers = servers(&config, &tokens.store);
    let checked = tokio::time::timeout(Duration::from_secs(20), servers.check("web")).await;
    let error = checked.expect("it ends").unwrap_err();
    assert_eq!(error, McpError::NeedsLogin { server: "web".to_owned() });
    let renewed = web.requests().into_iter().filter(|it| it.body.contains("refresh_token="));
    assert!(renewed.count() <= 1);
}

#[tokio::test]
async fn a_replaced_refresh_token_is_stored_although_the_connection_was_given_up() {
    let (asked, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let answer = move |_: &str, request: &Request| {
        if request.path != "/token" {
            return None;
        }
        if !request.body.contains("grant_type=refresh_token") {
            return Some(Response::json(&token("token-0", "refresh-1", 1)));
        }
        asked.send(()).unwrap();
        // The authorisation server has replaced the token; its answer takes a while.
        released.lock().unwrap().recv().unwrap();
        Some(Response::json(&token("token-1", "refresh-2", 3_600)))
    };
    // In a thread of its own, which waits.
    let (started, origin) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let web = rogue(answer).await;
            started.send(web.origin.clone()).unwrap();
            std::future::pending::<()>().await;
        });
    });
    let (tokens, config) = (Tokens::new(), config(&format!("{}/mcp", origin.await.unwrap())));
    log_in(&config, &tokens.store).await;
    let connecting = servers(&config, &tokens.store);
    let connecting = tokio::spawn(async move { connecting.check("web").await });
    arrived.recv().await.unwrap();
    connecting.abort();
    assert!(connecting.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();
    let stored = async {
        while !tokens.text().contains("refresh-2") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), stored).await.expect("it is stored");
    servers(&config, &tokens.store).check("web").await.unwrap();
}

#[tokio::test]
async fn a_refresh_token_that_is_no_longer_valid_needs_a_login() {
    // As after a crash between the renewal and the storing of what it returned.
    let web = rogue(|_, request| {
        let first = !request.body.contains("grant_type=refresh_token");
        match request.path.as_str() {
            "/token" if first => Some(Response::json(&token("token-0", "refresh-1", 1))),
            "/token" => {
                let error = json!({"error": "invalid_grant"});
                Some(Response { status: "400 Bad Request", ..Response::json(&error) })
            }
            _ => None,
        }
    })
    .await;
    let (tokens, config) = (Tokens::new(), config(&format!("{}/mcp", web.origin)));
    log_in(&config, &tokens.store).await;
    let error = servers(&config, &tokens.store).check("web").await.unwrap_err();
    assert_eq!(error, McpError::NeedsLogin { server: "web".to_owned() });
}

#[tokio::test]
async fn the_secret_of_a_registration_is_kept_for_its_authorisation_server() {
    let web = rogue(|base, request| match request.path.as_str() {
        "/register" => {
            let given: Value = serde_json::from_str(&request.body).unwrap();
            let redirects = given["redirect_uris"].clone();
            Some(Response::json(&json!({
                "client_id": "client-1", "client_secret": "secret-1", "redirect_uris": redirects,
            })))
        }
        METADATA => {
            let mut described = metadata(base);
            described["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
            Some(Response::json(&described))
        }
        "/token" if request.body.contains("grant_type=refresh_token") => {
            Some(Response::json(&token("token-1", "refresh-2", 3_600)))
        }
        "/token" => Some(Response::json(&token("token-0", "refresh-1", 1))),
        _ => None,
    })
    .await;
    let (tokens, config) = (Tokens::new(), config(&format!("{}/mcp", web.origin)));
    log_in(&config, &tokens.store).await;
    servers(&config, &tokens.store).check("web").await.unwrap();
    let sent = web.requests().into_iter().filter(|request| request.path == "/token");
    let with_secret = sent.filter(|request| request.body.contains("client_secret=secret-1"));
    assert_eq!(with_secret.count(), 2);
}

/// Collects what this crate logs, as the debug log of the program does.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<String>>);

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("robota")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = self.0.lock().unwrap();
        let mut add = |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            text.push_str(&format!("{field}={value:?} "));
        };
        event.record(&mut add);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn logs_contain_no_codes_and_no_tokens() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let moves = Arc::new(AtomicBool::new(false));
    let now = moves.clone();
    let web = rogue(move |base, request| match request.path.as_str() {
        "/token" if request.body.contains("grant_type=refresh_token") => {
            let mut renewed = token("token-1", "refresh-2", 3_600);
            renewed["id_token"] = json!("id-1");
            Some(Response::json(&renewed))
        }
        "/token" => Some(Response::json(&token("token-0", "refresh-1", 1))),
        METADATA if now.load(Ordering::SeqCst) => {
            let mut described = metadata(base);
            described["token_endpoint"] = json!(format!("{base}/other"));
            Some(Response::json(&described))
        }
        _ => None,
    })
    .await;
    let (tokens, config) = (Tokens::new(), config(&format!("{}/mcp", web.origin)));
    log_in(&config, &tokens.store).await;
    servers(&config, &tokens.store).check("web").await.unwrap();
    moves.store(true, Ordering::SeqCst);
    let error = servers(&config, &tokens.store).check("web").await.unwrap_err();
    let text = format!("{} {error} {error:?}", log.0.lock().unwrap());
    assert!(text.contains("the authorisation server has changed"), "{text}");
    for secret in ["code-1", "token-0", "token-1", "refresh-1", "refresh-2", "id-1"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}
