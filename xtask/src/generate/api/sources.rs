//! The parsed sources of the crates.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use syn::{Item, UseTree};

use super::item::{self, Impl};
use crate::tree::Tree;

/// The modules of a crate, by path.
pub(super) struct Module {
    pub(super) items: Vec<Item>,
    /// Whether every module on the path is public.
    public: bool,
}

/// A crate.
#[derive(Clone)]
pub(super) struct CrateSource {
    pub(super) name: String,
    modules: Rc<BTreeMap<Vec<String>, Module>>,
}

/// What a path leads to.
pub(super) enum Resolved {
    /// An item of one of our crates, with its crate and module.
    Item(CrateSource, Vec<String>, Box<Item>),
    /// Something else: a module, a macro, or an item of another project.
    Other,
}

/// Parses crates when they are needed.
pub(super) struct Sources<'a> {
    tree: &'a Tree,
    crates: BTreeMap<String, CrateSource>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        Self { tree, crates: BTreeMap::new() }
    }

    /// Parses a crate of this repository.
    pub(super) fn load(&mut self, name: &str) -> Result<CrateSource> {
        if let Some(found) = self.crates.get(name) {
            return Ok(found.clone());
        }
        let folder = format!("crates/{}/src", name.replace('_', "-"));
        let mut modules = BTreeMap::new();
        parse(self.tree, &format!("{folder}/lib.rs"), &folder, Vec::new(), true, &mut modules)?;
        let found = CrateSource { name: name.to_owned(), modules: Rc::new(modules) };
        self.crates.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// Follows a path, also through re-exports.
    pub(super) fn resolve(
        &mut self,
        own: &CrateSource,
        module: &[String],
        target: &[String],
    ) -> Result<Resolved> {
        let Some((first, rest)) = target.split_first() else { return Ok(Resolved::Other) };
        if first.starts_with("robota_")
            && self.tree.has(&format!("crates/{}/src", first.replace('_', "-")))
        {
            let other = self.load(first)?;
            return self.find(&other, rest, 0);
        }
        let path = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => [module, rest].concat(),
            "super" => [&module[..module.len().saturating_sub(1)], rest].concat(),
            _ => [module, target].concat(),
        };
        self.find(&own.clone(), &path, 0)
    }

    fn find(&mut self, own: &CrateSource, path: &[String], depth: usize) -> Result<Resolved> {
        let Some((name, module)) = path.split_last() else { return Ok(Resolved::Other) };
        let Some(found) = own.module(module).filter(|_| depth < 8) else {
            return Ok(Resolved::Other);
        };
        for item in &found.items {
            if item::name(item) == *name && !matches!(item, Item::Mod(_)) {
                let item = Box::new(item.clone());
                return Ok(Resolved::Item(own.clone(), module.to_vec(), item));
            }
        }
        let used = found.items.iter().filter_map(|item| match item {
            Item::Use(tree) => Some(uses(&tree.tree)),
            _ => None,
        });
        let target = used.flatten().find(|(_, shown)| shown == name).map(|(target, _)| target);
        match target {
            Some(target) if target != path => {
                let (own, module) = (own.clone(), module.to_vec());
                match target.first().map(String::as_str) {
                    Some("crate") => self.find(&own, &target[1..], depth + 1),
                    Some(other) if other.starts_with("robota_") => {
                        let other = self.load(other)?;
                        self.find(&other, &target[1..], depth + 1)
                    }
                    Some("self") => self.find(&own, &[&module, &target[1..]].concat(), depth + 1),
                    Some("super") => {
                        let above = &module[..module.len().saturating_sub(1)];
                        self.find(&own, &[above, &target[1..]].concat(), depth + 1)
                    }
                    _ => self.find(&own, &[module.as_slice(), &target].concat(), depth + 1),
                }
            }
            _ => Ok(Resolved::Other),
        }
    }
}

impl CrateSource {
    pub(super) fn module(&self, path: &[String]) -> Option<&Module> {
        self.modules.get(path)
    }

    /// Returns all items with the paths of their modules.
    pub(super) fn items(&self) -> impl Iterator<Item = (String, &Item)> {
        self.modules
            .iter()
            .flat_map(|(path, module)| module.items.iter().map(move |item| (path.join("::"), item)))
    }

    /// Returns whether items of a module can be reached: by its path, or by a re-export of their
    /// names, which every public item of a private module has.
    pub(super) fn is_public(&self, path: &str) -> bool {
        let path: Vec<_> = path.split("::").filter(|part| !part.is_empty()).collect();
        let path: Vec<_> = path.into_iter().map(str::to_owned).collect();
        self.module(&path).is_some_and(|module| module.public || !path.is_empty())
    }

    /// Returns what the `impl`s of a type add.
    pub(super) fn impls(&self, name: &str) -> Vec<Impl> {
        let all = self.modules.values().flat_map(|module| &module.items);
        let own = all.filter_map(|item| match item {
            Item::Impl(it) if !item::hidden(&it.attrs) && names(&it.self_ty, name) => {
                Some(Impl::of(it))
            }
            _ => None,
        });
        own.collect()
    }
}

fn names(of: &syn::Type, name: &str) -> bool {
    match of {
        syn::Type::Path(path) => path.path.segments.last().is_some_and(|it| it.ident == name),
        _ => false,
    }
}

/// Parses a file and the modules that it declares.
fn parse(
    tree: &Tree,
    file: &str,
    folder: &str,
    path: Vec<String>,
    public: bool,
    modules: &mut BTreeMap<Vec<String>, Module>,
) -> Result<()> {
    let text = tree.text(file).with_context(|| format!("there is no {file}"))?;
    let parsed = syn::parse_file(text).with_context(|| format!("cannot parse {file}"))?;
    add(tree, parsed.items, folder, path, public, modules)
}

fn add(
    tree: &Tree,
    items: Vec<Item>,
    folder: &str,
    path: Vec<String>,
    public: bool,
    modules: &mut BTreeMap<Vec<String>, Module>,
) -> Result<()> {
    for item in &items {
        let Item::Mod(inner) = item else { continue };
        if item::hidden(&inner.attrs) {
            continue;
        }
        let name = inner.ident.to_string();
        let below = format!("{folder}/{name}");
        let inner_path = [path.as_slice(), &[name]].concat();
        let inner_public = public && item::is_public(&inner.vis);
        match &inner.content {
            Some((_, items)) => {
                add(tree, items.clone(), &below, inner_path, inner_public, modules)?;
            }
            None => {
                let file = format!("{below}.rs");
                let file =
                    if tree.text(&file).is_some() { file } else { format!("{below}/mod.rs") };
                parse(tree, &file, &below, inner_path, inner_public, modules)?;
            }
        }
    }
    modules.insert(path, Module { items, public });
    Ok(())
}

/// Returns the paths that a `use` names, each with the name it gets here.
pub(super) fn uses(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    fn walk(tree: &UseTree, before: &[String], out: &mut Vec<(Vec<String>, String)>) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => walk(&path.tree, &with(path.ident.to_string()), out),
            UseTree::Name(name) if name.ident == "self" => {
                let shown = before.last().cloned().unwrap_or_default();
                out.push((before.to_vec(), shown));
            }
            UseTree::Name(name) => out.push((with(name.ident.to_string()), name.ident.to_string())),
            UseTree::Rename(name) => {
                out.push((with(name.ident.to_string()), name.rename.to_string()));
            }
            UseTree::Glob(_) => out.push((with("*".to_owned()), "*".to_owned())),
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, before, out)),
        }
    }
    let mut out = Vec::new();
    walk(tree, &[], &mut out);
    out
}
