//! The limit on how deep the JSON of an event may be nested. Everything that enters an event from
//! outside was parsed with a limit of 128 levels, and an event adds a few levels around it. The
//! journal must therefore accept more than 128 levels, or it could not read what it wrote. It still
//! has a limit, because the parser recurses and uses stack.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};

/// The maximum nesting of an event's data.
pub(super) const MAX_DEPTH: usize = 256;

/// Decodes an event's data.
pub(super) fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, serde_json::Error> {
    check(json.as_bytes()).map_err(serde_json::Error::custom)?;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    // Switched off because the check above has a limit of its own, which is higher.
    deserializer.disable_recursion_limit();
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Levels that an event adds around a value of its data, at most.
const AROUND: usize = 16;

/// Checks that an event can contain the value.
///
/// # Errors
/// If the value is nested too deep; the text follows the name of the value.
pub(crate) fn check_value(value: &impl Serialize) -> Result<(), String> {
    let json = serde_json::to_vec(value).map_err(|error| error.to_string())?;
    within(&json, MAX_DEPTH - AROUND)
}

/// Checks that the journal can read this JSON back.
pub(super) fn check(json: &[u8]) -> Result<(), String> {
    within(json, MAX_DEPTH)
}

fn within(json: &[u8], max: usize) -> Result<(), String> {
    // Most data has fewer brackets than the limit, and counting brackets is much faster than
    // tracking nesting. Brackets inside strings are counted too; such data only takes the slow
    // path.
    if json.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() <= max {
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
                if depth > max {
                    return Err(format!("it is nested deeper than {max} levels"));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}
