//! The official MCP client for TypeScript and the MCP inspector use `robota mcp serve`, over standard
//! input and output and over HTTP; the messages of the server are validated. The conformance suite uses the program as a client. The suite for
//! servers is run by robota-server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use robota_testkit::mock::{MockServer, Reply, Scenario};
use robota_testkit::{Packages, Part, requires};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use crate::home::Home;
use crate::installed::{mcp_schema, run_script, script};

fn programs() -> Option<PathBuf> {
    requires(Part::McpPrograms, Packages::MCP_PROGRAMS.folder())
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A server over HTTP.
struct HttpServer {
    url: String,
    address: String,
    _child: Child,
}

/// Creates a home whose rules allow one command.
fn home() -> Home {
    let home = Home::new();
    let settings = json!({"permissions": {"allow": ["Bash(echo allowed-by-rule)"]}});
    home.write("home/.robota/settings.json", settings).write("project/a.txt", "content of a\n");
    home.write("home/token", TOKEN);
    home
}

async fn http_server(home: &Home, mock: &MockServer, args: &[&str]) -> HttpServer {
    let token = home.path("home/token").display().to_string();
    let all = [&["mcp", "serve", "--http", "127.0.0.1:0", "--token-file", &token], args].concat();
    let mut command = home.command(&all);
    command
        .env("ANTHROPIC_BASE_URL", mock.origin())
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789abcdef")
        .stdout(std::process::Stdio::null());
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("the server says its address");
        if let Some(url) = line.strip_prefix("robota: MCP server at ") {
            let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
            // The test does not read the rest, but the pipe must stay open.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return HttpServer { url: url.to_owned(), address, _child: child };
        }
    }
}

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Http,
}

/// A finished case: what the client saw, the project, and the server.
struct Ran {
    seen: Value,
    home: Home,
    mock: MockServer,
}

/// Runs a case of the script.
async fn run(case: &str, way: Way, scenario: Scenario, args: &[&str]) -> Option<Ran> {
    let folder = programs()?;
    let (home, mock) = (home(), MockServer::start(scenario).await.unwrap());
    let server = match way {
        Way::Http => Some(http_server(&home, &mock, args).await),
        Way::Stdio => None,
    };
    let mut command = Command::new("node");
    command.current_dir(&folder).arg(script("mcp_client.mjs")).env("ARGS", json!(args).to_string());
    command.env("MCP_SCHEMA", mcp_schema()?);
    if let Some(server) = &server {
        command.env("URL", &server.url).env("TOKEN", TOKEN);
    }
    let seen = run_script(command, case, &home, &mock).await;
    assert_eq!(seen["problems"], json!([]), "{case} {way:?}: messages against the schema");
    // One case sends its own requests, without the client.
    let validated = seen["validated"].as_u64().unwrap();
    assert!(validated > 2 || case == "resume", "{case} {way:?}: {validated} messages");
    Some(Ran { seen, home, mock })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn sdk_08_mcp_the_built_in_tools_run_behind_the_gate() {
    for way in [Way::Stdio, Way::Http] {
        let Some(Ran { seen, home, mock }) = run("tools", way, Scenario::reply("-"), &[]).await
        else {
            return;
        };
        assert_eq!(seen["info"]["name"], "robota", "{way:?}");
        assert_eq!(seen["info"]["version"], env!("CARGO_PKG_VERSION"));
        let tools = seen["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        for name in ["Bash", "Edit", "Glob", "Grep", "Read", "Write", "agent_start", "agent_wait"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for name in ["agent_decide", "AskUserQuestion", "ExitPlanMode"] {
            assert!(!names.contains(&name), "{name}: {names:?}");
        }
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
        assert!(text(&seen["read"]).contains("content of a"), "{way:?} {seen}");
        assert_eq!(seen["denied"]["isError"], true, "{way:?} {}", seen["denied"]);
        assert!(text(&seen["denied"]).contains("approval"), "{}", seen["denied"]);
        assert!(!home.path("project/denied").exists());
        assert!(text(&seen["allowed"]).contains("allowed-by-rule"), "{}", seen["allowed"]);
        assert_eq!(seen["wrong"]["isError"], true, "{}", seen["wrong"]);
        assert_eq!(seen["unknown"]["error"]["code"], -32602, "{}", seen["unknown"]);
        assert_eq!(seen["escape"]["isError"], true, "reads outside ask: {}", seen["escape"]);
        assert!(mock.calls().is_empty(), "no model is asked");
    }
}

#[tokio::test]
async fn sdk_08_mcp_users_of_the_host_are_asked() {
    for way in [Way::Stdio, Way::Http] {
        let Some(Ran { seen, home, .. }) = run("ask", way, Scenario::reply("-"), &[]).await else {
            return;
        };
        let made = ["first", "second", "third"].map(|it| home.path("project").join(it).exists());
        assert_eq!(made, [true, false, false], "{way:?} {seen}");
        let asked = seen["asked"][0]["message"].as_str().unwrap();
        assert!(asked.contains("touch first"), "{asked}");
        let choices = &seen["asked"][0]["requestedSchema"]["properties"]["decision"];
        assert!(choices.to_string().contains("Bash(touch first)"), "the narrow rule: {choices}");
    }
}

fn make_file() -> Scenario {
    let call = Reply::new().tool("Bash", json!({"command": "touch made"}));
    Scenario::reply(call).then("It is made.").then("Nothing else.")
}

#[tokio::test]
async fn sdk_08_mcp_the_agent_works_for_the_host() {
    for way in [Way::Stdio, Way::Http] {
        let Some(Ran { seen, home, .. }) = run("agent", way, make_file(), &[]).await else {
            return;
        };
        let report = |name: &str| seen[name]["structuredContent"].clone();
        assert_eq!(report("started")["state"], "done", "{way:?} {seen}");
        assert_eq!(report("started")["text"], "It is made.");
        assert_eq!(report("sent")["text"], "Nothing else.");
        assert_eq!(report("waited")["state"], "done");
        assert!(report("sent")["cursor"].as_str().unwrap().contains('-'));
        assert!(home.path("project/made").exists());
        assert_eq!(seen["asked"].as_array().unwrap().len(), 1, "{way:?}");
        assert!(!seen["progress"].as_array().unwrap().is_empty(), "{way:?} {seen}");
        assert_eq!(seen["outside"]["isError"], true);
        assert!(text(&seen["outside"]).contains("is not inside"), "{}", seen["outside"]);
        assert_eq!(seen["gone"]["isError"], true, "a cancelled session is closed");
    }
}

#[tokio::test]
async fn sdk_08_mcp_a_second_prompt_has_its_own_answer_and_conversations_are_resources() {
    for way in [Way::Stdio, Way::Http] {
        let scenario = make_file().then("The third.");
        let Some(Ran { seen, .. }) = run("two", way, scenario, &[]).await else { return };
        assert_eq!(seen["sent"]["structuredContent"]["text"], "Nothing else.", "{way:?} {seen}");
        // Both calls wait for the agent; one of them asks.
        assert_eq!(seen["asked"].as_array().unwrap().len(), 1, "{way:?} {seen}");
        let text = seen["read"]["contents"][0]["text"].as_str().unwrap();
        assert!(text.contains("Make a file.") && text.contains("It is made."), "{text}");
        assert_eq!(seen["read"]["contents"][0]["mimeType"], "text/markdown");
        assert_eq!(seen["missing"]["code"], -32002, "{seen}");
        assert_eq!(seen["updated"][0], seen["uri"], "{way:?}");
        assert_eq!(seen["capabilities"]["resources"]["subscribe"], true);
        assert_eq!(seen["resourceTemplates"][0]["uriTemplate"], "robota://session/{session}");
    }
}

#[tokio::test]
async fn sdk_08_mcp_a_host_decides_only_if_the_operator_says_so() {
    let ran = run("decide", Way::Stdio, make_file(), &["--host-decides"]).await;
    let Some(Ran { seen, home, .. }) = ran else { return };
    let started = &seen["started"]["structuredContent"];
    assert_eq!(started["state"], "waiting_permission", "{seen}");
    assert_eq!(started["permissions"][0]["input"]["command"], "touch made");
    assert_eq!(seen["done"]["structuredContent"]["text"], "It is made.", "{seen}");
    assert_eq!(seen["again"]["isError"], true, "a question is answered once");
    assert!(home.path("project/made").exists());
    let ran = run("headless", Way::Stdio, make_file(), &[]).await;
    let Some(Ran { seen, home, .. }) = ran else { return };
    assert!(!seen["names"].to_string().contains("agent_decide"), "{seen}");
    assert_eq!(seen["done"]["structuredContent"]["state"], "done", "{seen}");
    assert!(!home.path("project/made").exists(), "what would ask is denied");
}

#[tokio::test]
async fn sdk_08_mcp_a_lost_connection_resumes_by_last_event_id() {
    let Some(Ran { seen, .. }) = run("resume", Way::Http, Scenario::reply("-"), &[]).await else {
        return;
    };
    let (name, number) = seen["id"].as_str().unwrap().rsplit_once('.').unwrap();
    assert!(name.len() == 36 && number.parse::<u64>().is_ok(), "{seen}");
    assert_eq!(seen["resumed"]["status"], 200, "{seen}");
    assert!(seen["resumed"]["text"].as_str().unwrap().contains("allowed-by-rule"), "{seen}");
    assert_eq!(seen["foreign"]["status"], 401);
    assert!(!seen["guessed"]["text"].as_str().unwrap().contains("allowed-by-rule"), "{seen}");
}

/// Sends a request as a browser or another program would, and returns the status.
async fn status(server: &HttpServer, headers: &[(&str, &str)]) -> u16 {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"}},
    })
    .to_string();
    let mut request = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
    request.push_str("Content-Type: application/json\r\nConnection: close\r\n");
    request.push_str("Accept: application/json, text/event-stream\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("\r\n{body}"));
    let address = server.address.clone();
    tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer)[9..].parse().unwrap()
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn sdk_08_mcp_foreign_pages_and_names_and_wrong_tokens_are_refused() {
    let (home, mock) = (home(), MockServer::start(Scenario::reply("-")).await.unwrap());
    let args = ["--allow-origin", "https://own.example:443"];
    let server = http_server(&home, &mock, &args).await;
    let (host, bearer) = (server.address.as_str(), format!("Bearer {TOKEN}"));
    let token = ("Authorization", bearer.as_str());
    let port = host.rsplit_once(':').unwrap().1;
    let localhost = format!("localhost:{port}");
    let rebound = format!("attacker.example:{port}");
    for (headers, expected) in [
        (vec![("Host", host), token], 200),
        (vec![("Host", localhost.as_str()), token], 200),
        (vec![("Host", host), token, ("Origin", "https://own.example")], 200),
        (vec![("Host", host)], 401),
        (vec![("Host", host), ("Authorization", "Bearer wrong")], 401),
        // DNS rebinding: the name of the attacker resolves to loopback.
        (vec![("Host", rebound.as_str()), token], 403),
        (vec![("Host", "127.0.0.1:1"), token], 403),
        (vec![("Host", host), token, ("Origin", "https://attacker.example")], 403),
        (vec![("Host", host), token, ("Origin", "null")], 403),
        (vec![("Host", host), token, ("Origin", "http://localhost:1")], 403),
    ] {
        assert_eq!(status(&server, &headers).await, expected, "{headers:?}");
    }
}

#[tokio::test]
async fn sdk_08_mcp_an_address_for_other_machines_needs_a_token_and_a_name() {
    let home = home();
    let output = home.robota(&["mcp", "serve", "--http", "0.0.0.0:0"], &[]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(crate::home::stderr(&output).contains("--token-file"));
}

#[tokio::test]
async fn sdk_08_mcp_the_inspector_lists_and_calls_tools() {
    let Some(folder) = programs() else { return };
    let (home, mock) = (home(), MockServer::start(Scenario::reply("-")).await.unwrap());
    let server = http_server(&home, &mock, &[]).await;
    let inspect = async |target: &[&str], args: &[&str]| -> Value {
        let mut command = Command::new("node");
        command.arg(folder.join("node_modules/.bin/mcp-inspector")).arg("--cli");
        command.args(target).args(args);
        command.current_dir(home.path("project")).env("HOME", home.path("home"));
        let output =
            tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {errors}"))
    };
    let header = format!("Authorization: Bearer {TOKEN}");
    let http = [server.url.as_str(), "--transport", "http", "--header", &header];
    let stdio = [env!("CARGO_BIN_EXE_robota"), "mcp", "serve"];
    for target in [&http[..], &stdio[..]] {
        let listed = inspect(target, &["--method", "tools/list"]).await;
        assert!(listed["tools"].as_array().unwrap().len() > 8, "{listed}");
        let call = ["--method", "tools/call", "--tool-name", "Read", "--tool-arg"];
        let call = [&call[..], &["file_path=a.txt"]].concat();
        let read = inspect(target, &call).await;
        assert!(text(&read).contains("content of a"), "{read}");
    }
}

/// The scenarios of the conformance suite that need no tools, resources and prompts of its own. The others
/// are run by robota-server, which can offer those.
const SCENARIOS: [&str; 8] = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
];

#[tokio::test]
async fn sdk_08_mcp_the_program_passes_the_conformance_suite_of_servers() {
    let Some(folder) = programs() else { return };
    let (home, mock) = (home(), MockServer::start(Scenario::reply("-")).await.unwrap());
    let server = http_server(&home, &mock, &[]).await;
    let mut proxy = Command::new("node");
    let adds_token =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../robota-server/tests/server/proxy.mjs");
    proxy.arg(adds_token).env("URL", &server.url).env("TOKEN", TOKEN);
    proxy.stdout(std::process::Stdio::piped());
    let mut proxy = tokio::process::Command::from(proxy).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(proxy.stdout.take().unwrap()).lines();
    let url = lines.next_line().await.unwrap().unwrap();
    let run = async |scenario: &str| {
        let mut command = Command::new(folder.join("node_modules/.bin/node"));
        command.arg(folder.join("node_modules/.bin/conformance")).args(["server", "--url", &url]);
        command.args(["--scenario", scenario]).current_dir(home.path("home"));
        let output = tokio::process::Command::from(command).kill_on_drop(true).output();
        let output = output.await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{scenario}: {text} {errors}");
    };
    futures::future::join_all(SCENARIOS.map(run)).await;
}

/// Returns the ids of the checks of a scenario that failed or only warn. One check measures how soon a stream is
/// reopened, which a busy machine delays.
fn failed_checks(results: &std::path::Path, scenario: &str) -> Vec<String> {
    let folders = std::fs::read_dir(results).unwrap().map(|entry| entry.unwrap());
    let of_scenario =
        folders.filter(|entry| entry.file_name().to_string_lossy().contains(scenario));
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path().join("checks.json")).unwrap();
        serde_json::from_str::<Vec<Value>>(&text).unwrap()
    };
    let bad = |check: &Value| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING"));
    let failed = of_scenario.flat_map(read).filter(bad);
    failed.map(|check| check["id"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns the scenarios that clients are expected to fail.
fn expected_of_clients() -> Vec<String> {
    let list = std::fs::read_to_string(script("mcp-conformance.yml")).unwrap();
    let clients = list.lines().skip_while(|line| *line != "client:").skip(1);
    let clients = clients.take_while(|line| line.starts_with(' '));
    clients.filter_map(|line| line.trim().strip_prefix("- ")).map(str::to_owned).collect()
}

#[tokio::test]
async fn sdk_08_mcp_the_conformance_suite_of_clients_passes_except_for_the_listed_scenarios() {
    let Some(folder) = programs() else { return };
    let home = home();
    let mut command = Command::new(folder.join("node_modules/.bin/node"));
    let client = format!("python3 {}", script("mcp_conformance_client.py"));
    command.arg(folder.join("node_modules/.bin/conformance")).args(["client", "--suite", "all"]);
    command.args(["--timeout", "120000", "--command", &client]);
    command.arg("--output-dir").arg(home.path("results"));
    command.current_dir(home.path("home")).env("ROBOTA", env!("CARGO_BIN_EXE_robota"));
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let scenarios = |mark: &str| -> Vec<(String, String)> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(mark)?.split_once(": "));
        lines.map(|(name, counts)| (name.trim().to_owned(), counts.to_owned())).collect()
    };
    let failed: Vec<_> = scenarios("✗ ").into_iter().map(|(name, _)| name).collect();
    let late = failed_checks(&home.path("results"), "sse-retry") == ["client-sse-retry-timing"];
    let failed: Vec<_> = failed.into_iter().filter(|name| !(late && name == "sse-retry")).collect();
    assert_eq!(failed, expected_of_clients(), "{text} {errors}");
    assert!(scenarios("✓ ").len() >= 20, "{text} {errors}");
}
