//! `robota demo`: the main job, offline and without a key. The model is played from a script;
//! the project, the read, the edit, the command and the journal are real.

mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use robota_core::approve::{Answer, Approver, Question};
use robota_core::driver::Mailbox;
use robota_core::event::Envelope;
use robota_core::hook::NoHooks;
use robota_core::ids::{RandomIds, SessionId};
use robota_core::permission::Mode;
use robota_core::redact::Redactor;
use robota_core::scripted::{Script, ScriptedProvider};

use robota_exec::Supervisor;
use robota_policy::{Policy, PolicySpec, Workspace};
use robota_session::PolicyGate;

use crate::args::DemoArgs;
use crate::compose::{self, Parts, Session};
use crate::{Exit, output, provider, setup, signals};

const SCRIPT: &str = include_str!("demo/script.yaml");
const PROMPT: &str = "check.sh fails. Find out why, fix it, and run it again.";

/// The one command of the script: the demonstration approves this and nothing else.
const COMMAND: &str = "sh check.sh";

const FILES: [(&str, &str); 2] = [
    (
        "greet.sh",
        "#!/bin/sh\n# Greets whoever is named.\nname=${1:-world}\necho \"Helo, $name!\"\n",
    ),
    (
        "check.sh",
        "#!/bin/sh\nif [ \"$(sh greet.sh Ada)\" = \"Hello, Ada!\" ]; then\n  echo \"all checks pass\"\nelse\n  echo \"greet.sh says: $(sh greet.sh Ada)\"\n  exit 1\nfi\n",
    ),
];

/// Runs it.
pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<Exit> {
    let project = make_project(args.dir)?;
    let cwd = compose::working_directory(Some(&project))?;
    let show = show::Show::new();
    show.heading("A throw-away project with a bug");
    show.plain(&format!("  {}", cwd.display()));
    show.plain("  check.sh compares what greet.sh prints; greet.sh has a typo.");
    show.heading("The prompt");
    show.plain(&format!("  {PROMPT}"));
    show.heading("The run (the model is played from a script; everything else is real)");

    let script = Script::from_yaml(SCRIPT).context("the demonstration's own script is broken")?;
    let observer = show.observer();
    let cancel = signals::cancel_on_interrupt()?;
    let mut session = Session::create(Parts {
        id: SessionId::mint(&RandomIds),
        provider: Arc::new(ScriptedProvider::new(script)),
        model: provider::scripted_model(),
        idle_timeout: std::time::Duration::from_secs(120),
        redactor: Redactor::default(),
        cwd: cwd.clone(),
        mode: Mode::AcceptEdits,
        gate: Arc::new(gate(&cwd)),
        hooks: Arc::new(NoHooks),
        supervisor: Supervisor::new(),
        environment: compose::environment(&indexmap::IndexMap::new()),
        approver: Arc::new(ApproveTheCheck),
        max_rounds: 0,
        observer,
    })
    .await?;
    let report = session.turn(PROMPT, &mut Mailbox::silent(cancel)).await?;
    if output::exit(&report) != Exit::Ok {
        output::text(&report);
        return Ok(output::exit(&report));
    }
    journal(&show, &session.folder)?;
    show.heading("What to type next");
    show.plain(&format!("  cat {}/greet.sh", cwd.display()));
    show.plain("  robota -p \"…\" --provider scripted:FILE   a run of your own (docs/scripted.md)");
    show.plain("  robota --help");
    Ok(Exit::Ok)
}

/// The same gate as for any run; the throw-away project has no settings.
fn gate(cwd: &Path) -> PolicyGate {
    let workspace = Workspace::new(cwd, "/nonexistent");
    let spec = PolicySpec::new(workspace).mode(Mode::AcceptEdits).with_defaults();
    let (policy, _) = Policy::new(&spec, &*setup::paths());
    PolicyGate::new(policy, setup::paths())
}

fn make_project(dir: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = match dir {
        Some(dir) => {
            std::fs::create_dir_all(&dir)
                .with_context(|| format!("cannot make the folder {}", dir.display()))?;
            let occupied = std::fs::read_dir(&dir)
                .with_context(|| format!("cannot look into {}", dir.display()))?
                .next()
                .is_some();
            anyhow::ensure!(!occupied, "{} is not empty; name another folder", dir.display());
            dir
        }
        None => tempfile::Builder::new()
            .prefix("robota-demo-")
            .tempdir()
            .context("cannot make a temporary folder")?
            .keep(),
    };
    for (name, text) in FILES {
        let path = dir.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(dir)
}

fn journal(show: &show::Show, folder: &Path) -> anyhow::Result<()> {
    let mut segments: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the journal in {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    segments.sort();
    let mut lines = Vec::new();
    for segment in &segments {
        let text = std::fs::read_to_string(segment)
            .with_context(|| format!("cannot read {}", segment.display()))?;
        lines.extend(text.lines().map(str::to_owned));
    }
    show.heading("The journal it left behind: the session, event by event");
    show.plain(&format!("  {} ({} events)", folder.display(), lines.len()));
    let interesting = ["input_accepted", "tool_started", "tool_finished", "turn_finished"];
    for line in &lines {
        let envelope = Envelope::decode(line.as_bytes())
            .with_context(|| format!("the journal in {} is damaged", folder.display()))?;
        if interesting.contains(&envelope.event.kind()) {
            let value: serde_json::Value = serde_json::from_str(line)?;
            let (seq, kind) = (envelope.cursor(), envelope.event.kind());
            let data = show::cut(&value["data"].to_string(), 80);
            show.dim(&format!("  {seq:>5}  {kind:<14}  {data}"));
        }
    }
    Ok(())
}

/// Says yes to the one command of the script.
struct ApproveTheCheck;

#[async_trait::async_trait]
impl Approver for ApproveTheCheck {
    async fn ask(&self, question: Question) -> Answer {
        let command = question.call.input.json().and_then(|input| input.get("command")?.as_str());
        if question.call.name == "Bash" && command == Some(COMMAND) {
            let note = Some("approved: the demonstration approves this one command".to_owned());
            Answer::Allow { note }
        } else {
            let note = Some("the demonstration approves only its own command".to_owned());
            Answer::Deny { note }
        }
    }
}
