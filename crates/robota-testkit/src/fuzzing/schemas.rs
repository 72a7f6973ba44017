//! Arguments against a schema.

use serde_json::Value;

use robota_core::tool::{InvalidInput, validate};

/// Two JSON values, a schema and arguments: checking ends, says the same every time, and never
/// finds fault with what the schema says nothing about.
pub fn schemas(data: &[u8]) {
    let mut values = serde_json::Deserializer::from_slice(data).into_iter::<Value>();
    let (Some(Ok(schema)), Some(Ok(input))) = (values.next(), values.next()) else { return };
    let checked = validate(&schema, &input);
    assert_eq!(checked, validate(&schema, &input));
    if let Err(InvalidInput(mistakes)) = &checked {
        assert!(schema.is_object(), "only an object says anything");
        assert!(!mistakes.is_empty(), "a mistake is named");
        // A few mistakes are named, each in words that quote the schema or the arguments; an
        // escape such as `\n` may be twice as long as what it stands for.
        let most = 2048 + 32 * data.len();
        assert!(mistakes.len() <= most, "{} bytes of mistakes", mistakes.len());
    }
    assert_eq!(validate(&Value::Bool(true), &input), Ok(()));
    assert_eq!(validate(&serde_json::json!({}), &input), Ok(()));
}
