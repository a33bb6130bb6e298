//! Updates of the learnings file with a week's suggestions.

use crate::quality::suggestion::Suggestion;

/// Returns the file with missing suggestions appended; `None` if it has them all.
///
/// Each has an id in a comment, so that appending is idempotent even after the text was edited.
pub fn appended(file: &str, week: &str, suggestions: &[Suggestion]) -> Option<String> {
    let entry = |suggestion: &Suggestion| {
        let text = crate::quality::report::suggestion_markdown(suggestion);
        (suggestion.key.clone(), text.trim_start().to_owned())
    };
    let entries: Vec<(String, String)> = suggestions.iter().map(entry).collect();
    appended_entries(file, week, &entries)
}

/// The same for entries: the id and the Markdown of each.
pub fn appended_entries(file: &str, week: &str, entries: &[(String, String)]) -> Option<String> {
    let is_new = |(id, _): &&(String, String)| !file.contains(&mark(id));
    let new: Vec<&(String, String)> = entries.iter().filter(is_new).collect();
    if new.is_empty() {
        return None;
    }
    let mut out = file.to_owned();
    if !out.is_empty() {
        let gap = if out.ends_with('\n') { "\n" } else { "\n\n" };
        out.push_str(gap);
    }
    out.push_str(&format!("## Week {week}\n"));
    for (id, text) in new {
        out.push_str(&format!("\n{}\n{text}", mark(id)));
    }
    Some(out)
}

fn mark(id: &str) -> String {
    format!("<!-- ratchet {id} -->")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::quality::suggestion::{Edit, Severity, key};

    fn suggestion(text: &str) -> Suggestion {
        Suggestion {
            key: key("tool_mastery", Edit::Instructions, text),
            severity: Severity::High,
            dimension: "tool_mastery".to_owned(),
            title: "Look first".to_owned(),
            edit: Edit::Instructions,
            text: text.to_owned(),
            reason: "it stands at 0.40".to_owned(),
            sessions: vec!["a".to_owned()],
        }
    }

    #[test]
    fn what_is_new_is_added_below() {
        let one = suggestion("Look twice.");
        let file = appended("# Ours", "2026-11-08", std::slice::from_ref(&one)).unwrap();
        assert!(file.starts_with("# Ours\n\n## Week 2026-11-08\n\n<!-- ratchet "), "{file}");
        let other = suggestion("Look three times.");
        let both = appended(&file, "2026-11-15", &[one, other]).unwrap();
        assert!(both.starts_with(&file) && both.contains("Look three times."));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_comes_twice(
            file in "[a-z#\n]{0,40}",
            texts in prop::collection::vec("[a-z` ]{1,12}", 0..4),
        ) {
            let suggestions: Vec<Suggestion> = texts.iter().map(|text| suggestion(text)).collect();
            let after = appended(&file, "2026-11-08", &suggestions);
            prop_assert_eq!(after.is_none(), suggestions.is_empty());
            let after = after.unwrap_or(file.clone());
            prop_assert!(after.starts_with(&file));
            prop_assert_eq!(appended(&after, "2026-11-15", &suggestions), None);
        }
    }
}
