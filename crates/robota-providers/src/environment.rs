//! What environment variables say about providers: keys, addresses, models, proxies.
//!
//! Nothing here reads the process environment: the caller passes a lookup function.

mod credentials;
mod for_model;

use std::sync::Arc;

use robota_core::env_ref::{Lookup, Secret};

pub use for_model::{may_have_model, vendor_for_model};

use crate::error::BuildError;
use crate::http::HttpClientOptions;
use crate::profile::{Auth, Profile, Vendors};
use crate::settings::ProviderSettings;

/// The variables that name a proxy, in the order in which they are tried.
// The order of most programs: the variable for HTTPS first, since nearly all services use it; upper
// case first.
const PROXY: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"];

/// The variables that name a file with additional certificate authorities.
const CERTIFICATE_FILES: [&str; 2] = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// The start of something in PEM format.
const PEM: &[u8] = b"-----BEGIN ";

/// Returns the value of a variable; a blank value counts as not set.
fn get(lookup: Lookup<'_>, name: &str) -> Option<String> {
    lookup(name).filter(|value| !value.trim().is_empty())
}

/// Returns the first vendor whose key or address is set, and the variable that sets it.
#[must_use]
pub fn first_vendor(vendors: &Vendors, lookup: Lookup<'_>) -> Option<(Arc<Profile>, String)> {
    configured(vendors, lookup).into_iter().next()
}

/// Returns the vendors whose key or address is set, with the variable that sets it.
fn configured(vendors: &Vendors, lookup: Lookup<'_>) -> Vec<(Arc<Profile>, String)> {
    let one = |vendor: &Arc<Profile>| {
        // A local server needs no key, and a key in its variable does not mean that it runs.
        let keys = if vendor.local { &[][..] } else { &vendor.api_key_env[..] };
        let mut variables = keys.iter().chain(&vendor.base_url_env);
        let variable = variables.find(|name| get(lookup, name).is_some())?;
        Some((Arc::clone(vendor), variable.clone()))
    };
    vendors.iter().filter_map(one).collect()
}

/// Fills in the key, credentials, address and model that the settings leave out.
///
/// # Errors
/// When credentials are set and cannot be used.
pub fn complete(
    vendor: &Profile,
    settings: &mut ProviderSettings,
    lookup: Lookup<'_>,
) -> Result<(), BuildError> {
    let find = |names: &[String]| {
        names.iter().find_map(|name| get(lookup, name).map(|value| (name.clone(), value)))
    };
    if settings.api_key.is_none()
        && let Some((name, key)) = find(&vendor.api_key_env)
    {
        settings.api_key = Some(Secret::new(key));
        // A token is sent as a bearer token, however the vendor expects keys.
        if name.ends_with("_AUTH_TOKEN") && settings.auth.is_none() {
            settings.auth = Some(Auth::Bearer);
        }
    }
    if settings.api_key.is_none() && settings.credentials.is_none() {
        settings.credentials = credentials::credentials(vendor, lookup)?;
    }
    if settings.base_url.is_none() {
        let template = vendor.base_url_template.as_deref();
        settings.base_url = find(&vendor.base_url_env)
            .map(|(_, value)| value)
            .or_else(|| credentials::expand(template?, lookup));
    }
    if settings.model.is_none() {
        settings.model = get(lookup, &format!("{}_MODEL", vendor.vendor.to_ascii_uppercase()));
    }
    Ok(())
}

/// Returns the proxy and the additional certificate authorities that the variables name.
///
/// # Errors
/// When a file of certificates cannot be read, or has none.
pub fn transport(lookup: Lookup<'_>) -> Result<HttpClientOptions, BuildError> {
    let first = |names: &[&str]| names.iter().find_map(|name| get(lookup, name));
    let mut certificates = Vec::new();
    for name in CERTIFICATE_FILES {
        let Some(file) = get(lookup, name) else { continue };
        let bundle = std::fs::read(&file).map_err(|error| BuildError::Transport {
            reason: format!("cannot read {name}={file}: {error}"),
        })?;
        // Checked here, because the library takes a file without certificates for an empty list.
        if !bundle.windows(PEM.len()).any(|part| part == PEM) {
            return Err(BuildError::Transport {
                reason: format!("{name}={file} has no certificate in PEM format"),
            });
        }
        certificates.push(bundle);
    }
    Ok(HttpClientOptions {
        proxy: first(&PROXY),
        no_proxy: first(&["NO_PROXY", "no_proxy"]),
        certificates,
        ..HttpClientOptions::default()
    })
}
