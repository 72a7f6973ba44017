//! Makes the task manager of a session and of each of its forks.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::time::Duration;

use robota_config::SettingsFile;
use robota_core::hook::HookRunner;
use robota_core::ids::SessionId;
use robota_core::tool::Tool;
use robota_runtime::{
    AgentRunners, FileLogs, InProcessAgents, ProcessAgents, ProcessTasks, TaskManager,
    TaskManagerOptions, TaskRunner, WorktreeAgents, Worktrees,
};
use robota_tools::AgentTool;

use super::{NewManagers, log_folder};
use crate::agents::{
    AgentParts, AgentRuns, SessionAgentProcesses, SessionAgentRunner, SessionAgents,
    SettingsAgentHooks,
};
use crate::settings_hooks::HookFiles;

/// The parts from which the tasks of a session and its forks are created.
#[derive(Clone)]
pub(crate) struct SessionRuntime {
    pub(crate) parts: Arc<AgentParts>,
    pub(crate) hooks: Arc<HookRunner>,
    /// The scripts that hooks run.
    pub(crate) files: HookFiles,
    /// Whether the text of tasks is written to files.
    pub(crate) log_files: bool,
    pub(crate) new: NewManagers,
}

impl SessionRuntime {
    /// Creates the manager of a session.
    pub(crate) fn manager(&self, session: &SessionId) -> TaskManager {
        let mut options = task_options(&self.parts.project.settings.values);
        if self.log_files {
            let folder = log_folder(self.parts.project.cwd(), session);
            options.logs = Arc::new(FileLogs::new(folder));
        }
        let sessions = SessionAgents { parts: self.parts.clone(), parent: session.clone() };
        let hooks = Arc::new(SettingsAgentHooks {
            runner: self.hooks.clone(),
            parts: self.parts.clone(),
            files: self.files.clone(),
        });
        let in_process = InProcessAgents::new(Arc::new(sessions)).hooks(hooks.clone());
        let process = self.parts.program.clone().map(|program| {
            let (parts, parent) = (self.parts.clone(), session.clone());
            let processes = SessionAgentProcesses { parts, parent, program };
            let supervisor = self.parts.supervisor.clone();
            let agents = ProcessAgents::new(supervisor, Arc::new(processes)).hooks(hooks.clone());
            Arc::new(agents) as Arc<dyn TaskRunner>
        });
        let agents = AgentRunners { in_process: Arc::new(in_process), process };
        let worktrees = Worktrees::new(self.parts.supervisor.clone(), &self.parts.environment);
        let cwd = self.parts.project.cwd();
        let settings = &self.parts.project.settings.values.worktree;
        let agents = WorktreeAgents::new(Arc::new(agents), worktrees, cwd)
            .hooks(hooks)
            .carry(settings.get("carryChanges").is_some_and(|carry| carry == true));
        let processes = ProcessTasks::new(self.parts.supervisor.clone());
        let runners: [Arc<dyn TaskRunner>; 2] = [Arc::new(agents), Arc::new(processes)];
        TaskManager::new(options, runners)
    }

    /// Returns the manager of a session whose tools are made: that of the first session, or a new
    /// one for a fork.
    pub(crate) fn of_new(&self, session: &SessionId) -> TaskManager {
        let manager = self.new.take(session).unwrap_or_else(|| self.manager(session));
        self.new.put(session.clone(), manager.clone());
        manager
    }

    /// Returns the tool with which the model starts agents.
    pub(crate) fn agent_tool(&self, manager: TaskManager) -> Arc<dyn Tool> {
        let runs = AgentRuns { parts: self.parts.clone(), manager };
        Arc::new(AgentTool::new(Arc::new(SessionAgentRunner(runs))))
    }
}

/// Returns how many tasks run at a time, and when they are ended.
fn task_options(settings: &SettingsFile) -> TaskManagerOptions {
    let mut options = TaskManagerOptions::default();
    let Some(tasks) = &settings.background_tasks else { return options };
    let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
    let seconds = |number: NonZeroU64| Duration::from_secs(number.get());
    options.agents = tasks.agents.map_or(options.agents, count);
    options.processes = tasks.processes.map_or(options.processes, count);
    let (agent, process) = (&mut options.agent_limits, &mut options.process_limits);
    agent.runtime = tasks.agent_seconds.map(seconds).or(agent.runtime);
    agent.idle = tasks.agent_idle_seconds.map(seconds).or(agent.idle);
    process.runtime = tasks.process_seconds.map(seconds).or(process.runtime);
    options
}
