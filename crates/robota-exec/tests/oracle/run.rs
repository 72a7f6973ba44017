//! Runs commands inside a fence that they cannot leave, and reports their effects.

use std::sync::Arc;
use std::time::Duration;

use robota_core::sandbox::{Fence, SandboxLevel};
use robota_exec::sandbox::{Confinement, Support, probe};
use robota_exec::{CommandSpec, Environment, Exit, Stdin, Supervisor};
use robota_testkit::{Part, requires};
use tokio_util::sync::CancellationToken;

use crate::scratch::{SECRET, Scratch, differences};

/// Runs each command of its input, which are separated by NUL, with limits: processor time, memory,
/// file size. One process cannot wait for longer than the batch.
const LOOP: &str = "ulimit -t 2 -v 2000000 -f 20000 -c 0
while IFS= read -r -d '' command; do
    bash --noprofile --norc -c \"$command\" < /dev/null
done";

/// Settings of git under which its readers are free: the executor sets the same.
const GIT: &str = "'core.fsmonitor=false' 'core.hooksPath=/dev/null' 'core.pager=cat' \
    'core.editor=false' 'core.askPass=false' 'core.sshCommand=false' \
    'core.alternateRefsCommand=true' 'credential.helper=' 'gpg.program=false' \
    'log.showSignature=false' 'safe.bareRepository=explicit' 'protocol.allow=never' \
    'maintenance.auto=false' 'gc.auto=0'";

pub(crate) struct Runner {
    supervisor: Supervisor,
    support: Support,
    environment: Environment,
}

impl Runner {
    /// `None` where no fence can be built.
    pub(crate) async fn new() -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "programs are found in the tester's PATH")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let environment = Environment::new()
            .with("PATH", path)
            .with("LC_ALL", "C.UTF-8")
            .with("GIT_CONFIG_PARAMETERS", GIT)
            // No attributes, so that no filter and no textconv is selected.
            .with("GIT_ATTR_SOURCE", "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
            .with("GIT_OPTIONAL_LOCKS", "0")
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("GIT_PAGER", "cat")
            .with("PAGER", "cat");
        let support = probe(&environment).await;
        let present = support.landlock > 0 || support.bubblewrap.is_some();
        let support = requires(Part::Landlock, present.then_some(support))?;
        Some(Self { supervisor: Supervisor::new(), support, environment })
    }

    /// The effects of the commands: what each one did. Where a batch had effects, its halves are
    /// tried until the command is found.
    pub(crate) async fn violations(&self, scratch: &Scratch, commands: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let mut todo = vec![commands.to_vec()];
        while let Some(batch) = todo.pop() {
            let effects = self.effects(scratch, &batch).await;
            if effects.is_empty() {
                continue;
            }
            scratch.restore();
            match batch.as_slice() {
                [] => {}
                [one] => found.push(format!("{one}\n    {}", effects.join(", "))),
                many => {
                    let (left, right) = many.split_at(many.len() / 2);
                    todo.push(right.to_vec());
                    todo.push(left.to_vec());
                }
            }
        }
        found
    }

    async fn effects(&self, scratch: &Scratch, commands: &[String]) -> Vec<String> {
        let before = scratch.snapshot();
        let fence = Fence {
            level: SandboxLevel::WorkspaceWrite,
            writable: vec![scratch.root().to_owned()],
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
        spec.confinement = Some(Arc::new(confinement));
        let outcome = self.supervisor.run(spec, &CancellationToken::new()).await.unwrap();
        let mut effects = Vec::new();
        if outcome.exit == Exit::TimedOut {
            effects.push("did not end".to_owned());
        }
        if outcome.left_open {
            effects.push("left a process".to_owned());
        }
        // Names of users are looked up through a local socket.
        let denied = outcome.denied.iter().filter(|denial| denial.action != "local socket");
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
