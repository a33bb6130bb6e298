/// Draws of samples on a Langfuse server.
mod draw;
/// Proposals for the split of samples.
mod rebalance;
/// A Langfuse server as the source.
mod source;

use clap::{Args, Subcommand};
use ratchet_core::review::metrics::{Basis, EstimateView, MetricName, WeeklyMetric};
use ratchet_core::review::phase_rules::RuleState;
use ratchet_core::review::weekly::{
    CategoryView, JudgeView, MonthAccuracy, WeeklyMetrics, change_text, interval_text, value_text,
};
use ratchet_server::api::review_metrics::{MonthsRequest, ReviewMetricsRequest};
use ratchet_server::clock::Clock;

use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::{one_line, print, table};
use crate::runtime;
use source::SourceArgs;

/// The holder of the folder's lock, in messages of other processes.
const COMMAND: &str = "ratchet metrics";

/// `ratchet metrics …`
#[derive(Args, Debug)]
pub(crate) struct MetricsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the metrics of a week, raw and weighted, with intervals and targets
    Week(WeekArgs),
    /// Show agent and judge accuracy by month
    Months(MonthsArgs),
    /// Show the split of the review sample that the reviews of the last quarter propose
    Rebalance(rebalance::RebalanceArgs),
    /// Draw a week's review sample from a Langfuse server into a queue there
    Draw(draw::DrawArgs),
}

/// Which traffic figures are about.
#[derive(Args, Debug)]
struct TrafficArgs {
    /// Only traces of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only traces in this environment
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Only traces of this release
    #[arg(long, value_name = "NAME")]
    release: Option<String>,
}

#[derive(Args, Debug)]
struct MonthsArgs {
    #[command(flatten)]
    traffic: TrafficArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct WeekArgs {
    /// The week that contains this day, such as 2026-11-08; weeks start on Sunday [default: the last
    /// full week]
    #[arg(long, value_name = "DATE")]
    of: Option<String>,
    /// Time zone, such as Europe/Berlin [default: that of the review schedule]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    #[command(flatten)]
    traffic: TrafficArgs,
    /// Print CSV, one line per metric
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    project: ProjectArgs,
}

/// Runs `ratchet metrics`.
pub(crate) fn run(command: &MetricsCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::Week(args) => week(args).await,
            Action::Months(args) => months(args).await,
            Action::Rebalance(args) => rebalance::run(args).await,
            Action::Draw(args) => draw::run(args).await,
        }
    })
}

async fn week(args: &WeekArgs) -> anyhow::Result<Outcome> {
    let request = ReviewMetricsRequest {
        week: args.of.clone(),
        zone: args.zone.clone(),
        agent: args.traffic.agent.clone(),
        environment: args.traffic.environment.clone(),
        release: args.traffic.release.clone(),
        format: None,
    };
    let metrics = match &args.source.source {
        Some(url) => {
            source::with_site(&args.project, url, async |site| {
                Ok(request.read(site, Clock::System.now()).await?)
            })
            .await?
        }
        None => {
            data_target::with_project(&args.project, COMMAND, async |target, project| {
                target.week_metrics(&project.id, request).await
            })
            .await?
        }
    };
    if args.csv {
        print(&metrics.to_csv())?;
    } else {
        args.project.output.show(&metrics, week_text)?;
    }
    Ok(Outcome::Done)
}

async fn months(args: &MonthsArgs) -> anyhow::Result<Outcome> {
    let request = MonthsRequest {
        agent: args.traffic.agent.clone(),
        environment: args.traffic.environment.clone(),
        release: args.traffic.release.clone(),
    };
    let months = match &args.source.source {
        Some(url) => {
            source::with_site(&args.project, url, async |site| Ok(request.read(site).await?))
                .await?
        }
        None => {
            data_target::with_project(&args.project, COMMAND, async |target, project| {
                target.month_metrics(&project.id, request).await
            })
            .await?
        }
    };
    args.project.output.show(&months, |months| months_text(months))?;
    Ok(Outcome::Done)
}

fn week_text(metrics: &WeeklyMetrics) -> String {
    let scope = &metrics.scope;
    let mut text = format!("Week {} to {} ({})", scope.week, scope.last_day, scope.zone);
    let cuts =
        [("agent", &scope.agent), ("environment", &scope.environment), ("release", &scope.release)];
    for (name, value) in cuts {
        if let Some(value) = value {
            text += &format!(", {name} {value}");
        }
    }
    text += &format!("\n{}\n\n", sample_text(metrics));
    let rows: Vec<_> = metrics.metrics.iter().map(metric_row).collect();
    text += &table(
        [
            "METRIC",
            "WEIGHTED",
            "95% CI",
            "N",
            "REPRESENTS",
            "PPI",
            "PPI REPRESENTS",
            "RAW",
            "PREVIOUS",
            "CHANGE",
            "TARGET",
            "STANDING",
        ],
        &rows,
    );
    for metric in &metrics.metrics {
        if let Some(reason) = &metric.weighted.reason {
            text += &format!("{}: {reason}\n", metric.name.title());
        }
    }
    if metrics.traces > 0 {
        text += &format!("\n{}", judge_text(&metrics.judge));
    }
    if !metrics.categories.is_empty() {
        text += &format!("\n{}", categories_text(&metrics.categories));
    }
    let on = metrics.signals.iter().filter(|signal| signal.state == RuleState::On);
    for signal in on {
        let found = match signal.found.as_slice() {
            [] => String::new(),
            found => format!(
                ": {}",
                found.iter().map(|one| one_line(one)).collect::<Vec<_>>().join(", ")
            ),
        };
        text += &format!("\n{}{found}. {}\n", signal.title, signal.action);
    }
    text
}

/// A table of the judge's figures on all judged traffic.
fn judge_text(judge: &JudgeView) -> String {
    let row = |(_, title, value): (&str, &str, &EstimateView)| {
        let ends = value.interval.map(|ends| interval_text(MetricName::JudgeAccuracy, ends));
        [
            title.to_owned(),
            share(value.value),
            ends.unwrap_or_else(|| "-".to_owned()),
            value.n.to_string(),
            value.reason.clone().unwrap_or_default(),
        ]
    };
    table(["JUDGE", "VALUE", "95% CI", "N", "REASON"], &judge.figures().map(row))
}

fn sample_text(metrics: &WeeklyMetrics) -> String {
    let traces = metrics.traces;
    match metrics.basis {
        Basis::Drawn => {
            let state = if metrics.provisional { ", provisional" } else { "" };
            let (done, drawn) = (metrics.drawn_reviewed, metrics.drawn);
            format!("{traces} traces; {done} of {drawn} drawn traces reviewed{state}")
        }
        Basis::Chosen => format!(
            "{traces} traces; no sample was drawn: weighted values assume that reviewed traces are \
             typical of their category"
        ),
    }
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value_text(MetricName::AgentAccuracy, value))
}

fn metric_row(metric: &WeeklyMetric) -> [String; 12] {
    let name = metric.name;
    let value =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value_text(name, value));
    let interval = metric.weighted.interval.filter(|_| !name.is_count());
    let change = metric.change.map_or_else(
        || "-".to_owned(),
        |change| {
            let noise = if change.signal || name.is_count() { "" } else { " (noise)" };
            format!("{}{noise}", change_text(name, change.value))
        },
    );
    [
        name.title().to_owned(),
        value(metric.weighted.value),
        interval.map_or_else(|| "-".to_owned(), |ends| interval_text(name, ends)),
        metric.weighted.n.to_string(),
        share(metric.weighted.represents),
        value(metric.prediction_powered.as_ref().and_then(|predicted| predicted.value)),
        share(metric.prediction_powered.as_ref().and_then(|predicted| predicted.represents)),
        value(metric.raw.value),
        value(metric.previous.as_ref().and_then(|previous| previous.value)),
        change,
        value(Some(metric.target)),
        metric.standing.as_str().to_owned(),
    ]
}

/// A table of categories, with measured accuracy and yield.
fn categories_text(categories: &[CategoryView]) -> String {
    let rows: Vec<_> = categories.iter().map(category_row).collect();
    let head =
        ["CATEGORY", "SIGNALS", "TRACES", "REVIEWED", "ACCURACY", "95% CI", "EXPECTED", "YIELD"];
    table(head, &rows)
}

fn category_row(category: &CategoryView) -> [String; 8] {
    let interval = |value: &EstimateView| {
        let ends = value.interval;
        ends.map_or_else(|| "-".to_owned(), |ends| interval_text(MetricName::AgentAccuracy, ends))
    };
    [
        category.category.as_str().to_owned(),
        category.signals.clone(),
        category.population.to_string(),
        category.reviewed.to_string(),
        share(category.accuracy.value),
        interval(&category.accuracy),
        share(Some(category.expected)),
        share(category.yielded.as_ref().and_then(|yielded| yielded.value)),
    ]
}

fn months_text(months: &[MonthAccuracy]) -> String {
    if months.is_empty() {
        return "no drawn weeks yet; the first draw is on Monday 06:00, or start it with `ratchet \
                schedule run review`\n"
            .to_owned();
    }
    let row = |month: &MonthAccuracy| {
        let both = |value: &EstimateView| match value.interval {
            Some(ends) => {
                let ends = interval_text(MetricName::AgentAccuracy, ends);
                format!("{} ({ends})", share(value.value))
            }
            None => share(value.value),
        };
        [
            month.month.clone(),
            both(&month.agent_accuracy),
            share(month.agent_accuracy.represents),
            both(&month.judge_accuracy),
            share(month.judge_accuracy.represents),
            month.reviewed.to_string(),
            month.dataset_size.to_string(),
        ]
    };
    let rows: Vec<_> = months.iter().map(row).collect();
    let head = [
        "MONTH",
        "AGENT ACCURACY",
        "REPRESENTS",
        "JUDGE ACCURACY",
        "REPRESENTS",
        "REVIEWED",
        "DATASET SIZE",
    ];
    table(head, &rows)
}
