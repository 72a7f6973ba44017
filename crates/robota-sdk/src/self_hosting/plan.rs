//! Plans the steps of a change: what to run, and in which order.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use robota_core::error::{Diagnose, ErrorKind};
use serde::Serialize;

/// What is to be changed and verified.
///
/// ```
/// use robota_sdk::self_hosting::VerificationRequest;
///
/// let request = VerificationRequest {
///     changed_files: vec!["src/lib.rs".to_owned()],
///     package_scopes: vec!["mine".to_owned()],
///     base_ref: "main".to_owned(),
/// };
/// assert_eq!(request.base_ref, "main");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationRequest {
    /// The files that change, relative to the root of the repository.
    pub changed_files: Vec<String>,
    /// The packages that the files belong to.
    pub package_scopes: Vec<String>,
    /// The Git reference that the change is compared with.
    pub base_ref: String,
}

/// Holds the commands of a build system. `{package}` is replaced by a package, `{base}` by the
/// reference.
///
/// ```
/// use robota_sdk::self_hosting::Toolchain;
///
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let tools = Toolchain {
///     test: words("cargo test -p"),
///     check: words("cargo check -p"),
///     build: words("cargo build -p"),
///     verify: words("cargo test --workspace"),
/// };
/// assert_eq!(tools.test.len(), 3);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Tests one package: a program and its arguments.
    pub test: Vec<String>,
    /// Checks one package: types and lints.
    pub check: Vec<String>,
    /// Builds one package: a program and its arguments.
    pub build: Vec<String>,
    /// Verifies the whole repository: a program and its arguments.
    pub verify: Vec<String>,
}

/// Lists the steps that verify a change, in order.
///
/// ```
/// use robota_sdk::self_hosting::{StepKind, VerificationPlan};
///
/// fn verifies(plan: &VerificationPlan) -> bool {
///     plan.steps.iter().any(|step| step.kind == StepKind::Verify)
/// }
/// # let _ = verifies;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerificationPlan {
    /// The steps. The first that fails ends the plan; then those that run on failure follow.
    pub steps: Vec<PlannedStep>,
}

/// Describes one step of a plan.
///
/// ```
/// use robota_sdk::self_hosting::{PlannedStep, Runs};
///
/// fn is_recovery(step: &PlannedStep) -> bool {
///     step.runs == Runs::OnFailure
/// }
/// # let _ = is_recovery;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedStep {
    /// What the step does, with its data.
    pub kind: StepKind,
    /// Whether it follows a success or a failure.
    pub runs: Runs,
    /// The command of a child process: a program and its arguments, for no shell. `None` for steps
    /// that the caller does itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// What a step does.
///
/// ```
/// use robota_sdk::self_hosting::StepKind;
///
/// assert_ne!(StepKind::Verify, StepKind::Rollback);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepKind {
    /// Creates a checkpoint of the files.
    Checkpoint {
        /// The files that the change touches, sorted.
        files: Vec<String>,
    },
    /// Changes the files, all or none.
    Edit {
        /// The files that the change touches, sorted.
        files: Vec<String>,
    },
    /// From here on everything runs in child processes. This process keeps the old code.
    HandOver,
    /// Tests one of the packages of the request.
    Test {
        /// The name, as the build system has it.
        package: String,
    },
    /// Checks types and lints of one of the packages.
    Check {
        /// The name, as the build system has it.
        package: String,
    },
    /// Builds one of the packages of the request.
    Build {
        /// The name, as the build system has it.
        package: String,
    },
    /// Runs the checks of the whole repository.
    Verify,
    /// Restores the files from the checkpoint of the first step.
    Rollback,
}

/// When a step runs.
///
/// ```
/// use robota_sdk::self_hosting::Runs;
///
/// assert_ne!(Runs::OnSuccess, Runs::OnFailure);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// If all steps before it succeeded.
    OnSuccess,
    /// If a step after the first edit failed.
    OnFailure,
}

/// Why there is no plan.
///
/// ```
/// use robota_sdk::self_hosting::PlanError;
///
/// assert!(!PlanError::NoFiles.to_string().is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The request names no file, so there is nothing to plan.
    #[error("no file is to be changed; name at least one")]
    NoFiles,
    /// A file is outside the repository.
    #[error("`{}` is not a path below the repository", .0.escape_debug())]
    OutsideFile(String),
    /// A package or a reference cannot be an argument of a command.
    #[error("`{}` is not the name of a package or a Git reference", .0.escape_debug())]
    BadName(String),
}

impl Toolchain {
    /// Returns the commands for a workspace of Cargo.
    #[must_use]
    pub fn cargo() -> Self {
        Self {
            test: words("cargo test -p {package}"),
            check: words("cargo clippy -p {package} --all-targets"),
            build: words("cargo build -p {package}"),
            verify: words("cargo test --workspace"),
        }
    }

    /// Returns the commands for a workspace of pnpm that has the script `harness:verify`.
    #[must_use]
    pub fn pnpm() -> Self {
        Self {
            test: words("pnpm --filter {package} test"),
            check: words("pnpm --filter {package} typecheck"),
            build: words("pnpm --filter {package} build"),
            verify: words("pnpm harness:verify -- --base-ref {base}"),
        }
    }
}

/// Plans the steps of a change. The order of the request does not matter: files and packages are
/// sorted, and copies count once.
///
/// # Errors
/// When no file changes, a file is outside the repository, or a name is not valid.
pub fn plan(
    request: &VerificationRequest,
    toolchain: &Toolchain,
) -> Result<VerificationPlan, PlanError> {
    // Sorted, so that equal changes have equal plans.
    let files: BTreeSet<_> =
        request.changed_files.iter().map(|file| inside(file)).collect::<Result<_, _>>()?;
    if files.is_empty() {
        return Err(PlanError::NoFiles);
    }
    let packages: BTreeSet<_> =
        request.package_scopes.iter().map(|name| plain(name)).collect::<Result<_, _>>()?;
    let base = plain(&request.base_ref)?;
    let files: Vec<String> = files.into_iter().collect();
    let own = |kind| PlannedStep { kind, runs: Runs::OnSuccess, command: None };
    let mut steps = vec![
        own(StepKind::Checkpoint { files: files.clone() }),
        own(StepKind::Edit { files }),
        own(StepKind::HandOver),
    ];
    let run = |kind, command: &[String], package: &str| PlannedStep {
        kind,
        runs: Runs::OnSuccess,
        command: Some(fill(command, package, base)),
    };
    for name in packages {
        let package = name.to_owned();
        steps.push(run(StepKind::Test { package: package.clone() }, &toolchain.test, name));
        steps.push(run(StepKind::Check { package: package.clone() }, &toolchain.check, name));
        steps.push(run(StepKind::Build { package }, &toolchain.build, name));
    }
    steps.push(run(StepKind::Verify, &toolchain.verify, ""));
    // Without a command: the caller restores the files with code that the change has not touched.
    steps.push(PlannedStep { kind: StepKind::Rollback, runs: Runs::OnFailure, command: None });
    Ok(VerificationPlan { steps })
}

/// Returns a path below the repository in its normal form.
fn inside(file: &str) -> Result<String, PlanError> {
    let outside = || PlanError::OutsideFile(file.to_owned());
    let mut parts = Vec::new();
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str().ok_or_else(outside)?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(outside());
            }
        }
    }
    if parts.is_empty() || file.contains('\0') { Err(outside()) } else { Ok(parts.join("/")) }
}

/// Checks a name that becomes an argument: it must not be an option or several words.
fn plain(name: &str) -> Result<&str, PlanError> {
    let allowed = |c: char| c.is_alphanumeric() || "@/._-+".contains(c);
    // A name that begins with a hyphen would be an option of the build system.
    let valid = !name.is_empty() && !name.starts_with('-') && name.chars().all(allowed);
    if valid { Ok(name) } else { Err(PlanError::BadName(name.to_owned())) }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn fill(command: &[String], package: &str, base: &str) -> Vec<String> {
    let fill = |word: &String| word.replace("{package}", package).replace("{base}", base);
    command.iter().map(fill).collect()
}

impl Diagnose for PlanError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Validation
    }
}

#[cfg(test)]
mod tests;
