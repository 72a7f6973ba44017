//! Reads credentials that are more than a key from variables.

use std::io::ErrorKind;
use std::path::PathBuf;

use robota_core::env_ref::{Lookup, Secret};

use super::get;
use crate::credentials::Credentials;
use crate::error::BuildError;
use crate::profile::{CredentialKind, Profile};

/// The file that `gcloud auth application-default login` writes into its folder.
const GCLOUD_FILE: &str = "application_default_credentials.json";

/// Returns the credentials of a vendor's kind; none if nothing sets them.
///
/// # Errors
/// When some of the variables are missing, or a file cannot be read.
pub(super) fn credentials(
    vendor: &Profile,
    lookup: Lookup<'_>,
) -> Result<Option<Credentials>, BuildError> {
    match vendor.credentials {
        Some(CredentialKind::Aws) => aws(vendor, lookup),
        Some(CredentialKind::ServiceAccount) => google(vendor, lookup),
        Some(CredentialKind::Entra) => entra(vendor, lookup),
        None => Ok(None),
    }
}

fn aws(vendor: &Profile, lookup: Lookup<'_>) -> Result<Option<Credentials>, BuildError> {
    let Some(access_key_id) = get(lookup, "AWS_ACCESS_KEY_ID") else { return Ok(None) };
    Ok(Some(Credentials::Aws {
        access_key_id,
        secret_access_key: Secret::new(find(vendor, lookup, "AWS_SECRET_ACCESS_KEY")?),
        session_token: get(lookup, "AWS_SESSION_TOKEN").map(Secret::new),
        region: find(vendor, lookup, "AWS_REGION")?,
    }))
}

fn entra(vendor: &Profile, lookup: Lookup<'_>) -> Result<Option<Credentials>, BuildError> {
    let Some(tenant) = get(lookup, "AZURE_TENANT_ID") else { return Ok(None) };
    Ok(Some(Credentials::Entra {
        tenant,
        client_id: find(vendor, lookup, "AZURE_CLIENT_ID")?,
        client_secret: Secret::new(find(vendor, lookup, "AZURE_CLIENT_SECRET")?),
        authority: get(lookup, "AZURE_AUTHORITY_HOST"),
    }))
}

/// Returns the application-default credentials of Google, in the order of its own clients: the file
/// that a variable names, the file of `gcloud`, and the metadata server. The server is used only if a
/// variable names it, because on other machines its address belongs to someone else.
fn google(vendor: &Profile, lookup: Lookup<'_>) -> Result<Option<Credentials>, BuildError> {
    let failed = |what: &str, error: &std::io::Error| BuildError::Credentials {
        vendor: vendor.name.clone(),
        reason: format!("cannot read {what}: {error}"),
    };
    let of_file = |text| Some(Credentials::ServiceAccount { key_file: Secret::new(text) });
    if let Some(file) = get(lookup, "GOOGLE_APPLICATION_CREDENTIALS") {
        let read = std::fs::read_to_string(&file);
        return read
            .map(of_file)
            .map_err(|error| failed(&format!("GOOGLE_APPLICATION_CREDENTIALS={file}"), &error));
    }
    if let Some(file) = gcloud_folder(lookup).map(|folder| folder.join(GCLOUD_FILE)) {
        match std::fs::read_to_string(&file) {
            Ok(text) => return Ok(of_file(text)),
            // Only a missing file is normal. One that exists and cannot be read is an error the
            // user has to see.
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(failed(&file.display().to_string(), &error)),
        }
    }
    Ok(get(lookup, "GCE_METADATA_HOST").map(|host| Credentials::MetadataServer { host }))
}

/// Returns the folder in which `gcloud` keeps its files.
fn gcloud_folder(lookup: Lookup<'_>) -> Option<PathBuf> {
    let of_home = || Some(PathBuf::from(get(lookup, "HOME")?).join(".config/gcloud"));
    let of_windows = || Some(PathBuf::from(get(lookup, "APPDATA")?).join("gcloud"));
    let set = get(lookup, "CLOUDSDK_CONFIG").map(PathBuf::from);
    set.or_else(|| if cfg!(windows) { of_windows() } else { of_home() })
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns the value of a variable that must be set.
fn find(vendor: &Profile, lookup: Lookup<'_>, name: &str) -> Result<String, BuildError> {
    get(lookup, name).ok_or_else(|| BuildError::Credentials {
        vendor: vendor.name.clone(),
        reason: format!("the variable {name} is not set"),
    })
}

/// Replaces `{NAME}` in an address by the value of the variable `NAME`; `None` if one is not set.
pub(super) fn expand(template: &str, lookup: Lookup<'_>) -> Option<String> {
    let mut address = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        address.push_str(before);
        address.push_str(&get(lookup, name)?);
        rest = after;
    }
    address.push_str(rest);
    Some(address)
}

#[cfg(test)]
mod tests;
