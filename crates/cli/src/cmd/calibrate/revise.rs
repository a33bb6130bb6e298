use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use ratchet_core::id::SessionId;
use ratchet_core::quality::calibration::draft;
use ratchet_stages::review::sampling::{self, SamplePlan};
use ratchet_stages::review::trial;
use ratchet_stages::score::select_sessions::SessionFilter;
use ratchet_stages::score::{self, Request, ScoringContext, WritePolicy};
use ratchet_store::catalog::RunOutcome;
use ratchet_store::private_files;
use uuid::Uuid;

use super::{CalibrateArgs, Found};
use crate::config::Config;

/// What became of the drafts.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    pub(super) file: PathBuf,
    pub(super) version: u32,
    /// How many sessions were scored again.
    pub(super) rescored: usize,
    /// Of how many that are affected.
    pub(super) affected: usize,
    /// Whether sessions were not scored because that could have exceeded the budget.
    pub(super) is_over_budget: bool,
}

/// Fails early if the revision could not be finished: no model is available, or the rubric has no file.
pub(super) fn check(args: &CalibrateArgs) -> anyhow::Result<()> {
    if args.change.apply {
        let can_ask = args.change.yes || io::stdin().is_terminal();
        ensure!(can_ask, "cannot ask for confirmation without a terminal; use --apply --yes");
        let data = Config::load(&args.target.config, Vec::new())?.data;
        ensure!(data.is_dir(), "use --data to set where the rubric's next version is stored");
    }
    Ok(())
}

/// Writes the rubric's next version and rescores the sessions of the old one, after
/// confirmation.
pub(super) async fn apply(
    ctx: &ScoringContext<'_>,
    args: &CalibrateArgs,
    found: &Found,
    asked: &Request,
) -> anyhow::Result<Option<Applied>> {
    let tried = found.trial.as_ref().context("test the drafts before applying them")?;
    let judge = &tried.judge;
    ensure!(
        tried.of > 0,
        "{judge} scored none of the labelled sessions first; use --judge to name the one that did"
    );
    ensure!(
        tried.outcome == RunOutcome::Done && tried.judged > 0,
        "the drafts were tested on only {} of {} sessions; test them on all before applying",
        tried.judged,
        tried.of
    );
    let revised = draft::revised(&found.rubric, &found.drafts.drafts);
    let folder = Config::load(&args.target.config, Vec::new())?.data.join("rubrics");
    let file = folder.join(format!("{}.toml", revised.name));
    let affected = affected(ctx, args, found).await?;
    if !args.change.yes {
        eprint!("{}", super::text::of(found));
        let question = format!(
            "Write version {} to {} and rescore {} sessions? [y/N] ",
            revised.version,
            file.display(),
            affected.len()
        );
        if !agreed(&question)? {
            return Ok(None);
        }
    }
    private_files::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    private_files::replace(&file, revised.to_toml().as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))?;
    let (version, count) = (revised.version, affected.len());
    let request = Request {
        run: Uuid::new_v4().to_string(),
        rubric: revised,
        wanted: SessionFilter::These(affected),
        keeping: WritePolicy::Write,
        ..asked.clone()
    };
    let report = score::run(ctx, &request).await?;
    let rescored = report.sessions.len();
    let is_over_budget = report.is_over_budget;
    Ok(Some(Applied { file, version, rescored, affected: count, is_over_budget }))
}

/// The sessions that the rubric scored of late, and those that people labelled.
async fn affected(
    ctx: &ScoringContext<'_>,
    args: &CalibrateArgs,
    found: &Found,
) -> anyhow::Result<Vec<SessionId>> {
    let (rubric, days) = (&found.rubric, args.change.days);
    let asking = SamplePlan { dataset: &args.dataset, rubric, days, size: None };
    let scored = sampling::scored(ctx.source, asking, (ctx.clock)()).await?;
    let all: BTreeSet<SessionId> =
        found.held.spoken.keys().cloned().chain(scored.into_keys()).collect();
    Ok(trial::there(ctx.source, &all.into_iter().collect::<Vec<_>>()).await?)
}

pub(super) fn agreed(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "yes"))
}
