//! The models of all vendors, with their context window and prices.

use std::any::Any;

use crossterm::event::KeyEvent;
use robota_core::catalogue::{Catalogue, format_tokens};
use robota_providers::known_models;

use super::list::{Item, List, ListKey};
use super::{Opening, Page, PageContext, PageOutcome, work};
use crate::provider;
use crate::setup::Setup;
use crate::terminal::event::Size;
use crate::terminal::keys::Action;
use crate::terminal::screen::Cursor;
use crate::terminal::text::Line;

/// The page of models.
struct Models(List<String>);

/// The vendors with their models.
struct LoadedModels(Result<Vec<Item<String>>, String>);

/// Opens the page and asks for the models.
pub(super) fn open() -> Opening {
    let find = work(|context| async move {
        LoadedModels(items(&context.setup).map_err(|error| format!("{error:#}")))
    });
    Ok((Box::new(Models(List::loading())), vec![find]))
}

/// Lists the models of the vendors. The names are those that `--model` takes.
fn items(setup: &Setup) -> anyhow::Result<Vec<Item<String>>> {
    let catalogue = Catalogue::builtin();
    let mut items = Vec::new();
    for vendor in provider::vendors(setup)?.iter() {
        let available = &setup.settings.available_models;
        let models = known_models(vendor, catalogue).entries.into_iter();
        for entry in models.filter(|it| available.check(Some(&vendor.vendor), &it.id).is_ok()) {
            let window =
                entry.context_window.unwrap_or_else(|| catalogue.context_window(&entry.id));
            let prices = catalogue.get(&entry.id).and_then(|model| model.prices).map_or_else(
                || "price unknown".to_owned(),
                |prices| format!("${:.2} in, ${:.2} out per million", prices.input, prices.output),
            );
            let detail = format!("{:>5} tokens  {prices}", format_tokens(window));
            let title = format!("{}/{}", vendor.vendor, entry.id);
            items.push(Item { title: title.clone(), detail, value: title });
        }
    }
    Ok(items)
}

impl Page for Models {
    fn key(&mut self, key: &KeyEvent, action: Option<Action>, _: &PageContext<'_>) -> PageOutcome {
        match self.0.key(key, action) {
            ListKey::Used => PageOutcome::Stay(Vec::new()),
            ListKey::Unused => PageOutcome::Ignored,
            ListKey::Accepted => match self.0.selected() {
                Some(model) => PageOutcome::Enter(format!("/model {}", model.value)),
                None => PageOutcome::Stay(Vec::new()),
            },
        }
    }

    fn paste(&mut self, text: &str) {
        self.0.paste(text);
    }

    fn is_loading(&self) -> bool {
        self.0.is_loading()
    }

    fn answer(&mut self, reply: Box<dyn Any + Send>, context: &PageContext<'_>) -> PageOutcome {
        if let Ok(found) = reply.downcast::<LoadedModels>() {
            match found.0 {
                Ok(items) => {
                    let current = &context.facts.model;
                    self.0.set(items);
                    self.0.select(|model| {
                        // The names here begin with the vendor; that of the session has none.
                        model == current || model.ends_with(&format!("/{current}"))
                    });
                }
                Err(why) => return PageOutcome::Fail(why),
            }
        }
        PageOutcome::Stay(Vec::new())
    }

    fn view(&mut self, size: Size, context: &PageContext<'_>) -> (Vec<Line>, Option<Cursor>) {
        let model = &context.facts.model;
        let keys =
            format!("now: {model} · Enter uses the model from the next turn on · Esc closes");
        let (lines, cursor) = self.0.page("Models", &keys, size);
        (lines, Some(cursor))
    }
}
