//! The keywords that combine schemas: `allOf`, `anyOf`, `oneOf`, `not`, `if`.

use serde_json::{Map, Value};

use super::Checker;
use super::mistakes::Mistakes;
use super::path::Path;

/// More forms than this are not quoted in the text of a mistake.
const MAX_FORMS: usize = 3;

impl<'a> Checker<'a> {
    pub(super) fn check_combined(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &Value,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        let list = |key: &str| schema.get(key).and_then(Value::as_array);
        for one in list("allOf").into_iter().flatten() {
            self.check(one, value, at, mistakes);
        }
        if let Some(forms) = list("anyOf") {
            self.check_forms(forms, false, value, at, mistakes);
        }
        if let Some(forms) = list("oneOf") {
            self.check_forms(forms, true, value, at, mistakes);
        }
        if let Some(excluded) = schema.get("not")
            && self.mistakes_of(excluded, value, at).is_empty()
        {
            mistakes.push(|| format!("{at} has a form that the schema excludes (`not`)"));
        }
        if let Some(condition) = schema.get("if") {
            let holds = self.mistakes_of(condition, value, at).is_empty();
            if let Some(then) = schema.get(if holds { "then" } else { "else" }) {
                self.check(then, value, at, mistakes);
            }
        }
    }

    /// Checks that a value fits at least one form, or exactly one if they are `exclusive`.
    fn check_forms(
        &mut self,
        forms: &'a [Value],
        exclusive: bool,
        value: &Value,
        at: &Path<'_>,
        mistakes: &mut Mistakes,
    ) {
        let mut failed = Vec::new();
        let mut fits = 0;
        for form in forms {
            let wrong = self.mistakes_of(form, value, at);
            if !wrong.is_empty() {
                failed.push(wrong);
                continue;
            }
            fits += 1;
            if !exclusive {
                return;
            }
        }
        match fits {
            0 => {
                if failed.iter().all(Mistakes::is_other_form) {
                    mistakes.mark_other_form(at.depth(), false);
                }
                mistakes.append(of_no_form(failed, at));
            }
            1 => {}
            _ => mistakes.push(|| {
                format!("{at} fits {fits} of the forms in `oneOf`, of which exactly one may fit")
            }),
        }
    }
}

/// Returns the mistakes of a value that fits none of several forms.
fn of_no_form(failed: Vec<Mistakes>, at: &Path<'_>) -> Mistakes {
    // The form with the right type and tag is the one that was meant: `anyOf` with null, or an
    // enum of structs. Its mistakes alone help most.
    let (mut meant, others): (Vec<_>, Vec<_>) =
        failed.into_iter().partition(|wrong| !wrong.is_other_form());
    if meant.len() == 1
        && let Some(meant) = meant.pop()
    {
        return meant;
    }
    let quoted = if meant.is_empty() { others } else { meant };
    let mut text = format!("{at} fits none of the allowed forms");
    for (index, wrong) in quoted.iter().take(MAX_FORMS).enumerate() {
        let separator = if index == 0 { ":" } else { "," };
        text.push_str(&format!("{separator} ({}) {}", index + 1, wrong.first()));
    }
    if quoted.len() > MAX_FORMS {
        text.push_str(&format!(", and {} more forms", quoted.len() - MAX_FORMS));
    }
    let mut mistakes = Mistakes::default();
    mistakes.push(|| text);
    mistakes
}
