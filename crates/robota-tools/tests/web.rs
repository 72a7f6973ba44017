//! WebFetch and WebSearch against a server on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;

use robota_core::tool::{Tool, ToolContext, ToolOutcome};
use robota_exec::{Environment, OsPaths, Supervisor};
use robota_policy::{List, Policy, PolicySpec, RuleSource, Workspace};
use robota_tools::{
    AccessCheck, Brave, PolicyAccessCheck, Searcher, Searxng, ToolWorkspace, WebFetch,
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Allows 127.0.0.1 only.
struct AllowLoopback;

impl AccessCheck for AllowLoopback {
    fn may_read(&self, _: &Path) -> bool {
        true
    }

    fn may_connect_private(&self, url: &str, address: std::net::IpAddr) -> bool {
        url.starts_with("http://127.0.0.1:") && address.is_loopback()
    }
}

fn fetcher() -> WebFetch {
    let workspace = ToolWorkspace::new("/", Supervisor::new(), Environment::new());
    WebFetch::new(&workspace.access_check(Arc::new(AllowLoopback)))
}

async fn fetch(url: &str) -> ToolOutcome {
    fetcher().run(json!({"url": url}), ToolContext::detached()).await
}

/// Serves the answer for each path; the receiver gets the head of each request.
async fn serve(
    answer: impl Fn(&str, u16) -> String + Send + Sync + 'static,
) -> (u16, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heads) = mpsc::unbounded_channel();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (answer, sender) = (answer.clone(), sender.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") {
                    if stream.read_exact(&mut byte).await.is_err() {
                        return;
                    }
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let path = head.split(' ').nth(1).unwrap().to_owned();
                let _ = sender.send(head);
                let _ = stream.write_all(answer(&path, port).as_bytes()).await;
            });
        }
    });
    (port, heads)
}

fn page(kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

#[tokio::test]
async fn a_page_becomes_markdown() {
    let (port, _) = serve(|_, _| page("text/html", "<h1>Hi</h1><p>there</p>")).await;
    let outcome = fetch(&format!("http://127.0.0.1:{port}/a")).await;
    let text = format!("[200 http://127.0.0.1:{port}/a]\n# Hi\n\nthere\n");
    assert_eq!((outcome.ok, outcome.text()), (true, text));
    assert_eq!(outcome.metadata["status"], 200);
}

#[tokio::test]
async fn private_addresses_are_rejected_before_anything_is_sent() {
    let (port, mut heads) = serve(|_, _| page("text/plain", "secret")).await;
    let workspace = ToolWorkspace::new("/", Supervisor::new(), Environment::new());
    let tool = WebFetch::new(&workspace);
    let fetch = async |url: &str| tool.run(json!({"url": url}), ToolContext::detached()).await;
    for host in [
        "localhost",
        "127.0.0.1",
        "127.0.0.2",
        "[::1]",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
    ] {
        let outcome = fetch(&format!("http://{host}:{port}/")).await;
        assert_eq!(
            outcome.error_code.as_deref(),
            Some("private_address"),
            "{host}: {}",
            outcome.text()
        );
    }
    for url in
        ["ftp://example.org/", "file:///etc/passwd", "http://user:pw@example.org/", "nonsense"]
    {
        assert_eq!(fetch(url).await.error_code.as_deref(), Some("bad_url"), "{url}");
    }
    assert!(heads.try_recv().is_err());
}

#[tokio::test]
async fn private_addresses_need_a_rule_that_names_them() {
    let (port, mut heads) = serve(|_, _| page("text/plain", "local")).await;
    let fetch = async |rule: &str, host: &str| {
        let spec = PolicySpec::new(Workspace::new("/", "/nonexistent"));
        let spec = spec.rules(List::Allow, RuleSource::session(), [rule]);
        let (policy, errors) = Policy::new(&spec, &OsPaths);
        assert!(errors.is_empty());
        let check = PolicyAccessCheck::new(Arc::new(policy), Arc::new(OsPaths));
        let workspace = ToolWorkspace::new("/", Supervisor::new(), Environment::new());
        let tool = WebFetch::new(&workspace.access_check(Arc::new(check)));
        let input = json!({"url": format!("http://{host}:{port}/")});
        tool.run(input, ToolContext::detached()).await
    };
    for (rule, host) in [
        ("WebFetch(domain:localhost)", "localhost"),
        ("WebFetch(domain:127.0.0.1)", "127.0.0.1"),
        ("WebFetch(domain:127.0.0.1)", "2130706433"),
    ] {
        let outcome = fetch(rule, host).await;
        assert!(outcome.ok, "{rule}: {}", outcome.text());
        heads.recv().await.unwrap();
    }
    for (rule, host) in [
        ("WebFetch", "localhost"),
        ("WebFetch(domain:*)", "localhost"),
        ("WebFetch(domain:*)", "127.0.0.1"),
        ("WebFetch(domain:local*)", "localhost"),
        ("WebFetch(domain:localhost)", "127.0.0.1"),
        ("WebFetch(domain:127.0.0.2)", "127.0.0.1"),
        ("WebFetch(http://localhost:1/*)", "localhost"),
    ] {
        let outcome = fetch(rule, host).await;
        assert_eq!(outcome.error_code.as_deref(), Some("private_address"), "{rule} {host}");
    }
    assert!(heads.try_recv().is_err());
}

#[tokio::test]
async fn headers_that_redirect_or_reframe_a_request_are_rejected() {
    let (port, mut heads) = serve(|_, _| page("text/plain", "text")).await;
    let fetch = async |name: &str| {
        let url = format!("http://127.0.0.1:{port}/");
        let input = json!({"url": url, "headers": {name: "value"}});
        fetcher().run(input, ToolContext::detached()).await
    };
    for name in [
        "Host",
        "hOST",
        "Connection",
        "Content-Length",
        "Transfer-Encoding",
        "TE",
        "Trailer",
        "Upgrade",
        "Keep-Alive",
        "Expect",
        "Proxy-Authorization",
        "Proxy-Connection",
        "X-Forwarded-Host",
        "Forwarded",
        "X-HTTP-Method-Override",
        ":authority",
        "Host ",
        "A\r\nHost",
    ] {
        let outcome = fetch(name).await;
        assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"), "{name}");
    }
    assert!(heads.try_recv().is_err(), "nothing was sent");
    assert!(fetch("Accept-Language").await.ok);
    assert!(heads.recv().await.unwrap().contains(&format!("host: 127.0.0.1:{port}")));
}

#[tokio::test]
async fn a_proxy_is_used_and_private_addresses_are_still_rejected() {
    let (port, mut heads) = serve(|_, _| page("text/plain", "from the proxy")).await;
    let proxy = format!("127.0.0.1:{port}");
    let fetch = async |variables: &[(&str, &str)], url: &str| {
        let env = variables.iter().fold(Environment::new(), |env, (name, value)| {
            env.with(name.to_string(), value.to_string())
        });
        let workspace = ToolWorkspace::new("/", Supervisor::new(), env);
        WebFetch::new(&workspace).run(json!({"url": url}), ToolContext::detached()).await
    };
    // The proxy answers for this host. An IP address needs no DNS lookup.
    let url = "http://93.184.215.14/page";
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let outcome = fetch(&[(variable, &proxy)], url).await;
        assert!(outcome.text().contains("from the proxy"), "{}", outcome.text());
        assert!(heads.recv().await.unwrap().starts_with(&format!("GET {url} HTTP/1.1")));
    }
    let set = [("HTTP_PROXY", &*proxy), ("HTTPS_PROXY", &*proxy)];
    for url in [
        "http://10.0.0.1/",
        "https://192.168.0.1/",
        "http://[::1]/",
        "http://localhost/",
        "http://2130706433/",
    ] {
        let outcome = fetch(&set, url).await;
        assert_eq!(outcome.error_code.as_deref(), Some("private_address"), "{url}");
    }
    let bad = fetch(&[("HTTP_PROXY", "socks5://name:password@host")], url).await;
    assert_eq!(bad.error_code.as_deref(), Some("no_client"));
    assert!(!bad.text().contains("password"), "{}", bad.text());
    assert!(heads.try_recv().is_err(), "no other request was sent");
}

#[tokio::test]
async fn redirects_are_followed_only_on_the_same_host() {
    let (other, mut never) = serve(|_, _| page("text/plain", "stolen")).await;
    let (port, mut heads) = serve(move |path, port| match path {
        "/a" => redirect("/b"),
        "/b" => redirect(&format!("http://127.0.0.1:{port}/c")),
        "/c" => page("text/plain", "end"),
        "/away" => redirect(&format!("http://127.0.0.1:{other}/x")),
        "/private" => redirect("http://localhost:1/"),
        _ => redirect("/loop"),
    })
    .await;
    let at = |path: &str| format!("http://127.0.0.1:{port}/{path}");
    let outcome = fetch(&at("a")).await;
    let text = format!(
        "[200 {}]\n[redirected from {}]\n[redirected from {}]\nend\n",
        at("c"),
        at("a"),
        at("b")
    );
    assert_eq!(outcome.text(), text);
    let input = json!({"url": at("away"), "headers": {"Authorization": "Bearer s3cret"}});
    let outcome = fetcher().run(input, ToolContext::detached()).await;
    assert!(outcome.text().contains(&format!("It redirects to http://127.0.0.1:{other}/x")));
    assert!(never.try_recv().is_err(), "the other host got no request and no secret");
    let mut last = String::new();
    while let Ok(head) = heads.try_recv() {
        last = head;
    }
    assert!(last.to_lowercase().contains("authorization: bearer s3cret"), "{last}");
    assert!(fetch(&at("private")).await.text().contains("It redirects to http://localhost:1/"));
    assert_eq!(fetch(&at("loop")).await.error_code.as_deref(), Some("too_many_redirects"));
}

#[tokio::test]
async fn an_endless_body_is_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        assert!(stream.read(&mut head).await.unwrap() > 0);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        // Until the client closes the connection.
        while stream.write_all(&[b'x'; 65_536]).await.is_ok() {}
    });
    let outcome = fetch(&format!("http://127.0.0.1:{port}/")).await;
    assert!(outcome.ok && outcome.text().len() < 52_000);
    assert!(
        outcome.text().contains("[50000 of 5242880 characters shown; continue with offset 50000]")
    );
    assert!(outcome.text().ends_with("[only the first 5242880 bytes were read]\n"));
}

#[tokio::test]
async fn an_http_error_is_reported_with_its_text() {
    let (port, _) = serve(|path, _| match path {
        "/none" => page("text/plain", "gone").replace("200 OK", "404 Not Found"),
        _ => page("image/png", "x"),
    })
    .await;
    let outcome = fetch(&format!("http://127.0.0.1:{port}/none")).await;
    assert_eq!(outcome.error_code.as_deref(), Some("http_status"));
    assert!(outcome.text().ends_with("/none]\ngone\n"), "{}", outcome.text());
    let outcome = fetch(&format!("http://127.0.0.1:{port}/picture")).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_text"));
}

#[tokio::test]
async fn search_services_are_queried_and_parsed() {
    let (port, mut heads) = serve(|path, _| {
        if path.starts_with("/res/") {
            let hit = json!({"title": "T", "url": "https://x.example/", "description": "D"});
            return page("application/json", &json!({"web": {"results": [hit]}}).to_string());
        }
        let hit = json!({"title": "T", "url": "https://y.example/", "content": "C"});
        page("application/json", &json!({"results": [hit, hit, {"title": "no url"}]}).to_string())
    })
    .await;
    let base = format!("http://127.0.0.1:{port}");
    let hits = Brave::with_base_url(&base, "k3y").search("a b&c", 5).await.unwrap();
    assert_eq!((hits.len(), hits[0].snippet.as_str()), (1, "D"));
    let head = heads.recv().await.unwrap();
    assert!(head.starts_with("GET /res/v1/web/search?q=a+b%26c&count=5 "), "{head}");
    assert!(head.to_lowercase().contains("x-subscription-token: k3y"), "{head}");
    let hits = Searxng::new(format!("{base}/")).search("a b", 1).await.unwrap();
    assert_eq!((hits.len(), hits[0].url.as_str()), (1, "https://y.example/"));
    let head = heads.recv().await.unwrap();
    assert!(head.starts_with("GET /search?q=a+b&format=json "), "{head}");
    let (port, _) =
        serve(|_, _| page("text/plain", "limit").replace("200 OK", "429 Too Many")).await;
    let error = Searxng::new(format!("http://127.0.0.1:{port}")).search("x", 1).await.unwrap_err();
    assert_eq!(error.to_string(), "the search service answered 429: limit");
}
