//! Where there is no child subreaper there is no reaper.

use crate::reaper::ReaperProgram;

/// Takes no orders.
#[derive(Debug)]
pub(crate) struct Client;

impl Client {
    pub(crate) fn new(_program: ReaperProgram) -> Self {
        Self
    }
}
