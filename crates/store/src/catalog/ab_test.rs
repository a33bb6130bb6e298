use ratchet_core::payload::Json;
use ratchet_core::promotion::ab_test::comparison::AbSample;
use ratchet_core::promotion::ab_test::{AbEnd, AbSpec, AbTest, Labels};
use ratchet_core::promotion::policy::Signer;
use ratchet_core::promotion::state::Refused;
use ratchet_core::record::redact::{LimitedRedactor, Redact, Redacted};
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::agent::AGENTS;
use super::agent_version::locked_by;
use super::project_table::ProjectTable;
use super::promotion::{responsible, signer};
use super::sql::{Row, Tx};
use super::versioned::PROMPTS;
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// A stored A/B test.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredAbTest {
    pub project: ProjectId,
    pub id: String,
    pub test: AbTest,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A change of an A/B test.
#[derive(Clone, Debug)]
pub enum AbChange {
    /// Compares the users so far.
    Look(AbSample),
    Stop {
        reason: String,
    },
    /// Notes the winner's draft promotion, or why there is none.
    Offered(Result<String, String>),
}

impl Redact for AbChange {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        match self {
            Self::Stop { reason } => Self::Stop { reason: reason.redact(rules) },
            Self::Offered(Err(why)) => Self::Offered(Err(why.redact(rules))),
            // Numbers and ids.
            plain @ (Self::Look(_) | Self::Offered(Ok(_))) => plain,
        }
    }
}

const COLUMNS: &str = "project, id, document, created_at, updated_at";
const AB_TESTS: ProjectTable<StoredAbTest> =
    ProjectTable::new(("ab_test", "A/B test"), COLUMNS, read);
/// Running tests that are looked at.
const MAX_RUNNING: u64 = 1_000;

impl Catalog {
    /// Starts an A/B test.
    ///
    /// # Errors
    /// Fails if there is no such agent, or with a conflict if the prompt has a running test; the
    /// inner error is a refusal.
    pub async fn start_ab_test(
        &self,
        project: ProjectId,
        spec: AbSpec,
        now: Timestamp,
    ) -> StoreResult<Result<StoredAbTest, Refused>> {
        let agent = self.agent(project.clone(), spec.agent.clone()).await?.name;
        self.transact(move |tx| {
            let spec = AbSpec { agent, ..spec };
            AGENTS.require(tx, &project, &spec.agent)?;
            if let Some(other) = running(tx, &project, &spec.prompt)? {
                let why = format!("prompt {} has a running A/B test: {}", spec.prompt, other.id);
                return Err(StoreError::Conflict(why));
            }
            let locks = locked_by(tx, &project, &spec.prompt)?;
            if let Some(other) = locks.into_iter().find(|agent| *agent != spec.agent) {
                let who = format!("the agent {other}, whose promotions alone move its label");
                return Ok(Err(Refused::NotYours { what: "an A/B test of this prompt", who }));
            }
            let people = responsible(tx, &project, &spec.agent)?;
            let found = labels(tx, &project, &spec)?;
            let test = match AbTest::start(spec, found, (signer(tx.actor()), now), &people) {
                Ok(test) => test,
                Err(refused) => return Ok(Err(refused)),
            };
            let id = Uuid::new_v4().to_string();
            let stored = StoredAbTest { project, id, test, created_at: now, updated_at: now };
            insert(tx, &stored)?;
            let spec = &stored.test.spec;
            let line = format!(
                "v{} against v{} for {}% of users",
                stored.test.candidate_version, stored.test.control_version, spec.share
            );
            let audited = AuditAction::Made.on(AuditObject::AbTest, &stored.id);
            tx.audit(&stored.project, now, &audited.named(&spec.prompt).became(line))?;
            Ok(Ok(stored))
        })
        .await
    }

    /// Returns an A/B test.
    ///
    /// # Errors
    /// Fails if there is none.
    pub async fn ab_test(&self, project: ProjectId, id: String) -> StoreResult<StoredAbTest> {
        self.transact(move |tx| AB_TESTS.require(tx, &project, &id)).await
    }

    /// Returns A/B tests, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn ab_tests(
        &self,
        project: ProjectId,
        page: PageNumber,
    ) -> StoreResult<Page<StoredAbTest>> {
        self.transact(move |tx| AB_TESTS.page(tx, &project, page)).await
    }

    /// Returns the newest A/B tests of a prompt, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn ab_tests_of(
        &self,
        project: ProjectId,
        prompt: String,
        limit: u64,
    ) -> StoreResult<Vec<StoredAbTest>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM ab_test WHERE project = $1 AND prompt = $2 \
             ORDER BY created_at DESC, id LIMIT $3"
        );
        let read = move |tx: &Tx<'_>| {
            tx.rows(&sql, &[(&project).into(), prompt.as_str().into(), limit.into()], read)
        };
        self.transact(read).await
    }

    /// Returns the running A/B test of a prompt.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn running_ab_test(
        &self,
        project: ProjectId,
        prompt: String,
    ) -> StoreResult<Option<StoredAbTest>> {
        self.transact(move |tx| running(tx, &project, &prompt)).await
    }

    /// Returns the running A/B tests of all projects.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn running_ab_tests(&self) -> StoreResult<Vec<StoredAbTest>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM ab_test WHERE is_running = 1 ORDER BY updated_at, id LIMIT $1"
        );
        self.transact(move |tx| tx.rows(&sql, &[MAX_RUNNING.into()], read)).await
    }

    /// Changes an A/B test. Texts are redacted by the project's rules.
    ///
    /// # Errors
    /// Fails if there is none; the inner error is a refusal.
    pub async fn change_ab_test(
        &self,
        (project, id): (ProjectId, String),
        change: AbChange,
        now: Timestamp,
    ) -> StoreResult<Result<StoredAbTest, Refused>> {
        let change = self.redacted(&project, change).await?;
        self.transact(move |tx| {
            let mut stored = AB_TESTS.require(tx, &project, &id)?;
            let was = stored.test.clone();
            let by = signer(tx.actor());
            if let Err(refused) = apply(tx, &mut stored, change, (by, now))? {
                return Ok(Err(refused));
            }
            if stored.test != was {
                stored.updated_at = now;
                update(tx, &stored)?;
            }
            if let (None, Some(outcome)) = (&was.outcome, &stored.test.outcome) {
                let line = format!("{}: {}", outcome.end.as_str(), outcome.text);
                let audited = AuditAction::Changed.on(AuditObject::AbTest, &stored.id);
                tx.audit(&project, now, &audited.named(&was.spec.prompt).became(line))?;
            }
            Ok(Ok(stored))
        })
        .await
    }
}

fn apply(
    tx: &Tx<'_>,
    stored: &mut StoredAbTest,
    change: Redacted<AbChange>,
    by: (Signer, Timestamp),
) -> StoreResult<Result<(), Refused>> {
    match change.into_inner() {
        AbChange::Look(sample) => {
            let found = labels(tx, &stored.project, &stored.test.spec)?;
            stored.test.look(&sample, found, by);
        }
        AbChange::Stop { reason } => return Ok(stored.test.stop(&reason, by)),
        AbChange::Offered(offer) => {
            let ended = stored.test.outcome.as_ref().map(|outcome| outcome.end);
            if ended != Some(AbEnd::Winner) {
                return Ok(Err(Refused::Ended("the A/B test has no winner".to_owned())));
            }
            match offer {
                Ok(promotion) => {
                    stored.test.promotion = Some(promotion);
                    stored.test.offer_problem = None;
                }
                Err(why) => stored.test.offer_problem = Some(why),
            }
        }
    }
    Ok(Ok(()))
}

fn running(tx: &Tx<'_>, project: &ProjectId, prompt: &str) -> StoreResult<Option<StoredAbTest>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM ab_test WHERE project = $1 AND prompt = $2 AND is_running = 1"
    );
    tx.one(&sql, &[project.into(), prompt.into()], read)
}

fn labels(tx: &Tx<'_>, project: &ProjectId, spec: &AbSpec) -> StoreResult<Labels> {
    let at = |label: &str| PROMPTS.labelled(tx, (project, &spec.prompt), label);
    Ok(Labels { control: at(&spec.control)?, candidate: at(&spec.candidate)? })
}

fn document(test: &AbTest) -> Json {
    Json::from_value(&serde_json::to_value(test).unwrap_or_default())
}

fn insert(tx: &Tx<'_>, stored: &StoredAbTest) -> StoreResult<()> {
    tx.execute(
        "INSERT INTO ab_test (project, id, prompt, is_running, document, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            (&stored.project).into(),
            (&stored.id).into(),
            (&stored.test.spec.prompt).into(),
            i64::from(stored.test.is_running()).into(),
            (&document(&stored.test)).into(),
            stored.created_at.into(),
            stored.updated_at.into(),
        ],
    )
    .map(drop)
}

fn update(tx: &Tx<'_>, stored: &StoredAbTest) -> StoreResult<()> {
    tx.execute(
        "UPDATE ab_test SET is_running = $3, document = $4, updated_at = $5 \
         WHERE project = $1 AND id = $2",
        &[
            (&stored.project).into(),
            (&stored.id).into(),
            i64::from(stored.test.is_running()).into(),
            (&document(&stored.test)).into(),
            stored.updated_at.into(),
        ],
    )
    .map(drop)
}

fn read(row: &Row<'_>) -> StoreResult<StoredAbTest> {
    let document: Json = row.get(2)?;
    Ok(StoredAbTest {
        project: row.get(0)?,
        id: row.get(1)?,
        test: serde_json::from_str(document.as_str()).map_err(StoreError::database)?,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
    })
}
