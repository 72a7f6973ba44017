use std::collections::HashSet;
use std::path::{Component, Path};

use proptest::prelude::*;

use super::*;

fn name(id: &str) -> String {
    folder_name(&SessionId::from(id))
}

#[test]
fn a_uuid_is_its_own_folder() {
    let id = "018f4c2e-0000-7000-8000-000000000001";
    assert_eq!(name(id), id);
}

#[test]
fn kode_11_structured_ids_are_flat() {
    assert_eq!(name("agent:dev/session:main"), "agent%3adev%2fsession%3amain");
}

#[test]
fn hostile_ids_stay_inside_the_root_and_apart() {
    let ids = [
        "",
        ".",
        "..",
        "../..",
        "/",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a%2fb",
        "%2f",
        "%",
        "%-",
        "a\0b",
        "A",
        "a",
        "É",
        "é",
        "e\u{301}",
        "con",
        "CON",
        "com1",
        "com",
        " ",
        "a ",
        "a.",
        "-rf",
        "~",
        "\n",
    ];
    let names: HashSet<String> = ids.iter().map(|id| name(id).to_lowercase()).collect();
    assert_eq!(names.len(), ids.len());
}

#[test]
fn long_ids_are_hashed_and_differ_at_their_end() {
    let long = "x".repeat(121);
    assert_eq!(name(&"x".repeat(120)), "x".repeat(120));
    assert!(name(&long).len() <= 120);
    assert_ne!(name(&long), name(&format!("{long}y")));
}

proptest! {
    #[test]
    fn any_id_is_one_short_plain_component(id in any::<String>()) {
        let name = name(&id);
        prop_assert!(!name.is_empty() && name.len() <= 120);
        let components: Vec<_> = Path::new(&name).components().collect();
        prop_assert_eq!(components, vec![Component::Normal(name.as_ref())]);
        prop_assert_eq!(name.to_lowercase(), name);
    }

    #[test]
    fn two_ids_have_two_folders(a in "[aAbB%./:-]{0,60}", b in "[aAbB%./:-]{0,60}") {
        prop_assert_eq!(a == b, name(&a) == name(&b));
    }
}
