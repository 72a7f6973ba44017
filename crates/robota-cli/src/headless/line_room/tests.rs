use serde_json::json;

use super::*;

#[test]
fn sdk_08_the_longest_parts_are_left_out_first() {
    let long = "\u{1}".repeat(150_000);
    let mut output = json!({
        "filePath": "/a",
        "content": long,
        "originalFile": "b".repeat(400_000),
        "structuredPatch": [{"lines": ["c".repeat(200_000)]}],
    });
    let result = json!({"content": "done"});
    fit(&mut output, &result);
    assert!(bytes_of(&output) <= MAX_LINE, "{}", bytes_of(&output));
    assert_eq!(output["filePath"], "/a");
    let content = output["content"].as_str().unwrap();
    assert!(content.ends_with(CUT) && content.len() < 70_000);
    let small = json!({"a": "b", "n": 5});
    let mut same = small.clone();
    fit(&mut same, &result);
    assert_eq!(same, small);
    let mut image = json!({"type": "image", "file": {"base64": "A".repeat(900_000), "type": "x"}});
    fit(&mut image, &"x".repeat(300_000));
    assert_eq!(image["file"], json!({"base64": "", "type": "x"}));
    let mut text = json!("y".repeat(2_000_000));
    fit(&mut text, &result);
    assert!(text.as_str().unwrap().ends_with(CUT));
}
