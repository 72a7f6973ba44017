//! `robota trust`: shows the settings of a folder that need trust, and grants or revokes it.

use robota_config::skills::Skills;
use robota_config::{ContextReader, Files, RepositoryProgram, Trust, TrustStore};
use robota_core::clock::SystemClock;

use crate::args::TrustArgs;
use crate::setup::Setup;
use crate::{Exit, output};

/// Shows, grants or revokes trust in a folder.
pub(crate) fn run(args: &TrustArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let mut store = TrustStore::load(&setup.places);
    if let Some(problem) = store.problem() {
        output::error(problem);
    }
    if let Some(name) = &args.skill {
        return skill(name, args.yes, &setup, &mut store);
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
    let subject = Files::read(&setup.places).trust_subject();
    let status = store.status_of(&subject);
    report_repository(&subject.repository);
    if subject.items.is_empty() {
        output::line(&format!("{folder} has no settings that need trust."));
        return Ok(Exit::Ok);
    }
    output::line(&format!(
        "These settings of {folder} need trust, because they can run commands, widen permissions or redirect requests:"
    ));
    for item in &subject.items {
        output::line(&format!("  {}: `{}` = {}", item.origin, item.key, item.value));
    }
    match status {
        Trust::Trusted => output::line("They are trusted."),
        Trust::NotNeeded | Trust::Unknown | Trust::Changed if args.yes => {
            store.grant(&subject, &SystemClock)?;
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
    Ok(Exit::Ok)
}

/// Shows what a skill runs and allows, and trusts its file.
fn skill(name: &str, yes: bool, setup: &Setup, store: &mut TrustStore) -> anyhow::Result<Exit> {
    let skills = Skills::find(&ContextReader::new(&setup.places));
    let body = skills.open(name, store)?;
    let file = body.file.display();
    if !body.skill.needs_trust() {
        output::line(&format!("{file} is your own and needs no trust."));
        return Ok(Exit::Ok);
    }
    output::line(&format!("The skill {name} ({file}):"));
    for command in body.commands() {
        output::line(&format!(
            "  runs `{command}` when it is invoked, if the permissions allow it"
        ));
    }
    for rule in &body.skill.requests.allowed_tools {
        output::line(&format!("  allows {rule} during its turn"));
    }
    if body.trusted {
        output::line("It is trusted.");
    } else if yes {
        store.grant_file(&body.file, &body.hash, &SystemClock)?;
        output::line("Trusted. If the file changes, it runs nothing until you trust it again.");
    } else {
        output::line(&format!("It is not trusted. To trust it: robota trust --skill {name} --yes"));
    }
    Ok(Exit::Ok)
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
        output::line(&format!("  {}: `{key}` = {value:?}", file.display()));
    }
}
