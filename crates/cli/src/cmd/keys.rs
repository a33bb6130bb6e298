use clap::{Args, Subcommand};
use ratchet_server::api::keys::{KeyRequest, KeyView, NewKeyView};

use crate::exit::Outcome;
use crate::print::{OutputArgs, table};
use crate::runtime;
use crate::target::{Target, TargetArgs};

/// `ratchet keys …`
#[derive(Args, Debug)]
pub(crate) struct KeysCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and show its secret this once
    Create(CreateArgs),
    /// List the keys of a project
    List(KeysArgs),
    /// Revoke a key at once
    Revoke(RevokeArgs),
}

#[derive(Args, Debug)]
struct KeysArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Which project, by name or id; needed only if there are several
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct CreateArgs {
    /// What the key may do: owner, member, viewer or ingest-only
    #[arg(long, default_value = "member")]
    role: String,
    /// What the key is for
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    keys: KeysArgs,
}

#[derive(Args, Debug)]
struct RevokeArgs {
    /// The key, by its id or its public half
    key: String,
    #[command(flatten)]
    keys: KeysArgs,
}

/// Runs `ratchet keys`.
pub(crate) fn run(command: &KeysCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::Create(args) => create(args).await,
            Action::List(args) => list(args).await,
            Action::Revoke(args) => revoke(args).await,
        }
    })
}

async fn create(args: &CreateArgs) -> anyhow::Result<Outcome> {
    let keys = &args.keys;
    let request = KeyRequest { role: args.role.clone(), note: args.note.clone() };
    let made = Target::with(&keys.target, "ratchet keys create", async |target| {
        let project = target.project(keys.project.as_deref()).await?;
        target.create_key(&project.id, request).await
    });
    keys.output.show(&made.await?, new_key_text)?;
    Ok(Outcome::Done)
}

fn new_key_text(made: &NewKeyView) -> String {
    format!(
        "A key with the role {}. Its secret is shown this once; keep it:\n\n  \
         public key  {}\n  secret key  {}\n",
        made.key.role, made.key.public_key, made.secret_key
    )
}

async fn list(args: &KeysArgs) -> anyhow::Result<Outcome> {
    let keys = Target::with(&args.target, "ratchet keys list", async |target| {
        let project = target.project(args.project.as_deref()).await?;
        target.keys(&project.id).await
    });
    args.output.show(&keys.await?, |keys| {
        let rows: Vec<_> = keys.iter().map(row).collect();
        table(["ID", "PUBLIC KEY", "SECRET", "ROLE", "SINCE", "NOTE"], &rows)
    })?;
    Ok(Outcome::Done)
}

fn row(key: &KeyView) -> [String; 6] {
    let KeyView { id, public_key, secret_hint, role, created_at, note, .. } = key;
    let note = note.as_deref().unwrap_or_default();
    [id, public_key, secret_hint, role, created_at, note].map(str::to_owned)
}

async fn revoke(args: &RevokeArgs) -> anyhow::Result<Outcome> {
    let keys = &args.keys;
    let revoked = Target::with(&keys.target, "ratchet keys revoke", async |target| {
        let project = target.project(keys.project.as_deref()).await?;
        target.revoke_key(&project.id, &args.key).await
    });
    keys.output.show(&revoked.await?, |key| format!("{} is revoked\n", key.public_key))?;
    Ok(Outcome::Done)
}
