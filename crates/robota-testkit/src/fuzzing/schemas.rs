//! Fuzzes the validation of arguments against a schema.

use serde_json::Value;

use robota_core::tool::{InvalidInput, validate};

/// Reads two JSON values, a schema and arguments. Validation terminates, is deterministic, and
/// never rejects arguments that the schema does not restrict.
pub fn schemas(data: &[u8]) {
    let mut values = serde_json::Deserializer::from_slice(data).into_iter::<Value>();
    let (Some(Ok(schema)), Some(Ok(input))) = (values.next(), values.next()) else { return };
    let checked = validate(&schema, &input);
    assert_eq!(checked, validate(&schema, &input));
    if let Err(InvalidInput(mistakes)) = &checked {
        let can_reject = schema.is_object() || schema == Value::Bool(false);
        assert!(can_reject, "only an object or `false` can reject arguments");
        assert!(!mistakes.is_empty(), "the error names a mistake");
        // The error names a few mistakes, each with a quote of the schema or the arguments. An
        // escape such as `\n` may be twice as long as the character.
        let most = 2048 + 32 * data.len();
        assert!(mistakes.len() <= most, "{} bytes of mistakes", mistakes.len());
    }
    assert_eq!(validate(&Value::Bool(true), &input), Ok(()));
    assert_eq!(validate(&serde_json::json!({}), &input), Ok(()));
}
