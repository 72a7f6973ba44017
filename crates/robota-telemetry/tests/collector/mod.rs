//! A collector on loopback: keeps the requests, and answers as a test requires.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// How the collector answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Ok,
    Status(u16),
    Never,
}

/// A request that it received.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the resource and the spans of the request.
    pub(crate) fn spans(&self) -> (Vec<KeyValue>, Vec<Span>) {
        let request = ExportTraceServiceRequest::decode(self.body.as_slice()).unwrap();
        let [resource] = request.resource_spans.try_into().unwrap();
        let [scope] = resource.scope_spans.try_into().unwrap();
        assert_eq!(scope.scope.unwrap().name, "robota");
        (resource.resource.unwrap().attributes, scope.spans)
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let request = ExportMetricsServiceRequest::decode(self.body.as_slice()).unwrap();
        let [resource] = request.resource_metrics.try_into().unwrap();
        let [scope] = resource.scope_metrics.try_into().unwrap();
        scope.metrics
    }
}

pub(crate) struct Collector {
    url: String,
    answer: Arc<Mutex<Answer>>,
    requests: Receiver<Request>,
}

impl Collector {
    pub(crate) fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new(answer));
        let (sender, requests) = channel();
        let shared = Arc::clone(&answer);
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (sender, shared) = (sender.clone(), Arc::clone(&shared));
                std::thread::spawn(move || serve(connection, &sender, &shared));
            }
        });
        Self { url, answer, requests }
    }

    /// Returns a collector with an address where nothing listens.
    pub(crate) fn unreachable() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self { url, answer: Arc::new(Mutex::new(Answer::Never)), requests: channel().1 }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sets the answer to the next requests.
    pub(crate) fn answer(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// Waits for the next request.
    pub(crate) fn next(&self) -> Request {
        self.requests.recv_timeout(super::LONG).unwrap()
    }

    /// Returns whether there is no request. A request is kept before it is answered, so the result is
    /// reliable after a flush has returned.
    pub(crate) fn is_quiet(&self) -> bool {
        self.requests.try_recv().is_err()
    }
}

fn serve(stream: TcpStream, requests: &Sender<Request>, answer: &Mutex<Answer>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(request) = read(&mut reader) {
        let Ok(()) = requests.send(request) else { return };
        let status = match *answer.lock().unwrap() {
            Answer::Ok => 200,
            Answer::Status(status) => status,
            // Keeps the connection open until the client closes it.
            Answer::Never => {
                let _ = reader.read(&mut [0]);
                return;
            }
        };
        let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n\r\n");
        if writer.write_all(head.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let path = lines.first()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<_> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut request = Request { path, headers, body: Vec::new() };
    let length = request.header("content-length")?.parse().ok()?;
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
