//! The proxy settings of an environment.

use robota_exec::Environment;
use url::Url;

/// Hosts that never use a proxy: for a proxy, `localhost` is its own machine.
const ALWAYS_DIRECT: &str = "localhost,127.0.0.0/8,::1";

/// Selects the proxy of an HTTP or HTTPS request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    direct: Option<String>,
}

impl Proxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, or the same in lower case.
    #[must_use]
    pub fn of(env: &Environment) -> Self {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| env.get(name)?.to_str());
            values.map(str::trim).find(|value| !value.is_empty()).map(str::to_owned)
        };
        let all = ["ALL_PROXY", "all_proxy"];
        Self {
            http: first(&[&["HTTP_PROXY", "http_proxy"], &all[..]].concat()),
            https: first(&[&["HTTPS_PROXY", "https_proxy"], &all[..]].concat()),
            direct: first(&["NO_PROXY", "no_proxy"]),
        }
    }

    /// Returns whether no proxy is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.http.is_none() && self.https.is_none()
    }

    /// Returns the host names of the proxies. They may have private addresses, because the user
    /// configured them.
    pub(super) fn hosts(&self) -> Vec<String> {
        let urls = self.http.iter().chain(&self.https).filter_map(|proxy| url(proxy));
        urls.filter_map(|url| url.host_str().map(str::to_owned)).collect()
    }

    /// Converts them for the HTTP client.
    pub(super) fn build(&self) -> Result<Vec<reqwest::Proxy>, String> {
        let direct = match &self.direct {
            Some(direct) => format!("{ALWAYS_DIRECT},{direct}"),
            None => ALWAYS_DIRECT.to_owned(),
        };
        let make = |proxy: &String, of: fn(Url) -> reqwest::Result<reqwest::Proxy>| {
            // The message must not contain the URL, which may contain a password.
            let unusable = || "the proxy of the environment is not an http or https URL".to_owned();
            let made = of(url(proxy).ok_or_else(unusable)?).map_err(|_| unusable())?;
            Ok(made.no_proxy(reqwest::NoProxy::from_string(&direct)))
        };
        let http = self.http.iter().map(|proxy| make(proxy, reqwest::Proxy::http));
        let https = self.https.iter().map(|proxy| make(proxy, reqwest::Proxy::https));
        http.chain(https).collect()
    }
}

/// Parses a proxy URL. `host:port` means `http://host:port`.
fn url(proxy: &str) -> Option<Url> {
    let parsed = if proxy.contains("://") {
        Url::parse(proxy)
    } else {
        Url::parse(&format!("http://{proxy}"))
    };
    parsed.ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
