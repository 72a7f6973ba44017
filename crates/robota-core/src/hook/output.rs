//! What one hook says: its exit code and its JSON, read the way the event allows.
//!
//! | end | means |
//! |---|---|
//! | 0 | go on; standard output is read |
//! | 2 | block; the JSON's reason, else standard error, says why |
//! | 126, 127, 129 to 192, a signal, a timeout, not run | a failure: blocks at a gate, else a warning |
//! | any other code | a warning; its JSON counts, except that it cannot allow |
//!
//! Output that starts with `{` is meant as JSON: when it cannot be read, or says a word that is
//! not known where a decision belongs, that is a failure too. Fields nobody knows are ignored.

mod wire;

use serde_json::{Map, Value};

use super::{HookDefinition, HookEnd, HookEvent, HookExit, HookNotice};
use wire::{Decision, Permission, Wire};

/// How many bytes of standard output are read; JSON that is longer cannot be.
pub const MAX_STDOUT: usize = 1 << 20;

/// How many characters of a reason, a context or a message are kept.
pub const MAX_TEXT: usize = 10_000;

/// What one hook says, or all of one event together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookOutput {
    /// All work is to stop (`continue: false`); why.
    pub stop: Option<String>,
    /// What is about to happen is not to; why.
    pub block: Option<String>,
    /// About a call that has not run.
    pub permission: Option<HookPermission>,
    /// Arguments in place of all those of the call.
    pub updated_input: Option<Map<String, Value>>,
    /// A result in place of that of the call.
    pub updated_output: Option<Value>,
    /// Words for the model.
    pub context: Option<String>,
    /// Where the worktree lies that the hook made.
    pub worktree_path: Option<String>,
    /// What people should see.
    pub notices: Vec<HookNotice>,
}

/// About a call that has not run; a denial is a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookPermission {
    /// What is to happen.
    pub verdict: HookVerdict,
    /// Why.
    pub reason: Option<String>,
}

/// What is to happen with a call, from loosest to strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookVerdict {
    /// It may run.
    Allow,
    /// Somebody must be asked.
    Ask,
    /// Whoever runs the session decides later. Until somebody can, it counts as asking.
    Defer,
}

/// A hook, as far as reading its words depends on it.
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
    /// Reads what a hook said at that event.
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
            HookEnd::Code(code @ (126 | 127)) => {
                let why = if *code == 126 { "may not be run" } else { "was not found" };
                self.fail(&with_stderr(&format!("its command {why} (code {code})"), &exit.stderr));
            }
            // A shell's way to say that a signal ended what it ran.
            HookEnd::Code(code @ 129..=192) => {
                self.fail(&with_stderr(&format!("signal {} ended it", code - 128), &exit.stderr));
            }
            HookEnd::Code(code) => self.on_other_code(*code, exit),
            HookEnd::Signal(signal) => {
                self.fail(&with_stderr(&format!("signal {signal} ended it"), &exit.stderr));
            }
            HookEnd::TimedOut => self.fail("its time was up"),
            HookEnd::Failed(why) => self.fail(&truncated(why)),
        }
        self.output
    }

    /// Code 0.
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

    /// Code 2: a block, whatever else is said.
    fn on_block_code(&mut self, exit: &HookExit) {
        if let Some(Ok(wire)) = json(exit) {
            self.apply_json(wire);
        }
        self.output.permission = None;
        if self.output.block.is_none() {
            let text = plain_text(&exit.stderr);
            let reason = if text.is_empty() { self.no_reason() } else { text };
            self.block(reason);
        }
    }

    /// A code that means nothing in particular.
    fn on_other_code(&mut self, code: i32, exit: &HookExit) {
        let why = with_stderr(&format!("it ended with code {code}"), &exit.stderr);
        match json(exit) {
            _ if self.hook.strict || self.event.fails_on_any_code() => self.fail(&why),
            Some(Err(unreadable)) => self.fail(&unreadable),
            Some(Ok(wire)) => {
                self.apply_json(wire);
                // A hook that went wrong may refuse; it may not let anything through.
                if matches!(&self.output.permission, Some(said) if said.verdict == HookVerdict::Allow) {
                    self.output.permission = None;
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
        match wire.decision {
            Some(Decision::Block) => {
                self.block(reason.unwrap_or_else(|| self.no_reason()));
            }
            Some(Decision::Approve) if event == HookEvent::PreToolUse => {
                self.output.permission = Some(HookPermission { verdict: HookVerdict::Allow, reason });
            }
            Some(Decision::Approve) | None => {}
        }
        let reason = specific.permission_decision_reason.map(|reason| truncated(&reason));
        let verdict = match specific.permission_decision {
            // Nobody says "deny" at a gate and means "go on".
            Some(Permission::Deny) if event.is_gate() => {
                self.block(reason.clone().unwrap_or_else(|| self.no_reason()));
                None
            }
            Some(Permission::Allow) => Some(HookVerdict::Allow),
            Some(Permission::Ask) => Some(HookVerdict::Ask),
            Some(Permission::Defer) => Some(HookVerdict::Defer),
            Some(Permission::Deny) | None => None,
        };
        if event == HookEvent::PreToolUse {
            if let Some(verdict) = verdict {
                self.output.permission = Some(HookPermission { verdict, reason });
            }
            self.output.updated_input = specific.updated_input;
        }
        if event == HookEvent::PostToolUse {
            self.output.updated_output = specific.updated_tool_output;
        }
        if event == HookEvent::WorktreeCreate {
            self.output.worktree_path = specific.worktree_path;
        }
        let context = specific.additional_context.filter(|text| !text.trim().is_empty());
        self.output.context = context.map(|text| truncated(&text));
    }

    /// It says no, where that means something; the first reason stays.
    fn block(&mut self, reason: String) {
        if self.event.can_block() {
            self.output.block.get_or_insert(reason);
        } else {
            self.warn(&reason);
        }
    }

    /// It did not do its work: no word of it may be taken for a yes.
    fn fail(&mut self, why: &str) {
        let refuses = self.event.is_gate() || self.hook.strict && self.event.can_block();
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
        format!("the {} {} says so, without a reason", self.event, self.hook.label)
    }
}

/// Output that is meant as JSON, read; nothing when it is not meant so.
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

/// Text out of any bytes, within bounds.
fn plain_text(bytes: &[u8]) -> String {
    // A character takes at most four bytes, so more than these cannot matter.
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
