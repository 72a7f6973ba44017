//! The settings and files of the folder that need trust.

use robota_config::{
    ContextReader, FileRequest, Files, TrustStore, TrustSubject, file_requests, shown,
};
use robota_core::clock::SystemClock;

use crate::setup::Setup;

/// What needs trust and does not have it, as it was read for the question.
pub(super) struct TrustQuestion {
    /// The settings; `None` if there are none, or if they are trusted.
    settings: Option<TrustSubject>,
    files: Vec<FileRequest>,
}

impl TrustQuestion {
    /// Reads the settings and files of the folder.
    pub(super) fn read(setup: &Setup) -> Self {
        let store = TrustStore::load(&setup.places);
        let subject = Files::read(&setup.places).trust_subject();
        let settings = store.status_of(&subject).is_undecided().then_some(subject);
        let mut files = file_requests(&ContextReader::new(&setup.places), &store);
        files.retain(|file| !file.trusted);
        Self { settings, files }
    }

    /// Returns the items of the question, for people.
    pub(super) fn items(&self, setup: &Setup) -> Vec<String> {
        // The question names the folder.
        let folder = format!("{}/", setup.places.cwd.display());
        let below = |path: String| path.replacen(&folder, "", 1);
        let settings = self.settings.iter().flat_map(|subject| &subject.items);
        let files = self.files.iter();
        settings
            .map(|item| below(item.to_string()))
            .chain(
                files.map(|file| {
                    format!("{}: {}", below(shown(&file.file)), file.requests.join(", "))
                }),
            )
            .collect()
    }

    /// Trusts exactly what was read: a file that changed while the user read the question is not
    /// trusted.
    ///
    /// # Errors
    /// If the record of trust cannot be written.
    pub(super) fn grant(&self, setup: &Setup) -> anyhow::Result<()> {
        let mut store = TrustStore::load(&setup.places);
        if let Some(subject) = &self.settings {
            store.grant(subject, &SystemClock)?;
        }
        for file in &self.files {
            store.grant_file(&file.file, &file.hash, &SystemClock)?;
        }
        Ok(())
    }
}
