//! Imports of files outside the folder, for the user to decide.

use std::path::PathBuf;

use super::TrustStore;
use crate::instructions::{ImportFilter, InstructionOptions, Instructions, PendingImport};
use crate::reader::ContextReader;

/// The most rounds in which approved files are searched for further imports.
const MAX_ROUNDS: usize = 5;

/// Returns the files outside the folder that its instructions import and that the user has not
/// approved, with those that such files import in turn.
///
/// ```
/// use robota_config::{ContextReader, Places, TrustStore, import_requests};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// # let (home, project) = (home.path(), project.path());
/// std::fs::write(home.join("style.md"), "Four spaces.")?;
/// std::fs::write(project.join("CLAUDE.md"), "See @~/style.md")?;
/// let places = Places::new(home, project);
/// let found = import_requests(&ContextReader::new(&places), &TrustStore::load(&places), None);
/// assert!(found[0].path.ends_with("style.md"));
/// # Ok(()) }
/// ```
#[must_use]
pub fn import_requests(
    reader: &ContextReader,
    trust: &TrustStore,
    filter: Option<&ImportFilter>,
) -> Vec<PendingImport> {
    let mut approved: Vec<PathBuf> = trust.approved_imports(reader.cwd());
    let mut found: Vec<PendingImport> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let options = InstructionOptions {
            approved_imports: approved.clone(),
            import_filter: filter.cloned(),
            ..InstructionOptions::default()
        };
        // Read again in each round: an approved file may import further ones.
        let pending = Instructions::load(reader, options).pending;
        if pending.is_empty() {
            break;
        }
        // As if the user had approved them, to see what they would import in turn.
        approved.extend(pending.iter().map(|import| import.path.clone()));
        found.extend(pending);
    }
    found
}
