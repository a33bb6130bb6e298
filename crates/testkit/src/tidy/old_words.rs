//! Words that had a meaning of their own in this repository and were replaced by usual ones.

use super::{Offence, SourceFile, is_product, report, repository};

/// Words of code and comments that were metaphors. Words that also have a usual meaning in the field,
/// such as `visitor`, are not among them.
const OLD_WORDS: [&str; 14] = [
    "ask_room",
    "bury",
    "deed",
    "deeds",
    "forgery",
    "heard",
    "hear_out",
    "keepsakes",
    "kept_steps",
    "kin",
    "lent",
    "told",
    "unkept",
    "wish",
];

/// First words of labels, help and descriptions of fields.
const OLD_STARTS: [&str; 2] = ["Least ", "Greatest "];

/// A line without what is between double quotes.
fn without_strings(line: &str) -> String {
    let (mut shown, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for c in line.chars() {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && is_quoted && !is_escaped;
        if ends {
            is_quoted = !is_quoted;
        } else if !is_quoted {
            shown.push(c);
        }
    }
    shown
}

fn old_words(file: &SourceFile) -> Vec<Offence> {
    let old_word = |line: &str| {
        let shown = without_strings(line);
        let mut words = shown.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.find_map(|word| OLD_WORDS.into_iter().find(|old| *old == word))
    };
    let old_start = |line: &str| {
        let help = line.trim_start().strip_prefix("/// ");
        let starts_help = |start: &&str| help.is_some_and(|help| help.starts_with(*start));
        let starts = |start: &&str| starts_help(start) || line.contains(&format!("\"{start}"));
        OLD_STARTS.into_iter().find(|start| starts(start))
    };
    let lines = file.lines().filter_map(|(n, line)| Some((n, old_word(line).or(old_start(line))?)));
    lines.map(|(number, old)| file.offence(number, old)).collect()
}

#[test]
fn code_and_help_have_no_word_that_was_replaced() {
    let sample = |text: &str| {
        old_words(&SourceFile { path: "crates/web/src/a.rs".into(), text: text.into() }).len()
    };
    assert_eq!(sample("let wish = form.get();"), 1);
    assert_eq!(sample("/// What people are told of it."), 1);
    assert_eq!(sample("ol.deeds { (entry) }"), 1);
    assert_eq!(sample("/// Least accuracy, from 0 to 1"), 1);
    assert_eq!(sample(r#"label: "Greatest drop","#), 1);
    assert_eq!(sample(r#"say("as \"told\" here"); // The wishlist is at least this long."#), 0);
    let files = repository();
    let is_covered = |file: &&SourceFile| {
        let is_test = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
        is_product(&file.path) && !is_test && !file.path.contains("/demo/")
    };
    let offences = files.iter().filter(is_covered).flat_map(old_words).collect();
    report(offences, "use the field's standard term, or plain English");
}
