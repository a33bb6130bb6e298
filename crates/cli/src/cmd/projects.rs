use clap::{Args, Subcommand};
use ratchet_core::counted::counted;
use ratchet_server::api::origins::OriginsView;
use ratchet_server::api::projects::{ProjectEntry, ProjectRequest, RetentionRequest};

use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, table};
use crate::runtime;

/// `ratchet projects …`
#[derive(Args, Debug)]
pub(crate) struct ProjectsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all projects
    List(ProjectsArgs),
    /// Create a project
    Create(CreateArgs),
    /// Set the retention of a project
    SetRetention(SetRetentionArgs),
    /// Show the allowed origins of a project
    Origins(OriginsArgs),
    /// Set the allowed origins of a project
    SetOrigins(SetOriginsArgs),
    /// Confirm the system clock after retention was paused because of a clock jump
    ConfirmClock(ProjectsArgs),
}

#[derive(Args, Debug)]
struct ProjectsArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct CreateArgs {
    /// Display name
    name: String,
    /// Project ID [default: random]
    #[arg(long)]
    id: Option<String>,
    /// Retention in days [default: forever]
    #[arg(long, value_name = "DAYS")]
    retention: Option<u32>,
    #[command(flatten)]
    projects: ProjectsArgs,
}

#[derive(Args, Debug)]
struct SetRetentionArgs {
    /// Days, or `forever`
    #[arg(value_name = "DAYS|forever", value_parser = days)]
    days: Days,
    /// Project name or ID; required only if there are several
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    projects: ProjectsArgs,
}

#[derive(Args, Debug)]
struct OriginsArgs {
    /// Project name or ID; required only if there are several
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    projects: ProjectsArgs,
}

#[derive(Args, Debug)]
struct SetOriginsArgs {
    /// Origins such as `https://app.example.com`, or `any`
    #[arg(value_name = "ORIGIN|any", required = true)]
    origins: Vec<String>,
    #[command(flatten)]
    of: OriginsArgs,
}

/// Retention, as typed.
#[derive(Clone, Copy, Debug)]
enum Days {
    Some(u32),
    Forever,
}

fn days(text: &str) -> Result<Days, String> {
    if text == "forever" {
        return Ok(Days::Forever);
    }
    text.parse().map(Days::Some).map_err(|_| "a number of days, or forever".to_owned())
}

/// Runs `ratchet projects`.
pub(crate) fn run(command: &ProjectsCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Create(args) => create(args).await,
            Action::SetRetention(args) => set_retention(args).await,
            Action::Origins(args) => origins(args).await,
            Action::SetOrigins(args) => set_origins(args).await,
            Action::ConfirmClock(args) => confirm_clock(args).await,
        }
    })
}

async fn list(args: &ProjectsArgs) -> anyhow::Result<Outcome> {
    let projects = data_target::with(&args.target, "ratchet projects list", async |target| {
        target.projects().await
    });
    args.output.show(&projects.await?, |projects| projects_text(projects))?;
    Ok(Outcome::Done)
}

fn projects_text(projects: &[ProjectEntry]) -> String {
    let rows: Vec<_> = projects.iter().map(row).collect();
    table(["ID", "NAME", "RETENTION", "CREATED"], &rows)
}

fn row(project: &ProjectEntry) -> [String; 4] {
    let keeps = project.retention_days.map_or("forever".to_owned(), |days| counted(days, "day"));
    [project.id.clone(), project.name.clone(), keeps, project.created_at.clone()]
}

async fn create(args: &CreateArgs) -> anyhow::Result<Outcome> {
    let projects = &args.projects;
    let request = ProjectRequest {
        name: args.name.clone(),
        id: args.id.clone(),
        retention_days: args.retention,
    };
    let made = data_target::with(&projects.target, "ratchet projects create", async |target| {
        target.create_project(request).await
    });
    projects.output.show(&made.await?, |made| projects_text(std::slice::from_ref(made)))?;
    Ok(Outcome::Done)
}

async fn set_retention(args: &SetRetentionArgs) -> anyhow::Result<Outcome> {
    let projects = &args.projects;
    let days = match args.days {
        Days::Some(days) => Some(days),
        Days::Forever => None,
    };
    let changed =
        data_target::with(&projects.target, "ratchet projects set-retention", async |target| {
            let project = target.project(args.project.as_deref()).await?;
            target.set_retention(&project.id, RetentionRequest { days }).await
        });
    projects
        .output
        .show(&changed.await?, |changed| projects_text(std::slice::from_ref(changed)))?;
    Ok(Outcome::Done)
}

async fn origins(args: &OriginsArgs) -> anyhow::Result<Outcome> {
    let projects = &args.projects;
    let origins = data_target::with(&projects.target, "ratchet projects origins", async |target| {
        let project = target.project(args.project.as_deref()).await?;
        target.origins(&project.id).await
    });
    projects.output.show(&origins.await?, origins_text)?;
    Ok(Outcome::Done)
}

async fn set_origins(args: &SetOriginsArgs) -> anyhow::Result<Outcome> {
    let projects = &args.of.projects;
    let origins = if args.origins == ["any"] { Vec::new() } else { args.origins.clone() };
    let kept =
        data_target::with(&projects.target, "ratchet projects set-origins", async |target| {
            let project = target.project(args.of.project.as_deref()).await?;
            target.set_origins(&project.id, OriginsView { origins }).await
        });
    projects.output.show(&kept.await?, origins_text)?;
    Ok(Outcome::Done)
}

fn origins_text(kept: &OriginsView) -> String {
    if kept.origins.is_empty() {
        return "any origin is allowed\n".to_owned();
    }
    format!("allowed origins:\n  {}\n", kept.origins.join("\n  "))
}

async fn confirm_clock(args: &ProjectsArgs) -> anyhow::Result<Outcome> {
    let confirmed =
        data_target::with(&args.target, "ratchet projects confirm-clock", async |target| {
            target.confirm_clock().await
        });
    args.output.show(&confirmed.await?, |confirmed| {
        format!("clock confirmed: {}; retention continues\n", confirmed.now)
    })?;
    Ok(Outcome::Done)
}
