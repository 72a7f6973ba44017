//! `robota trust`: shows the settings, skills and agents of a folder that need trust, and grants or
//! revokes it.

use std::path::PathBuf;

use robota_config::instructions::PendingImport;
use robota_config::{
    ContextReader, FileRequest, Files, RepositoryProgram, Trust, TrustStore, TrustSubject,
    file_requests, shown,
};
use robota_core::clock::SystemClock;

use crate::args::TrustArgs;
use crate::setup::Setup;
use crate::{Exit, output};

/// Shows, grants or revokes trust in a folder.
pub(crate) fn run(args: &TrustArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let mut store = TrustStore::load(&setup.places);
    // A record that cannot be read trusts nothing, so the command can still show what needs trust.
    if let Some(problem) = store.problem() {
        output::error(problem);
    }
    let folder = setup.places.cwd.display().to_string();
    if args.revoke {
        let was = store.revoke(&setup.places.cwd)?;
        output::line(&if was {
            format!("{folder} is no longer trusted.")
        } else {
            format!("{folder} was not trusted.")
        });
        return Ok(Exit::Ok);
    }
    // Read once: what is granted below is exactly what is shown, also if a file changes meanwhile.
    let subject = Files::read(&setup.places).trust_subject();
    let files = file_requests(&ContextReader::new(&setup.places), &store);
    let imports = setup.project.import_requests(&store);
    let approved = store.approved_imports(&setup.places.cwd);
    report_repository(&subject.repository);
    let nothing = imports.is_empty() && approved.is_empty();
    if subject.items.is_empty() && files.is_empty() && nothing {
        output::line(&format!("{folder} has no settings that need trust."));
    }
    if !subject.items.is_empty() {
        trust_settings(&folder, &subject, args.yes, &mut store)?;
    }
    if !files.is_empty() {
        trust_files(&folder, &files, args.yes, &mut store)?;
    }
    if !nothing {
        approve_imports(&setup, &imports, &approved, args.yes, &mut store)?;
    }
    Ok(Exit::Ok)
}

/// Shows the settings that need trust, and grants it.
fn trust_settings(
    folder: &str,
    subject: &TrustSubject,
    yes: bool,
    store: &mut TrustStore,
) -> anyhow::Result<()> {
    output::line(&format!(
        "These settings of {folder} need trust, because they can run commands, widen permissions or redirect requests:"
    ));
    for item in &subject.items {
        output::line(&format!("  {item}"));
    }
    match store.status_of(subject) {
        Trust::Trusted => output::line("They are trusted."),
        Trust::NotNeeded | Trust::Unknown | Trust::Changed if yes => {
            store.grant(subject, &SystemClock)?;
            output::line("Trusted. If they change, they are ignored until you trust them again.");
        }
        Trust::Changed => {
            output::line(
                "They are ignored, because they changed since you trusted them. To trust them: robota trust --yes",
            );
        }
        Trust::NotNeeded | Trust::Unknown => {
            output::line("They are ignored. To trust them: robota trust --yes");
        }
    }
    Ok(())
}

/// Shows the skills and agents that ask for more than text, and trusts their files.
fn trust_files(
    folder: &str,
    files: &[FileRequest],
    yes: bool,
    store: &mut TrustStore,
) -> anyhow::Result<()> {
    output::line(&format!(
        "These skills and agents of {folder} need trust, because they can run commands or widen permissions:"
    ));
    for file in files {
        let state = if file.trusted { "trusted" } else { "not trusted" };
        let requests = file.requests.join(", ");
        output::line(&format!("  {} ({state}): {requests}", shown(&file.file)));
    }
    let open: Vec<_> = files.iter().filter(|file| !file.trusted).collect();
    if open.is_empty() {
        output::line("They are trusted.");
    } else if yes {
        for file in open {
            store.grant_file(&file.file, &file.hash, &SystemClock)?;
        }
        output::line("Trusted. A file that changes is not trusted until you trust it again.");
    } else {
        output::line("To trust them: robota trust --yes");
    }
    Ok(())
}

/// Shows the imports of files outside the folder, and approves exactly these files.
fn approve_imports(
    setup: &Setup,
    open: &[PendingImport],
    approved: &[PathBuf],
    yes: bool,
    store: &mut TrustStore,
) -> anyhow::Result<()> {
    let folder = &setup.places.cwd;
    output::line(&format!(
        "The instructions of {} import files outside the folder, which become part of every prompt:",
        folder.display()
    ));
    for path in approved {
        output::line(&format!("  {} (approved)", shown(path)));
    }
    for PendingImport { path, imported_by } in open {
        let by = shown(imported_by);
        output::line(&format!("  {} (not approved), imported by {by}", shown(path)));
    }
    if open.is_empty() {
        output::line("They are approved.");
    } else if yes {
        // Only those that were shown: another import is another decision.
        store.approve_imports(folder, open.iter().map(|import| import.path.clone()))?;
        output::line("Approved. An import of another file is not read until you approve it.");
    } else {
        output::line("To approve them: robota trust --yes");
    }
    Ok(())
}

/// Prints what the configuration of the git repository makes git run.
fn report_repository(programs: &[RepositoryProgram]) {
    if programs.is_empty() {
        return;
    }
    output::line(
        "The configuration of this git repository names programs, which git runs in this folder. It is \
         not part of what you trust here; read-only git commands of the agent ignore it:",
    );
    for RepositoryProgram { file, key, value } in programs {
        // Escaped, because a checkout could hide a part of the value by characters of the terminal.
        output::line(&format!("  {}: `{key}` = {value:?}", shown(file)));
    }
}
