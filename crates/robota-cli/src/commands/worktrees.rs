//! `robota worktrees`: lists and removes the git worktrees of agents, also those of earlier runs.

use robota_exec::Supervisor;
use robota_sdk::{ListedWorktree, Removed, Worktree, Worktrees, processes};
use serde_json::{Value, json};

use crate::args::WorktreesCommand;
use crate::setup::Setup;
use crate::{Exit, output};

/// Runs a command.
pub(crate) async fn run(command: WorktreesCommand) -> anyhow::Result<Exit> {
    let settings = match &command {
        WorktreesCommand::List { settings, .. }
        | WorktreesCommand::Remove { settings, .. }
        | WorktreesCommand::Prune { settings, .. } => settings,
    };
    let setup = Setup::load(settings, None)?;
    let cwd = setup.places.cwd.clone();
    // The environment of the user: git needs its configuration and its credentials.
    let worktrees = Worktrees::new(Supervisor::new(), &processes::process_environment());
    match command {
        WorktreesCommand::List { json, .. } => {
            let found = worktrees.list(&cwd).await?;
            if json {
                let list: Vec<Value> = found.iter().map(to_json).collect();
                output::line(&json!({ "worktrees": list }).to_string());
                return Ok(Exit::Ok);
            }
            if found.is_empty() {
                output::note("there are no worktrees of agents in this repository");
            }
            for one in &found {
                output::line(&line(one));
            }
        }
        WorktreesCommand::Remove { name, force, json, .. } => {
            if let Removed::Removed { branch_kept } = worktrees.remove(&cwd, &name, force).await? {
                if json {
                    let removed = json!({ "removed": name, "branch_kept": branch_kept });
                    output::line(&removed.to_string());
                    return Ok(Exit::Ok);
                }
                let branch = if branch_kept { "; its branch is kept" } else { " and its branch" };
                output::line(&format!("removed {name}{branch}"));
            }
        }
        WorktreesCommand::Prune { json, .. } => {
            let pruned = worktrees.prune(&cwd).await?;
            if json {
                let list: Vec<Value> = pruned.iter().map(pruned_to_json).collect();
                output::line(&json!({ "worktrees": list }).to_string());
                return Ok(Exit::Ok);
            }
            if pruned.is_empty() {
                output::note("there are no worktrees of agents in this repository");
            }
            for (worktree, removed) in pruned {
                let path = worktree.path.display();
                output::line(&match removed {
                    Removed::Removed { .. } => format!("removed {path}"),
                    Removed::Kept { reasons } => format!("kept    {path} ({})", reasons.join(", ")),
                });
            }
        }
    }
    Ok(Exit::Ok)
}

fn state(one: &ListedWorktree) -> String {
    match (&one.used_by, &one.changes) {
        (Some(pid), _) => format!("used by process {pid}"),
        (None, Err(error)) => error.clone(),
        (None, Ok(changes)) if changes.is_empty() => "clean".to_owned(),
        (None, Ok(changes)) => {
            changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
    }
}

fn line(one: &ListedWorktree) -> String {
    format!("{}  {}  {}", one.worktree.path.display(), one.worktree.branch, state(one))
}

fn to_json(one: &ListedWorktree) -> Value {
    json!({
        "path": one.worktree.path,
        "branch": one.worktree.branch,
        "base": one.worktree.base,
        "state": state(one),
        "clean": one.changes.as_ref().is_ok_and(Vec::is_empty),
        "used_by": one.used_by,
    })
}

fn pruned_to_json((worktree, removed): &(Worktree, Removed)) -> Value {
    let (removed, reasons) = match removed {
        Removed::Removed { .. } => (true, &[][..]),
        Removed::Kept { reasons } => (false, reasons.as_slice()),
    };
    json!({
        "path": worktree.path,
        "branch": worktree.branch,
        "removed": removed,
        "reasons": reasons,
    })
}
