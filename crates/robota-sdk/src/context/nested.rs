//! Instructions and skills of subfolders, which become active when a file there is used.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use robota_config::instructions::{InstructionFile, Instructions};
use robota_config::shown;
use robota_config::skills::{ListingCaps, Skills};
use robota_core::driver::Observer;
use robota_core::event::{Envelope, Event};
use robota_core::hook::{HookAnswer, HookInput, HookPoint, HookReply, Hooks, PostToolDecision};
use robota_core::ids::SessionId;

/// The tools whose file makes instructions active.
const FILE_TOOLS: [&str; 5] = ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Makes the [`NestedContext`] of a session and of each of its forks: a fork does not see what its
/// parent reads later.
#[derive(Clone)]
pub(crate) struct NestedContexts {
    instructions: Option<Arc<Instructions>>,
    skills: Option<Arc<Mutex<Skills>>>,
    made: Arc<Mutex<HashMap<SessionId, Weak<Sources>>>>,
    /// Receives the files that are loaded. Sessions exist only after the contexts.
    report: Report,
}

/// Runs the hooks about a file with instructions that a session loaded.
type Report = Arc<OnceLock<Box<dyn Fn(&SessionId, &InstructionFile) + Send + Sync>>>;

impl NestedContexts {
    /// Gives the instructions, and lists the skills, if the conversation has them.
    pub(super) fn new(
        instructions: Option<Instructions>,
        skills: Option<Arc<Mutex<Skills>>>,
    ) -> Self {
        let (made, report) = Default::default();
        Self { instructions: instructions.map(Arc::new), skills, made, report }
    }

    /// Sets what is called with every file with instructions that a session loads later.
    pub(crate) fn on_load(
        &self,
        report: impl Fn(&SessionId, &InstructionFile) + Send + Sync + 'static,
    ) {
        let _ = self.report.set(Box::new(report));
    }

    /// Returns the context of a session. All values for one session share what it was given.
    pub(crate) fn of(&self, session: &SessionId) -> NestedContext {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sources) = made.get(session).and_then(Weak::upgrade) {
            return NestedContext(sources);
        }
        let new = NestedContext(Arc::new(Sources {
            instructions: self.instructions.clone(),
            skills: self.skills.clone(),
            given: Mutex::default(),
            report: Some((session.clone(), self.report.clone())),
        }));
        // Sessions that have ended leave an entry, which would never be asked for again.
        made.retain(|_, sources| sources.strong_count() > 0);
        made.insert(session.clone(), Arc::downgrade(&new.0));
        new
    }
}

/// Adds instructions of subfolders to the result of the call that used a file there. The system
/// prompt stays the same, so that a provider's cache of it stays valid.
#[derive(Clone)]
pub(crate) struct NestedContext(Arc<Sources>);

struct Sources {
    /// As they were when the session started; none for an agent without instructions.
    instructions: Option<Arc<Instructions>>,
    /// None in an agent, which has no tool for skills.
    skills: Option<Arc<Mutex<Skills>>>,
    given: Mutex<Option<Given>>,
    /// None in an agent, which has no hooks of this event.
    report: Option<(SessionId, Report)>,
}

/// What a conversation was given.
struct Given {
    instructions: Option<Instructions>,
    skills: BTreeSet<String>,
}

impl NestedContext {
    /// Returns the context of one conversation without skills.
    pub(crate) fn of_agent(instructions: Instructions) -> Self {
        let instructions = Some(Arc::new(instructions));
        let given = Mutex::default();
        Self(Arc::new(Sources { instructions, skills: None, given, report: None }))
    }

    /// Forgets what the conversation was given when an event removes messages from it, or brings
    /// others back: what is missing then is given again when a file is used.
    pub(crate) fn observe(&self, envelope: &Envelope) {
        if let Event::CompactionFinished(_) | Event::Rewound(_) | Event::ViewRestored(_) =
            envelope.event
        {
            *self.0.given.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Returns what calls [`NestedContext::observe`].
    pub(crate) fn observer(&self) -> Observer {
        let nested = self.clone();
        Arc::new(move |envelope| nested.observe(envelope))
    }

    /// Returns the text that a file makes active; none if there is nothing new.
    fn on_access(&self, path: &Path) -> Option<String> {
        let sources = &self.0;
        let mut given = sources.given.lock().unwrap_or_else(PoisonError::into_inner);
        let given = given.get_or_insert_with(|| Given {
            instructions: sources.instructions.as_deref().cloned(),
            skills: BTreeSet::new(),
        });
        let files = given.instructions.as_mut().map(|it| it.on_access(path)).unwrap_or_default();
        if let Some((session, report)) = &sources.report
            && let Some(report) = report.get()
        {
            files.iter().for_each(|file| report(session, file));
        }
        let mut parts: Vec<_> = files
            .iter()
            .map(|file| format!("Instructions from {}:\n{}", shown(&file.path), file.text.trim()))
            .collect();
        if let Some(skills) = &sources.skills {
            let mut skills = super::lock(skills);
            let names = skills.on_access(path, &mut given.skills);
            let listing = skills.listing_of(&names, &ListingCaps::default());
            if !listing.text.is_empty() {
                parts.push(format!("Skills for this file:\n{}", listing.text.trim_end()));
            }
        }
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}

#[async_trait::async_trait]
impl Hooks for NestedContext {
    fn has_point(&self, point: HookPoint) -> bool {
        point == HookPoint::PostToolUse
    }

    async fn run(&self, input: HookInput) -> HookReply {
        let HookInput::PostToolUse { tool_use, outcome, .. } = input else {
            return HookAnswer::PostToolUse(PostToolDecision::Continue).into();
        };
        let path = tool_use.input.json().and_then(|input| input.get("file_path")?.as_str());
        // A call that failed has used no file; its path may not even exist.
        let used = outcome.ok && FILE_TOOLS.contains(&tool_use.name.as_str());
        let context = match path.filter(|_| used).map(PathBuf::from) {
            Some(path) => {
                let nested = self.clone();
                // Files are read, which must not block the task of the session.
                let read = tokio::task::spawn_blocking(move || nested.on_access(&path));
                read.await.ok().flatten()
            }
            None => None,
        };
        let answer = HookAnswer::PostToolUse(PostToolDecision::Continue);
        HookReply { answer, context, stop: None }
    }
}
