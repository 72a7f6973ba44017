//! The MCP conformance suite against the server, with the tools, resources and prompts that the suite
//! expects besides the built-in ones.

use std::process::{Command, Stdio};
use std::sync::Arc;

use robota_core::ids::RandomIds;
use robota_mcp::server::Served;
use robota_sdk::Transport as _;
use robota_server::mcp::{McpServer, McpServerOptions, McpTransport};
use robota_testkit::{Packages, Part, requires};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::conformance_host::TestHost;
use crate::host::TestSessions;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn file(name: &str) -> String {
    format!("{}/tests/server/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sdk_08_mcp_the_conformance_suite_passes_except_for_the_listed_scenarios() {
    let Some(folder) = requires(Part::McpPrograms, Packages::MCP_PROGRAMS.folder()) else { return };
    let sessions = TestSessions::new("[Unused.]");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let named = ["localhost", "127.0.0.1"].map(|name| format!("{name}:{}", address.port()));
    let transport = McpTransport::Http {
        listener,
        token: TOKEN.to_owned(),
        origins: named.iter().map(|name| format!("http://{name}")).collect(),
        hosts: named.to_vec(),
        ids: Arc::new(RandomIds),
    };
    let options =
        McpServerOptions { version: "1", cwd: None, tools: None, agent: true, host_decides: false };
    let host = Arc::new(TestHost::default());
    let own = Served { tools: host.clone(), resources: Some(host.clone()), prompts: Some(host) };
    let mut server = McpServer::new(transport, options).offer(own);
    server.attach(sessions.clone());
    let stop = server.stop_token();
    let serving = tokio::spawn(async move { server.start().await });
    let mut proxy = Command::new("node");
    proxy.arg(file("proxy.mjs")).env("URL", format!("http://{address}/mcp")).env("TOKEN", TOKEN);
    proxy.stdout(Stdio::piped());
    let mut proxy = tokio::process::Command::from(proxy).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(proxy.stdout.take().unwrap()).lines();
    let url = lines.next_line().await.unwrap().unwrap();
    let mut command = Command::new(folder.join("node_modules/.bin/node"));
    command.arg(folder.join("node_modules/.bin/conformance")).args(["server", "--url", &url]);
    command.args(["--suite", "all", "--expected-failures", &file("conformance.yml")]);
    command.current_dir(sessions.folder.path());
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text} {errors}");
    assert!(text.contains("dns-rebinding-protection: 2 passed"), "{text}");
    assert!(text.contains("tools-call-sampling: 1 passed"), "{text}");
    stop.cancel();
    serving.await.unwrap().unwrap();
}
