//! Looks up the addresses of hosts, and distinguishes a name that does not exist from a lookup that
//! failed.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Names under this domain exist nowhere (RFC 6761), so no resolver is asked about them.
const NOWHERE: &str = ".invalid";

/// What resolvers say if another try may succeed.
const TEMPORARY: [&str; 2] = ["Temporary failure", "Try again"];

/// The resolver of the system.
#[derive(Default)]
pub(super) struct SystemResolver {
    /// The hosts that were found. If one of them is not found later, the network has failed.
    found: Arc<Mutex<HashSet<String>>>,
}

/// A host whose name does not exist.
#[derive(Debug)]
pub(super) struct UnknownHost {
    pub(super) host: String,
    cause: Option<String>,
}

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the host `{}` does not exist", self.host)?;
        match &self.cause {
            Some(cause) => write!(f, " ({cause})"),
            None => Ok(()),
        }
    }
}

impl Error for UnknownHost {}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(look_up(name.as_str().to_owned(), self.found.clone()))
    }
}

async fn look_up(
    host: String,
    found: Arc<Mutex<HashSet<String>>>,
) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
    if host.trim_end_matches('.').ends_with(NOWHERE) {
        return Err(UnknownHost { host, cause: None }.into());
    }
    // Port 0 is replaced by that of the request.
    let looked_up = tokio::net::lookup_host((host.as_str(), 0)).await.map(Vec::from_iter);
    match looked_up {
        Ok(addresses) => {
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(host);
            Ok(Box::new(addresses.into_iter()))
        }
        Err(error) => {
            // A host that was found before still exists, so the network has failed and a retry may
            // help.
            let known = found.lock().unwrap_or_else(PoisonError::into_inner).contains(&host);
            match is_final(&error) && !known {
                true => Err(UnknownHost { host, cause: Some(error.to_string()) }.into()),
                false => Err(error.into()),
            }
        }
    }
}

/// Returns whether a lookup found that the name does not exist. The errors of resolvers have no code,
/// only a text; those of the system itself, such as too many open files, have one.
fn is_final(error: &std::io::Error) -> bool {
    let text = error.to_string();
    error.raw_os_error().is_none() && !TEMPORARY.iter().any(|temporary| text.contains(temporary))
}

#[cfg(test)]
mod tests;
