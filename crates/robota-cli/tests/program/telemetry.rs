//! The OpenTelemetry export, which the standard variables turn on.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::home::{Home, stderr, stdout};

const SCRIPT: &str = "- tools: [{tool: Read, input: {file_path: notes.txt}}]\n- Done.";
const TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a collector that accepts everything. Returns its address, and the path and body of each
/// request.
fn collector() -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                loop {
                    let (mut path, mut length) = (String::new(), 0);
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) == 0 {
                            return;
                        }
                        let line = line.trim_end().to_ascii_lowercase();
                        if let Some(rest) = line.strip_prefix("post ") {
                            path = rest.split(' ').next().unwrap().to_owned();
                        } else if let Some(value) = line.strip_prefix("content-length: ") {
                            length = value.parse().unwrap();
                        } else if line.is_empty() {
                            break;
                        }
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    sender.send((path, body)).unwrap();
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    (address, requests)
}

fn run(variables: &[(&str, &str)]) -> std::process::Output {
    let home = Home::new();
    home.write("project/script.yaml", SCRIPT).write("project/notes.txt", "hello world\n");
    let mut command = home.command(&["-p", "go", "--provider", "scripted:script.yaml"]);
    command.envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn spans_and_metrics_are_exported_without_content() {
    let (address, requests) = collector();
    let output = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &address), ("OTEL_SERVICE_NAME", "mine")]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Done.\n"));
    assert_eq!(stderr(&output), "", "a working export prints nothing");
    let (mut metrics, mut traces) = (String::new(), String::new());
    let spans = ["invoke_agent", "chat ", "execute_tool Read", "append"];
    let complete = |traces: &str| spans.iter().all(|span| traces.contains(span));
    while !metrics.contains("robota.turns") || !complete(&traces) {
        let (path, body) = requests.recv_timeout(TIMEOUT).unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(!text.contains("hello world"), "{path} contains the content of a file");
        assert!(text.contains("mine"), "{path} has the service name");
        match path.as_str() {
            "/v1/metrics" => metrics = text,
            "/v1/traces" => traces.push_str(&text),
            other => panic!("unexpected request to {other}"),
        }
    }
    for name in ["gen_ai.client.operation.duration", "gen_ai.execute_tool.duration", "Read"] {
        assert!(metrics.contains(name), "{name}");
    }
}

#[test]
fn an_unreachable_collector_only_causes_a_note() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let output = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Done.\n"));
    assert!(stderr(&output).contains("collector did not accept the data"), "{}", stderr(&output));
}

#[test]
fn an_invalid_variable_only_causes_a_note() {
    let output = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "nowhere")]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Done.\n"));
    assert!(stderr(&output).contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{}", stderr(&output));
}

#[test]
fn a_disabled_sdk_exports_nothing() {
    let (address, requests) = collector();
    let output = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &address), ("OTEL_SDK_DISABLED", "true")]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "Done.\n"));
    assert!(requests.try_recv().is_err(), "nothing was sent");
}
