use ratchet_core::time::Timestamp;
use ratchet_store::catalog::Project;
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, StoreResult};

const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// From when on each project keeps what it recorded, of those that do not keep everything.
///
/// # Errors
/// Fails only when the database does.
pub async fn oldest_kept(
    store: &Store,
    now: Timestamp,
) -> StoreResult<Vec<(ProjectId, Timestamp)>> {
    let projects = store.catalog.projects().await?;
    let kept = |project: Project| Some((project.id.clone(), oldest(&project, now)?));
    Ok(projects.into_iter().filter_map(kept).collect())
}

fn oldest(project: &Project, now: Timestamp) -> Option<Timestamp> {
    let days = i64::from(project.retention_days?);
    Some(now.plus_nanos(-days.saturating_mul(NANOS_PER_DAY)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(retention_days: Option<u32>, expected: Option<&str>) {
        let created_at = Timestamp::default();
        let project = Project {
            id: ProjectId::parse("p").unwrap(),
            name: "p".to_owned(),
            retention_days,
            created_at,
        };
        let now = Timestamp::parse("2026-11-15T00:00:00Z").unwrap();
        let expected = expected.map(|text| Timestamp::parse(text).unwrap());
        assert_eq!(oldest(&project, now), expected);
    }

    #[test]
    fn days_count_back_from_now() {
        check(Some(30), Some("2026-10-16T00:00:00Z"));
        check(Some(0), Some("2026-11-15T00:00:00Z"));
        check(None, None);
    }

    #[test]
    fn an_absurd_retention_keeps_everything() {
        // As far back as the subtraction reaches: 292 years.
        check(Some(u32::MAX), Some("1734-08-06T00:12:43.145224193Z"));
    }
}
