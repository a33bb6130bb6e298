use std::collections::BTreeMap;

use serde_json::Value;

/// Maximum depth of fields.
const DEPTH: usize = 4;

/// Whether a field is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// Fields by their dotted name; `[]` is any item of a list.
pub(super) type Fields = BTreeMap<String, Need>;

/// Parameters and responses of an operation.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) query: Fields,
    pub(super) body: Fields,
    pub(super) answer: Fields,
}

/// The facts of an operation of our description. The rules are those of `scripts/langfuse-table`.
pub(super) fn of_operation(document: &Value, described: &Value) -> Facts {
    let parameters = described["parameters"].as_array().into_iter().flatten();
    let query = parameters.filter(|parameter| parameter["in"] == "query").map(|parameter| {
        (parameter["name"].as_str().unwrap().to_owned(), need(parameter["required"] == true))
    });
    let responses = described["responses"].as_object().unwrap();
    let success = responses.iter().find(|(status, _)| status.starts_with('2'));
    let answer = success.map(|(_, answer)| fields(document, json_schema(answer), 0));
    Facts {
        query: query.collect(),
        body: fields(document, json_schema(&described["requestBody"]), 0),
        answer: answer.unwrap_or_default(),
    }
}

fn json_schema(holder: &Value) -> &Value {
    &holder["content"]["application/json"]["schema"]
}

fn need(is_required: bool) -> Need {
    if is_required { Need::Required } else { Need::Optional }
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => {
            resolve(document, document.pointer(reference.strip_prefix('#').unwrap()).unwrap())
        }
        None => schema,
    }
}

fn fields(document: &Value, schema: &Value, depth: usize) -> Fields {
    let schema = resolve(document, schema);
    let mut found = Fields::new();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        found.extend(fields(document, part, depth));
    }
    let choices = ["oneOf", "anyOf"].into_iter().flat_map(|kind| schema[kind].as_array());
    let choices = choices.flatten().filter(|choice| choice["type"] != "null");
    found.extend(in_common(&choices.map(|c| fields(document, c, depth)).collect::<Vec<_>>()));
    let is_list = |word: &Value| word == "array";
    let types = schema["type"].as_array().into_iter().flatten();
    if (is_list(&schema["type"]) || types.into_iter().any(is_list)) && depth < DEPTH {
        let items = fields(document, &schema["items"], depth);
        let inside = |(name, need): (String, Need)| match name.starts_with("[]") {
            true => (format!("[]{name}"), need),
            false => (format!("[].{name}"), need),
        };
        found.extend(items.into_iter().map(inside));
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let outer = need(required.iter().any(|known| known.as_str() == Some(name)));
        found.insert(name.clone(), outer);
        if depth + 1 >= DEPTH {
            continue;
        }
        for (inner, inner_need) in fields(document, property, depth + 1) {
            let joint = if inner.starts_with("[]") { "" } else { "." };
            let both = need(outer == Need::Required && inner_need == Need::Required);
            found.insert(format!("{name}{joint}{inner}"), both);
        }
    }
    found
}

/// The fields that several shapes share; required only if all of them require it.
fn in_common(shapes: &[Fields]) -> Fields {
    let names = shapes.iter().flat_map(|shape| shape.keys());
    let together = |name: &String| {
        let everywhere = shapes.iter().all(|shape| shape.get(name) == Some(&Need::Required));
        (name.clone(), need(everywhere))
    };
    names.map(together).collect()
}
