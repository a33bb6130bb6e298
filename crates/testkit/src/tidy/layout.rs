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
