use clap::{Args, Subcommand};
use ratchet_core::promotion::ab_test::comparison::{AbMark, AbResult};
use ratchet_core::promotion::watch::Mark;
use ratchet_core::stats::interval::Interval;
use ratchet_server::api::promotions::ab_tests::{
    AbActionRequest, AbTestView, AbTestsView, NewAbTestRequest, VariantRequest, VariantView,
};

use crate::administration::Administration;
use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::{one_line, table};
use crate::runtime;

/// `ratchet ab …`
#[derive(Args, Debug)]
pub(crate) struct AbCommand {
    #[command(subcommand)]
    action: AbAction,
}

#[derive(Debug, Subcommand)]
enum AbAction {
    /// List A/B tests, newest first
    List(ProjectArgs),
    /// Start an A/B test of two labels of a prompt
    Start(Box<StartArgs>),
    /// Show an A/B test: arms, traffic, scores, and when it ends
    Show(NamedArgs),
    /// Compare the users so far; the server does so every minute
    Look(NamedArgs),
    /// End an A/B test: everybody gets the control
    Stop(StopArgs),
    /// Open the draft promotion of the winner, if that failed when the test ended
    Promote(NamedArgs),
    /// Show which label of a prompt a user gets
    Assign(AssignArgs),
}

#[derive(Args, Debug)]
struct StartArgs {
    /// Prompt name
    prompt: String,
    /// Label of the version to try
    #[arg(long, value_name = "LABEL")]
    candidate: String,
    /// Agent that uses the prompt
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// Label of the version that the other users get [default: production]
    #[arg(long, value_name = "LABEL")]
    control: Option<String>,
    /// Percentage of users who get the candidate [default: 50]
    #[arg(long, value_name = "PERCENT")]
    share: Option<u32>,
    /// What the candidate has to improve: quality, thumbs, errors, latency or cost [default: quality]
    #[arg(long, value_name = "MARK")]
    primary: Option<String>,
    /// Users after which the test ends [default: 2000]
    #[arg(long, value_name = "N")]
    max_users: Option<u32>,
    /// Days after which the test ends [default: 14]
    #[arg(long, value_name = "DAYS")]
    max_days: Option<u32>,
    /// Hours after a user's first trace whose traces count [default: 24]
    #[arg(long, value_name = "HOURS")]
    window_hours: Option<u32>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// A/B test ID
    id: String,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct StopArgs {
    /// A/B test ID
    id: String,
    /// Why, for the audit log and the test's outcome
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct AssignArgs {
    /// Prompt name
    prompt: String,
    /// User ID as in traces, or session ID if traces have no user
    user: String,
    #[command(flatten)]
    project: ProjectArgs,
}

/// Runs `ratchet ab`.
pub(crate) fn run(command: &AbCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            AbAction::List(args) => {
                let found = on(args, async |target, project| target.ab_tests(project).await);
                args.output.show(&found.await?, list_text)?;
            }
            AbAction::Start(args) => {
                let started = on(&args.project, async |target, project| {
                    target.start_ab_test(project, args.request()).await
                });
                args.project.output.show(&started.await?, one_text)?;
            }
            AbAction::Show(args) => {
                let found = on(&args.project, async |target, project| {
                    target.ab_test(project, &args.id).await
                });
                args.project.output.show(&found.await?, one_text)?;
            }
            AbAction::Look(args) => act(&args.project, &args.id, ("look", None)).await?,
            AbAction::Stop(args) => {
                act(&args.project, &args.id, ("stop", args.reason.clone())).await?;
            }
            AbAction::Promote(args) => act(&args.project, &args.id, ("promote", None)).await?,
            AbAction::Assign(args) => {
                let (prompt, unit) = (args.prompt.clone(), args.user.clone());
                let found = on(&args.project, async |target, project| {
                    target.assignment(project, VariantRequest { prompt, unit }).await
                });
                args.project.output.show(&found.await?, variant_text)?;
            }
        }
        Ok(Outcome::Done)
    })
}

impl StartArgs {
    fn request(&self) -> NewAbTestRequest {
        NewAbTestRequest {
            agent: self.agent.clone(),
            prompt: self.prompt.clone(),
            candidate: self.candidate.clone(),
            control: self.control.clone(),
            share: self.share,
            primary: self.primary.clone(),
            max_units: self.max_users,
            max_days: self.max_days,
            window_hours: self.window_hours,
        }
    }
}

/// Works on the project of the flags, or of the key.
async fn on<T>(
    args: &ProjectArgs,
    work: impl AsyncFnOnce(&Administration, &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    data_target::with(&args.target, "ratchet ab", async |target| {
        let project = target.own_project(args.name()).await?;
        work(target, &project).await
    })
    .await
}

async fn act(
    args: &ProjectArgs,
    id: &str,
    (action, reason): (&str, Option<String>),
) -> anyhow::Result<()> {
    let request = AbActionRequest { action: action.to_owned(), reason };
    let done =
        on(args, async |target, project| target.act_on_ab_test((project, id), request).await);
    args.output.show(&done.await?, one_text)?;
    Ok(())
}

fn list_text(found: &AbTestsView) -> String {
    let row = |test: &AbTestView| {
        let users = |result: &AbResult| result.control_units + result.candidate_units;
        [
            test.id.clone(),
            one_line(&test.prompt),
            format!("v{} against v{}", test.candidate_version, test.control_version),
            test.state.clone(),
            test.result.as_ref().map_or(0, users).to_string(),
            test.started_at.clone(),
        ]
    };
    let rows: Vec<_> = found.tests.iter().map(row).collect();
    table(["A/B TEST", "PROMPT", "VERSIONS", "STATE", "USERS", "STARTED"], &rows)
}

fn variant_text(found: &VariantView) -> String {
    let version = found.version.map_or_else(
        || "whatever it points to: no A/B test runs".to_owned(),
        |version| format!("version {version}"),
    );
    format!("{} ({version})\n", one_line(&found.label))
}

fn one_text(test: &AbTestView) -> String {
    let mut text = format!(
        "A/B test {}: {}, prompt {}, agent {}\n",
        test.id,
        test.state,
        one_line(&test.prompt),
        one_line(&test.agent)
    );
    text += &format!("\n{}", arms(test));
    if let Some(result) = &test.result {
        text += &format!("\n{}", marks(result));
        text += "\nIntervals are 95% each and valid at any time: look as often as you like.\n";
        if result.other_version > 0 {
            text += &format!(
                "{} users got another version than they were assigned; they count as assigned.\n",
                result.other_version
            );
        }
    }
    match &test.outcome {
        Some(outcome) => text += &format!("\noutcome: {}\n", one_line(outcome)),
        None => {
            text += &format!(
                "\nends with harm, with a winner in {}, after {} users or {} days, or with \
                 `ratchet ab stop`\n",
                test.primary, test.max_units, test.max_days
            );
        }
    }
    if let Some(promotion) = &test.promotion {
        text += &format!("draft promotion of the winner: {promotion}\n");
    }
    if let Some(why) = &test.offer_problem {
        text += &format!(
            "the winner's draft could not be opened: {}\ntry again with `ratchet ab promote {}`\n",
            one_line(why),
            test.id
        );
    }
    text
}

fn arms(test: &AbTestView) -> String {
    let traffic = test.result.as_ref().map(|result| result.traffic).unwrap_or_default();
    let counted = |of: fn(&AbResult) -> u32| test.result.as_ref().map_or(0, of).to_string();
    let rows = [
        [
            "control".to_owned(),
            one_line(&test.control),
            format!("v{}", test.control_version),
            format!("{}%", 100 - test.share.min(100)),
            traffic.control.users.to_string(),
            traffic.control.traces.to_string(),
            counted(|result| result.control_units),
        ],
        [
            "candidate".to_owned(),
            one_line(&test.candidate),
            format!("v{}", test.candidate_version),
            format!("{}%", test.share),
            traffic.candidate.users.to_string(),
            traffic.candidate.traces.to_string(),
            counted(|result| result.candidate_units),
        ],
    ];
    table(["ARM", "LABEL", "VERSION", "SHARE", "USERS", "TRACES", "COUNTED USERS"], &rows)
}

fn marks(result: &AbResult) -> String {
    let row = |mark: &AbMark| {
        let decided = match (mark.is_worse, mark.is_better) {
            (true, _) => "significantly worse",
            (false, true) => "significantly better",
            (false, false) => "not significant",
        };
        [
            mark.mark.title().to_owned(),
            side(mark.mark, (mark.control, mark.control_interval), mark.control_units),
            side(mark.mark, (mark.candidate, mark.candidate_interval), mark.candidate_units),
            mark.difference_interval.map_or_else(|| "-".to_owned(), points),
            decided.to_owned(),
        ]
    };
    let rows: Vec<_> = result.marks.iter().map(row).collect();
    table(["PER USER", "CONTROL", "CANDIDATE", "DIFFERENCE", "TEST"], &rows)
}

fn side(mark: Mark, (value, interval): (Option<f64>, Option<Interval>), n: u32) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let interval = interval.map_or_else(String::new, |interval| {
        format!(" ({:.1}% to {:.1}%)", interval.lower * 100.0, interval.upper * 100.0)
    });
    let value = match mark {
        Mark::Latency => format!("{value:.2} s"),
        Mark::Cost => format!("${value:.4}"),
        Mark::Quality | Mark::Thumbs | Mark::Errors => format!("{:.1}%", value * 100.0),
    };
    format!("{value}{interval}, n = {n}")
}

fn points(interval: Interval) -> String {
    format!("{:+.1} to {:+.1} points", interval.lower * 100.0, interval.upper * 100.0)
}
