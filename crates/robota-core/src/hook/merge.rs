//! Several hooks at one event, put together.
//!
//! The answers come in configured order, whoever finished first. The strictest wins: block, then
//! defer, ask, allow, nothing; of equally strict ones the first gives the reason. Contexts are
//! joined. Two hooks that put *different* arguments (or results) in place of a call's cannot
//! both have their way, and letting one undo the other's would be a way around it: that blocks.

use super::{HookEvent, HookOutput, HookPermission};

impl HookOutput {
    /// All these, in configured order, as one.
    #[must_use]
    pub fn merge(event: HookEvent, outputs: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        let mut contexts = Vec::new();
        let mut conflict = None;
        for output in outputs {
            all.stop = all.stop.or(output.stop);
            all.block = all.block.or(output.block);
            all.permission = stricter(all.permission, output.permission);
            all.worktree_path = all.worktree_path.or(output.worktree_path);
            contexts.extend(output.context);
            all.notices.extend(output.notices);
            if !agree(&mut all.updated_input, output.updated_input) {
                conflict.get_or_insert("arguments");
            }
            if !agree(&mut all.updated_output, output.updated_output) {
                conflict.get_or_insert("result");
            }
        }
        if let Some(what) = conflict {
            let reason = format!("two {event} hooks changed the {what} of one call differently");
            all.block.get_or_insert(reason);
        }
        if !contexts.is_empty() {
            all.context = Some(contexts.join("\n"));
        }
        all
    }
}

fn stricter(
    first: Option<HookPermission>,
    second: Option<HookPermission>,
) -> Option<HookPermission> {
    match (first, second) {
        (Some(first), Some(second)) if second.verdict > first.verdict => Some(second),
        (first, second) => first.or(second),
    }
}

/// Takes `new` where nothing was; says whether both agree.
fn agree<T: PartialEq>(kept: &mut Option<T>, new: Option<T>) -> bool {
    match (&kept, new) {
        (_, None) => true,
        (Some(kept), Some(new)) => *kept == new,
        (None, new) => {
            *kept = new;
            true
        }
    }
}

#[cfg(test)]
mod tests;
