//! What a crash left open, as a list of operations (KODE-05).

use crate::ids::{InputId, TurnId};
use crate::state::{CallStage, OpenCall, State};
use crate::tool::DidRun;

/// An operation that a crash left open.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenOperation {
    /// An input whose hooks had not finished. They are run again.
    Input(InputId),
    /// A model call (points A and G).
    Model {
        /// The turn of the call; `None` in journals that do not record turn ids.
        turn: Option<TurnId>,
        /// The text that had been streamed.
        text: String,
    },
    /// A tool call (points B to F).
    Call {
        /// The call with how far it got and what it left: processes, files, output.
        call: Box<OpenCall>,
        /// Whether it ran, and so may have had effects.
        ran: DidRun,
    },
    /// A compaction. Its summary was not recorded, so the conversation is unchanged.
    Compaction,
    /// A restore of a checkpoint. It is completed.
    Restore {
        /// The id of the checkpoint to which the restore returns.
        checkpoint: String,
    },
}

/// Returns what a crash left open; empty if no turn, compaction or restore was running.
#[must_use]
pub fn open_operations(state: &State) -> Vec<OpenOperation> {
    let mut open = Vec::new();
    if state.compacting {
        open.push(OpenOperation::Compaction);
    }
    if let Some(restore) = &state.restoring {
        open.push(OpenOperation::Restore { checkpoint: restore.checkpoint.clone() });
    }
    let Some(turn) = &state.turn else { return open };
    // The input is still in the queue, so its hooks had not finished and the model was not called.
    if let Some(input) = turn.input.as_ref().filter(|input| state.inputs.contains_key(*input)) {
        open.push(OpenOperation::Input(input.clone()));
    } else if turn.calls.is_empty() && !state.compacting {
        open.push(OpenOperation::Model { turn: turn.id.clone(), text: turn.text.clone() });
    }
    let calls = turn.calls.values().map(|call| OpenOperation::Call {
        call: Box::new(call.clone()),
        ran: match &call.stage {
            CallStage::Called | CallStage::InPreHook | CallStage::Asked | CallStage::Allowed => {
                DidRun::No
            }
            CallStage::Started => DidRun::Maybe,
            CallStage::Finished(outcome) | CallStage::InPostHook(outcome) => outcome.ran,
        },
    });
    open.extend(calls);
    open
}
