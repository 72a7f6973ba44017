use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
    people: u64,
}

fn rome() -> City {
    City { name: "Rome".to_owned(), people: 3 }
}

#[test]
fn the_value_is_found_in_text_and_code_fences() {
    for answer in [
        r#"{"name": "Rome", "people": 3}"#,
        "```json\n{\"name\": \"Rome\", \"people\": 3}\n```",
        "Here {it} is: {\"name\": \"Rome\", \"people\": 3}. Done.",
    ] {
        assert_eq!(read::<City>(answer), Ok(rome()), "{answer}");
    }
    assert_eq!(read::<Vec<u8>>("[1, 2]"), Ok(vec![1, 2]));
    assert_eq!(read::<u8>(" 7 "), Ok(7));
}

#[test]
fn a_wrong_value_is_explained() {
    for (answer, reason) in [
        ("I do not know.", "not JSON"),
        (r#"{"name": "Rome"}"#, "people"),
        (r#"{"name": "Rome", "people": "many"}"#, "people"),
        (r#"{"name": "Rome", "people": -3}"#, "-3"),
    ] {
        let error = read::<City>(answer).unwrap_err();
        assert!(error.contains(reason), "{answer}: {error}");
    }
}

#[test]
fn the_bounds_of_a_type_are_checked() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "the answer is refused before it is used")]
    struct Grade {
        #[schemars(range(min = 1, max = 6))]
        grade: u8,
        #[schemars(regex(pattern = r"^[A-Z]"))]
        subject: String,
        #[schemars(length(min = 1))]
        notes: Vec<String>,
    }
    let read = |answer: &str| read::<Grade>(answer).unwrap_err();
    let error = read(r#"{"grade": 0, "subject": "art", "notes": []}"#);
    assert_eq!(
        error,
        "`grade` must be at least 1, not 0; `subject` must match the pattern ^[A-Z]; \
         `notes` must have at least 1 items, not 0"
    );
    assert_eq!(read("[]"), "the answer must be object, not array");
}

#[test]
fn the_prompt_ends_with_the_schema() {
    let Content(content) = ask_for::<City>("Which city?");
    let text: Vec<_> = content
        .iter()
        .map(|block| match block {
            Block::Text(text) => text.text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(text[0], "Which city?");
    assert!(text[1].contains("\"people\""), "{}", text[1]);
}
