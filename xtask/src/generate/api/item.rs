//! One item of a crate as text.

use quote::ToTokens;
use syn::{Attribute, Fields, Ident, ImplItem, Item, TraitItem, Visibility};

/// What an `impl` adds to a type.
pub(super) enum Impl {
    /// Its public functions and constants.
    Methods(Vec<String>),
    /// A trait.
    Trait(String),
}

impl Impl {
    pub(super) fn of(item: &syn::ItemImpl) -> Self {
        if let Some((_, path, _)) = &item.trait_ {
            return Self::Trait(text(path));
        }
        let methods = item.items.iter().filter_map(|member| match member {
            ImplItem::Fn(function) if is_public(&function.vis) && !hidden(&function.attrs) => {
                Some(format!("pub {}", text(&function.sig)))
            }
            ImplItem::Const(constant) if is_public(&constant.vis) => {
                Some(format!("pub const {}: {}", constant.ident, text(&constant.ty)))
            }
            _ => None,
        });
        Self::Methods(methods.collect())
    }
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

pub(super) fn hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = text(&attribute.meta);
        attribute.path().is_ident("doc") && text.contains("hidden")
            || attribute.path().is_ident("cfg") && (text.contains("doctest") || text == "cfg(test)")
    })
}

/// Returns the attributes, the visibility and the name of an item that can be public.
fn parts(item: &Item) -> Option<(&[Attribute], &Visibility, &Ident)> {
    Some(match item {
        Item::Struct(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Enum(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Trait(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Fn(it) => (&it.attrs, &it.vis, &it.sig.ident),
        Item::Type(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Const(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Static(it) => (&it.attrs, &it.vis, &it.ident),
        _ => return None,
    })
}

pub(super) fn is_public_item(item: &Item) -> bool {
    parts(item).is_some_and(|(attributes, vis, _)| is_public(vis) && !hidden(attributes))
}

pub(super) fn is_public_type(item: &Item) -> bool {
    matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Trait(_)) && is_public_item(item)
}

/// Returns whether the documentation of an item has an example.
pub(super) fn has_example(item: &Item) -> bool {
    let attributes = parts(item).map(|(attributes, ..)| attributes).unwrap_or_default();
    let docs = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    docs.map(|doc| text(&doc.meta)).any(|doc| doc.contains("```"))
}

pub(super) fn name(item: &Item) -> String {
    parts(item).map(|(.., name)| name.to_string()).unwrap_or_default()
}

/// Returns an item as it is used from outside: without bodies, attributes and private fields.
pub(super) fn signature(item: &Item, shown_as: &str) -> String {
    match item {
        Item::Struct(it) => {
            let generics = text(&it.generics);
            format!("struct {shown_as}{generics}{}", fields(&it.fields, true))
        }
        Item::Enum(it) => {
            let variants = it
                .variants
                .iter()
                .map(|variant| format!("{}{}", variant.ident, fields(&variant.fields, false)));
            let variants = variants.collect::<Vec<_>>().join(", ");
            format!("enum {shown_as}{} {{ {variants} }}", text(&it.generics))
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
    let public = |field: &&syn::Field| !of_struct || is_public(&field.vis);
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
pub(super) fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for mark in ["::", "<", "(", "["] {
        text = text.replace(&format!(" {mark}"), mark).replace(&format!("{mark} "), mark);
    }
    for mark in [">", ",", ";", ":", ")", "]", "."] {
        text = text.replace(&format!(" {mark}"), mark);
    }
    for (from, to) in [
        ("& ", "&"),
        ("' ", "'"),
        (",)", ")"),
        ("->(", "-> ("),
        ("- >", "->"),
        ("-> impl(", "-> impl ("),
        ("for<'a>", "for<'a> "),
    ] {
        text = text.replace(from, to);
    }
    text.replace("->", " -> ").replace("  ", " ").replace("  ", " ").replace("= >", "=>")
}
