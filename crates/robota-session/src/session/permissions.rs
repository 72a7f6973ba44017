//! The permissions of a session.

use std::path::{Path, PathBuf};
use std::sync::Weak;

use robota_core::approve::{Answer, Approver as _, Question, Scope};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::ModeChanged;
use robota_core::gate::{Gate, Judgement, Restrictions, judge_call};
use robota_core::ids::CallId;
use robota_core::message::ToolUse;
use robota_core::permission::{
    DirectoryUpdate, Mode, PermissionUpdate, UpdateDestination, Verdict,
};
use robota_core::tool::{Tool, ToolSpec};

use super::{Session, TurnPermissions};
use crate::actor::Request;
use crate::approvals::Decision;
use crate::error::SessionError;

/// Reads and changes the permissions of a session: mode, questions, rules.
#[derive(Clone)]
pub struct Permissions(pub(super) Session);

impl Permissions {
    /// Returns the permission mode that the next call is judged by.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.0.shared.turn_setup().setup.mode
    }

    /// Returns the mode from which plan mode was entered; none in other modes, and if the session began in
    /// plan mode.
    #[must_use]
    pub fn mode_before_plan(&self) -> Option<Mode> {
        self.0.shared.turn_setup().setup.before_plan
    }

    /// Sets the permission mode, from the next call on.
    ///
    /// # Errors
    /// If it could not be recorded; then the mode does not change.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), SessionError> {
        self.0.append(vec![ModeChanged { mode }.into()]).await?;
        let setup = &mut self.0.shared.turn_setup_mut().setup;
        setup.before_plan = match (mode, setup.mode) {
            (Mode::Plan, Mode::Plan) => setup.before_plan,
            (Mode::Plan, before) => Some(before),
            _ => None,
        };
        setup.mode = mode;
        setup.base.gate.set_mode(mode);
        Ok(())
    }

    /// Returns the questions that wait for an answer, oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<Question> {
        self.0.shared.approvals.pending()
    }

    /// Returns a receiver that is notified when a question is added to the [pending](Self::pending) ones
    /// or removed. Questions of subagents are not events of this session's journal.
    #[must_use]
    pub fn pending_changes(&self) -> tokio::sync::watch::Receiver<()> {
        self.0.shared.approvals.changes()
    }

    /// Asks the approver or the clients of this session about a call of another session, such as
    /// that of a subagent. The question is among the [pending](Self::pending) ones until it is
    /// answered or this future is dropped.
    pub async fn ask(&self, question: Question) -> Answer {
        let approvals = self.0.shared.approvals.clone();
        approvals.ask(question).await
    }

    /// Answers a question. A question can be answered as soon as the journal has it, and the answer
    /// counts even if the caller drops this future.
    ///
    /// # Errors
    /// If there is no question about that call, or it was answered already.
    pub async fn decide(
        &self,
        call: &CallId,
        decision: Decision,
        note: Option<String>,
    ) -> Result<(), SessionError> {
        self.0.shared.approvals.decide(call, decision, None, note).await
    }

    /// Allows a call, and calls that match these rules as far as the scope says. The user wrote or
    /// changed the rules; [`Permissions::decide`] takes those of the question.
    ///
    /// # Errors
    /// If there is no question about that call, or it was answered already.
    pub async fn allow_with_rules(
        &self,
        call: &CallId,
        scope: Scope,
        rules: Vec<String>,
        note: Option<String>,
    ) -> Result<(), SessionError> {
        let decision = Decision::Allow(scope);
        self.0.shared.approvals.decide(call, decision, Some(rules), note).await
    }

    /// Returns the rules that the user allowed for this session.
    #[must_use]
    pub fn session_allowed(&self) -> Vec<String> {
        self.0.shared.turn_setup().setup.base.gate.remembered()
    }

    /// Decides about a call as for a call of the model, without asking the user.
    pub async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let gate = self.0.shared.turn_setup().setup.base.gate.clone();
        gate.judge(call, tool).await
    }

    /// Decides about a call of a tool that the program makes itself, without asking the user. A call that
    /// one of these rules allows is allowed, too; a rule that denies or asks is stronger.
    pub async fn judge_allowing(
        &self,
        rules: &[String],
        call: &ToolUse,
        tool: &dyn Tool,
    ) -> Judgement {
        let gate = self.0.shared.turn_setup().setup.base.gate.clone();
        let allowing = if rules.is_empty() { None } else { gate.allowing(rules) };
        judge_call(&*allowing.unwrap_or(gate), tool, call).await
    }

    /// Adds rules that apply until the running turn ends. Those that deny calls are recorded: they
    /// also apply when the turn is continued. Returns the rules that are not valid; without a running
    /// turn, all of them.
    ///
    /// # Errors
    /// If the session has ended, or the rules could not be recorded; they apply to this turn then.
    pub async fn add_turn_rules(
        &self,
        rules: TurnPermissions,
    ) -> Result<Vec<String>, SessionError> {
        self.0.ask(|reply| Request::AddTurnRules { rules, reply }).await
    }

    /// Adds rules for this session that deny calls, or require approval for them.
    ///
    /// # Errors
    /// If a rule is not valid, or the verdict is allow.
    pub fn restrict(&self, verdict: Verdict, rules: &[String]) -> Result<(), SessionError> {
        let gate = self.0.shared.turn_setup().setup.base.gate.clone();
        gate.restrict(verdict, rules)
            .map_err(|why| SessionError::Failed(ErrorData::new(ErrorKind::Validation, why)))
    }

    /// Adds a folder to the workspace until the session ends: for the calls that are judged from now on,
    /// and for the sandbox of the commands that start from now on. Approvals can make the same change.
    ///
    /// # Errors
    /// If the gate or the sandbox cannot add it; then nothing changes.
    pub fn add_folder(&self, folder: &Path) -> Result<(), SessionError> {
        let failed = |why| SessionError::Failed(ErrorData::new(ErrorKind::Validation, why));
        let Some(text) = folder.to_str() else {
            return Err(failed(format!("the path {} is not UTF-8", folder.display())));
        };
        let update = PermissionUpdate::AddDirectories(DirectoryUpdate {
            directories: vec![text.to_owned()],
            destination: UpdateDestination::Session,
        });
        let gate = self.0.shared.turn_setup().setup.base.gate.clone();
        gate.update(&update, None).map_err(failed)
    }

    /// Returns the rules of this session and of its running turn that deny calls or require approval,
    /// besides those of the settings.
    #[must_use]
    pub fn restrictions(&self) -> Restrictions {
        self.0.shared.turn_setup().setup.base.gate.restrictions()
    }

    /// Returns the folders that belong to the workspace besides the working folder; none if the gate has
    /// no workspace.
    #[must_use]
    pub fn folders(&self) -> Option<Vec<PathBuf>> {
        let gate = self.0.shared.turn_setup().setup.base.gate.clone();
        gate.folders()
    }

    /// Replaces the folders of [`Permissions::folders`].
    ///
    /// # Errors
    /// If the sandbox cannot follow; then nothing changes.
    pub fn set_folders(&self, folders: &[PathBuf]) -> Result<(), SessionError> {
        let gate = self.0.shared.turn_setup().setup.base.gate.clone();
        gate.set_folders(folders)
            .map_err(|why| SessionError::Failed(ErrorData::new(ErrorKind::Validation, why)))
    }

    /// Passes later changes on to the gate of a subagent, as long as that exists: rules that deny calls or
    /// require approval, and the folders of the workspace.
    pub fn pass_changes_to(&self, gate: Weak<dyn Gate>) {
        let own = self.0.shared.turn_setup().setup.base.gate.clone();
        own.pass_changes_to(gate);
    }

    /// Revokes some of the rules that the user allowed for this session.
    pub fn revoke(&self, rules: &[String]) {
        let gate = self.0.shared.turn_setup().setup.base.gate.clone();
        let mut kept = gate.remembered();
        kept.retain(|rule| !rules.contains(rule));
        gate.forget();
        // Cannot fail: these rules were valid when they were added.
        let _ = gate.remember(&kept);
    }

    /// Revokes the rules that the user allowed for this session; the calls ask again.
    pub fn clear_session_allowed(&self) {
        self.0.shared.turn_setup().setup.base.gate.forget();
    }
}
