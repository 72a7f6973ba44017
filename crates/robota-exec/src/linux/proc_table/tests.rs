use super::*;

#[test]
fn a_process_name_with_brackets_is_not_parsed_as_fields() {
    let stat = "12 (a) R 1 (x) S 7 11 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 98";
    let entry = parse(stat).unwrap();
    assert_eq!(entry, Entry { parent: 7, group: 11, start_time: 4242, zombie: false });
    assert!(parse("12 (x) Z 7 12 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 42 9").unwrap().zombie);
    assert_eq!(parse(""), None);
}

#[test]
fn the_own_process_is_in_the_table() {
    let own = i32::try_from(std::process::id()).unwrap();
    let identity = identity(own).unwrap();
    assert!(identity.start_time > 0 && identity.boot_id.len() == 36);
    let parent = entry(own).unwrap().parent;
    assert!(descendants(parent).iter().any(|(pid, _)| *pid == own));
}

/// A member that starts another process and ends while the table is read does not hide it.
#[test]
fn a_process_that_was_started_while_the_table_was_read_is_found() {
    let alive = |parent| Entry { parent, group: 7, start_time: 1, zombie: false };
    for ended in [None, Some(Entry { zombie: true, ..alive(1) })] {
        let mut listings = [vec![1, 7, 8], vec![1, 7, 8, 9]].into_iter();
        let members = members_of(
            7,
            || listings.next().unwrap(),
            |pid| match pid {
                7 => Some(Entry { zombie: true, ..alive(1) }),
                8 => ended,
                9 => Some(alive(1)),
                _ => Some(Entry { group: pid, ..alive(0) }),
            },
        );
        assert_eq!(members, [(9, alive(1))]);
    }
    // Without a change between two reads, an empty group is empty.
    let zombie = Entry { zombie: true, ..alive(1) };
    assert_eq!(members_of(7, || vec![7], |_| Some(zombie)), []);
}
