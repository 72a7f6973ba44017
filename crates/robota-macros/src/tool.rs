//! Expands `#[tool]`: the function becomes a function without arguments that returns the tool.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, ExprPath, FnArg, GenericArgument, ItemFn, LitStr, Meta, Pat,
    PathArguments, Result, Token, Type,
};

/// The options of the attribute: `#[tool(name = "Weather", class = Inspect)]`.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    description: Option<LitStr>,
    class: Option<ExprPath>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        for option in Punctuated::<Meta, Token![,]>::parse_terminated(input)? {
            let Meta::NameValue(option) = option else {
                return Err(Error::new(option.span(), "expected `name = value`"));
            };
            let text = || match &option.value {
                Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Ok(text.clone()),
                other => Err(Error::new(other.span(), "expected a string literal")),
            };
            if option.path.is_ident("name") {
                options.name = Some(text()?);
            } else if option.path.is_ident("description") {
                options.description = Some(text()?);
            } else if option.path.is_ident("class") {
                let Expr::Path(class) = option.value else {
                    let message = "expected a class: Inspect, Modify or Execute";
                    return Err(Error::new(option.value.span(), message));
                };
                options.class = Some(class);
            } else {
                let message = "unknown option; there are: name, description, class";
                return Err(Error::new(option.path.span(), message));
            }
        }
        Ok(options)
    }
}

/// One argument of the tool.
struct Argument {
    attributes: Vec<Attribute>,
    name: syn::Ident,
    kind: Type,
}

pub(crate) fn expand(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let mut function: ItemFn = syn::parse2(function)?;
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(Error::new(signature.fn_token.span(), "a tool is an `async fn`"));
    }
    if !signature.generics.params.is_empty() {
        let message = "a tool has no generic parameters: the model sends values of known types";
        return Err(Error::new(signature.generics.span(), message));
    }
    let description = match &options.description {
        Some(text) => text.value(),
        None => doc_text(&function.attrs),
    };
    if description.is_empty() {
        let message =
            "describe the tool for the model: write a doc comment, or `description = \"...\"`";
        return Err(Error::new(signature.ident.span(), message));
    }

    let mut arguments = Vec::new();
    let mut passed = Vec::new();
    for input in &mut function.sig.inputs {
        let FnArg::Typed(input) = input else {
            return Err(Error::new(input.span(), "a tool has no `self`"));
        };
        // Attributes, doc comments included, go to the field of the arguments.
        let attributes = std::mem::take(&mut input.attrs);
        if is_context(&input.ty) {
            passed.push(quote!(context));
            continue;
        }
        require_owned(&input.ty)?;
        let Pat::Ident(pattern) = &*input.pat else {
            return Err(Error::new(input.pat.span(), "expected a name: it is the argument's name"));
        };
        let name = pattern.ident.clone();
        passed.push(quote!(arguments.#name));
        arguments.push(Argument { attributes, name, kind: (*input.ty).clone() });
    }

    let name = match &options.name {
        Some(name) => name.value(),
        // The name of `fn r#match` is match.
        None => function.sig.ident.unraw().to_string(),
    };
    let class = match &options.class {
        // A bare name is a class of robota's.
        Some(class) if class.path.get_ident().is_some() => quote!(::robota::Class::#class),
        Some(class) => quote!(#class),
        // A tool without a class has effects, as far as the gate knows.
        None => quote!(::robota::Class::Execute),
    };
    let (visibility, ident) = (function.vis.clone(), function.sig.ident.clone());
    let (documents, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut function.attrs).into_iter().partition(|one| one.path().is_ident("doc"));
    // The user's function becomes a private function inside the one that returns the tool. Its body
    // and its parameters see the names that are declared there, so these must be names that no
    // developer uses.
    function.vis = syn::Visibility::Inherited;
    function.sig.ident = format_ident!("__robota_run");
    let fields = arguments
        .iter()
        .map(|Argument { attributes, name, kind }| quote!(#(#attributes)* #name: #kind));
    Ok(quote! {
        #(#documents)*
        #(#others)*
        #visibility fn #ident() -> impl ::robota::Tool {
            #[derive(
                ::robota::__private::serde::Deserialize,
                ::robota::__private::schemars::JsonSchema,
            )]
            // Messages to the model use the second name.
            #[serde(
                crate = "::robota::__private::serde",
                rename = "arguments",
                deny_unknown_fields
            )]
            #[schemars(crate = "::robota::__private::schemars")]
            struct __RobotaArguments {
                #(#fields,)*
            }

            #function

            ::robota::FunctionTool::new(
                #name,
                #description,
                #class,
                |arguments: __RobotaArguments, context: ::robota::ToolContext| async move {
                    // A function without arguments or context uses neither.
                    let _ = (&arguments, &context);
                    __robota_run(#(#passed),*).await
                },
            )
        }
    })
}

/// Checks that the value of a type can be read from JSON and kept: the type has no reference and no
/// `impl Trait`, also not inside another type. The compiler would report both in generated code.
fn require_owned(kind: &Type) -> Result<()> {
    match kind {
        Type::Reference(kind) => Err(Error::new(
            kind.span(),
            "a tool owns its arguments: take an owned type, such as String for &str",
        )),
        Type::ImplTrait(kind) => Err(Error::new(
            kind.span(),
            "a tool has arguments of known types: take a type that implements the trait",
        )),
        Type::Array(kind) => require_owned(&kind.elem),
        Type::Group(kind) => require_owned(&kind.elem),
        Type::Paren(kind) => require_owned(&kind.elem),
        Type::Slice(kind) => require_owned(&kind.elem),
        Type::Tuple(kind) => kind.elems.iter().try_for_each(require_owned),
        Type::Path(kind) => {
            for segment in &kind.path.segments {
                let PathArguments::AngleBracketed(arguments) = &segment.arguments else { continue };
                for argument in &arguments.args {
                    if let GenericArgument::Type(inner) = argument {
                        require_owned(inner)?;
                    }
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns whether a parameter has the type `ToolContext`: it receives the context of the call, and
/// is no argument of the tool.
fn is_context(kind: &Type) -> bool {
    matches!(kind, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "ToolContext"))
}

/// Returns the text of the doc comments.
fn doc_text(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|one| one.path().is_ident("doc")).filter_map(|one| {
        let Meta::NameValue(doc) = &one.meta else { return None };
        match &doc.value {
            Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        }
    });
    let text: Vec<_> = lines.map(|line| line.trim().to_owned()).collect();
    text.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests;
