//! The tools of web services that the settings describe by OpenAPI documents.

use std::sync::Arc;
use std::time::Duration;

use robota_config::model::OpenApiService;
use robota_core::env_ref::{Secret, SecretSource};
use robota_core::tool::Tool;
use robota_tools::openapi::{self, OpenApiOptions, OperationFilter};
use robota_tools::web::WebClient;

use crate::notice::Notice;
use crate::project::Project;

/// How long a document may take to load. A session does not wait longer for it.
const LOAD_LIMIT: Duration = Duration::from_secs(10);

/// The tools of all configured services.
#[derive(Default)]
pub(crate) struct ServiceTools {
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The credentials of the services, which are redacted.
    pub(crate) secrets: Vec<Secret>,
    pub(crate) notices: Vec<Notice>,
}

/// Loads the documents of the settings. A service that fails is reported and left out.
pub(crate) async fn load(project: &Project) -> ServiceTools {
    let services = &project.settings.values.open_api;
    let mut all = ServiceTools::default();
    if services.is_empty() {
        return all;
    }
    // One client for all services, so that they share its connections.
    let client = Arc::new(WebClient::new());
    // All at once: the session waits for the slowest document, not for the sum.
    let loading = services.iter().map(|(name, service)| {
        let client = &client;
        async move {
            (name, tokio::time::timeout(LOAD_LIMIT, one(project, client, name, service)).await)
        }
    });
    for (name, loaded) in futures::future::join_all(loading).await {
        match loaded {
            Ok(Ok(loaded)) => {
                all.tools.extend(loaded.tools);
                all.secrets.extend(loaded.secrets);
                all.notices.extend(loaded.notices);
            }
            Ok(Err(problem)) => all.notices.push(left_out(name, &problem)),
            Err(_) => {
                let problem =
                    format!("its document did not load within {} s", LOAD_LIMIT.as_secs());
                all.notices.push(left_out(name, &problem));
            }
        }
    }
    all
}

fn left_out(name: &str, problem: &str) -> Notice {
    Notice::Error(format!("the service `{name}` of `openApi` is not used: {problem}"))
}

async fn one(
    project: &Project,
    client: &Arc<WebClient>,
    name: &str,
    service: &OpenApiService,
) -> Result<ServiceTools, String> {
    let is_url =
        service.document.starts_with("http://") || service.document.starts_with("https://");
    // A file can change after the user trusted it, and then name another server.
    if !is_url && !service.credentials.is_empty() && service.server.is_none() {
        return Err(
            "it has `credentials`, so that it also needs `server`: they are sent there and \
                    nowhere else"
                .to_owned(),
        );
    }
    let mut options = OpenApiOptions::new(name);
    options.filter =
        OperationFilter { include: service.include.clone(), exclude: service.exclude.clone() };
    options.server.clone_from(&service.server);
    options.allow_private = service.allow_private;
    let lookup = |name: &str| project.environment.get(name).map(str::to_owned);
    for (scheme, text) in &service.credentials {
        let secret = SecretSource::parse(text).and_then(|source| source.resolve(&lookup));
        let secret = secret.map_err(|error| format!("the credential `{scheme}`: {error}"))?;
        options.credentials.insert(scheme.clone(), secret);
    }
    let place = if is_url {
        service.document.clone()
    } else {
        project.cwd().join(&service.document).display().to_string()
    };
    let document = openapi::load(&place, client, service.allow_private).await;
    let document = document.map_err(|error| error.to_string())?;
    let made = document.tools(client, &options).map_err(|error| error.to_string())?;
    let notice = |skipped: robota_tools::openapi::SkippedOperation| {
        let (operation, problem) = (skipped.operation, skipped.problem);
        Notice::Hint(format!("the operation `{operation}` of `{name}` is left out: {problem}"))
    };
    Ok(ServiceTools {
        tools: made.tools,
        secrets: options.credentials.into_values().collect(),
        notices: made.skipped.into_iter().map(notice).collect(),
    })
}
