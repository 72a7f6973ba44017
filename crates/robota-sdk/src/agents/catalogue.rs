//! The agent definitions of a session. They are read when something needs them.

use std::sync::{Arc, OnceLock};

use robota_config::agents::{AgentDefinition, Agents};
use robota_config::{ContextReader, ReadCounts, TrustStore};

use crate::project::Project;

/// The most files that are read for the description of the Agent tool. The start of a session opens
/// few files: the list of skills may open fewer by what is read here.
const LISTED_FILES: usize = 32;

/// The agent definitions of a session.
pub(crate) struct AgentCatalogue {
    /// The agents that the description of the tool lists; none if that are all, or there is no tool.
    listed: Option<Agents>,
    all: OnceLock<Agents>,
    source: Option<Source>,
}

/// Where definitions are read from. The trust is that of the start: a file that changes later has
/// another hash, and is not trusted.
struct Source {
    project: Arc<Project>,
    trust: TrustStore,
    arguments: Vec<AgentDefinition>,
}

impl AgentCatalogue {
    /// Finds the definitions of a project; `arguments` are above those of files. With `listed`, the
    /// first files are read now, for the description of the tool. Returns what was read as well.
    pub(crate) fn find(
        project: Arc<Project>,
        arguments: Vec<AgentDefinition>,
        listed: bool,
    ) -> (Self, ReadCounts) {
        let trust = TrustStore::load(&project.places);
        let source = Source { project, trust, arguments };
        let (mut first, mut all) = (None, OnceLock::new());
        let mut read = ReadCounts::default();
        if listed {
            let reader = ContextReader::new(&source.project.places);
            let agents = source.read(&reader, Some(LISTED_FILES));
            read = reader.counts();
            if agents.unread() == 0 {
                all = agents.into();
            } else {
                first = Some(agents);
            }
        }
        (Self { listed: first, all, source: Some(source) }, read)
    }

    /// Returns a catalogue of these definitions only.
    pub(crate) fn of(definitions: impl IntoIterator<Item = AgentDefinition>) -> Self {
        Self { listed: None, all: Agents::of(definitions).into(), source: None }
    }

    /// Returns all definitions. The first call may read files, so it can block for a moment.
    pub(crate) fn all(&self) -> &Agents {
        self.all.get_or_init(|| match &self.source {
            Some(source) => source.read(&ContextReader::new(&source.project.places), None),
            None => Agents::of([]),
        })
    }

    /// Returns the definitions that the description of the tool lists. [`Agents::unread`] counts the
    /// files of the others.
    pub(crate) fn listed(&self) -> &Agents {
        self.listed.as_ref().unwrap_or_else(|| self.all())
    }
}

impl Source {
    fn read(&self, reader: &ContextReader, files: Option<usize>) -> Agents {
        let arguments = self.arguments.clone();
        let agents = match files {
            Some(files) => Agents::load_first(reader, &self.trust, arguments, files),
            None => Agents::load(reader, &self.trust, arguments),
        };
        agents.with_plugins(reader, self.project.plugins.active())
    }
}
