//! Passes the files that the gate has judged to the tools. Between the judgement and the call, a
//! link in the path can change; the call uses the file that the path led to when it was judged.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use robota_core::ids::CallId;
use serde_json::{Map, Value};

use crate::error::FileError;
use crate::file::ResolvedPath;

/// The paths of judged calls that have not run yet.
#[derive(Debug, Default)]
pub(crate) struct Grants(Mutex<HashMap<(CallId, PathBuf), Option<ResolvedPath>>>);

impl Grants {
    /// Resolves a path that the gate is about to judge, and records the result for the call. If the
    /// path leads to another name, adds that name to the judged arguments as `field`: the gate then
    /// judges both, and the call uses the added one.
    pub(crate) fn record(
        &self,
        call: &CallId,
        given: PathBuf,
        judged: &mut Map<String, Value>,
        field: &str,
    ) {
        let resolved = ResolvedPath::new(given.clone()).ok();
        if let Some(resolved) = resolved.as_ref().filter(|path| path.target != path.given) {
            judged.insert(field.to_owned(), resolved.target.to_string_lossy().into());
        }
        let mut grants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        grants.insert((call.clone(), given), resolved);
    }

    /// Returns the file that a path of the call led to when the gate judged it. A path that no gate
    /// has judged is resolved now.
    pub(crate) fn take(&self, call: &CallId, given: &Path) -> Result<ResolvedPath, FileError> {
        let key = (call.clone(), given.to_owned());
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key) {
            Some(Some(resolved)) => Ok(resolved),
            // The gate could not see where the path leads, so nothing was allowed.
            Some(None) => Err(FileError::Redirected { path: key.1 }),
            None => ResolvedPath::new(key.1),
        }
    }
}

#[cfg(test)]
mod tests;
