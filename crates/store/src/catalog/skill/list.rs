use ratchet_core::catalog::prompt::PRODUCTION;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::catalog::Catalog;
use crate::catalog::sql::{Conditions, Listing, contains};
use crate::catalog::versioned::SKILLS;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber, TimeRange};

/// A filter for skills.
#[derive(Clone, Debug)]
pub struct SkillQuery {
    pub project: ProjectId,
    pub name: Option<String>,
    /// Substring of name or description, case-insensitive.
    pub search: Option<String>,
    pub tag: Option<String>,
    /// When the newest version last changed.
    pub updated: TimeRange,
    pub page: PageNumber,
}

/// A skill in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillSummary {
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    /// The newest version.
    pub version: u32,
    pub created_at: Timestamp,
    /// When labels or tags last changed.
    pub updated_at: Timestamp,
    /// The version with the label `production`.
    pub production: Option<u32>,
}

impl Catalog {
    /// Returns skills, ordered by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn skills(&self, query: SkillQuery) -> StoreResult<Page<SkillSummary>> {
        self.transact(move |tx| {
            let matching = matching(&query);
            let columns = format!(
                "s.name, s.description, s.version, s.created_at, s.updated_at, \
                 (SELECT l.version FROM skill_label l WHERE l.project = s.project \
                 AND l.name = s.name AND l.label = '{PRODUCTION}')"
            );
            let from = format!("FROM skill s WHERE {}", matching.sql);
            let listing = Listing { columns: &columns, from: &from, order: "s.name" };
            let mut page = tx.page(listing, &matching.values, query.page, |row| {
                Ok(SkillSummary {
                    name: row.get(0)?,
                    description: row.get(1)?,
                    tags: Vec::new(),
                    version: row.get(2)?,
                    created_at: row.get(3)?,
                    updated_at: row.get(4)?,
                    production: row.get(5)?,
                })
            })?;
            for skill in &mut page.rows {
                skill.tags = SKILLS.tags(tx, (&query.project, &skill.name))?;
            }
            Ok(page)
        })
        .await
    }
}

/// The newest version of each matching name.
fn matching(query: &SkillQuery) -> Conditions {
    let mut matching = Conditions::new("s.project = $1", &query.project);
    matching.sql.push_str(
        " AND s.version = (SELECT MAX(n.version) FROM skill n \
         WHERE n.project = s.project AND n.name = s.name)",
    );
    let tagged = "EXISTS (SELECT 1 FROM skill_tag t WHERE t.project = s.project \
                  AND t.name = s.name AND t.tag = $)";
    matching.add("s.name = $", query.name.as_ref());
    let search = query.search.as_ref().map(|text| contains(&text.to_lowercase()));
    matching.add("s.searched LIKE $ ESCAPE '!'", search);
    matching.add(tagged, query.tag.as_ref());
    matching.add("s.updated_at >= $", query.updated.from);
    matching.add("s.updated_at < $", query.updated.to);
    matching
}
