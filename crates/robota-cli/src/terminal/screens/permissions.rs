//! The permission rules: where each comes from; rules can be added and removed.

use std::any::Any;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use robota_config::{Layer, RuleList};

use super::list::{Item, List, ListKey};
use super::text::key_rows;
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::headless::SavedRules;
use crate::setup::Setup;
use crate::terminal::effect::Effect;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::run::WorkContext;
use crate::terminal::screen::Cursor;
use crate::terminal::text::{Line, Role, width};

/// The page of rules.
struct Permissions {
    list: List<RuleEntry>,
    /// The rule that the user types, and its list.
    adding: Option<(RuleList, String)>,
    message: Option<String>,
}

#[derive(Clone)]
struct RuleEntry {
    rule: String,
    list: RuleList,
    place: Place,
}

/// Where a rule is.
#[derive(Clone, PartialEq)]
enum Place {
    /// It was approved for this session.
    Session,
    /// A settings file that this page may change.
    File(Layer),
    /// Somewhere else, such as a flag.
    Other,
}

struct LoadedRules(Vec<Item<RuleEntry>>);
struct Changed(Result<String, String>);

/// Opens the page and asks for the rules.
pub(super) fn open() -> Opening {
    let page = Permissions { list: List::loading(), adding: None, message: None };
    Ok((Box::new(page), vec![find()]))
}

fn find() -> Effect {
    work(|context| async move { LoadedRules(rules(&context)) })
}

/// Lists the rules of the session and of the settings. The settings are read again, because this
/// page changes them.
fn rules(context: &WorkContext) -> Vec<Item<RuleEntry>> {
    let mut items = Vec::new();
    for rule in context.session.session().permissions().session_allowed() {
        let value = RuleEntry { rule, list: RuleList::Allow, place: Place::Session };
        items.push(item(value, "this session"));
    }
    let permissions = &context.setup.read_settings().permissions;
    for (list, rules) in [
        (RuleList::Deny, &permissions.deny),
        (RuleList::Ask, &permissions.ask),
        (RuleList::Allow, &permissions.allow),
    ] {
        for rule in rules {
            let place = match rule.origin.layer {
                // None of them is a file of the user, so this page cannot change them.
                Layer::BuiltIn | Layer::Argument | Layer::Flags | Layer::Managed => Place::Other,
                layer => Place::File(layer),
            };
            let value = RuleEntry { rule: rule.text.clone(), list, place };
            items.push(item(value, &rule.origin.to_string()));
        }
    }
    items
}

fn item(value: RuleEntry, place: &str) -> Item<RuleEntry> {
    let title = format!("{:<5} {}", value.list.name(), value.rule);
    Item { title, detail: place.to_owned(), value }
}

fn remove(entry: RuleEntry) -> Effect {
    work(move |context| async move {
        let done = |where_from: String| Ok(format!("removed {} from {where_from}", entry.rule));
        Changed(match &entry.place {
            Place::Session => {
                context.session.session().permissions().revoke(std::slice::from_ref(&entry.rule));
                done("this session".to_owned())
            }
            Place::File(layer) => {
                let rules = SavedRules::new(context.setup.clone());
                let key = entry.list.key();
                match rules.remove(*layer, &key, Some(std::slice::from_ref(&entry.rule))) {
                    Ok(()) => {
                        // The session may also have the rule, from an answer "always".
                        context
                            .session
                            .session()
                            .permissions()
                            .revoke(std::slice::from_ref(&entry.rule));
                        done(file_name(&context.setup, *layer))
                    }
                    Err(error) => Err(error.to_string()),
                }
            }
            Place::Other => Err("this rule is not in a settings file".to_owned()),
        })
    })
}

fn add(list: RuleList, rule: String) -> Effect {
    work(move |context| async move {
        let rules = SavedRules::new(context.setup.clone());
        // The file that is not shared: a rule that a user adds here is no decision of the team.
        let layer = Layer::ProjectRobotaLocal;
        let text = rule.clone();
        Changed(match rules.add(layer, list, &[rule]) {
            Ok(()) => {
                let file = file_name(&context.setup, layer);
                let now = apply(&context, list, &text);
                Ok(format!("{text} is in {file}{now}"))
            }
            Err(error) => Err(error.to_string()),
        })
    })
}

/// Applies a new rule of the settings to this session too, where that is possible.
fn apply(context: &WorkContext, list: RuleList, rule: &str) -> &'static str {
    use robota_core::permission::Verdict;
    let verdict = match list {
        RuleList::Ask => Verdict::Ask,
        RuleList::Deny => Verdict::Deny,
        // A running session can only become stricter here; it allows more after an answer "always".
        RuleList::Allow => return "; it applies from the next start on",
    };
    let rules = [rule.to_owned()];
    match context.session.session().permissions().restrict(verdict, &rules) {
        Ok(()) => "; it applies now",
        Err(_) => "; it applies from the next start on",
    }
}

fn file_name(setup: &Arc<Setup>, layer: Layer) -> String {
    setup
        .places
        .file(layer)
        .map_or_else(|| "the settings".to_owned(), |it| it.display().to_string())
}

impl Permissions {
    fn adding_key(&mut self, key: &KeyEvent, action: Option<Action>) -> PageOutcome {
        let Some((list, rule)) = &mut self.adding else { return PageOutcome::Ignored };
        match (action, key.code) {
            (Some(Action::Accept), _) => {
                let (list, rule) = (*list, std::mem::take(rule));
                self.adding = None;
                if !rule.trim().is_empty() {
                    return PageOutcome::Stay(vec![add(list, rule.trim().to_owned())]);
                }
            }
            (Some(Action::Cancel | Action::ClearOrQuit), _) => self.adding = None,
            (_, KeyCode::Tab) => {
                *list = match list {
                    RuleList::Allow => RuleList::Ask,
                    RuleList::Ask => RuleList::Deny,
                    RuleList::Deny => RuleList::Allow,
                };
            }
            (_, KeyCode::Backspace) => {
                rule.pop();
            }
            (None, KeyCode::Char(letter)) => rule.push(letter),
            _ => {}
        }
        PageOutcome::Stay(Vec::new())
    }
}

impl Page for Permissions {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        if self.adding.is_some() {
            return self.adding_key(key, action);
        }
        let control = key.modifiers == KeyModifiers::CONTROL;
        match key.code {
            KeyCode::Char('a') if control => {
                self.adding = Some((RuleList::Allow, String::new()));
                return PageOutcome::Stay(Vec::new());
            }
            KeyCode::Char('x') if control => {
                let entry = self.list.selected().map(|item| item.value.clone());
                return PageOutcome::Stay(entry.map(remove).into_iter().collect());
            }
            _ => {}
        }
        match self.list.key(key, action) {
            ListKey::Used | ListKey::Accepted => PageOutcome::Stay(Vec::new()),
            ListKey::Unused => PageOutcome::Ignored,
        }
    }

    fn paste(&mut self, text: &str) {
        match &mut self.adding {
            Some((_, rule)) => rule.push_str(text.trim()),
            None => self.list.paste(text),
        }
    }

    fn is_loading(&self) -> bool {
        // A rule can be typed before the list is there.
        self.list.is_loading() && self.adding.is_none()
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, _: &PageContext<'_>) -> PageOutcome {
        let reply = match reply.downcast::<LoadedRules>() {
            Ok(found) => {
                self.list.set(found.0);
                return PageOutcome::Stay(Vec::new());
            }
            Err(reply) => reply,
        };
        if let Ok(changed) = reply.downcast::<Changed>() {
            self.message = Some(changed.0.unwrap_or_else(|why| format!("failed: {why}")));
            // Read again, so that the list shows what the files really have.
            return PageOutcome::Stay(vec![find()]);
        }
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, _: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        let keys = match self.adding {
            Some(_) => "Enter saves · Tab allow, ask or deny · Esc leaves",
            None => "Ctrl+A adds · Ctrl+X removes · Esc closes",
        };
        let keys = key_rows(keys, size);
        let body = Size { rows: size.rows.saturating_sub(1 + keys.len()), ..size };
        let (mut lines, cursor) = self.list.view("Permission rules", body);
        if let Some((list, rule)) = &self.adding {
            let text = format!("new {} rule: {rule}", list.name());
            let cursor = Cursor { row: lines.len(), column: width(&text) };
            lines.push(Line::new(text, Role::Warn));
            lines.extend(keys);
            return (lines, Some(cursor));
        }
        lines.push(Line::new(self.message.as_deref().unwrap_or_default(), Role::Text));
        lines.extend(keys);
        (lines, Some(cursor))
    }
}
