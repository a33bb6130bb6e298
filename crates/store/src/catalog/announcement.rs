use std::collections::BTreeMap;
use std::time::Duration;

use ratchet_core::time::Timestamp;

use super::notice::{NewNotice, post_to_subscribers};
use super::sql::Tx;
use super::{Catalog, NewJob, job};
use crate::StoreResult;
use crate::project::ProjectId;

/// Something that receivers get once, such as the document of a week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAnnouncement {
    /// Identifies it in the project: `report/AGENT/WEEK`.
    pub subject: String,
    /// The time after which it may be announced again; `None` for never.
    pub again_after: Option<Duration>,
    pub notice: Option<NewNotice>,
    /// Work that belongs to it.
    pub jobs: Vec<NewJob>,
}

impl Catalog {
    /// Announces what was not announced before: enqueues the notifications and jobs of each, and
    /// remembers it, in one transaction. Without the first, the others are not announced either.
    /// Returns the subjects that were new.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn announce(
        &self,
        project: ProjectId,
        announcements: Vec<NewAnnouncement>,
        now: Timestamp,
    ) -> StoreResult<Vec<String>> {
        let announced = self.transact(move |tx| {
            let mut new = Vec::new();
            for (place, one) in announcements.iter().enumerate() {
                if remember(tx, &project, one, now)? {
                    if let Some(notice) = &one.notice {
                        post_to_subscribers(tx, &project, notice, now)?;
                    }
                    for work in &one.jobs {
                        job::enqueue(tx, &project, work, now)?;
                    }
                    new.push(one.subject.clone());
                } else if place == 0 {
                    break;
                }
            }
            Ok(new)
        });
        let new = announced.await?;
        if !new.is_empty() {
            self.wake_delivery();
        }
        Ok(new)
    }

    /// Returns the announced subjects that begin with a text, and when each was announced last.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn announced(
        &self,
        project: ProjectId,
        begin: String,
    ) -> StoreResult<BTreeMap<String, Timestamp>> {
        self.transact(move |tx| {
            let sql = "SELECT subject, announced_at FROM announcement \
                       WHERE project = $1 AND substr(subject, 1, $2) = $3";
            let length = begin.chars().count() as u64;
            let key = [(&project).into(), length.into(), (&begin).into()];
            let rows = tx.rows(sql, &key, |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.into_iter().collect())
        })
        .await
    }
}

/// Remembers an announcement; returns false if it was made before, and may not be made again yet.
fn remember(
    tx: &Tx<'_>,
    project: &ProjectId,
    one: &NewAnnouncement,
    now: Timestamp,
) -> StoreResult<bool> {
    let sql = "SELECT announced_at FROM announcement WHERE project = $1 AND subject = $2";
    let key = [project.into(), (&one.subject).into()];
    let last: Option<Timestamp> = tx.one(sql, &key, |row| row.get(0))?;
    let may_again = |last: Timestamp| {
        // A time in the future was stored before the clock was set back.
        one.again_after.is_some_and(|pause| now >= last.plus(pause) || now < last)
    };
    if last.is_some_and(|last| !may_again(last)) {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO announcement (project, subject, announced_at) VALUES ($1, $2, $3) \
         ON CONFLICT (project, subject) DO UPDATE SET announced_at = $3",
        &[project.into(), (&one.subject).into(), now.into()],
    )?;
    Ok(true)
}
