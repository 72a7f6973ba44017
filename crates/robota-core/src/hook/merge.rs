//! Merges the outputs of several hooks at one event.
//!
//! The outputs are merged in configured order, not in order of completion. The strictest wins:
//! block, then defer, ask, allow, no opinion; the first of equally strict ones gives the reason.
//! Contexts are joined. If two hooks replace the arguments (or the result) of a call with
//! *different* values, the call is blocked: otherwise one hook could undo the change of the other.

use super::{HookEvent, HookOutput, HookPermission, HookVerdict};

impl HookOutput {
    /// Merges outputs that are in configured order.
    #[must_use]
    pub fn merge(event: HookEvent, outputs: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        let mut contexts = Vec::new();
        let mut conflict = None;
        let mut elicitation_conflict = false;
        for output in outputs {
            // The first of several: hooks are ordered, and one reason is enough.
            all.stop = all.stop.or(output.stop);
            all.block = all.block.or(output.block);
            all.worktree_path = all.worktree_path.or(output.worktree_path);
            all.session_title = all.session_title.or(output.session_title);
            all.initial_user_message = all.initial_user_message.or(output.initial_user_message);
            // A hook that leaves the call to others does not widen what they allow.
            if is_allow(output.permission.as_ref()) {
                all.updated_permissions.extend(output.updated_permissions);
            }
            all.permission = stricter(all.permission, output.permission);
            contexts.extend(output.feedback.map(|reason| format!("{event} hook: {reason}")));
            contexts.extend(output.context);
            all.notices.extend(output.notices);
            if !agree(&mut all.updated_input, output.updated_input) {
                conflict.get_or_insert("arguments");
            }
            if !agree(&mut all.updated_output, output.updated_output) {
                conflict.get_or_insert("result");
            }
            elicitation_conflict |= !agree(&mut all.elicitation, output.elicitation);
        }
        if elicitation_conflict {
            let reason = format!("two {event} hooks answered one question differently");
            all.block.get_or_insert(reason);
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

/// Returns whether a hook itself allows the call.
pub(super) fn is_allow(permission: Option<&HookPermission>) -> bool {
    permission.is_some_and(|it| it.verdict == HookVerdict::Allow)
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

/// Takes `new` if there is no value yet; returns whether both agree.
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
