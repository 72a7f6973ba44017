//! Logins against an authorisation server of the test, and servers that misuse them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use robota_exec::Supervisor;
use robota_mcp::McpError;
use robota_mcp::client::{McpOptions, McpServers};
use robota_mcp::config::ServerConfig;
use robota_mcp::oauth::{TokenStore, start_login};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

/// A request that a test server got.
#[derive(Debug, Clone)]
struct Request {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: String,
}

struct Response {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Response {
    fn json(value: &Value) -> Self {
        let headers = vec![("Content-Type", "application/json".to_owned())];
        Self { status: "200 OK", headers, body: value.to_string() }
    }

    fn status(status: &'static str) -> Self {
        Self { status, headers: Vec::new(), body: String::new() }
    }
}

/// A small HTTP server.
struct Http {
    origin: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Http {
    async fn start(answer: impl Fn(&str, &Request) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (seen, base, answer) = (requests.clone(), origin.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, base, answer) = (seen.clone(), base.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    while let Some(request) = read(&mut stream).await {
                        seen.lock().unwrap().push(request.clone());
                        let Response { status, headers, body } = answer(&base, &request);
                        let mut text = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
                        for (name, value) in headers {
                            text.push_str(&format!("{name}: {value}\r\n"));
                        }
                        text.push_str(&format!("\r\n{body}"));
                        stream.get_mut().write_all(text.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        Self { origin, requests }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read(stream: &mut BufReader<tokio::net::TcpStream>) -> Option<Request> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok().filter(|read| *read > 0)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// A server that wants a token, with its authorisation server.
fn protected(base: &str, request: &Request, access: &str) -> Response {
    let path = request.path.split('?').next().unwrap();
    match (request.method.as_str(), path) {
        (_, "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp") => {
            Response::json(&json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
        }
        (_, "/.well-known/oauth-authorization-server") => Response::json(&json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported": ["none"],
        })),
        ("POST", "/register") => {
            let given: Value = serde_json::from_str(&request.body).unwrap();
            Response { status: "201 Created", ..Response::json(&json!({
                "client_id": "client-1", "redirect_uris": given["redirect_uris"], "client_name": "Robota",
            })) }
        }
        ("POST", "/token") => Response::json(&json!({
            "access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh-1",
        })),
        ("POST", "/mcp") => {
            let bearer = format!("Bearer {access}");
            if request.headers.get("authorization") != Some(&bearer) {
                let challenge =
                    format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource\"");
                let headers = vec![("WWW-Authenticate", challenge)];
                return Response { headers, ..Response::status("401 Unauthorized") };
            }
            rpc(&request.body)
        }
        _ => Response::status("404 Not Found"),
    }
}

/// Answers as an MCP server of the versions with a handshake.
fn rpc(body: &str) -> Response {
    let message: Value = serde_json::from_str(body).unwrap();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "hello"}]}),
        "ping" => json!({}),
        method if method.starts_with("notifications/") => return Response::status("202 Accepted"),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Response::json(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
    };
    Response::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn config(url: &str) -> ServerConfig {
    let entry = json!({"type": "http", "url": url});
    ServerConfig::parse("web", entry.as_object().unwrap(), &|_| None).unwrap().config
}

fn servers(config: &ServerConfig, tokens: &TokenStore) -> McpServers {
    let options = McpOptions {
        tokens: Some(tokens.clone()),
        ..McpOptions::new(Supervisor::new(), std::env::temp_dir())
    };
    McpServers::new(vec![config.clone()], &options)
}

/// Opens the address as a browser does: the authorisation server redirects at once.
async fn browse(url: &str) {
    let url = url::Url::parse(url).unwrap();
    let find = |key: &str| url.query_pairs().find(|(name, _)| name == key).unwrap().1.into_owned();
    assert_eq!(find("code_challenge_method"), "S256");
    let (redirect, state) = (find("redirect_uri"), find("state"));
    assert!(redirect.starts_with("http://localhost:"), "{redirect}");
    let redirect = url::Url::parse(&redirect).unwrap();
    let mut stream =
        tokio::net::TcpStream::connect(("127.0.0.1", redirect.port().unwrap())).await.unwrap();
    let request = format!("GET /callback?code=code-1&state={state} HTTP/1.1\r\nHost: localhost\r\n\r\n");
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
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
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
    let options = McpOptions::new(Supervisor::new(), std::env::temp_dir());
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
