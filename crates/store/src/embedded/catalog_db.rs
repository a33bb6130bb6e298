//! The catalog in SQLite.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, TransactionBehavior};

use super::compact::log_bytes;
use super::connection::{self, Purpose};
use super::lock::Lock;
use super::{CATALOG_MIGRATIONS, sqlite_error};
use crate::blocking::{BlockingPool, Outcome, downcast};
use crate::catalog::Tx;
use crate::disk_reserve::DiskMonitor;
use crate::{StoreError, StoreResult};

/// Threads for transactions. One of them works, the others wait for the connection, so that it is
/// never idle between two transactions; the rest wait without a thread.
const THREADS: usize = 4;

/// The catalog database. Small: one connection is enough.
#[derive(Clone, Debug)]
pub(crate) struct CatalogDb {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: PathBuf,
    db: Mutex<Connection>,
    threads: BlockingPool,
    /// The lock against other processes, and the disk; `None` if the file is shared.
    owned: Option<(Arc<Lock>, DiskMonitor)>,
}

impl Shared {
    /// Checkpoints and truncates the WAL if the disk would have less than its reserve afterwards.
    fn checkpoint_if_low(&self, db: &Connection) {
        let Some((_, room)) = &self.owned else { return };
        let log = log_bytes(&self.file);
        if log == 0 || room.check(log).is_ok() {
            return;
        }
        let checkpoint = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
        if let Err(error) = checkpoint {
            tracing::warn!(error.cause = %error, "cannot checkpoint the WAL to free disk space");
        }
    }

    /// Rejects content that would use the disk reserve.
    fn check_free_space(&self, added: u64) -> StoreResult<()> {
        match &self.owned {
            Some((_, room)) if added > 0 => {
                // Data is written twice: to the WAL, then from the WAL to the database.
                room.check(added.saturating_mul(2).saturating_add(log_bytes(&self.file)))
            }
            _ => Ok(()),
        }
    }
}

/// Boxed work in a transaction: the code around it is compiled once.
type Work = Box<dyn FnOnce(&Tx<'_>) -> Result<Outcome, RolledBack> + Send>;

/// Why a transaction was rolled back.
enum RolledBack {
    /// The work returned an error of its own type.
    Refused(Outcome),
    Failed(StoreError),
}

impl From<StoreError> for RolledBack {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl CatalogDb {
    pub(super) fn open(file: PathBuf, lock: Arc<Lock>, room: DiskMonitor) -> StoreResult<Self> {
        Self::with_owner(file, Some((lock, room)))
    }

    /// Opens a catalog that other processes may have open too.
    pub(crate) fn open_shared(file: PathBuf) -> StoreResult<Self> {
        Self::with_owner(file, None)
    }

    fn with_owner(file: PathBuf, owned: Option<(Arc<Lock>, DiskMonitor)>) -> StoreResult<Self> {
        let mut db = connection::open(&file, Purpose::Write)?;
        connection::migrate(&mut db, &file, CATALOG_MIGRATIONS)?;
        let threads = BlockingPool::new(THREADS);
        Ok(Self { shared: Arc::new(Shared { file, db: Mutex::new(db), threads, owned }) })
    }

    pub(super) fn file(&self) -> &Path {
        &self.shared.file
    }

    /// See `Catalog::transact`.
    pub(crate) async fn transact<T, E>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let work: Work = Box::new(move |tx| match work(tx) {
            Ok(done) => Ok(Box::new(done)),
            Err(refusal) => Err(RolledBack::Refused(Box::new(refusal))),
        });
        match self.transact_boxed(work).await {
            Ok(done) => Ok(downcast(done)?),
            Err(RolledBack::Refused(refusal)) => Err(downcast(refusal)?),
            Err(RolledBack::Failed(error)) => Err(error.into()),
        }
    }

    async fn transact_boxed(&self, work: Work) -> Result<Outcome, RolledBack> {
        let here = self.clone();
        self.shared.threads.run(move || here.transact_here(work)).await?
    }

    /// Like `transact`, blocking the current thread.
    pub(super) fn transact_here<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let failed = |error| sqlite_error(&self.shared.file, error);
        let mut db = self.shared.db.lock().map_err(|_| StoreError::Closing)?;
        let behavior = match self.shared.owned {
            Some(_) => TransactionBehavior::Deferred,
            // A deferred transaction that has read could not write any more once another process
            // has written in between.
            None => TransactionBehavior::Immediate,
        };
        let transaction = db.transaction_with_behavior(behavior).map_err(failed)?;
        // Dropped without a commit, it is rolled back.
        let added = Cell::new(0);
        let done = work(&Tx::new(&transaction, &self.shared.file, &added))?;
        if let Err(low) = self.shared.check_free_space(added.get()) {
            // A retry has the space of the WAL, which cannot be checkpointed inside a transaction.
            drop(transaction);
            self.shared.checkpoint_if_low(&db);
            return Err(low.into());
        }
        transaction.commit().map_err(failed)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ratchet_core::id::SessionId;
    use ratchet_core::improve::backlog::{ProposalState, RejectionKind};
    use ratchet_core::improve::diagnosis::Component;
    use ratchet_core::job::JobKind;
    use ratchet_core::quality::suggestion::Progress;
    use ratchet_core::time::Timestamp;

    use super::super::CATALOG_FILE;
    use super::*;
    use crate::catalog::administration::TABLES;
    use crate::catalog::{Catalog, ScheduleRun, ScoringClaim};
    use crate::disk_reserve::DiskReserve;
    use crate::project::ProjectId;
    use crate::{Store, StoreOptions};

    /// A project that is deleted must leave nothing behind.
    #[test]
    fn every_table_of_projects_is_emptied_with_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = connection::open(&folder.path().join("c.db"), Purpose::Write).unwrap();
        connection::migrate(&mut db, folder.path(), CATALOG_MIGRATIONS).unwrap();
        let sql = "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c \
                   WHERE m.type = 'table' AND c.name = 'project' ORDER BY m.name";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        let found: Vec<String> = rows.map(Result::unwrap).collect();
        let mut known = TABLES.to_vec();
        known.sort_unstable();
        assert_eq!(found, known, "list the table in catalog/administration.rs, children first");
    }

    #[test]
    fn keys_of_older_folders_keep_what_is_safe() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.db");
        let mut db = connection::open(&file, Purpose::Write).unwrap();
        let step = CATALOG_MIGRATIONS.iter().position(|sql| sql.contains("permissions"));
        let step = step.unwrap();
        connection::migrate(&mut db, &file, &CATALOG_MIGRATIONS[..step]).unwrap();
        let project = "INSERT INTO project (id, name, created_at) VALUES ('p', 'p', 0)";
        db.execute(project, []).unwrap();
        for role in ["owner", "member", "viewer", "ingest-only"] {
            let sql = "INSERT INTO api_key (id, project, public_key, secret_hint, role, created_at, \
                       salt, secret_hash) VALUES (?1, 'p', ?1, 'h', ?1, 0, 's', 'h')";
            db.execute(sql, [role]).unwrap();
        }
        connection::migrate(&mut db, &file, CATALOG_MIGRATIONS).unwrap();
        let mut kept = db.prepare("SELECT role, permissions FROM api_key ORDER BY role").unwrap();
        let kept = kept.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let kept: Vec<(String, String)> = kept.map(Result::unwrap).collect();
        for (role, permissions) in kept {
            let expected = if role == "owner" { "chat backup administration" } else { "" };
            assert_eq!(permissions, expected, "{role}");
        }
    }

    #[tokio::test]
    async fn conversations_of_older_folders_have_their_budgets_and_no_keys_of_tool_servers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(CATALOG_FILE);
        let mut db = connection::open(&file, Purpose::Write).unwrap();
        let step = CATALOG_MIGRATIONS.iter().position(|sql| sql.contains("spent_before")).unwrap();
        connection::migrate(&mut db, &file, &CATALOG_MIGRATIONS[..step]).unwrap();
        let setting = r#"{"model": "m", "mcp": {"lake": "sk-hush"}, "trusts_workspace": true}"#;
        // A fork's agent continues its parent's cost counter; one of them has been reset.
        let chats =
            [("first", None, 7, 7), ("fork", Some("first"), 2, 9), ("odd", Some("first"), 5, 3)];
        for (id, parent, cost, agent_cost) in chats {
            let sql = "INSERT INTO chat (project, id, family, parent, workspace, setting, state, \
                       turns, cost, agent_cost, created_at, updated_at) \
                       VALUES ('p', ?1, 'first', ?2, '/w', ?3, 'parked', 1, ?4, ?5, 0, 0)";
            db.execute(sql, (id, parent, setting, cost, agent_cost)).unwrap();
        }
        drop(db);
        let options = StoreOptions {
            prices: Arc::default(),
            queue_len: 1,
            readers: 1,
            holder: "a test".to_owned(),
            known_secrets: Default::default(),
            reserve: DiskReserve::default(),
        };
        let opened = Store::open(folder.path(), options).unwrap();
        let project = ProjectId::parse("p").unwrap();
        for (id, spent_before) in [("first", 0), ("fork", 7), ("odd", 0)] {
            let session = SessionId::parse(id).unwrap();
            let chat = opened.catalog.chat(project.clone(), session).await.unwrap().unwrap();
            let status = &chat.status;
            assert_eq!((status.spent_before.pico(), status.is_at_least), (spent_before, false));
            assert_eq!(chat.settings.as_str(), r#"{"model":"m"}"#, "{id}");
        }
        opened.close().await.unwrap();
    }

    const OLDER_FOLDER: &str =
        "INSERT INTO notice_receiver VALUES ('p', 'r', 'webhook', 'ops', 'https://x/…', 'r', \
         '', '[]', 1, NULL, 0, 0);
         INSERT INTO notice_delivery VALUES \
         ('p', 'r', 'n1', 'turn.ended', 's\"1', '{\"a\": 1}', 'delivered', 2, 204, 10, 10, 0, 12), \
         ('p', 'r', 'n2', 'turn.ended', NULL, '{}', 'waiting', 3, 503, 20, 25, 99, 21), \
         ('p', 'r', 'n3', 'test', NULL, '', 'refused', 1, NULL, 30, 30, 0, 31);
         INSERT INTO schedule (project, name, cron, zone, judge, is_on, due_after, created_at) \
         VALUES ('p', 'weekly', '0 2 * * SUN', 'UTC', 'offline', 1, 0, 0);
         INSERT INTO schedule_run VALUES \
         ('p', 'weekly', 100, 'a', 101, 150, 140, 'done', 'it \"went\" well'), \
         ('p', 'weekly', 200, 'b', 201, 250, 240, 'failed', 'no key'), \
         ('p', 'weekly', 300, 'c', 301, 350, NULL, 'running', ''), \
         ('p', 'weekly', 400, '', 400, 400, NULL, 'running', '');
         INSERT INTO scoring_claim VALUES ('p', 's/1', 'session-quality', 'run', 500);";

    /// Suggestions in every state, as folders had them before the backlog.
    const OLDER_SUGGESTIONS: &str = "INSERT INTO suggestion VALUES \
         ('p', 'a-2026-10-04', 'a', 'high', 'tool_mastery', 'Ask \"first\"', 'CLAUDE.md', 'Read it.', \
         'low scores', '[\"s1\",\"s2\"]', '2026-10-04', '2026-10-11', 'done', 10), \
         ('p', 'b-2026-10-04', 'b', 'medium', 'context', 'Limit it', 'system', 'Limit the tool.', \
         'why', '[]', '2026-10-04', '2026-10-04', 'dismissed', 11), \
         ('p', 'c-2026-10-11', 'c', 'medium', 'context', 'C', 'skill', 'Do.', 'why', '[]', \
         '2026-10-11', '2026-10-11', 'accepted', 12), \
         ('p', 'd-2026-10-11', 'd', 'medium', 'context', 'D', 'prompt', 'Do.', 'why', '[]', \
         '2026-10-11', '2026-10-11', 'open', 13);
         INSERT INTO suggestion_step VALUES \
         ('p', 'a-2026-10-04', 1, 'accepted', 'ann', 20), ('p', 'a-2026-10-04', 2, 'done', 'ann', 30), \
         ('p', 'b-2026-10-04', 1, 'dismissed', 'ben', 40), ('p', 'c-2026-10-11', 1, 'accepted', 'ben', 50);";

    #[tokio::test]
    async fn suggestions_of_older_folders_are_proposals_that_keep_what_was_decided() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(CATALOG_FILE);
        let mut db = connection::open(&file, Purpose::Write).unwrap();
        let step = CATALOG_MIGRATIONS.iter().position(|sql| sql.contains("CREATE TABLE proposal"));
        connection::migrate(&mut db, &file, &CATALOG_MIGRATIONS[..step.unwrap()]).unwrap();
        db.execute_batch(OLDER_SUGGESTIONS).unwrap();
        drop(db);
        let catalog = Catalog::apart(&file).unwrap();
        let project = ProjectId::parse("p").unwrap();
        let proposal = async |id: &str| catalog.proposal(project.clone(), id.into()).await.unwrap();
        let done = proposal("a-2026-10-04").await;
        assert_eq!(done.status.state, ProposalState::Promoted);
        assert_eq!(done.content.component, Component::Prompt);
        assert_eq!(
            (done.content.key.as_str(), done.content.title.as_str()),
            ("a", "Ask \"first\"")
        );
        assert_eq!(done.content.sessions, ["s1", "s2"]);
        assert_eq!(
            (done.first_week.as_str(), done.last_week.as_str()),
            ("2026-10-04", "2026-10-11")
        );
        let steps: Vec<_> = done
            .steps
            .iter()
            .map(|step| (step.state, step.actor.as_str(), step.at.nanos()))
            .collect();
        let expected = [(ProposalState::Accepted, "ann", 20), (ProposalState::Promoted, "ann", 30)];
        assert_eq!(steps, expected);
        let dismissed = proposal("b-2026-10-04").await;
        assert_eq!(dismissed.status.state, ProposalState::Rejected);
        assert_eq!(dismissed.status.rejection.unwrap().kind, RejectionKind::Declined);
        assert_eq!(dismissed.content.component, Component::Tool);
        assert_eq!(proposal("c-2026-10-11").await.status.state, ProposalState::Accepted);
        assert_eq!(proposal("d-2026-10-11").await.status.state, ProposalState::New);
        // The quality report still sees them as it did, and can go on with them.
        let seen = catalog.suggestions(project.clone()).await.unwrap();
        let seen: Vec<_> = seen.iter().map(|one| (one.id.as_str(), one.progress)).collect();
        let expected = [
            ("a-2026-10-04", Progress::Done),
            ("c-2026-10-11", Progress::Accepted),
            ("d-2026-10-11", Progress::Open),
            ("b-2026-10-04", Progress::Dismissed),
        ];
        assert_eq!(seen, expected);
        let now = Timestamp::from_nanos(60);
        let (id, open) = ("b-2026-10-04".to_owned(), Progress::Open);
        let again = catalog.decide_suggestion(project.clone(), id, open, now).await.unwrap();
        assert_eq!(again.progress, Progress::Open);
    }

    #[tokio::test]
    async fn deliveries_runs_and_leases_of_older_folders_become_jobs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(CATALOG_FILE);
        let mut db = connection::open(&file, Purpose::Write).unwrap();
        let step = CATALOG_MIGRATIONS.iter().position(|sql| sql.contains("CREATE TABLE job"));
        connection::migrate(&mut db, &file, &CATALOG_MIGRATIONS[..step.unwrap()]).unwrap();
        db.execute_batch(OLDER_FOLDER).unwrap();
        drop(db);
        let catalog = Catalog::apart(&file).unwrap();
        let project = ProjectId::parse("p").unwrap();
        let deliveries = catalog.notice_deliveries(project.clone(), "r".into(), 9).await.unwrap();
        let deliveries: Vec<_> = deliveries
            .into_iter()
            .map(|one| (one.notice, one.session, one.outcome.as_str(), one.tries, one.status))
            .collect();
        let session = Some("s\"1".to_owned());
        let expected = [
            ("n3".to_owned(), None, "refused", 1, None),
            ("n2".to_owned(), None, "waiting", 3, Some(503)),
            ("n1".to_owned(), session, "delivered", 2, Some(204)),
        ];
        assert_eq!(deliveries, expected);
        let job = catalog.job(project.clone(), JobKind::Notice, "r/n2".into()).await.unwrap();
        assert!(job.unwrap().state.is_held, "its receiver is paused");
        let runs = catalog.schedule_runs(project.clone(), "weekly".into(), 9).await.unwrap();
        let until = |run: &ScheduleRun| run.leased_until.map(Timestamp::nanos);
        let runs: Vec<_> = runs
            .iter()
            .map(|run| (run.due_at.nanos(), run.runner.as_str(), until(run), run.message.as_str()))
            .collect();
        let expected = [
            (400, "", None, ""),
            (300, "c", Some(350), ""),
            (200, "b", None, "no key"),
            (100, "a", None, "it \"went\" well"),
        ];
        assert_eq!(runs, expected);
        let claim = |run: &str| ScoringClaim {
            session: "s/1".into(),
            rubric: "session-quality".into(),
            run: run.into(),
        };
        for (run, now, is_ours) in
            [("other", 499, false), ("run", 499, true), ("other", 500, false)]
        {
            let now = Timestamp::from_nanos(now);
            let lease = (claim(run), Duration::from_nanos(100));
            let claimed = catalog.claim_session(project.clone(), lease, now).await.unwrap();
            assert_eq!(claimed, is_ours, "{run}");
        }
    }
}
