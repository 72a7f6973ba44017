//! The operations of a document.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::refs;

/// The length limit of a description, in characters. It is part of every request to the model.
const MAX_DESCRIPTION: usize = 1_000;
/// The field of a tool's arguments that has the body of the request.
pub(super) const BODY: &str = "body";

/// An operation that could not become a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedOperation {
    /// The operation, as `METHOD /path`.
    pub operation: String,
    /// The reason, for people.
    pub problem: String,
}

/// An operation as it is in the document.
pub(super) struct Found<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) definition: &'a Value,
    /// The parameters of all operations of the path.
    shared: &'a Value,
}

/// Lists the operations of a document in its order.
pub(super) fn all(document: &Value) -> Vec<Found<'_>> {
    const METHODS: [(&str, Method); 7] = [
        ("get", Method::GET),
        ("put", Method::PUT),
        ("post", Method::POST),
        ("delete", Method::DELETE),
        ("patch", Method::PATCH),
        ("head", Method::HEAD),
        ("options", Method::OPTIONS),
    ];
    let paths = document.get("paths").and_then(Value::as_object);
    let mut found = Vec::new();
    for (path, item) in paths.into_iter().flatten() {
        let item = refs::target(document, item).unwrap_or(item);
        for (name, method) in &METHODS {
            if let Some(definition) = item.get(name) {
                let shared = item.get("parameters").unwrap_or(&Value::Null);
                found.push(Found { method: method.clone(), path, definition, shared });
            }
        }
    }
    found
}

impl Found<'_> {
    /// Returns the operation as `METHOD /path`.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns all names by which a filter can mean the operation.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = vec![self.title()];
        names.extend(self.text("operationId"));
        let tags = self.definition.get("tags").and_then(Value::as_array);
        let tags = tags.into_iter().flatten().filter_map(Value::as_str);
        names.extend(tags.map(|tag| format!("tag:{tag}")));
        names
    }

    fn text(&self, name: &str) -> Option<String> {
        self.definition.get(name)?.as_str().map(str::to_owned)
    }
}

/// Where a parameter is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameter {
    /// Its name in the request.
    pub(super) name: String,
    /// Its name in the arguments of the tool.
    pub(super) argument: String,
    pub(super) place: Place,
    pub(super) required: bool,
    /// Whether the items of a list are sent as separate values.
    pub(super) explode: bool,
}

/// How the body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Json,
    Form,
    Text,
}

/// An operation that becomes a tool.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) description: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<(BodyKind, bool)>,
    pub(super) schema: Value,
}

impl Operation {
    /// Reads an operation.
    ///
    /// # Errors
    /// If it cannot become a request; the text says why.
    pub(super) fn read(document: &Value, found: &Found<'_>) -> Result<Self, String> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut budget = refs::Budget::of_operation();
        // Parameters of the operation replace those of the path.
        let own = found.definition.get("parameters").unwrap_or(&Value::Null);
        for definition in [own, found.shared].into_iter().filter_map(Value::as_array).flatten() {
            let definition = refs::target(document, definition)?;
            let read = read_parameter(document, definition, &mut budget)?;
            let Some((mut parameter, schema)) = read else { continue };
            let same = |it: &Parameter| it.name == parameter.name && it.place == parameter.place;
            if parameters.iter().any(same) {
                continue;
            }
            if properties.contains_key(&parameter.argument) || parameter.argument == BODY {
                parameter.argument = format!("{:?}_{}", parameter.place, parameter.name);
                parameter.argument.make_ascii_lowercase();
            }
            if parameter.required {
                required.push(parameter.argument.clone());
            }
            properties.insert(parameter.argument.clone(), schema);
            parameters.push(parameter);
        }
        check_path(found.path, &parameters)?;
        let body = match found.definition.get("requestBody") {
            Some(body) => {
                let body = refs::target(document, body)?;
                let (kind, schema) = read_body(document, body, &mut budget)?;
                let needed = body.get("required").and_then(Value::as_bool).unwrap_or(false);
                if needed {
                    required.push(BODY.to_owned());
                }
                properties.insert(BODY.to_owned(), schema);
                Some((kind, needed))
            }
            None => None,
        };
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let default_id = || format!("{}{}", found.method.as_str().to_lowercase(), found.path);
        Ok(Self {
            id: found.text("operationId").unwrap_or_else(default_id),
            method: found.method.clone(),
            path: found.path.to_owned(),
            description: description(found),
            parameters,
            body,
            schema,
        })
    }
}

fn description(found: &Found<'_>) -> String {
    let texts = [found.text("summary"), found.text("description")];
    let text: Vec<_> = texts.into_iter().flatten().collect();
    let text: String = text.join("\n").chars().take(MAX_DESCRIPTION).collect();
    if text.is_empty() { found.title() } else { format!("{text}\n({})", found.title()) }
}

/// Reads a parameter and its schema; none if it is not sent.
fn read_parameter(
    document: &Value,
    definition: &Value,
    budget: &mut refs::Budget,
) -> Result<Option<(Parameter, Value)>, String> {
    let text = |name: &str| definition.get(name).and_then(Value::as_str);
    let flag = |name: &str| definition.get(name).and_then(Value::as_bool);
    let name = text("name").ok_or("a parameter has no name")?.to_owned();
    let required = flag("required").unwrap_or(false);
    let place = match text("in") {
        Some("path") => Place::Path,
        Some("query") => Place::Query,
        Some("header") => Place::Header,
        // A cookie that is not required can be left out. The client keeps none.
        Some("cookie") if !required => return Ok(None),
        Some(other) => return Err(format!("the parameter `{name}` is sent by {other}")),
        None => return Err(format!("the parameter `{name}` has no place")),
    };
    // These are set by the client itself, and are ignored as the standard says.
    let reserved = ["accept", "content-type", "authorization"];
    if place == Place::Header && reserved.contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    let content = definition.get("content").and_then(Value::as_object);
    if content.is_some() {
        return Err(format!("the parameter `{name}` has a media type"));
    }
    let style = text("style").unwrap_or(match place {
        Place::Query => "form",
        Place::Path | Place::Header => "simple",
    });
    if !matches!((place, style), (Place::Query, "form") | (_, "simple")) {
        return Err(format!("the parameter `{name}` has the style `{style}`"));
    }
    let explode = flag("explode").unwrap_or(style == "form");
    let schema = definition.get("schema");
    let mut schema = refs::inlined(document, schema.unwrap_or(&json!({})), budget)?;
    if let (Some(about), Some(fields)) = (text("description"), schema.as_object_mut()) {
        let about: String = about.chars().take(300).collect();
        fields.entry("description").or_insert(Value::from(about));
    }
    // A path parameter is always required; some documents forget to say so.
    let required = required || place == Place::Path;
    let argument = name.clone();
    Ok(Some((Parameter { name, argument, place, required, explode }, schema)))
}

/// Reads the kind and the schema of a body.
fn read_body(
    document: &Value,
    body: &Value,
    budget: &mut refs::Budget,
) -> Result<(BodyKind, Value), String> {
    let content = body.get("content").and_then(Value::as_object);
    let content = content.ok_or("its body has no media type")?;
    let is_json = |kind: &str| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind == "application/json" || kind.ends_with("+json") || kind == "*/*"
    };
    let found = content
        .iter()
        .find(|(kind, _)| is_json(kind))
        .map(|(_, media)| (BodyKind::Json, media))
        .or_else(|| {
            let form = content.get("application/x-www-form-urlencoded")?;
            Some((BodyKind::Form, form))
        })
        .or_else(|| Some((BodyKind::Text, content.get("text/plain")?)));
    let Some((kind, media)) = found else {
        let kinds: Vec<_> = content.keys().map(String::as_str).collect();
        return Err(format!("its body is {}, which is not supported", kinds.join(" or ")));
    };
    let schema = match kind {
        BodyKind::Text => json!({"type": "string"}),
        BodyKind::Json | BodyKind::Form => {
            refs::inlined(document, media.get("schema").unwrap_or(&json!({})), budget)?
        }
    };
    Ok((kind, schema))
}

/// Checks that every `{name}` of a path is a parameter.
fn check_path(path: &str, parameters: &[Parameter]) -> Result<(), String> {
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("its path has a `{` without `}`")?;
        let known = parameters.iter().any(|it| it.place == Place::Path && it.name == name);
        if !known {
            return Err(format!("its path needs `{name}`, which is not a parameter"));
        }
        rest = after;
    }
    Ok(())
}
