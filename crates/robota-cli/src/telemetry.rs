//! The OpenTelemetry export, which the standard `OTEL_*` variables turn on. Without the feature
//! `otel` nothing is exported and the variables are ignored.

use robota_config::ProgramEnvironment;
use robota_session::{Session, StartAt};
use tokio::task::JoinHandle;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

/// The OpenTelemetry export of one run.
pub(crate) struct Telemetry {
    #[cfg(feature = "otel")]
    guard: Option<robota_telemetry::OtelGuard>,
}

#[cfg(feature = "otel")]
impl Telemetry {
    /// Starts the export if the variables turn it on. If it cannot start, a note is printed and the
    /// run continues without it.
    pub(crate) fn start(environment: &ProgramEnvironment) -> Self {
        use robota_telemetry::{OtelOptions, install};

        let options = OtelOptions::from_variables(|name| environment.get(name));
        let guard = options.and_then(|options| options.as_ref().map(install).transpose());
        let guard = guard.unwrap_or_else(|error| {
            crate::output::note(&format!("robota: {error}"));
            None
        });
        Self { guard }
    }

    /// Returns the tracing layer that exports spans.
    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + Send + Sync + use<S>>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        self.guard.as_ref().map(robota_telemetry::OtelGuard::layer)
    }

    /// Starts a task that records metrics of the session until it ends.
    pub(crate) async fn count(
        &self,
        session: &Session,
        since: StartAt,
    ) -> anyhow::Result<Option<JoinHandle<()>>> {
        use futures::StreamExt as _;
        use robota_session::{EventFilter, SubscriptionItem};

        let Some(guard) = &self.guard else { return Ok(None) };
        let observer = guard.observer();
        let mut events = session.subscribe(since, EventFilter::Everything).await?;
        Ok(Some(tokio::spawn(async move {
            while let Some(Ok(observed)) = events.next().await {
                if let SubscriptionItem::Event(event) = observed {
                    observer(&event.envelope);
                }
            }
        })))
    }

    /// Sends the remaining data. It is dropped if the collector does not accept it within two
    /// seconds.
    pub(crate) async fn finish(self) {
        let Some(guard) = self.guard else { return };
        let timeout = std::time::Duration::from_secs(2);
        // It blocks, and the runtime has one thread only.
        let sent = tokio::task::spawn_blocking(move || guard.shutdown(timeout)).await;
        if let Ok(Err(error)) = sent {
            crate::output::note(&format!("robota: {error}"));
        }
    }
}

#[cfg(not(feature = "otel"))]
impl Telemetry {
    /// Does nothing.
    pub(crate) fn start(_environment: &ProgramEnvironment) -> Self {
        Self {}
    }

    /// Returns no layer.
    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + Send + Sync + use<S>>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        None::<tracing_subscriber::layer::Identity>
    }

    /// Records nothing.
    pub(crate) async fn count(
        &self,
        _session: &Session,
        _since: StartAt,
    ) -> anyhow::Result<Option<JoinHandle<()>>> {
        Ok(None)
    }

    /// Sends nothing.
    pub(crate) async fn finish(self) {}
}
