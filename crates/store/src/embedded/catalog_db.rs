//! The catalog in SQLite, in the SQL it shares with PostgreSQL.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ratchet_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;
use uuid::Uuid;

use super::column::Column;
use super::connection::{self, Purpose};
use super::credentials::{self, hash_password, hash_secret, hint, random_pair};
use super::lock::Lock;
use super::{CATALOG_MIGRATIONS, sqlite_error};
use crate::catalog::{ApiKey, KeyPair, NewKey, NewProject, NewUser, Project, Role, User};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// The catalog database. Small: one connection serves everyone.
#[derive(Clone, Debug)]
pub struct CatalogDb {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    file: PathBuf,
    db: Mutex<Connection>,
    /// Keys by their public half, so that authenticating a request needs no database.
    keys: Mutex<FxHashMap<String, Arc<StoredKey>>>,
    _lock: Arc<Lock>,
}

#[derive(Debug)]
struct StoredKey {
    key: ApiKey,
    salt: String,
    secret_hash: String,
}

const KEY_COLUMNS: &str =
    "id, project, public_key, secret_hint, role, note, created_at, salt, secret_hash";

impl CatalogDb {
    pub(super) fn open(file: PathBuf, lock: Arc<Lock>) -> StoreResult<Self> {
        let mut db = connection::open(&file, Purpose::Write)?;
        connection::migrate(&mut db, &file, CATALOG_MIGRATIONS)?;
        let keys = Mutex::new(FxHashMap::default());
        let shared = Shared { file, db: Mutex::new(db), keys, _lock: lock };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(super) fn file(&self) -> &Path {
        &self.shared.file
    }

    /// Runs a statement on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        let shared = self.shared.clone();
        let work = move || {
            let mut db = shared.db.lock().map_err(|_| StoreError::Closing)?;
            work(&mut db).map_err(|error| sqlite_error(&shared.file, error))
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Closing))
    }

    pub(crate) async fn create_project(
        &self,
        new: NewProject,
        now: Timestamp,
    ) -> StoreResult<Project> {
        let NewProject { id, name, retention_days } = new;
        let project = Project { id, name, retention_days, created_at: now };
        let row = project.clone();
        let what = format!("a project with id {} or name {}", row.id, row.name);
        let sql = "INSERT INTO project (id, name, retention_days, created_at) \
                   VALUES ($1, $2, $3, $4)";
        self.run(move |db| {
            let at = Column(row.created_at);
            db.execute(sql, params![row.id.as_str(), row.name, row.retention_days, at])
        })
        .await
        .map_err(|error| taken(error, what))?;
        Ok(project)
    }

    pub(crate) async fn projects(&self) -> StoreResult<Vec<Project>> {
        self.run(|db| {
            let sql = "SELECT id, name, retention_days, created_at FROM project \
                       ORDER BY created_at, id";
            db.prepare_cached(sql)?.query_map([], read_project)?.collect()
        })
        .await
    }

    pub(crate) async fn set_retention(
        &self,
        id: ProjectId,
        days: Option<u32>,
    ) -> StoreResult<Project> {
        let missing = format!("project {id}");
        let changed = self.run(move |db| {
            db.execute(
                "UPDATE project SET retention_days = $1 WHERE id = $2",
                params![days, id.as_str()],
            )?;
            let sql = "SELECT id, name, retention_days, created_at FROM project WHERE id = $1";
            db.query_row(sql, [id.as_str()], read_project).optional()
        });
        changed.await?.ok_or(StoreError::NotFound(missing))
    }

    pub(crate) async fn create_key(
        &self,
        new: NewKey,
        now: Timestamp,
    ) -> StoreResult<(ApiKey, KeyPair)> {
        let NewKey { project, role, note, pair } = new;
        let missing = format!("project {project}");
        let pair = pair.unwrap_or_else(random_pair);
        let salt = Uuid::new_v4().simple().to_string();
        let secret_hash = hash_secret(&salt, pair.secret_key.expose());
        let key = ApiKey {
            id: Uuid::new_v4().to_string(),
            project,
            public_key: pair.public_key.clone(),
            secret_hint: hint(pair.secret_key.expose()),
            role,
            note,
            created_at: now,
        };
        let row = key.clone();
        let exists = format!("the public key {}", key.public_key);
        let sql = "INSERT INTO api_key (id, project, public_key, secret_hint, role, note, \
                   created_at, salt, secret_hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let insert = self.run(move |db| {
            let known = "SELECT EXISTS (SELECT 1 FROM project WHERE id = $1)";
            if !db.query_row(known, [row.project.as_str()], |row| row.get(0))? {
                return Ok(false);
            }
            let (project, role, at) = (row.project.as_str(), row.role.as_str(), Column(now));
            let (public, hint) = (&row.public_key, &row.secret_hint);
            db.execute(
                sql,
                params![row.id, project, public, hint, role, row.note, at, salt, secret_hash],
            )?;
            Ok(true)
        });
        let is_made = insert.await.map_err(|error| taken(error, exists))?;
        if is_made { Ok((key, pair)) } else { Err(StoreError::NotFound(missing)) }
    }

    pub(crate) async fn keys(&self, project: ProjectId) -> StoreResult<Vec<ApiKey>> {
        self.run(move |db| {
            let sql = format!(
                "SELECT {KEY_COLUMNS} FROM api_key WHERE project = $1 ORDER BY created_at, id"
            );
            let mut statement = db.prepare_cached(&sql)?;
            let rows = statement.query_map([project.as_str()], read_key)?;
            rows.map(|row| row.map(|stored| stored.key)).collect()
        })
        .await
    }

    pub(crate) async fn revoke_key(&self, project: ProjectId, key: String) -> StoreResult<ApiKey> {
        let missing = format!("key {key}");
        let revoked = self.run(move |db| {
            let which = "project = $1 AND (id = $2 OR public_key = $2)";
            let find = format!("SELECT {KEY_COLUMNS} FROM api_key WHERE {which}");
            let found = db.query_row(&find, params![project.as_str(), key], read_key).optional()?;
            let delete = format!("DELETE FROM api_key WHERE {which}");
            db.execute(&delete, params![project.as_str(), key])?;
            Ok(found)
        });
        let stored = revoked.await?.ok_or(StoreError::NotFound(missing))?;
        self.forget_key(&stored.key.public_key);
        Ok(stored.key)
    }

    pub(crate) async fn authenticate(
        &self,
        public: &str,
        secret: &str,
    ) -> StoreResult<Option<ApiKey>> {
        let stored = self.stored_key(public).await?;
        // An unknown key is hashed and compared all the same, so that time tells nothing.
        let (salt, expected) = stored
            .as_ref()
            .map_or(("", ""), |stored| (stored.salt.as_str(), stored.secret_hash.as_str()));
        let is_right = credentials::matches(salt, secret, expected);
        Ok(stored.filter(|_| is_right).map(|stored| stored.key.clone()))
    }

    pub(crate) async fn public_key(&self, public: &str) -> StoreResult<Option<ApiKey>> {
        Ok(self.stored_key(public).await?.map(|stored| stored.key.clone()))
    }

    async fn stored_key(&self, public: &str) -> StoreResult<Option<Arc<StoredKey>>> {
        let cached = self.shared.keys.lock().ok().and_then(|keys| keys.get(public).cloned());
        if cached.is_some() {
            return Ok(cached);
        }
        let wanted = public.to_owned();
        let found = self
            .run(move |db| {
                let sql = format!("SELECT {KEY_COLUMNS} FROM api_key WHERE public_key = $1");
                db.prepare_cached(&sql)?.query_row([wanted], read_key).optional()
            })
            .await?
            .map(Arc::new);
        if let (Some(stored), Ok(mut keys)) = (&found, self.shared.keys.lock()) {
            keys.insert(stored.key.public_key.clone(), stored.clone());
        }
        Ok(found)
    }

    fn forget_key(&self, public: &str) {
        if let Ok(mut keys) = self.shared.keys.lock() {
            keys.remove(public);
        }
    }

    pub(crate) async fn create_user(&self, new: NewUser, now: Timestamp) -> StoreResult<User> {
        let NewUser { email, password, role } = new;
        let user = User { id: Uuid::new_v4().to_string(), email, role, created_at: now };
        let row = user.clone();
        let exists = format!("a person with email {}", user.email);
        let sql = "INSERT INTO person (id, email, password_hash, role, created_at) \
                   VALUES ($1, $2, $3, $4, $5)";
        self.run(move |db| {
            let hash = hash_password(&password).map_err(rusqlite::Error::ToSqlConversionFailure)?;
            let (role, at) = (row.role.as_str(), Column(row.created_at));
            db.execute(sql, params![row.id, row.email, hash, role, at])
        })
        .await
        .map_err(|error| taken(error, exists))?;
        Ok(user)
    }

    pub(crate) async fn users(&self) -> StoreResult<Vec<User>> {
        self.run(|db| {
            let sql = "SELECT id, email, role, created_at FROM person ORDER BY created_at, id";
            db.prepare_cached(sql)?.query_map([], read_user)?.collect()
        })
        .await
    }
}

fn taken(error: StoreError, what: String) -> StoreError {
    match error {
        StoreError::Database(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
        {
            StoreError::Exists(what)
        }
        other => other,
    }
}

fn role(row: &Row<'_>, column: usize) -> rusqlite::Result<Role> {
    // A role this binary does not know may do the least.
    Ok(Role::parse(row.get_ref(column)?.as_str()?).unwrap_or(Role::IngestOnly))
}

fn project_id(row: &Row<'_>, column: usize) -> rusqlite::Result<ProjectId> {
    ProjectId::parse(row.get_ref(column)?.as_str()?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

fn read_project(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        id: project_id(row, 0)?,
        name: row.get(1)?,
        retention_days: row.get(2)?,
        created_at: row.get::<_, Column<_>>(3)?.0,
    })
}

fn read_key(row: &Row<'_>) -> rusqlite::Result<StoredKey> {
    let key = ApiKey {
        id: row.get(0)?,
        project: project_id(row, 1)?,
        public_key: row.get(2)?,
        secret_hint: row.get(3)?,
        role: role(row, 4)?,
        note: row.get(5)?,
        created_at: row.get::<_, Column<_>>(6)?.0,
    };
    Ok(StoredKey { key, salt: row.get(7)?, secret_hash: row.get(8)? })
}

fn read_user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: row.get(0)?,
        email: row.get(1)?,
        role: role(row, 2)?,
        created_at: row.get::<_, Column<_>>(3)?.0,
    })
}
