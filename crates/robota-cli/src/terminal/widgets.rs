//! The parts of the view, one file each.

pub(super) mod choice;
pub(super) mod composer;
pub(super) mod entry;
pub(super) mod question;
pub(super) mod queue;
pub(super) mod status;
pub(super) mod tool_row;
pub(super) mod trust;
