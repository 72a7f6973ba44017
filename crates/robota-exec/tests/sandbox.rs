//! Sandboxes: one test suite for every driver, and real attempts to escape from the local one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use robota_core::sandbox::{Exec, ExecEnd, Fence, SandboxError, SandboxLevel};
use robota_exec::sandbox::{Confinement, LocalSandbox, Sandbox, SandboxSupport, VfsSandbox, probe};
use robota_exec::{Environment, ShellCommand, Supervisor, TerminalSize};
use tokio_util::sync::CancellationToken;

fn environment() -> Environment {
    #[expect(clippy::disallowed_methods, reason = "bubblewrap is searched in the tester's PATH")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    Environment::new().with("PATH", path)
}

fn fence(level: SandboxLevel, root: &Path) -> Fence {
    Fence {
        level,
        writable: vec![root.to_owned()],
        protected: Vec::new(),
        hidden: Vec::new(),
        shown: Vec::new(),
        network: false,
    }
}

/// Tests what every driver must do.
async fn suite(sandbox: &dyn Sandbox, root: &Path) {
    let file = root.join("a/b/file");
    assert!(matches!(sandbox.read(&file).await, Err(SandboxError::Missing { .. })));
    assert_eq!(sandbox.stat(&file).await.unwrap(), None);
    sandbox.write(&file, b"one").await.unwrap();
    sandbox.write(&root.join("a/other"), b"").await.unwrap();
    assert_eq!(sandbox.read(&file).await.unwrap(), b"one");
    assert_eq!(sandbox.read(&root.join("a/./b/../b/file")).await.unwrap(), b"one");
    assert_eq!(sandbox.list(&root.join("a")).await.unwrap(), ["b", "other"]);
    let stat = sandbox.stat(&file).await.unwrap().unwrap();
    assert_eq!((stat.dir, stat.len), (false, 3));
    assert!(sandbox.stat(&root.join("a/b")).await.unwrap().unwrap().dir);
    let mut changes = sandbox.watch(std::slice::from_ref(&file)).await.unwrap();
    sandbox.write(&file, b"another").await.unwrap();
    assert_eq!(changes.recv().await.unwrap(), file);
    sandbox.remove(&file).await.unwrap();
    assert_eq!(changes.recv().await.unwrap(), file);
    assert!(matches!(sandbox.remove(&file).await, Err(SandboxError::Missing { .. })));
    let outside = sandbox.write(Path::new("/outside-of-the-workspace"), b"x").await;
    assert!(matches!(outside, Err(SandboxError::Denied { action: "write", .. })), "{outside:?}");
    let hidden = sandbox.read(&root.join("hidden/key")).await;
    assert!(matches!(hidden, Err(SandboxError::Denied { action: "read", .. })), "{hidden:?}");
    sandbox.dispose().await.unwrap();
}

#[tokio::test]
async fn kode_13_the_vfs_driver_passes_the_suite() {
    let root = PathBuf::from("/place");
    let fence =
        Fence { hidden: vec![root.join("hidden")], ..fence(SandboxLevel::WorkspaceWrite, &root) };
    let sandbox = VfsSandbox::with(fence).file("/place/hidden/key", "k");
    let exec = Exec { command: "true".into(), cwd: root.clone(), stdin: Vec::new(), timeout: None };
    let result = sandbox.exec(exec, &CancellationToken::new()).await;
    assert!(matches!(result, Err(SandboxError::Unsupported { kind: "vfs", .. })));
    suite(&sandbox, &root).await;
    assert!(sandbox.read(&root).await.is_err(), "the sandbox was disposed");
}

#[tokio::test]
async fn kode_13_a_read_only_vfs_denies_writing() {
    let sandbox = VfsSandbox::with(fence(SandboxLevel::ReadOnly, Path::new("/"))).file("/f", "x");
    assert_eq!(sandbox.read(Path::new("/f")).await.unwrap(), b"x");
    assert!(matches!(
        sandbox.write(Path::new("/f"), b"y").await,
        Err(SandboxError::Denied { level: SandboxLevel::ReadOnly, .. })
    ));
    assert!(sandbox.read(Path::new("/../f")).await.is_err(), "the path leaves the root");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::ErrorKind;
    use std::net::TcpListener;
    use std::os::unix::fs::symlink;

    use robota_testkit::{Part, requires};

    use super::*;

    /// A workspace, and next to it a folder that must not be changed.
    struct Place {
        _dir: tempfile::TempDir,
        root: PathBuf,
        outside: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let real = dir.path().canonicalize().unwrap();
            let (root, outside) = (real.join("work"), real.join("outside"));
            std::fs::create_dir_all(&root).unwrap();
            std::fs::create_dir_all(&outside).unwrap();
            std::fs::write(outside.join("file"), "untouched").unwrap();
            Self { _dir: dir, root, outside }
        }

        /// Asserts that nothing outside the workspace was changed.
        fn assert_untouched(&self) {
            assert_eq!(std::fs::read_to_string(self.outside.join("file")).unwrap(), "untouched");
            assert_eq!(self.outside.read_dir().unwrap().count(), 1);
        }
    }

    /// Returns the mechanisms of the kernel alone, without bubblewrap.
    async fn support() -> Option<SandboxSupport> {
        let mut support = probe(&environment()).await;
        support.bubblewrap = None;
        let present = support.landlock > 0 && support.seccomp;
        requires(Part::Landlock, present.then_some(support))
    }

    /// Returns what can enforce a sandbox here: Landlock alone, and bubblewrap alone.
    async fn drivers() -> Vec<SandboxSupport> {
        let all = probe(&environment()).await;
        let bubblewrap = SandboxSupport { landlock: 0, ..all.clone() };
        let bubblewrap = all.bubblewrap.is_some().then_some(bubblewrap);
        support().await.into_iter().chain(requires(Part::Bubblewrap, bubblewrap)).collect()
    }

    fn local(fence: Fence, support: &SandboxSupport) -> LocalSandbox {
        LocalSandbox::new(fence, support, Supervisor::new(), environment()).unwrap()
    }

    async fn run(sandbox: &LocalSandbox, cwd: &Path, command: &str) -> (i32, String, String) {
        let exec = Exec {
            command: command.to_owned(),
            cwd: cwd.to_owned(),
            stdin: Vec::new(),
            timeout: None,
        };
        let result = sandbox.exec(exec, &CancellationToken::new()).await.unwrap();
        let ExecEnd::Code(code) = result.end else { panic!("{result:?}") };
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (code, text(result.stdout), text(result.stderr))
    }

    #[tokio::test]
    async fn kode_13_the_local_driver_passes_the_suite() {
        let Some(support) = support().await else { return };
        let place = Place::new();
        std::fs::create_dir(place.root.join("hidden")).unwrap();
        std::fs::write(place.root.join("hidden/key"), "k").unwrap();
        let hidden = vec![place.root.join("hidden")];
        let fence = Fence { hidden, ..fence(SandboxLevel::WorkspaceWrite, &place.root) };
        let sandbox = local(fence, &support);
        assert!(sandbox.boundaries().gaps.iter().any(|gap| gap.contains("bubblewrap")));
        suite(&sandbox, &place.root).await;
    }

    #[tokio::test]
    async fn ordinary_commands_work_in_the_workspace() {
        let Some(support) = support().await else { return };
        let place = Place::new();
        let sandbox = local(fence(SandboxLevel::WorkspaceWrite, &place.root), &support);
        let work = "mkdir -p d/e && echo hi > d/e/f && mv d/e/f d/g && ln d/g d/h && ln -s g d/s \
            && cat d/s | tr a-z A-Z && rm d/h && echo x > /dev/null && (sleep 0 & wait) \
            && cat /etc/hostname > /dev/null && echo $((1+1)) | cat && test ! -e d/e/f";
        let (code, out, err) = run(&sandbox, &place.root, work).await;
        assert_eq!((code, out.as_str()), (0, "HI\n2\n"), "{err}");
    }

    /// Each line is one attempt. Each must fail and change nothing.
    #[tokio::test]
    async fn nothing_outside_can_be_written() {
        let Some(support) = support().await else { return };
        for level in [SandboxLevel::WorkspaceWrite, SandboxLevel::ReadOnly] {
            let place = Place::new();
            let sandbox = local(fence(level, &place.root), &support);
            symlink(&place.outside, place.root.join("link")).unwrap();
            let o = place.outside.display();
            let attempts = [
                format!("echo x > {o}/file"),
                format!("echo x >> {o}/file"),
                format!("echo x > {o}/new"),
                format!("mkdir {o}/dir"),
                format!("rm {o}/file"),
                format!("mv {o}/file {o}/moved"),
                format!("mv {o}/file ./stolen"),
                format!("ln -s x {o}/link"),
                format!("mkfifo {o}/pipe"),
                format!("truncate -s 0 {o}/file"),
                "echo x > link/file".to_owned(),
                "echo x > ../outside/file".to_owned(),
                format!("echo x > /proc/self/root{o}/file"),
                "echo x > /proc/self/cwd/../outside/file".to_owned(),
                format!("echo x > /proc/$PPID/root{o}/file"),
                format!("exec 9< {o}/file; echo x > /proc/self/fd/9"),
                format!("exec 9< {o}/file; echo x > /dev/fd/9"),
                format!("ln {o}/file hard && echo x > hard"),
                format!("ln {o}/file {o}/hard"),
                format!("cp /bin/true {o}/new"),
                format!("dd if=/dev/zero of={o}/file bs=1 count=1"),
                "echo x > /etc/robota-was-here".to_owned(),
                "echo x > ~/.robota-was-here".to_owned(),
                "echo 1 > /proc/sys/kernel/panic".to_owned(),
            ];
            for attempt in attempts {
                let (code, out, err) = run(&sandbox, &place.root, &attempt).await;
                assert_ne!(code, 0, "{level:?}: {attempt}: {out} {err}");
                place.assert_untouched();
            }
            if level == SandboxLevel::ReadOnly {
                let (code, ..) = run(&sandbox, &place.root, "echo x > inside").await;
                assert_ne!(code, 0);
                assert!(!place.root.join("inside").exists());
            }
        }
    }

    /// A link changes while it is followed. Nothing outside may be written, at any timing.
    #[tokio::test]
    async fn a_link_that_changes_during_a_write_does_not_lead_outside() {
        let Some(support) = support().await else { return };
        let place = Place::new();
        let sandbox = local(fence(SandboxLevel::WorkspaceWrite, &place.root), &support);
        let race = "mkdir in
            (for ((i = 0; i < 300; i++)); do ln -sfn ../outside spin; ln -sfn in spin; done) &
            for ((i = 0; i < 300; i++)); do
                echo x > spin/file; ln ../outside/file in/hard; echo x > in/hard; rm -f in/hard
            done 2> /dev/null; wait";
        run(&sandbox, &place.root, race).await;
        place.assert_untouched();
        // The same for files that the driver writes.
        let spin = place.root.join("spin2");
        std::fs::create_dir(place.root.join("in2")).unwrap();
        // Created before the threads start: otherwise the first write would create a folder here.
        symlink("in2", &spin).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (spin, stop, outside) = (&spin, &stop, &place.outside);
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    for target in [outside.as_path(), Path::new("in2")] {
                        let temp = spin.with_extension("new");
                        symlink(target, &temp).unwrap();
                        std::fs::rename(&temp, spin).unwrap();
                    }
                }
            });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let sandbox = &sandbox;
            scope.spawn(move || {
                runtime.unwrap().block_on(async {
                    for _ in 0..300 {
                        let _ = sandbox.write(&spin.join("file"), b"x").await;
                    }
                });
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
        });
        place.assert_untouched();
    }

    /// The folder of a protected file may be writable.
    #[tokio::test]
    async fn the_driver_does_not_remove_protected_files() {
        let Some(support) = support().await else { return };
        let place = Place::new();
        let file = |name: &str| place.root.join(name);
        for name in ["settings", "key", "other"] {
            std::fs::write(file(name), name).unwrap();
        }
        symlink("settings", file("link")).unwrap();
        let fence = Fence {
            protected: vec![file("settings")],
            hidden: vec![file("key")],
            ..fence(SandboxLevel::WorkspaceWrite, &place.root)
        };
        let sandbox = local(fence, &support);
        for path in [file("settings"), file("key"), file("./settings"), place.outside.join("file")]
        {
            let removed = sandbox.remove(&path).await;
            let denied = matches!(removed, Err(SandboxError::Denied { action: "remove", .. }));
            assert!(denied && path.exists(), "{path:?}: {removed:?}");
        }
        // A link is removed, not what it leads to.
        for name in ["other", "link"] {
            sandbox.remove(&file(name)).await.unwrap();
            assert!(file(name).symlink_metadata().is_err(), "{name}");
        }
        assert!(file("settings").exists());
        place.assert_untouched();
    }

    #[tokio::test]
    async fn hidden_files_cannot_be_read() {
        let Some(support) = support().await else { return };
        let place = Place::new();
        std::fs::create_dir(place.outside.join("keys")).unwrap();
        std::fs::write(place.outside.join("keys/id"), "s3cret").unwrap();
        symlink(place.outside.join("keys"), place.root.join("link")).unwrap();
        symlink("keys", place.outside.join("beside")).unwrap();
        let hidden = vec![place.outside.join("keys")];
        let fence = Fence { hidden, ..fence(SandboxLevel::WorkspaceWrite, &place.root) };
        let sandbox = local(fence, &support);
        let o = place.outside.display();
        for attempt in [
            format!("cat {o}/keys/id"),
            "cat link/id".to_owned(),
            format!("cat {o}/beside/id"),
            format!("cat /proc/self/root{o}/keys/id"),
            format!("cp -r {o}/keys stolen && cat stolen/id"),
            format!("ln {o}/keys/id stolen2 && cat stolen2"),
            format!("grep -r . {o}/keys"),
            format!("mv {o}/keys stolen3 && cat stolen3/id"),
            format!("tar c {o}/keys | grep -a s3cret"),
        ] {
            let (code, out, _) = run(&sandbox, &place.root, &attempt).await;
            assert!(code != 0 && !out.contains("s3cret"), "{attempt}: {out}");
        }
        let (code, out, err) = run(&sandbox, &place.root, &format!("cat {o}/file")).await;
        assert_eq!((code, out.as_str()), (0, "untouched"), "files next to it can be read: {err}");
    }

    #[tokio::test]
    async fn without_network_no_socket_can_be_used() {
        let Some(support) = support().await else { return };
        let place = Place::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let unix = place.root.join("socket");
        let unix_listener = std::os::unix::net::UnixListener::bind(&unix).unwrap();
        unix_listener.set_nonblocking(true).unwrap();
        let off = local(fence(SandboxLevel::WorkspaceWrite, &place.root), &support);
        let connect = format!("exec 9<> /dev/tcp/127.0.0.1/{port}");
        assert_ne!(run(&off, &place.root, &connect).await.0, 0);
        let udp = format!("echo x > /dev/udp/127.0.0.1/{port}");
        assert_ne!(run(&off, &place.root, &udp).await.0, 0);
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_denials_are_reported(&off, &place.root, &connect).await;
        for what in ["inet", "inet6", "unix", "netlink", "packet"] {
            assert_eq!(attempt(&off, &place.root, what).await, "EPERM", "{what}");
        }
        assert_eq!(unix_listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        let fence = Fence { network: true, ..fence(SandboxLevel::WorkspaceWrite, &place.root) };
        let on = local(fence, &support);
        assert_eq!(run(&on, &place.root, &connect).await.0, 0);
        assert!(listener.accept().is_ok());
    }

    /// Asserts that a denial is reported with the process, and that other failures are not.
    async fn assert_denials_are_reported(sandbox: &LocalSandbox, cwd: &Path, connect: &str) {
        let denied = async |command: &str| {
            let exec = Exec {
                command: command.to_owned(),
                cwd: cwd.to_owned(),
                stdin: Vec::new(),
                timeout: None,
            };
            sandbox.exec(exec, &CancellationToken::new()).await.unwrap().denied
        };
        let has_network = |denials: &[robota_core::sandbox::SandboxDenial]| {
            denials.iter().any(|denial| denial.action == "network" && denial.subject == "bash")
        };
        assert!(has_network(&denied(connect).await));
        assert!(has_network(&denied(&format!("({connect}) 2> /dev/null; true")).await));
        assert!(!has_network(
            &denied("echo permission denied: operation not permitted; exit 1").await
        ));
    }

    /// Tries system calls that a shell cannot make, in a copy of this program. Every mechanism has
    /// the same filter at every level.
    #[tokio::test]
    async fn the_same_system_calls_are_denied_with_every_mechanism() {
        for support in drivers().await {
            let place = Place::new();
            // A datagram that arrives shows that a process outside was reached.
            let outside =
                std::os::unix::net::UnixDatagram::bind(place.root.join("socket")).unwrap();
            outside.set_nonblocking(true).unwrap();
            std::fs::create_dir(place.root.join("hidden")).unwrap();
            let hidden = vec![place.root.join("hidden")];
            let plain = fence(SandboxLevel::WorkspaceWrite, &place.root);
            let sandboxes = [
                local(plain.clone(), &support),
                local(Fence { hidden, ..plain }, &support),
                local(fence(SandboxLevel::ReadOnly, &place.root), &support),
            ];
            for sandbox in &sandboxes {
                let means = &sandbox.boundaries().means;
                assert!(means.contains(&"seccomp".to_owned()), "{means:?}");
                for what in [
                    "ptrace",
                    "vm_read",
                    "io_uring",
                    "unshare",
                    "clone_user",
                    "mount",
                    "chroot",
                    "bpf",
                    "tiocsti",
                    "inet",
                    "inet6",
                    "unix",
                    "netlink",
                    "packet",
                    "pair_dgram",
                    "pair_dgram_cloexec",
                    "pair_raw",
                    "pair_inet",
                    "send_to_path",
                ] {
                    let result = attempt(sandbox, &place.root, what).await;
                    assert_eq!(result, "EPERM", "{means:?}: {what}");
                }
                assert_eq!(attempt(sandbox, &place.root, "clone3").await, "ENOSYS");
                for what in ["pair", "pair_seqpacket"] {
                    assert_eq!(
                        attempt(sandbox, &place.root, what).await,
                        "ok",
                        "{means:?}: {what}"
                    );
                }
            }
            for what in ["chmod", "utimes", "xattr", "chattr"] {
                let result = attempt(&sandboxes[2], &place.root, what).await;
                assert_eq!(result, "EPERM", "read-only, {support:?}: {what}");
            }
            assert_eq!(outside.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
    }

    /// A descriptor that this process inherited, or a library opened carelessly, stays here.
    #[tokio::test]
    async fn programs_inherit_no_descriptor_but_their_streams() {
        let place = Place::new();
        let secret = std::fs::File::open(place.outside.join("file")).unwrap();
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
        let off = SandboxSupport::default();
        let mut sandboxes = vec![local(fence(SandboxLevel::Off, &place.root), &off)];
        let plain = fence(SandboxLevel::WorkspaceWrite, &place.root);
        sandboxes.extend(drivers().await.iter().map(|support| local(plain.clone(), support)));
        for sandbox in &sandboxes {
            // The descriptor of the glob itself is closed when `readlink` runs.
            let list = "for fd in /proc/self/fd/*; do readlink \"$fd\"; done";
            let (_, out, err) = run(sandbox, &place.root, list).await;
            let means = &sandbox.boundaries().means;
            assert!(!out.contains("/outside/file"), "{means:?}: {out}{err}");
            assert!(!out.contains("memfd") && !out.contains("seccomp"), "{means:?}: {out}{err}");
        }
        drop(secret);
    }

    #[tokio::test]
    async fn a_program_can_write_to_no_terminal_but_its_own() {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let other = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        for support in drivers().await {
            let place = Place::new();
            let plain = fence(SandboxLevel::WorkspaceWrite, &place.root);
            let confinement = std::sync::Arc::new(Confinement::new(plain, &support).unwrap());
            let command = format!(
                "(echo x > {other}) 2> /dev/null && echo REACHED; echo own > /dev/stdout; \
                 echo tty > /dev/tty; true"
            );
            let shell = ShellCommand::new(command, &place.root).env(environment());
            let mut spec = shell.into_spec().unwrap().terminal(TerminalSize::default());
            spec.confinement = Some(confinement);
            let outcome = Supervisor::new().run(spec, &CancellationToken::new()).await.unwrap();
            let text = outcome.stdout.text();
            assert!(!text.contains("REACHED"), "{support:?}: {text}");
            if support.bubblewrap.is_none() {
                assert_eq!(text, "own\r\ntty\r\n", "{support:?}");
            }
        }
    }

    #[tokio::test]
    async fn other_processes_and_the_kernel_cannot_be_accessed() {
        let Some(support) = support().await else { return };
        let place = Place::new();
        let sandbox = local(fence(SandboxLevel::WorkspaceWrite, &place.root), &support);
        // The memory of the test process, through the file system.
        let pid = std::process::id();
        for command in [
            format!("exec 9< /proc/{pid}/mem"),
            format!("cat /proc/{pid}/environ"),
            format!("readlink /proc/{pid}/fd/0"),
            format!("cat /proc/{pid}/maps"),
            "unshare -Ur true".to_owned(),
            "mount -t tmpfs none .".to_owned(),
        ] {
            let (code, out, _) = run(&sandbox, &place.root, &command).await;
            // Some kernels allow opening such files, but they are empty.
            assert!(code != 0 || out.is_empty(), "{command}: {out}");
        }
        if requires(Part::LandlockSignals, (support.landlock >= 6).then_some(())).is_some() {
            let (code, ..) = run(&sandbox, &place.root, &format!("kill -0 {pid}")).await;
            assert_ne!(code, 0, "a signal to the test process");
        } else {
            println!("signals to other processes need Landlock 6 ({support:?})");
            assert!(sandbox.boundaries().gaps.iter().any(|gap| gap.contains("signals")));
        }
    }

    /// Tries one forbidden system call by name in the sandbox; returns `ok` or the error.
    async fn attempt(sandbox: &LocalSandbox, cwd: &Path, what: &str) -> String {
        let own = std::env::current_exe().unwrap();
        let command = format!(
            "WHAT={what} {} --exact linux::helper_that_attempts --ignored --nocapture | grep '^RESULT'",
            own.display()
        );
        let (_, out, err) = run(sandbox, cwd, &command).await;
        out.strip_prefix("RESULT ").unwrap_or_else(|| panic!("{out}{err}")).trim().to_owned()
    }

    #[test]
    #[ignore = "started inside a sandbox"]
    fn helper_that_attempts() {
        #[expect(clippy::disallowed_methods, reason = "`attempt` sets it")]
        let Ok(what) = std::env::var("WHAT") else { return };
        let call = |number: libc::c_long, args: [libc::c_long; 4]| {
            // SAFETY: the arguments are integers and null pointers, which the kernel rejects.
            #[expect(unsafe_code, reason = "the test needs plain system calls")]
            unsafe {
                libc::syscall(number, args[0], args[1], args[2], args[3])
            }
        };
        let pair = |domain: libc::c_int, kind: libc::c_int| {
            let mut ends = [0; 2];
            // SAFETY: the kernel writes two integers.
            #[expect(unsafe_code, reason = "the test needs plain system calls")]
            unsafe {
                libc::c_long::from(libc::socketpair(domain, kind, 0, ends.as_mut_ptr()))
            }
        };
        let ppid = libc::c_long::from(std::os::unix::process::parent_id());
        let done = match what.as_str() {
            "inet" => call(libc::SYS_socket, [2, 1, 0, 0]),
            "inet6" => call(libc::SYS_socket, [10, 1, 0, 0]),
            "unix" => call(libc::SYS_socket, [1, 1, 0, 0]),
            "netlink" => call(libc::SYS_socket, [16, 3, 0, 0]),
            "packet" => call(libc::SYS_socket, [17, 3, 0, 0]),
            "pair" => std::os::unix::net::UnixStream::pair().map_or(-1, |_| 0),
            "pair_seqpacket" => pair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC),
            "pair_dgram" => pair(libc::AF_UNIX, libc::SOCK_DGRAM),
            "pair_dgram_cloexec" => pair(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC),
            "pair_raw" => pair(libc::AF_UNIX, libc::SOCK_RAW),
            "pair_inet" => pair(libc::AF_INET, libc::SOCK_STREAM),
            "send_to_path" => match std::os::unix::net::UnixDatagram::pair() {
                Ok((one, _)) => one.send_to(b"x", "socket").map_or(-1, |_| 0),
                Err(_) => -1,
            },
            "chmod" => call(libc::SYS_fchmod, [0, 0o700, 0, 0]),
            "utimes" => call(libc::SYS_utimensat, [0, 0, 0, 0]),
            "xattr" => call(libc::SYS_fsetxattr, [0, 0, 0, 0]),
            "chattr" => call(libc::SYS_ioctl, [0, 0x4008_6602, 0, 0]),
            // PTRACE_ATTACH
            "ptrace" => call(libc::SYS_ptrace, [16, ppid, 0, 0]),
            "vm_read" => call(libc::SYS_process_vm_readv, [ppid, 0, 0, 0]),
            "io_uring" => call(libc::SYS_io_uring_setup, [1, 0, 0, 0]),
            "unshare" => call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0]),
            "clone_user" => {
                let flags = libc::c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
                call(libc::SYS_clone, [flags, 0, 0, 0])
            }
            "clone3" => call(libc::SYS_clone3, [0, 0, 0, 0]),
            "mount" => call(libc::SYS_mount, [0, 0, 0, 0]),
            "chroot" => call(libc::SYS_chroot, [0, 0, 0, 0]),
            "bpf" => call(libc::SYS_bpf, [0, 0, 0, 0]),
            "tiocsti" => call(libc::SYS_ioctl, [0, 0x5412, 0, 0]),
            other => panic!("{other}"),
        };
        if done == 0 && what == "clone_user" {
            // The child of a `clone` that should have failed.
            return;
        }
        let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        let result = match error {
            _ if done >= 0 => "ok".to_owned(),
            libc::EPERM => "EPERM".to_owned(),
            libc::ENOSYS => "ENOSYS".to_owned(),
            other => other.to_string(),
        };
        println!("\nRESULT {result}");
    }

    #[tokio::test]
    async fn a_sandbox_that_cannot_be_enforced_is_an_error() {
        let place = Place::new();
        let nothing = SandboxSupport::default();
        let fence = fence(SandboxLevel::ReadOnly, &place.root);
        let result = LocalSandbox::new(fence, &nothing, Supervisor::new(), environment());
        let Err(SandboxError::Unsupported { what, .. }) = result else { panic!("no error") };
        assert!(what.contains("Landlock") && what.contains("bubblewrap"), "{what}");
        let old = SandboxSupport { landlock: 1, seccomp: true, bubblewrap: None };
        let Some(_) = support().await else { return };
        let sandbox = local(super::fence(SandboxLevel::ReadOnly, &place.root), &old);
        let gaps = &sandbox.boundaries().gaps;
        assert!(gaps.iter().any(|gap| gap.contains("signals") && gap.contains("6.12")), "{gaps:?}");
    }

    #[tokio::test]
    async fn shown_paths_below_hidden_ones_can_be_read() {
        let with_bubblewrap = probe(&environment()).await;
        let Some(support) = support().await else { return };
        let place = Place::new();
        for dir in [&place.root, &place.outside] {
            std::fs::create_dir_all(dir.join("keys/public")).unwrap();
            std::fs::write(dir.join("keys/id"), "s3cret").unwrap();
            std::fs::write(dir.join("keys/public/id.pub"), "known").unwrap();
        }
        let bubblewrap = requires(Part::Bubblewrap, with_bubblewrap.bubblewrap.as_ref());
        for (dir, support) in [(&place.outside, &support), (&place.root, &with_bubblewrap)] {
            if dir == &place.root && bubblewrap.is_none() {
                continue;
            }
            let (hidden, shown) = (vec![dir.join("keys")], vec![dir.join("keys/public")]);
            let fence = Fence { hidden, shown, ..fence(SandboxLevel::WorkspaceWrite, &place.root) };
            let sandbox = local(fence, support);
            let read = format!("cat {0}/keys/id; cat {0}/keys/public/id.pub", dir.display());
            let (_, out, err) = run(&sandbox, &place.root, &read).await;
            assert_eq!(out, "known", "{err}");
            assert!(sandbox.read(&dir.join("keys/id")).await.is_err());
            assert_eq!(sandbox.read(&dir.join("keys/public/id.pub")).await.unwrap(), b"known");
        }
    }

    #[tokio::test]
    async fn protected_paths_in_the_workspace_cannot_be_changed() {
        let with_bubblewrap = probe(&environment()).await;
        let Some(without) = support().await else { return };
        let place = Place::new();
        let hooks = place.root.join(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(hooks.join("pre-commit"), "mine").unwrap();
        std::fs::write(place.root.join("settings"), "mine").unwrap();
        symlink(".git/hooks", place.root.join("link")).unwrap();
        let fence = || Fence {
            protected: vec![hooks.clone(), place.root.join("settings"), place.root.join("later")],
            ..fence(SandboxLevel::WorkspaceWrite, &place.root)
        };
        // What the kernel cannot enforce is reported as a gap; the driver itself enforces it.
        let sandbox = local(fence(), &without);
        let gaps = &sandbox.boundaries().gaps;
        let gap = gaps.iter().find(|gap| gap.contains("install bubblewrap")).unwrap();
        assert!(gap.contains(".git/hooks") && gap.contains("settings"), "{gap}");
        assert!(gaps.iter().any(|gap| gap.contains("later does not exist")), "{gaps:?}");
        for path in [".git/hooks/new", "link/new", "settings", "later"] {
            let result = sandbox.write(&place.root.join(path), b"x").await;
            assert!(matches!(result, Err(SandboxError::Denied { .. })), "{path}: {result:?}");
        }
        sandbox.write(&place.root.join(".git/config"), b"x").await.unwrap();
        if requires(Part::Bubblewrap, with_bubblewrap.bubblewrap.as_ref()).is_none() {
            return;
        }
        let sandbox = local(fence(), &with_bubblewrap);
        for attempt in [
            "echo x > .git/hooks/pre-commit",
            "echo x > link/new",
            "rm .git/hooks/pre-commit",
            "mv .git/hooks away",
            "mv .git away",
            "mv .git away && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
            "rm -rf .git",
            "exec 9>> .git/hooks/pre-commit",
            "echo x > new && mv new settings",
            "rm -f settings",
            "chmod 777 settings",
            "ln -f README settings",
            "mount -o remount,rw,bind .git/hooks",
        ] {
            let (code, ..) = run(&sandbox, &place.root, attempt).await;
            assert_ne!(code, 0, "{attempt}");
        }
        assert_eq!(std::fs::read_to_string(hooks.join("pre-commit")).unwrap(), "mine");
        assert_eq!(std::fs::read_to_string(place.root.join("settings")).unwrap(), "mine");
        let (code, _, err) = run(&sandbox, &place.root, "echo x > .git/config; echo x > new").await;
        assert_eq!(code, 0, "{err}");
    }

    #[tokio::test]
    async fn commands_run_after_the_user_removed_a_folder_of_the_sandbox() {
        for support in drivers().await {
            let place = Place::new();
            let (gone, hooks) = (place.outside.join("gone"), place.root.join(".git/hooks"));
            let shown = place.outside.join("shown");
            for folder in [&gone, &hooks, &shown, &place.root.join("kept")] {
                std::fs::create_dir_all(folder).unwrap();
            }
            let mut fence = fence(SandboxLevel::WorkspaceWrite, &place.root);
            fence.writable.push(gone.clone());
            if support.bubblewrap.is_some() {
                // Landlock alone cannot protect what is in a writable folder.
                fence.protected = vec![hooks.clone(), place.root.join("kept")];
            }
            fence.shown = vec![shown.clone()];
            let sandbox = local(fence, &support);
            for folder in [&gone, &hooks.parent().unwrap().to_owned(), &shown] {
                std::fs::remove_dir_all(folder).unwrap();
            }
            let write = format!("echo x > own; mkdir {}; echo x > kept/f", gone.display());
            let (_, _, err) = run(&sandbox, &place.root, &write).await;
            assert!(place.root.join("own").exists(), "{err}");
            // What is left of the sandbox applies.
            assert!(!gone.exists(), "{err}");
            assert_eq!(place.root.join("kept/f").exists(), support.bubblewrap.is_none(), "{err}");
        }
    }

    #[tokio::test]
    async fn bubblewrap_hides_files_that_landlock_cannot_hide() {
        let support = probe(&environment()).await;
        if requires(Part::Bubblewrap, support.bubblewrap.as_ref()).is_none() {
            return;
        }
        let place = Place::new();
        std::fs::write(place.root.join(".env"), "s3cret").unwrap();
        let hidden = vec![place.root.join(".env")];
        let fence = Fence { hidden, ..fence(SandboxLevel::WorkspaceWrite, &place.root) };
        let sandbox = local(fence, &support);
        assert_eq!(sandbox.boundaries().means[..2], ["bubblewrap", "seccomp"]);
        let (_, out, _) = run(&sandbox, &place.root, "cat .env; echo x > inside; cat inside").await;
        assert_eq!(out, "x\n");
        let o = place.outside.display();
        for command in [format!("echo x > {o}/file"), "exec 9<> /dev/tcp/127.0.0.1/9".to_owned()] {
            assert_ne!(run(&sandbox, &place.root, &command).await.0, 0, "{command}");
        }
        let signalled =
            run(&sandbox, &place.root, &format!("kill -0 {}", std::process::id())).await;
        assert_ne!(signalled.0, 0, "a signal to the test process");
        place.assert_untouched();
    }
}
