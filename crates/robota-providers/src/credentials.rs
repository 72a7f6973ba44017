//! Credentials that change with each request or expire: signatures of AWS, tokens of Google and of
//! Microsoft Entra, keys that a program of the user prints.

#[cfg(feature = "bedrock")]
mod aws;
#[cfg(feature = "entra")]
mod entra;
mod helper;
#[cfg(feature = "vertex")]
mod metadata;
#[cfg(feature = "vertex")]
mod service_account;
#[cfg(any(feature = "vertex", feature = "entra"))]
mod token;
#[cfg(feature = "vertex")]
mod user_login;

use std::fmt;

pub use helper::{KeyHelper, KeySource};

use robota_core::env_ref::Secret;
use serde_json::Value;

use crate::failure::Failure;
use crate::host::Host;
use crate::http::Request;

/// Credentials that a request is signed with, or that are exchanged for a token. Each kind needs a
/// feature of this crate: `bedrock`, `vertex` or `entra`.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Credentials {
    /// Access keys of AWS; requests are signed with Signature Version 4.
    Aws {
        /// The id of the access key, which requests name: `AKIA…`, or `ASIA…` for temporary keys.
        access_key_id: String,
        /// The secret that signs the requests; it is never sent.
        secret_access_key: Secret,
        /// The token of temporary keys, which services require with them; none for permanent keys.
        session_token: Option<Secret>,
        /// The region, for example `eu-central-1`; it is part of the signature.
        region: String,
    },
    /// A service account of Google; its key signs an assertion, which is exchanged for a token. Or
    /// the login of a user with Google's command line, whose refresh token is.
    ServiceAccount {
        /// The JSON file of the account's key, or of the login.
        key_file: Secret,
    },
    /// The metadata server of a machine of Google Cloud, which has tokens for the service account of
    /// the machine. No proxy is used for it.
    MetadataServer {
        /// Its name or address, with a port or without: on Google Cloud `metadata.google.internal`.
        host: String,
    },
    /// An application of Microsoft Entra; its secret is exchanged for a token.
    Entra {
        /// The id of the organisation in Entra, or one of its domains.
        tenant: String,
        /// The application's id, which is no secret.
        client_id: String,
        /// The application's secret, which Entra shows only once.
        client_secret: Secret,
        /// The address of the login service; `None` for that of the public cloud.
        authority: Option<String>,
    },
    /// A program of the user that prints the key. It needs no feature.
    Helper(KeyHelper),
}

impl fmt::Debug for Credentials {
    /// Shows only the kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    /// Returns everything that must not be shown.
    pub(crate) fn secrets(&self) -> Vec<String> {
        match self {
            Self::Aws { secret_access_key, session_token, .. } => {
                let token = session_token.iter().map(|token| token.expose().to_owned());
                token.chain([secret_access_key.expose().to_owned()]).collect()
            }
            Self::ServiceAccount { key_file } => {
                let file: Value = serde_json::from_str(key_file.expose()).unwrap_or_default();
                // Its fields one by one: a message can repeat a field, never the whole file.
                let secrets = ["private_key", "client_secret", "refresh_token"];
                secrets.iter().filter_map(|name| file[*name].as_str()).map(str::to_owned).collect()
            }
            Self::Entra { client_secret, .. } => vec![client_secret.expose().to_owned()],
            Self::MetadataServer { .. } | Self::Helper(_) => Vec::new(),
        }
    }
}

/// Adds credentials to requests.
pub(crate) enum Signer {
    #[cfg(feature = "bedrock")]
    Aws(aws::Aws),
    #[cfg(any(feature = "vertex", feature = "entra"))]
    Token(token::TokenSource),
    Helper(KeyHelper),
}

impl Signer {
    /// Prepares credentials for use. Sends nothing.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn new(credentials: &Credentials) -> Result<Self, String> {
        match credentials {
            Credentials::Helper(helper) => Ok(Self::Helper(helper.clone())),
            #[cfg(feature = "bedrock")]
            Credentials::Aws { access_key_id, secret_access_key, session_token, region } => {
                Ok(Self::Aws(aws::Aws {
                    access_key_id: access_key_id.clone(),
                    secret_access_key: secret_access_key.clone(),
                    session_token: session_token.clone(),
                    region: region.clone(),
                    service: "bedrock".to_owned(),
                }))
            }
            #[cfg(feature = "vertex")]
            Credentials::ServiceAccount { key_file } => {
                let exchange: Box<dyn token::Exchange> =
                    match user_login::UserLogin::parse(key_file) {
                        // One variable names both kinds of files, so the content decides.
                        Some(login) => Box::new(login?),
                        None => Box::new(service_account::ServiceAccount::parse(key_file)?),
                    };
                Ok(Self::Token(token::TokenSource::new(exchange)))
            }
            #[cfg(feature = "vertex")]
            Credentials::MetadataServer { host } => {
                let server = metadata::MetadataServer::new(host)?;
                Ok(Self::Token(token::TokenSource::new(Box::new(server))))
            }
            #[cfg(feature = "entra")]
            Credentials::Entra { tenant, client_id, client_secret, authority } => {
                let application = entra::Application::new(
                    tenant,
                    client_id,
                    client_secret,
                    authority.as_deref(),
                )?;
                Ok(Self::Token(token::TokenSource::new(Box::new(application))))
            }
            #[cfg(not(all(feature = "bedrock", feature = "vertex", feature = "entra")))]
            _ => {
                Err("this build does not support them: a feature of robota-providers is off".into())
            }
        }
    }

    /// Returns whether another key may succeed where the service refused one.
    // Tokens of clouds are renewed by their lifetime; a refusal means that they have no rights.
    pub(crate) fn renews(&self) -> bool {
        matches!(self, Self::Helper(_))
    }

    /// Adds the signature or the token to a request. `renew` asks for a new key.
    #[cfg_attr(
        not(any(feature = "bedrock", feature = "vertex", feature = "entra")),
        expect(unused_variables, reason = "only the other kinds need it")
    )]
    pub(crate) async fn sign(
        &self,
        request: &mut Request,
        host: &Host,
        renew: bool,
    ) -> Result<(), Failure> {
        match self {
            Self::Helper(helper) => helper.sign(request, renew).await,
            #[cfg(feature = "bedrock")]
            Self::Aws(aws) => aws.sign(request, host.clock.now()),
            #[cfg(any(feature = "vertex", feature = "entra"))]
            Self::Token(source) => {
                let token = source.token(host).await?;
                if let Some(project) = source.quota_project() {
                    set_header(request, "x-goog-user-project", project)?;
                }
                set_header(request, "authorization", &format!("Bearer {}", token.expose()))
            }
        }
    }
}

/// Sets a header that must not be shown.
fn set_header(request: &mut Request, name: &'static str, value: &str) -> Result<(), Failure> {
    use reqwest::header::HeaderValue;
    use robota_core::provider::FailureReason;

    let mut value = HeaderValue::from_str(value).map_err(|_| {
        let text = format!("the credentials cannot be sent in the header `{name}`");
        Failure::with_reason(FailureReason::BadKey, text)
    })?;
    value.set_sensitive(true);
    request.headers.insert(name, value);
    Ok(())
}
