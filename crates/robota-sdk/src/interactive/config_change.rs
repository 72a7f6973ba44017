//! The event of a change of settings.

use robota_config::{Layer, LayerScope, Places};
use robota_core::hook::{ConfigSource, HookData};

/// Returns the event of a change of the settings file of a layer.
///
/// ```
/// use robota_config::{Layer, Places};
/// use robota_core::hook::HookData;
///
/// let places = Places::new("/ada", "/project");
/// let HookData::ConfigChange { source, file_path } =
///     robota_sdk::config_change(&places, Layer::ProjectRobotaLocal)
/// else {
///     panic!("another event");
/// };
/// assert_eq!(source.name(), "local_settings");
/// assert_eq!(file_path.as_deref(), Some("/project/.robota/settings.local.json"));
/// ```
#[must_use]
pub fn config_change(places: &Places, layer: Layer) -> HookData {
    let source = match (layer, layer.scope()) {
        (Layer::ProjectRobotaLocal | Layer::ProjectClaudeLocal, _) => ConfigSource::LocalSettings,
        (_, LayerScope::Project) => ConfigSource::ProjectSettings,
        (_, LayerScope::User) => ConfigSource::UserSettings,
    };
    let file_path = places.file(layer).map(|file| file.display().to_string());
    HookData::ConfigChange { source, file_path }
}
