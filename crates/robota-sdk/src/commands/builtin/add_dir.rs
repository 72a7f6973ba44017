//! `/add-dir`: adds a folder to the workspace of the session.

use async_trait::async_trait;
use robota_policy::Workspace;

use super::failed;
use crate::commands::{CommandInfo, CommandResult, SystemCommand};
use crate::interactive::InteractiveSession;
use crate::project::working_directory;

/// Only for users: a model that adds folders would widen its own permissions.
pub(super) struct AddDir;

#[async_trait]
impl SystemCommand for AddDir {
    fn info(&self) -> CommandInfo {
        CommandInfo::new("add-dir", "Adds a folder to the workspace until the session ends")
            .arguments("FOLDER")
    }

    async fn execute(&self, session: &InteractiveSession, arguments: &str) -> CommandResult {
        let wanted = arguments.trim().to_owned();
        if wanted.is_empty() {
            return CommandResult::failed("Usage: /add-dir FOLDER");
        }
        let workspace = session.project().map(|project| project.workspace());
        let permissions = session.session().permissions();
        // Paths are resolved on disk, which may take long.
        let added =
            tokio::task::spawn_blocking(move || add(&permissions, workspace, &wanted)).await;
        added.unwrap_or_else(|_| CommandResult::failed("adding the folder panicked"))
    }
}

fn add(
    permissions: &robota_session::Permissions,
    workspace: Option<Workspace>,
    wanted: &str,
) -> CommandResult {
    let (Some(workspace), Some(mut folders)) = (workspace, permissions.folders()) else {
        return CommandResult::failed("This session has no workspace.");
    };
    folders.insert(0, workspace.cwd.clone());
    // As with `--add-dir`: links are followed, because rules compare paths.
    let folder = match working_directory(Some(&workspace.resolve(wanted))) {
        Ok(folder) => folder,
        Err(error) => return failed(&error),
    };
    let holds = |outer: &&std::path::PathBuf| {
        outer.canonicalize().is_ok_and(|outer| folder.starts_with(outer))
    };
    if let Some(outer) = folders.iter().find(holds) {
        let (folder, outer) = (folder.display(), outer.display());
        let text = format!("{folder} is already in the workspace: it belongs to {outer}.");
        return CommandResult::failed(text);
    }
    match permissions.add_folder(&folder) {
        Ok(()) => {
            let shown = folder.display().to_string();
            let text = format!("Added {shown} to the workspace until the session ends.");
            CommandResult::ok(text).with("folder", shown)
        }
        Err(error) => failed(&error),
    }
}
