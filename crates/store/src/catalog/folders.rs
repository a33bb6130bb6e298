//! Folders of names: slashes separate them. A folder is there as long as a name is in it.

use std::collections::BTreeMap;

use super::sql::{Conditions, Tx, Value};
use crate::StoreResult;
use crate::project::ProjectId;

/// A folder within another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameFolder {
    /// From the root, without a slash at the end.
    pub path: String,
    /// Names in it and in all folders below.
    pub names: u64,
}

/// How the names of a folder begin; the root is an empty path.
fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}/") }
}

/// Restricts names to those directly in a folder. A slash with nothing before it makes no folder.
pub(super) fn add_folder(conditions: &mut Conditions, column: &str, path: Option<&String>) {
    let Some(path) = path else { return };
    let prefix = prefix(path);
    let at = prefix.chars().count();
    let rest = format!("substr({column}, {})", at.saturating_add(1));
    let sql =
        format!("substr({column}, 1, {at}) = $ AND ({rest} NOT LIKE '%/%' OR {rest} LIKE '/%')");
    conditions.add(&sql, Some(prefix));
}

/// The folders directly in a folder, by name. `table` has columns `project` and `name`.
pub(super) fn in_folder(
    tx: &Tx<'_>,
    (table, project): (&str, &ProjectId),
    path: &str,
) -> StoreResult<Vec<NameFolder>> {
    let prefix = prefix(path);
    let at = prefix.chars().count();
    let sql = format!(
        "SELECT DISTINCT name FROM {table} WHERE project = $1 AND substr(name, 1, {at}) = $2 \
         AND substr(name, {}) LIKE '%/%'",
        at.saturating_add(1)
    );
    let values: [Value; 2] = [project.into(), (&prefix).into()];
    let names: Vec<String> = tx.rows(&sql, &values, |row| row.get(0))?;
    Ok(grouped(&names, &prefix))
}

fn grouped(names: &[String], prefix: &str) -> Vec<NameFolder> {
    let mut folders: BTreeMap<&str, u64> = BTreeMap::new();
    for name in names {
        let rest = name.strip_prefix(prefix).unwrap_or_default();
        if let Some((folder, _)) = rest.split_once('/').filter(|(folder, _)| !folder.is_empty()) {
            *folders.entry(folder).or_default() += 1;
        }
    }
    let folder = |(name, names)| NameFolder { path: format!("{prefix}{name}"), names };
    folders.into_iter().map(folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_grouped_by_what_stands_before_the_next_slash() {
        let names = ["a/b", "a/c/d", "a/c/e", "/odd", "A/x", "z//y"].map(str::to_owned);
        let paths = |prefix| {
            let found = grouped(&names, prefix);
            found.into_iter().map(|one| (one.path, one.names)).collect::<Vec<_>>()
        };
        let one = |path: &str, names| (path.to_owned(), names);
        assert_eq!(paths(""), [one("A", 1), one("a", 3), one("z", 1)]);
        assert_eq!(paths("a/"), [one("a/c", 2)]);
        assert_eq!(paths("z/"), []);
    }
}
