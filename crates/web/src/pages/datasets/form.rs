//! What forms of datasets share.

use maud::{Markup, html};
use ratchet_core::catalog::dataset::upload::Target;
use ratchet_core::json_size::small_tree;
use ratchet_core::payload::Json;
use serde_json::Value;

use crate::components::{figure, json, toast};
use crate::request_context::{Params, RequestContext};

/// Bytes of a part of an item that are drawn; a longer one shows its beginning.
const DRAWN: usize = 100_000;

/// A field in which people choose what a column becomes.
pub(super) fn select(name: &str, chosen: Target) -> Markup {
    html! {
        select id=(name) name=(name) {
            @for target in Target::ALL {
                option value=(target.as_str()) selected[target == chosen] { (title(target)) }
            }
        }
    }
}

const fn title(target: Target) -> &'static str {
    match target {
        Target::Id => "Item ID",
        Target::Input => "Input",
        Target::ExpectedOutput => "Expected output",
        Target::Metadata => "Metadata",
        Target::Ignore => "Ignore",
    }
}

/// Fields of an item: input, expected output, metadata.
pub(super) fn sides([input, expected, metadata]: [&Option<Json>; 3]) -> Markup {
    let parts = [("Input", input), ("Expected output", expected), ("Metadata", metadata)];
    html! {
        dl.sides {
            @for (name, part) in parts {
                dt { (name) }
                dd {
                    @match part {
                        Some(part) => { (json::json(&ratchet_core::record::limit::elide(part.as_str(), DRAWN))) },
                        None => { span.muted { "None" } },
                    }
                }
            }
        }
    }
}

/// What was typed as a part of an item: JSON where it is some, otherwise a text; nothing where
/// nothing was typed.
pub(in crate::pages) fn typed(form: &Params, name: &str) -> Option<Json> {
    let text = form.get(name).filter(|text| !text.trim().is_empty())?;
    // Browsers send line breaks as two characters.
    let text = text.replace("\r\n", "\n");
    Some(Json::parse(text.trim()).unwrap_or_else(|| Json::from_value(&Value::from(text))))
}

/// A part of an item as it is typed: a text as it is where it would be read as one again.
pub(in crate::pages) fn to_type(part: Option<&Json>) -> String {
    let Some(part) = part else { return String::new() };
    match small_tree(part.as_str()) {
        Ok(Value::String(text))
            if Json::parse(text.trim()).is_none() && !text.trim().is_empty() =>
        {
            text
        }
        Ok(value) => {
            serde_json::to_string_pretty(&value).unwrap_or_else(|_| part.as_str().to_owned())
        }
        Err(_) => part.as_str().to_owned(),
    }
}

/// Toast for the `done` parameter.
pub(super) fn done_toast(ctx: &RequestContext) -> Markup {
    let words = match ctx.params.get("done") {
        Some("edited") => "Dataset saved".to_owned(),
        Some("deleted") => "Item deleted".to_owned(),
        Some("run-deleted") => "Run deleted".to_owned(),
        Some("made") => "Dataset created".to_owned(),
        Some("added") => "Item added".to_owned(),
        Some("changed") => "Item saved as a new version".to_owned(),
        Some("archived") => "Item archived; new runs skip it".to_owned(),
        Some("restored") => "Item restored".to_owned(),
        Some("uploaded") => {
            let count = ctx.params.get("count").and_then(|count| count.parse().ok());
            format!("{} added", figure::counted(count.unwrap_or(0_u64), "item"))
        }
        _ => return Markup::default(),
    };
    toast::toast(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, shown: &str) {
        let part = Json::parse(json).unwrap();
        let text = to_type(Some(&part));
        assert_eq!(text, shown);
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("input", &text.replace('\n', "\r\n"))
            .finish();
        let again = typed(&Params::read(&query), "input").unwrap();
        let value = |json: &Json| serde_json::from_str::<Value>(json.as_str()).unwrap();
        assert_eq!(value(&again), value(&part), "{json}");
    }

    #[test]
    fn what_is_shown_to_be_changed_is_read_as_what_it_was() {
        check("\"where is it?\"", "where is it?");
        check("\"two\\nlines\"", "two\nlines");
        check("\"42\"", "\"42\"");
        check("\"{}\"", "\"{}\"");
        check("\"\"", "\"\"");
        check("42", "42");
        check("{\"a\":[1]}", "{\n  \"a\": [\n    1\n  ]\n}");
        check("null", "null");
    }
}
