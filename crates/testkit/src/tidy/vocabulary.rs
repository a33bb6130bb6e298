//! The project's vocabulary: the field's standard terms, and no name that was replaced by one.

use super::{Offence, SourceFile, crate_of, is_product, is_rust, report, repository};

/// Modules by crate whose names were metaphors.
const OLD_MODULES: [(&str, &[&str]); 7] = [
    ("server", &["hear_out", "pieces", "pack", "stall", "guard", "names", "work", "inflight"]),
    (
        "store",
        &[
            "beside",
            "seek",
            "remembered",
            "arrival",
            "judgement",
            "mention",
            "abandon",
            "stray",
            "examine",
        ],
    ),
    ("agent", &["manner", "desk", "hearing", "speech", "care", "seats", "mark"]),
    (
        "core",
        &["major", "moves", "settle", "hush", "unkept", "story", "asked", "judging", "convention"],
    ),
    (
        "stages",
        &[
            "major",
            "host",
            "wish",
            "room",
            "book",
            "ground",
            "given",
            "beneath",
            "deeds",
            "noted",
            "trust",
            "look",
            "collect",
            "connect",
            "keepsakes",
            "rooms",
        ],
    ),
    (
        "web",
        &[
            "place",
            "wish",
            "forgery",
            "refusal",
            "desk",
            "ask_room",
            "course",
            "said",
            "kept_steps",
            "judged",
            "visitor",
            "whence",
            "told",
            "deeds",
        ],
    ),
    ("cli", &["vouching", "door", "workplace"]),
];

const OLD_TYPES: [&str; 37] = [
    "ScoringDesk",
    "Bench",
    "Again",
    "Keeping",
    "Wanted",
    "Told",
    "Lent",
    "Pen",
    "Whereabouts",
    "Courthouse",
    "Unsettled",
    "Folder",
    "Opinions",
    "House",
    "Doorway",
    "Guest",
    "Station",
    "Lying",
    "Hitch",
    "Teller",
    "Spelled",
    "Outlet",
    "Inquiry",
    "Unjudged",
    "Chatter",
    "Stopper",
    "BesideScore",
    "ObservationWalk",
    "Ahead",
    "Noun",
    "Verb",
    "Paper",
    "Receipt",
    "KeptEffect",
    "LongSent",
    "Way",
    "Room",
];

/// Phrases that pages, help and reports used before they had the usual words.
const OLD_PHRASES: [&str; 43] = [
    "How they lie",
    "With 95 % confidence",
    "What for",
    "Known cost, in dollars",
    "Mean cost of a step",
    "all together",
    "lying bars",
    "standing bars",
    "Stand out for the worse",
    "Stand out for the better",
    "Judge it yourself",
    "Judgement kept",
    "Your label is kept",
    "Keep and compare",
    "The label stands here now",
    "Make it production",
    "Does it pay",
    "Draw this week's sample",
    "Nobody has marked",
    "by the clocks of",
    "It begins within half a minute",
    "keys open this project",
    "The least that does is best",
    "No program is told",
    "Tell this browser",
    "Become the owner",
    "Usual columns",
    "19 of 20",
    "From the second week on",
    "The judge follows people",
    "Etc/UTC clocks",
    "names given",
    "May do without asking",
    "the program's own choice",
    "To the start",
    "omeone at this machine",
    "of any era",
    "Say who may sign in",
    "Look for what is wrong with a data folder",
    "Give disk space that",
    "Tell how far the judge agrees",
    "Record what other programs",
    "not_there(\"step\")",
];

/// Labels of one word that pages used, as whole string literals.
const OLD_LABELS: [&str; 16] = [
    "Says", "Began", "Lasted", "Made", "Since", "Least", "Greatest", "Mended", "mended", "Broke",
    "Apart", "And by", "Figure", "Look", "How", "Usual",
];

fn old_module(path: &str) -> Option<&str> {
    let owner = crate_of(path)?;
    let (_, old) = OLD_MODULES.iter().find(|(name, _)| *name == owner)?;
    let inside = path.split_once("/src/")?.1;
    // The demo tells made-up stories, whose words are not the product's.
    let names = inside.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
    let mut names = names.filter(|_| !inside.starts_with("demo/"));
    names.find(|name| old.contains(name))
}

fn old_types(file: &SourceFile) -> Vec<Offence> {
    let declares = |line: &str| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        words.windows(2).any(|pair| {
            ["struct", "enum", "trait", "type"].contains(&pair[0]) && OLD_TYPES.contains(&pair[1])
        })
    };
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    let lines = file.lines().filter(|(_, line)| is_code(line) && declares(line));
    lines.map(|(number, line)| file.offence(number, line.trim())).collect()
}

fn old_phrases(file: &SourceFile) -> Vec<Offence> {
    let phrase = |line: &str| {
        let is_label = |label: &str| line.contains(&format!("\"{label}\""));
        let phrase = OLD_PHRASES.iter().find(|phrase| line.contains(**phrase));
        phrase.or_else(|| OLD_LABELS.iter().find(|label| is_label(label))).copied()
    };
    let is_shown = |line: &str| !line.trim_start().starts_with("//");
    let product = file.lines().take_while(|(_, line)| *line != "mod tests {");
    let lines = product.filter(|(_, line)| is_shown(line));
    let lines = lines.filter_map(|(number, line)| Some((number, phrase(line)?)));
    lines.map(|(number, phrase)| file.offence(number, phrase)).collect()
}

#[test]
fn no_module_has_a_name_that_was_replaced() {
    assert_eq!(old_module("crates/web/src/pages/chats/deeds.rs"), Some("deeds"));
    assert_eq!(old_module("crates/store/src/catalog/sql/value.rs"), None);
    let files = repository();
    let product = files.iter().filter(|file| is_product(&file.path));
    let offences = product.filter_map(|file| Some(file.offence(1, old_module(&file.path)?)));
    report(offences.collect(), "name a module by the field's standard term");
}

#[test]
fn no_type_has_a_name_that_was_replaced() {
    let sample = |text: &str| {
        old_types(&SourceFile { path: "crates/web/src/a.rs".into(), text: text.into() }).len()
    };
    assert_eq!(sample("pub(crate) struct Pen<'a> {"), 1);
    assert_eq!(sample("struct Penalty {"), 0);
    let files = repository();
    // A demo's characters and the load program have their own.
    let is_covered = |file: &&SourceFile| {
        let is_elsewhere = file.path.contains("/demo/") || file.path.starts_with("crates/bench");
        is_product(&file.path) && !is_elsewhere
    };
    let offences = files.iter().filter(is_covered).flat_map(old_types).collect();
    report(offences, "name a type by the field's standard term");
}

#[test]
fn pages_and_help_use_the_usual_phrases() {
    let sample = |text: &str| {
        old_phrases(&SourceFile { path: "crates/web/src/a.rs".into(), text: text.into() }).len()
    };
    assert_eq!(sample(r#"h2 { "How they lie" }"#), 1);
    assert_eq!(sample(r#"h2 { "Distribution" }"#), 0);
    assert_eq!(sample(r#"Column::text("Since")"#), 1);
    assert_eq!(sample(r#"p { "Since Monday" }"#), 0);
    let is_shown = |path: &str| {
        let crates = ["web", "cli", "core", "server", "stages"];
        let is_ours = crates.iter().any(|name| path.starts_with(&format!("crates/{name}/src")));
        let is_text = path.starts_with("docs/") && !path.starts_with("docs/adr");
        // Tests quote what a model or a client says.
        let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
        (is_ours && !is_test) || is_text || path == "README.md"
    };
    let files = repository();
    let shown = files.iter().filter(|file| is_shown(&file.path));
    report(shown.flat_map(old_phrases).collect(), "use the words that users of the field know");
}

/// Public functions and types without a line of documentation, in the crates that others build on.
fn undocumented(file: &SourceFile) -> Vec<Offence> {
    let mut is_documented = false;
    let mut offences = Vec::new();
    for (number, line) in file.lines() {
        let line = line.trim_start();
        if line.starts_with("///") || line.starts_with("#[doc") {
            is_documented = true;
        } else if !line.starts_with("#[") && !is_attribute_end(line) {
            let is_public =
                ["fn ", "struct ", "enum ", "trait ", "type ", "async fn ", "const fn "]
                    .iter()
                    .any(|kind| {
                        line.strip_prefix("pub ").is_some_and(|rest| rest.starts_with(kind))
                    });
            // Names that say it all.
            let is_plain = [" fn as_str(", " fn parse("].iter().any(|name| line.contains(name));
            if is_public && !is_documented && !is_plain {
                offences.push(file.offence(number, line));
            }
            is_documented = false;
        }
    }
    offences
}

/// Whether a line closes an attribute of several lines.
fn is_attribute_end(line: &str) -> bool {
    line.starts_with(")]")
}

#[test]
fn public_functions_and_types_of_libraries_are_documented() {
    let sample = |text: &str| {
        undocumented(&SourceFile { path: "crates/core/src/a.rs".into(), text: text.into() }).len()
    };
    assert_eq!(sample("pub fn cost() {}"), 1);
    assert_eq!(sample("/// Returns the cost.\n#[must_use]\npub fn cost() {}"), 0);
    assert_eq!(sample("pub(crate) fn cost() {}\nfn price() {}"), 0);
    let covers = |path: &str| {
        let is_library = matches!(crate_of(path), Some("core" | "store" | "agent" | "remote"));
        is_library && is_product(path) && is_rust(path) && !path.contains("tests")
    };
    let files = repository();
    let offences = files.iter().filter(|file| covers(&file.path)).flat_map(undocumented);
    report(offences.collect(), "say what a public function or type is, in one line");
}

/// The stages of the product, and what they share.
const STAGES: [&str; 21] = [
    "record",
    "score",
    "review",
    "improve",
    "experiment",
    "gate",
    "promote",
    "chat",
    "schedule",
    "notify",
    "dashboards",
    "dataset_import",
    "llm_connections",
    "weekly_report",
    "validation",
    "source",
    "sink",
    "app_state",
    "clock",
    "data_target",
    "user_files",
];

#[test]
fn stages_are_the_modules_that_the_design_names() {
    let files = repository();
    let modules = files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("crates/stages/src/")?.strip_suffix(".rs")?;
        (!name.contains('/') && name != "lib").then_some((file, name))
    });
    let unknown = modules.filter(|(_, name)| !STAGES.contains(name));
    let offences = unknown.map(|(file, name)| file.offence(1, name)).collect();
    report(offences, "a new stage is a decision: put it into the design first");
}

/// Packages that the lock file may have. Raising it takes an ADR.
const MAX_PACKAGES: usize = 421;

#[test]
fn dependencies_stay_few() {
    let files = repository();
    let lock = files.iter().find(|file| file.path == "Cargo.lock").expect("a lock file");
    let packages = lock.text.matches("[[package]]").count();
    assert!(packages > 50, "only {packages} packages: is this the lock file?");
    assert!(
        packages <= MAX_PACKAGES,
        "{packages} packages in Cargo.lock, at most {MAX_PACKAGES}: each costs everyone's build"
    );
}
