//! Looking around in a project: what searches and reads give.

use serde_json::{Value, json};

use super::tasks::{Change, Task};

/// A tool about to be used.
#[derive(Debug)]
pub(crate) struct Use {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
    /// How long it takes, at the median.
    pub(crate) median_ms: f64,
}

/// Where a file of the task's project lies.
pub(crate) fn path(task: &Task, file: &str) -> String {
    format!("/src/{}/{file}", task.repository.name)
}

/// A place to look at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    /// Where a word is used.
    Uses(&'static str),
    /// A part of a file that matters, and what stands there.
    Heart(&'static Change, u64),
    /// A part of a file that is only in the way.
    Aside(&'static str, u64),
    Listing,
}

impl Spot {
    /// What one thinks before looking there.
    pub(crate) fn thoughts(self) -> &'static [&'static str] {
        match self {
            Self::Uses(_) => &["Who uses this?", "Let me search for it.", ""],
            Self::Heart(..) => {
                &["This is the part that decides it.", "Reading it before I change anything.", ""]
            }
            Self::Aside(..) => &["Perhaps it is handled here.", "Checking the neighbours.", ""],
            Self::Listing => &["What do we have here?"],
        }
    }
}

/// Every place worth a look, each once.
pub(crate) fn spots(task: &'static Task) -> Vec<Spot> {
    let words = task.plan.iter().filter_map(|step| step.split(' ').next_back());
    let uses = std::iter::once(task.symbol).chain(words).map(Spot::Uses);
    let changed = task.changes.iter().filter(|change| !change.old.is_empty());
    let hearts = changed.flat_map(|change| [1, 81].map(|line| Spot::Heart(change, line)));
    let others = task.repository.others.iter();
    let asides = others.flat_map(|file| [1, 81, 161, 241].map(|line| Spot::Aside(file, line)));
    uses.chain(hearts).chain(asides).chain([Spot::Listing]).collect()
}

/// The tool that looks there, and what it shows.
pub(crate) fn look(task: &Task, spot: Spot) -> Use {
    match spot {
        Spot::Uses(word) => grep(task, word),
        Spot::Heart(change, line) => read(task, change.file, line, change.old),
        Spot::Aside(file, line) => read(task, file, line, &preview(task, file)),
        Spot::Listing => {
            let files: Vec<String> =
                task.repository.others.iter().map(|file| path(task, file)).collect();
            Use {
                name: "Glob",
                arguments: json!({ "pattern": "**/*" }),
                result: json!(files.join("\n")),
                median_ms: 30.0,
            }
        }
    }
}

/// The tool that makes a change.
pub(crate) fn edit(task: &Task, change: &Change) -> Use {
    let path = path(task, change.file);
    if change.old.is_empty() {
        let result = json!(format!("File created successfully at: {path}"));
        let arguments = json!({ "file_path": path, "content": change.new });
        return Use { name: "Write", arguments, result, median_ms: 12.0 };
    }
    let result = json!(format!("The file {path} has been updated."));
    let arguments =
        json!({ "file_path": path, "old_string": change.old, "new_string": change.new });
    Use { name: "Edit", arguments, result, median_ms: 14.0 }
}

fn grep(task: &Task, word: &str) -> Use {
    let places = task
        .changes
        .iter()
        .zip(1..)
        .map(|(change, nth)| format!("{}:{}:{word}", change.file, 23 * nth));
    let lines: Vec<String> = places.collect();
    let result = json!(format!("Found {} matching lines\n{}", lines.len(), lines.join("\n")));
    Use {
        name: "Grep",
        arguments: json!({ "pattern": word, "path": "." }),
        result,
        median_ms: 45.0,
    }
}

fn read(task: &Task, file: &str, offset: u64, text: &str) -> Use {
    let numbered: Vec<String> =
        (offset..).zip(text.lines()).map(|(number, line)| format!("{number:>6}\t{line}")).collect();
    let arguments = json!({ "file_path": path(task, file), "offset": offset, "limit": 80 });
    Use { name: "Read", arguments, result: json!(numbered.join("\n")), median_ms: 18.0 }
}

/// A few lines that such a file might hold.
fn preview(task: &Task, file: &str) -> String {
    let project = task.repository.name;
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let stem = stem.rsplit('/').next().unwrap_or(stem);
    match extension {
        "rs" => format!("//! The {stem} part of {project}.\n\nuse crate::{{Decimal, Error}};\n\n/// Opens it for reading.\npub fn open(path: &Path) -> Result<Self, Error> {{"),
        "py" => format!("\"\"\"The {stem} part of {project}.\"\"\"\n\nfrom __future__ import annotations\n\nimport logging\n\nlog = logging.getLogger(__name__)"),
        "ts" | "tsx" => format!("import {{ api }} from '../api/client'\n\n// {stem}: rendered on every page, keep it small\nexport function use{project}() {{").replace('-', "_"),
        "go" => format!("package {stem}\n\nimport (\n\t\"context\"\n\t\"time\"\n)\n\n// Options of the {stem}.\ntype Options struct {{"),
        _ => format!("# {project}\n\nSee the folder docs/ for the long story."),
    }
}
