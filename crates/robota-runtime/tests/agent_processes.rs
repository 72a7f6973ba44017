//! Agents in processes, with a shell script as the process.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use robota_core::approve::Answer;
use robota_core::ids::SessionId;
use robota_core::task::{TaskError, TaskState, TaskStatus, Tasks};
use robota_exec::{CommandSpec, Environment, Supervisor};
use robota_runtime::{
    AgentJob, AgentProcesses, AgentReply, AgentRequest, NewAgentProcess, NoJournal, ProcessAgents,
    TaskManager, TaskManagerOptions, TaskRequest, TaskRunner, TaskWork,
};

/// Starts a script, and records which sessions had to be closed for it, and why.
struct Scripts {
    script: String,
    settled: Mutex<Vec<(SessionId, String)>>,
}

#[async_trait]
impl AgentProcesses for Scripts {
    async fn prepare(&self, _: &AgentJob) -> Result<NewAgentProcess, TaskError> {
        let environment = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
        let spec = CommandSpec::new("sh", "/").args(["-c", &self.script]).env(environment);
        let start = serde_json::Value::Null;
        Ok(NewAgentProcess { spec, start, observer: Box::new(|_| None) })
    }

    async fn reply(&self, _: &AgentJob, _: AgentRequest) -> AgentReply {
        AgentReply::Answer(Answer::Deny { note: None })
    }

    async fn settle(&self, _: &AgentJob, session: &SessionId, reason: &str) {
        self.settled.lock().unwrap().push((session.clone(), reason.to_owned()));
    }
}

/// Runs a script as the process of an agent, after it has answered.
async fn answered_then(end: &str) -> (TaskState, Vec<(SessionId, String)>) {
    let script = format!(
        r#"read start; echo '{{"type":"opened","session":"s"}}'
        read prompt; echo '{{"type":"ended","finished":{{"status":"completed","output":"Done."}}}}'
        {end}"#
    );
    let scripts = Arc::new(Scripts { script, settled: Mutex::default() });
    let agents = ProcessAgents::new(Supervisor::new(), scripts.clone());
    let runner: Arc<dyn TaskRunner> = Arc::new(agents);
    let manager = TaskManager::new(TaskManagerOptions::default(), [runner]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    let request = TaskRequest::new(TaskWork::Agent(Box::default()), "work");
    let task = manager.spawn(request).await.unwrap();
    let state = manager.wait(&task).await.unwrap();
    let settled = scripts.settled.lock().unwrap().clone();
    (state, settled)
}

#[tokio::test]
async fn run_04_the_session_of_an_agent_process_that_dies_after_its_answer_is_closed() {
    let (state, settled) = answered_then("kill -9 $$").await;
    assert_eq!((state.status, state.output.as_str()), (TaskStatus::Completed, "Done."));
    assert_eq!(settled.len(), 1, "{settled:?}");
    assert_eq!(settled[0].0.as_str(), "s");
    assert!(settled[0].1.contains("signal 9"), "{settled:?}");
    // One that closes its session itself needs no help.
    let (state, settled) = answered_then("read close").await;
    assert_eq!((state.status, settled), (TaskStatus::Completed, Vec::new()));
}
