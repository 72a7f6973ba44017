//! Cleans up after a crash: ends the processes of interrupted calls and restores files that a call
//! changed only in part. The list of both comes from the state.

use robota_core::blob::Blobs;
use robota_core::close::{Closing, RecoveryHint};
use robota_core::ids::CallId;
use robota_core::process::ProcessIdentity;
use robota_core::state::{CallStage, State};

use crate::setup::Setup;

/// Cleans up, and adds what was found to the hints.
pub(crate) async fn clean_up(
    blobs: &dyn Blobs,
    state: &State,
    setup: &Setup,
    closing: &mut Closing,
) {
    let calls = || state.turn.iter().flat_map(|turn| turn.calls.iter());
    for (id, call) in calls().filter(|(_, call)| call.stage == CallStage::Started) {
        if !call.output.is_empty() {
            let output = &mut hint(closing, id).partial_output;
            output.get_or_insert_with(|| call.output.as_str().to_owned());
        }
    }
    if let Some(crash_cleanup) = &setup.crash_cleanup {
        // A command in the background outlives its call.
        for (call, process) in background(state) {
            crash_cleanup.end_process(call, process).await;
        }
        for (id, call) in calls() {
            let mut exit = None;
            for process in &call.processes {
                exit = crash_cleanup.end_process(id, process).await.or(exit);
            }
            if call.stage != CallStage::Started {
                continue;
            }
            let hint = hint(closing, id);
            hint.exit = hint.exit.or(exit);
            if !call.files.is_empty() {
                let now = crash_cleanup.settle_files(&call.files, blobs).await;
                let paths = call.files.iter().map(|file| file.path.clone());
                hint.files = paths.zip(now).collect();
            }
        }
    }
    for hint in &mut closing.hints {
        if let Some(output) = &mut hint.partial_output {
            setup.base.config.redactor.clean(output);
        }
    }
}

fn background(state: &State) -> impl Iterator<Item = (&CallId, &ProcessIdentity)> {
    let calls = state.background.iter();
    calls.flat_map(|(call, processes)| processes.iter().map(move |process| (call, process)))
}

fn hint<'a>(closing: &'a mut Closing, call: &CallId) -> &'a mut RecoveryHint {
    let at = closing.hints.iter().position(|hint| hint.call == *call).unwrap_or_else(|| {
        closing.hints.push(RecoveryHint::of(call.clone()));
        closing.hints.len() - 1
    });
    &mut closing.hints[at]
}
