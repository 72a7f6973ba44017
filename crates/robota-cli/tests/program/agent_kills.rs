//! An agent in a process of its own, killed at every event of its journal; its parent, killed at every
//! event of its own; and both at once. Whatever is killed: no process is left, every task and every turn
//! has exactly one end, and the next run finds valid journals.

use std::path::{Path, PathBuf};

use futures::StreamExt as _;
use robota_core::event::{Envelope, Event};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore as _, SessionFilter, read_all};
use robota_core::task::{TaskChange, TaskErrorCategory, TaskStatus};
use robota_store::FileStore;
use robota_testkit::mock::{MockServer, Reply, Scenario};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::home::{Home, stderr};

const KEY: &str = "sk-test-0123456789abcdef";

/// The agent runs a command and answers; then the session answers.
fn scenario() -> Scenario {
    let task = json!({"prompt": "Do it.", "subagent_type": "worker", "description": "do it"});
    Scenario::reply(Reply::new().tool("Agent", task))
        .then(Reply::new().tool("Bash", json!({"command": "echo made > made.txt"})))
        .then("It is made.")
        .then("All done.")
}

fn agents() -> String {
    json!({"worker": {"description": "Works", "prompt": "You work.", "ownProcess": true}})
        .to_string()
}

struct Run {
    home: Home,
    child: Child,
    lines: tokio::io::Lines<BufReader<ChildStdout>>,
    seen: Vec<Value>,
    store: FileStore,
    _mock: MockServer,
}

impl Run {
    async fn start() -> Self {
        let (home, mock) = (Home::new(), MockServer::start(scenario()).await.unwrap());
        let agents = agents();
        let args = ["-p", "Go.", "--permission-mode", "bypassPermissions", "--agents", &agents];
        let mut command = home.command(&[&args[..], &["--output-format", "events"]].concat());
        command.env("ANTHROPIC_BASE_URL", mock.origin()).env("ANTHROPIC_API_KEY", KEY);
        let mut child = Command::from(command).kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let store = FileStore::new(home.path("project/.robota/sessions"));
        Self { home, child, lines, seen: Vec::new(), store, _mock: mock }
    }

    /// Reads events of the parent until `until` accepts one; none if the run ended before.
    async fn until(&mut self, until: impl Fn(&Value) -> bool) -> Option<Value> {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            let event: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(event.clone());
            if until(&event) {
                return Some(event);
            }
        }
        None
    }

    async fn placed(&mut self, field: &str) -> Option<Value> {
        let change = |event: &Value| event["data"]["change"].clone();
        let is = |event: &Value| {
            change(event)["type"] == "placed" && change(event)[field] != Value::Null
        };
        Some(change(&self.until(is).await?)[field].clone())
    }

    async fn sessions(&self) -> Vec<(SessionId, bool)> {
        let list = self.store.list(&SessionFilter::default()).await.unwrap();
        let heads = list.sessions.into_iter();
        heads.map(|head| (head.session, head.spawned_by.is_some())).collect()
    }

    /// Returns the events of a session; none if it was not created.
    async fn events(&self, session: &SessionId) -> Vec<Envelope> {
        match read_all(&self.store, session, 0).await {
            Err(JournalError::NotFound(_)) => Vec::new(),
            events => events.unwrap(),
        }
    }

    /// Waits until a session has this many events. The process that writes them creates it.
    async fn has_events(&self, session: &SessionId, count: u64) {
        while self.events(session).await.last().map_or(0, |event| event.seq) < count {
            match self.store.wait_past(session, count - 1).await {
                Err(JournalError::NotFound(_)) => tokio::task::yield_now().await,
                waited => waited.unwrap(),
            }
        }
    }

    /// Reads until the parent has recorded which session and which process its agent gets.
    async fn agent(&mut self) -> (SessionId, u32) {
        let session = self.placed("session").await.unwrap();
        let pid = self.placed("pid").await.unwrap().as_u64().unwrap();
        (SessionId::from(session.as_str().unwrap()), u32::try_from(pid).unwrap())
    }

    /// Kills everything at once.
    async fn kill_all(&mut self) {
        for pid in processes_of(&self.home.path("")) {
            let _ = kill_process(pid, Signal::KILL);
        }
        self.child.wait().await.unwrap();
    }

    /// Continues the session of the parent.
    async fn resume(&self) {
        let mock = MockServer::start(Scenario::reply("I see.").looped()).await.unwrap();
        let origin = mock.origin();
        let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
        let (agents, sessions) = (agents(), self.sessions().await);
        let parent = sessions.into_iter().find(|(_, spawned)| !spawned).unwrap().0;
        let args = ["-r", parent.as_str(), "-p", "What now?", "--agents", &agents];
        let output = self.home.robota(&args, &variables).await;
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

/// Kills a process if it still runs.
fn kill(number: u32) {
    let pid = Pid::from_raw(i32::try_from(number).unwrap()).unwrap();
    let _ = kill_process(pid, Signal::KILL);
}

/// Returns the processes that were started with this folder as their home, or work in it.
fn processes_of(folder: &Path) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let within = std::fs::read_link(entry.path().join("cwd"))
            .is_ok_and(|cwd: PathBuf| cwd.starts_with(folder));
        let named = std::fs::read(entry.path().join("environ")).is_ok_and(|variables| {
            let folder = folder.as_os_str().as_encoded_bytes();
            variables.windows(folder.len()).any(|part| part == folder)
        });
        if within || named {
            found.extend(Pid::from_raw(number));
        }
    }
    found
}

/// Waits until no process of the folder is left. A process that does not end lets the test time out.
async fn no_process_is_left(folder: PathBuf) {
    let waiting = tokio::task::spawn_blocking(move || {
        loop {
            let left = processes_of(&folder);
            if left.is_empty() {
                return;
            }
            for pid in left {
                if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
                    poll(&mut [PollFd::new(&process, PollFlags::IN)], None).unwrap();
                }
            }
        }
    });
    waiting.await.unwrap();
}

/// Checks that every turn and every task of a journal has exactly one end, and returns how the tasks
/// ended.
fn ends(at: &str, events: &[Envelope]) -> Vec<(TaskStatus, Option<TaskErrorCategory>)> {
    let (mut turns, mut calls, mut spawned) = (0, 0, 0);
    let mut ended = Vec::new();
    for event in events {
        match &event.event {
            Event::TurnStarted(_) => turns += 1,
            Event::TurnFinished(_) => turns -= 1,
            Event::ToolCalled(_) => calls += 1,
            Event::ToolResultAdded(_) => calls -= 1,
            Event::TaskChanged(changed) => match &changed.change {
                TaskChange::Spawned(_) => spawned += 1,
                TaskChange::Finished(end) => {
                    ended.push((end.status, end.error.as_ref().map(|error| error.category)));
                }
                _ => {}
            },
            _ => {}
        }
    }
    assert_eq!((turns, calls), (0, 0), "{at}: open turns and calls: {:?}", events.last());
    assert_eq!(spawned, ended.len(), "{at}: {ended:?}");
    ended
}

/// Returns how many events the journal of the agent has in a run that nothing disturbs, and how many the
/// parent prints.
async fn undisturbed() -> (u64, usize) {
    let mut run = Run::start().await;
    run.until(|_| false).await;
    assert!(run.child.wait().await.unwrap().success());
    no_process_is_left(run.home.path("")).await;
    let sessions = run.sessions().await;
    let (agent, _) = sessions.iter().find(|(_, is_agent)| *is_agent).unwrap();
    (run.events(agent).await.last().unwrap().seq, run.seen.len())
}

/// Whether `made.txt` was written at most once and completely.
fn made_is_whole(home: &Home) -> bool {
    match std::fs::read_to_string(home.path("project/made.txt")) {
        Ok(text) => text == "made\n" || text.is_empty(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Checks every case, some of them at the same time, since most of the time they wait for processes.
async fn check_all<T, F: Future<Output = ()>>(
    cases: impl IntoIterator<Item = T>,
    check: impl Fn(T) -> F,
) {
    futures::stream::iter(cases).map(check).buffer_unordered(3).collect::<()>().await;
}

#[tokio::test]
async fn run_04_an_agent_process_can_be_killed_at_every_event_of_its_journal() {
    let (events, _) = undisturbed().await;
    // 0: the process has just started.
    check_all(0..=events, kill_agent_at).await;
}

async fn kill_agent_at(at: u64) {
    let mut run = Run::start().await;
    let (session, pid) = run.agent().await;
    run.has_events(&session, at).await;
    kill(pid);
    run.until(|_| false).await;
    let status = run.child.wait().await.unwrap();
    let at = format!("killed at event {at}");
    assert!(status.success(), "{at}: the session continues: {status}");
    no_process_is_left(run.home.path("")).await;
    let journal = run.events(&session).await;
    ends(&at, &journal);
    // A process that was killed before it created its session left none.
    let last = journal.last().map(|event| event.event.kind());
    assert!(last.is_none_or(|kind| kind == "closed"), "{at}: {last:?}");
    let sessions = run.sessions().await;
    let (parent, _) = sessions.iter().find(|(_, is_agent)| !is_agent).unwrap();
    let ended = ends(&at, &run.events(parent).await);
    // A process that was killed after its answer completed its task.
    let crashed = (TaskStatus::Failed, Some(TaskErrorCategory::Crash));
    assert!(ended == [crashed] || ended == [(TaskStatus::Completed, None)], "{at}: {ended:?}");
    assert!(made_is_whole(&run.home), "{at}");
}

#[tokio::test]
async fn run_04_the_parent_of_an_agent_process_can_be_killed_at_every_event() {
    let (_, printed) = undisturbed().await;
    check_all(1..=printed, kill_parent_at).await;
}

async fn kill_parent_at(at: usize) {
    let mut run = Run::start().await;
    for _ in 0..at {
        run.until(|_| true).await;
    }
    run.child.start_kill().unwrap();
    run.child.wait().await.unwrap();
    check_after_the_death_of_the_parent(&run, &format!("killed at event {at}")).await;
}

async fn check_after_the_death_of_the_parent(run: &Run, at: &str) {
    no_process_is_left(run.home.path("")).await;
    run.resume().await;
    no_process_is_left(run.home.path("")).await;
    for (session, is_agent) in run.sessions().await {
        let events = run.events(&session).await;
        let ended = ends(at, &events);
        let valid = run.home.robota(&["sessions", "validate", session.as_str()], &[]).await;
        assert!(valid.status.success(), "{at}: {}", stderr(&valid));
        assert_eq!(events.last().unwrap().event.kind(), "closed", "{at}");
        if !is_agent {
            let interrupted = (TaskStatus::Failed, Some(TaskErrorCategory::Interrupted));
            let known = |end: &(TaskStatus, Option<TaskErrorCategory>)| {
                *end == interrupted || *end == (TaskStatus::Completed, None)
            };
            assert!(ended.iter().all(known), "{at}: {ended:?}");
        }
    }
    assert!(made_is_whole(&run.home), "{at}");
}

#[tokio::test]
async fn run_04_both_processes_can_be_killed_at_once() {
    let (_, printed) = undisturbed().await;
    // A generator with a fixed seed: each failure names its event, and every run kills at the same ones.
    let mut random = 0x5eed_u64;
    for _ in 0..6 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(random >> 33).unwrap() % printed + 1;
        let mut run = Run::start().await;
        for _ in 0..at {
            run.until(|_| true).await;
        }
        run.kill_all().await;
        check_after_the_death_of_the_parent(&run, &format!("both killed at event {at}")).await;
    }
}

#[tokio::test]
async fn run_04_a_session_that_was_just_created_when_both_processes_died_is_closed() {
    for at in [0, 1, 2] {
        let mut run = Run::start().await;
        let (session, _) = run.agent().await;
        run.has_events(&session, at).await;
        run.kill_all().await;
        check_after_the_death_of_the_parent(&run, &format!("both killed at {at} events")).await;
    }
}
