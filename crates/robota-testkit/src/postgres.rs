//! A private PostgreSQL server for a test, in a temporary folder and on a private socket.

mod proxy;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

pub use proxy::{CutPoint, Proxy};

/// A PostgreSQL server that is stopped when the test ends, even if the test crashes.
pub struct PostgresServer {
    programs: PathBuf,
    folder: TempDir,
    user: Option<(u32, u32)>,
    running: Option<Running>,
    databases: AtomicU32,
    fsync: bool,
}

struct Running {
    watcher: Child,
    /// Drains the log of the server and its processes. It ends when the last of them has exited.
    log: std::thread::JoinHandle<()>,
    /// The watcher stops the server when this pipe closes. The kernel closes it if the test
    /// crashes.
    _stdin: ChildStdin,
}

/// Runs as long as the server, and stops it immediately when our end of its standard input closes.
/// Only the server holds the log pipe, so the end of the log shows that the server has exited.
const WATCHER: &str = r#"
exec 3<&0
"$0" "$@" 0</dev/null 3<&- &
server=$!
{ cat <&3; kill -QUIT $server; } >/dev/null 2>&1 &
stdin=$!
exec 2>/dev/null
wait $server
kill $stdin
"#;

impl PostgresServer {
    /// Starts a server. Returns `None` if PostgreSQL is not installed and the test may be skipped
    /// ([`requires`](crate::requires)).
    ///
    /// # Errors
    /// When PostgreSQL is installed but does not start.
    pub fn start() -> Result<Option<Self>, String> {
        // Tests simulate crashes of the server, not power failures, so fsync is not needed.
        Ok(crate::requires(crate::Part::Postgres, Self::start_with(false)?))
    }

    /// Starts a server with fsync, for measurements.
    ///
    /// # Errors
    /// Like [`PostgresServer::start`].
    pub fn start_syncing() -> Result<Option<Self>, String> {
        Self::start_with(true)
    }

    fn start_with(fsync: bool) -> Result<Option<Self>, String> {
        let Some(programs) = programs() else { return Ok(None) };
        let folder = tempfile::Builder::new()
            .prefix("pg-")
            .tempdir()
            .map_err(|error| format!("cannot create a temporary folder: {error}"))?;
        // PostgreSQL refuses to run as root.
        let user = if is_root(folder.path())? { Some(postgres_user()?) } else { None };
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).map_err(|error| error.to_string())?;
        }
        let mut server =
            Self { programs, folder, user, running: None, databases: AtomicU32::new(0), fsync };
        let data = server.data();
        // No password: only the user of the test can reach the socket.
        let init = ["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
        server.run("initdb", &init)?;
        server.launch()?;
        Ok(Some(server))
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn sockets(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "the only place that starts the test database"
        )]
        let mut command = Command::new(program);
        // Without the environment of the test, whose `PG*` variables would change what the programs
        // do.
        command.args(args).current_dir(self.folder.path()).env_clear().env("LC_ALL", "C.UTF-8");
        command.env("PATH", "/usr/bin:/bin");
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<(), String> {
        let output = self
            .command(&self.programs.join(program), args)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{program} failed: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn launch(&mut self) -> Result<(), String> {
        let server = self.programs.join("postgres").display().to_string();
        let (data, sockets) = (self.data(), self.sockets());
        let args = [
            "-c",
            WATCHER,
            &server,
            "-D",
            &data,
            "-k",
            &sockets,
            "-c",
            // No TCP port, so that servers of parallel tests do not collide.
            "listen_addresses=",
            "-c",
            if self.fsync { "fsync=on" } else { "fsync=off" },
            "-c",
            "max_connections=60",
        ];
        let mut watcher = self
            .command(Path::new("/bin/sh"), &args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the server: {error}"))?;
        let (Some(stdin), Some(log)) = (watcher.stdin.take(), watcher.stderr.take()) else {
            return Err("the server has no pipes".to_owned());
        };
        let mut log = BufReader::new(log);
        let mut output = String::new();
        loop {
            let mut line = String::new();
            // The end of the log: the server has exited.
            if log.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                drop(stdin);
                let _ = watcher.wait();
                return Err(format!("the server did not start: {output}"));
            }
            if line.contains("ready to accept connections") {
                break;
            }
            output.push_str(&line);
        }
        // The log must be drained, otherwise the server blocks on a full pipe.
        let log = std::thread::spawn(move || drop(std::io::copy(&mut log, &mut std::io::sink())));
        self.running = Some(Running { watcher, log, _stdin: stdin });
        Ok(())
    }

    /// Creates an empty database and returns its address.
    ///
    /// # Errors
    /// When the database cannot be created.
    pub fn database(&self) -> Result<String, String> {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("createdb", &["-h", &self.sockets(), "-U", "postgres", &name])?;
        Ok(format!("host={} user=postgres dbname={name}", self.sockets()))
    }

    /// Kills the server and all its processes, like a crash.
    ///
    /// # Errors
    /// When no server is running.
    pub fn kill(&mut self) -> Result<(), String> {
        let file = Path::new(&self.data()).join("postmaster.pid");
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let pid = text.lines().next().unwrap_or_default().to_owned();
        // Before the kill: afterwards the children have another parent.
        let others = children(&pid);
        self.run_any("kill", &["-KILL", &pid])?;
        for other in others {
            // The child may have exited already after its parent died.
            let _ = self.run_any("kill", &["-KILL", &other]);
        }
        self.end();
        Ok(())
    }

    /// Starts the server again; PostgreSQL recovers its data.
    ///
    /// # Errors
    /// When the server does not start.
    pub fn restart(&mut self) -> Result<(), String> {
        self.end();
        self.launch()
    }

    fn run_any(&self, program: &str, args: &[&str]) -> Result<(), String> {
        let status = self.command(Path::new(program), args).stderr(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{program}: {status}")),
            Err(error) => Err(format!("{program}: {error}")),
        }
    }

    fn end(&mut self) {
        if let Some(Running { mut watcher, log, mut _stdin }) = self.running.take() {
            let _ = _stdin.flush();
            drop(_stdin);
            let _ = watcher.wait();
            // A server refuses to start while a process of the previous one is alive.
            let _ = log.join();
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Finds the folder of the server's programs: Debian does not put them on the `PATH`.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<_> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    versions.sort();
    // The newest version first.
    versions.reverse();
    versions.extend(["/usr/local/bin", "/usr/bin", "/usr/local/pgsql/bin"].map(PathBuf::from));
    versions.into_iter().find(|folder| {
        ["initdb", "postgres", "createdb"].iter().all(|program| folder.join(program).is_file())
    })
}

/// Returns the process ids of the children of a process.
fn children(parent: &str) -> Vec<String> {
    let parent_of = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which may contain any character: the state, then the parent.
        let (_, fields) = stat.rsplit_once(')')?;
        fields.split_whitespace().nth(1).map(str::to_owned)
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| parent_of(pid).as_deref() == Some(parent))
        .collect()
}

/// Returns whether this process is root, which is shown by the owner of a new folder.
fn is_root(folder: &Path) -> Result<bool, String> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = std::fs::metadata(folder).map_err(|error| error.to_string())?;
    Ok(metadata.uid() == 0)
}

/// Returns the user and group ids of the user that the server's packages create.
fn postgres_user() -> Result<(u32, u32), String> {
    let users = std::fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
    let ids = |line: &str| {
        let mut fields = line.strip_prefix("postgres:")?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    users.lines().find_map(ids).ok_or_else(|| "there is no user `postgres`".to_owned())
}
