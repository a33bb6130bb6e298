use clap::{Args, Subcommand};
use ratchet_server::api::evaluators::{
    BackfillRequest, BackfillView, EvaluatorStatusView, EvaluatorSwitch, EvaluatorTarget,
    EvaluatorsView,
};
use ratchet_stages::data_target::DataTarget;
use ratchet_web::request_context::shell_word;

use crate::administration::Retrospect;
use crate::config::Config;
use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::{one_line, table};
use crate::{local_environment, runtime};

/// The holder of the folder's lock.
const HOLDER: &str = "ratchet evaluators";

/// `ratchet evaluators …`
#[derive(Args, Debug)]
pub(crate) struct EvaluatorsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List online evaluators, their state and what they did in the last 24 hours
    List(EvaluatorListArgs),
    /// Show one evaluator
    Show(NamedArgs),
    /// Judge the newest records without writing scores; shows count and cost first
    Test(TestArgs),
    /// Pause an evaluator; what arrives meanwhile is not judged
    Pause(PauseArgs),
    /// Resume an evaluator, and start rules stored by an earlier version
    Resume(NamedArgs),
    /// Judge what was recorded before; shows count and cost first
    Backfill(BackfillArgs),
}

#[derive(Args, Debug)]
struct EvaluatorListArgs {
    /// Show agreement with people, and verdicts, about this agent only
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// Name or ID of the evaluator
    name: String,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct PauseArgs {
    /// Why, for others to read
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    named: NamedArgs,
}

#[derive(Args, Debug)]
struct TestArgs {
    /// Number of records, at most 20
    #[arg(long, value_name = "N", default_value_t = 3)]
    records: usize,
    /// Judge, instead of showing count and cost only
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    named: NamedArgs,
}

#[derive(Args, Debug)]
struct BackfillArgs {
    /// How far back, such as 7d, 12h or 30m
    #[arg(long, value_name = "SPAN", default_value = "7d")]
    since: String,
    /// Maximum number of records, the newest
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    limit: usize,
    /// Judge, instead of showing count and cost only
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    named: NamedArgs,
}

/// Runs `ratchet evaluators`.
pub(crate) fn run(command: &EvaluatorsCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Show(args) => show(args).await,
            Action::Test(args) => {
                let request =
                    BackfillRequest { since: None, limit: Some(args.records), dry_run: !args.yes };
                in_retrospect(&args.named, Retrospect::Test, request).await
            }
            Action::Pause(args) => {
                let reason = args.reason.clone();
                let switched = EvaluatorSwitch { state: EvaluatorTarget::Paused, reason };
                switch(&args.named, switched).await
            }
            Action::Resume(args) => {
                let switched = EvaluatorSwitch { state: EvaluatorTarget::Active, reason: None };
                switch(args, switched).await
            }
            Action::Backfill(args) => {
                let request = BackfillRequest {
                    since: Some(args.since.clone()),
                    limit: Some(args.limit),
                    dry_run: !args.yes,
                };
                in_retrospect(&args.named, Retrospect::Backfill, request).await
            }
        }
    })
}

async fn list(args: &EvaluatorListArgs) -> anyhow::Result<Outcome> {
    let views = data_target::with_project(&args.project, HOLDER, async |target, project| {
        target.evaluators(&project.id, args.agent.as_deref()).await
    });
    args.project.output.show(&views.await?, list_text)?;
    Ok(Outcome::Done)
}

async fn show(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let view = data_target::with_project(&args.project, HOLDER, async |target, project| {
        target.evaluator(&project.id, &args.name).await
    });
    args.project.output.show(&view.await?, one_text)?;
    Ok(Outcome::Done)
}

async fn switch(args: &NamedArgs, switched: EvaluatorSwitch) -> anyhow::Result<Outcome> {
    let view = data_target::with_project(&args.project, HOLDER, async |target, project| {
        target.switch_evaluator(&project.id, &args.name, switched).await
    });
    args.project.output.show(&view.await?, one_text)?;
    Ok(Outcome::Done)
}

async fn in_retrospect(
    args: &NamedArgs,
    what: Retrospect,
    request: BackfillRequest,
) -> anyhow::Result<Outcome> {
    let config = Config::load(&args.project.target.config, Vec::new())?;
    let view = data_target::with_project(&args.project, HOLDER, async |target, project| {
        let worker = match &target.0 {
            DataTarget::Folder(folder) => {
                Some(local_environment::evaluation_worker(folder, &config))
            }
            DataTarget::Server(_) => None,
        };
        let named = (args.name.as_str(), what);
        // Boxed, because the future is large.
        Box::pin(target.judge_in_retrospect(&project.id, named, request, worker.as_ref())).await
    });
    args.project.output.show(&view.await?, |view| retrospect_text(view, what))?;
    Ok(Outcome::Done)
}

fn list_text(views: &EvaluatorsView) -> String {
    if views.evaluators.is_empty() {
        return "No evaluators. Create one with the API: POST /api/public/v2/evaluators\n"
            .to_owned();
    }
    let row = |view: &EvaluatorStatusView| {
        let day = &view.last_day;
        [
            one_line(&view.name),
            view.state.clone(),
            view.judge.clone().unwrap_or_else(|| "-".to_owned()),
            one_line(&view.score_name),
            view.judged_of_agent.unwrap_or(day.judged).to_string(),
            format!("{:.1}", day.judged_per_hour),
            view.waiting.to_string(),
            format!("{}/{}", day.failed, view.dead_letters),
            day.mean_lag_seconds.map_or_else(|| "-".to_owned(), |lag| format!("{lag:.1} s")),
            format!("${:.4}", view.cost_today),
            agreement(view),
        ]
    };
    let rows: Vec<_> = views.evaluators.iter().map(row).collect();
    let head = [
        "NAME",
        "STATE",
        "JUDGE",
        "SCORE",
        "JUDGED 24H",
        "PER HOUR",
        "WAITING",
        "FAILED/DEAD",
        "MEAN LAG",
        "COST TODAY",
        "AGREES WITH PEOPLE",
    ];
    format!("{}Evaluators run while `ratchet serve` is up.\n", table(head, &rows))
}

fn agreement(view: &EvaluatorStatusView) -> String {
    let Some(agreement) = &view.agreement else { return "-".to_owned() };
    let interval = agreement
        .interval
        .map(|[lower, upper]| format!(" ({:.0} to {:.0}%)", lower * 100.0, upper * 100.0));
    let interval = interval.unwrap_or_default();
    format!("{:.0}%{interval}, n={}", agreement.value * 100.0, agreement.n)
}

fn one_text(view: &EvaluatorStatusView) -> String {
    let views = EvaluatorsView { evaluators: vec![view.clone()] };
    let mut text = list_text(&views);
    if let Some(reason) = &view.reason {
        text.push_str(&format!("Paused: {}\n", one_line(reason)));
    }
    for rule in &view.rules {
        let state = if rule.is_running { "running" } else { "not running" };
        let percent = rule.sampling * 100.0;
        text.push_str(&format!(
            "Rule {}: {state}, {percent:.0}% of {}s, {} s after the last change\n",
            one_line(&rule.name),
            rule.target,
            rule.delay_seconds
        ));
    }
    text.push_str(&format!("Cost cap per day: ${:.2}\n", view.daily_cost_cap));
    text + &skipped_text(view)
}

/// What was not judged, and how to have it judged.
fn skipped_text(view: &EvaluatorStatusView) -> String {
    if view.skipped_last_30_days == 0 {
        return String::new();
    }
    format!(
        "Skipped: {} records of the last 24 h, {} of the last 30 days. The evaluator was paused or at \
         its cost cap, or they had ended more than an hour before they arrived. \
         `ratchet evaluators backfill {} --since 30d` says how many are left and what they cost.\n",
        view.last_day.skipped,
        view.skipped_last_30_days,
        shell_word(&view.name),
    )
}

fn retrospect_text(view: &BackfillView, what: Retrospect) -> String {
    let open = view.records - view.judged.min(view.records);
    let cost = view.max_cost.map_or_else(
        || "unknown, no price for the model".to_owned(),
        |cost| format!("at most ${cost:.4}"),
    );
    let mut text = format!(
        "{} {}s match, {} of them judged by this version. Judge: {}. Cost of the other {open}: {cost}.\n",
        view.records, view.target, view.judged, view.judge
    );
    for verdict in &view.verdicts {
        let value = verdict.value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let line = one_line(&verdict.comment);
        text.push_str(&format!("{}  {value}  {line}\n", one_line(&verdict.record)));
    }
    text.push_str(match (view.dry_run, what) {
        (true, _) => "Nothing was judged; repeat with --yes to start.\n",
        (false, Retrospect::Test) => "No score was written.\n",
        (false, Retrospect::Backfill) => "Queued; they are judged while `ratchet serve` is up.\n",
    });
    text
}
