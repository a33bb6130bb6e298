//! Documents that describe the code name files that exist.

use super::{Offence, SourceFile, report, repository};

/// Words in backquotes that are files or folders of code: `auth.rs`, `server/src/auth.rs`,
/// `langfuse/`. Routes and addresses are not.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        let is_path = word.chars().all(|c| c.is_ascii_alphanumeric() || "_/.-".contains(c));
        let is_code = word.ends_with(".rs") || word.ends_with('/');
        is_path && is_code && !word.starts_with('/')
    })
}

/// Whether a file has this path, or is in this folder, below some folder of the repository.
fn exists(files: &[SourceFile], path: &str) -> bool {
    let inside = format!("/{path}");
    files.iter().any(|file| {
        let full = format!("/{}", file.path);
        if path.ends_with('/') { full.contains(&inside) } else { full.ends_with(&inside) }
    })
}

#[test]
fn documents_name_files_that_exist() {
    let files = repository();
    assert!(exists(&files, "testkit/src/tidy.rs") && exists(&files, "tidy/"));
    assert!(!exists(&files, "idy.rs") && !exists(&files, "nowhere/src/lib.rs"));
    let line = "`server/src/gone.rs` answers `/api/public/` by `spawn`; `otlp/` has one file each";
    assert_eq!(named_paths(line).collect::<Vec<_>>(), ["server/src/gone.rs", "otlp/"]);
    let describes = |file: &&SourceFile| {
        ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"].contains(&file.path.as_str())
    };
    let mut offences: Vec<Offence> = Vec::new();
    for file in files.iter().filter(describes) {
        for (number, line) in file.lines() {
            let gone = named_paths(line).filter(|path| !exists(&files, path));
            offences.extend(gone.map(|path| file.offence(number, path)));
        }
    }
    report(offences, "the file was moved or renamed: say where it is now");
}
