/// The report as files and text.
mod output;
/// Answers of earlier runs, judged again.
mod rejudging;
/// Runs of a target, and their decisions.
mod target_run;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use ratchet_core::experiment::evaluator::TrialEvaluator;
use ratchet_core::gate::decision::{Look, Verdict};
use ratchet_server::api::gates::{GateRequest, GateView};
use ratchet_stages::experiment::evaluators::TrialEvaluators;

use crate::administration::Administration;
use crate::data_target::{self, ProjectArgs};
use crate::exit::{Outcome, Signal, WrongUsage};
use crate::print::print;
use crate::runtime;
use output::OutputFiles;
use target_run::{GateEnd, TargetRun};

/// `ratchet gate`
#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 pass, 3 block, 4 inconclusive, 1 could not run, 2 wrong usage, 5 stopped at \
                  its cost cap."
)]
pub(crate) struct GateArgs {
    /// Dataset whose items the run covers
    #[arg(long, value_name = "NAME")]
    pub(super) dataset: String,
    /// Target file in TOML: run the agent over the dataset, then decide
    #[arg(long, value_name = "FILE", required_unless_present = "run")]
    pub(super) target: Option<PathBuf>,
    /// Run to decide on, by name or ID. With --target its name: an interrupted run of that name is
    /// continued, and one that is done is decided on without further calls
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Environment of the target, such as beta
    #[arg(long, value_name = "NAME", requires = "target")]
    pub(super) environment: Option<String>,
    /// Agent version that the target runs, by ID: the run is evidence for promotions of this version
    /// only
    #[arg(long, value_name = "ID", requires = "target")]
    pub(super) agent_version: Option<String>,
    /// Evaluator of answers: exact, contains, regex:…, json-match, numeric:…,
    /// experiment-accuracy:JUDGE; may be repeated, and the first one decides unless --score names
    /// another
    #[arg(long = "evaluator", value_name = "EVALUATOR", default_value = "exact", value_parser = evaluator)]
    pub(super) evaluators: Vec<String>,
    /// Runs of each item; they are averaged, n is items
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub(super) repeats: u32,
    /// Decide on the planned repeats alone, without one extension if they do not decide
    #[arg(long)]
    pub(super) no_extension: bool,
    /// Stop once this was spent, in US dollars (exit code 5). It does not start if the baseline cost
    /// more, and does not extend beyond it
    #[arg(long, value_name = "USD", requires = "target", value_parser = dollars)]
    pub(super) max_cost: Option<f64>,
    /// Score that counts, from 0 to 1; with --run alone required only if the run has several
    #[arg(long, value_name = "NAME")]
    pub(super) score: Option<String>,
    /// Minimum accuracy, from 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, required_unless_present = "baseline")]
    pub(super) min_accuracy: Option<f64>,
    /// Run to compare with, by name or ID, or `production`: the newest promoted run, before that the
    /// newest one that passed
    #[arg(long, value_name = "RUN|production")]
    pub(super) baseline: Option<String>,
    /// 1 minus the error rate of each bound
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = confidence)]
    pub(super) confidence: f64,
    /// Maximum accepted drop against the baseline; 0.1 is 10 points
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    pub(super) margin: f64,
    /// Exit with 0 if there is no dataset yet
    #[arg(long)]
    pub(super) allow_no_dataset: bool,
    /// Explain the verdict in plain words, with what to try next
    #[arg(long)]
    pub(super) explain: bool,
    #[command(flatten)]
    pub(super) files: OutputFiles,
    #[command(flatten)]
    pub(super) project: ProjectArgs,
}

fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("must be from 0 to 1".to_owned()) }
}

fn evaluator(text: &str) -> Result<String, String> {
    let parsed = TrialEvaluators::parse(&[text.to_owned()]);
    parsed.map(|_| text.to_owned()).map_err(|why| why.to_string())
}

fn dollars(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("must be above 0".to_owned()) }
}

fn confidence(text: &str) -> Result<f64, String> {
    let value = share(text)?;
    if (0.5..1.0).contains(&value) {
        return Ok(value);
    }
    Err("must be at least 0.5 and less than 1".to_owned())
}

/// Runs `ratchet gate`.
pub(crate) fn run(args: &GateArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(data_target::with(&args.project.target, "ratchet gate", async |target| {
        Box::pin(decide(args, target)).await
    }))
}

async fn decide(args: &GateArgs, target: &Administration) -> anyhow::Result<Outcome> {
    let project = target.own_project(args.project.name()).await?;
    if !target.has_dataset(&project, &args.dataset).await? {
        return no_dataset(args, "there is no dataset");
    }
    if args.score.is_none() && matches!(first_evaluator(args), Some(TrialEvaluator::EachAgent(_))) {
        let why = "--score: each-agent has a score for each sub-agent; name the one that decides, such \
                   as exact@billing";
        return Err(WrongUsage(why.to_owned()).into());
    }
    let end = match (&args.run, &args.target) {
        (_, Some(file)) => TargetRun::new(args, file, (target, &project)).await?.run().await?,
        (Some(run), None) => {
            let request = request(args, run, Look::Only);
            GateEnd::Decided(Box::new(target.decide_gate(&project, request).await?))
        }
        (None, None) => bail!("give --target or --run"),
    };
    let gate = match end {
        GateEnd::Decided(gate) => gate,
        GateEnd::NoItems => return no_dataset(args, "there are no items in dataset"),
        GateEnd::OverBudget => return Ok(Outcome::OverBudget),
        GateEnd::Stopped => return Ok(Outcome::Stopped(Signal::Interrupt)),
    };
    args.files.write(&gate.report)?;
    show(args, &gate)?;
    Ok(outcome(gate.report.verdict))
}

fn request(args: &GateArgs, run: &str, look: Look) -> GateRequest {
    GateRequest {
        dataset: args.dataset.clone(),
        run: run.to_owned(),
        baseline: args.baseline.clone(),
        score: args.score.clone().or_else(|| evaluated_score(args)),
        min_accuracy: args.min_accuracy,
        confidence: Some(args.confidence),
        margin: Some(args.margin),
        look: Some(look),
        repeats: Some(args.repeats),
        judged_again: Vec::new(),
    }
}

/// The score of the first evaluator; the only score of the run if its evaluators are not known.
fn evaluated_score(args: &GateArgs) -> Option<String> {
    Some(first_evaluator(args)?.score_name().to_owned())
}

fn first_evaluator(args: &GateArgs) -> Option<TrialEvaluator> {
    args.target.as_ref()?;
    let read = args.evaluators.iter().filter_map(|text| text.parse().ok());
    // A run as a whole decides nothing.
    read.into_iter().find(|evaluator| !matches!(evaluator, TrialEvaluator::Run(_)))
}

fn no_dataset(args: &GateArgs, what: &str) -> anyhow::Result<Outcome> {
    let name = &args.dataset;
    let advice = format!(
        "{what} {name:?}, so nothing was decided. Make one with 30 to 50 items: \
         upload a CSV file on the page Datasets, add traces to it from their pages, or create items with \
         POST /api/public/dataset-items"
    );
    if !args.allow_no_dataset {
        bail!("{advice}; --allow-no-dataset makes this a success");
    }
    if args.project.output.json {
        print("{\"verdict\": null, \"reason\": \"no dataset\"}\n")?;
    } else {
        print(&format!("No dataset, which is allowed: {advice}\n"))?;
    }
    Ok(Outcome::Done)
}

fn show(args: &GateArgs, gate: &GateView) -> anyhow::Result<()> {
    let explain = args.explain;
    if explain && args.project.output.json {
        // Standard output is for programs, the words are for people.
        eprint!("{}", ratchet_core::gate::explain::explain(&gate.report));
    }
    Ok(args.project.output.show(gate, |gate| output::text(gate, explain))?)
}

const fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Pass => Outcome::Done,
        Verdict::Block => Outcome::FoundBad,
        Verdict::Inconclusive => Outcome::Inconclusive,
    }
}
