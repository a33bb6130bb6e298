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

/// The most hops of a walkthrough: one that takes more is not read, and often not needed.
const MAX_HOPS: usize = 6;

/// Walkthroughs that take too many hops or name too few files, by their title.
fn long_walkthroughs(file: &SourceFile) -> Vec<Offence> {
    let section = file.lines().skip_while(|(_, line)| !line.contains("walkthroughs"));
    let walkthroughs = section.filter(|(_, line)| line.starts_with("**"));
    let hops = |line: &str| line.matches(" → ").count();
    let files = |line: &str| named_paths(line).filter(|path| path.contains("/src/")).count();
    let bad = walkthroughs.filter(|(_, line)| hops(line) > MAX_HOPS || files(line) < 3);
    bad.map(|(number, line)| file.offence(number, line.split("**").nth(1).unwrap_or(line)))
        .collect()
}

#[test]
fn walkthroughs_take_few_hops_and_name_their_files() {
    let sample = |walkthrough: &str| {
        let text = format!("## Five walkthroughs\n\n**A span arrives.** {walkthrough}\n");
        long_walkthroughs(&SourceFile { path: "ARCHITECTURE.md".into(), text }).len()
    };
    let hop = "`store/src/a.rs` → ";
    assert_eq!(sample(&hop.repeat(6)), 0);
    assert_eq!(sample(&hop.repeat(7)), 1);
    assert_eq!(sample("router → handler → store"), 1);
    let files = repository();
    let document = files.iter().find(|file| file.path == "ARCHITECTURE.md").expect("the document");
    report(long_walkthroughs(document), "show the way in at most six hops, each with its file");
}

/// Terms of the glossary: its anchors.
fn terms(text: &str) -> impl Iterator<Item = &str> {
    text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

#[test]
fn the_glossary_has_every_noun_of_the_menu_and_none_twice() {
    let files = repository();
    let glossary = files.iter().find(|file| file.path == "docs/glossary.md").expect("a glossary");
    let all: Vec<&str> = terms(&glossary.text).collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    let twice: Vec<&[&str]> = sorted.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "terms that are explained twice: {twice:?}");
    let nouns = [
        "trace",
        "session",
        "user",
        "dashboard",
        "score",
        "evaluator",
        "code-evaluator",
        "judge",
        "label",
        "annotation-queue",
        "diagnosis",
        "proposal",
        "dataset",
        "experiment",
        "target",
        "trial",
        "gate",
        "waiver",
        "promotion",
        "approval",
        "deployment",
        "agent-version",
        "chat",
        "public-link",
        "job",
        "backoff",
        "retry",
    ];
    let missing: Vec<&&str> = nouns.iter().filter(|noun| !all.contains(noun)).collect();
    assert!(missing.is_empty(), "docs/glossary.md does not explain {missing:?}");
}
