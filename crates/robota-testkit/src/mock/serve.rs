//! Serves one connection: reads a request, selects its response, sends it, and repeats.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use super::encode::{self, Action};
use super::received::{ReceivedRequest, ResponseEnd};
use super::scenario::Stall;
use super::state::{PlannedResponse, State};
use super::wire::Route;
use super::{Failure, http, lists};

pub(super) async fn connection(state: Arc<State>, socket: TcpStream, number: usize) {
    // Otherwise the kernel delays small writes, and bytes before a gate could arrive after it.
    let _ = socket.set_nodelay(true);
    let (reader, mut writer) = socket.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = http::read(&mut reader).await {
        let closes = request.closes();
        let received = record(&state, request, number);
        let planned = plan_response(&state, &received);
        match send_response(&state, &planned, &mut reader, &mut writer).await {
            Outcome::Complete => {
                received.ended.send_replace(Some(ResponseEnd::Complete));
                if closes {
                    break;
                }
            }
            Outcome::Disconnected => {
                received.ended.send_replace(Some(ResponseEnd::Disconnected));
                return;
            }
            Outcome::Close => {
                received.ended.send_replace(Some(ResponseEnd::Aborted));
                break;
            }
            Outcome::Reset => {
                reset(reader, writer);
                received.ended.send_replace(Some(ResponseEnd::Aborted));
                return;
            }
        }
    }
    let _ = writer.shutdown().await;
}

/// Closes the socket so that the peer's next read fails instead of returning the end.
fn reset(reader: BufReader<OwnedReadHalf>, writer: OwnedWriteHalf) {
    // The socket is closed when it is dropped here. Without lingering, the system sends a reset.
    if let Ok(socket) = reader.into_inner().reunite(writer) {
        let _ = socket.set_zero_linger();
    }
}

/// Records a request in order of arrival.
fn record(state: &State, request: http::Request, connection: usize) -> Arc<ReceivedRequest> {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    // Three wires share a path; only this header distinguishes them.
    let route = Route::of(&request.method, &path, request.header("anthropic-version").is_some());
    let mut received = ReceivedRequest {
        number: 0,
        nth_call: None,
        connection,
        method: request.method,
        path,
        query,
        route,
        headers: request.headers,
        json: serde_json::from_slice(&request.body).unwrap_or(Value::Null),
        body: request.body,
        ended: watch::channel(None).0,
    };
    // The number is assigned and recorded in one step; watchers are notified after that.
    state.record_request(|number, calls| {
        received.number = number;
        received.nth_call = received.wire().map(|_| calls + 1);
        Arc::new(received)
    })
}

fn plan_response(state: &State, received: &ReceivedRequest) -> PlannedResponse {
    let immediately = |actions| (None, Arc::new(actions));
    // Before the route: a wrong key must fail for lists too.
    if let Some(key) = &state.key
        && !lists::has_key(received, key)
    {
        let wire = lists::wire_of(received);
        let failure = Failure::status(401, "invalid x-api-key");
        return immediately(encode::json(401, &failure.body(wire, "req_401")));
    }
    match &received.route {
        Route::Call { wire, .. } => state.answer(received, *wire),
        Route::Count(wire) => immediately(encode::json(200, &lists::count(*wire, state.tokens))),
        Route::Models(wire) => immediately(encode::json(200, &lists::models(*wire, &state.models))),
        Route::Model(wire, name) if state.models.contains(name) => {
            immediately(encode::json(200, &lists::model(*wire, name)))
        }
        Route::OllamaTags => immediately(encode::json(200, &lists::ollama(&state.models))),
        Route::OllamaVersion => immediately(encode::json(200, &lists::ollama_version())),
        Route::Health => immediately(encode::json(200, &lists::health())),
        Route::Model(..) | Route::Unknown => {
            let failure = Failure::status(404, format!("unknown path {}", received.path));
            let wire = lists::wire_of(received);
            immediately(encode::json(404, &failure.body(wire, "req_404")))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Complete,
    Close,
    Reset,
    Disconnected,
}

async fn send_response(
    state: &State,
    (hold, actions): &PlannedResponse,
    reader: &mut BufReader<OwnedReadHalf>,
    writer: &mut OwnedWriteHalf,
) -> Outcome {
    if let Some(stall) = hold
        && !pause(state, stall, reader).await
    {
        return Outcome::Disconnected;
    }
    for out in actions.iter() {
        match out {
            Action::Bytes(bytes) => {
                if writer.write_all(bytes).await.is_err() {
                    return Outcome::Disconnected;
                }
            }
            Action::Stall(stall) => {
                if !pause(state, stall, reader).await {
                    return Outcome::Disconnected;
                }
            }
            Action::Close => return Outcome::Close,
            Action::Reset => return Outcome::Reset,
        }
    }
    Outcome::Complete
}

/// Waits. Returns false if the client disconnected meanwhile.
async fn pause(state: &State, stall: &Stall, reader: &mut BufReader<OwnedReadHalf>) -> bool {
    let wait = async {
        match stall {
            Stall::Forever => std::future::pending().await,
            Stall::Gate(gate) => state.gates.pass(gate).await,
            Stall::Ms(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        }
    };
    tokio::pin!(wait);
    tokio::select! {
        // A client that has gone comes first: a released gate must not make a dropped call look
        // complete.
        biased;
        read = reader.fill_buf() => match read {
            Ok([]) | Err(_) => false,
            // The next request has arrived already, so the client is still connected.
            Ok(_) => {
                wait.await;
                true
            }
        },
        () = &mut wait => true,
    }
}
