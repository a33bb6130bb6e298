/// Stored evaluators and rules.
pub mod document;
/// Which share of all records a rule evaluates.
pub mod sampling;
/// Paths into JSON values.
pub mod json_path;

/// The maximum length of a variable name.
const MAX_VARIABLE_CHARS: usize = 100;

/// Returns the variables of prompts (`{{name}}`), each once, in order of appearance.
pub fn variables<'a>(prompts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    for prompt in prompts {
        let mut rest = prompt;
        while let Some((_, behind)) = rest.split_once("{{") {
            // In `{{{{name}}` the inner braces count.
            let behind = behind.trim_start_matches('{');
            let Some((inside, after)) = behind.split_once("}}") else { break };
            let name = inside.trim();
            if is_name(name) && !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
            rest = if is_name(name) { after } else { behind };
        }
    }
    found
}

pub(crate) fn is_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    starts_well && is_plain && name.chars().count() <= MAX_VARIABLE_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn variables_stand_between_braces() {
        assert_eq!(variables(["Judge {{input}} by {{ output }}, {{input}}."]), ["input", "output"]);
        assert_eq!(variables(["{{a}}", "{{b}}{{a}}"]), ["a", "b"]);
        assert_eq!(
            variables(["{{{{deep}}", "{{1}}", "{{two words}}", "{{", "}} {{open"]),
            ["deep"]
        );
        assert_eq!(variables(["{{bad one {{good}}"]), ["good"]);
    }

    proptest! {
        #[test]
        fn any_text_has_variables_that_are_names(text in "[a{} ]{0,40}") {
            prop_assert!(variables([text.as_str()]).iter().all(|name| is_name(name)));
        }
    }
}
