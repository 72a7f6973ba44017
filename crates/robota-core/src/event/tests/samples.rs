//! One of each event, with everything optional filled in.

use serde_json::{Map, json};

use super::super::*;
use crate::checkpoint::{
    FileContent, FileDelta, FileStat, NotCovered, NotSaved, PathState, SavedContent, TreeChange,
    TreeEntry,
};
use crate::context::ContextEstimate;
use crate::error::{ErrorData, ErrorKind};
use crate::history::HistoryEntry;
use crate::hook::HookPoint;
use crate::ids::{CallId, CountingIds, InputId, ScheduleId};
use crate::message::{
    BlobRef, Block, Cause, Message, MessageState, ToolInput, ToolResult, ToolUse,
};
use crate::permission::{Class, Mode, Verdict};
use crate::process::ProcessIdentity;
use crate::provider::{LeftOut, PayloadKind, StopReason};
use crate::state::{
    EarlierSnapshot, HeardMessage, OwedMessage, RoomState, SafePoints, ScheduleProgress,
    TurnRestrictions,
};
use crate::task::*;
use crate::tool::{ToolOutcome, ToolSpec};
use crate::usage::Usage;

/// Returns a line with this event.
pub(super) fn line(event: Event) -> Envelope {
    Envelope {
        seq: 1042,
        epoch: 3,
        ts: "2026-01-02T03:04:05.678Z".parse().unwrap(),
        turn: Some("t1".into()),
        event,
        min_reader: None,
    }
}

fn error() -> ErrorData {
    ErrorData::new(ErrorKind::Network, "gone \"away\"\n").with_hint("look for it")
}

fn estimate() -> ContextEstimate {
    ContextEstimate {
        effective: 3,
        serialized: 2,
        provider: Some(3),
        floor: 0,
        max: 10,
        exact: true,
    }
}

fn delta() -> FileDelta {
    let saved = SavedContent { blob: BlobRef::of(b"pack"), offset: 1, len: 2 };
    let content = FileContent { hash: BlobRef::of(b"ac").sha256, saved: Some(saved) };
    FileDelta {
        path: "/srv/app/a".to_owned(),
        before: PathState::File { content, mode: Some(0o600) },
        after: PathState::Link { target: "b".to_owned() },
    }
}

fn tool_use() -> ToolUse {
    let input = ToolInput::Json(json!({ "path": "a", "share": 0.1, "big": u64::MAX }));
    ToolUse::new(CallId::from("c1"), "call_0", "read", input)
}

fn message() -> Message {
    let image = crate::message::Image {
        blob: BlobRef { sha256: "00".to_owned(), bytes: 3 },
        media_type: "image/png".to_owned(),
        extra: Map::new(),
    };
    let blocks = vec![
        Block::thinking("hm", Some("proof".to_owned())),
        Block::text("words"),
        Block::Image(image),
        Block::ToolUse(tool_use()),
        Block::Unknown(json!({ "type": "novel" })),
    ];
    Message::assistant(&CountingIds::default(), blocks, MessageState::Interrupted(Cause::Crash))
        .with_usage(Some(Usage::new(1, 2)))
        .with_metadata("k", 1)
}

pub(super) fn samples() -> Vec<Event> {
    let mut all = session();
    all.extend(turns());
    all.extend(model());
    all.extend(tools());
    all.extend(tasks());
    all
}

fn tasks() -> Vec<Event> {
    let spawned = TaskSpawned {
        kind: TaskKind::Agent,
        mode: TaskMode::Foreground,
        label: "look".to_owned(),
        depth: 1,
        call: Some("c1".into()),
        group: Some("g1".into()),
        agent: Some("Explore".to_owned()),
        input: "Look.".to_owned(),
        limits: AgentLimits {
            tools: Some(vec!["Read".to_owned()]),
            deny: vec!["Write".to_owned()],
        },
    };
    let worktree = TaskWorktree { path: "/w".to_owned(), branch: "b".to_owned() };
    let place = TaskPlace {
        pid: Some(7),
        session: Some("s2".into()),
        log: Some("/l".to_owned()),
        worktree: Some(worktree.clone()),
        mode: Some(TaskMode::Background),
    };
    let finished = TaskFinished {
        output: "Found.".to_owned(),
        timeout: Some(TimeoutReason::Idle),
        exit_code: Some(1),
        usage: vec![TaskUsage { model: "m".to_owned(), usage: Usage::default(), calls: 1 }],
        worktree: Some(worktree),
        ..TaskFinished::failed(TaskError::new(TaskErrorCategory::Timeout, "idle"))
    };
    let question = TaskQuestion {
        call: "c9".into(),
        tool: "Bash".to_owned(),
        input: json!({"command": "make"}),
        reason: "why".to_owned(),
    };
    let changes = [
        TaskChange::Spawned(spawned),
        TaskChange::Started,
        TaskChange::Placed(place),
        TaskChange::ToolStarted { action: "Read a".to_owned() },
        TaskChange::ToolEnded { error: Some("no".to_owned()) },
        TaskChange::PermissionAsked(question),
        TaskChange::PermissionDecided { call: "c9".into() },
        TaskChange::Finished(finished),
        TaskChange::Reported,
        TaskChange::Closed,
    ];
    let changes = changes.map(|change| TaskChanged { task: "t1".into(), change }.into());
    let tasks = vec!["t1".into()];
    let created = GroupChange::Created {
        label: "both".to_owned(),
        policy: WaitPolicy::WaitAny,
        tasks: tasks.clone(),
    };
    let groups = [created, GroupChange::Added { tasks }, GroupChange::Done];
    let groups = groups.map(|change| TaskGroupChanged { group: "g1".into(), change }.into());
    changes.into_iter().chain(groups).collect()
}

fn session() -> Vec<Event> {
    let cursor = Cursor { epoch: 1, seq: 9 };
    let parent = Some(Parent { session: "s0".into(), at: cursor });
    let spec = ToolSpec {
        name: "read".to_owned(),
        description: "reads".to_owned(),
        input_schema: json!({ "type": "object" }),
        class: Class::Inspect,
    };
    let ts = "2026-01-02T03:04:05Z".parse().unwrap();
    let entry = HistoryEntry::event(&CountingIds::default(), ts, "note", json!([1]));
    vec![
        SessionCreated {
            session: "s1".into(),
            format: FORMAT,
            cwd: Some("/w".to_owned()),
            parent,
            spawned_by: Some(SpawnedBy {
                session: "s0".into(),
                turn: None,
                call: Some("c0".into()),
            }),
        }
        .into(),
        Opened { epoch: 3, after_seq: 9, pid: Some(7) }.into(),
        Closed::from("done").into(),
        Renamed { name: "a name".to_owned() }.into(),
        ModeChanged { mode: Mode::AcceptEdits }.into(),
        PromptSet { sha256: "aa".to_owned(), text: "be brief".to_owned() }.into(),
        ToolsSet { sha256: "bb".to_owned(), tools: vec![spec] }.into(),
        EntryAdded { entry }.into(),
        MessageInjected { message: message().into() }.into(),
        Rewound { keep: 2, cause: RewindCause::Retry, undoable: false }.into(),
        ViewRestored { messages: 9 }.into(),
        RestoreStarted {
            restore: "r1".to_owned(),
            checkpoint: "t1".to_owned(),
            files: vec![delta()],
            view: Some(ViewChange { undo: true, keep: 3 }),
            last_message: Some("m9".into()),
        }
        .into(),
        RestoreFinished {
            restore: "r1".to_owned(),
            failed: vec![NotRestored {
                path: "/srv/app/b".to_owned(),
                reason: "it is not empty".to_owned(),
            }],
        }
        .into(),
        LabelSet { label: "here".to_owned(), at: cursor }.into(),
        Forked { child: "s2".into(), at: cursor }.into(),
        snapshot(cursor).into(),
        Recovered { sealed: vec!["c1".into()] }.into(),
    ]
    .into_iter()
    .chain(schedules_and_rooms())
    .chain([Failed { error: error() }.into()])
    .collect()
}

fn schedules_and_rooms() -> Vec<Event> {
    let schedule = ScheduleId::from("report");
    let at = "2026-01-02T03:04:05Z".parse().unwrap();
    let trigger = Trigger::Weekly { day: "mon".to_owned(), time: "09:00".to_owned() };
    vec![
        ScheduleAdded {
            schedule: schedule.clone(),
            trigger,
            zone: Some("Europe/Stockholm".to_owned()),
            content: vec![Block::text("Report.")],
            missed: MissedRuns::All,
            jitter_ms: 12,
            at,
        }
        .into(),
        ScheduleSkipped { schedule: schedule.clone(), due: at, times: 2 }.into(),
        SchedulePaused { schedule: schedule.clone() }.into(),
        ScheduleResumed { schedule: schedule.clone(), at }.into(),
        ScheduleRemoved { schedule }.into(),
        RoomJoined { member: "ada".to_owned(), session: "s2".into() }.into(),
        RoomLeft { member: "ada".to_owned() }.into(),
        RoomSaid {
            number: 2,
            from: "ada".to_owned(),
            to: vec!["bob".to_owned()],
            text: "@bob hi".to_owned(),
            hops: 1,
            reply_to: Some(1),
        }
        .into(),
        RoomDelivered { number: 2, member: "bob".to_owned() }.into(),
        RoomHeard { room: "r1".into(), number: 2 }.into(),
    ]
}

fn snapshot(at: Cursor) -> StateSnapshot {
    let latest_usage = Some(CountedUsage { message: "m1".into(), usage: Usage::new(5, 6) });
    let view = ViewRefs { base: Some(2), events: vec![7, 9], latest_usage };
    let process = ProcessIdentity { pid: 7, start_time: 12, boot_id: "boot".to_owned() };
    StateSnapshot {
        reducer: 1,
        created: 1,
        name: Some("work".to_owned()),
        mode: Mode::Plan,
        prompt: Some(3),
        tools: Some(4),
        left_out: Some(5),
        watched: Some(6),
        before: Some(Box::new(ReplacedViewRefs { view: view.clone(), replaced_by: 1 })),
        view,
        inputs: vec![8],
        turn: Some(Box::new(QuietTurn {
            id: Some("t1".into()),
            input: Some("i1".into()),
            round: 2,
            usage: Usage::new(1, 2),
            tools_executed: 3,
            interrupted: Some(Cause::User),
        })),
        restrictions: TurnRestrictions {
            turn: vec!["Bash(git push *)".to_owned()],
            inputs: [("i2".into(), vec!["Write".to_owned()])].into_iter().collect(),
        },
        turns_completed: 1,
        usage: Usage::new(5, 6),
        safe_points: SafePoints {
            count: 1,
            last: Some(at),
            recent: vec![at],
            earlier: vec![EarlierSnapshot { seq: 2, safe_points: 0 }],
        },
        previous: Some(2),
        background: [(CallId::from("c1"), vec![process])].into_iter().collect(),
        tasks: crate::task::Tasks::default(),
        labels: [("here".to_owned(), at)].into_iter().collect(),
        schedules: vec![ScheduleRef {
            added: 10,
            progress: ScheduleProgress {
                paused: true,
                settled: "2026-01-02T03:04:05Z".parse().unwrap(),
                runs: 3,
                missed: 1,
                input: Some("i1".into()),
                steps: 4,
            },
        }],
        heard: [("r1".into(), HeardMessage { number: 2, hops: 1 })].into_iter().collect(),
        room: Some(Box::new(RoomState {
            members: [("ada".to_owned(), "s2".into())].into_iter().collect(),
            said: 2,
            owed: vec![OwedMessage { number: 2, seq: 11, to: vec!["ada".to_owned()] }],
        })),
    }
}

fn turns() -> Vec<Event> {
    let input = InputId::from("i1");
    let user = Message::user(&CountingIds::default(), "hi");
    vec![
        InputAccepted {
            input: input.clone(),
            delivery: Delivery::NextRound,
            content: vec![Block::text("hi")],
            metadata: Map::from_iter([("from".to_owned(), json!("acp"))]),
            source: Some(InputSource::Schedule {
                schedule: "report".into(),
                due: Some("2026-01-02T03:04:05Z".parse().unwrap()),
                missed: 1,
            }),
        }
        .into(),
        InputChanged {
            input: input.clone(),
            delivery: Delivery::NextRound,
            content: vec![Block::text("changed")],
            metadata: Map::new(),
            position: 0,
        }
        .into(),
        InputBlocked { input: Some(input.clone()), reason: "no".to_owned() }.into(),
        InputCancelled { input: input.clone(), cause: Cause::User }.into(),
        TurnRulesAdded { input: Some(input.clone()), deny: vec!["Write".to_owned()] }.into(),
        TurnRulesAdded { input: None, deny: vec!["Bash(git push *)".to_owned()] }.into(),
        TurnStarted {
            input: Some(input.clone()),
            provider: "p".to_owned(),
            model: "m".to_owned(),
            max_rounds: 10,
        }
        .into(),
        UserMessage { message: user.clone().into(), input: Some(input), author: Author::User }
            .into(),
        UserMessage { message: user.into(), input: None, author: Author::StopHook }.into(),
        Interrupted { cause: Cause::Shutdown, note: Some("SIGTERM".to_owned()) }.into(),
        TurnFinished {
            end: TurnEnd::ProviderFailed,
            rounds: 2,
            tools_executed: 3,
            usage: Usage::new(1, 2),
            error: Some(error()),
            stop: Some(StopReason::MaxTokens),
        }
        .into(),
    ]
}

fn model() -> Vec<Event> {
    let round = 1;
    let text = "words \u{2028}\u{1F980}\u{0}".to_owned();
    vec![
        ContextMeasured { estimate: estimate() }.into(),
        CompactionStarted { trigger: CompactionTrigger::Auto, before: estimate() }.into(),
        CompactionFinished { summary: message().into(), keep_from: Some("m1".into()) }.into(),
        CompactionFailed { error: error() }.into(),
        PrefixChanged { cause: PrefixChange::Rewind }.into(),
        ContentLeftOut {
            round: 1,
            provider: "acme".to_owned(),
            model: "m".to_owned(),
            parts: LeftOut { reasoning: 1, foreign: 2, attachments: 3, missing: 4 },
        }
        .into(),
        ModelRequested {
            round,
            attempt: 1,
            purpose: Purpose::SummaryAtLimit,
            messages: 3,
            prompt: Some("aa".to_owned()),
            tools: Some("bb".to_owned()),
            instruction: Some("be brief".to_owned()),
            continues: true,
        }
        .into(),
        TextChunk { round, text: text.clone() }.into(),
        ThinkingChunk { round, text: text.clone() }.into(),
        ToolInputChunk { round, index: 0, id: None, name: Some("read".to_owned()), json: text }
            .into(),
        ProviderPayload {
            round,
            provider: "p".to_owned(),
            api_surface: Some("chat".to_owned()),
            kind: PayloadKind::StreamEvent,
            sequence: 4,
            payload: json!({ "n": 0.1 }),
            metadata: Map::from_iter([("k".to_owned(), json!(true))]),
        }
        .into(),
        StreamReset { round, attempt: 1 }.into(),
        ModelRetry { round, attempt: 1, error: error(), delay_ms: 500 }.into(),
        ModelFailed { round, error: error() }.into(),
        ModelResponded {
            round,
            stop: StopReason::Other("odd".to_owned()),
            usage: Some(Usage::new(1, 2)),
            tool_calls: 1,
        }
        .into(),
        ModelAsked { model: "m".to_owned(), usage: Some(Usage::new(1, 2)), error: Some(error()) }
            .into(),
        AssistantMessage { round, message: message().into() }.into(),
    ]
}

fn tools() -> Vec<Event> {
    let (round, call) = (1, CallId::from("c1"));
    let outcome = ToolOutcome::failed("timeout", "slow").with_metadata("exit_code", 1);
    vec![
        ToolCalled { round, index: 0, tool_use: tool_use() }.into(),
        ToolBatchStarted {
            round,
            calls: vec![call.clone()],
            parallel: true,
            max_concurrency: Some(8),
        }
        .into(),
        HookStarted { point: HookPoint::PreToolUse, call: Some(call.clone()) }.into(),
        HookFinished {
            point: HookPoint::PostToolUse,
            call: Some(call.clone()),
            decision: "replace".to_owned(),
            reason: Some("why".to_owned()),
            input: Some(json!(null)),
            outcome: Some(outcome.clone()),
            context: Some("mind the gap".to_owned()),
            stop: Some("enough".to_owned()),
        }
        .into(),
        PermissionAsked {
            call: call.clone(),
            reason: "why".to_owned(),
            rules: vec!["Bash(make)".to_owned()],
            metadata: serde_json::Map::from_iter([("ticket".to_owned(), 7.into())]),
        }
        .into(),
        PermissionDecided {
            call: call.clone(),
            verdict: Verdict::Ask,
            by: DecidedBy::Hook,
            class: Some(Class::Execute),
            reason: "why".to_owned(),
            scope: Some(crate::approve::Scope::Always),
            rules: vec!["Bash(make)".to_owned()],
        }
        .into(),
        ToolStarted { call: call.clone(), class: Class::Modify, input: Some(json!(null)) }.into(),
        FilesChanging {
            call: call.clone(),
            files: vec![
                crate::checkpoint::FileChange {
                    path: "/srv/app/a.txt".to_owned(),
                    before: Some(BlobRef::of(b"old")),
                    mode: Some(0o644),
                    after_sha256: BlobRef::of(b"new").sha256,
                    new_folders: Vec::new(),
                },
                crate::checkpoint::FileChange {
                    path: "/srv/app/b.txt".to_owned(),
                    before: None,
                    mode: None,
                    after_sha256: BlobRef::of(b"").sha256,
                    new_folders: vec!["/srv/app".to_owned()],
                },
            ],
        }
        .into(),
        FilesWatched {
            call: call.clone(),
            root: "/srv/app".to_owned(),
            trees: vec![BlobRef::of(b"tree")],
            changes: TreeChange {
                entries: vec![TreeEntry {
                    path: "a".to_owned(),
                    stat: FileStat { inode: 1, size: 2, modified: -3, changed: i64::MAX },
                    state: PathState::Folder { mode: Some(0o755) },
                }],
                removed: vec!["b".to_owned()],
            },
            not_covered: vec![NotCovered {
                path: "/srv/app/target".to_owned(),
                reason: NotSaved::OverLimit,
            }],
        }
        .into(),
        FilesChanged { call: call.clone(), files: vec![delta()], late: true }.into(),
        ProcessStarted {
            call: call.clone(),
            pid: 7,
            start_time: 12,
            boot_id: "boot".to_owned(),
            background: true,
        }
        .into(),
        ToolOutput { call: call.clone(), text: "out\r\n".to_owned() }.into(),
        ToolFinished { call, class: Some(Class::Modify), outcome: outcome.into(), duration_ms: 9 }
            .into(),
        ToolResultAdded {
            round,
            message: "m2".into(),
            result: ToolResult::text(&tool_use(), "failed", true).into(),
        }
        .into(),
        ToolBatchFinished { round, added: 1, skipped: 2, failed: 3 }.into(),
    ]
}
