use std::path::Path;

use super::*;

#[test]
fn core_05_a_vendor_is_one_file() {
    let vendors = Vendors::read(FILES).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/vendors");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(vendors.iter().any(|vendor| vendor.vendor == name), "{name}.json");
        files += 1;
    }
    assert_eq!(vendors.iter().count(), files);
    assert_eq!(Vendors::builtin().iter().count(), files);
}

#[test]
fn core_05_built_in_vendors_may_extend_others_in_any_order() {
    let list = r#"[
        {"type": "b", "name": "B", "extends": "a", "quirks": {"images": false}, "rank": 1},
        {"type": "a", "name": "A", "aliases": ["first"], "base_url": "http://a.test/v1", "rank": 2}
    ]"#;
    let vendors = Vendors::read(list).unwrap();
    let names: Vec<_> = vendors.iter().map(|vendor| vendor.vendor.as_str()).collect();
    assert_eq!(names, ["b", "a"], "in the order of their ranks");
    let b = vendors.find("b").unwrap();
    assert_eq!((b.base_url.as_deref(), b.quirks.images), (Some("http://a.test/v1"), false));
    assert!(b.aliases.is_empty(), "names are not inherited");
    assert!(Vendors::read(r#"[{"type": "b", "name": "B", "extends": "nobody"}]"#).is_err());
}

#[test]
fn core_05_the_local_servers_share_their_options() {
    let vendors = Vendors::builtin();
    let quirks = |name: &str| vendors.find(name).unwrap().quirks.clone();
    assert_eq!(quirks("ollama"), quirks("llamacpp"));
    assert_eq!(quirks("lmstudio"), quirks("llamacpp"));
    let urls: Vec<_> = vendors.local().map(|vendor| vendor.base_url.clone().unwrap()).collect();
    assert_eq!(urls.len(), 4, "{urls:?}");
}
