use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;

use crate::StoreResult;
use crate::embedded;
use crate::project::ProjectId;

/// What a key or a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Write telemetry and nothing else.
    IngestOnly,
    /// Look at everything.
    Viewer,
    /// Look, record and judge.
    Member,
    /// Everything, keys and projects included.
    Owner,
}

impl Role {
    /// Every role, least first.
    pub const ALL: [Self; 4] = [Self::IngestOnly, Self::Viewer, Self::Member, Self::Owner];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IngestOnly => "ingest-only",
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Owner => "owner",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

/// A project: the border around traces, keys and everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Which project.
    pub id: ProjectId,
    /// What people call it; unique.
    pub name: String,
    /// Days to keep telemetry; forever when `None`.
    pub retention_days: Option<u32>,
    /// Since when.
    pub created_at: Timestamp,
}

/// A project to be made.
#[derive(Clone, Debug)]
pub struct NewProject {
    /// Its id.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Days to keep telemetry; forever when `None`.
    pub retention_days: Option<u32>,
}

/// An API key. The secret itself is not kept, only a salted hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Names the key for people and for revoking.
    pub id: String,
    /// Which project it opens.
    pub project: ProjectId,
    /// The half that is no secret.
    pub public_key: String,
    /// The end of the secret, to tell keys apart.
    pub secret_hint: String,
    /// What it may do.
    pub role: Role,
    /// What it is for.
    pub note: Option<String>,
    /// Since when.
    pub created_at: Timestamp,
}

/// A key to be made.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Which project it opens.
    pub project: ProjectId,
    /// What it may do.
    pub role: Role,
    /// What it is for.
    pub note: Option<String>,
    /// The pair to use; a random one when `None`.
    pub pair: Option<KeyPair>,
}

/// The two halves of a key, shown once.
#[derive(Clone, Debug)]
pub struct KeyPair {
    /// The half that is no secret.
    pub public_key: String,
    /// The secret half.
    pub secret_key: Secret,
}

/// A person who may sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Names the person in the database.
    pub id: String,
    /// Names the person for people; unique.
    pub email: String,
    /// What they may do.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
}

/// The catalog interface: projects, keys and people.
#[derive(Clone, Debug)]
pub enum Catalog {
    /// SQLite in one folder.
    Embedded(embedded::CatalogDb),
}

impl Catalog {
    /// Makes a project.
    ///
    /// # Errors
    /// Fails if its id or its name is taken.
    pub async fn create_project(&self, new: NewProject, now: Timestamp) -> StoreResult<Project> {
        match self {
            Self::Embedded(db) => db.create_project(new, now).await,
        }
    }

    /// Returns all projects, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn projects(&self) -> StoreResult<Vec<Project>> {
        match self {
            Self::Embedded(db) => db.projects().await,
        }
    }

    /// Sets how long a project's telemetry is kept.
    ///
    /// # Errors
    /// Fails if there is no such project.
    pub async fn set_retention(&self, id: ProjectId, days: Option<u32>) -> StoreResult<Project> {
        match self {
            Self::Embedded(db) => db.set_retention(id, days).await,
        }
    }

    /// Makes a key. The pair in the answer is the only time the secret can be seen.
    ///
    /// # Errors
    /// Fails if the project does not exist or the public key is taken.
    pub async fn create_key(&self, new: NewKey, now: Timestamp) -> StoreResult<(ApiKey, KeyPair)> {
        match self {
            Self::Embedded(db) => db.create_key(new, now).await,
        }
    }

    /// Returns the keys of a project, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn keys(&self, project: ProjectId) -> StoreResult<Vec<ApiKey>> {
        match self {
            Self::Embedded(db) => db.keys(project).await,
        }
    }

    /// Revokes a key, named by its id or its public key.
    ///
    /// # Errors
    /// Fails if the project has no such key.
    pub async fn revoke_key(&self, project: ProjectId, key: String) -> StoreResult<ApiKey> {
        match self {
            Self::Embedded(db) => db.revoke_key(project, key).await,
        }
    }

    /// Returns the key if both halves are right. Takes the same time either way.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn authenticate(&self, public: &str, secret: &str) -> StoreResult<Option<ApiKey>> {
        match self {
            Self::Embedded(db) => db.authenticate(public, secret).await,
        }
    }

    /// Returns the key with this public half: enough to send feedback from a browser.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn public_key(&self, public: &str) -> StoreResult<Option<ApiKey>> {
        match self {
            Self::Embedded(db) => db.public_key(public).await,
        }
    }

    /// Makes a person who may sign in. Only a slow hash of the password is kept.
    ///
    /// # Errors
    /// Fails if the email is taken.
    pub async fn create_user(&self, new: NewUser, now: Timestamp) -> StoreResult<User> {
        match self {
            Self::Embedded(db) => db.create_user(new, now).await,
        }
    }

    /// Returns everyone who may sign in.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn users(&self) -> StoreResult<Vec<User>> {
        match self {
            Self::Embedded(db) => db.users().await,
        }
    }
}

/// A person to be made.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Names the person for people.
    pub email: String,
    /// What they sign in with.
    pub password: Secret,
    /// What they may do.
    pub role: Role,
}
