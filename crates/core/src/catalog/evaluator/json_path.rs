use serde_json::Value;

/// Returns the value at a JSON path: `$.messages[0].content`, `$['a key']`, `$.items[-1]`,
/// `$.messages[*].content`. A wildcard gives a list of all that match. `None` if there is nothing,
/// or if the path is malformed.
///
/// ```
/// use ratchet_core::catalog::evaluator::json_path::find;
/// use serde_json::json;
///
/// let value = json!({ "messages": [{ "content": "hi" }, { "content": "bye" }] });
/// assert_eq!(find(&value, "$.messages[-1].content"), Some(json!("bye")));
/// assert_eq!(find(&value, "$.messages[*].content"), Some(json!(["hi", "bye"])));
/// ```
pub fn find(value: &Value, path: &str) -> Option<Value> {
    let steps = steps(path)?;
    let has_wildcard = steps.contains(&Step::All);
    let mut found = vec![value];
    for step in &steps {
        found = found.into_iter().flat_map(|value| step.of(value)).collect();
    }
    if has_wildcard {
        return (!found.is_empty()).then(|| found.into_iter().cloned().collect());
    }
    found.first().map(|value| (*value).clone())
}

/// Returns whether a path is well-formed.
pub fn is_path(path: &str) -> bool {
    steps(path).is_some()
}

/// Removes what a JSON path leads to; elements of lists are set to null, so that those behind them
/// keep their places. The whole value (`$`) becomes null.
pub fn remove(value: &mut Value, path: &str) {
    if let Some(steps) = steps(path) {
        remove_at(value, &steps);
    }
}

fn remove_at(value: &mut Value, steps: &[Step]) {
    let Some((step, below)) = steps.split_first() else {
        *value = Value::Null;
        return;
    };
    if let (true, Value::Object(object)) = (below.is_empty(), &mut *value) {
        match step {
            Step::Key(key) => drop(object.remove(key)),
            Step::All => object.clear(),
            Step::Index(_) => (),
        }
        return;
    }
    for part in step.of_mut(value) {
        remove_at(part, below);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    /// From the end if negative.
    Index(i64),
    All,
}

impl Step {
    fn of<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Key(key), Value::Object(object)) => object.get(key).into_iter().collect(),
            (Self::Index(index), Value::Array(list)) => {
                let at = position(*index, list.len());
                at.and_then(|at| list.get(at)).into_iter().collect()
            }
            (Self::All, Value::Array(list)) => list.iter().collect(),
            (Self::All, Value::Object(object)) => object.values().collect(),
            _ => Vec::new(),
        }
    }

    fn of_mut<'a>(&self, value: &'a mut Value) -> Vec<&'a mut Value> {
        match (self, value) {
            (Self::Key(key), Value::Object(object)) => object.get_mut(key).into_iter().collect(),
            (Self::Index(index), Value::Array(list)) => {
                let at = position(*index, list.len());
                at.and_then(|at| list.get_mut(at)).into_iter().collect()
            }
            (Self::All, Value::Array(list)) => list.iter_mut().collect(),
            (Self::All, Value::Object(object)) => object.values_mut().collect(),
            _ => Vec::new(),
        }
    }
}

fn position(index: i64, len: usize) -> Option<usize> {
    let from_start = usize::try_from(index).ok();
    from_start.or_else(|| len.checked_sub(usize::try_from(index.checked_neg()?).ok()?))
}

fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('.') {
            Some(dotted) => name(dotted)?,
            None => bracket(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

fn name(text: &str) -> Option<(Step, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match name {
        "" => None,
        "*" => Some((Step::All, rest)),
        _ => Some((Step::Key(name.to_owned()), rest)),
    }
}

/// A step in brackets, without the opening one.
fn bracket(text: &str) -> Option<(Step, &str)> {
    for quote in ['\'', '"'] {
        if let Some(quoted) = text.strip_prefix(quote) {
            let (key, rest) = quoted.split_once(quote)?;
            return Some((Step::Key(key.to_owned()), rest.strip_prefix(']')?));
        }
    }
    let (inside, rest) = text.split_once(']')?;
    match inside.trim() {
        "*" => Some((Step::All, rest)),
        number => Some((Step::Index(number.parse().ok()?), rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(path: &str, expected: &Value) {
        let value = json!({ "a": { "b c": [1, 2, { "d": "x" }] }, "list": [[1], [2]], "n": null });
        assert_eq!(find(&value, path).unwrap_or_else(|| json!("nothing")), *expected, "{path}");
    }

    #[test]
    fn paths_lead_into_objects_and_lists() {
        check("$.a['b c'][2].d", &json!("x"));
        check("$[\"a\"]", &json!({ "b c": [1, 2, { "d": "x" }] }));
        check("$.a['b c'][-3]", &json!(1));
        check("$.list[*][0]", &json!([1, 2]));
        check("$.n", &json!(null));
        check(" $.list[1] ", &json!([2]));
    }

    #[test]
    fn what_is_not_there_or_malformed_is_nothing() {
        for path in
            ["$.b", "$.a.x", "$.list[9]", "$.list[-9]", "a", "$..a", "$[", "$[x]", "$['a", "$.a."]
        {
            check(path, &json!("nothing"));
        }
    }

    #[test]
    fn what_is_removed_leaves_the_rest_in_its_place() {
        for (path, rest) in [
            ("$.a.b", json!({ "a": { "c": [1, { "d": 2 }] } })),
            ("$.a.c[0]", json!({ "a": { "b": 1, "c": [null, { "d": 2 }] } })),
            ("$.a.c[*].d", json!({ "a": { "b": 1, "c": [1, {}] } })),
            ("$.a.*", json!({ "a": {} })),
            ("$", json!(null)),
            ("$.x.y", json!({ "a": { "b": 1, "c": [1, { "d": 2 }] } })),
        ] {
            let mut value = json!({ "a": { "b": 1, "c": [1, { "d": 2 }] } });
            remove(&mut value, path);
            assert_eq!(value, rest, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_panics(path in "\\$[a.\\[\\]'*0-9-]{0,20}") {
            let mut value = json!({ "a": [1, [2]] });
            let _ = find(&value, &path);
            remove(&mut value, &path);
        }
    }
}
