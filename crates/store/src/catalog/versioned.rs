use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::catalog::prompt::{LATEST, Pick};
use ratchet_core::time::Timestamp;

use super::audit::AuditChange;
use super::sql::{Tx, Value};
use crate::StoreResult;
use crate::project::ProjectId;

/// A project and a name in it.
pub(super) type VersionedName<'a> = (&'a ProjectId, &'a str);

/// An entity with numbered versions under a name. Each label points at one version, `latest` at the
/// newest; tags belong to the name. Tables: `x`, `x_label` and `x_tag`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versioned {
    table: &'static str,
}

pub(super) const PROMPTS: Versioned = Versioned { table: "prompt" };

pub(super) const SKILLS: Versioned = Versioned { table: "skill" };

impl Versioned {
    /// The SQL condition for a picked version, with the project as `$1`, the name as `$2` and the
    /// value as `$3`.
    pub(super) fn picked(self, pick: &Pick) -> (String, Value) {
        match pick {
            Pick::Version(version) => ("version = $3".to_owned(), Value::from(*version)),
            Pick::Label(label) => {
                let labelled = format!(
                    "version = (SELECT version FROM {}_label \
                     WHERE project = $1 AND name = $2 AND label = $3)",
                    self.table
                );
                (labelled, Value::from(label))
            }
        }
    }

    pub(super) fn versions(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
    ) -> StoreResult<BTreeSet<u32>> {
        let sql = format!("SELECT version FROM {} WHERE project = $1 AND name = $2", self.table);
        Ok(tx.rows(&sql, &[project.into(), name.into()], |row| row.get(0))?.into_iter().collect())
    }

    /// The labels of a version, `latest` last.
    pub(super) fn labels(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
        version: u32,
    ) -> StoreResult<Vec<String>> {
        let sql = format!(
            "SELECT label FROM {}_label WHERE project = $1 AND name = $2 AND version = $3",
            self.table
        );
        let values = [project.into(), name.into(), version.into()];
        let mut labels = tx.rows(&sql, &values, |row| row.get(0))?;
        sort_labels(&mut labels);
        Ok(labels)
    }

    /// The labels of a name by version, `latest` last.
    pub(super) fn all_labels(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
    ) -> StoreResult<BTreeMap<u32, Vec<String>>> {
        let sql = format!(
            "SELECT version, label FROM {}_label WHERE project = $1 AND name = $2",
            self.table
        );
        let mut labels: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        let values = [project.into(), name.into()];
        for (version, label) in tx.rows(&sql, &values, |row| Ok((row.get(0)?, row.get(1)?)))? {
            labels.entry(version).or_default().push(label);
        }
        labels.values_mut().for_each(|labels| sort_labels(labels));
        Ok(labels)
    }

    /// The tags of a name.
    pub(super) fn tags(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
    ) -> StoreResult<Vec<String>> {
        let sql = format!(
            "SELECT tag FROM {}_tag WHERE project = $1 AND name = $2 ORDER BY tag",
            self.table
        );
        tx.rows(&sql, &[project.into(), name.into()], |row| row.get(0))
    }

    /// The version with a label, if any.
    pub(super) fn labelled(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
        label: &str,
    ) -> StoreResult<Option<u32>> {
        let sql = format!(
            "SELECT version FROM {}_label WHERE project = $1 AND name = $2 AND label = $3",
            self.table
        );
        tx.one(&sql, &[project.into(), name.into(), label.into()], |row| row.get(0))
    }

    /// Moves a label to a version and updates the time of both versions.
    pub(super) fn move_label(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
        (label, version): (&str, u32),
        now: Timestamp,
    ) -> StoreResult<()> {
        let table = self.table;
        let sql = format!(
            "UPDATE {table} SET updated_at = $5 WHERE project = $1 AND name = $2 AND \
             (version = $4 OR version = (SELECT version FROM {table}_label \
             WHERE project = $1 AND name = $2 AND label = $3))"
        );
        let values = [project.into(), name.into(), label.into(), version.into(), now.into()];
        tx.execute(&sql, &values)?;
        let sql = format!(
            "INSERT INTO {table}_label (project, name, label, version) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (project, name, label) DO UPDATE SET version = excluded.version"
        );
        tx.execute(&sql, &[project.into(), name.into(), label.into(), version.into()])?;
        Ok(())
    }

    /// Removes a label.
    pub(super) fn remove_label(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
        label: &str,
    ) -> StoreResult<()> {
        let sql = format!(
            "DELETE FROM {}_label WHERE project = $1 AND name = $2 AND label = $3",
            self.table
        );
        tx.execute(&sql, &[project.into(), name.into(), label.into()]).map(drop)
    }

    /// Sets the tags of a name.
    pub(super) fn set_tags(
        self,
        tx: &Tx<'_>,
        (project, name): VersionedName<'_>,
        tags: &[String],
        now: Timestamp,
    ) -> StoreResult<()> {
        let wanted: BTreeSet<&String> = tags.iter().collect();
        let had = self.tags(tx, (project, name))?;
        if wanted.iter().copied().eq(&had) {
            return Ok(());
        }
        self.delete_tags(tx, (project, name))?;
        let table = self.table;
        for tag in wanted {
            let sql = format!("INSERT INTO {table}_tag (project, name, tag) VALUES ($1, $2, $3)");
            tx.execute(&sql, &[project.into(), name.into(), tag.into()])?;
        }
        let sql = format!("UPDATE {table} SET updated_at = $3 WHERE project = $1 AND name = $2");
        tx.execute(&sql, &[project.into(), name.into(), now.into()])?;
        Ok(())
    }

    /// Restores the invariants after a deletion: `latest` moves to the newest remaining version,
    /// and tags are deleted with the last.
    pub(super) fn after_deletion(
        self,
        tx: &Tx<'_>,
        which: VersionedName<'_>,
        now: Timestamp,
    ) -> StoreResult<()> {
        match self.versions(tx, which)?.last() {
            Some(newest) => self.move_label(tx, which, (LATEST, *newest), now),
            None => self.delete_tags(tx, which),
        }
    }

    fn delete_tags(self, tx: &Tx<'_>, (project, name): VersionedName<'_>) -> StoreResult<()> {
        let sql = format!("DELETE FROM {}_tag WHERE project = $1 AND name = $2", self.table);
        tx.execute(&sql, &[project.into(), name.into()])?;
        Ok(())
    }
}

/// A short description of a version and its labels for the audit log.
pub(super) fn described(version: u32, labels: &[String]) -> String {
    let labels: Vec<&str> =
        labels.iter().map(String::as_str).filter(|one| *one != LATEST).collect();
    if labels.is_empty() {
        format!("v{version}")
    } else {
        format!("v{version} {}", labels.join(", "))
    }
}

/// Adds the old and new version of a label to an audit entry.
pub(super) fn moved<'a>(
    audited: AuditChange<'a>,
    label: &str,
    from: Option<u32>,
    to: u32,
) -> AuditChange<'a> {
    let audited = audited.became(format!("{label} at v{to}"));
    match from {
        Some(from) => audited.was(format!("{label} at v{from}")),
        None => audited,
    }
}

/// By name, with `latest` last: it is the least informative.
pub(super) fn sort_labels(labels: &mut [String]) {
    labels.sort_by(|one, other| (one == LATEST, one).cmp(&(other == LATEST, other)));
}
