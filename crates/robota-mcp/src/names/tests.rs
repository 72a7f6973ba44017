use super::*;

#[test]
fn names_have_the_characters_that_services_accept() {
    assert_eq!(tool_name("my srv.x", "read file"), "mcp__my_srv_x__read_file");
    assert_eq!(tool_name("github", "create_issue"), "mcp__github__create_issue");
    assert_eq!(tool_name("a", "Bash"), "mcp__a__Bash");
    assert!(tool_name("ünï", "ö").starts_with("mcp__n__"));
}

#[test]
fn a_rule_for_one_server_never_covers_another() {
    for name in ["a__b", "a_", "_a", "__", "a b__c", ""] {
        let part = server_part(name);
        assert!(!part.contains("__") && !part.starts_with('_') && !part.ends_with('_'), "{name}");
        assert!(!part.is_empty());
    }
}

#[test]
fn long_names_are_cut_and_stay_different() {
    let (one, two) = ("x".repeat(100) + "1", "x".repeat(100) + "2");
    let names = [tool_name("server", &one), tool_name("server", &two)];
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    assert_ne!(names[0], names[1]);
    assert!(tool_name(&"s".repeat(200), &one).len() <= 64);
}

#[test]
fn names_that_become_equal_are_made_distinct_in_any_order() {
    let names = tool_names("s", &["a.b", "a_b", "a b"]);
    let other = tool_names("s", &["a b", "a.b", "a_b"]);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!((&names[0], &names[1], &names[2]), (&other[1], &other[2], &other[0]));
}

#[test]
fn names_of_prompts_are_commands() {
    let given = ["code/review", "sum(x)", "two words", "code_review", "größe.v1:a", "/", ""];
    let names = prompt_names("my srv", &given);
    assert_eq!(names[1..3], ["mcp__my_srv__sum_x_", "mcp__my_srv__two_words"]);
    assert_eq!(names[4], "mcp__my_srv__größe.v1:a", "what can be typed stays");
    assert!(names.iter().all(|name| name.chars().all(in_command)), "{names:?}");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), given.len(), "{names:?}");
    assert_eq!(names[0], "mcp__my_srv__code_review");
    assert!(names[3].starts_with("mcp__my_srv__code_review_"), "{}", names[3]);
}
