//! Prints the runs of hooks: one pair of lines for each hook of the start, and with
//! `--include-hook-events` for each hook that runs.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use robota_core::hook::{HookEnd, HookEvent, HookExit, HookObserver, ObservedHook};
use robota_core::redact::Redactor;
use robota_stream_json::{HookOutcome, HookResponseLine, HookStartedLine};
use tokio::sync::mpsc;

use super::writer::LineWriter;

/// The most bytes of each output in a line. Hosts limit the length of a line, and it has the output
/// twice.
const MAX_OUTPUT: usize = 64 * 1024;

/// A hook that started or ended.
#[derive(Debug)]
pub(crate) struct HookChange {
    run: Run,
    /// None while it runs.
    end: Option<End>,
}

/// One run of a hook.
#[derive(Debug, Clone)]
struct Run {
    number: u64,
    event: HookEvent,
    /// The event, and what the matcher was compared with.
    name: String,
}

#[derive(Debug)]
enum End {
    Exit(HookExit),
    Cancelled,
}

/// Passes on what hooks do. The run prints it, after the lines that came before it.
pub(crate) struct HookChanges {
    send: mpsc::UnboundedSender<HookChange>,
    runs: AtomicU64,
    all: bool,
}

impl HookChanges {
    /// Creates the observer and what receives the changes. Without `all` these are the hooks of the
    /// start only, which hosts receive in any case.
    pub(crate) fn new(all: bool) -> (Arc<Self>, mpsc::UnboundedReceiver<HookChange>) {
        // Unbounded, because an observer must not wait; each hook sends two changes only.
        let (send, receive) = mpsc::unbounded_channel();
        (Arc::new(Self { send, runs: AtomicU64::new(0), all }), receive)
    }
}

impl HookObserver for HookChanges {
    fn started(&self, event: HookEvent, target: &str) -> Box<dyn ObservedHook> {
        if !self.all && !matches!(event, HookEvent::SessionStart | HookEvent::Setup) {
            return Box::new(RunningHook { run: None, send: self.send.clone() });
        }
        let number = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let name = match target {
            "" => event.name().to_owned(),
            target => format!("{}:{target}", event.name()),
        };
        let run = Run { number, event, name };
        // The run may have ended: then nothing prints it.
        let _ = self.send.send(HookChange { run: run.clone(), end: None });
        Box::new(RunningHook { run: Some(run), send: self.send.clone() })
    }
}

struct RunningHook {
    /// None once it has ended, or if it has no lines.
    run: Option<Run>,
    send: mpsc::UnboundedSender<HookChange>,
}

impl RunningHook {
    fn end(&mut self, end: End) {
        if let Some(run) = self.run.take() {
            let _ = self.send.send(HookChange { run, end: Some(end) });
        }
    }
}

impl ObservedHook for RunningHook {
    fn ended(&mut self, exit: &HookExit) {
        self.end(End::Exit(exit.clone()));
    }
}

impl Drop for RunningHook {
    // The future of a hook is dropped when its turn is interrupted; hosts wait for the second line.
    fn drop(&mut self) {
        self.end(End::Cancelled);
    }
}

/// Prints a hook that started or ended.
pub(crate) fn print(change: &HookChange, writer: &LineWriter, redactor: &Redactor) {
    let HookChange { run, end } = change;
    let hook_id = format!("hook-{}", run.number);
    let (hook_name, hook_event) = (run.name.as_str(), run.event.name());
    let Some(end) = end else {
        return writer.print(&HookStartedLine {
            kind: Default::default(),
            subtype: Default::default(),
            hook_id: &hook_id,
            hook_name,
            hook_event,
            session_id: writer.session(),
            uuid: writer.id().as_str(),
        });
    };
    let (stdout, mut stderr) = match end {
        End::Exit(exit) => (text(&exit.stdout, redactor), text(&exit.stderr, redactor)),
        End::Cancelled => (String::new(), String::new()),
    };
    let (outcome, exit_code) = match end {
        End::Exit(HookExit { end: HookEnd::Code(code), .. }) => {
            let outcome = if *code == 0 { HookOutcome::Success } else { HookOutcome::Error };
            (outcome, Some(*code))
        }
        End::Exit(HookExit { end: HookEnd::Failed(why), .. }) => {
            stderr = redactor.text(why).into_owned();
            (HookOutcome::Error, None)
        }
        End::Exit(HookExit { end: HookEnd::Signal(_), .. }) => (HookOutcome::Error, None),
        // The protocol has no outcome of its own for a time limit.
        End::Exit(HookExit { end: HookEnd::TimedOut, .. }) | End::Cancelled => {
            (HookOutcome::Cancelled, None)
        }
    };
    writer.print(&HookResponseLine {
        kind: Default::default(),
        subtype: Default::default(),
        hook_id: &hook_id,
        hook_name,
        hook_event,
        output: format!("{stdout}{stderr}"),
        stdout,
        stderr,
        exit_code,
        outcome,
        session_id: writer.session(),
        uuid: writer.id().as_str(),
    });
}

/// Returns what a hook printed, without secrets and cut to the length of a line.
fn text(output: &[u8], redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(output);
    // Before the cut: a part of a secret would not be recognised.
    let text: Cow<'_, str> = redactor.text(&text);
    let end = text.floor_char_boundary(MAX_OUTPUT);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
