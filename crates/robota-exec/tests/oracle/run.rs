//! Runs commands inside a fence that they cannot leave, and reports their effects.

use std::sync::Arc;
use std::time::Duration;

use robota_core::sandbox::{Fence, SandboxLevel};
use robota_exec::sandbox::{Confinement, ReadOnlyFence, SandboxSupport, probe};
use robota_exec::{CommandSpec, Environment, Exit, Stdin, Supervisor};
use robota_testkit::{Part, requires};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::scratch::{SECRET, Scratch, differences};

/// Runs each command of its input, which are separated by NUL, with limits: processor time, memory,
/// file size. One process cannot wait for longer than the batch.
const LOOP: &str = "ulimit -t 2 -v 2000000 -f 20000 -c 0
while IFS= read -r -d '' command; do
    bash --noprofile --norc -c \"$command\" < /dev/null
done";

/// Programs that start a toolchain which they select, and create their own folders below a
/// fresh home, or search for a newer version of themselves; and `git describe --dirty`, which
/// refreshes the index where it can. Only the fence of free commands keeps them from it, so that
/// they run inside that fence alone.
const PROXIES: &[&str] = &[
    "cargo", "rustc", "rustdoc", "rustfmt", "rustup", "npm", "npx", "yarn", "pnpm", "go",
    "describe",
];

/// Returns whether a command runs such a program.
fn runs_proxy(command: &str) -> bool {
    let words = command.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    let plain: String = command.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    let unquoted = plain.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.chain(unquoted).any(|word| PROXIES.contains(&word))
}

pub(crate) struct Runner {
    supervisor: Supervisor,
    support: SandboxSupport,
    environment: Environment,
    /// The fence of free commands, of which the environment is used for all.
    fence: ReadOnlyFence,
    temporary: TempDir,
}

impl Runner {
    /// `None` where no fence can be built.
    pub(crate) async fn new() -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "programs are found in the tester's PATH")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let environment = Environment::new().with("PATH", path).with("LC_ALL", "C.UTF-8");
        let support = probe(&environment).await;
        let present = support.landlock > 0 || support.bubblewrap.is_some();
        let support = requires(Part::Landlock, present.then_some(support))?;
        let temporary = tempfile::tempdir().unwrap();
        let fence = ReadOnlyFence::new(None, &support, temporary.path()).unwrap();
        Some(Self { supervisor: Supervisor::new(), support, environment, fence, temporary })
    }

    /// Returns the effects of the commands: what each one did. Where a batch had effects, its
    /// halves are tried until the command is found.
    pub(crate) async fn violations(&self, scratch: &Scratch, commands: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let (fenced, open): (Vec<_>, Vec<_>) =
            commands.iter().cloned().partition(|command| runs_proxy(command));
        let mut todo = vec![(fenced, true), (open, false)];
        todo.retain(|(batch, _)| !batch.is_empty());
        while let Some((batch, fenced)) = todo.pop() {
            let effects = self.effects(scratch, &batch, fenced).await;
            if effects.is_empty() {
                continue;
            }
            scratch.restore();
            match batch.as_slice() {
                [] => {}
                [one] => found.push(format!("{one}\n    {}", effects.join(", "))),
                many => {
                    let (left, right) = many.split_at(many.len() / 2);
                    todo.push((right.to_vec(), fenced));
                    todo.push((left.to_vec(), fenced));
                }
            }
        }
        found
    }

    /// Returns what the commands did: inside the fence of free commands, or where they may write to
    /// the scratch tree, so that what they would do there is seen.
    async fn effects(&self, scratch: &Scratch, commands: &[String], fenced: bool) -> Vec<String> {
        let before = scratch.snapshot();
        let fence = Fence {
            level: SandboxLevel::WorkspaceWrite,
            writable: vec![scratch.root().to_owned(), self.temporary.path().to_owned()],
            protected: Vec::new(),
            hidden: Vec::new(),
            shown: Vec::new(),
            network: false,
        };
        let confinement = Confinement::new(fence, &self.support).unwrap();
        let output = scratch.output().join("text");
        let mut spec = CommandSpec::new("bash", scratch.workspace());
        spec.args = ["--noprofile", "--norc", "-c", LOOP].map(Into::into).to_vec();
        spec.env = self.environment.clone().with("HOME", scratch.home());
        spec.stdin = Stdin::Bytes(commands.iter().fold(Vec::new(), |mut bytes, command| {
            bytes.extend_from_slice(command.as_bytes());
            bytes.push(0);
            bytes
        }));
        spec.output_file = Some(output.clone());
        spec.timeout = Some(Duration::from_secs(30));
        let mut spec = self.fence.apply(spec).unwrap();
        if !fenced {
            spec.confinement = Some(Arc::new(confinement));
        }
        let outcome = self.supervisor.run(spec, &CancellationToken::new()).await.unwrap();
        let mut effects = Vec::new();
        if outcome.exit == Exit::TimedOut {
            effects.push("did not end".to_owned());
        }
        if outcome.left_open {
            effects.push("left a process".to_owned());
        }
        // Names of users are looked up through a local socket.
        let denied =
            outcome.denied.iter().filter(|denial| !fenced && denial.action != "local socket");
        effects
            .extend(denied.map(|denial| format!("tried {} ({})", denial.action, denial.subject)));
        effects.extend(differences(scratch.root(), &before, &scratch.snapshot()));
        let printed = std::fs::read(&output).unwrap_or_default();
        if printed.windows(SECRET.len()).any(|text| text == SECRET.as_bytes()) {
            effects.push("printed a file outside the workspace".to_owned());
        }
        let _ = std::fs::remove_file(&output);
        effects
    }
}
