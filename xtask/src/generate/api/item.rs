//! One item of a crate as text.

use std::collections::BTreeMap;

use quote::ToTokens;
use syn::{Attribute, Fields, Ident, ImplItem, Item, Meta, Signature, TraitItem, Visibility};

/// The public methods that each macro defines where it is used.
pub(super) type Macros = BTreeMap<String, Vec<String>>;

/// Returns what an `impl` of the type of this name adds to it: the trait, or functions and constants.
pub(super) fn members(item: &Item, of: &str, macros: &Macros) -> Vec<String> {
    let Item::Impl(block) = item else { return Vec::new() };
    let is_of = |path: &syn::TypePath| path.path.segments.last().is_some_and(|it| it.ident == of);
    if !matches!(&*block.self_ty, syn::Type::Path(path) if is_of(path)) || is_hidden(&block.attrs) {
        return Vec::new();
    }
    if let Some((_, path, _)) = &block.trait_ {
        return vec![format!("impl {}", text(path))];
    }
    let members = block.items.iter().flat_map(|member| match member {
        ImplItem::Fn(it) if is_visible(&it.vis) && !is_hidden(&it.attrs) => {
            vec![format!("pub {}", text(&it.sig))]
        }
        ImplItem::Const(it) if is_visible(&it.vis) => {
            vec![format!("pub const {}: {}", it.ident, text(&it.ty))]
        }
        ImplItem::Macro(it) => {
            let name = it.mac.path.segments.last().map(|name| name.ident.to_string());
            name.and_then(|name| macros.get(&name)).cloned().unwrap_or_default()
        }
        _ => Vec::new(),
    });
    members.collect()
}

/// Returns the public methods in the definition of a macro.
pub(super) fn macro_methods(definition: &syn::Macro) -> Vec<String> {
    let rules = definition.tokens.to_string().replace("$ crate ::", "");
    let heads = rules.split("pub fn ").skip(1).filter_map(|rest| rest.split_once('{'));
    let parsed = heads.map(|(head, _)| syn::parse_str::<Signature>(&format!("fn {head}")));
    parsed.flatten().map(|signature| format!("pub {}", text(&signature))).collect()
}

fn is_visible(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns whether the attributes hide an item, or leave it to tests. Documentation is no list.
pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    let lists = attributes.iter().filter(|attribute| matches!(attribute.meta, Meta::List(_)));
    let mut lists = lists.map(|attribute| text(&attribute.meta));
    let for_doctests = |list: &str| list.starts_with("cfg(") && list.contains("doctest");
    lists.any(|list| ["doc(hidden)", "cfg(test)"].contains(&list.as_str()) || for_doctests(&list))
}

/// Returns the attributes and the visibility of an item, and the name of one that is not a module.
fn parts(item: &Item) -> Option<(&[Attribute], &Visibility, Option<&Ident>)> {
    Some(match item {
        Item::Struct(it) => (&it.attrs, &it.vis, Some(&it.ident)),
        Item::Enum(it) => (&it.attrs, &it.vis, Some(&it.ident)),
        Item::Trait(it) => (&it.attrs, &it.vis, Some(&it.ident)),
        Item::Fn(it) => (&it.attrs, &it.vis, Some(&it.sig.ident)),
        Item::Type(it) => (&it.attrs, &it.vis, Some(&it.ident)),
        Item::Const(it) => (&it.attrs, &it.vis, Some(&it.ident)),
        Item::Static(it) => (&it.attrs, &it.vis, Some(&it.ident)),
        Item::Mod(it) => (&it.attrs, &it.vis, None),
        Item::Use(it) => (&it.attrs, &it.vis, None),
        _ => return None,
    })
}

pub(super) fn is_public(item: &Item) -> bool {
    parts(item).is_some_and(|(attributes, vis, _)| is_visible(vis) && !is_hidden(attributes))
}

/// Returns whether an item is a public type whose documentation has no example.
pub(super) fn lacks_example(item: &Item) -> bool {
    let attributes = parts(item).map(|(attributes, ..)| attributes).unwrap_or_default();
    let mut docs = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let is_type = matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Trait(_));
    is_type && is_public(item) && !docs.any(|doc| text(&doc.meta).contains("```"))
}

/// Returns the name of an item; empty for a module and for what has no name.
pub(super) fn name(item: &Item) -> String {
    parts(item).and_then(|(.., name)| name).map(Ident::to_string).unwrap_or_default()
}

/// Returns an item as it is used from outside: without bodies, attributes and private fields.
pub(super) fn signature(item: &Item, shown_as: &str) -> String {
    match item {
        Item::Struct(it) => {
            format!("struct {shown_as}{}{}", text(&it.generics), fields(&it.fields, true))
        }
        Item::Enum(it) => {
            let variant = |it: &syn::Variant| format!("{}{}", it.ident, fields(&it.fields, false));
            let variants: Vec<_> = it.variants.iter().map(variant).collect();
            format!("enum {shown_as}{} {{ {} }}", text(&it.generics), variants.join(", "))
        }
        Item::Trait(it) => {
            let members = it.items.iter().filter_map(|member| match member {
                TraitItem::Fn(function) => {
                    let provided = if function.default.is_some() { " { … }" } else { "" };
                    Some(format!("{}{provided};", text(&function.sig)))
                }
                TraitItem::Type(it) => Some(format!("type {};", it.ident)),
                TraitItem::Const(it) => Some(format!("const {}: {};", it.ident, text(&it.ty))),
                _ => None,
            });
            let members = members.collect::<Vec<_>>().join(" ");
            let bounds = text(&it.supertraits);
            let bounds = if bounds.is_empty() { bounds } else { format!(": {bounds}") };
            format!("trait {shown_as}{}{bounds} {{ {members} }}", text(&it.generics))
        }
        Item::Fn(it) => text(&it.sig),
        Item::Type(it) => format!("type {shown_as}{} = {}", text(&it.generics), text(&it.ty)),
        Item::Const(it) => format!("const {shown_as}: {}", text(&it.ty)),
        Item::Static(it) => format!("static {shown_as}: {}", text(&it.ty)),
        _ => shown_as.to_owned(),
    }
}

/// Returns the fields of a type. Those of an enum are public without saying so.
fn fields(fields: &Fields, of_struct: bool) -> String {
    let public = |field: &&syn::Field| !of_struct || is_visible(&field.vis);
    let shown = fields.iter().filter(public).map(|field| match &field.ident {
        Some(name) => format!("{name}: {}", text(&field.ty)),
        None => text(&field.ty),
    });
    let mut shown: Vec<_> = shown.collect();
    if shown.len() < fields.len() {
        shown.push("..".to_owned());
    }
    let shown = shown.join(", ");
    match fields {
        Fields::Unit => String::new(),
        Fields::Named(_) => format!(" {{ {shown} }}"),
        Fields::Unnamed(_) => format!("({shown})"),
    }
}

/// Returns tokens as text with the spaces that people write.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for mark in ["::", "<", "(", "["] {
        text = text.replace(&format!(" {mark}"), mark).replace(&format!("{mark} "), mark);
    }
    for mark in [">", ",", ";", ":", ")", "]", "."] {
        text = text.replace(&format!(" {mark}"), mark);
    }
    for (from, to) in [("& ", "&"), ("' ", "'"), (",)", ")"), ("- >", "->")] {
        text = text.replace(from, to);
    }
    for (from, to) in [("->(", "-> ("), ("-> impl(", "-> impl ("), ("for<'a>", "for<'a> ")] {
        text = text.replace(from, to);
    }
    text.replace("->", " -> ").replace("  ", " ").replace("  ", " ").replace("= >", "=>")
}
