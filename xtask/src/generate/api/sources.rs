//! The parsed sources of the crates.

use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use syn::{Item, UseTree};

use super::item::{self, Impl};
use crate::tree::Tree;

type Modules = BTreeMap<Vec<String>, Vec<Item>>;

/// A crate.
#[derive(Clone)]
pub(super) struct CrateSource {
    pub(super) name: String,
    /// The items of each module, by its path.
    modules: Rc<Modules>,
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
        parse(self.tree, &format!("{folder}/lib.rs"), &folder, Vec::new(), &mut modules)?;
        let found = CrateSource { name: name.to_owned(), modules: Rc::new(modules) };
        self.crates.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// Follows a path that a module names, also through re-exports.
    pub(super) fn resolve(
        &mut self,
        own: &CrateSource,
        module: &[String],
        target: &[String],
    ) -> Result<Resolved> {
        self.follow(own, module, target, 0)
    }

    fn follow(
        &mut self,
        own: &CrateSource,
        module: &[String],
        target: &[String],
        depth: usize,
    ) -> Result<Resolved> {
        let Some((first, rest)) = target.split_first() else { return Ok(Resolved::Other) };
        let path = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => [module, rest].concat(),
            "super" => [&module[..module.len().saturating_sub(1)], rest].concat(),
            name if name.starts_with("robota_")
                && self.tree.has(&format!("crates/{}/src", name.replace('_', "-"))) =>
            {
                let other = self.load(name)?;
                return self.find(&other, rest, depth);
            }
            _ => [module, target].concat(),
        };
        self.find(own, &path, depth)
    }

    fn find(&mut self, own: &CrateSource, path: &[String], depth: usize) -> Result<Resolved> {
        let Some((name, module)) = path.split_last() else { return Ok(Resolved::Other) };
        let Some(items) = own.module(module).filter(|_| depth < 8) else {
            return Ok(Resolved::Other);
        };
        if let Some(item) = items.iter().find(|item| item::name(item) == *name) {
            return Ok(Resolved::Item(own.clone(), module.to_vec(), Box::new(item.clone())));
        }
        let used = items.iter().filter_map(|item| match item {
            Item::Use(tree) => Some(uses(&tree.tree)),
            _ => None,
        });
        match used.flatten().find(|(_, shown)| shown == name) {
            Some((target, _)) if target != path => self.follow(own, module, &target, depth + 1),
            _ => Ok(Resolved::Other),
        }
    }
}

impl CrateSource {
    pub(super) fn module(&self, path: &[String]) -> Option<&[Item]> {
        self.modules.get(path).map(Vec::as_slice)
    }

    /// Returns all items with the paths of their modules.
    pub(super) fn items(&self) -> impl Iterator<Item = (String, &Item)> {
        self.modules
            .iter()
            .flat_map(|(path, items)| items.iter().map(move |item| (path.join("::"), item)))
    }

    /// Returns what the `impl`s of a type add.
    pub(super) fn impls(&self, name: &str) -> Vec<Impl> {
        let all = self.modules.values().flatten();
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
    modules: &mut Modules,
) -> Result<()> {
    let text = tree.text(file).with_context(|| format!("there is no {file}"))?;
    let parsed = syn::parse_file(text).with_context(|| format!("cannot parse {file}"))?;
    add(tree, parsed.items, folder, path, modules)
}

fn add(
    tree: &Tree,
    items: Vec<Item>,
    folder: &str,
    path: Vec<String>,
    modules: &mut Modules,
) -> Result<()> {
    for item in &items {
        let Item::Mod(inner) = item else { continue };
        if item::hidden(&inner.attrs) {
            continue;
        }
        let name = inner.ident.to_string();
        let below = format!("{folder}/{name}");
        let inner_path = [path.as_slice(), &[name]].concat();
        match &inner.content {
            Some((_, items)) => add(tree, items.clone(), &below, inner_path, modules)?,
            None => {
                let file = format!("{below}.rs");
                let file =
                    if tree.text(&file).is_some() { file } else { format!("{below}/mod.rs") };
                parse(tree, &file, &below, inner_path, modules)?;
            }
        }
    }
    modules.insert(path, items);
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
