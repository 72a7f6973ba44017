//! Programs that run another command, and how their own options are told from it.

/// How a wrapper is written.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Every kind of rule looks through it. Others are looked through only by rules that
    /// forbid, because they change more than how long or how quietly a command runs.
    pub(super) transparent: bool,
    /// Options without a value.
    pub(super) short: &'static str,
    /// Options with one.
    pub(super) short_val: &'static str,
    pub(super) long: &'static [&'static str],
    pub(super) long_val: &'static [&'static str],
    /// Words between the options and the command.
    pub(super) positional: usize,
    /// `NAME=value` may stand before the command.
    pub(super) assigns: bool,
}

const fn w(name: &'static str, short: &'static str, short_val: &'static str) -> Wrapper {
    Wrapper {
        name,
        transparent: false,
        short,
        short_val,
        long: &[],
        long_val: &[],
        positional: 0,
        assigns: false,
    }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    // Looked through by every kind of rule.
    Wrapper {
        transparent: true,
        positional: 1,
        long: &["preserve-status", "foreground", "verbose"],
        long_val: &["kill-after", "signal"],
        ..w("timeout", "v", "ks")
    },
    Wrapper { transparent: true, ..w("time", "p", "") },
    Wrapper { transparent: true, long_val: &["adjustment"], ..w("nice", "", "n") },
    Wrapper { transparent: true, ..w("nohup", "", "") },
    Wrapper {
        transparent: true,
        long_val: &["input", "output", "error"],
        ..w("stdbuf", "", "ioe")
    },
    Wrapper { transparent: true, ..w("command", "p", "") },
    Wrapper { transparent: true, ..w("builtin", "", "") },
    Wrapper { transparent: true, ..w("noglob", "", "") },
    // Looked through only by rules that forbid.
    Wrapper {
        assigns: true,
        long: &["ignore-environment", "null", "debug", "block-signal", "default-signal"],
        long_val: &["unset", "chdir"],
        ..w("env", "i0v", "uC")
    },
    Wrapper {
        assigns: true,
        long: &[
            "preserve-env",
            "non-interactive",
            "stdin",
            "set-home",
            "login",
            "shell",
            "background",
        ],
        long_val: &["user", "group", "prompt", "chdir", "host", "role", "type", "close-from"],
        ..w("sudo", "AbEHnPSikKs", "ugpCrtTUhDR")
    },
    w("doas", "nsL", "uC"),
    w("exec", "cl", "a"),
    w("setsid", "cfw", ""),
    Wrapper { long_val: &["class", "classdata"], ..w("ionice", "t", "cn") },
    Wrapper {
        positional: 1,
        long: &["shared", "exclusive", "nonblock", "close", "no-fork"],
        long_val: &["wait", "timeout", "conflict-exit-code"],
        ..w("flock", "snxeoF", "wE")
    },
    Wrapper {
        long: &["beep", "color", "differences", "errexit", "chgexit", "no-title", "exec"],
        long_val: &["interval"],
        ..w("watch", "bcdegtxw", "n")
    },
    Wrapper { positional: 1, long_val: &["userspec", "groups"], ..w("chroot", "", "") },
    Wrapper { positional: 1, ..w("taskset", "ac", "") },
    Wrapper { positional: 1, ..w("chrt", "bfiorR", "") },
    w("busybox", "", ""),
    w("toybox", "", ""),
    w("fakeroot", "u", "lsib"),
    w("xvfb-run", "a", "senfwp"),
    w("caffeinate", "disu", "tw"),
    w("unbuffer", "p", ""),
    w("strace", "cCdfFhiqrtTvVwxyzZ", "aebIoOpPsSuUX"),
    w("ltrace", "cCfhiLrStTV", "aAeDFlnopsuwX"),
    w("catchsegv", "", ""),
    Wrapper {
        long: &["user", "scope", "pty", "pipe", "wait", "quiet", "collect"],
        ..w("systemd-run", "tPqG", "pEu")
    },
    w("dbus-run-session", "", ""),
    w("unshare", "imnpuUCTfrc", ""),
    w("nsenter", "aimnpuUCTFrw", ""),
    w("runuser", "", "u"),
    w("entr", "acdnprs", ""),
    w("npx", "yq", "p"),
    w("bunx", "", ""),
    w("pnpx", "", ""),
    w("uvx", "", ""),
    w("dotenv", "", ""),
    w("cross-env", "", ""),
];

/// Shells whose `-c` takes a script.
pub(super) const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "ksh93", "mksh", "ash", "fish", "rbash", "csh", "tcsh"];

/// Programs that hand a here-document to a shell.
pub(super) const RUN_STDIN: &[&str] = &[
    "at",
    "batch",
    "ssh",
    "sudo",
    "doas",
    "su",
    "runuser",
    "docker",
    "podman",
    "kubectl",
    "chroot",
    "nsenter",
    "unshare",
    "parallel",
    "script",
    "env",
    "xargs",
    "crontab",
    "machinectl",
];

/// Programs with many options of their own: any tail of their words may be the command.
pub(super) const TAILS: &[&str] = &[
    "parallel",
    "gdb",
    "valgrind",
    "bwrap",
    "firejail",
    "proot",
    "numactl",
    "prlimit",
    "setarch",
    "rlwrap",
    "pipx",
    "tmux",
    "screen",
    "coproc",
    "pkexec",
    "run0",
    "gosu",
    "su-exec",
    "torsocks",
    "torify",
    "proxychains",
    "proxychains4",
    "chpst",
    "setpriv",
    "capsh",
    "faketime",
    "eatmydata",
    "choom",
    "systemd-inhibit",
    "dbus-launch",
    "tini",
    "dumb-init",
    "hyperfine",
    "sg",
    "cpulimit",
    "trickle",
    "softlimit",
    "setuidgid",
    "schroot",
    "machinectl",
    "flatpak-spawn",
    "distrobox",
];

/// Programs that run a command after one of these words.
pub(super) const RUNNERS: &[(&str, &[&str])] = &[
    ("docker", &["run", "exec"]),
    ("podman", &["run", "exec"]),
    ("nerdctl", &["run", "exec"]),
    ("kubectl", &["exec", "run", "debug"]),
    ("mise", &["exec", "x"]),
    ("devbox", &["run"]),
    ("direnv", &["exec"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("uv", &["run"]),
    ("bundle", &["exec"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("perf", &["stat", "record", "trace"]),
    ("lxc", &["exec"]),
    ("vagrant", &["ssh"]),
    ("nix", &["run", "develop", "shell"]),
    ("conda", &["run"]),
    ("rustup", &["run"]),
    ("git", &["foreach", "run"]),
];
