use ratchet_core::time::Timestamp;
use ratchet_store::catalog::Project;
use ratchet_store::embedded::Folder;
use ratchet_store::{StoreError, StoreResult};

const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// Deletes what is older than its project keeps, slice by slice. Returns how many traces went.
///
/// Recording goes on between the slices. Stopping half-way is harmless: the next sweep goes on.
///
/// # Errors
/// Stops at the first slice that fails.
pub async fn sweep(store: &Folder, now: Timestamp) -> StoreResult<u64> {
    let mut deleted = 0u64;
    for project in store.catalog.projects().await? {
        let Some(oldest) = oldest_kept(&project, now) else {
            continue;
        };
        loop {
            let slice = store.telemetry.delete_before(project.id.clone(), oldest).await;
            match slice {
                Ok(0) => break,
                Ok(traces) => deleted = deleted.saturating_add(traces),
                // Recording comes first: leave the rest to the next sweep.
                Err(StoreError::QueueFull) => return Ok(deleted),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(deleted)
}

fn oldest_kept(project: &Project, now: Timestamp) -> Option<Timestamp> {
    let days = i64::from(project.retention_days?);
    Some(now.plus_nanos(-days.saturating_mul(NANOS_PER_DAY)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratchet_store::project::ProjectId;

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
        assert_eq!(oldest_kept(&project, now), expected);
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
