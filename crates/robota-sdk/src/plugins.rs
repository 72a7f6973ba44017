//! Fetches plugins and marketplaces from git repositories.

use std::path::{Path, PathBuf};
use std::time::Duration;

use robota_config::plugins::GitSource;
use robota_exec::{CommandSpec, Environment, Exit, Limits, Supervisor};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::error::SdkError;

/// How long one git command may take.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The most bytes of output that are kept.
const OUTPUT: usize = 64 * 1024;

/// Settings of every call: no program that a repository or a template names runs, and submodules are
/// not fetched.
const SETTINGS: [&str; 3] =
    ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false"];

/// Owns a copy of a repository at one commit. It is deleted when it is dropped.
///
/// ```no_run
/// use robota_config::plugins::GitSource;
/// use robota_exec::{Environment, Supervisor};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let source = GitSource::parse("https://example.com/tools.git#v2").ok_or("not an address")?;
/// let fetched =
///     robota_sdk::plugins::fetch(&source, &Supervisor::new(), &Environment::new()).await?;
/// println!("{} is in {}", fetched.commit, fetched.folder().display());
/// # Ok(()) }
/// ```
pub struct FetchedRepository {
    /// The full id of the commit that was fetched.
    pub commit: String,
    folder: PathBuf,
    _copy: TempDir,
}

impl FetchedRepository {
    /// Returns the folder of the repository that the source names.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Fetches a repository at the commit of the source, or at the newest of its branch. Nothing of it is
/// executed.
///
/// # Errors
/// If git fails, or the repository does not have the commit or the folder.
pub async fn fetch(
    source: &GitSource,
    supervisor: &Supervisor,
    environment: &Environment,
) -> Result<FetchedRepository, SdkError> {
    let io = |what: &str| {
        let what = what.to_owned();
        move |source| SdkError::Io { what, source }
    };
    let copy = tempfile::Builder::new().prefix("robota-plugin-").tempdir();
    let copy = copy.map_err(io("cannot create a temporary folder"))?;
    let git = Git { supervisor, environment, cwd: copy.path(), url: &source.url };
    let mut clone = vec!["clone", "--quiet", "--no-checkout", "--no-recurse-submodules"];
    // A commit may be anywhere in the history. Only the newest one needs no history.
    if source.commit.is_none() {
        clone.push("--depth=1");
    }
    if let Some(reference) = &source.reference {
        clone.extend(["--branch", reference]);
    }
    clone.extend(["--", &source.url, "repository"]);
    git.run(&clone).await?;
    let root = copy.path().join("repository");
    let git = Git { cwd: &root, ..git };
    let at = source.commit.as_deref().unwrap_or("HEAD");
    // With `--` at the end git takes the name for a commit, never for a path.
    git.run(&["checkout", "--quiet", "--detach", at, "--"]).await?;
    let commit = git.run(&["rev-parse", "HEAD"]).await?.trim().to_owned();
    let folder = source.path.as_ref().map_or_else(|| root.clone(), |path| root.join(path));
    // A link in the repository could lead out of it.
    let real = folder.canonicalize().map_err(io("the repository does not have the folder"))?;
    let root = root.canonicalize().map_err(io("the repository was not copied"))?;
    if !real.starts_with(&root) || !real.is_dir() {
        let problem = "it is not a folder of the repository".to_owned();
        return Err(SdkError::Folder { folder, problem });
    }
    Ok(FetchedRepository { commit, folder: real, _copy: copy })
}

struct Git<'a> {
    supervisor: &'a Supervisor,
    environment: &'a Environment,
    cwd: &'a Path,
    url: &'a str,
}

impl Git<'_> {
    /// Runs git and returns what it printed.
    async fn run(&self, args: &[&str]) -> Result<String, SdkError> {
        let mut environment = self.environment.clone();
        // There is no user who could type a password.
        environment.set("GIT_TERMINAL_PROMPT", "0");
        // Without `ext`, which runs a program that the address names, and without `http` and `git`,
        // whose answers can be changed on the way.
        environment.set("GIT_ALLOW_PROTOCOL", "https:ssh:file");
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let spec = CommandSpec::new("git", self.cwd)
            .args(settings.chain(args.iter().copied()))
            .env(environment)
            .limits(Limits { head: OUTPUT, tail: 0 })
            .timeout(TIMEOUT);
        let failed = |problem: String| SdkError::Git { url: self.url.to_owned(), problem };
        let outcome = self.supervisor.run(spec, &CancellationToken::new()).await;
        let outcome = outcome.map_err(|error| failed(error.to_string()))?;
        match outcome.exit {
            Exit::Code(0) => Ok(outcome.stdout.text()),
            exit => {
                let text = outcome.stderr.text();
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let text = lines.take(3).collect::<Vec<_>>().join("; ");
                Err(failed(if text.is_empty() { format!("{exit:?}") } else { text }))
            }
        }
    }
}
