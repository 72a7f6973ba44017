//! Parses the output of one hook: its exit code and its JSON, as far as the event allows them.
//!
//! | exit | meaning |
//! |---|---|
//! | 0 | success; standard output is parsed |
//! | 2 | block; the reason is in the JSON, or else standard error |
//! | 126, 127, 129 to 192, a signal, a timeout, not run | a failure: blocks at a gate, otherwise a warning |
//! | any other code | a warning; the JSON applies, but cannot allow a call |
//!
//! Output that starts with `{` is treated as JSON. If it cannot be parsed, or a decision in it has
//! an unknown value, that is a failure too. Unknown fields are ignored.

mod wire;

use serde_json::{Map, Value};

use super::{HookDefinition, HookEnd, HookEvent, HookExit, HookNotice};
use crate::permission::PermissionUpdate;
use wire::{Action, Decision, Permission, RequestDecision, Wire};

/// The runner reads at most this many bytes of a hook's standard output; longer JSON is a failure.
pub const MAX_STDOUT: usize = 1 << 20;

/// The runner cuts a reason, a context or a message after this many characters.
pub const MAX_TEXT: usize = 10_000;

/// Holds the parsed output of one hook, or the merged output of all hooks of an event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookOutput {
    /// Why all work is to stop (`continue: false`); `None` if it is not.
    pub stop: Option<String>,
    /// Why the action of the event is blocked; `None` if it is not. At PostToolUse the result of the
    /// call is withheld, because the hook failed.
    pub block: Option<String>,
    /// The reason of a block after a call. The call ran, so the model receives its result and this.
    pub feedback: Option<String>,
    /// The decision about a call that has not run.
    pub permission: Option<HookPermission>,
    /// Arguments that replace all arguments of the call.
    pub updated_input: Option<Map<String, Value>>,
    /// A result that replaces the result of the call.
    pub updated_output: Option<Value>,
    /// Changes of the permissions that come with an allow.
    pub updated_permissions: Vec<PermissionUpdate>,
    /// The name that the session gets.
    pub session_title: Option<String>,
    /// What the user says before the first prompt.
    pub initial_user_message: Option<String>,
    /// Text of the hook that the model reads.
    pub context: Option<String>,
    /// The path of the worktree that the hook created.
    pub worktree_path: Option<String>,
    /// The answer to a question of an MCP server.
    pub elicitation: Option<HookElicitation>,
    /// Warnings and messages that clients show to the user.
    pub notices: Vec<HookNotice>,
}

/// How hooks answer a question of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookElicitation {
    /// The question is accepted, with the content of the form.
    Accept(Map<String, Value>),
    /// The user refuses to answer.
    Decline,
    /// The user neither answers nor refuses.
    Cancel,
}

/// A hook's decision about a call that has not run. A denial is a block instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookPermission {
    /// Whether the call may run, needs approval, or is decided later.
    pub verdict: HookVerdict,
    /// Why; `None` if the hook gives no reason.
    pub reason: Option<String>,
}

/// Says what a hook decides about a call, from least to most strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookVerdict {
    /// The call may run without approval.
    Allow,
    /// The call needs a user's approval.
    Ask,
    /// The program that runs the session decides later. Until programs can, it counts as ask.
    Defer,
}

/// The properties of a hook that affect how its output is interpreted.
#[derive(Debug, Clone)]
pub(super) struct HookInfo {
    pub(super) label: String,
    pub(super) strict: bool,
}

impl From<&HookDefinition> for HookInfo {
    fn from(definition: &HookDefinition) -> Self {
        Self { label: definition.label(), strict: definition.blocks_on_failure() }
    }
}

impl HookOutput {
    /// Parses the output of a hook at that event.
    #[must_use]
    pub fn read(event: HookEvent, definition: &HookDefinition, exit: &HookExit) -> Self {
        Reader { event, hook: definition.into(), output: Self::default() }.read(exit)
    }
}

struct Reader {
    event: HookEvent,
    hook: HookInfo,
    output: HookOutput,
}

impl Reader {
    fn read(mut self, exit: &HookExit) -> HookOutput {
        match &exit.end {
            HookEnd::Code(0) => self.on_success(exit),
            HookEnd::Code(2) => self.on_block_code(exit),
            // The shell could not run the command at all. That is no answer of the hook, and
            // treating it as a warning would let calls through.
            HookEnd::Code(code @ (126 | 127)) => {
                let why = if *code == 126 { "may not be run" } else { "was not found" };
                self.fail(&with_stderr(&format!("its command {why} (code {code})"), &exit.stderr));
            }
            // A shell reports with these codes that a signal ended the command.
            HookEnd::Code(code @ 129..=192) => {
                self.fail(&with_stderr(&format!("signal {} ended it", code - 128), &exit.stderr));
            }
            HookEnd::Code(code) => self.on_other_code(*code, exit),
            HookEnd::Signal(signal) => {
                self.fail(&with_stderr(&format!("signal {signal} ended it"), &exit.stderr));
            }
            // The call has run, and a slow hook has not judged it: withholding the result would make
            // the model repeat the call.
            HookEnd::TimedOut if self.event.is_after_call() && !self.hook.strict => {
                self.warn("its time was up");
            }
            HookEnd::TimedOut => self.fail("its time was up"),
            HookEnd::Failed(why) => self.fail(&truncated(why)),
        }
        self.output
    }

    /// Handles exit code 0.
    fn on_success(&mut self, exit: &HookExit) {
        match json(exit) {
            Some(Ok(wire)) => self.apply_json(wire),
            Some(Err(why)) => self.fail(&why),
            None => {
                let text = plain_text(&exit.stdout);
                if self.event.text_is_context() && !text.is_empty() {
                    self.output.context = Some(text);
                } else if self.event == HookEvent::WorktreeCreate {
                    self.output.worktree_path = last_line(exit);
                }
            }
        }
    }

    /// Handles exit code 2: a block, which the rest of the output cannot lift.
    fn on_block_code(&mut self, exit: &HookExit) {
        if let Some(Ok(wire)) = json(exit) {
            self.apply_json(wire);
        }
        // Exit code 2 blocks: an allow in the same output contradicts it, and the stricter one
        // counts.
        self.output.permission = None;
        self.output.updated_permissions.clear();
        self.output.elicitation = None;
        if self.output.block.is_none() && self.output.feedback.is_none() {
            let text = plain_text(&exit.stderr);
            let reason = if text.is_empty() { self.no_reason() } else { text };
            self.block(reason);
        }
    }

    /// Handles an exit code without a special meaning.
    fn on_other_code(&mut self, code: i32, exit: &HookExit) {
        let why = with_stderr(&format!("it ended with code {code}"), &exit.stderr);
        match json(exit) {
            _ if self.hook.strict || self.event.fails_on_any_code() => self.fail(&why),
            Some(Err(unreadable)) => self.fail(&unreadable),
            Some(Ok(wire)) => {
                self.apply_json(wire);
                // A hook that failed may block, but must not allow anything.
                if matches!(&self.output.permission, Some(it) if it.verdict == HookVerdict::Allow) {
                    self.output.permission = None;
                }
                self.output.updated_permissions.clear();
                if matches!(self.output.elicitation, Some(HookElicitation::Accept(_))) {
                    self.output.elicitation = None;
                }
                self.warn(&why);
            }
            None => self.warn(&why),
        }
    }

    fn apply_json(&mut self, wire: Wire) {
        let event = self.event;
        let specific = wire.hook_specific_output.unwrap_or_default();
        if let Some(name) = specific.hook_event_name.filter(|name| name != event.name()) {
            let name: String = name.chars().take(40).collect();
            self.fail(&format!("its answer is for the event `{}`", name.escape_debug()));
        }
        if let Some(message) = wire.system_message.filter(|text| !text.trim().is_empty()) {
            self.output.notices.push(HookNotice::message(event, truncated(&message)));
        }
        if wire.r#continue == Some(false) {
            let reason = wire.stop_reason.or_else(|| wire.reason.clone());
            self.output.stop = Some(reason.map_or_else(|| self.no_reason(), |it| truncated(&it)));
        }
        let reason = wire.reason.map(|reason| truncated(&reason));
        // `ok` is the answer of prompt hooks, which ask a model for it.
        let decision = if wire.ok == Some(false) { Some(Decision::Block) } else { wire.decision };
        match decision {
            Some(Decision::Block) => {
                self.block(reason.unwrap_or_else(|| self.no_reason()));
            }
            Some(Decision::Approve)
                if matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest) =>
            {
                self.output.permission =
                    Some(HookPermission { verdict: HookVerdict::Allow, reason });
            }
            Some(Decision::Approve) | None => {}
        }
        let RequestDecision { behavior, message, updated_input, updated_permissions, interrupt } =
            specific.decision.filter(|_| event == HookEvent::PermissionRequest).unwrap_or_default();
        let reason = message.or(specific.permission_decision_reason);
        let reason = reason.map(|reason| truncated(&reason));
        let verdict = match behavior.or(specific.permission_decision) {
            // At a gate, "deny" always blocks. At PostToolUse it withholds the result.
            Some(Permission::Deny) if event.is_gate() => {
                let reason = reason.clone().unwrap_or_else(|| self.no_reason());
                if interrupt {
                    self.output.stop.get_or_insert_with(|| reason.clone());
                }
                self.output.block.get_or_insert(reason);
                None
            }
            Some(Permission::Allow) => Some(HookVerdict::Allow),
            Some(Permission::Ask) => Some(HookVerdict::Ask),
            Some(Permission::Defer) => Some(HookVerdict::Defer),
            Some(Permission::Deny) | None => None,
        };
        if matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest) {
            if let Some(verdict) = verdict {
                self.output.permission = Some(HookPermission { verdict, reason });
            }
            self.output.updated_input = updated_input.or(specific.updated_input);
            self.update_permissions(updated_permissions);
        }
        if event.is_after_call() {
            self.output.updated_output =
                specific.updated_tool_output.or(specific.updated_mcp_tool_output);
        }
        if event == HookEvent::WorktreeCreate {
            self.output.worktree_path = specific.worktree_path;
        }
        if matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit) {
            let title = specific.session_title.map(|title| title.trim().to_owned());
            self.output.session_title = title.filter(|it| !it.is_empty()).map(|it| truncated(&it));
        }
        if event == HookEvent::SessionStart {
            let message = specific.initial_user_message.filter(|text| !text.trim().is_empty());
            self.output.initial_user_message = message.map(|text| truncated(&text));
        }
        if event.is_elicitation() {
            self.output.elicitation = specific.action.map(|action| match action {
                Action::Accept => HookElicitation::Accept(specific.content.unwrap_or_default()),
                Action::Decline => HookElicitation::Decline,
                Action::Cancel => HookElicitation::Cancel,
            });
        }
        let context = specific.additional_context.filter(|text| !text.trim().is_empty());
        self.output.context = context.map(|text| truncated(&text));
    }

    /// Takes the changes of permissions that come with the call; those that cannot be read are reported.
    fn update_permissions(&mut self, updates: Vec<Value>) {
        let (updates, problems) = PermissionUpdate::read_all(updates);
        self.output.updated_permissions = updates;
        for problem in problems {
            self.warn(&problem);
        }
    }

    /// Blocks, where the event can be blocked; the first reason is kept. Otherwise warns.
    fn block(&mut self, reason: String) {
        if self.event.is_after_call() {
            self.output.feedback.get_or_insert(reason);
        } else if self.event.can_block() {
            self.output.block.get_or_insert(reason);
        } else {
            self.warn(&reason);
        }
    }

    /// Handles a failed hook: nothing in its output may count as an approval.
    fn fail(&mut self, why: &str) {
        // After a failed call a strict hook withholds the result, as at the gate after one that succeeded.
        let may_refuse = self.event.can_block() || self.event.is_after_call();
        let refuses = self.event.is_gate() || self.hook.strict && may_refuse;
        if refuses {
            let reason = format!("the {} {} failed: {why}", self.event, self.hook.label);
            self.output.block.get_or_insert(reason);
        } else {
            self.warn(why);
        }
    }

    fn warn(&mut self, why: &str) {
        let text = format!("{} {}: {why}", self.event, self.hook.label);
        self.output.notices.push(HookNotice::warning(self.event, text));
    }

    fn no_reason(&self) -> String {
        format!("the {} {} gave no reason", self.event, self.hook.label)
    }
}

/// Parses standard output as JSON; `None` if it does not start like JSON.
fn json(exit: &HookExit) -> Option<Result<Wire, String>> {
    let text = exit.stdout.trim_ascii_start();
    let text = text.strip_prefix(b"\xEF\xBB\xBF").map_or(text, <[u8]>::trim_ascii_start);
    if text.first() != Some(&b'{') {
        return None;
    }
    if exit.stdout_cut || exit.stdout.len() > MAX_STDOUT {
        return Some(Err(format!("its JSON is longer than {MAX_STDOUT} bytes")));
    }
    Some(
        serde_json::from_slice(text)
            .map_err(|error| truncated(&format!("its JSON cannot be read: {error}"))),
    )
}

/// Converts bytes to trimmed text of limited length.
pub(super) fn plain_text(bytes: &[u8]) -> String {
    // A character has at most four bytes, so bytes after these cannot be part of the text.
    let most = bytes.len().min(4 * (MAX_TEXT + 1));
    truncated(String::from_utf8_lossy(&bytes[..most]).trim())
}

fn with_stderr(why: &str, stderr: &[u8]) -> String {
    let text = plain_text(stderr);
    if text.is_empty() { why.to_owned() } else { format!("{why}: {text}") }
}

fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        None => text.to_owned(),
        Some((at, _)) => format!("{} [cut]", &text[..at]),
    }
}

fn last_line(exit: &HookExit) -> Option<String> {
    if exit.stdout_cut || exit.stdout.len() > MAX_STDOUT {
        return None;
    }
    let text = std::str::from_utf8(&exit.stdout).ok()?;
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(truncated)
}

#[cfg(test)]
mod tests;
