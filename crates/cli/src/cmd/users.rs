use std::io::Read;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use ratchet_server::api::users::{PasswordRequest, UserRequest, UserView, UserWithPassword};

use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, table};
use crate::runtime;

/// `ratchet users …`
#[derive(Args, Debug)]
pub(crate) struct UsersCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a user; the password is shown only once
    Create(NewUserArgs),
    /// List users
    List(UsersArgs),
    /// Reset a password and end all logins of the user
    Password(PasswordArgs),
    /// Remove a user; their scores and comments are kept
    Remove(RemoveArgs),
}

#[derive(Args, Debug)]
struct UsersArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct NewUserArgs {
    /// Email address
    email: String,
    /// Role: owner, member, viewer or reviewer
    #[arg(long, default_value = "member")]
    role: String,
    /// Display name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Project name or ID; required only if there are several. Owners can access all projects
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Read the password from the first line of stdin instead of generating one
    #[arg(long)]
    password_stdin: bool,
    #[command(flatten)]
    users: UsersArgs,
}

#[derive(Args, Debug)]
struct PasswordArgs {
    /// Email or user ID
    user: String,
    /// Read the password from the first line of stdin instead of generating one
    #[arg(long)]
    password_stdin: bool,
    #[command(flatten)]
    users: UsersArgs,
}

#[derive(Args, Debug)]
struct RemoveArgs {
    /// Email or user ID
    user: String,
    #[command(flatten)]
    users: UsersArgs,
}

/// Runs `ratchet users`.
pub(crate) fn run(command: &UsersCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::Create(args) => create(args).await,
            Action::List(args) => list(args).await,
            Action::Password(args) => set_password(args).await,
            Action::Remove(args) => remove(args).await,
        }
    })
}

async fn create(args: &NewUserArgs) -> anyhow::Result<Outcome> {
    let password = typed_password(args.password_stdin)?;
    let made = data_target::with(&args.users.target, "ratchet users create", async |target| {
        let project_id = match (args.role.as_str(), &args.project) {
            ("owner", None) => None,
            (_, wanted) => Some(target.project(wanted.as_deref()).await?.id),
        };
        let (email, name, role) = (args.email.clone(), args.name.clone(), args.role.clone());
        target.create_user(UserRequest { email, name, role, project_id, password }).await
    });
    args.users.output.show(&made.await?, |made| {
        format!(
            "Created user {} with the role {}.\n{}",
            made.user.email,
            made.user.role,
            password_text(made)
        )
    })?;
    Ok(Outcome::Done)
}

async fn list(args: &UsersArgs) -> anyhow::Result<Outcome> {
    let users =
        data_target::with(&args.target, "ratchet users list", async |target| target.users().await);
    args.output.show(&users.await?, |users| {
        let rows: Vec<_> = users.iter().map(row).collect();
        table(["ID", "EMAIL", "NAME", "ROLE", "CREATED"], &rows)
    })?;
    Ok(Outcome::Done)
}

async fn set_password(args: &PasswordArgs) -> anyhow::Result<Outcome> {
    let request = PasswordRequest { password: typed_password(args.password_stdin)? };
    let set = data_target::with(&args.users.target, "ratchet users password", async |target| {
        target.set_password(&args.user, request).await
    });
    args.users.output.show(&set.await?, |set| {
        format!("Password of {} changed.\n{}", set.user.email, password_text(set))
    })?;
    Ok(Outcome::Done)
}

async fn remove(args: &RemoveArgs) -> anyhow::Result<Outcome> {
    let removed = data_target::with(&args.users.target, "ratchet users remove", async |target| {
        target.remove_user(&args.user).await
    });
    args.users.output.show(&removed.await?, |user| format!("removed {}\n", user.email))?;
    Ok(Outcome::Done)
}

fn row(user: &UserView) -> [String; 5] {
    let UserView { id, email, name, role, created_at } = user;
    let name = name.as_deref().unwrap_or_default();
    [id, email, name, role, created_at].map(str::to_owned)
}

fn password_text(user: &UserWithPassword) -> String {
    let made = user.password.as_ref();
    made.map_or_else(String::new, |made| {
        format!("The password is shown only once; store it safely:\n\n  {made}\n")
    })
}

/// A password is no argument: other people on the machine can read those.
fn typed_password(is_wanted: bool) -> anyhow::Result<Option<String>> {
    if !is_wanted {
        return Ok(None);
    }
    let mut text = String::new();
    // More than any password has, so that a file sent by mistake is not read to its end.
    let stdin = std::io::stdin().lock().take(10_000);
    std::io::BufReader::new(stdin).read_to_string(&mut text).context("cannot read stdin")?;
    let line = text.lines().next().unwrap_or_default().to_owned();
    ensure!(!line.is_empty(), "--password-stdin: no password on stdin");
    Ok(Some(line))
}
