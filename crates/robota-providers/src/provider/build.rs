//! Builds a provider from a vendor's profile and a user's settings.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use super::HttpProvider;
use crate::credentials::{Credentials, Signer};
use crate::definition::{CredentialRequirement, SetupField};
use crate::error::BuildError;
use crate::failure::ServiceInfo;
use crate::host::Host;
use crate::http::{Scrubber, display_address};
use crate::json::merge;
use crate::profile::{Auth, Profile, Quirks, Wire};
use crate::settings::ProviderSettings;
use crate::wire::cache::PieceCache;

/// The Anthropic wire requires a version header, also at other services.
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// The header with beta features of the Anthropic wire.
const ANTHROPIC_BETA: &str = "anthropic-beta";

/// Builds a provider. It sends nothing.
///
/// # Errors
/// When the settings are invalid: a required key or address is missing, or a header is invalid.
pub fn build(
    profile: &Profile,
    settings: ProviderSettings,
    host: &Host,
) -> Result<Arc<HttpProvider>, BuildError> {
    let vendor = profile.name.clone();
    let base = base_url(profile, &settings)?;
    let (profile_wire, profile_quirks) = profile.at(base.as_str());
    let wire = settings.wire.or_else(|| wire_of_path(&base)).unwrap_or(profile_wire);
    let quirks = quirks(profile, profile_quirks, &settings)?;
    let base = with_default_path(base, profile, wire);
    host.client.prepare(&base)?;
    let key = settings.api_key.as_ref().filter(|key| !key.is_blank());
    let signer = match &settings.credentials {
        None => None,
        Some(credentials) => {
            let failed = |reason| BuildError::Credentials { vendor: vendor.clone(), reason };
            Some(Signer::new(credentials).map_err(failed)?)
        }
    };
    let missing = key.is_none() && signer.is_none();
    if profile.credential == CredentialRequirement::Required && missing {
        return Err(BuildError::NoKey { vendor, hint: key_hint(profile) });
    }
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &profile.headers {
        insert_header(&mut headers, &vendor, name, value, false)?;
    }
    if wire == Wire::AnthropicMessages && !headers.contains_key(ANTHROPIC_VERSION) {
        // The old version: compatible services know no other, and the newest one refuses sampling
        // parameters.
        headers.insert(ANTHROPIC_VERSION, HeaderValue::from_static("2023-06-01"));
    }
    let mut address = base.clone();
    if let Some(key) = key {
        let key = key.expose().trim();
        match settings.auth.unwrap_or(profile.auth) {
            Auth::Bearer => {
                insert_header(
                    &mut headers,
                    &vendor,
                    "authorization",
                    &format!("Bearer {key}"),
                    true,
                )?;
            }
            Auth::XApiKey => insert_header(&mut headers, &vendor, "x-api-key", key, true)?,
            Auth::ApiKey => insert_header(&mut headers, &vendor, "api-key", key, true)?,
            Auth::XGoogApiKey => insert_header(&mut headers, &vendor, "x-goog-api-key", key, true)?,
            Auth::QueryKey => drop(address.query_pairs_mut().append_pair("key", key)),
        }
    }
    // The last, so that the user's headers replace those of the profile and of the key.
    for (name, value) in &settings.headers {
        insert_header(&mut headers, &vendor, name, value.expose(), true)?;
    }
    if wire == Wire::AnthropicMessages {
        add_betas(&mut headers, &vendor, &settings.betas)?;
    }
    // Before anything can fail at the service: its messages may repeat the key or a header.
    let scrub = scrubber(&settings, &address);
    let mut options = Value::Object(profile.options.clone());
    merge(&mut options, &Value::Object(settings.options.clone()));
    let service = ServiceInfo {
        vendor,
        model: String::new(),
        address: display_address(&base),
        key_env: profile.api_key_env.first().cloned(),
        address_env: profile.base_url_env.first().cloned(),
        help: profile.help_link().map(|link| link.url.clone()),
        local: profile.local || is_local(&base),
        has_options: !settings.options.is_empty(),
        // Anthropic always sends `retry-after` with a rate limit. Without it, the spending limit is
        // reached.
        bare_429_is_final: wire == Wire::AnthropicMessages,
    };
    Ok(Arc::new(HttpProvider {
        vendor: profile.vendor.clone(),
        wire,
        quirks,
        base: address,
        headers,
        model: settings.model.or_else(|| profile.default_model.clone()),
        models_path: profile.models_path.clone(),
        limits_path: profile.limits_path.clone(),
        limits_of_model: profile.limits_of_model,
        known_limits: Mutex::default(),
        rate_limits: Mutex::default(),
        options: match options {
            Value::Object(options) => options,
            _ => serde_json::Map::new(),
        },
        timeout: settings.timeout,
        host: host.clone(),
        scrub,
        service,
        signer,
        cache: PieceCache::default(),
        search: AtomicBool::new(false),
        fetch: AtomicBool::new(false),
    }))
}

fn base_url(profile: &Profile, settings: &ProviderSettings) -> Result<Url, BuildError> {
    let vendor = || profile.name.clone();
    let configured = settings.base_url.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let address = configured
        .or(profile.base_url.as_deref())
        .ok_or_else(|| BuildError::NoBaseUrl { vendor: vendor(), hint: address_hint(profile) })?;
    let invalid = |reason: String| BuildError::BaseUrl {
        vendor: vendor(),
        reason,
        hint: address_hint(profile),
    };
    let url = Url::parse(address).map_err(|error| invalid(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(invalid("it must begin with http:// or https://".to_owned())),
    }
}

/// Adds a path to an address that has none, because users often leave out the version: the path of
/// the vendor's own address, or the usual path of the wire.
fn with_default_path(mut url: Url, profile: &Profile, wire: Wire) -> Url {
    if let Some(api_path) = &profile.api_path {
        if !has_api_path(&url, api_path) {
            let path = format!("{}{api_path}", url.path().trim_end_matches('/'));
            url.set_path(&path);
        }
        return url;
    }
    if url.path().trim_matches('/').is_empty() {
        let home = profile.base_url.as_deref().and_then(|home| Url::parse(home).ok());
        let path = match (home, wire) {
            (Some(home), _) => home.path().to_owned(),
            (None, Wire::ChatCompletions | Wire::Responses) => "/v1".to_owned(),
            (None, Wire::GeminiGenerateContent) => "/v1beta".to_owned(),
            (None, Wire::AnthropicMessages) => String::new(),
        };
        url.set_path(&path);
    }
    url
}

/// Returns whether an address already has the path of the API: a version, or the beginning of the
/// path.
fn has_api_path(url: &Url, api_path: &str) -> bool {
    let first = api_path.split('/').find(|segment| !segment.is_empty());
    url.path().split('/').any(|segment| {
        let version = segment.strip_prefix('v').unwrap_or_default();
        version.starts_with(|letter: char| letter.is_ascii_digit()) || Some(segment) == first
    })
}

/// Returns the wire of an address that names the call, as some gateways document it.
fn wire_of_path(url: &Url) -> Option<Wire> {
    let path = url.path().trim_end_matches('/');
    if path.ends_with("/chat/completions") {
        Some(Wire::ChatCompletions)
    } else if path.ends_with("/responses") {
        Some(Wire::Responses)
    } else {
        None
    }
}

fn quirks(
    profile: &Profile,
    quirks: Quirks,
    settings: &ProviderSettings,
) -> Result<Quirks, BuildError> {
    if settings.quirks.is_empty() {
        return Ok(quirks);
    }
    let invalid = |reason: String| BuildError::Option {
        vendor: profile.name.clone(),
        option: "quirks".to_owned(),
        reason,
    };
    let mut merged = serde_json::to_value(quirks).map_err(|error| invalid(error.to_string()))?;
    merge(&mut merged, &Value::Object(settings.quirks.clone()));
    serde_json::from_value(merged).map_err(|error| invalid(error.to_string()))
}

fn insert_header(
    headers: &mut HeaderMap,
    vendor: &str,
    name: &str,
    value: &str,
    secret: bool,
) -> Result<(), BuildError> {
    let invalid = |what: String| BuildError::Header { vendor: vendor.to_owned(), what };
    let header: HeaderName =
        name.parse().map_err(|_| invalid("the name of a header".to_owned()))?;
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        let what = if secret { "the key or the header" } else { "the header" };
        invalid(format!("{what} `{name}`"))
    })?;
    value.set_sensitive(secret);
    headers.insert(header, value);
    Ok(())
}

/// Adds beta features to those that the headers name already.
fn add_betas(headers: &mut HeaderMap, vendor: &str, betas: &[String]) -> Result<(), BuildError> {
    let given = headers.get(ANTHROPIC_BETA);
    let secret = given.is_some_and(HeaderValue::is_sensitive);
    let given = given.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let mut all: Vec<&str> = Vec::new();
    for beta in given.split(',').chain(betas.iter().map(String::as_str)).map(str::trim) {
        if !beta.is_empty() && !all.contains(&beta) {
            all.push(beta);
        }
    }
    match betas.is_empty() {
        true => Ok(()),
        false => insert_header(headers, vendor, ANTHROPIC_BETA, &all.join(","), secret),
    }
}

/// Collects everything that must not be shown: the key, headers from the settings, and passwords
/// and secret query values in the address.
fn scrubber(settings: &ProviderSettings, address: &Url) -> Scrubber {
    let mut secrets: Vec<String> = Vec::new();
    secrets.extend(settings.credentials.iter().flat_map(Credentials::secrets));
    secrets.extend(settings.api_key.iter().map(|key| key.expose().to_owned()));
    secrets.extend(settings.headers.iter().map(|(_, value)| value.expose().to_owned()));
    secrets.extend(address.password().map(str::to_owned));
    let named_like_a_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["key", "token", "secret", "password", "auth", "sig"].iter().any(|word| name.contains(word))
    };
    let pairs = address.query_pairs().filter(|(name, _)| named_like_a_secret(name));
    secrets.extend(pairs.map(|(_, value)| value.into_owned()));
    Scrubber::new(secrets)
}

fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns how to set the address of a vendor, with an example of that vendor.
fn address_hint(profile: &Profile) -> String {
    let asked = profile.setup.iter().find(|prompt| prompt.field == SetupField::BaseUrl);
    let example = asked.and_then(|prompt| prompt.question.split_once("such as ")).map(|(_, it)| it);
    // The address of a server of the user's own.
    let example = example.or(profile.base_url.as_deref()).unwrap_or("http://localhost:8000/v1");
    let variable = match profile.base_url_env.first() {
        Some(name) => format!("the environment variable `{name}` or "),
        None => String::new(),
    };
    format!("set {variable}the provider's `baseURL`, for example `{example}`")
}

fn key_hint(profile: &Profile) -> String {
    let mut steps = Vec::new();
    if let Some(variable) = profile.api_key_env.first() {
        steps.push(format!("set the environment variable `{variable}`"));
    }
    steps.push("put `apiKey` into the provider's settings".to_owned());
    let mut hint = steps.join(", or ");
    if let Some(link) = profile.help_link() {
        hint.push_str(&format!("; {}: {}", link.label, link.url));
    }
    hint
}

#[cfg(test)]
mod tests;
