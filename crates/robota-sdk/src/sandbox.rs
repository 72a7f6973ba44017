//! The sandbox for commands, from the options and the `sandbox` settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_config::model::{HiddenSecret, SandboxSettings};
use robota_core::error::{Diagnose as _, error_chain};
use robota_core::sandbox::{Fence, SandboxError, SandboxLevel};
use robota_exec::Environment;
use robota_exec::sandbox::{Confinement, ReadOnlyFence, SandboxSupport, SharedConfinement, probe};
use robota_policy::Workspace;

use crate::error::SdkError;
use crate::notice::Notice;
use crate::project::Project;

mod folders;

pub(crate) use folders::SandboxFolders;

/// The sandbox that the options and the settings ask for.
///
/// ```
/// use robota_sdk::sandbox::SandboxRequest;
///
/// fn must_work(request: &SandboxRequest) -> bool {
///     request.required
/// }
/// # let _ = must_work;
/// ```
pub struct SandboxRequest {
    /// The level and the file and network rules.
    pub fence: Fence,
    /// Whether commands that were proven to only read run in a fence of their own.
    pub read_only_fence: bool,
    /// Whether an unavailable sandbox is an error. Otherwise commands run without one.
    pub required: bool,
    /// Settings that have no effect, each with what happens instead.
    pub unsupported: Vec<String>,
}

/// Returns the rules of the sandbox of a session with these folders, at the level of its start.
fn fence_of(level: SandboxLevel, project: &Project, workspace: &Workspace) -> Fence {
    let none = SandboxSettings::default();
    let settings = project.settings.values.sandbox.as_ref().unwrap_or(&none);
    fence(level, settings, project, workspace, &mut Vec::new())
}

/// Combines the option and the settings. An option that restricts more than the settings always
/// applies; `off` applies only if the merged settings, to which it was added, say so.
#[must_use]
pub fn request(project: &Project) -> SandboxRequest {
    let argument = project.sandbox;
    let none = SandboxSettings::default();
    let settings = project.settings.values.sandbox.as_ref().unwrap_or(&none);
    // The option was merged into the settings as well, so `off` is decided there.
    let level = match (argument, settings.enabled) {
        (Some(level @ (SandboxLevel::ReadOnly | SandboxLevel::WorkspaceWrite)), _) => level,
        (Some(SandboxLevel::Off) | None, Some(true)) => SandboxLevel::WorkspaceWrite,
        (Some(SandboxLevel::Off) | None, Some(false) | None) => SandboxLevel::Off,
    };
    let by_argument = argument.is_some_and(|level| level != SandboxLevel::Off);
    let mut unsupported = Vec::new();
    let fence = fence(level, settings, project, &project.workspace(), &mut unsupported);
    let required = by_argument || settings.fail_if_unavailable == Some(true);
    let read_only_fence = settings.read_only_fence != Some(false);
    SandboxRequest { fence, read_only_fence, required, unsupported }
}

fn fence(
    level: SandboxLevel,
    settings: &SandboxSettings,
    project: &Project,
    workspace: &Workspace,
    unsupported: &mut Vec<String>,
) -> Fence {
    let files = settings.filesystem.clone().unwrap_or_default();
    // Temporary folders too: compilers and tests fail without them.
    let mut writable = vec![workspace.cwd.clone()];
    writable.extend(workspace.additional.iter().map(|dir| workspace.cwd.join(dir)));
    writable.push(PathBuf::from("/tmp"));
    writable.extend(project.environment.get("TMPDIR").map(PathBuf::from));
    writable.extend(files.allow_write.iter().map(|path| workspace.resolve(path)));
    // A sandbox rule needs an existing path.
    writable.retain(|path| path.exists());
    let resolve = |paths: &[String]| paths.iter().map(|path| workspace.resolve(path)).collect();
    let mut hidden: Vec<_> = resolve(&files.deny_read);
    let (mut protected, shown): (Vec<_>, _) =
        (resolve(&files.deny_write), resolve(&files.allow_read));
    let allowed: Vec<_> = resolve(&files.allow_write);
    let own = std::iter::once(workspace.cwd.clone());
    for root in own.chain(workspace.additional.iter().map(|dir| workspace.cwd.join(dir))) {
        protected.extend(deciding_files(&root).into_iter().filter(|path| {
            // What the user names is writable, with everything around it that he did not exclude.
            !writable.iter().chain(&allowed).any(|named| named != &root && named.starts_with(path))
        }));
    }
    // Hooks run these outside of the sandbox.
    protected.extend(project.settings.named_files.paths().map(Path::to_owned));
    let credentials = settings.credentials.clone().unwrap_or_default();
    hidden.extend(credentials.files.iter().map(|file| workspace.resolve(file.name())));
    let network = settings.network.clone().unwrap_or_default();
    let everywhere = network.allowed_domains.iter().any(|domain| domain == "*");
    if !network.allowed_domains.is_empty() && (!everywhere || !network.denied_domains.is_empty()) {
        unsupported.push(
            "sandbox.network: single hosts cannot be allowed, so the network is off; \
             allowedDomains [\"*\"] without deniedDomains turns it on"
                .to_owned(),
        );
    }
    let mut unsupported_if = |set: bool, text: &str| {
        if set {
            unsupported.push(text.to_owned());
        }
    };
    unsupported_if(
        !settings.excluded_commands.is_empty(),
        "sandbox.excludedCommands: every command runs in the sandbox",
    );
    unsupported_if(
        settings.auto_allow_bash_if_sandboxed == Some(true),
        "sandbox.autoAllowBashIfSandboxed: the permission rules apply in the sandbox, too",
    );
    unsupported_if(
        settings.allow_unsandboxed_commands == Some(true),
        "sandbox.allowUnsandboxedCommands: every command runs in the sandbox",
    );
    unsupported_if(
        credentials.files.iter().chain(&credentials.env_vars).any(HiddenSecret::is_masked),
        "sandbox.credentials: the mode of an entry: every mode hides the secret completely",
    );
    let unknown = settings.other.keys().map(|key| format!("sandbox.{key}"));
    let unknown =
        unknown.chain(credentials.other.keys().map(|key| format!("sandbox.credentials.{key}")));
    let unknown = unknown.chain(files.other.keys().map(|key| format!("sandbox.filesystem.{key}")));
    let unknown = unknown.chain(network.other.keys().map(|key| format!("sandbox.network.{key}")));
    unsupported.extend(unknown.map(|key| format!("{key}: unknown key")));
    let network = everywhere && network.denied_domains.is_empty();
    Fence { level, writable, protected, hidden, shown, network }
}

/// Folders that decide what runs, but in which builds keep their caches.
const CACHES: [&str; 2] = [".gradle", ".yarn"];
/// What decides in a repository which programs git runs. The rest stays writable, so that commands
/// can commit.
const GIT: [&str; 4] = ["hooks", "config", "config.worktree", "info/attributes"];

/// Returns the files and folders directly in `root` that decide what other programs run: those that
/// exist, because only these can be protected.
fn deciding_files(root: &Path) -> Vec<PathBuf> {
    let names = root.read_dir().into_iter().flatten().filter_map(Result::ok);
    let mut found = Vec::new();
    for name in names.filter_map(|entry| entry.file_name().into_string().ok()) {
        let path = root.join(&name);
        if name == ".git" && path.is_dir() {
            found.extend(GIT.map(|name| path.join(name)).into_iter().filter(|path| path.exists()));
        } else if !CACHES.contains(&name.as_str()) && robota_policy::protected(&name).is_some() {
            found.push(path);
        }
    }
    found
}

/// Returns the environment of commands. In a sandbox the variables that
/// `sandbox.credentials.envVars` names are removed.
pub fn environment(environment: &Environment, confined: bool, project: &Project) -> Environment {
    let settings = project.settings.values.sandbox.as_ref();
    let credentials = settings.and_then(|settings| settings.credentials.as_ref());
    let hidden = credentials.map(|credentials| &credentials.env_vars[..]).unwrap_or_default();
    let kept = environment
        .iter()
        .filter(|(name, _)| !confined || !hidden.iter().any(|hidden| hidden.name() == *name));
    kept.fold(Environment::new(), |env, (name, value)| env.with(name, value))
}

/// What commands run in.
///
/// ```
/// use robota_sdk::sandbox::Fences;
///
/// fn is_confined(fences: &Fences) -> bool {
///     fences.confinement.is_some()
/// }
/// # let _ = is_confined;
/// ```
#[derive(Default)]
pub struct Fences {
    /// The sandbox of all commands; none when it is off.
    pub confinement: Option<SharedConfinement>,
    /// The fence of commands that were proven to only read; none if it is switched off or the system
    /// has none.
    pub read_only: Option<Arc<ReadOnlyFence>>,
    /// What the user should know about them.
    pub notices: Vec<Notice>,
    /// What this system can enforce.
    pub support: SandboxSupport,
}

impl Fences {
    /// Returns what makes the sandbox follow the folders of the workspace; none without a sandbox.
    pub(crate) fn follow_folders(&self, project: &Arc<Project>) -> Option<SandboxFolders> {
        let confinement = self.confinement.clone()?;
        Some(SandboxFolders::new(confinement, self.support.clone(), project.clone()))
    }
}

/// Prepares what commands run in. An unavailable sandbox is an error if it is required, else a
/// warning.
///
/// # Errors
/// If a sandbox is required and the system has none.
pub async fn prepare(
    request: SandboxRequest,
    environment: &Environment,
) -> Result<Fences, SdkError> {
    let kernel = SandboxSupport::of_kernel();
    let suffices = kernel.landlock > 0 && kernel.seccomp;
    // The probe starts bubblewrap, which takes longer than everything else here.
    let support = if request.fence.level == SandboxLevel::Off && suffices {
        kernel
    } else {
        probe(environment).await
    };
    let read_only = if request.read_only_fence {
        read_only(&request.fence, &support, environment)
    } else {
        None
    };
    let mut notices = Vec::new();
    let confinement = confinement(request, &support, &mut notices)?;
    Ok(Fences { confinement, read_only: read_only.map(Arc::new), notices, support })
}

/// Prepares the fence of commands that only read.
pub fn read_only(
    fence: &Fence,
    support: &SandboxSupport,
    environment: &Environment,
) -> Option<ReadOnlyFence> {
    let temporary = environment.get("TMPDIR").filter(|dir| !dir.is_empty());
    let temporary = temporary.map_or_else(|| Path::new("/tmp"), Path::new);
    let prepared = ReadOnlyFence::new(Some(fence), support, temporary);
    match prepared {
        Ok(fence) => Some(fence),
        // The hidden paths need too many rules. With a sandbox they run in the sandbox.
        Err(_) if fence.level != SandboxLevel::Off => None,
        Err(_) => ReadOnlyFence::new(None, support, temporary).ok(),
    }
}

fn confinement(
    request: SandboxRequest,
    support: &SandboxSupport,
    notices: &mut Vec<Notice>,
) -> Result<Option<SharedConfinement>, SdkError> {
    if request.fence.level == SandboxLevel::Off {
        return Ok(None);
    }
    for setting in &request.unsupported {
        notices.push(Notice::Note(format!("no effect: {setting}")));
    }
    match Confinement::new(request.fence, support) {
        Ok(confinement) => {
            // Report only the gaps that the user can close.
            let gaps = confinement.boundaries().gaps.iter();
            for gap in gaps.filter(|gap| gap.contains("install bubblewrap")) {
                notices.push(Notice::Note(format!("not enforced: {gap}")));
            }
            Ok(Some(Arc::new(confinement).into()))
        }
        // A path in the settings, which may be those of a checkout, must not turn the sandbox off.
        Err(error) if request.required || !matches!(error, SandboxError::Unsupported { .. }) => {
            Err(SdkError::Sandbox(error))
        }
        Err(error) => {
            let text = "no sandbox is available; commands run without one";
            notices.push(Notice::Error(format!("{text}: {}", error_chain(&error))));
            notices.extend(error.hint().map(Notice::Hint));
            Ok(None)
        }
    }
}

/// Returns a level as it is written on the command line.
#[must_use]
pub fn name(level: SandboxLevel) -> &'static str {
    match level {
        SandboxLevel::Off => "off",
        SandboxLevel::WorkspaceWrite => "workspace-write",
        SandboxLevel::ReadOnly => "read-only",
    }
}

/// Returns the rules of a `workspace-write` sandbox, to check what this system can enforce.
pub fn example(cwd: &Path) -> Fence {
    let writable = vec![cwd.to_owned()];
    let (protected, hidden, shown) = (Vec::new(), Vec::new(), Vec::new());
    let level = SandboxLevel::WorkspaceWrite;
    Fence { level, writable, protected, hidden, shown, network: false }
}
