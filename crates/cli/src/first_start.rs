//! What a new data folder needs before it is of use: a project, keys for it, and an owner.
//!
//! Presets (`RATCHET_INIT_…`) may name any of them beforehand. An owner who is not named is set up
//! in the browser, with the token that the server prints. Applying presets again changes
//! nothing, so that they can stay in a unit file or a container's environment for good.

use anyhow::{Context, bail, ensure};
use ratchet_core::catalog::account::{Email, PASSWORD_CHARS, is_password};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{
    Catalog, KeyPair, NewKey, NewProject, NewUser, Permissions, Project, Role,
};
use ratchet_store::project::ProjectId;
use ratchet_store::secrets::random_token;

use crate::config::Init;

const DEFAULT_PROJECT: &str = "default";

/// Validated `RATCHET_INIT_…` settings: what the first start creates.
#[derive(Clone, Debug, Default)]
pub(crate) struct InitialSetup {
    project: Option<NewProject>,
    pair: Option<KeyPair>,
    owner: Option<NewUser>,
}

/// Result of a start: the default project and secrets created for it.
#[derive(Clone, Debug)]
pub(crate) struct StartOutcome {
    /// The default project of clients.
    pub(crate) project: Project,
    /// New keys; their secrets are shown once.
    pub(crate) new_keys: Option<FirstKeys>,
    /// Setup token for the first owner, while there is no user.
    pub(crate) set_up_token: Option<Secret>,
}

/// Where the first keys are printed. Secrets are shown once, so keys are created only if they can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstKeysFor {
    Reader,
    /// A command that shows none. The first server that does makes them.
    Nobody,
}

/// The keys of a new project.
#[derive(Clone, Debug)]
pub(crate) struct FirstKeys {
    /// For SDKs: records, and reads and changes what the project holds, and nothing beyond it.
    pub(crate) sdk: KeyPair,
    /// For commands with `--server`: an owner's, with every permission.
    pub(crate) owner: KeyPair,
}

impl InitialSetup {
    /// Checks presets before anything is touched.
    pub(crate) fn check(init: &Init) -> anyhow::Result<Self> {
        let pair = pair_of(init)?;
        let project = project_of(init)?;
        ensure!(
            project.is_some() || (pair.is_none() && init.project_name.is_none()),
            "RATCHET_INIT_PROJECT_ID is missing; it is required with a preset key or project name"
        );
        Ok(Self { project, pair, owner: owner_of(init)? })
    }
}

fn project_of(init: &Init) -> anyhow::Result<Option<NewProject>> {
    let Some(id) = &init.project_id else { return Ok(None) };
    let id = ProjectId::parse(id)
        .with_context(|| format!("RATCHET_INIT_PROJECT_ID is \"{id}\", which is not a valid ID"))?;
    let name = init.project_name.clone().unwrap_or_else(|| id.to_string());
    Ok(Some(NewProject { id, name, retention_days: None }))
}

fn pair_of(init: &Init) -> anyhow::Result<Option<KeyPair>> {
    let (public_key, secret_key) = match (&init.public_key, &init.secret_key) {
        (Some(public_key), Some(secret_key)) => (public_key.clone(), secret_key.clone()),
        (None, None) => return Ok(None),
        (Some(_), None) => {
            bail!("RATCHET_INIT_SECRET_KEY is missing; it is required with the public key")
        }
        (None, Some(_)) => {
            bail!("RATCHET_INIT_PUBLIC_KEY is missing; it is required with the secret key")
        }
    };
    ensure!(
        is_graphic(&public_key) && !public_key.contains(':'),
        "RATCHET_INIT_PUBLIC_KEY must be visible ASCII without spaces and colons"
    );
    ensure!(
        is_graphic(secret_key.expose()),
        "RATCHET_INIT_SECRET_KEY must be visible ASCII without spaces"
    );
    Ok(Some(KeyPair { public_key, secret_key }))
}

fn owner_of(init: &Init) -> anyhow::Result<Option<NewUser>> {
    let (email, password) = match (&init.owner_email, &init.owner_password) {
        (Some(email), Some(password)) => (email, password.clone()),
        (None, None) => return Ok(None),
        (Some(_), None) => {
            bail!("RATCHET_INIT_OWNER_PASSWORD is missing; it is required with the email")
        }
        (None, Some(_)) => {
            bail!("RATCHET_INIT_OWNER_EMAIL is missing; it is required with the password")
        }
    };
    let email = Email::parse(email).with_context(|| {
        format!("RATCHET_INIT_OWNER_EMAIL is \"{email}\", which is not a valid email address")
    })?;
    let (least, most) = (PASSWORD_CHARS.start(), PASSWORD_CHARS.end());
    ensure!(
        is_password(password.expose()),
        "RATCHET_INIT_OWNER_PASSWORD must have {least} to {most} characters"
    );
    Ok(Some(NewUser { email, name: None, password, role: Role::Owner, project: None }))
}

fn is_graphic(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic())
}

impl InitialSetup {
    pub(crate) async fn apply(
        self,
        catalog: &Catalog,
        first_keys: FirstKeysFor,
        now: Timestamp,
    ) -> anyhow::Result<StartOutcome> {
        if let Some(owner) = self.owner {
            ensure_owner(catalog, owner, now).await?;
        }
        let existing = find_project(catalog, self.project.as_ref()).await?;
        let is_new_project = existing.is_none();
        let project = match existing {
            Some(project) => project,
            None => create_project(catalog, self.project, now).await?,
        };
        let has_users = catalog.has_users().await?;
        // Users create keys on a page, and may have revoked all.
        let lacks_keys =
            is_new_project || (!has_users && catalog.keys(project.id.clone()).await?.is_empty());
        let new_keys = match (self.pair, first_keys) {
            (Some(pair), _) => ensure_key(catalog, &project, pair, now).await.map(|()| None)?,
            (None, FirstKeysFor::Reader) if lacks_keys => {
                Some(create_keys(catalog, &project, now).await?)
            }
            (None, FirstKeysFor::Reader | FirstKeysFor::Nobody) => None,
        };
        let set_up_token = if has_users { None } else { Some(random_token()?) };
        Ok(StartOutcome { project, new_keys, set_up_token })
    }
}

/// Creates the owner unless a user has that address, whose password is unchanged.
async fn ensure_owner(catalog: &Catalog, owner: NewUser, now: Timestamp) -> anyhow::Result<()> {
    match catalog.create_user(owner, now).await {
        Ok(_) | Err(StoreError::Exists(_)) => Ok(()),
        Err(error) => Err(error).context("cannot create the owner"),
    }
}

async fn find_project(
    catalog: &Catalog,
    preset: Option<&NewProject>,
) -> anyhow::Result<Option<Project>> {
    let projects = catalog.projects().await?;
    let is_wanted = |project: &Project| preset.is_none_or(|preset| preset.id == project.id);
    Ok(projects.into_iter().find(is_wanted))
}

async fn create_project(
    catalog: &Catalog,
    preset: Option<NewProject>,
    now: Timestamp,
) -> anyhow::Result<Project> {
    let new = preset.unwrap_or_else(|| NewProject {
        id: ProjectId::random(),
        name: DEFAULT_PROJECT.to_owned(),
        retention_days: None,
    });
    let what = format!("cannot create the project {} ({})", new.name, new.id);
    catalog.create_project(new, now).await.context(what)
}

async fn create_keys(
    catalog: &Catalog,
    project: &Project,
    now: Timestamp,
) -> anyhow::Result<FirstKeys> {
    let create = async |role, what: &str| {
        let note = Some(format!("{what}, created at first start"));
        let (project, permissions) = (project.id.clone(), Permissions::usual(role));
        let new = NewKey { project, role, permissions, note, person: None, pair: None };
        anyhow::Ok(catalog.create_key(new, now).await.context("cannot create the first keys")?.1)
    };
    let sdk = create(Role::Member, "SDKs").await?;
    Ok(FirstKeys { sdk, owner: create(Role::Owner, "ratchet --server").await? })
}

/// Makes the preset key unless the very same is there.
async fn ensure_key(
    catalog: &Catalog,
    project: &Project,
    pair: KeyPair,
    now: Timestamp,
) -> anyhow::Result<()> {
    let public = pair.public_key.clone();
    let Some(existing) = catalog.public_key(&public).await? else {
        let note = Some("preset by RATCHET_INIT_PUBLIC_KEY".to_owned());
        let (project, role) = (project.id.clone(), Role::Owner);
        let permissions = Permissions::usual(role);
        let new = NewKey { project, role, permissions, note, person: None, pair: Some(pair) };
        catalog.create_key(new, now).await.context("cannot create the preset key")?;
        return Ok(());
    };
    ensure!(
        existing.project == project.id,
        "the preset key {public} already belongs to the project {}, not {}",
        existing.project,
        project.id
    );
    let is_same = catalog.authenticate(&public, pair.secret_key.expose()).await?.is_some();
    ensure!(
        is_same,
        "the preset key {public} exists with another secret; \
         revoke it with `ratchet keys revoke {public}` or change RATCHET_INIT_SECRET_KEY"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Option<Secret> {
        Some(Secret::new(text))
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[track_caller]
    fn check_refused(init: &Init, expected: &str) {
        assert_eq!(InitialSetup::check(init).unwrap_err().to_string(), expected);
    }

    #[test]
    fn no_preset_is_fine() {
        assert!(InitialSetup::check(&Init::default()).unwrap().project.is_none());
    }

    #[test]
    fn halves_come_together() {
        check_refused(
            &Init { public_key: text("pk"), ..Init::default() },
            "RATCHET_INIT_SECRET_KEY is missing; it is required with the public key",
        );
        check_refused(
            &Init { secret_key: secret("sk"), ..Init::default() },
            "RATCHET_INIT_PUBLIC_KEY is missing; it is required with the secret key",
        );
        check_refused(
            &Init { owner_email: text("a@b"), ..Init::default() },
            "RATCHET_INIT_OWNER_PASSWORD is missing; it is required with the email",
        );
        check_refused(
            &Init { owner_password: secret("12345678"), ..Init::default() },
            "RATCHET_INIT_OWNER_EMAIL is missing; it is required with the password",
        );
    }

    #[test]
    fn a_key_needs_a_project() {
        check_refused(
            &Init { public_key: text("pk"), secret_key: secret("sk"), ..Init::default() },
            "RATCHET_INIT_PROJECT_ID is missing; it is required with a preset key or project name",
        );
        check_refused(
            &Init { project_name: text("shop"), ..Init::default() },
            "RATCHET_INIT_PROJECT_ID is missing; it is required with a preset key or project name",
        );
    }

    #[test]
    fn values_must_work_where_they_are_used() {
        let keys = |public: &str, secret_key: &str| Init {
            project_id: text("p"),
            public_key: text(public),
            secret_key: secret(secret_key),
            ..Init::default()
        };
        let public = "RATCHET_INIT_PUBLIC_KEY must be visible ASCII without spaces and colons";
        check_refused(&keys("pk:1", "sk"), public);
        check_refused(&keys("pk 1", "sk"), public);
        check_refused(
            &keys("pk", "s k"),
            "RATCHET_INIT_SECRET_KEY must be visible ASCII without spaces",
        );
        let owner = |email: &str, password: &str| Init {
            owner_email: text(email),
            owner_password: secret(password),
            ..Init::default()
        };
        check_refused(
            &owner("me", "12345678"),
            "RATCHET_INIT_OWNER_EMAIL is \"me\", which is not a valid email address",
        );
        check_refused(
            &owner("a@b", "short"),
            "RATCHET_INIT_OWNER_PASSWORD must have 8 to 256 characters",
        );
        check_refused(
            &Init { project_id: text("a/b"), ..Init::default() },
            "RATCHET_INIT_PROJECT_ID is \"a/b\", which is not a valid ID",
        );
    }

    #[test]
    fn secrets_do_not_show() {
        let init = Init {
            project_id: text("p"),
            public_key: text("pk"),
            secret_key: secret("hush"),
            ..Init::default()
        };
        assert!(!format!("{:?}", InitialSetup::check(&init).unwrap()).contains("hush"));
    }
}
