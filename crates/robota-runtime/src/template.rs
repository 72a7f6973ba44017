//! Agent templates: how the sessions of one kind of agent are built.

use std::collections::BTreeMap;

use robota_session::SessionBuilder;

/// Describes a kind of agent: its prompt, model, tools, permissions and hooks, as the builder of
/// its sessions, and the templates that it may delegate work to.
///
/// ```
/// use robota_core::scripted::{Script, ScriptedProvider};
/// use robota_runtime::Template;
/// use robota_session::Session;
///
/// let model = ScriptedProvider::new(Script::new());
/// let pm = Template::new("pm", Session::builder(model, "some-model").system("You plan the work."))
///     .description("Plans the work and delegates it.")
///     .sub_agents(["dev", "qa"]);
/// assert_eq!(pm.id(), "pm");
/// ```
#[derive(Clone)]
pub struct Template {
    id: String,
    description: Option<String>,
    builder: SessionBuilder,
    sub_agents: Vec<String>,
    rooms: bool,
}

impl Template {
    /// Creates a template. Its id is the `agent:` part of the ids of its sessions.
    pub fn new(id: impl Into<String>, builder: SessionBuilder) -> Self {
        Self { id: id.into(), description: None, builder, sub_agents: Vec::new(), rooms: false }
    }

    /// Says what the agent is good for. Agents that may delegate to it read this.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the templates that sessions of this one may delegate work to, with the tool `Agent`.
    #[must_use]
    pub fn sub_agents<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.sub_agents = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Gives sessions of this template the tool `RoomSay`, with which they send messages to rooms.
    #[must_use]
    pub fn joins_rooms(mut self) -> Self {
        self.rooms = true;
        self
    }

    /// Returns whether sessions of this template have the tool `RoomSay`.
    #[must_use]
    pub fn is_in_rooms(&self) -> bool {
        self.rooms
    }

    /// Returns the id by which sessions are created from it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns what the agent is good for.
    #[must_use]
    pub fn described(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Returns the templates that sessions of this one may delegate work to.
    #[must_use]
    pub fn delegates_to(&self) -> &[String] {
        &self.sub_agents
    }

    /// Returns the builder of a session.
    #[must_use]
    pub fn builder(&self) -> SessionBuilder {
        self.builder.clone()
    }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Template")
            .field("id", &self.id)
            .field("description", &self.description)
            .field("sub_agents", &self.sub_agents)
            .finish_non_exhaustive()
    }
}

/// The templates of a pool, by id.
pub(crate) type Templates = BTreeMap<String, std::sync::Arc<Template>>;
