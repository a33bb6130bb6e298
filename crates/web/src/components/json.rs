//! Recorded JSON, to open and close without a script.

use maud::{Markup, html};
use ratchet_core::json_size::small_tree;
use serde_json::Value;

use super::figure;

/// How many levels are open to begin with.
const OPEN_DEPTH: usize = 2;
/// Members of one list or map that are drawn; the raw text has them all.
const MAX_MEMBERS: usize = 200;
const MAX_VALUES: usize = 2_000;

/// Draws a recorded text: as a tree where it is JSON, as it is where not.
pub fn json(text: &str) -> Markup {
    match small_tree(text) {
        Ok(Value::String(text)) => html! { pre.payload tabindex="0" { (text) } },
        Ok(value @ (Value::Array(_) | Value::Object(_))) => {
            let mut left = MAX_VALUES;
            html! { div.json { (tree(&value, 0, &mut left)) } }
        }
        _ => html! { pre.payload tabindex="0" { (text) } },
    }
}

fn tree(value: &Value, depth: usize, left: &mut usize) -> Markup {
    *left = left.saturating_sub(1);
    match value {
        Value::Object(members) if !members.is_empty() => {
            let named = members.iter().map(|(name, value)| (name.clone(), value));
            branch(named.collect(), ("{", "}"), depth, left)
        }
        Value::Array(members) if !members.is_empty() => {
            let numbered = members.iter().enumerate();
            let named = numbered.map(|(index, value)| (index.to_string(), value));
            branch(named.collect(), ("[", "]"), depth, left)
        }
        leaf => self::leaf(leaf),
    }
}

fn branch(
    members: Vec<(String, &Value)>,
    (open, close): (&str, &str),
    depth: usize,
    left: &mut usize,
) -> Markup {
    let total = members.len();
    let shown = total.min(MAX_MEMBERS).min(*left);
    html! {
        details open[depth < OPEN_DEPTH] {
            summary { (open) span.muted { (total) } (close) }
            ul {
                @for (name, value) in members.into_iter().take(shown) {
                    li { span.key { (name) } ": " (tree(value, depth + 1, left)) }
                }
                @if shown < total {
                    li.muted { (figure::grouped((total - shown) as u64)) " more in Raw" }
                }
            }
        }
    }
}

fn leaf(value: &Value) -> Markup {
    match value {
        Value::String(text) => html! { span.str { (text) } },
        Value::Number(number) => html! { span.num { (number.to_string()) } },
        Value::Bool(truth) => html! { span.lit { (truth.to_string()) } },
        Value::Null => html! { span.lit { "null" } },
        Value::Array(_) => html! { span.muted { "[]" } },
        Value::Object(_) => html! { span.muted { "{}" } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_json_is_text() {
        let shown = json(r#"{"<b>": "<script>", "n": [1, null, true, {}]}"#).into_string();
        assert!(shown.contains("&lt;b&gt;") && shown.contains("&lt;script&gt;"), "{shown}");
        assert!(!shown.contains("<script>") && !shown.contains("style="), "{shown}");
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let long = serde_json::to_string(&vec![7; 1_000]).unwrap();
        let shown = json(&long).into_string();
        assert!(shown.contains("800 more in Raw"), "{shown}");
    }

    #[test]
    fn many_values_in_all_are_cut_too() {
        let row = vec!["x"; 150];
        let wide = serde_json::to_string(&vec![row; 150]).unwrap();
        assert!(json(&wide).into_string().len() < 400_000);
    }
}
