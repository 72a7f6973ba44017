//! Reads credentials that are more than a key from variables.

use robota_core::env_ref::{Lookup, Secret};

use super::get;
use crate::credentials::Credentials;
use crate::error::BuildError;
use crate::profile::{CredentialKind, Profile};

/// Returns the credentials of a vendor's kind; none if their variables are not set.
///
/// # Errors
/// When some of the variables are missing, or a file cannot be read.
pub(super) fn credentials(
    vendor: &Profile,
    lookup: Lookup<'_>,
) -> Result<Option<Credentials>, BuildError> {
    let Some(kind) = vendor.credentials else { return Ok(None) };
    let names: &[&str] = match kind {
        CredentialKind::Aws => &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"],
        CredentialKind::ServiceAccount => &["GOOGLE_APPLICATION_CREDENTIALS"],
        CredentialKind::Entra => &["AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"],
    };
    if get(lookup, names[0]).is_none() {
        return Ok(None);
    }
    let find = |name: &str| {
        get(lookup, name).ok_or_else(|| BuildError::Credentials {
            vendor: vendor.name.clone(),
            reason: format!("the variable {name} is not set"),
        })
    };
    read(kind, vendor, lookup, &find).map(Some)
}

type Find<'a> = &'a dyn Fn(&str) -> Result<String, BuildError>;

fn read(
    kind: CredentialKind,
    vendor: &Profile,
    lookup: Lookup<'_>,
    find: Find<'_>,
) -> Result<Credentials, BuildError> {
    match kind {
        CredentialKind::Aws => Ok(Credentials::Aws {
            access_key_id: find("AWS_ACCESS_KEY_ID")?,
            secret_access_key: Secret::new(find("AWS_SECRET_ACCESS_KEY")?),
            session_token: get(lookup, "AWS_SESSION_TOKEN").map(Secret::new),
            region: find("AWS_REGION")?,
        }),
        CredentialKind::ServiceAccount => {
            let file = find("GOOGLE_APPLICATION_CREDENTIALS")?;
            let text = std::fs::read_to_string(&file).map_err(|error| BuildError::Credentials {
                vendor: vendor.name.clone(),
                reason: format!("cannot read GOOGLE_APPLICATION_CREDENTIALS={file}: {error}"),
            })?;
            Ok(Credentials::ServiceAccount { key_file: Secret::new(text) })
        }
        CredentialKind::Entra => Ok(Credentials::Entra {
            tenant: find("AZURE_TENANT_ID")?,
            client_id: find("AZURE_CLIENT_ID")?,
            client_secret: Secret::new(find("AZURE_CLIENT_SECRET")?),
            authority: get(lookup, "AZURE_AUTHORITY_HOST"),
        }),
    }
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
