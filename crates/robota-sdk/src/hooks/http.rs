//! Runs HTTP hooks: sends the event as JSON and reads a JSON object as the answer.

mod variables;

use std::sync::Arc;
use std::time::Duration;

use robota_core::hook::{HookDefinition, HookEnd, HookExecutor, HookExit, HttpHook, MAX_STDOUT};
use robota_tools::web::{Fetched, Proxies, WebClient, WebError, checked_headers};
use url::Url;

use super::{UrlPattern, within};

/// How many characters of a response with an error status are shown.
const SHOWN_CHARS: usize = 300;

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Runs HTTP hooks. The client is that of WebFetch: it checks the addresses of the host before it
/// connects, and refuses private ones unless a pattern of `allowedHttpHookUrls` names the host.
///
/// A response counts as exit code 0 if its status is 2xx and its body is empty or a JSON object.
/// Everything else is a failure: another status, a redirect, other content, a body that is too long,
/// no connection, a timeout.
///
/// ```
/// use robota_sdk::hooks::HttpHooks;
/// use robota_tools::web::Proxies;
///
/// let hooks = HttpHooks::new(Proxies::default()).allowed_urls(None);
/// # drop(hooks);
/// ```
pub struct HttpHooks {
    client: WebClient,
    urls: Option<Vec<UrlPattern>>,
    allowed_variables: Option<Vec<String>>,
    lookup: Arc<Lookup>,
}

impl HttpHooks {
    /// Creates an executor that may call every public URL and knows no variables.
    #[must_use]
    pub fn new(proxies: Proxies) -> Self {
        Self {
            client: WebClient::new().proxies(proxies),
            urls: None,
            allowed_variables: None,
            lookup: Arc::new(|_| None),
        }
    }

    /// Sets which URLs may be called (`allowedHttpHookUrls`); `None` for all public ones.
    #[must_use]
    pub fn allowed_urls(mut self, urls: Option<Vec<UrlPattern>>) -> Self {
        self.urls = urls;
        self
    }

    /// Sets which variables headers may contain (`httpHookAllowedEnvVars`), in addition to the
    /// hook's own `allowedEnvVars`; `None` for those of the hook.
    #[must_use]
    pub fn allowed_variables(mut self, names: Option<Vec<String>>) -> Self {
        self.allowed_variables = names;
        self
    }

    /// Sets where the values of variables come from.
    #[must_use]
    pub fn variables(
        mut self,
        lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.lookup = Arc::new(lookup);
        self
    }

    fn headers(&self, hook: &HttpHook) -> Result<Vec<(String, String)>, String> {
        let allowed = |name: &str| {
            let listed = |names: &[String]| names.iter().any(|other| other == name);
            listed(&hook.allowed_env_vars) && self.allowed_variables.as_deref().is_none_or(listed)
        };
        let expand = |(name, value): (&String, &String)| {
            let value = variables::expand(value, &allowed, &*self.lookup);
            value
                .map(|value| (name.clone(), value))
                .map_err(|why| format!("its header `{}` {why}", name.escape_debug()))
        };
        hook.headers.iter().map(expand).collect()
    }

    async fn post(&self, hook: &HttpHook, payload: &str) -> Result<HookExit, String> {
        let url = Url::parse(&hook.url).map_err(|error| format!("its URL is invalid: {error}"))?;
        let matching = |url: &Url| self.urls.iter().flatten().any(|it| it.matches(url));
        // Checked before variables are expanded: a secret is not read for an address that is not
        // allowed.
        if self.urls.is_some() && !matching(&url) {
            return Err("`allowedHttpHookUrls` does not allow its URL".to_owned());
        }
        let headers = checked_headers(self.headers(hook)?)
            .map_err(|why| format!("its headers contain {why}"))?;
        let private =
            |url: &Url, _| self.urls.iter().flatten().any(|pattern| pattern.allows_private(url));
        let payload = payload.to_owned();
        let sent = self.client.post_json(url.as_str(), &headers, payload, MAX_STDOUT, &private);
        match sent.await {
            Ok(fetched) => exit_of(fetched),
            Err(WebError::Private { host, address }) => Err(format!(
                "{host} is not on the public internet ({address}); add its URL to \
                 `allowedHttpHookUrls` to allow it"
            )),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn exit_of(fetched: Fetched) -> Result<HookExit, String> {
    if let Some(redirect_to) = fetched.redirect_to {
        // The target may be an address that no pattern allows.
        return Err(format!("it redirects to {redirect_to}; hooks follow no redirects"));
    }
    let body = fetched.body;
    if !(200..300).contains(&fetched.status) {
        let text: String =
            String::from_utf8_lossy(&body).trim().chars().take(SHOWN_CHARS).collect();
        // Escaped, because the text of a server is shown in a terminal.
        let text = text.escape_debug();
        return Err(format!("the server answered with status {}: {text}", fetched.status));
    }
    let start = body.trim_ascii_start();
    // A byte order mark is not JSON, but some servers write one.
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start).trim_ascii_start();
    match start.first() {
        None if !fetched.cut => Ok(HookExit::code(0, "", "")),
        // A page of a proxy or a login form also has status 200, and is not an answer.
        Some(first) if *first != b'{' => Err("its response is not a JSON object".to_owned()),
        None | Some(_) => Ok(HookExit {
            end: HookEnd::Code(0),
            stdout: body,
            stdout_cut: fetched.cut,
            stderr: Vec::new(),
        }),
    }
}

#[async_trait::async_trait]
impl HookExecutor for HttpHooks {
    async fn execute(
        &self,
        definition: &HookDefinition,
        payload: &str,
        timeout: Duration,
    ) -> HookExit {
        let HookDefinition::Http(hook) = definition else {
            return HookExit::failed("the hook is not an HTTP request");
        };
        within(timeout, self.post(hook, payload)).await
    }
}
