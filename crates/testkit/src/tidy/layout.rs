use super::{Offence, SourceFile, is_rust, report, repository};

const MAX_LINES: usize = 500;
const DUMPING_GROUNDS: [&str; 8] =
    ["util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"];

fn is_too_long(file: &SourceFile) -> bool {
    let is_generated = file.text.starts_with("// @generated");
    is_rust(&file.path) && !is_generated && file.text.lines().count() > MAX_LINES
}

fn is_dumping_ground(path: &str) -> bool {
    let is_code = path.starts_with("crates/");
    let names = path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
    is_code && names.into_iter().any(|name| DUMPING_GROUNDS.contains(&name))
}

#[test]
fn no_file_is_too_long() {
    let long = SourceFile { path: "crates/core/src/a.rs".into(), text: "\n".repeat(501) };
    assert!(is_too_long(&long));
    let offences: Vec<Offence> = repository()
        .iter()
        .filter(|file| is_too_long(file))
        .map(|file| file.offence(MAX_LINES, format!("{} lines", file.text.lines().count())))
        .collect();
    report(offences, "a file has at most 500 lines: split it by idea, or move its tests out");
}

#[test]
fn no_module_is_a_dumping_ground() {
    assert!(is_dumping_ground("crates/core/src/util.rs"));
    assert!(is_dumping_ground("crates/core/src/helpers/mod.rs"));
    assert!(!is_dumping_ground("crates/core/src/utility_bill.rs"));
    let offences: Vec<Offence> = repository()
        .iter()
        .filter(|file| is_dumping_ground(&file.path))
        .map(|file| file.offence(1, "says nothing about what is inside"))
        .collect();
    report(offences, "name a module after the idea it holds");
}

/// Whether a file has tests with a long form that `make soak` does not run: it names their module.
fn is_left_out_of_soak(file: &SourceFile, script: &str) -> bool {
    let is_long = is_rust(&file.path) && file.text.contains("soak::scaled");
    let (_, name) = file.path.rsplit_once('/').unwrap_or_default();
    let is_named = script.contains(name.trim_end_matches(".rs"));
    is_long && !file.path.starts_with("crates/testkit/") && !is_named
}

#[test]
fn every_long_test_is_part_of_make_soak() {
    let path = "crates/cli/tests/cli/floods.rs".to_owned();
    let long = SourceFile { path, text: "use ratchet_testkit::soak::scaled;".into() };
    assert!(is_left_out_of_soak(&long, "suite cli crash::"));
    assert!(!is_left_out_of_soak(&long, "suite cli floods::"));
    let files = repository();
    let script = files.iter().find(|file| file.path == "scripts/soak").expect("scripts/soak");
    let left_out = files.iter().filter(|file| is_left_out_of_soak(file, &script.text));
    let offences = left_out.map(|file| file.offence(1, "has a long form")).collect();
    report(offences, "name its suite in scripts/soak");
}
