//! Logins against an authorisation server of the test, and servers that misuse them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use robota_exec::Supervisor;
use robota_mcp::McpError;
use robota_mcp::client::{McpClientOptions, McpServers, ServerStatus};
use robota_mcp::config::ServerConfig;
use robota_mcp::oauth::{TokenStore, start_login};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Http, Request, Response, event_stream, rpc};

/// Describes an authorisation server.
pub(crate) fn metadata(base: &str) -> Value {
    json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "code_challenge_methods_supported": ["S256"],
        "response_types_supported": ["code"],
        "token_endpoint_auth_methods_supported": ["none"],
        "client_id_metadata_document_supported": true,
    })
}

/// Returns a server that requires a token, with its authorisation server.
pub(crate) fn protected(base: &str, request: &Request, access: &str) -> Response {
    let path = request.path.split('?').next().unwrap();
    match (request.method.as_str(), path) {
        (
            _,
            "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp",
        ) => Response::json(
            &json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}),
        ),
        (_, "/.well-known/oauth-authorization-server") => Response::json(&metadata(base)),
        ("POST", "/register") => {
            let given: Value = serde_json::from_str(&request.body).unwrap();
            Response {
                status: "201 Created",
                ..Response::json(&json!({
                    "client_id": "client-1", "redirect_uris": given["redirect_uris"], "client_name": "Robota",
                }))
            }
        }
        ("POST", "/token") => Response::json(&token(access, "refresh-1", 3_600)),
        ("POST", "/mcp") => {
            let bearer = format!("Bearer {access}");
            if request.headers.get("authorization") != Some(&bearer) {
                let challenge = format!(
                    "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource\""
                );
                let headers = vec![("WWW-Authenticate", challenge)];
                return Response { headers, ..Response::status("401 Unauthorized") };
            }
            rpc(&request.body)
        }
        _ => Response::status("404 Not Found"),
    }
}

pub(crate) fn token(access: &str, refresh: &str, expires_in: u64) -> Value {
    json!({"access_token": access, "token_type": "Bearer", "expires_in": expires_in, "refresh_token": refresh})
}

pub(crate) fn config(url: &str) -> ServerConfig {
    config_of("http", url)
}

pub(crate) fn config_of(kind: &str, url: &str) -> ServerConfig {
    let entry = json!({"type": kind, "url": url});
    ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None).unwrap().config
}

pub(crate) fn servers(config: &ServerConfig, tokens: &TokenStore) -> McpServers {
    let options = McpClientOptions {
        tokens: Some(tokens.clone()),
        ..McpClientOptions::new(Supervisor::new(), std::env::temp_dir())
    };
    McpServers::new(vec![config.clone()], &options)
}

/// Opens the address as a browser does: the authorisation server redirects at once.
pub(crate) async fn browse(url: &str) {
    let url = url::Url::parse(url).unwrap();
    let find = |key: &str| url.query_pairs().find(|(name, _)| name == key).unwrap().1.into_owned();
    assert_eq!(find("code_challenge_method"), "S256");
    let (redirect, state) = (find("redirect_uri"), find("state"));
    assert!(redirect.starts_with("http://localhost:"), "{redirect}");
    let redirect = url::Url::parse(&redirect).unwrap();
    let mut stream =
        tokio::net::TcpStream::connect(("127.0.0.1", redirect.port().unwrap())).await.unwrap();
    let request =
        format!("GET /callback?code=code-1&state={state} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("You are logged in"), "{answer}");
}

#[tokio::test]
async fn a_login_registers_and_stores_a_token_for_this_address_only() {
    let web = Http::start(|base, request| protected(base, request, "token-1")).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp/tokens.json");
    let tokens = TokenStore::new(&file);
    let config = config(&format!("{}/mcp", web.origin));
    let refused = servers(&config, &tokens).check("web").await.unwrap_err();
    assert_eq!(refused, McpError::NeedsLogin { server: "web".to_owned() });
    let login = start_login(&config, &tokens).await.unwrap();
    let url = login.url().to_owned();
    let (finished, ()) = tokio::join!(login.finish(), browse(&url));
    finished.unwrap();
    let token = web.requests().into_iter().find(|request| request.path == "/token").unwrap();
    for part in ["code_verifier=", "code=code-1", "resource="] {
        assert!(token.body.contains(part), "{}", token.body);
    }
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let report = servers(&config, &tokens).check("web").await.unwrap();
    assert_eq!((report.tools, report.protocol.as_str()), (vec!["hello".to_owned()], "2025-06-18"));
    // Another address, also of the same machine, never gets the token.
    let other = Http::start(|_, request| rpc(&request.body)).await;
    let elsewhere = self::config(&format!("{}/mcp", other.origin));
    servers(&elsewhere, &tokens).check("web").await.unwrap();
    let leaked = other.requests().into_iter().find(|it| it.headers.contains_key("authorization"));
    assert!(leaked.is_none(), "{leaked:?}");
    assert!(tokens.remove(config.url().unwrap()).unwrap());
    assert!(servers(&config, &tokens).check("web").await.is_err());
}

#[tokio::test]
async fn tokens_do_not_follow_redirects_to_another_server() {
    let thief = Http::start(|_, request| rpc(&request.body)).await;
    let target = format!("{}/mcp", thief.origin);
    let web = Http::start(move |_, _| {
        let headers = vec![("Location", target.clone())];
        Response { headers, ..Response::status("307 Temporary Redirect") }
    })
    .await;
    let entry = json!({"type": "http", "url": format!("{}/mcp", web.origin), "headers": {"Authorization": "Bearer secret"}});
    let config = ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None).unwrap().config;
    let options = McpClientOptions::new(Supervisor::new(), std::env::temp_dir());
    let servers = McpServers::new(vec![config], &options);
    servers.check("web").await.unwrap_err();
    assert_eq!(thief.requests().len(), 0, "nothing is sent there");
}

#[tokio::test]
async fn metadata_cannot_point_to_other_machines_of_the_local_network() {
    for target in ["http://169.254.169.254/latest", "http://10.0.0.1/as", "http://[fe80::1]/as"] {
        let web = Http::start(move |base, request| match request.path.as_str() {
            path if path.starts_with("/.well-known/oauth-protected-resource") => Response::json(
                &json!({"resource": format!("{base}/mcp"), "authorization_servers": [target]}),
            ),
            "/mcp" => {
                let challenge = format!(
                    "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource\""
                );
                Response {
                    headers: vec![("WWW-Authenticate", challenge)],
                    ..Response::status("401 Unauthorized")
                }
            }
            _ => Response::status("404 Not Found"),
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenStore::new(folder.path().join("tokens.json"));
        let config = config(&format!("{}/mcp", web.origin));
        let started = start_login(&config, &tokens);
        let limit = std::time::Duration::from_secs(20);
        let result = tokio::time::timeout(limit, started).await.expect("refused, not tried");
        assert!(result.is_err(), "{target}");
    }
}

#[tokio::test]
async fn a_page_that_is_no_server_is_reported() {
    let web = Http::start(|_, _| Response {
        headers: vec![("Content-Type", "text/html".to_owned())],
        body: "<html>hello</html>".to_owned(),
        ..Response::status("200 OK")
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::new(folder.path().join("tokens.json"));
    let error = servers(&config(&web.origin), &tokens).check("web").await.unwrap_err();
    assert!(matches!(error, McpError::Connect { .. }), "{error:?}");
}

/// Returns an authorisation server whose first token is valid for `expires_in` seconds. A refresh
/// token can be used once, and gives `token-2`, `token-3` and so on.
async fn renewing(
    resource: &'static str,
    expires_in: u64,
    accepts: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> (Http, Arc<AtomicUsize>) {
    let (renewed, count) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counter = renewed.clone();
    let web = Http::start(move |base, request| {
        let path = request.path.split('?').next().unwrap();
        if path == "/token" && request.body.contains("grant_type=refresh_token") {
            let used = count.fetch_add(1, Ordering::SeqCst) + 1;
            if !request.body.contains(&format!("refresh_token=refresh-{used}&"))
                && !request.body.ends_with(&format!("refresh_token=refresh-{used}"))
            {
                let error = json!({"error": "invalid_grant"});
                return Response { status: "400 Bad Request", ..Response::json(&error) };
            }
            renewed.fetch_add(1, Ordering::SeqCst);
            let next = used + 1;
            let (access, refresh) = (format!("token-{next}"), format!("refresh-{next}"));
            return Response::json(&token(&access, &refresh, 3_600));
        }
        if path.starts_with("/.well-known/oauth-protected-resource") {
            let resource = format!("{base}{resource}");
            let servers = json!({"resource": resource, "authorization_servers": [base]});
            return Response::json(&servers);
        }
        if path == "/token" {
            return Response::json(&token("token-1", "refresh-1", expires_in));
        }
        let sent = request.headers.get("authorization").cloned().unwrap_or_default();
        let sent = sent.trim_start_matches("Bearer ").to_owned();
        let access = if accepts(&sent) { sent } else { "none".to_owned() };
        match (request.method.as_str(), path) {
            ("GET", "/sse") if access != "none" => event_stream("/messages"),
            ("GET", "/sse") => protected(
                base,
                &Request { path: "/mcp".to_owned(), method: "POST".to_owned(), ..request.clone() },
                "none",
            ),
            _ => protected(base, request, &access),
        }
    })
    .await;
    (web, counter)
}

pub(crate) async fn log_in(config: &ServerConfig, tokens: &TokenStore) {
    let login = start_login(config, tokens).await.unwrap();
    let url = login.url().to_owned();
    let (finished, ()) = tokio::join!(login.finish(), browse(&url));
    finished.unwrap();
}

#[tokio::test]
async fn a_token_that_expired_is_renewed_and_stored() {
    let (web, renewed) = renewing("/mcp", 1, |token| token != "token-1" && !token.is_empty()).await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::new(folder.path().join("tokens.json"));
    let config = config(&format!("{}/mcp", web.origin));
    log_in(&config, &tokens).await;
    servers(&config, &tokens).check("web").await.unwrap();
    assert_eq!(renewed.load(Ordering::SeqCst), 1);
    let sent = |token: &str| {
        let bearer = format!("Bearer {token}");
        web.requests().iter().any(|it| it.headers.get("authorization") == Some(&bearer))
    };
    assert!(!sent("token-1") && sent("token-2"), "an expired token is not sent");
    // The next session uses the token that was stored.
    servers(&config, &tokens).check("web").await.unwrap();
    assert_eq!(renewed.load(Ordering::SeqCst), 1);
    let stored = std::fs::read_to_string(folder.path().join("tokens.json")).unwrap();
    assert!(stored.contains("refresh-2") && !stored.contains("refresh-1"), "{stored}");
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_renewed_once() {
    let (web, renewed) = renewing("/mcp", 3_600, |token| token == "token-2").await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::new(folder.path().join("tokens.json"));
    let config = config(&format!("{}/mcp", web.origin));
    log_in(&config, &tokens).await;
    servers(&config, &tokens).check("web").await.unwrap();
    assert_eq!(renewed.load(Ordering::SeqCst), 1);
    // A server that refuses every token does not get one after the other.
    let (web, renewed) = renewing("/mcp", 3_600, |_| false).await;
    let config = self::config(&format!("{}/mcp", web.origin));
    log_in(&config, &tokens).await;
    let error = servers(&config, &tokens).check("web").await.unwrap_err();
    assert_eq!(error, McpError::NeedsLogin { server: "web".to_owned() });
    assert!(renewed.load(Ordering::SeqCst) <= 2, "{renewed:?}");
}

#[tokio::test]
async fn two_sessions_never_use_one_refresh_token() {
    // The second may renew the token that the first has just stored; it never uses an old refresh token,
    // which the authorisation server would refuse.
    let (web, renewed) = renewing("/mcp", 1, |token| token.ends_with(['2', '3'])).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.json");
    let config = config(&format!("{}/mcp", web.origin));
    log_in(&config, &TokenStore::new(&file)).await;
    let (first, second) = (TokenStore::new(&file), TokenStore::new(&file));
    let (first, second) = (servers(&config, &first), servers(&config, &second));
    let (first, second) = tokio::join!(first.check("web"), second.check("web"));
    first.unwrap();
    second.unwrap();
    let asked =
        web.requests().into_iter().filter(|it| it.body.contains("grant_type=refresh_token"));
    assert_eq!(asked.count(), renewed.load(Ordering::SeqCst), "no refresh was refused");
}

#[tokio::test]
async fn the_older_transport_uses_logins_too() {
    let (web, renewed) = renewing("/sse", 3_600, |token| token == "token-2").await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::new(folder.path().join("tokens.json"));
    let config = config_of("sse", &format!("{}/sse", web.origin));
    let refused = servers(&config, &tokens).check("web").await.unwrap_err();
    assert_eq!(refused, McpError::NeedsLogin { server: "web".to_owned() });
    log_in(&config, &tokens).await;
    // The stream names the address for messages and says nothing more; the handshake is not answered.
    let checking = servers(&config, &tokens);
    let checking = tokio::spawn(async move { checking.check("web").await });
    let posted = async {
        loop {
            let requests = web.requests();
            if let Some(post) = requests.into_iter().find(|it| it.path.starts_with("/messages")) {
                return post;
            }
            tokio::task::yield_now().await;
        }
    };
    let post = tokio::time::timeout(std::time::Duration::from_secs(20), posted).await.unwrap();
    assert_eq!(post.headers["authorization"], "Bearer token-2");
    assert_eq!(renewed.load(Ordering::SeqCst), 1, "the refused token was renewed");
    checking.abort();
}

#[tokio::test]
async fn a_configured_document_describes_the_client_instead_of_a_registration() {
    let web = Http::start(|base, request| protected(base, request, "token-1")).await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenStore::new(folder.path().join("tokens.json"));
    let document = "https://example.com/robota.json";
    let entry = json!({
        "type": "http", "url": format!("{}/mcp", web.origin),
        "oauth": {"clientMetadataUrl": document},
    });
    let parse = |entry: &Value| ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None);
    let config = parse(&entry).unwrap().config;
    let login = start_login(&config, &tokens).await.unwrap();
    let url = url::Url::parse(login.url()).unwrap();
    let id = url.query_pairs().find(|(name, _)| name == "client_id").unwrap().1.into_owned();
    assert_eq!(id, document);
    assert!(web.requests().iter().all(|request| request.path != "/register"));
    let insecure = json!({
        "type": "http", "url": "https://a/mcp", "oauth": {"clientMetadataUrl": "http://b/x.json"},
    });
    assert!(parse(&insecure).is_err());
}

#[tokio::test]
async fn a_refused_header_of_the_configuration_does_not_lead_to_a_login() {
    for (kind, path) in [("http", "/mcp"), ("sse", "/sse")] {
        let (web, _) = renewing(path, 3_600, |token| token == "token-1").await;
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenStore::new(folder.path().join("tokens.json"));
        let url = format!("{}{path}", web.origin);
        log_in(&config_of(kind, &url), &tokens).await;
        let with = |more: Value| {
            let mut entry = json!({"type": kind, "url": url});
            entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None).unwrap().config
        };
        let wrong = "Bearer from-the-configuration";
        let printed = json!({"Authorization": wrong}).to_string();
        for entry in [
            json!({"headers": {"authorization": wrong}}),
            json!({"headersHelper": format!("echo '{printed}'")}),
        ] {
            let servers = servers(&with(entry), &tokens);
            let error = servers.check("web").await.unwrap_err();
            let refused = McpError::HeaderRefused { server: "web".to_owned(), scope: None };
            assert_eq!(error, refused, "{kind}");
            assert!(!error.to_string().contains("mcp login"), "{error}");
            let report = &servers.reports()[0];
            assert_eq!(report.status, ServerStatus::Failed, "{kind}");
        }
        // A login would change nothing.
        let config = with(json!({"headers": {"authorization": wrong}}));
        let error = start_login(&config, &tokens).await.err().unwrap().to_string();
        assert!(error.contains("its own `Authorization` header"), "{error}");
    }
}
