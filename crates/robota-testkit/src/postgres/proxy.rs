//! A TCP proxy in front of a PostgreSQL server that cuts connections around commits, counts round
//! trips, and stops forwarding.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;

use crate::lock;

/// The name of a server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// On which side of a commit a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPoint {
    /// Before the server receives the commit: nothing is committed.
    BeforeCommit,
    /// After the server has committed, before the client receives the answer.
    AfterCommit,
    /// Before the server receives the commit, without closing the connection: the client waits for an
    /// answer that never comes.
    Silent,
}

/// Which commits are cut: a range of commit numbers, both ends included.
#[derive(Debug, Clone, Copy)]
struct Plan {
    from: u64,
    to: u64,
    cut: CutPoint,
}

#[derive(Default)]
struct Faults {
    plan: Mutex<Option<Plan>>,
    cuts: AtomicU64,
    commits: AtomicU64,
    round_trips: AtomicU64,
    connections: AtomicU64,
    /// Connections with a lower number no longer forward data.
    silent: AtomicU64,
    refuses: AtomicBool,
    refused: AtomicU64,
    /// Cancelled to close the open connections.
    open: Mutex<CancellationToken>,
}

/// A proxy that fails on request. It ends with the runtime in which it was created.
pub struct Proxy {
    faults: Arc<Faults>,
}

impl Proxy {
    /// Starts a proxy in front of the server of an address from
    /// [`PostgresServer::database`](super::PostgresServer::database). Returns the proxy and the
    /// address that leads through it.
    ///
    /// # Errors
    /// When the address has another form, or no port is free.
    pub fn new(address: &str) -> Result<(Self, String), String> {
        let parts = address.strip_prefix("host=").and_then(|rest| rest.split_once(' '));
        let (folder, rest) = parts.ok_or_else(|| format!("`{address}` has no `host=FOLDER`"))?;
        let server = Path::new(folder).join(SOCKET);
        let listener =
            std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let listener = TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        let faults = Arc::new(Faults::default());
        tokio::spawn(accept(listener, server, Arc::clone(&faults)));
        Ok((Self { faults }, format!("host=127.0.0.1 port={port} {rest}")))
    }

    /// Cuts `count` connections, one for each commit from the `nth` one on, where the next commit
    /// is number one. A write outside a transaction is a commit of its own and counts.
    pub fn cut(&self, nth: u64, count: u64, cut: CutPoint) {
        let from = self.commits() + nth;
        let to = from + count.saturating_sub(1);
        // The count is that of this plan.
        self.faults.cuts.store(0, Ordering::SeqCst);
        *lock(&self.faults.plan) = Some(Plan { from, to, cut });
    }

    /// Returns how many connections were cut since [`Proxy::cut`].
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.faults.cuts.load(Ordering::SeqCst)
    }

    /// Returns how many commits clients have requested.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.faults.commits.load(Ordering::SeqCst)
    }

    /// Returns how often a client waited for an answer. Requests that are sent together count once;
    /// establishing a connection does not count.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.faults.round_trips.load(Ordering::SeqCst)
    }

    /// Returns how many connections were made.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.faults.connections.load(Ordering::SeqCst)
    }

    /// Returns how many connections were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.faults.refused.load(Ordering::SeqCst)
    }

    /// Stops forwarding on the open connections without closing them.
    pub fn silence(&self) {
        self.faults.silent.store(self.connections(), Ordering::SeqCst);
    }

    /// Stops forwarding on the open connections and on all new ones, without closing them.
    pub fn silence_for_good(&self) {
        self.faults.silent.store(u64::MAX, Ordering::SeqCst);
    }

    /// Closes all connections and refuses new ones, or accepts them again.
    pub fn refuse(&self, refuse: bool) {
        self.faults.refuses.store(refuse, Ordering::SeqCst);
        if refuse {
            let mut open = lock(&self.faults.open);
            open.cancel();
            *open = CancellationToken::new();
        }
    }
}

async fn accept(listener: TcpListener, server: PathBuf, faults: Arc<Faults>) {
    while let Ok((client, _)) = listener.accept().await {
        let (server, faults) = (server.clone(), Arc::clone(&faults));
        if faults.refuses.load(Ordering::SeqCst) {
            faults.refused.fetch_add(1, Ordering::SeqCst);
            // The connection is closed by the drop, which the client sees as a server that is down.
            continue;
        }
        let open = lock(&faults.open).clone();
        tokio::spawn(open.run_until_cancelled_owned(async move {
            let _ = client.set_nodelay(true);
            // If the server is not running, the connection is closed.
            if let Ok(server) = UnixStream::connect(&server).await {
                forward(client, server, &faults).await;
            }
        }));
    }
}

impl Faults {
    /// Counts a commit. Returns how its connection must be cut, if it must.
    fn commit(&self) -> Option<CutPoint> {
        // Counted before the plan is read, so that two connections never have the same number.
        let nth = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        let plan = (*lock(&self.plan)).filter(|plan| (plan.from..=plan.to).contains(&nth))?;
        self.cuts.fetch_add(1, Ordering::SeqCst);
        Some(plan.cut)
    }
}

/// Takes a complete message from the start of a buffer. A client's first message has no type byte.
fn message(buffer: &mut Vec<u8>, typed: bool) -> Option<Vec<u8>> {
    let at = usize::from(typed);
    let length = buffer.get(at..at + 4)?.try_into().map(u32::from_be_bytes).ok()?;
    let end = at + usize::try_from(length).ok()?;
    (buffer.len() >= end).then(|| buffer.drain(..end).collect())
}

/// Splits off a text that ends with a zero byte, and returns what follows it.
fn text(bytes: &[u8]) -> (&str, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    (text, bytes.get(end + 1..).unwrap_or_default())
}

/// Tracks the requests of a client.
#[derive(Default)]
struct Requests {
    /// By the name of each prepared statement, whether it writes.
    writes: HashMap<String, bool>,
    bound: bool,
    writing: bool,
    transaction: bool,
}

impl Requests {
    /// Reads a message. If it ends a request, returns whether the request commits something.
    fn read_message(&mut self, message: &[u8]) -> Option<bool> {
        let body = message.get(5..).unwrap_or_default();
        match message.first() {
            Some(b'P') => {
                let (name, rest) = text(body);
                let (sql, _) = text(rest);
                // Must not match `FOR UPDATE`.
                let writes = ["INSERT INTO ", "UPDATE robota", "DELETE FROM "];
                let writes = writes.iter().any(|word| sql.contains(word));
                self.writes.insert(name.to_owned(), writes);
                None
            }
            Some(b'B') => {
                let (_, rest) = text(body);
                let (name, _) = text(rest);
                self.bound = self.writes.get(name).copied().unwrap_or_default();
                None
            }
            Some(b'E') => {
                self.writing |= self.bound;
                None
            }
            Some(b'S') => {
                let wrote = std::mem::take(&mut self.writing);
                Some(wrote && !self.transaction)
            }
            Some(b'Q') => {
                let (sql, _) = text(body);
                if sql.starts_with("BEGIN") {
                    self.transaction = true;
                } else if sql.starts_with("COMMIT") || sql.starts_with("ROLLBACK") {
                    self.transaction = false;
                    return Some(sql.starts_with("COMMIT"));
                }
                Some(false)
            }
            _ => None,
        }
    }
}

/// Forwards data in both directions until one side closes, or the connection is cut.
async fn forward(mut client: TcpStream, mut server: UnixStream, faults: &Faults) {
    let number = faults.connections.fetch_add(1, Ordering::SeqCst);
    let (mut from_client, mut from_server) = (Vec::new(), Vec::new());
    let mut requests = Requests::default();
    // Messages that wait until their request is complete, and the number of unanswered requests.
    let (mut buffered, mut pending, mut started) = (Vec::new(), 0_u64, false);
    loop {
        tokio::select! {
            count = client.read_buf(&mut from_client) => {
                let Ok(1..) = count else { return };
                if number < faults.silent.load(Ordering::SeqCst) {
                    // Neither reads nor closes: the client only notices by its own timeout.
                    std::future::pending::<()>().await;
                }
                while let Some(message) = message(&mut from_client, started) {
                    let ends = if started { requests.read_message(&message) } else { Some(false) };
                    buffered.extend(message);
                    let Some(commits) = ends else { continue };
                    if started && pending == 0 {
                        faults.round_trips.fetch_add(1, Ordering::SeqCst);
                    }
                    started = true;
                    pending += 1;
                    let cut = if commits { faults.commit() } else { None };
                    if cut == Some(CutPoint::Silent) {
                        std::future::pending::<()>().await;
                    }
                    if cut == Some(CutPoint::BeforeCommit)
                        || server.write_all(&std::mem::take(&mut buffered)).await.is_err()
                    {
                        return;
                    }
                    if cut == Some(CutPoint::AfterCommit) {
                        // Until the server has answered, so that the commit is certain.
                        while pending > 0 {
                            let Ok(1..) = server.read_buf(&mut from_server).await else { return };
                            pending -= take_answers(&mut from_server).1;
                        }
                        return;
                    }
                }
                if started && buffered.first() == Some(&b'X') {
                    // The client terminates the connection.
                    return;
                }
            }
            count = server.read_buf(&mut from_server) => {
                let Ok(1..) = count else { return };
                let (answers, ready) = take_answers(&mut from_server);
                pending = pending.saturating_sub(ready);
                if client.write_all(&answers).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Takes the complete messages of the server, and counts the requests that they answer.
fn take_answers(from_server: &mut Vec<u8>) -> (Vec<u8>, u64) {
    let (mut whole, mut ready) = (Vec::new(), 0);
    while let Some(message) = message(from_server, true) {
        // `Z` is ReadyForQuery, which ends the answer to one request.
        ready += u64::from(message.first() == Some(&b'Z'));
        whole.extend(message);
    }
    (whole, ready)
}
