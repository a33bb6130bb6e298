use serde::Deserialize;
use serde_path_to_error::Segment;

use ratchet_core::issue::{Issue, PathStep};

/// Deserializes JSON, with an error that names the invalid field.
///
/// # Errors
/// Returns the first issue.
pub fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Issue> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| Issue {
        path: steps(error.path()),
        message: without_position(&error.inner().to_string()),
    })?;
    let end = json.end();
    end.map_err(|error| Issue { path: Vec::new(), message: without_position(&error.to_string()) })?;
    Ok(value)
}

/// Deserializes a JSON object, with an error that names the invalid field.
///
/// Serde would also accept a list of the fields' values in order.
///
/// # Errors
/// Returns the first issue.
pub fn read_object<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Issue> {
    let is_object = text.trim_ascii_start().starts_with('{');
    if !is_object {
        return Err(Issue { path: Vec::new(), message: "not a JSON object".to_owned() });
    }
    read(text)
}

fn steps(path: &serde_path_to_error::Path) -> Vec<PathStep> {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(PathStep::Index(*index)),
        // Raw values are deserialized through a map with a private key, which is not a field.
        Segment::Map { key } if key.starts_with('$') => None,
        Segment::Map { key } => Some(PathStep::Field(key.clone())),
        Segment::Enum { variant } => Some(PathStep::Field(variant.clone())),
        Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

/// Strips line and column: the path is more useful, and nested texts count from their own start.
fn without_position(message: &str) -> String {
    let bare = message.rsplit_once(" at line ").map_or(message, |(bare, _)| bare);
    bare.to_owned()
}
