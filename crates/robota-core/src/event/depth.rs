//! How deep the JSON of an event may be nested. Everything that reaches an event from outside
//! was parsed with a limit of 128 levels; an event adds a handful around it. So the journal
//! reads deeper than that, or it could not read what it wrote; and it has a limit all the same,
//! because reading takes stack.

use serde::Deserialize;
use serde::de::Error as _;

/// The deepest nesting of an event's data.
pub(super) const MAX_DEPTH: usize = 256;

/// Reads an event's data.
pub(super) fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, serde_json::Error> {
    check(json.as_bytes()).map_err(serde_json::Error::custom)?;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.disable_recursion_limit();
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Whether the journal can read this JSON back.
pub(super) fn check(json: &[u8]) -> Result<(), String> {
    // Most data has fewer brackets than that, and counting them is far quicker than following
    // them. Those inside of strings count too, which only costs the longer way.
    if json.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() <= MAX_DEPTH {
        return Ok(());
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}
