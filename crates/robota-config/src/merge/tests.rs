use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::keys::{self, Found};
use crate::layer::Layer;

fn entry(layer: Layer, path: &str, content: Content) -> Entry {
    let path = KeyPath::parse(path).unwrap();
    let rule = match keys::find(path.names()) {
        Found::Rule(rule) => Some(rule),
        Found::Object | Found::Unknown => None,
    };
    Entry { path, rule, content, origin: Origin::of(layer), repeated: false }
}

/// One key of each merge rule. Objects keep their shape, since `Deep` is associative only then.
fn any_table(layer: Layer) -> impl Strategy<Value = Table> {
    let text = || prop::option::of("[ab]");
    let list = || prop::option::of(prop::collection::vec("[abc]", 0..3));
    let deep = prop::option::of((text(), text()));
    (text(), list(), list(), deep, prop::option::of(any::<bool>()), text()).prop_map(
        move |(highest, union, concat, deep, sticky, unknown)| {
            let items = |texts: Vec<String>| {
                Content::Items(
                    texts.into_iter().map(|text| (json!(text), Origin::of(layer))).collect(),
                )
            };
            let whole = |value: Value| Content::Whole(value);
            let entries = [
                highest.map(|text| entry(layer, "model", whole(json!(text)))),
                union.map(|texts| entry(layer, "permissions.deny", items(texts))),
                concat.map(|texts| entry(layer, "hooks.Stop", items(texts))),
                deep.map(|(x, y)| {
                    let mut options = serde_json::Map::new();
                    options.extend(x.map(|x| ("x".to_owned(), json!({"in": x}))));
                    options.extend(y.map(|y| ("y".to_owned(), json!({"in": {y: 1}}))));
                    entry(layer, "providers.p.options", whole(Value::Object(options)))
                }),
                sticky.map(|value| entry(layer, "disableSkillShellExecution", whole(json!(value)))),
                unknown.map(|text| entry(layer, "something", whole(json!(text)))),
            ];
            let mut table = Table::default();
            for entry in entries.into_iter().flatten() {
                table.add(entry);
            }
            table
        },
    )
}

proptest! {
    #[test]
    fn merging_is_associative(
        a in any_table(Layer::UserRobota),
        b in any_table(Layer::ProjectRobota),
        c in any_table(Layer::Flags),
    ) {
        let left = a.clone().then(b.clone()).then(c.clone());
        let right = a.then(b.then(c));
        prop_assert_eq!(left.to_value(), right.to_value());
        prop_assert_eq!(left, right);
    }

    #[test]
    fn merging_with_nothing_changes_nothing(a in any_table(Layer::UserRobota)) {
        prop_assert_eq!(&a.clone().then(Table::default()), &a);
        prop_assert_eq!(Table::default().then(a.clone()), a);
    }
}
