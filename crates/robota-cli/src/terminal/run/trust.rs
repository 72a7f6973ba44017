//! The settings of the folder that need trust.

use robota_config::{ContextReader, Files, Trust, TrustStore, file_requests, shown};
use robota_core::clock::SystemClock;

use crate::setup::Setup;

/// Returns what needs trust and does not have it, for people.
pub(super) fn open_items(setup: &Setup) -> Vec<String> {
    let store = TrustStore::load(&setup.places);
    let subject = Files::read(&setup.places).trust_subject();
    let mut items = Vec::new();
    // The question names the folder.
    let folder = format!("{}/", setup.places.cwd.display());
    match store.status_of(&subject) {
        Trust::Trusted | Trust::NotNeeded => {}
        Trust::Unknown | Trust::Changed => {
            items
                .extend(subject.items.iter().map(|item| item.to_string().replacen(&folder, "", 1)));
        }
    }
    let files = file_requests(&ContextReader::new(&setup.places), &store);
    let open = files.iter().filter(|file| !file.trusted);
    items.extend(open.map(|file| {
        let name = shown(&file.file);
        format!("{}: {}", name.replacen(&folder, "", 1), file.requests.join(", "))
    }));
    items
}

/// Trusts all of it.
///
/// # Errors
/// If the record of trust cannot be written.
pub(super) fn grant(setup: &Setup) -> anyhow::Result<()> {
    let mut store = TrustStore::load(&setup.places);
    let subject = Files::read(&setup.places).trust_subject();
    if !subject.items.is_empty() {
        store.grant(&subject, &SystemClock)?;
    }
    for file in file_requests(&ContextReader::new(&setup.places), &store) {
        if !file.trusted {
            store.grant_file(&file.file, &file.hash, &SystemClock)?;
        }
    }
    Ok(())
}
