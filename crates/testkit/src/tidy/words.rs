//! Texts that files must not contain.

use super::{LineRule, Offence, SourceFile, is_product, report, repository};

/// Folders of users and machines, which no one else has.
const PRIVATE_FOLDERS: [&str; 3] = ["/root/", "/home/", "/Users/"];

#[test]
fn no_file_knows_one_machine() {
    LineRule {
        advice: "name no path of one machine",
        covers: |_| true,
        is_broken_by: |line| PRIVATE_FOLDERS.iter().any(|folder| begins_a_path(line, folder)),
    }
    .check(
        "README.md",
        &["see /home/me/notes", "file:///Users/me"],
        &["see docs/adr", "run cargo install", "GET /api/scim/Users/{id}"],
    );
}

/// Whether a path in the line starts with the folder, and does not only contain it.
fn begins_a_path(line: &str, folder: &str) -> bool {
    let mut before = line.match_indices(folder).map(|(at, _)| line.get(..at).unwrap_or_default());
    before.any(|before| !before.ends_with(char::is_alphanumeric))
}

#[test]
fn no_lock_file_knows_a_registry() {
    LineRule {
        advice: "packages come from wherever a user's tools look: leave download addresses out",
        covers: |path| path.ends_with("package-lock.json"),
        is_broken_by: |line| line.contains("\"resolved\""),
    }
    .check(
        "tests/sdk/package-lock.json",
        &[r#"      "resolved": "https://example.org/a.tgz","#],
        &[r#"      "integrity": "sha512-…","#],
    );
}

const LOG_MACROS: [&str; 5] = ["trace!(", "debug!(", "info!(", "warn!(", "error!("];

/// The message of a log call, given what follows the opening parenthesis: the first literal that is
/// an argument of its own and not the value of a field.
fn message(arguments: &str) -> Option<&str> {
    let (lead, rest) = arguments.split_once('"')?;
    let (literal, after) = rest.split_at(closing_quote(rest)?);
    let lead = lead.trim_end();
    match lead.chars().next_back() {
        None | Some(',') => Some(literal),
        Some(_) if lead.contains(';') => None,
        Some(_) => message(after.strip_prefix('"')?),
    }
}

fn closing_quote(literal: &str) -> Option<usize> {
    let mut escaped = false;
    literal.char_indices().find_map(|(index, c)| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes.then_some(index)
    })
}

fn is_out_of_form(message: &str) -> bool {
    let mut chars = message.chars();
    let first_two = (chars.next(), chars.next());
    let is_capitalised =
        matches!(first_two, (Some(a), Some(b)) if a.is_uppercase() && b.is_lowercase());
    is_capitalised || message.ends_with('.')
}

fn loud_logs(file: &SourceFile) -> Vec<Offence> {
    let calls = LOG_MACROS.iter().flat_map(|name| {
        file.text.match_indices(name).map(|(at, _)| file.text.split_at(at + name.len()))
    });
    calls
        .filter_map(|(before, arguments)| Some((before.lines().count(), message(arguments)?)))
        .filter(|(_, message)| is_out_of_form(message))
        .map(|(line, message)| file.offence(line, message))
        .collect()
}

#[test]
fn logs_are_lowercase_sentences() {
    let sample = |text: &str| {
        loud_logs(&SourceFile { path: "crates/core/src/a.rs".into(), text: text.into() }).len()
    };
    assert_eq!(sample(r#"info!("Server started");"#), 1);
    assert_eq!(sample(r#"warn!(path = "A", "the disk is full.");"#), 1);
    assert_eq!(sample(r#"warn!(path = "Upper", "OTLP is off");"#), 0);
    let files = repository();
    let offences = files.iter().filter(|file| is_product(&file.path)).flat_map(loud_logs);
    report(offences.collect(), "a log message is a lowercase sentence without a full stop");
}
