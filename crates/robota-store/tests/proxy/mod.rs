//! Something between a client and its server that loses what the server says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// The name of a server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

#[derive(Default)]
struct Faults {
    /// Whether the next commit is done and not answered.
    cut: AtomicBool,
    /// Connections that were made before this one are silent for ever.
    silent: AtomicU64,
    made: AtomicU64,
}

/// A way to a server that fails when it is told to.
pub(crate) struct Proxy {
    folder: tempfile::TempDir,
    faults: Arc<Faults>,
}

impl Proxy {
    /// A way to the server of that address, and the address of the way.
    pub(crate) fn new(address: &str) -> (Self, String) {
        let folder = tempfile::tempdir().unwrap();
        let (host, rest) = address.strip_prefix("host=").unwrap().split_once(' ').unwrap();
        let server = std::path::Path::new(host).join(SOCKET);
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let faults = Arc::new(Faults::default());
        let shared = Arc::clone(&faults);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A server that is not there closes it.
                if let Ok(server) = UnixStream::connect(&server).await {
                    tokio::spawn(carry(client, server, Arc::clone(&shared)));
                }
            }
        });
        let address = format!("host={} {rest}", folder.path().display());
        (Self { folder, faults }, address)
    }

    /// Loses the answer to the next commit, and the connection with it.
    pub(crate) fn cut_the_next_commit(&self) {
        assert!(self.folder.path().exists());
        self.faults.cut.store(true, Ordering::SeqCst);
    }

    /// Whether there was a commit since.
    pub(crate) fn was_cut(&self) -> bool {
        !self.faults.cut.load(Ordering::SeqCst)
    }

    /// How many connections there were.
    pub(crate) fn made(&self) -> u64 {
        self.faults.made.load(Ordering::SeqCst)
    }

    /// Nothing passes any more on the connections that are there; none of them is closed.
    pub(crate) fn silence(&self) {
        self.faults.silent.store(self.made(), Ordering::SeqCst);
    }
}

/// Carries what both say, until one of them ends.
async fn carry(mut client: UnixStream, mut server: UnixStream, faults: Arc<Faults>) {
    let number = faults.made.fetch_add(1, Ordering::SeqCst);
    let (mut asked, mut said) = ([0; 8192], [0; 8192]);
    loop {
        tokio::select! {
            count = client.read(&mut asked) => {
                let Ok(count @ 1..) = count else { return };
                if number < faults.silent.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                let asked = &asked[..count];
                if server.write_all(asked).await.is_err() {
                    return;
                }
                let commits = asked.windows(7).any(|word| word == b"COMMIT\0");
                if commits && faults.cut.swap(false, Ordering::SeqCst) {
                    // It is answered when it is done.
                    let answered = server.read(&mut said).await.unwrap();
                    assert!(answered > 0);
                    return;
                }
            }
            count = server.read(&mut said) => {
                let Ok(count @ 1..) = count else { return };
                if client.write_all(&said[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
