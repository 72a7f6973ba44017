use super::*;

fn to(text: &str) -> Vec<String> {
    let members = ["alice", "bob", "carol-2"].map(str::to_owned);
    receivers(text, "alice", members.iter())
}

#[test]
fn kode_10_a_mention_is_direct_and_everything_else_goes_to_all_but_the_sender() {
    assert_eq!(to("Meeting at 3pm"), ["bob", "carol-2"]);
    assert_eq!(to("@bob Please review the PR"), ["bob"]);
    assert_eq!(to("cc (@carol-2, @bob)."), ["bob", "carol-2"]);
    assert_eq!(to("Ask @bob."), ["bob"]);
}

#[test]
fn addresses_unknown_names_and_the_sender_are_no_mentions() {
    assert_eq!(to("mail bob@example.com"), ["bob", "carol-2"]);
    assert_eq!(to("@dave @ @@ hi"), ["bob", "carol-2"]);
    assert_eq!(to("@alice to myself"), ["bob", "carol-2"]);
    assert_eq!(to("@bobby"), ["bob", "carol-2"]);
}
