//! A PostgreSQL server of a test's own, in a temporary folder, on a socket nobody else knows.

mod proxy;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

pub use proxy::{Cut, Proxy};

/// A server that ends with the test, however the test ends.
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
    /// Reads what the server and its processes say: it ends with the last of them.
    log: std::thread::JoinHandle<()>,
    /// The server is ended when this is closed, which the kernel does for a test that died.
    _leash: ChildStdin,
}

/// Runs as long as the server, and ends it at once when our end of its standard input is closed.
/// Only the server has the pipe of the log, so its end shows there.
const WATCHER: &str = r#"
exec 3<&0
"$0" "$@" 0</dev/null 3<&- &
server=$!
{ cat <&3; kill -QUIT $server; } >/dev/null 2>&1 &
leash=$!
exec 2>/dev/null
wait $server
kill $leash
"#;

impl PostgresServer {
    /// Starts one; none when PostgreSQL is not installed and the test may be skipped
    /// ([`requires`](crate::requires)).
    ///
    /// # Errors
    /// When it is installed and does not start.
    pub fn start() -> Result<Option<Self>, String> {
        // A crash of the server is tested, one of the machine is not.
        Ok(crate::requires(crate::Part::Postgres, Self::start_with(false)?))
    }

    /// Starts one that waits for its disk, for measurements.
    ///
    /// # Errors
    /// As [`PostgresServer::start`].
    pub fn start_syncing() -> Result<Option<Self>, String> {
        Self::start_with(true)
    }

    fn start_with(fsync: bool) -> Result<Option<Self>, String> {
        let Some(programs) = programs() else { return Ok(None) };
        let folder = tempfile::Builder::new()
            .prefix("pg-")
            .tempdir()
            .map_err(|error| format!("no temporary folder: {error}"))?;
        // It refuses to run as root.
        let user = if is_root(folder.path())? { Some(postgres_user()?) } else { None };
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).map_err(|error| error.to_string())?;
        }
        let mut server =
            Self { programs, folder, user, running: None, databases: AtomicU32::new(0), fsync };
        let data = server.data();
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
        #[expect(clippy::disallowed_methods, reason = "a server for tests, in its one home")]
        let mut command = Command::new(program);
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
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
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
            .map_err(|error| format!("the server cannot be started: {error}"))?;
        let (Some(leash), Some(log)) = (watcher.stdin.take(), watcher.stderr.take()) else {
            return Err("the server has no pipes".to_owned());
        };
        let mut log = BufReader::new(log);
        let mut said = String::new();
        loop {
            let mut line = String::new();
            if log.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                drop(leash);
                let _ = watcher.wait();
                return Err(format!("the server did not start: {said}"));
            }
            if line.contains("ready to accept connections") {
                break;
            }
            said.push_str(&line);
        }
        // Who does not read what it says stops it.
        let log = std::thread::spawn(move || drop(std::io::copy(&mut log, &mut std::io::sink())));
        self.running = Some(Running { watcher, log, _leash: leash });
        Ok(())
    }

    /// The address of an empty database.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn database(&self) -> Result<String, String> {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("createdb", &["-h", &self.sockets(), "-U", "postgres", &name])?;
        Ok(format!("host={} user=postgres dbname={name}", self.sockets()))
    }

    /// Ends the server and all its processes as a crash does.
    ///
    /// # Errors
    /// When there is none to end.
    pub fn kill(&mut self) -> Result<(), String> {
        let file = Path::new(&self.data()).join("postmaster.pid");
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let pid = text.lines().next().unwrap_or_default().to_owned();
        let others = children(&pid);
        self.run_any("kill", &["-KILL", &pid])?;
        for other in others {
            // It may have noticed already that its parent is gone.
            let _ = self.run_any("kill", &["-KILL", &other]);
        }
        self.end();
        Ok(())
    }

    /// Starts it again; it recovers by itself.
    ///
    /// # Errors
    /// When it does not.
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
        if let Some(Running { mut watcher, log, mut _leash }) = self.running.take() {
            let _ = _leash.flush();
            drop(_leash);
            let _ = watcher.wait();
            // A server refuses to start while a process of the one before is there.
            let _ = log.join();
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where the server's programs are: Debian does not put them on the `PATH`.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<_> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    versions.sort();
    versions.reverse();
    versions.extend(["/usr/local/bin", "/usr/bin", "/usr/local/pgsql/bin"].map(PathBuf::from));
    versions.into_iter().find(|folder| {
        ["initdb", "postgres", "createdb"].iter().all(|program| folder.join(program).is_file())
    })
}

/// The processes that a process started.
fn children(parent: &str) -> Vec<String> {
    let of = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which may hold anything: the state, then the parent.
        let (_, fields) = stat.rsplit_once(')')?;
        fields.split_whitespace().nth(1).map(str::to_owned)
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|pid| of(pid).as_deref() == Some(parent))
        .collect()
}

/// Whose a new folder is, is who we are.
fn is_root(folder: &Path) -> Result<bool, String> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(folder).map_err(|error| error.to_string())?;
    Ok(found.uid() == 0)
}

/// The user that the packages of the server make.
fn postgres_user() -> Result<(u32, u32), String> {
    let users = std::fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
    let ids = |line: &str| {
        let mut fields = line.strip_prefix("postgres:")?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    users.lines().find_map(ids).ok_or_else(|| "there is no user `postgres`".to_owned())
}
