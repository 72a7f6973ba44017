//! Forms that servers ask the user to fill in: the part of JSON Schema that the protocol allows, flat
//! objects of texts, numbers, switches and choices.

use serde_json::{Map, Number, Value};

use crate::text::{clean, clean_line};

/// How many fields a form may have.
// A person answers the form; longer ones are an error of the server or an attack.
const MAX_FIELDS: usize = 50;
/// How many choices a field may have. A longer list cannot be shown.
const MAX_CHOICES: usize = 500;
/// The longest name of a field, in bytes.
const MAX_NAME: usize = 200;

/// A form that a server asks the user to fill in.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The fields, in the order of the server.
    pub fields: Vec<FormField>,
}

/// One value that a server asks the user for.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// The name in the answer; people see `title`.
    pub name: String,
    /// The name for people; that of the answer if the server gave none.
    pub title: String,
    /// What the user should enter; empty if the server does not say it.
    pub description: String,
    /// Whether the server refuses the form without it; an answer then needs a value or a
    /// default.
    pub required: bool,
    /// What can be answered, and within which limits.
    pub kind: FieldKind,
    /// The value if the user answers nothing; none if the server gave none that the field allows.
    pub default: Option<Value>,
}

/// What can be answered in a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A text, with its limits in characters.
    Text {
        /// The shortest length; none for any.
        min: Option<u64>,
        /// The longest length; none for any.
        max: Option<u64>,
        /// `email`, `uri`, `date` or `date-time`; others are not checked.
        format: Option<String>,
    },
    /// A number of any size within its limits.
    Number {
        /// Whether the server asks for an integer, so that a fraction is refused.
        integer: bool,
        /// The smallest value that is accepted.
        min: Option<f64>,
        /// The largest value that is accepted.
        max: Option<f64>,
    },
    /// Yes or no, as a boolean.
    Switch,
    /// One of several texts; the answer is its value.
    One(Vec<FormChoice>),
    /// A list of several texts; the answer is an array of their values.
    Many {
        /// The texts, as the server lists them.
        choices: Vec<FormChoice>,
        /// How many are needed; none for any number.
        min: Option<u64>,
        /// How many are possible; none for all.
        max: Option<u64>,
    },
}

/// Offers one text in a field of choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormChoice {
    /// The value in the answer, which the user does not see.
    pub value: String,
    /// The name for people; the value if the server gave none.
    pub title: String,
}

impl Form {
    /// Reads a schema.
    ///
    /// # Errors
    /// If it is not a form that the protocol allows; the text says why.
    pub fn parse(schema: &Value) -> Result<Self, String> {
        let none = Map::new();
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties,
            None => &none,
            Some(_) => return Err("`properties` is not an object".to_owned()),
        };
        if schema.get("type").is_some_and(|kind| kind != "object") {
            return Err("it is not an object".to_owned());
        }
        if properties.len() > MAX_FIELDS {
            return Err(format!("it has more than {MAX_FIELDS} fields"));
        }
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let fields = properties.iter().map(|(name, field)| {
            let field = FormField::parse(name, field, required(name));
            field.map_err(|why| format!("its field `{}`: {why}", clean_line(name, MAX_NAME)))
        });
        Ok(Self { fields: fields.collect::<Result<_, _>>()? })
    }

    /// Adds the defaults of fields that have no answer, and checks the answers.
    ///
    /// # Errors
    /// If an answer is missing or not valid for the field; the text says why.
    pub fn complete(&self, content: &Value) -> Result<Value, String> {
        let mut complete = Map::new();
        for field in &self.fields {
            // Only fields of the form are taken over: a client must not send more than the server
            // asked for and the user saw.
            let given = content.get(&field.name).filter(|value| !value.is_null());
            match given.or(field.default.as_ref()) {
                Some(value) => {
                    let value = field.check(value)?;
                    complete.insert(field.name.clone(), value);
                }
                None if field.required => return Err(format!("`{}` is missing", field.title)),
                None => {}
            }
        }
        Ok(Value::Object(complete))
    }
}

impl FormField {
    fn parse(name: &str, field: &Value, required: bool) -> Result<Self, String> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err("the name is empty or too long".to_owned());
        }
        let text = |key: &str| field.get(key).and_then(Value::as_str);
        let title = text("title").map(|title| clean_line(title, 500)).filter(|it| !it.is_empty());
        let kind = kind(field)?;
        let mut parsed = Self {
            name: name.to_owned(),
            title: title.unwrap_or_else(|| clean_line(name, MAX_NAME)),
            description: clean(text("description").unwrap_or_default(), 4 * 1024),
            required,
            kind,
            default: None,
        };
        // A default that the field itself does not allow is no default.
        parsed.default = field.get("default").and_then(|value| parsed.check(value).ok());
        Ok(parsed)
    }

    /// Reads an answer that the user typed or chose.
    ///
    /// # Errors
    /// If it is not valid for the field; the text says why.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let value = match &self.kind {
            FieldKind::Text { .. } => Value::from(text),
            FieldKind::Number { .. } => {
                let number = serde_json::from_str::<Number>(text);
                Value::Number(number.map_err(|_| format!("`{}` needs a number", self.title))?)
            }
            FieldKind::Switch => match text.to_lowercase().as_str() {
                "yes" | "true" => Value::Bool(true),
                "no" | "false" => Value::Bool(false),
                _ => return Err(format!("`{}` needs yes or no", self.title)),
            },
            FieldKind::One(choices) => Value::from(self.choose(choices, text)?),
            FieldKind::Many { choices, .. } => {
                let chosen = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                let chosen = chosen.map(|part| self.choose(choices, part));
                Value::from(chosen.collect::<Result<Vec<_>, _>>()?)
            }
        };
        self.check(&value)
    }

    fn choose(&self, choices: &[FormChoice], text: &str) -> Result<String, String> {
        // Users see the title; clients without a terminal pass the value.
        let found = choices.iter().find(|choice| choice.title == text || choice.value == text);
        found
            .map(|choice| choice.value.clone())
            .ok_or_else(|| format!("`{}` has no choice `{}`", self.title, clean_line(text, 100)))
    }

    fn check(&self, value: &Value) -> Result<Value, String> {
        let title = &self.title;
        match (&self.kind, value) {
            (FieldKind::Text { min, max, format }, Value::String(text)) => {
                let length = text.chars().count() as u64;
                if min.is_some_and(|min| length < min) || max.is_some_and(|max| length > max) {
                    return Err(format!("`{title}` has a wrong length"));
                }
                if format.as_deref().is_some_and(|format| !has_format(format, text)) {
                    let format = format.as_deref().unwrap_or_default();
                    return Err(format!("`{title}` is not of the form `{format}`"));
                }
            }
            (FieldKind::Number { integer, min, max }, Value::Number(number)) => {
                // A number outside of the range of f64 compares as neither too small nor too large.
                let number = number.as_f64().unwrap_or(f64::NAN);
                if number.is_nan() || (*integer && number.fract() != 0.0) {
                    return Err(format!("`{title}` needs an integer"));
                }
                if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
                    return Err(format!("`{title}` is out of range"));
                }
            }
            (FieldKind::Switch, Value::Bool(_)) => {}
            (FieldKind::One(choices), Value::String(text)) if has(choices, text) => {}
            (FieldKind::Many { choices, min, max }, Value::Array(chosen)) => {
                let known = |value: &Value| value.as_str().is_some_and(|it| has(choices, it));
                if !chosen.iter().all(known) {
                    return Err(format!("`{title}` has an unknown choice"));
                }
                let count = chosen.len() as u64;
                if min.is_some_and(|min| count < min) || max.is_some_and(|max| count > max) {
                    return Err(format!("`{title}` has too few or too many choices"));
                }
            }
            _ => return Err(format!("`{title}` has a value of another kind")),
        }
        Ok(value.clone())
    }
}

fn has(choices: &[FormChoice], value: &str) -> bool {
    choices.iter().any(|choice| choice.value == value)
}

/// Returns whether a text has one of the formats of the protocol. Other formats are not checked.
fn has_format(format: &str, text: &str) -> bool {
    match format {
        "email" => text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && host.contains('.') && !text.contains(char::is_whitespace)
        }),
        "uri" => url::Url::parse(text).is_ok(),
        "date" => is_date(text),
        "date-time" => text.split_once(['T', 't', ' ']).is_some_and(|(date, time)| {
            is_date(date) && time.get(2..3) == Some(":") && time.len() >= 9
        }),
        _ => true,
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').map(|part| (part.len(), part.parse::<u32>())).collect();
    matches!(parts.as_slice(), [(4, Ok(_)), (2, Ok(1..=12)), (2, Ok(1..=31))])
}

fn kind(field: &Value) -> Result<FieldKind, String> {
    let number = |key: &str| field.get(key).and_then(Value::as_u64);
    let kind = field.get("type").and_then(Value::as_str);
    match kind {
        Some("boolean") => Ok(FieldKind::Switch),
        Some("number" | "integer") => Ok(FieldKind::Number {
            integer: kind == Some("integer"),
            min: field.get("minimum").and_then(Value::as_f64),
            max: field.get("maximum").and_then(Value::as_f64),
        }),
        Some("string") => match choices(field)? {
            Some(choices) => Ok(FieldKind::One(choices)),
            None => Ok(FieldKind::Text {
                min: number("minLength"),
                max: number("maxLength"),
                format: field.get("format").and_then(Value::as_str).map(str::to_owned),
            }),
        },
        Some("array") => {
            let choices = field.get("items").map(choices).transpose()?.flatten();
            Ok(FieldKind::Many {
                choices: choices.ok_or("a list needs the texts to choose from")?,
                min: number("minItems"),
                max: number("maxItems"),
            })
        }
        _ => Err("a field is a text, a number, a switch or a choice".to_owned()),
    }
}

/// Returns the texts to choose from: `enum` with or without `enumNames`, or `oneOf`/`anyOf` with
/// titles.
fn choices(field: &Value) -> Result<Option<Vec<FormChoice>>, String> {
    let list = |key: &str| field.get(key).and_then(Value::as_array);
    let choices: Vec<_> = if let Some(values) = list("enum") {
        let names = list("enumNames");
        let name = |at: usize| names.and_then(|names| names.get(at)).and_then(Value::as_str);
        let all = values.iter().enumerate();
        all.map(|(at, value)| (Some(value), name(at))).collect()
    } else if let Some(variants) = list("oneOf").or_else(|| list("anyOf")) {
        let all = variants.iter();
        all.map(|variant| (variant.get("const"), variant.get("title").and_then(Value::as_str)))
            .collect()
    } else {
        return Ok(None);
    };
    if choices.is_empty() || choices.len() > MAX_CHOICES {
        return Err(format!("it needs 1 to {MAX_CHOICES} choices"));
    }
    let choice = |(value, title): (Option<&Value>, Option<&str>)| {
        let value = value.and_then(Value::as_str).ok_or("a choice is a text")?;
        let title = clean_line(title.unwrap_or(value), 500);
        Ok::<_, String>(FormChoice { value: value.to_owned(), title })
    };
    choices.into_iter().map(choice).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests;
