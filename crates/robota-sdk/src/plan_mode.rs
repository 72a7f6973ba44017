//! Plan mode with approval of the plan: the model plans, the user approves, and the session continues in
//! another mode.

use async_trait::async_trait;
use robota_core::hook::{HookAnswer, HookInput, HookPoint, HookReply, Hooks, PromptDecision};
use robota_core::ids::SessionId;
use robota_core::permission::{Class, Mode};
use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use crate::interactive::{InteractiveSession, OpenSessions};

/// The name of the tool that begins plan mode.
const ENTER_PLAN_MODE: &str = "EnterPlanMode";

/// The name of the tool that ends plan mode.
const EXIT_PLAN_MODE: &str = "ExitPlanMode";

/// What the model reads with each prompt in plan mode.
const NOTICE: &str = "<plan-mode>\nPlan mode is active: only calls that read are allowed. Find out what \
    you need, then call ExitPlanMode with your plan. The user approves it or asks for changes. If the \
    task changes nothing, such as a question, answer without it.\n</plan-mode>";

/// Ends plan mode once the user has approved the plan. The gate asks about every call of it in plan
/// mode, even if a rule allows it. The client that approves may choose the next mode first;
/// otherwise it is `default`, or `dontAsk` if plan mode was entered from there: an approved plan allows
/// no more questions than before.
pub(crate) struct ExitPlanMode {
    spec: ToolSpec,
    open: OpenSessions,
}

impl ExitPlanMode {
    pub(crate) fn new(open: OpenSessions) -> Self {
        let spec = ToolSpec {
            name: EXIT_PLAN_MODE.to_owned(),
            description:
                "Shows your plan to the user and asks for approval. Only in plan mode, when \
                          the plan is complete."
                    .to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "plan": {"type": "string", "description": "The plan, as Markdown"},
                },
                "required": ["plan"],
            }),
            // Plan mode denies what changes files, so the tool that ends it counts as one that
            // reads.
            class: Class::Inspect,
        };
        Self { spec, open }
    }
}

#[async_trait]
impl Tool for ExitPlanMode {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        let session = context.scope.session.as_ref().and_then(|id| self.open.get(id));
        let Some(session) = session else {
            return ToolOutcome::not_run("unavailable", "the session is not open");
        };
        let plan = input.get("plan").cloned().unwrap_or_default();
        match mode(&session) {
            Mode::Plan => match session.set_mode(after_plan(&session)).await {
                Ok(()) => {
                    let text = "The user approved the plan. Plan mode has ended: carry it out now.";
                    ToolOutcome::ok(text).with_metadata("plan", plan)
                }
                Err(error) => ToolOutcome::failed("plan_mode", error.to_string()),
            },
            // The client that approved the plan has chosen the mode, or the session was not in plan
            // mode.
            other => {
                let text =
                    format!("Plan mode is not active (mode {other}): carry out the plan now.");
                ToolOutcome::ok(text).with_metadata("plan", plan)
            }
        }
    }
}

/// Begins plan mode. It needs no approval: the mode only takes permissions away, and the user
/// approves the plan that ends it.
pub(crate) struct EnterPlanMode {
    spec: ToolSpec,
    open: OpenSessions,
}

impl EnterPlanMode {
    pub(crate) fn new(open: OpenSessions) -> Self {
        let spec = ToolSpec {
            name: ENTER_PLAN_MODE.to_owned(),
            description:
                "Switches to plan mode: you only read, then show a plan with ExitPlanMode. \
                          For large or unclear tasks."
                    .to_owned(),
            input_schema: json!({"type": "object", "properties": {}}),
            class: Class::Inspect,
        };
        Self { spec, open }
    }
}

#[async_trait]
impl Tool for EnterPlanMode {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Value, context: ToolContext) -> ToolOutcome {
        let session = context.scope.session.as_ref().and_then(|id| self.open.get(id));
        let Some(session) = session else {
            return ToolOutcome::not_run("unavailable", "the session is not open");
        };
        match mode(&session) {
            Mode::Plan => return ToolOutcome::ok("Plan mode is already active."),
            // A plan ends with a question to the user, and then with a mode that asks.
            Mode::DontAsk => {
                let text = "The permission mode `dontAsk` does not ask the user, so no plan can be \
                            approved. Work without plan mode.";
                return ToolOutcome::failed("plan_mode", text);
            }
            Mode::Default | Mode::AcceptEdits | Mode::BypassPermissions => {}
        }
        match session.set_mode(Mode::Plan).await {
            Ok(()) => ToolOutcome::ok(NOTICE),
            Err(error) => ToolOutcome::failed("plan_mode", error.to_string()),
        }
    }
}

/// Returns the mode in which an approved plan is carried out.
fn after_plan(session: &InteractiveSession) -> Mode {
    match session.session().permissions().mode_before_plan() {
        Some(Mode::DontAsk) => Mode::DontAsk,
        Some(Mode::Plan | Mode::Default | Mode::AcceptEdits | Mode::BypassPermissions) | None => {
            Mode::Default
        }
    }
}

fn mode(session: &InteractiveSession) -> Mode {
    session.session().permissions().mode()
}

/// Reports plan mode to the model, with each prompt.
pub(crate) struct PlanNotices {
    pub(crate) open: OpenSessions,
    pub(crate) session: SessionId,
}

impl PlanNotices {
    fn is_active(&self) -> bool {
        self.open.get(&self.session).is_some_and(|session| mode(&session) == Mode::Plan)
    }
}

#[async_trait]
impl Hooks for PlanNotices {
    fn has_point(&self, point: HookPoint) -> bool {
        match point {
            HookPoint::UserPromptSubmit => self.is_active(),
            HookPoint::PreToolUse
            | HookPoint::PostToolUse
            | HookPoint::PostToolBatch
            | HookPoint::Stop => false,
        }
    }

    async fn run(&self, _: HookInput) -> HookReply {
        // Asked again: the mode may have changed since the point was looked up.
        let context = self.is_active().then(|| NOTICE.to_owned());
        HookAnswer::UserPromptSubmit(PromptDecision::Continue { context }).into()
    }
}
