use ratchet_core::review::alerts::{AlertChange, AlertStates};
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::notice::{NewNotice, post_to_subscribers};
use super::sql::Tx;
use crate::StoreResult;
use crate::project::ProjectId;

/// Changes of state to store, of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAlert {
    /// `None` for traces without an agent.
    pub agent: Option<String>,
    /// First day of the week that they were seen in.
    pub week: String,
    pub changes: Vec<AlertChange>,
    /// The notification to the subscribers of a project, if any.
    pub notice: Option<(ProjectId, NewNotice)>,
}

/// The effect of storing changes of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertEffect {
    Stored,
    /// Another run stored a change since; nothing was written.
    Outdated,
}

impl Catalog {
    /// Returns the last known states of an agent, with the latest week that changed one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn alert_states(
        &self,
        project: ProjectId,
        agent: Option<String>,
    ) -> StoreResult<(AlertStates, Option<String>)> {
        self.transact(move |tx| {
            let agent = agent.unwrap_or_default();
            let sql = "SELECT subject, state FROM review_alert WHERE project = $1 AND agent = $2";
            let key = [(&project).into(), (&agent).into()];
            let states = tx.rows(sql, &key, |row| Ok((row.get(0)?, row.get(1)?)))?;
            let latest = "SELECT max(week) FROM review_alert WHERE project = $1 AND agent = $2 \
                          AND subject LIKE 'metric/%'";
            let latest: Option<Option<String>> = tx.one(latest, &key, |row| row.get(0))?;
            Ok((states.into_iter().collect(), latest.flatten()))
        })
        .await
    }

    /// Stores changes of state and enqueues their notification, both or neither. A change whose
    /// earlier state is not the stored one stores nothing: a run that was repeated notifies nobody
    /// twice.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn save_alert(
        &self,
        project: ProjectId,
        new: NewAlert,
        now: Timestamp,
    ) -> StoreResult<AlertEffect> {
        let saved = self.transact(move |tx| {
            let agent = new.agent.clone().unwrap_or_default();
            for change in &new.changes {
                if stored(tx, (&project, &agent), &change.subject)? != change.from {
                    return Ok(AlertEffect::Outdated);
                }
            }
            for change in &new.changes {
                tx.execute(
                    "INSERT INTO review_alert (project, agent, subject, state, week, changed_at) \
                     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project, agent, subject) \
                     DO UPDATE SET state = $4, week = $5, changed_at = $6",
                    &[
                        (&project).into(),
                        (&agent).into(),
                        (&change.subject).into(),
                        (&change.state).into(),
                        (&new.week).into(),
                        now.into(),
                    ],
                )?;
            }
            if let Some((event, notice)) = &new.notice {
                post_to_subscribers(tx, event, notice, now)?;
            }
            Ok(AlertEffect::Stored)
        });
        let effect = saved.await?;
        self.wake_delivery();
        Ok(effect)
    }
}

fn stored(
    tx: &Tx<'_>,
    (project, agent): (&ProjectId, &str),
    subject: &str,
) -> StoreResult<Option<String>> {
    let sql = "SELECT state FROM review_alert WHERE project = $1 AND agent = $2 AND subject = $3";
    tx.one(sql, &[project.into(), agent.into(), subject.into()], |row| row.get(0))
}
