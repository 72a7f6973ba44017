//! The user's files for agents (SDK-12): instructions, output style, memory, tasks and skills, and
//! the system prompt that is composed from them.

mod nested;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use robota_config::agents::AgentDefinition;
use robota_config::instructions::{ImportFilter, InstructionOptions, Instructions};
use robota_config::output_styles::OutputStyles;
use robota_config::project::{ProjectFacts, current_branch};
use robota_config::skills::{ListingCaps, Skills};
use robota_config::tasks::{TaskFiles, TaskSelection, format_tasks};
use robota_config::{ContextReader, ReadCounts, TrustStore, import_requests, shown};
use robota_mcp::client::ServerInstructions;
use serde_json::Value;

pub(crate) use nested::{NestedContext, NestedContexts};

use crate::agents::Preloaded;
use crate::mcp::compose_instructions;
use crate::memory::ProjectMemory;
use crate::notice::Notice;
use crate::project::Project;
use crate::prompt::{Composer, PromptPart, SystemText, add_instructions};

/// What is read of a user's files when a session starts.
pub(crate) struct ProjectContext {
    /// The system prompt. It never changes during a session, so that a provider's cache of it stays
    /// valid.
    pub(crate) system: String,
    /// The name and the size of each part of the prompt, for `/context`.
    pub(crate) parts: Vec<PromptPart>,
    /// The instructions of the project alone, for agents.
    pub(crate) instructions: String,
    /// The user's instructions for summaries of conversations.
    pub(crate) compact_instructions: Option<String>,
    /// The skills, shared with the runner: reading them again changes both.
    pub(crate) skills: Arc<Mutex<Skills>>,
    /// What becomes active when files are read.
    pub(crate) nested: NestedContexts,
    /// What is wrong with the files.
    pub(crate) notices: Vec<Notice>,
    /// Whether the project has a memory.
    pub(crate) has_memory: bool,
    /// What was read, with the definitions of agents.
    pub(crate) counts: ReadCounts,
    /// Rules that the agent needs that the conversation runs as.
    pub(crate) allow: Vec<String>,
}

/// What a caller says about the context of a session.
pub(crate) struct ContextRequest<'a> {
    pub(crate) text: &'a SystemText,
    /// The agent that the conversation runs as.
    pub(crate) main: Option<&'a AgentDefinition>,
    /// What was read of the definitions of agents: the list of skills opens fewer files.
    pub(crate) agents: ReadCounts,
    /// The only skills that the model sees; none for all.
    pub(crate) only_skills: Option<&'a [String]>,
    /// Whether the model can use skills; otherwise none are listed.
    pub(crate) lists_skills: bool,
    /// The instructions of MCP servers.
    pub(crate) servers: &'a [ServerInstructions],
}

impl ProjectContext {
    /// Reads the files and composes the prompt. Nothing here fails: a bad file is a notice.
    pub(crate) fn load(project: &Project, request: &ContextRequest<'_>) -> Self {
        let ContextRequest { text, main, agents, .. } = *request;
        let reader = ContextReader::new(&project.places);
        let settings = &project.settings.values;
        let mut notices = Vec::new();
        let mut composer = Composer::default();
        let style = output_style(project, &reader, &mut notices);
        let coding = style.as_ref().is_none_or(|style| style.keep_coding_instructions);
        add_instructions(&mut composer, text, coding);
        if let Some(style) = &style {
            composer.section(format!("output style {}", style.name), "Output style", &style.text);
        }
        let skills = project.skills(&reader).only_for_model(request.only_skills);
        let skills = Arc::new(Mutex::new(skills));
        let preloaded = main.map(|main| Preloaded::of(main, project, Some(&skills), &mut notices));
        let Preloaded { parts, allow } = preloaded.unwrap_or_default();
        for (name, text) in &parts {
            composer.add(name.as_str(), text);
        }
        let instructions = instructions(project, &reader, &mut notices);
        let has_instructions = main.is_none_or(|main| main.instructions);
        let mut for_agents = Composer::default();
        for file in &instructions.files {
            let path = shown(&file.path);
            let heading = format!("Instructions from {path}");
            for_agents.section(path.as_str(), &heading, &file.text);
            if has_instructions {
                composer.section(path.as_str(), &heading, &file.text);
            }
        }
        let compact_instructions = instructions.compact_instructions();
        // A memory that is empty is offered only if the settings ask for one.
        let mut has_memory = settings.memory.get("enabled").is_some_and(|enabled| enabled == true);
        match ProjectMemory::open(project.cwd()).and_then(|memory| memory.index()) {
            Ok(index) => {
                has_memory |= !index.text.is_empty();
                composer.section("memory", "Project memory", &index.text);
            }
            Err(error) => notices.push(Notice::Error(format!("project memory: {error}"))),
        }
        // On by default; every value but `true` turns it off.
        if settings.task_context.get("enabled").is_none_or(|enabled| enabled == true) {
            composer.section("tasks", "Active tasks", &tasks(project, &reader, &mut notices));
        }
        for plugin in project.plugins.active() {
            if let Some(prompt) = &plugin.manifest.prompt {
                let name = &plugin.manifest.name;
                let title = format!("Instructions of the plugin {name}");
                composer.section(format!("plugin {name}"), &title, prompt);
            }
        }
        compose_instructions(&mut composer, request.servers);
        {
            let skills = lock(&skills);
            if request.lists_skills {
                let listing = skills.listing(&ListingCaps::beside(agents.files));
                composer.section("skills", "Skills", &listing.text);
            }
            notices.extend(skills.report().problems.iter().map(|it| Notice::Note(it.to_string())));
        }
        // A caller that replaces the prompt knows the folder.
        if text.replace.is_none() {
            composer.add("facts", &facts(project, &reader));
        }
        if let Some(language) = &settings.language {
            composer.add("language", &format!("Response language: {language}"));
        }
        if let Some(append) = &text.append {
            composer.add("added text", append);
        }
        // At the end: composing the prompt reads files, too.
        let counts = agents + reader.counts();
        let (system, parts) = composer.finish();
        let listed = request.lists_skills.then(|| skills.clone());
        let nested = NestedContexts::new(has_instructions.then_some(instructions), listed);
        let notices = limited(notices);
        Self {
            system,
            parts,
            instructions: for_agents.finish().0,
            compact_instructions,
            skills,
            nested,
            notices,
            has_memory,
            counts,
            allow,
        }
    }
}

/// The most notices about files of a folder.
const MAX_NOTICES: usize = 20;

/// Returns the first notices, and how many follow: a checkout must not be able to fill the screen.
fn limited(mut notices: Vec<Notice>) -> Vec<Notice> {
    let more = notices.len().saturating_sub(MAX_NOTICES);
    notices.truncate(MAX_NOTICES);
    if more > 0 {
        notices.push(Notice::Note(format!("and {more} more problems of files for agents")));
    }
    notices
}

/// Reads the instruction files of a folder.
pub(crate) fn instructions(
    project: &Project,
    reader: &ContextReader,
    notices: &mut Vec<Notice>,
) -> Instructions {
    let options = InstructionOptions {
        approved_imports: approved_imports(project, reader),
        excludes: project.settings.values.claude_md_excludes.clone().unwrap_or_default(),
        import_filter: Some(import_filter(project)),
        ..InstructionOptions::default()
    };
    let instructions = Instructions::load(reader, options);
    // An import that waits for approval has a notice of its own.
    let waits = |file: &Path| instructions.pending.iter().any(|import| import.path == file);
    let problems = instructions.report.problems.iter();
    let problems = problems.filter(|it| !it.origin.file.as_deref().is_some_and(waits));
    notices.extend(problems.map(|it| Notice::Note(it.to_string())));
    for import in &instructions.pending {
        notices.push(Notice::Note(format!(
            "{} imports {}, which is outside of the folder and not approved; it was not read. Run `robota \
             trust` to review it",
            shown(&import.imported_by),
            shown(&import.path)
        )));
    }
    instructions
}

/// Returns the files outside the folder that its instructions may import. A caller that trusts the
/// folder approves all of them.
fn approved_imports(project: &Project, reader: &ContextReader) -> Vec<std::path::PathBuf> {
    let store = TrustStore::load(&project.places);
    let mut approved = store.approved_imports(reader.cwd());
    if project.trusted_by_caller {
        let open = import_requests(reader, &store, Some(&import_filter(project)));
        approved.extend(open.into_iter().map(|import| import.path));
    }
    approved
}

/// Returns the filter that refuses imports of files that the permissions deny.
pub(crate) fn import_filter(project: &Project) -> ImportFilter {
    let policy = project.policy.clone();
    ImportFilter::new(move |path| policy.may_read(path, &robota_exec::OsPaths))
}

fn output_style(
    project: &Project,
    reader: &ContextReader,
    notices: &mut Vec<Notice>,
) -> Option<robota_config::output_styles::OutputStyle> {
    let name = project.settings.values.output_style.as_deref();
    let name = name.filter(|name| !name.eq_ignore_ascii_case("default"));
    let mut plugins = project.plugins.active().peekable();
    // Without a choice and without a plugin that could force one, no folder is searched.
    if name.is_none() && plugins.peek().is_none() {
        return None;
    }
    let styles = OutputStyles::load(reader).with_plugins(reader, plugins);
    // A plugin that forces its style wins over the setting of the user.
    if let Some(forced) = styles.forced() {
        return Some(forced.clone());
    }
    let name = name?;
    let found = styles.get(name).cloned();
    if found.is_none() {
        let known: Vec<_> = styles.iter().map(|style| style.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        notices.push(Notice::Error(format!("there is no output style `{name}`; found: {known}")));
    }
    found
}

fn tasks(project: &Project, reader: &ContextReader, notices: &mut Vec<Notice>) -> String {
    let settings = &project.settings.values.task_context;
    let folder = settings.get("dir").and_then(Value::as_str).map(Path::new);
    let tasks = TaskFiles::load(reader, folder);
    notices.extend(tasks.report.problems.iter().map(|it| Notice::Note(it.to_string())));
    if tasks.tasks.is_empty() {
        return String::new();
    }
    let branch = current_branch(reader);
    let selection = TaskSelection { current_branch: branch.as_deref(), ..TaskSelection::default() };
    format_tasks(&tasks.select(&selection))
}

/// Returns neutral facts about the folder.
fn facts(project: &Project, reader: &ContextReader) -> String {
    let facts = ProjectFacts::detect(reader);
    let mut text = format!("Working directory: {}", project.cwd().display());
    for dir in &project.workspace().additional {
        text.push_str(&format!("\nAdditional directory: {}", dir.display()));
    }
    for (name, values) in
        [("Project", &facts.types), ("Languages", &facts.languages), ("Tools", &facts.tools)]
    {
        if !values.is_empty() {
            text.push_str(&format!("\n{name}: {}", values.join(", ")));
        }
    }
    text
}

/// Locks a mutex, also if a thread that had it locked panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
