use anyhow::Context;
use clap::{Args, Subcommand};
use ratchet_server::api::keys::{KeyRequest, KeyView, NewKeyView, PermissionsRequest};

use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::table;
use crate::runtime;

/// How a key is made that has no permission though its role usually has.
const NO_PERMISSION: &str = "none";

/// `ratchet keys …`
#[derive(Args, Debug)]
pub(crate) struct KeysCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a key; its secret is shown only once
    Create(CreateArgs),
    /// List the keys of a project
    List(ProjectArgs),
    /// Grant server-wide permissions to a key
    Grant(PermissionArgs),
    /// Remove server-wide permissions from a key
    Withdraw(PermissionArgs),
    /// Revoke a key at once
    Revoke(RevokeArgs),
}

#[derive(Args, Debug)]
struct CreateArgs {
    /// Role in the project: owner, member, viewer, reviewer or ingest-only
    #[arg(long, default_value = "member")]
    role: String,
    /// Server-wide permissions: chat, backup, administration, or none [default: none; all for an owner's key]
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    permissions: Option<Vec<String>>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Whose queues a key with the role reviewer sees: email or user ID
    #[arg(long, value_name = "EMAIL")]
    person: Option<String>,
    #[command(flatten)]
    keys: ProjectArgs,
}

#[derive(Args, Debug)]
struct PermissionArgs {
    /// Key ID or public key
    key: String,
    /// chat (run agents on the server), backup (download all data) or administration (manage projects, keys and users)
    #[arg(value_name = "PERMISSION", required = true, value_delimiter = ',')]
    permissions: Vec<String>,
    #[command(flatten)]
    keys: ProjectArgs,
}

#[derive(Args, Debug)]
struct RevokeArgs {
    /// Key ID or public key
    key: String,
    #[command(flatten)]
    keys: ProjectArgs,
}

/// Runs `ratchet keys`.
pub(crate) fn run(command: &KeysCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::Create(args) => create(args).await,
            Action::List(args) => list(args).await,
            Action::Grant(args) => change(args, Change::Grant).await,
            Action::Withdraw(args) => change(args, Change::Withdraw).await,
            Action::Revoke(args) => revoke(args).await,
        }
    })
}

async fn create(args: &CreateArgs) -> anyhow::Result<Outcome> {
    let keys = &args.keys;
    let permissions = args.permissions.clone().map(|mut names| {
        names.retain(|name| name != NO_PERMISSION);
        names
    });
    let (role, note) = (Some(args.role.clone()), args.note.clone());
    let request = KeyRequest { role, permissions, note, person: args.person.clone() };
    let made = data_target::with_project(keys, "ratchet keys create", async |target, project| {
        target.create_key(&project.id, request).await
    });
    keys.output.show(&made.await?, new_key_text)?;
    Ok(Outcome::Done)
}

fn new_key_text(made: &NewKeyView) -> String {
    format!(
        "Created a key with the role {}{}. The secret is shown only once; store it safely:\n\n  \
         public key  {}\n  secret key  {}\n",
        role_text(&made.key),
        permissions_text(&made.key),
        made.key.public_key,
        made.secret_key
    )
}

/// The role, and with the role reviewer whose key it is.
fn role_text(key: &KeyView) -> String {
    match &key.person {
        Some(person) => format!("{} of {person}", key.role),
        None => key.role.clone(),
    }
}

/// What it may do beyond its project, as the end of a sentence.
fn permissions_text(key: &KeyView) -> String {
    match key.permissions.as_slice() {
        [] => String::new(),
        all => format!(" and the permissions {}", all.join(", ")),
    }
}

async fn list(args: &ProjectArgs) -> anyhow::Result<Outcome> {
    let keys = data_target::with_project(args, "ratchet keys list", async |target, project| {
        target.keys(&project.id).await
    });
    args.output.show(&keys.await?, |keys| {
        let rows: Vec<_> = keys.iter().map(row).collect();
        table(
            ["ID", "PUBLIC KEY", "SECRET", "ROLE", "PERMISSIONS", "CREATED", "DESCRIPTION"],
            &rows,
        )
    })?;
    Ok(Outcome::Done)
}

fn row(key: &KeyView) -> [String; 7] {
    let KeyView { id, public_key, secret_hint, permissions, created_at, note, .. } = key;
    let (note, permissions) = (note.as_deref().unwrap_or_default(), permissions.join(","));
    let role = role_text(key);
    [id, public_key, secret_hint, &role, &permissions, created_at, note].map(str::to_owned)
}

/// What becomes of permissions that are named.
#[derive(Clone, Copy, Debug)]
enum Change {
    Grant,
    Withdraw,
}

async fn change(args: &PermissionArgs, change: Change) -> anyhow::Result<Outcome> {
    let (keys, named) = (&args.keys, &args.permissions);
    let command = match change {
        Change::Grant => "ratchet keys grant",
        Change::Withdraw => "ratchet keys withdraw",
    };
    // A name that is none of them would be withdrawn in silence.
    PermissionsRequest { permissions: named.clone() }.check()?;
    let changed = data_target::with_project(keys, command, async |target, project| {
        let all = target.keys(&project.id).await?;
        let found = all.into_iter().find(|key| key.id == args.key || key.public_key == args.key);
        let found = found
            .with_context(|| format!("the project {} has no key {}", project.name, args.key))?;
        let mut permissions = found.permissions;
        permissions.retain(|has| !named.contains(has));
        if let Change::Grant = change {
            permissions.extend_from_slice(named);
        }
        target.permit_key(&project.id, &found.id, PermissionsRequest { permissions }).await
    });
    keys.output.show(&changed.await?, |key| {
        format!("{} has the role {}{}\n", key.public_key, key.role, permissions_text(key))
    })?;
    Ok(Outcome::Done)
}

async fn revoke(args: &RevokeArgs) -> anyhow::Result<Outcome> {
    let keys = &args.keys;
    let revoked =
        data_target::with_project(keys, "ratchet keys revoke", async |target, project| {
            target.revoke_key(&project.id, &args.key).await
        });
    keys.output.show(&revoked.await?, |key| format!("{} is revoked\n", key.public_key))?;
    Ok(Outcome::Done)
}
