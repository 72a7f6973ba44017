//! Requests of the host about settings: what applies and where it comes from, and changes of files.

use robota_config::{KeyPath, Layer, Origin, SettingSource, SettingsWriter, Severity, TrustStore};
use robota_core::clock::SystemClock;
use robota_core::hook::HookEvent;
use robota_sdk::ClientHooks;
use robota_stream_json::ControlErrorCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::hooks::HostHooks;
use super::host::Reply;
use super::options::RunOptions;
use super::queries::{self, source};
use super::requests::{LaterReply, Requests, failed};
use crate::args::EFFORTS;
use crate::setup::Setup;

/// The sources of settings as hosts know them, lowest first.
const SOURCES: [&str; 4] = ["userSettings", "projectSettings", "localSettings", "flagSettings"];

/// The level of effort that is for one session only.
const SESSION_EFFORT: &str = "max";

/// Returns the effective settings, without keys of providers, what each source sets, and what the
/// next model call uses.
pub(super) fn settings(setup: &Setup, model: &str, effort: Option<&str>) -> Value {
    let (mut effective, mut by_source) = (json!({}), SOURCES.map(|_| json!({})));
    let place = |layer: Layer| {
        let name = match layer {
            Layer::Flags => "flagSettings",
            layer => source(layer).0,
        };
        SOURCES.iter().position(|known| *known == name)
    };
    for set in setup.settings.explain(&KeyPath::default()) {
        let names = set.key.names();
        let mut put = |value: &Value, origin: &Origin, is_item: bool| {
            let Some(source) = place(origin.layer).map(|at| &mut by_source[at]) else { return };
            let target = at(source, names);
            match (is_item, &mut *target) {
                (true, Value::Array(items)) => items.push(value.clone()),
                (true, target) => *target = json!([value]),
                (false, target) => *target = value.clone(),
            }
        };
        // Lowest layer first, so that within one source the highest file wins.
        for (value, origin) in &set.overridden {
            put(value, origin, false);
        }
        // A list that several sources extend has the origin of each item.
        let items = set.value.as_array().filter(|items| items.len() == set.set_by.len());
        match items.filter(|_| set.overridden.is_empty()) {
            Some(items) => {
                for (value, origin) in items.iter().zip(&set.set_by) {
                    put(value, origin, true);
                }
            }
            None => set.set_by.iter().rev().for_each(|origin| put(&set.value, origin, false)),
        }
        *at(&mut effective, names) = set.value.clone();
    }
    let sources = SOURCES.iter().zip(by_source);
    let sources = sources.filter(|(_, settings)| settings != &json!({}));
    let mut reply = json!({
        "effective": effective,
        "sources": sources
            .map(|(source, settings)| json!({"source": source, "settings": settings}))
            .collect::<Vec<_>>(),
        "applied": {"model": model, "effort": effort},
    });
    let errors = errors(setup);
    if !errors.is_empty() {
        reply["errors"] = errors.into();
    }
    reply
}

/// Returns the place of a key in an object.
fn at<'a>(object: &'a mut Value, names: &[String]) -> &'a mut Value {
    names.iter().fold(object, |place, name| {
        if !place.is_object() {
            *place = json!({});
        }
        &mut place[name.as_str()]
    })
}

/// Returns what is wrong with settings files.
pub(super) fn errors(setup: &Setup) -> Vec<Value> {
    let problems = setup.settings.report.problems.iter();
    let errors = problems.filter(|problem| problem.severity == Severity::Error);
    errors
        .map(|problem| {
            let path = problem.key.as_ref().map(ToString::to_string).unwrap_or_default();
            let mut error = json!({"path": path, "message": problem.message});
            if let Some(file) = &problem.origin.file {
                error["file"] = file.display().to_string().into();
            }
            error
        })
        .collect()
}

impl Requests {
    /// Changes a settings file, unless hooks block it.
    pub(super) fn update_settings(&self, update: SettingsUpdate) -> LaterReply {
        let checked = update.check(&self.setup, &self.options);
        let (setup, session) = (self.setup.clone(), self.interactive.clone());
        let has_hooks = has_config_hooks(&self.setup, &self.host_hooks);
        let changing = self.changing.clone();
        Box::pin(async move {
            let layer = checked?;
            let _one_at_a_time = changing.lock().await;
            match session {
                Some(session) => {
                    let hooks = ClientHooks::of(&session);
                    hooks.before_config_change(&setup.places, layer).await.map_err(failed)?;
                }
                // Refused rather than made without them: a hook may forbid the change.
                None if has_hooks => {
                    let why = "ConfigChange hooks cannot run before the first message";
                    return Err((ControlErrorCode::Failed, why.to_owned()));
                }
                None => {}
            }
            update.write(&setup, layer)
        })
    }

    /// Reads the folders with skills again, unless hooks block it.
    pub(super) fn reload_skills(&self) -> LaterReply {
        let (setup, session) = (self.setup.clone(), self.interactive.clone());
        let changing = self.changing.clone();
        Box::pin(async move {
            let _one_at_a_time = changing.lock().await;
            if let Some(session) = session {
                session.conversation().reload_skills().await.map_err(failed)?;
            }
            Ok(queries::skills(&setup))
        })
    }
}

/// Returns whether hooks decide about changes of settings.
fn has_config_hooks(setup: &Setup, host: &HostHooks) -> bool {
    let change = HookEvent::ConfigChange;
    let enabled = setup.settings.values.disable_all_hooks != Some(true);
    let mut of_plugins = setup.plugins.active().flat_map(|plugin| plugin.hooks().0);
    let configured = setup.settings.hooks.contains_key(change.name())
        || of_plugins.any(|(event, _)| event == change);
    enabled && configured || host.groups().any(|(event, _)| event == change)
}

/// A change of a settings file.
#[derive(Debug, Deserialize)]
pub(super) struct SettingsUpdate {
    source: String,
    settings: Map<String, Value>,
}

impl SettingsUpdate {
    /// Checks the change, and returns where it is written: `outputStyle` in the local settings of the
    /// project, `effortLevel` in those of the user.
    fn check(
        &self,
        setup: &Setup,
        options: &RunOptions,
    ) -> Result<Layer, (ControlErrorCode, String)> {
        let invalid = |why: String| (ControlErrorCode::InvalidRequest, why);
        let (layer, source, key) = match self.source.as_str() {
            "localSettings" => (Layer::ProjectRobotaLocal, SettingSource::Local, "outputStyle"),
            "userSettings" => (Layer::UserRobota, SettingSource::User, "effortLevel"),
            other => {
                return Err(invalid(format!(
                    "the source `{other}` cannot be written; use localSettings or userSettings"
                )));
            }
        };
        if options.sources.as_ref().is_some_and(|sources| !sources.contains(&source)) {
            let why = format!("--setting-sources excludes {}", self.source);
            return Err((ControlErrorCode::Failed, why));
        }
        for (name, value) in &self.settings {
            if name != key {
                let why = format!("update_settings: `{name}` is not supported, only `{key}`");
                return Err((ControlErrorCode::UnsupportedRequest, why));
            }
            let known = match (key, value.as_str()) {
                (_, None) => false,
                ("effortLevel", Some(value)) => EFFORTS.contains(&value) && value != SESSION_EFFORT,
                (_, Some(value)) => {
                    setup.listing(Vec::new()).output_styles.iter().any(|style| style == value)
                }
            };
            if !known {
                return Err(invalid(format!("the value {value} of `{name}` is not valid")));
            }
        }
        Ok(layer)
    }

    /// Writes the change. Later sessions use it.
    fn write(&self, setup: &Setup, layer: Layer) -> Reply {
        let places = &setup.places;
        let mut trust = TrustStore::load(places);
        let mut writer = SettingsWriter { places, trust: &mut trust, clock: &SystemClock };
        for (name, value) in &self.settings {
            let key = KeyPath::parse(name).unwrap_or_default();
            writer.set(layer, &key, Some(value)).map_err(failed)?;
        }
        Ok(json!({}))
    }
}
