//! Modules: named sets of tools and instructions that agents are assembled from.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::error::{Diagnose, ErrorKind};
use crate::into_arc::IntoArc;
use crate::tool::Tool;

/// A named set of tools, with the instructions that a model needs to use them.
///
/// ```
/// use robota_core::agent::{Module, ModuleRegistry};
///
/// let mut modules = ModuleRegistry::new();
/// modules.register(Module::new("files").instructions("Paths are relative to the project."))?;
/// modules.register(Module::new("git").requires("files").instructions("Never force-push."))?;
/// let names: Vec<_> = modules.resolve(["git"])?.iter().map(|module| module.name()).collect();
/// assert_eq!(names, ["files", "git"]);
/// # Ok::<_, robota_core::agent::ModuleError>(())
/// ```
#[derive(Clone)]
pub struct Module {
    name: String,
    requires: Vec<String>,
    tools: Vec<Arc<dyn Tool>>,
    instructions: Option<Arc<str>>,
}

impl Module {
    /// Creates a module without content.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), requires: Vec::new(), tools: Vec::new(), instructions: None }
    }

    /// Names a module that an agent with this one has too.
    #[must_use]
    pub fn requires(mut self, module: impl Into<String>) -> Self {
        self.requires.push(module.into());
        self
    }

    /// Adds a tool that agents with this module can use.
    #[must_use]
    pub fn tool(mut self, tool: impl IntoArc<dyn Tool>) -> Self {
        self.tools.push(tool.into_arc());
        self
    }

    /// Sets the text that follows the system prompt of an agent with this module.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<Arc<str>>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Returns the name by which templates and other modules refer to it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn into_parts(self) -> (Vec<Arc<dyn Tool>>, Option<Arc<str>>) {
        (self.tools, self.instructions)
    }
}

/// Why a module could not be registered, removed or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// A module with this name is already registered.
    #[error("there already is a module `{0}`")]
    Taken(String),
    /// No module was registered with this name.
    #[error("there is no module `{0}`")]
    Unknown(String),
    /// A module requires one that is not registered.
    #[error("module `{module}` requires `{required}`, which is not registered; register it first")]
    Missing {
        /// The name of the module that was to be registered.
        module: String,
        /// The name of the module that is not registered.
        required: String,
    },
    /// Another module requires the one to remove.
    #[error("module `{module}` cannot be removed: `{by}` requires it")]
    Required {
        /// The name of the module to remove.
        module: String,
        /// The module that requires it.
        by: String,
    },
}

impl Diagnose for ModuleError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Configuration
    }
}

/// The modules that agents can have. A module is registered after those that it requires, so the
/// requirements have no cycle.
///
/// ```
/// use robota_core::agent::{Module, ModuleRegistry};
///
/// let mut modules = ModuleRegistry::new();
/// let missing = modules.register(Module::new("git").requires("files"));
/// assert!(missing.is_err(), "`files` is not registered");
/// ```
#[derive(Clone, Default)]
pub struct ModuleRegistry {
    modules: IndexMap<String, Module>,
}

impl ModuleRegistry {
    /// Creates a registry without modules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a module.
    ///
    /// # Errors
    /// When its name is taken, or a module that it requires is not registered.
    pub fn register(&mut self, module: Module) -> Result<(), ModuleError> {
        if self.modules.contains_key(&module.name) {
            return Err(ModuleError::Taken(module.name));
        }
        let missing = module.requires.iter().find(|name| !self.modules.contains_key(*name));
        if let Some(required) = missing.cloned() {
            return Err(ModuleError::Missing { module: module.name, required });
        }
        self.modules.insert(module.name.clone(), module);
        Ok(())
    }

    /// Removes a module. Agents that were built with it keep it.
    ///
    /// # Errors
    /// When there is no such module, or another one requires it.
    pub fn remove(&mut self, name: &str) -> Result<Module, ModuleError> {
        let requires = |module: &&Module| module.requires.iter().any(|required| required == name);
        if let Some(by) = self.modules.values().find(requires) {
            return Err(ModuleError::Required { module: name.to_owned(), by: by.name.clone() });
        }
        self.modules.shift_remove(name).ok_or_else(|| ModuleError::Unknown(name.to_owned()))
    }

    /// Returns the registered modules, in the order of their registration.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.modules.values()
    }

    /// Returns the named modules and all that they require, each once, requirements first.
    ///
    /// # Errors
    /// When there is no such module.
    pub fn resolve<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&Module>, ModuleError> {
        let mut wanted = vec![false; self.modules.len()];
        for name in names {
            let at = self.modules.get_index_of(name);
            wanted[at.ok_or_else(|| ModuleError::Unknown(name.to_owned()))?] = true;
        }
        // Requirements are registered before the modules that require them.
        for (at, module) in self.modules.values().enumerate().rev() {
            let required = module.requires.iter().filter(|_| wanted[at]);
            let required: Vec<_> =
                required.filter_map(|name| self.modules.get_index_of(name)).collect();
            required.into_iter().for_each(|at| wanted[at] = true);
        }
        Ok(self
            .modules
            .values()
            .zip(wanted)
            .filter_map(|(m, wanted)| wanted.then_some(m))
            .collect())
    }
}
