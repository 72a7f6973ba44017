//! What the end of a journal and the machine tell of calls that were running when their writer
//! died: what they had said, how their processes ended, how the files are that they were about to
//! change. What is left running is ended, and what was half changed is made whole.

use std::collections::HashMap;

use robota_core::checkpoint::FileChange;
use robota_core::event::Event;
use robota_core::ids::{CallId, SessionId};
use robota_core::journal::{JournalError, JournalStore};
use robota_core::process::ProcessIdentity;
use robota_core::state::{CallStage, State};

use crate::parts::Parts;
use crate::recover::Evidence;

/// How far back it is looked for.
const LOOK_BACK: u64 = 4_096;
/// How much of a call's output the model is told.
const MAX_OUTPUT: usize = 4_000;

/// What is found of one call.
#[derive(Default)]
struct Found {
    output: String,
    processes: Vec<ProcessIdentity>,
    files: Vec<FileChange>,
}

/// Tidies up, and adds what is found to what is known.
pub(crate) async fn look(
    store: &dyn JournalStore,
    id: &SessionId,
    state: &State,
    parts: &Parts,
    evidence: &mut Vec<Evidence>,
) -> Result<(), JournalError> {
    let calls = state.turn.iter().flat_map(|turn| turn.calls.keys());
    if parts.aftermath.is_none() && !calls.into_iter().any(|call| running(state, call)) {
        return Ok(());
    }
    let blobs = store.blobs(id);
    for (call, found) in find(store, id, state).await? {
        let mut exit = None;
        if let Some(aftermath) = &parts.aftermath {
            for process in &found.processes {
                exit = aftermath.end(&call, process).await.or(exit);
            }
        }
        if !running(state, &call) {
            continue;
        }
        let at = evidence.iter().position(|known| known.call == call).unwrap_or_else(|| {
            evidence.push(Evidence::of(call.clone()));
            evidence.len() - 1
        });
        let known = &mut evidence[at];
        known.exit = known.exit.or(exit);
        if known.partial_output.is_none() && !found.output.is_empty() {
            known.partial_output = Some(found.output);
        }
        if let Some(aftermath) = &parts.aftermath
            && !found.files.is_empty()
        {
            let now = aftermath.settle(&found.files, &*blobs).await;
            let paths = found.files.into_iter().map(|file| file.path);
            known.files = paths.zip(now).collect();
        }
    }
    for known in evidence {
        if let Some(output) = &mut known.partial_output {
            parts.config.redactor.clean(output);
            *output = tail(output);
        }
    }
    Ok(())
}

fn running(state: &State, call: &CallId) -> bool {
    let call = state.turn.as_ref().and_then(|turn| turn.calls.get(call));
    call.is_some_and(|call| call.stage == CallStage::Started)
}

/// What the end of the journal tells of calls: all of those that were running; of others the
/// processes, for a command in the background goes on when its call has ended.
async fn find(
    store: &dyn JournalStore,
    id: &SessionId,
    state: &State,
) -> Result<HashMap<CallId, Found>, JournalError> {
    let mut found: HashMap<CallId, Found> = HashMap::new();
    let last = state.cursor.map_or(0, |cursor| cursor.seq);
    let from = last.saturating_sub(LOOK_BACK);
    for envelope in store.read(id, from, usize::MAX).await? {
        match envelope.event {
            Event::ToolOutput(data) if running(state, &data.call) => {
                found.entry(data.call).or_default().output.push_str(&data.text);
            }
            Event::FilesChanging(data) if running(state, &data.call) => {
                // Of several changes of one call, those before the last were made.
                found.entry(data.call).or_default().files = data.files;
            }
            Event::ProcessStarted(data) => {
                let (pid, start_time, boot_id) = (data.pid, data.start_time, data.boot_id);
                let process = ProcessIdentity { pid, start_time, boot_id };
                found.entry(data.call).or_default().processes.push(process);
            }
            _ => {}
        }
    }
    Ok(found)
}

fn tail(text: &str) -> String {
    let from = text.len().saturating_sub(MAX_OUTPUT);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text[from..].to_owned()
}
