//! Describes this program to the host: commands, agents, models, output styles and the account.

use robota_config::AvailableModels;
use robota_config::agents::{AgentDefinition, AgentModel};
use robota_core::catalogue::{Capability, Catalogue};
use robota_sdk::host::ModelChoice;
use robota_sdk::{CommandInfo, CommandOrigin, DEFAULT_OUTPUT_STYLE, Project};
use robota_stream_json::{
    AccountInfo, AgentInfo, InitializeReply, ModelInfo, PluginInfo, SlashCommand,
};

use crate::provider::model_choices;

/// The commands that change what only a terminal shows. A host can list them apart.
pub(super) const FOR_TERMINALS: [&str; 3] = ["language", "reset", "resume"];

/// What `initialize` answers with, as far as it depends on the folder and the model.
pub(super) struct Described<'a> {
    pub(super) project: &'a Project,
    /// The agents that arguments and the host define.
    pub(super) agents: Vec<AgentDefinition>,
    /// Whether prompts can be commands.
    pub(super) commands: bool,
    pub(super) vendor: Option<&'a str>,
    /// The model of the start.
    pub(super) default_model: &'a str,
    /// The current model.
    pub(super) model: &'a str,
    pub(super) api_key_source: &'a str,
}

impl Described<'_> {
    /// Returns the part of the answer that describes what the host can use.
    pub(super) fn reply(self) -> InitializeReply {
        let listing = self.project.listing(self.agents);
        let commands = if self.commands { listing.commands } else { Vec::new() };
        InitializeReply {
            commands: commands.into_iter().map(slash_command).collect(),
            agents: listing.agents.into_iter().map(agent).collect(),
            output_style: output_style(self.project),
            available_output_styles: listing.output_styles,
            models: models(
                self.vendor,
                self.default_model,
                self.model,
                &self.project.settings.available_models,
            ),
            account: AccountInfo {
                api_key_source: self.api_key_source.to_owned(),
                api_provider: api_provider(self.vendor),
            },
        }
    }
}

/// Returns the output style of the settings.
pub(super) fn output_style(project: &Project) -> String {
    let style = project.settings.values.output_style.as_deref();
    style.unwrap_or(DEFAULT_OUTPUT_STYLE).to_owned()
}

/// Returns the plugins that are in use.
pub(super) fn plugins(project: &Project) -> Vec<PluginInfo> {
    let plugin = |plugin: &robota_config::plugins::InstalledPlugin| PluginInfo {
        name: plugin.manifest.name.clone(),
        path: plugin.root.display().to_string(),
        source: plugin.id(),
        version: plugin.manifest.version.clone(),
    };
    project.plugins.active().map(plugin).collect()
}

/// Returns the models that the host can choose: the model of the start as `default`, then the
/// current one and the other models of its vendor.
pub(super) fn models(
    vendor: Option<&str>,
    default_model: &str,
    current: &str,
    available: &AvailableModels,
) -> Vec<ModelInfo> {
    let catalogue = Catalogue::builtin();
    let model = |value: &str, id: &str, name: String| {
        let known = catalogue.get(id);
        let can = |capability| known.is_some_and(|model| model.capabilities.contains(&capability));
        let window = known.and_then(|model| model.context_window);
        let window = window.map(|tokens| format!(" · {tokens} tokens of context"));
        let name_of = catalogue.name(id);
        ModelInfo {
            value: value.to_owned(),
            resolved_model: id.to_owned(),
            display_name: name,
            description: format!("{name_of}{}", window.unwrap_or_default()),
            supports_effort: can(Capability::Thinking),
        }
    };
    let default_name = format!("Default ({})", catalogue.name(default_model));
    // By this name a host goes back to the model of the start.
    let first = model("default", default_model, default_name);
    let choices = model_choices(vendor, current, available).into_iter();
    let others = choices.map(|ModelChoice { id, name }| model(&id, &id, name));
    std::iter::once(first).chain(others).collect()
}

/// Returns how hosts call the service of a vendor; none for services that they do not know.
fn api_provider(vendor: Option<&str>) -> Option<String> {
    let name = match vendor? {
        "anthropic" => "firstParty",
        "bedrock" => "bedrock",
        "vertex" => "vertex",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Describes a command to the host.
pub(super) fn slash_command(command: CommandInfo) -> SlashCommand {
    SlashCommand {
        builtin: command.origin == CommandOrigin::Builtin,
        name: command.name,
        description: command.description,
        argument_hint: command.argument_hint.unwrap_or_default(),
    }
}

fn agent(agent: AgentDefinition) -> AgentInfo {
    AgentInfo {
        name: agent.name,
        description: agent.description,
        model: match agent.model {
            AgentModel::Inherit => None,
            AgentModel::Family(name) | AgentModel::Id(name) => Some(name),
        },
    }
}
