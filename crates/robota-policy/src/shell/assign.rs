//! Variables in front of commands: which are known to be harmless, and which decide what runs.

/// Names that change only how much is printed, and in which language or colour.
const HARMLESS: &[&str] = &[
    "NODE_ENV",
    "CI",
    "DEBUG",
    "VERBOSE",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "RUST_TEST_THREADS",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "DEBIAN_FRONTEND",
    "RAILS_ENV",
    "RACK_ENV",
    "APP_ENV",
    "LOG_LEVEL",
    "PORT",
    "PROPTEST_CASES",
    "INSTA_UPDATE",
    "SOURCE_DATE_EPOCH",
    "GIT_PAGER_IN_USE",
    "GIT_TERMINAL_PROMPT",
    "TEST_ENV",
    "JEST_WORKERS",
    "NEXT_TELEMETRY_DISABLED",
];

/// Names that decide which program runs, what it loads or where it sends things.
const DANGEROUS: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "FPATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "SHELL",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "LESS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "MAKEFLAGS",
    "MAKEFILES",
    "MFLAGS",
    "CC",
    "CXX",
    "LD",
    "AR",
    "CFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "RUSTC",
    "RUSTDOC",
    "GOFLAGS",
    "GOPROXY",
    "TAR_OPTIONS",
    "RSYNC_RSH",
    "RSYNC_CONNECT_PROG",
    "GREP_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "TMPDIR",
    "DOCKER_HOST",
    "KUBECONFIG",
    "GCONV_PATH",
    "HOSTALIASES",
    "LOCPATH",
    "NLSPATH",
    "TERMINFO",
    "TERMCAP",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "BASH_COMPAT",
    "FUNCNEST",
    "HISTFILE",
    "FIGNORE",
    "EXECIGNORE",
    "INPUTRC",
    "OPENSSL_CONF",
    "SUDO_ASKPASS",
    "CURL_HOME",
    "WGETRC",
    "VIMINIT",
    "EXINIT",
    "MYVIMRC",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
];

const DANGEROUS_PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "GIT_",
    "SSH_",
    "BASH_FUNC_",
    "npm_config_",
    "NPM_CONFIG_",
    "PIP_",
    "CARGO_",
    "RUSTC_",
    "RUSTUP_",
    "XDG_",
    "AWS_",
    "DOTNET_",
    "MALLOC_",
    "GCC_",
    "ASAN_",
    "YARN_",
    "UV_",
];

const DANGEROUS_SUFFIXES: &[&str] =
    &["_PROXY", "_proxy", "PAGER", "_WRAPPER", "_EDITOR", "_COMMAND", "ASKPASS", "_PRELOAD"];

/// Endings of names that configure programs: where they search, and what they do.
const STEERING: &[&str] = &[
    "PATH",
    "HOME",
    "DIR",
    "RC",
    "OPT",
    "OPTS",
    "OPTIONS",
    "FLAGS",
    "CONFIG",
    "FILE",
    "CMD",
    "SHELL",
    "FORMAT",
    "VERSION",
    "OPENER",
    "DEFAULTS",
    "OUTPUT",
    "TRACE",
    "DEBUG",
    "ROOT",
    "ENV",
    "TOOLCHAIN",
    "TUNABLES",
    "MODULES",
    "ENGINES",
    "MAGIC",
    "GZIP",
    "BZIP",
    "BZIP2",
    "ZIPINFO",
    "UNZIP",
];

/// Beginnings of names that configure interpreters and libraries.
const STEERING_PREFIXES: &[&str] =
    &["PYTHON", "PERL", "RUBY", "NODE_", "JAVA", "OPENSSL", "NPM_CONFIG_", "BASH"];

/// Whether a command that is proven read-only stays so with it: neither the shell nor a program
/// that only reads is configured by a name like this.
pub(crate) fn is_inert(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    is_harmless(name)
        || (!is_dangerous(name)
            && !name.contains('[')
            && !STEERING_PREFIXES.iter().any(|start| upper.starts_with(start))
            && !STEERING.iter().any(|end| upper.ends_with(end)))
}

/// Whether an allow rule ignores it.
pub(crate) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// Whether it decides what runs.
pub(crate) fn is_dangerous(name: &str) -> bool {
    !is_harmless(name)
        && (DANGEROUS.contains(&name)
            || DANGEROUS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || DANGEROUS_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}
