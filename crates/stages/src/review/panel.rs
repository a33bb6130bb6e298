use std::collections::BTreeSet;

use ratchet_core::id::SessionId;
use ratchet_core::quality::calibration::drift::MIN_PAIRS;
use ratchet_core::quality::calibration::panel::{self, DATASET, PanelKey, PanelVerdict};
use ratchet_core::time::Timestamp;

use super::labels::save;
use super::{JudgeSelection, LabelComparison, ReviewError, judge_scores, sampling, trial};
use crate::score::select_sessions::SessionFilter;
use crate::score::{self, Request, Rescore, ScoringContext, WritePolicy};
use crate::sink::{Sink, SinkResult, StoredItem};

/// What the dataset of panels is for.
const PANELS: &str = "What judges say of the same sessions week by week, so that drift is noticed";

/// Reads the panel verdicts of judges.
///
/// # Errors
/// Fails if the dataset cannot be read; one that is not there has nothing.
pub async fn read(sink: &Sink) -> SinkResult<Vec<PanelVerdict>> {
    let items = sink.dataset_items(DATASET).await?;
    let read =
        |item: &StoredItem| PanelVerdict::read(&item.input, &item.expected_output, &item.metadata);
    Ok(items.iter().filter_map(read).collect())
}

/// Scores a judge's panel once a week and saves the result. A judge without a panel gets one
/// of the sessions that people labelled in `labels`.
///
/// Sessions that it has judged this week already are skipped, so that an interrupted run
/// resumes.
///
/// # Errors
/// Fails if labels or sessions cannot be read, a model call fails, or results cannot be saved.
pub async fn rejudge_panel(
    ctx: &ScoringContext<'_>,
    labels: &str,
    request: &Request,
) -> Result<score::Report, ReviewError> {
    let who = PanelKey::new(request.judge.name(), &request.rubric);
    let before = read(ctx.sink).await?;
    let now = (ctx.clock)();
    let week = sampling::week(now);
    // A first sitting that was broken off goes on with those it did not come to.
    let settled: Vec<PanelVerdict> =
        before.iter().filter(|it| it.who == who && it.week != week).cloned().collect();
    let members = members(ctx, labels, (&settled, request)).await?;
    let is_heard = |verdict: &&PanelVerdict| verdict.who == who && verdict.week == week;
    let judged: BTreeSet<&SessionId> =
        before.iter().filter(is_heard).map(|verdict| &verdict.session).collect();
    let waiting: Vec<SessionId> =
        members.into_iter().filter(|session| !judged.contains(session)).collect();
    if waiting.is_empty() {
        return Ok(score::Report::empty());
    }
    let request = Request {
        wanted: SessionFilter::These(waiting),
        again: Rescore::Always,
        keeping: WritePolicy::Anew,
        ..request.clone()
    };
    let report = score::run(ctx, &request).await?;
    let verdicts = report.sessions.iter().map(|scored| PanelVerdict {
        session: scored.session.clone(),
        who: who.clone(),
        version: Some(scored.judged.version.clone()),
        week: week.clone(),
        marks: judge_scores::marks(scored),
    });
    keep(ctx.sink, &verdicts.collect::<Vec<_>>(), now).await?;
    Ok(report)
}

/// The sessions of a judge's panel, as far as they are still recorded. Labels are read only where a
/// new panel is to be drawn.
async fn members(
    ctx: &ScoringContext<'_>,
    labels: &str,
    (settled, request): (&[PanelVerdict], &Request),
) -> Result<Vec<SessionId>, ReviewError> {
    let who = PanelKey::new(request.judge.name(), &request.rubric);
    let judged: BTreeSet<&SessionId> = settled.iter().map(|verdict| &verdict.session).collect();
    let judged: Vec<SessionId> = judged.into_iter().cloned().collect();
    let recorded: BTreeSet<SessionId> =
        trial::there(ctx.source, &judged).await?.into_iter().collect();
    let known = panel::members(settled, &who, &recorded, &[]);
    if known.len() >= MIN_PAIRS {
        return Ok(known);
    }
    let whom = JudgeSelection { dataset: labels, rubric: &request.rubric, judge: None };
    let labelled = LabelComparison::read(ctx.source, ctx.sink, whom).await?.sessions();
    let labelled = trial::there(ctx.source, &labelled).await?;
    Ok(panel::members(settled, &who, &recorded, &labelled))
}

/// Saves panel verdicts. A verdict on the same session in the same week is replaced.
///
/// # Errors
/// Fails if it cannot be written.
pub async fn keep(sink: &Sink, verdicts: &[PanelVerdict], now: Timestamp) -> SinkResult<()> {
    for verdict in verdicts {
        save(sink, (DATASET, PANELS), verdict.item(), now).await?;
    }
    Ok(())
}
