use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::catalog::prompt::PromptKind;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::catalog::Catalog;
use crate::catalog::folders::{self, NameFolder};
use crate::catalog::sql::{Conditions, Tx, Value, contains};
use crate::catalog::versioned::sort_labels;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber, TimeRange};

/// A filter for prompts.
#[derive(Clone, Debug)]
pub struct PromptQuery {
    pub project: ProjectId,
    pub name: Option<String>,
    /// A part of the name, in any case.
    pub text: Option<String>,
    /// Directly in this folder; an empty path is the root.
    pub folder: Option<String>,
    /// Versions with this label.
    pub label: Option<String>,
    pub tag: Option<String>,
    /// When a version last changed.
    pub updated: TimeRange,
    pub page: PageNumber,
}

/// A prompt and its versions that match the filter.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptSummary {
    pub name: String,
    pub kind: PromptKind,
    /// Oldest first.
    pub versions: Vec<u32>,
    /// Labels of these versions.
    pub labels: Vec<String>,
    pub tags: Vec<String>,
    /// When one of these versions last changed.
    pub last_updated_at: Timestamp,
    /// The config of the newest of these versions.
    pub last_config: Json,
}

impl Catalog {
    /// Returns prompts, ordered by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn prompts(&self, query: PromptQuery) -> StoreResult<Page<PromptSummary>> {
        self.transact(move |tx| {
            let matching = Matching::new(&query);
            let total = matching.count(tx)?;
            let names = matching.names(tx, query.page)?;
            let (Some(first), Some(last)) = (names.first(), names.last()) else {
                return Ok(Page { rows: Vec::new(), total: Some(total), cursor: None });
            };
            // The names of a page are adjacent, so the first and last are enough to find the rest.
            let rows = matching.summaries(tx, (first, last))?;
            Ok(Page { rows, total: Some(total), cursor: None })
        })
        .await
    }

    /// Returns the folders directly in a folder, by name; an empty path is the root.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn prompt_folders(
        &self,
        project: ProjectId,
        path: String,
    ) -> StoreResult<Vec<NameFolder>> {
        self.transact(move |tx| folders::in_folder(tx, ("prompt", &project), &path)).await
    }
}

/// The conditions of a query, as SQL on `prompt p`.
struct Matching(Conditions);

impl Matching {
    fn new(query: &PromptQuery) -> Self {
        let mut matching = Conditions::new("p.project = $1", &query.project);
        let standing = "EXISTS (SELECT 1 FROM prompt_label l WHERE l.project = p.project \
                        AND l.name = p.name AND l.version = p.version AND l.label = $)";
        let tagged = "EXISTS (SELECT 1 FROM prompt_tag t WHERE t.project = p.project \
                      AND t.name = p.name AND t.tag = $)";
        matching.add("p.name = $", query.name.as_ref());
        let text = query.text.as_ref().map(|text| contains(&text.to_ascii_lowercase()));
        matching.add("LOWER(p.name) LIKE $ ESCAPE '!'", text);
        folders::add_folder(&mut matching, "p.name", query.folder.as_ref());
        matching.add(standing, query.label.as_ref());
        matching.add(tagged, query.tag.as_ref());
        matching.add("p.updated_at >= $", query.updated.from);
        matching.add("p.updated_at < $", query.updated.to);
        Self(matching)
    }

    fn count(&self, tx: &Tx<'_>) -> StoreResult<u64> {
        let sql = format!("SELECT COUNT(DISTINCT p.name) FROM prompt p WHERE {}", self.0.sql);
        Ok(tx.one(&sql, &self.0.values, |row| row.get(0))?.unwrap_or(0))
    }

    fn names(&self, tx: &Tx<'_>, page: PageNumber) -> StoreResult<Vec<String>> {
        let (limit, offset) = (self.0.values.len() + 1, self.0.values.len() + 2);
        let sql = format!(
            "SELECT DISTINCT p.name FROM prompt p WHERE {} ORDER BY p.name \
             LIMIT ${limit} OFFSET ${offset}",
            self.0.sql
        );
        let mut values = self.0.values.clone();
        values.extend([Value::from(page.limit), Value::from(page.offset())]);
        tx.rows(&sql, &values, |row| row.get(0))
    }

    fn summaries(
        &self,
        tx: &Tx<'_>,
        (first, last): (&String, &String),
    ) -> StoreResult<Vec<PromptSummary>> {
        let ends = (self.0.values.len() + 1, self.0.values.len() + 2);
        let from =
            format!("WHERE {} AND p.name >= ${} AND p.name <= ${}", self.0.sql, ends.0, ends.1);
        let mut values = self.0.values.clone();
        values.extend([Value::from(first), Value::from(last)]);
        let sql = format!(
            "SELECT p.name, p.version, p.kind, p.updated_at, p.config FROM prompt p {from} \
             ORDER BY p.name, p.version"
        );
        let versions = tx.rows(&sql, &values, |row| {
            Ok(PromptSummary {
                name: row.get(0)?,
                kind: row.get(2)?,
                versions: vec![row.get(1)?],
                labels: Vec::new(),
                tags: Vec::new(),
                last_updated_at: row.get(3)?,
                last_config: row.get(4)?,
            })
        })?;
        let words = |table: &str, word: &str, also: &str| {
            let sql = format!(
                "SELECT DISTINCT w.name, w.{word} FROM {table} w JOIN prompt p \
                 ON p.project = w.project AND p.name = w.name{also} {from}"
            );
            tx.rows(&sql, &values, |row| Ok((row.get(0)?, row.get(1)?)))
        };
        let labels = by_name(words("prompt_label", "label", " AND p.version = w.version")?);
        let tags = by_name(words("prompt_tag", "tag", "")?);
        Ok(grouped(versions, labels, tags))
    }
}

type Words = BTreeMap<String, BTreeSet<String>>;

fn by_name(words: Vec<(String, String)>) -> Words {
    let mut found = Words::new();
    for (name, word) in words {
        found.entry(name).or_default().insert(word);
    }
    found
}

/// Groups sorted versions into one summary per name.
fn grouped(versions: Vec<PromptSummary>, mut labels: Words, mut tags: Words) -> Vec<PromptSummary> {
    let mut prompts: Vec<PromptSummary> = Vec::new();
    for version in versions {
        match prompts.last_mut().filter(|prompt| prompt.name == version.name) {
            Some(prompt) => {
                prompt.versions.extend(version.versions);
                prompt.last_updated_at = prompt.last_updated_at.max(version.last_updated_at);
                prompt.last_config = version.last_config;
            }
            None => prompts.push(version),
        }
    }
    for prompt in &mut prompts {
        prompt.labels = labels.remove(&prompt.name).into_iter().flatten().collect();
        sort_labels(&mut prompt.labels);
        prompt.tags = tags.remove(&prompt.name).into_iter().flatten().collect();
    }
    prompts
}
