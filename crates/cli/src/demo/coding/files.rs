//! What searches, reads and edits in a project give.

use serde_json::{Value, json};

use super::{Change, Repository, Task};

/// A tool about to be used.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) name: &'static str,
    pub(super) arguments: Value,
    pub(super) result: Value,
    /// Duration in milliseconds, at the median.
    pub(super) ms: f64,
}

/// Every place worth a look, each once.
pub(super) fn places(task: &Task, repository: &Repository) -> Vec<Use> {
    let words = task.plan.iter().filter_map(|step| step.split(' ').next_back());
    let searches = std::iter::once(task.symbol.as_str()).chain(words).map(|word| grep(task, word));
    let changed = task.changes.iter().filter(|change| !change.old.is_empty());
    let changed =
        changed.flat_map(|change| [1, 81].map(|line| read(task, &change.file, line, &change.old)));
    let others = repository.others.iter().flat_map(|file| {
        [1, 81, 161].map(|line| read(task, file, line, &preview(&task.repository, file, line)))
    });
    searches.chain(changed).chain(others).collect()
}

/// The tool that makes a change.
pub(super) fn edit(task: &Task, change: &Change) -> Use {
    let path = path(task, &change.file);
    if change.old.is_empty() {
        let result = json!(format!("File created successfully at: {path}"));
        let arguments = json!({ "file_path": path, "content": change.new });
        return Use { name: "Write", arguments, result, ms: 12.0 };
    }
    let result = json!(format!("The file {path} has been updated."));
    let arguments =
        json!({ "file_path": path, "old_string": change.old, "new_string": change.new });
    Use { name: "Edit", arguments, result, ms: 14.0 }
}

fn path(task: &Task, file: &str) -> String {
    format!("/src/{}/{file}", task.repository)
}

fn grep(task: &Task, word: &str) -> Use {
    let found = |(change, nth): (&Change, usize)| format!("{}:{}:{word}", change.file, 23 * nth);
    let lines: Vec<String> = task.changes.iter().zip(1..).map(found).collect();
    let result = json!(format!("Found {} matching lines\n{}", lines.len(), lines.join("\n")));
    Use { name: "Grep", arguments: json!({ "pattern": word, "path": "." }), result, ms: 45.0 }
}

fn read(task: &Task, file: &str, offset: u64, text: &str) -> Use {
    let numbered: Vec<String> =
        (offset..).zip(text.lines()).map(|(number, line)| format!("{number:>6}\t{line}")).collect();
    let arguments = json!({ "file_path": path(task, file), "offset": offset, "limit": 80 });
    Use { name: "Read", arguments, result: json!(numbered.join("\n")), ms: 18.0 }
}

/// A few lines that such a file might hold.
fn preview(project: &str, file: &str, line: u64) -> String {
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let stem = stem.rsplit('/').next().unwrap_or(stem);
    match extension {
        "rs" => format!(
            "use crate::{{Decimal, Error}};\n\n/// Opens {stem} {line}.\npub fn open_{line}(path: &Path) -> Result<Self, Error> {{"
        ),
        "py" => format!(
            "import logging\n\nlog = logging.getLogger(\"{project}.{stem}\")\n\n\ndef step_{line}(rows):"
        ),
        "ts" | "tsx" => {
            format!("import {{ api }} from '../api/client'\n\nexport function {stem}{line}() {{")
        }
        "go" => format!(
            "package {stem}\n\nimport (\n\t\"context\"\n\t\"time\"\n)\n\nfunc step{line}(ctx context.Context) error {{"
        ),
        _ => format!("# {project}\n\n{stem}, part {line}"),
    }
}
