//! Agents in processes, with a shell script as the process.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use robota_core::approve::Answer;
use robota_core::event::{Author, Envelope, Event, UserMessage};
use robota_core::ids::{CountingIds, SessionId};
use robota_core::message::Message;
use robota_core::task::{TaskChange, TaskError, TaskState, TaskStatus, Tasks};
use robota_exec::{CommandSpec, Environment, Supervisor};
use robota_runtime::{
    AgentJob, AgentProcesses, AgentReply, AgentRequest, NewAgentProcess, NoJournal, ProcessAgents,
    TaskJournal, TaskManager, TaskManagerOptions, TaskRequest, TaskRunner, TaskWork,
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
        let (_, stops) = tokio::sync::mpsc::unbounded_channel();
        let (_, changes) = tokio::sync::mpsc::unbounded_channel();
        let observer = Box::new(|_: &Arc<Envelope>| None);
        Ok(NewAgentProcess { spec, start, observer, stops, changes, hooks: None })
    }

    async fn reply(&self, _: &AgentJob, _: AgentRequest) -> AgentReply {
        AgentReply::Answer(Answer::Deny { note: None })
    }

    async fn settle(&self, job: &AgentJob, reason: &str) {
        self.settled.lock().unwrap().push((job.session.clone(), reason.to_owned()));
    }
}

/// Runs a script as the process of an agent, after it has answered.
async fn answered_then(end: &str) -> (TaskState, Vec<(SessionId, String)>) {
    let script = format!(
        r#"read start; echo '{{"type":"opened"}}'
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
    assert_eq!(Some(&settled[0].0), state.session.as_ref());
    assert!(settled[0].1.contains("signal 9"), "{settled:?}");
    // One that closes its session itself needs no help.
    let (state, settled) = answered_then("read close").await;
    assert_eq!((state.status, settled), (TaskStatus::Completed, Vec::new()));
}

/// Records the changes of tasks, until it is told to fail.
#[derive(Default)]
struct Records {
    changes: Mutex<Vec<TaskChange>>,
    fails_at_session: bool,
}

#[async_trait]
impl TaskJournal for Records {
    async fn record(&self, events: Vec<Event>) -> Result<(), String> {
        for event in events {
            let Event::TaskChanged(changed) = event else { continue };
            let names_session =
                matches!(&changed.change, TaskChange::Placed(place) if place.session.is_some());
            if names_session && self.fails_at_session {
                return Err("the disk is full".to_owned());
            }
            self.changes.lock().unwrap().push(changed.change);
        }
        Ok(())
    }
}

/// Starts a script, and notes which changes were recorded before.
struct Watched {
    records: Arc<Records>,
    before: Mutex<Option<Vec<TaskChange>>>,
    settled: Mutex<Vec<SessionId>>,
}

#[async_trait]
impl AgentProcesses for Watched {
    async fn prepare(&self, _: &AgentJob) -> Result<NewAgentProcess, TaskError> {
        *self.before.lock().unwrap() = Some(self.records.changes.lock().unwrap().clone());
        let environment = Environment::new().with("PATH", "/usr/local/bin:/usr/bin:/bin");
        // It dies before it says that its session is open.
        let spec = CommandSpec::new("sh", "/").args(["-c", "kill -9 $$"]).env(environment);
        let start = serde_json::Value::Null;
        let (_, stops) = tokio::sync::mpsc::unbounded_channel();
        let (_, changes) = tokio::sync::mpsc::unbounded_channel();
        let observer = Box::new(|_: &Arc<Envelope>| None);
        Ok(NewAgentProcess { spec, start, observer, stops, changes, hooks: None })
    }

    async fn reply(&self, _: &AgentJob, _: AgentRequest) -> AgentReply {
        AgentReply::Answer(Answer::Deny { note: None })
    }

    async fn settle(&self, job: &AgentJob, _: &str) {
        self.settled.lock().unwrap().push(job.session.clone());
    }
}

async fn run_watched(fails_at_session: bool) -> (TaskState, Arc<Watched>) {
    let records = Arc::new(Records { fails_at_session, ..Records::default() });
    let (before, settled) = (Mutex::default(), Mutex::default());
    let watched = Arc::new(Watched { records: records.clone(), before, settled });
    let runner: Arc<dyn TaskRunner> =
        Arc::new(ProcessAgents::new(Supervisor::new(), watched.clone()));
    let manager = TaskManager::new(TaskManagerOptions::default(), [runner]);
    manager.attach(records, Tasks::default()).await;
    let task = TaskRequest::new(TaskWork::Agent(Box::default()), "work");
    let task = manager.spawn(task).await.unwrap();
    (manager.wait(&task).await.unwrap(), watched)
}

#[tokio::test]
async fn run_04_the_parent_records_the_session_of_an_agent_before_it_is_created() {
    let (state, watched) = run_watched(false).await;
    let session = state.session.expect("the task names its session");
    let before = watched.before.lock().unwrap().clone().expect("the process was prepared");
    let named = before.iter().any(|change| {
        matches!(change, TaskChange::Placed(place) if place.session.as_ref() == Some(&session))
    });
    assert!(named, "{before:?}");
    // A process that died before it said that its session is open may have created it.
    assert_eq!(*watched.settled.lock().unwrap(), [session]);
}

#[tokio::test]
async fn run_04_an_agent_whose_session_cannot_be_recorded_is_not_started() {
    let (state, watched) = run_watched(true).await;
    assert_eq!(state.status, TaskStatus::Failed);
    let message = state.error.expect("it failed").message;
    assert!(message.contains("the disk is full"), "{message}");
    assert!(watched.before.lock().unwrap().is_none(), "no process was prepared");
}

#[tokio::test]
async fn run_04_a_follow_up_that_reaches_a_process_too_late_is_sent_again_as_a_prompt() {
    // It has ended its turn when it reads the follow-up, and says that it took none.
    let script = r#"read start; echo '{"type":"opened"}'
        read prompt; read input
        echo '{"type":"ended","finished":{"status":"completed","output":"First."},"taken":0}'
        read prompt
        case "$prompt" in *'"prompt"'*'And the tests?'*) answer=Second. ;; *) answer=Lost. ;; esac
        echo '{"type":"ended","finished":{"status":"completed","output":"'$answer'"},"taken":0}'
        read close"#;
    let scripts = Scripts { script: script.to_owned(), settled: Mutex::default() };
    let agents = ProcessAgents::new(Supervisor::new(), Arc::new(scripts));
    let manager =
        TaskManager::new(TaskManagerOptions::default(), [Arc::new(agents) as Arc<dyn TaskRunner>]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    let request = TaskRequest::new(TaskWork::Agent(Box::default()), "work");
    let task = manager.spawn(request).await.unwrap();
    while manager.get(&task).unwrap().pid.is_none() {
        tokio::task::yield_now().await;
    }
    manager.send(&task, "And the tests?").unwrap();
    let state = manager.wait(&task).await.unwrap();
    assert_eq!((state.status, state.output.as_str()), (TaskStatus::Completed, "Second."));
}

#[tokio::test]
async fn run_04_the_end_of_an_agent_process_that_dies_names_the_follow_ups_that_it_did_not_read() {
    let message = Message::user(&CountingIds::default(), "And the tests?").into();
    let read = Envelope {
        seq: 1,
        epoch: 1,
        ts: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        event: UserMessage { message, input: None, author: Author::User }.into(),
        min_reader: None,
    };
    let read = serde_json::json!({"type": "event", "line": read.to_line()});
    let script = format!(
        r#"read start; echo '{{"type":"opened"}}'
        read prompt; read input; read input; echo '{read}'; kill -9 $$"#
    );
    let scripts = Scripts { script, settled: Mutex::default() };
    let agents = ProcessAgents::new(Supervisor::new(), Arc::new(scripts));
    let manager =
        TaskManager::new(TaskManagerOptions::default(), [Arc::new(agents) as Arc<dyn TaskRunner>]);
    manager.attach(Arc::new(NoJournal), Tasks::default()).await;
    let request = TaskRequest::new(TaskWork::Agent(Box::default()), "work");
    let task = manager.spawn(request).await.unwrap();
    while manager.get(&task).unwrap().pid.is_none() {
        tokio::task::yield_now().await;
    }
    manager.send(&task, "And the tests?").unwrap();
    manager.send(&task, "And the docs?").unwrap();
    let error = manager.wait(&task).await.unwrap().error.unwrap().message;
    assert!(error.contains("signal 9"), "{error}");
    assert!(error.contains("it did not read the last follow-up: And the docs?"), "{error}");
}
