use super::*;

#[test]
fn resources_of_servers_are_found() {
    let text = "See @docs:file:///a.md, (@docs:demo://x) and @docs:demo://x? Not @other:y nor a@docs:z \
                nor @docs: nor @src/main.rs";
    let found = mentions(text, |name| name == "docs");
    let uris: Vec<_> = found.iter().map(|(_, uri)| uri.as_str()).collect();
    assert_eq!(uris, ["file:///a.md", "demo://x"]);
}
