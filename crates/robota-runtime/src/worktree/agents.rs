//! Gives agents a worktree: made before they start, and removed or kept when they have ended.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt as _;
use robota_core::task::{
    Isolation, TaskError, TaskErrorCategory, TaskFinished, TaskKind, TaskPlace, TaskWorktree,
};

use super::{Removed, Worktree, WorktreeError, Worktrees};
use crate::task::{TaskJob, TaskReporter, TaskRunner, TaskWork};

/// Runs when worktrees are made and removed.
#[async_trait]
pub trait WorktreeHooks: Send + Sync {
    /// Runs before a worktree is made. Returns the path of one that a hook made instead.
    ///
    /// # Errors
    /// If it must not be made; the text says why.
    async fn create(&self, name: &str) -> Result<Option<PathBuf>, String>;

    /// Runs after a worktree was removed, or, if a hook made it, to remove it.
    async fn removed(&self, path: &str);
}

/// Runs no hooks when worktrees are made and removed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWorktreeHooks;

#[async_trait]
impl WorktreeHooks for NoWorktreeHooks {
    async fn create(&self, _: &str) -> Result<Option<PathBuf>, String> {
        Ok(None)
    }

    async fn removed(&self, _: &str) {}
}

/// Runs agents in worktrees, if they ask for one.
#[derive(Clone)]
pub struct WorktreeAgents {
    inner: Arc<dyn TaskRunner>,
    worktrees: Worktrees,
    hooks: Arc<dyn WorktreeHooks>,
    cwd: PathBuf,
    carry: bool,
}

impl WorktreeAgents {
    /// Wraps a runner of agents that work in this folder.
    pub fn new(inner: Arc<dyn TaskRunner>, worktrees: Worktrees, cwd: impl Into<PathBuf>) -> Self {
        let hooks = Arc::new(NoWorktreeHooks);
        Self { inner, worktrees, hooks, cwd: cwd.into(), carry: false }
    }

    /// Sets the hooks that run when worktrees are made and removed.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn WorktreeHooks>) -> Self {
        self.hooks = hooks;
        self
    }

    /// Lets worktrees begin with the uncommitted changes of the folder.
    #[must_use]
    pub fn carry(mut self, carry: bool) -> Self {
        self.carry = carry;
        self
    }

    async fn prepare(&self, name: &str) -> Result<Place, WorktreeError> {
        match self.hooks.create(name).await {
            Err(reason) => Err(WorktreeError::Refused(reason)),
            Ok(Some(path)) => Ok(Place::OfHook(path)),
            Ok(None) => {
                let made = self.worktrees.prepare(&self.cwd, name, self.carry).await?;
                Ok(Place::Git(made))
            }
        }
    }

    /// Removes the worktree or keeps it. Returns it if it was kept, and why.
    async fn settle(&self, place: &Place) -> Option<(TaskWorktree, Vec<String>)> {
        match place {
            // Only the hook knows how to remove what it made, and whether work is in it.
            Place::OfHook(path) => {
                self.hooks.removed(&path.display().to_string()).await;
                None
            }
            Place::Git(worktree) => match self.worktrees.settle(worktree).await {
                Removed::Removed { .. } => {
                    self.hooks.removed(&worktree.path.display().to_string()).await;
                    None
                }
                Removed::Kept { reasons } => Some((place.described(), reasons)),
            },
        }
    }
}

/// The worktree of an agent.
enum Place {
    Git(Worktree),
    OfHook(PathBuf),
}

impl Place {
    fn cwd(&self) -> PathBuf {
        match self {
            Self::Git(worktree) => worktree.cwd.clone(),
            Self::OfHook(path) => path.clone(),
        }
    }

    fn described(&self) -> TaskWorktree {
        match self {
            Self::Git(worktree) => TaskWorktree {
                path: worktree.path.display().to_string(),
                branch: worktree.branch.clone(),
            },
            Self::OfHook(path) => {
                TaskWorktree { path: path.display().to_string(), branch: String::new() }
            }
        }
    }
}

/// The worktree of an agent that runs. If the runner is dropped, because the agent did not end in time,
/// the worktree is kept and unlocked: it can be looked at and removed, though this process still runs.
struct HeldWorktree {
    agents: WorktreeAgents,
    reporter: TaskReporter,
    place: Option<Place>,
}

impl HeldWorktree {
    /// Removes the worktree or keeps it. Returns it if it was kept, and why.
    async fn settle(mut self) -> Option<(TaskWorktree, Vec<String>)> {
        let (agents, place) = (self.agents.clone(), self.place.take()?);
        let described = place.described();
        // In a task of its own: in a large repository git may need more time than a cancelled task has,
        // and a removal that has begun must not stop in the middle.
        let report = self.reporter.settling();
        let settling = tokio::spawn(async move {
            let settled = agents.settle(&place).await;
            // The manager reads this only if the runner was dropped.
            let _ = report.send(settled.as_ref().map(|(kept, _)| kept.clone()));
            settled
        });
        settling.await.unwrap_or_else(|error| Some((described, vec![error.to_string()])))
    }
}

impl Drop for HeldWorktree {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let agents = self.agents.clone();
        let settled = matches!(place, Place::OfHook(_)).then(|| self.reporter.settling());
        drop(runtime.spawn(async move {
            match (&place, settled) {
                (Place::OfHook(_), Some(settled)) => {
                    let kept = agents.settle(&place).await.map(|(kept, _)| kept);
                    let _ = settled.send(kept);
                }
                (Place::Git(worktree), _) => agents.worktrees.unlock(worktree).await,
                (Place::OfHook(_), None) => {}
            }
        }));
    }
}

#[async_trait]
impl TaskRunner for WorktreeAgents {
    fn kind(&self) -> TaskKind {
        TaskKind::Agent
    }

    async fn run(&self, mut job: TaskJob, reporter: TaskReporter) -> TaskFinished {
        let isolated = match &job.work {
            TaskWork::Agent(work) => work.isolation == Isolation::Worktree,
            TaskWork::Process(_) => false,
        };
        if !isolated {
            return self.inner.run(job, reporter).await;
        }
        let place = match self.prepare(job.task.as_str()).await {
            Ok(place) => place,
            Err(error) => {
                let text = format!("no worktree was made: {error}");
                return TaskFinished::failed(TaskError::new(TaskErrorCategory::Start, text));
            }
        };
        let worktree = Some(place.described());
        reporter.placed(TaskPlace { worktree, ..TaskPlace::default() });
        if let TaskWork::Agent(work) = &mut job.work {
            work.cwd = Some(place.cwd());
        }
        let held =
            HeldWorktree { agents: self.clone(), reporter: reporter.clone(), place: Some(place) };
        // A panic must not leave the worktree behind.
        let ran = AssertUnwindSafe(self.inner.run(job, reporter.clone())).catch_unwind().await;
        let mut end = ran.unwrap_or_else(|_| {
            TaskFinished::failed(TaskError::new(TaskErrorCategory::Crash, "it crashed"))
        });
        if let Some((kept, reasons)) = held.settle().await {
            reporter.text(&format!("\n[kept {}: {}]\n", kept.path, reasons.join(", ")));
            end.worktree = Some(kept);
        }
        end
    }
}
