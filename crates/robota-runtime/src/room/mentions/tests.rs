use super::*;

fn of(text: &str) -> Receivers {
    let members = ["alice", "bob", "carol-2"].map(str::to_owned);
    receivers(text, "alice", members.iter())
}

fn to(text: &str) -> Vec<String> {
    of(text).to
}

#[test]
fn kode_10_a_mention_is_direct_and_everything_else_goes_to_all_but_the_sender() {
    assert_eq!(to("Meeting at 3pm"), ["bob", "carol-2"]);
    assert_eq!(to("@bob Please review the PR"), ["bob"]);
    assert_eq!(to("cc (@carol-2, @bob)."), ["bob", "carol-2"]);
    assert_eq!(to("Ask @bob."), ["bob"]);
}

#[test]
fn addresses_and_the_sender_are_no_mentions() {
    assert_eq!(to("mail bob@example.com"), ["bob", "carol-2"]);
    assert_eq!(to("@ @@ hi"), ["bob", "carol-2"]);
    assert_eq!(to("@alice to myself"), ["bob", "carol-2"]);
}

#[test]
fn kode_10_what_is_said_to_one_who_is_not_in_the_room_goes_to_nobody_else() {
    let nobody = of("@dave only for you, @dave");
    assert_eq!((nobody.to.len(), nobody.unknown), (0, vec!["dave".to_owned()]));
    let some = of("@bobby and @bob");
    assert_eq!((some.to, some.unknown), (vec!["bob".to_owned()], vec!["bobby".to_owned()]));
}
