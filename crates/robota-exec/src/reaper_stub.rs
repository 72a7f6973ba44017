//! Replaces the reaper client on systems other than Linux, which have no child subreaper.

use crate::reaper::ReaperProgram;

/// A client without a reaper: it cannot start anything.
#[derive(Debug)]
pub(crate) struct ReaperClient;

impl ReaperClient {
    pub(crate) fn new(_program: ReaperProgram) -> Self {
        Self
    }
}
