//! Changes of the model that the host requests, or a command. In an open session hooks decide about a
//! change, and may take long: a hook may be a callback of the host. Meanwhile lines are printed and other
//! requests are answered. Messages wait, because their turns use the model.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use robota_core::hook::ModelSwitchSource;
use robota_core::provider::Provider;
use robota_stream_json::ControlErrorCode;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

use super::drive::Drive;
use super::fallback::Fallback;
use super::host::Reply;
use super::model_watch::ModelWatch;
use super::options::LineMode;
use super::requests::{Requests, failed, has_price, no_price};
use crate::provider::{self, ChosenProvider, ProviderRequest, WantedModel};

type Failure = (ControlErrorCode, String);

/// Adds what a run needs to its providers.
#[derive(Clone)]
struct Wrapping {
    fallback: Option<Fallback>,
    watch: Option<Arc<ModelWatch>>,
}

impl Wrapping {
    /// Adds the second model, and what lines say of calls.
    fn wrap(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        let provider = match &self.fallback {
            Some(fallback) => fallback.wrap(provider),
            None => provider,
        };
        match &self.watch {
            Some(watch) => watch.wrap(provider),
            None => provider,
        }
    }
}

/// The model that is used from now on.
pub(crate) struct NewModel {
    model: String,
    /// Its provider; none for a script, which has one provider for all model names.
    chosen: Option<ChosenProvider>,
}

impl Requests {
    /// Adds what a run needs to a provider: the second model, and what lines say of calls.
    pub(crate) fn wrap(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        self.wrapping().wrap(provider)
    }

    fn wrapping(&self) -> Wrapping {
        let watch = match self.options.lines {
            LineMode::Off => None,
            LineMode::Stream | LineMode::Collect => Some(self.watch.clone()),
        };
        Wrapping { fallback: self.fallback.clone(), watch }
    }

    /// Changes the model before the session is open; none goes back to the model of the start.
    pub(crate) async fn set_model(
        &mut self,
        model: Option<String>,
        source: ModelSwitchSource,
    ) -> Reply {
        let new = self.switch_model(model, source).await?;
        self.take_model(new);
        Ok(json!({}))
    }

    /// Selects the provider of a model, and changes the model of the open session, unless hooks block
    /// it.
    fn switch_model(
        &self,
        model: Option<String>,
        source: ModelSwitchSource,
    ) -> impl Future<Output = Result<NewModel, Failure>> + Send + use<> {
        let wanted = model.filter(|model| model != "default");
        let wanted = wanted.unwrap_or_else(|| self.default_model.clone());
        let changes = wanted != self.default_model;
        let (name, setup, wrapping) = (self.provider.clone(), self.setup.clone(), self.wrapping());
        let (session, needs_price) = (self.session().cloned(), self.options.budget.is_some());
        async move {
            let is_script = name.as_deref().is_some_and(|name| name.starts_with("scripted:"));
            let chosen = if is_script {
                if changes {
                    setup.settings.available_models.check(None, &wanted).map_err(failed)?;
                }
                None
            } else {
                let model = WantedModel::Flag(Some(&wanted));
                let request = ProviderRequest { provider: name.as_deref(), model };
                let mut chosen = provider::choose(request, &setup).await.map_err(failed)?;
                // The session was opened without the keys of this provider; outputs must not show
                // them either.
                setup.late_secrets.add(chosen.secrets.iter().cloned()).map_err(failed)?;
                chosen.provider = wrapping.wrap(chosen.provider);
                if needs_price && !has_price(&chosen.model) {
                    return Err((ControlErrorCode::Failed, no_price(&chosen.model)));
                }
                Some(chosen)
            };
            let model = chosen.as_ref().map_or(wanted, |chosen| chosen.model.clone());
            if let Some(session) = session {
                let provider = chosen.as_ref().map(|chosen| chosen.provider.clone());
                session.config().switch_model(source, &model, provider).await.map_err(failed)?;
            }
            Ok(NewModel { model, chosen })
        }
    }

    /// Remembers the model that is used from now on.
    fn take_model(&mut self, new: NewModel) {
        // An open session has the provider itself.
        if self.session().is_none() {
            match (new.chosen, &mut self.chosen) {
                (Some(chosen), kept) => *kept = Some(chosen),
                (None, Some(kept)) => kept.model.clone_from(&new.model),
                (None, None) => {}
            }
        }
        self.model = new.model;
    }
}

/// The changes of the model that were requested and not made yet. They are made in their order.
#[derive(Default)]
pub(crate) struct ModelChanges {
    /// The task that asks the hooks; dropping the set ends it.
    running: Option<(JoinSet<Result<NewModel, Failure>>, Requester)>,
    waiting: VecDeque<(Option<String>, Requester)>,
}

/// What requested a change.
pub(super) enum Requester {
    /// A request of the host, with the settings that change after the model.
    Host { request_id: String, settings: Map<String, Value> },
    /// A command that a prompt named, which waits for the result. It drops the receiver if it is
    /// interrupted.
    Command(oneshot::Sender<Result<(), String>>),
}

impl Requester {
    /// Returns a request of the host, and the settings that change after the model.
    pub(super) fn host(request_id: String, settings: Map<String, Value>) -> Self {
        Self::Host { request_id, settings }
    }
}

impl ModelChanges {
    /// Returns whether no change is left to make.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// Waits until the hooks have decided about the current change. Cancel safe.
    pub(super) async fn decided(&mut self) -> Result<NewModel, Failure> {
        match &mut self.running {
            Some((switching, Requester::Command(asks))) => tokio::select! {
                // First: a change that is made must not be reported as interrupted.
                biased;
                switched = switching.join_next() => joined(switched),
                () = asks.closed() => {
                    Err((ControlErrorCode::Failed, "the command was interrupted".to_owned()))
                }
            },
            Some((switching, Requester::Host { .. })) => joined(switching.join_next().await),
            None => std::future::pending().await,
        }
    }
}

fn joined(
    switched: Option<Result<Result<NewModel, Failure>, JoinError>>,
) -> Result<NewModel, Failure> {
    match switched {
        Some(Ok(switched)) => switched,
        Some(Err(_)) | None => {
            let why = "the change of the model failed unexpectedly".to_owned();
            Err((ControlErrorCode::Failed, why))
        }
    }
}

impl Drive {
    /// Changes the model, once earlier changes are made; none goes back to the model of the start.
    pub(super) fn change_model(&mut self, model: Option<String>, requester: Requester) {
        self.model_changes.waiting.push_back((model, requester));
        self.start_model_change();
    }

    fn start_model_change(&mut self) {
        if self.model_changes.running.is_some() {
            return;
        }
        // A command that was interrupted while it waited changes nothing.
        let ended = |requester: &Requester| match requester {
            Requester::Command(asks) => asks.is_closed(),
            Requester::Host { .. } => false,
        };
        self.model_changes.waiting.retain(|(_, requester)| !ended(requester));
        let Some((model, requester)) = self.model_changes.waiting.pop_front() else { return };
        let source = match &requester {
            Requester::Host { .. } => ModelSwitchSource::Host,
            Requester::Command(_) => ModelSwitchSource::Command,
        };
        let mut switching = JoinSet::new();
        switching.spawn(self.requests.switch_model(model, source));
        self.model_changes.running = Some((switching, requester));
    }

    /// Ends the current change, and starts the next one.
    pub(super) async fn finish_model_change(&mut self, decided: Result<NewModel, Failure>) {
        // Dropping its task ends a change whose command was interrupted.
        let Some((_, requester)) = self.model_changes.running.take() else { return };
        let changed = match decided {
            Ok(new) => {
                self.requests.take_model(new);
                Ok(())
            }
            Err(failure) => {
                // It may have been made already, while its PostModelSwitch hooks ran.
                if let Ok(info) = self.session.info().await {
                    self.requests.model = info.model;
                }
                Err(failure)
            }
        };
        match requester {
            Requester::Host { request_id, settings } => {
                let reply = changed.and_then(|()| self.requests.apply_settings(settings));
                self.requests.host.reply(&request_id, &reply);
            }
            Requester::Command(result) => {
                // A command that was interrupted waits no more.
                let _ = result.send(changed.map_err(|(_, why)| why));
            }
        }
        self.start_model_change();
    }
}
