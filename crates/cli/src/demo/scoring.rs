//! Scores and reports the demo's two weeks, as schedules and people would have done it.

use std::path::PathBuf;

use ratchet_core::calendar::Week;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::label::{DATASET, Label};
use ratchet_core::quality::report::{ReportScope, WeekReport};
use ratchet_core::time::Timestamp;
use ratchet_stages::data_target::{ScoringOptions, ScoringTarget};
use ratchet_stages::review::sampling::{self, SamplePlan};
use ratchet_stages::review::{labels, panel, session_queue};
use ratchet_stages::score::attach::Attach;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::select_sessions::SessionFilter;
use ratchet_stages::score::{Request, Rescore, ScoringContext, WritePolicy};
use ratchet_stages::sink::Sink;
use ratchet_stages::weekly_report::{AT_ONCE, SessionScoring, WeeklyPipeline};
use ratchet_store::Store;
use ratchet_store::project::ProjectId;
use uuid::Uuid;

use super::ledger::Ledger;
use super::review::{self, SAMPLE, Sitting};
use super::timeline::{HOUR, Timeline};
use super::weekly_review::ReviewedWeek;
use crate::cmd::supervise;
use crate::local_environment;

/// Hours after a week's end: the weekly report, the sample for labelling, the labels.
const REPORT: i64 = 2;
const DRAW: i64 = 24 + 6;
const LABEL: i64 = 24 + 14;

/// Where the demo is recorded, and what was planted in it.
#[derive(Debug)]
pub(crate) struct DemoScoring<'a> {
    pub(crate) store: Store,
    pub(crate) data: PathBuf,
    pub(crate) project: ProjectId,
    pub(crate) timeline: &'a Timeline,
    pub(crate) ledger: &'a Ledger,
}

/// The result of scoring the demo.
#[derive(Debug)]
pub(crate) struct Reports {
    /// The report of the second week.
    pub(crate) newest: WeekReport,
    pub(crate) labels: usize,
}

impl DemoScoring<'_> {
    /// Scores and reports the first week, labels a sample of it, then scores and reports the second.
    pub(crate) async fn run(&self, tell: impl Fn(&str)) -> anyhow::Result<Reports> {
        let target = self.target().await?;
        let rubric = target.rubric(rubric::DEFAULT)?;
        let Timeline { first, second, .. } = self.timeline;
        tell("scoring the first week with the offline judge …");
        let first_report = self.report(&target, &rubric, first).await?;
        tell(&format!("  {}", first_report.headline()));
        let labels = self.label(&target, &rubric).await?;
        let mut labelled: Vec<SessionId> = labels.iter().map(|it| it.session.clone()).collect();
        labelled.dedup();
        self.judge_panel(&target, &rubric, &labelled).await?;
        tell(&format!("  {} sessions labelled by people", labelled.len()));
        tell("scoring the second week …");
        self.scripted(&target, &rubric, (&labelled, Sitting::Second)).await?;
        let second_report = self.report(&target, &rubric, second).await?;
        tell(&format!("  {}", second_report.headline()));
        Ok(Reports { newest: second_report, labels: labels.len() })
    }

    /// Draws both weeks for review, and answers as people would have done. The verdicts of the
    /// online evaluator must be there: they decide what is drawn.
    pub(crate) async fn review(&self, tell: impl Fn(&str)) -> anyhow::Result<()> {
        let Timeline { first, second, .. } = self.timeline;
        let mut answers = 0;
        for (week, is_finished) in [(first, true), (second, false)] {
            let reviewed = ReviewedWeek {
                store: &self.store,
                project: &self.project,
                ledger: self.ledger,
                week,
                monday: self.after(week, DRAW),
                is_finished,
            };
            answers += reviewed.plant().await?;
        }
        tell(&format!("  {answers} traces of both weeks reviewed by people"));
        Ok(())
    }

    async fn target(&self) -> anyhow::Result<ScoringTarget> {
        let outbound = OutboundPolicy::unrestricted();
        let run = Uuid::new_v4().to_string();
        let (supervision, now) = (supervise::supervision(), self.timeline.end);
        let options = ScoringOptions { run, outbound, supervision, now };
        let place = (self.store.clone(), self.data.clone());
        Ok(ScoringTarget::local(place, self.project.clone(), options).await?)
    }

    /// A moment so many hours after a week, but not after the end.
    fn after(&self, week: &Week, hours: i64) -> Timestamp {
        week.end().plus_nanos(hours * HOUR).min(self.timeline.end)
    }

    async fn report(
        &self,
        target: &ScoringTarget,
        rubric: &Rubric,
        week: &Week,
    ) -> anyhow::Result<WeekReport> {
        let pipeline = WeeklyPipeline {
            project: target.project().await.map(|(_, name)| name),
            week: week.clone(),
            scoring: SessionScoring {
                run: Uuid::new_v4().to_string(),
                rubric: rubric.clone(),
                scope: ReportScope::default(),
                judge: Some(Judge::Offline),
                at_once: AT_ONCE,
                batch: None,
                attach: Attach::Session,
            },
            templates: local_environment::templates(&self.data)?,
            instructions: String::new(),
            learnings: None,
            hooks: Vec::new(),
            outbound: OutboundPolicy::unrestricted(),
            link: None,
            labelling: None,
            files: Some((self.data.clone(), self.project.clone())),
        };
        let now = self.after(week, REPORT);
        let reports = target.reports().await?;
        let delivery = Box::pin(pipeline.run(&context(target, &|| now), reports)).await?;
        Ok(delivery.done.report)
    }

    /// Draws a sample of the first week and labels it.
    async fn label(&self, target: &ScoringTarget, rubric: &Rubric) -> anyhow::Result<Vec<Label>> {
        let plan = SamplePlan { dataset: DATASET, rubric, days: 14, size: Some(SAMPLE) };
        let drawn_at = self.after(&self.timeline.first, DRAW);
        let drawn = sampling::this_week(&target.source, &target.sink, plan, drawn_at).await?;
        let now = self.after(&self.timeline.first, LABEL);
        let given = review::labels(self.ledger, rubric, &drawn, now);
        labels::keep((&target.source, &target.sink), (DATASET, rubric), &given, now).await?;
        if let Sink::Local(local) = &target.sink {
            let sessions = given.iter().map(|label| label.session.clone());
            session_queue::complete(local, (DATASET, rubric), sessions, now).await?;
        }
        Ok(given)
    }

    /// Has the offline judge and the scripted one judge their panels for the first time.
    async fn judge_panel(
        &self,
        target: &ScoringTarget,
        rubric: &Rubric,
        labelled: &[SessionId],
    ) -> anyhow::Result<()> {
        let now = self.after(&self.timeline.first, LABEL + 2);
        let request = Request {
            run: Uuid::new_v4().to_string(),
            rubric: rubric.clone(),
            judge: Judge::Offline,
            wanted: SessionFilter::These(Vec::new()),
            again: Rescore::Always,
            keeping: WritePolicy::Anew,
            attach: Attach::Session,
            at_once: AT_ONCE,
            batch: None,
        };
        let clock = || now;
        let context = context(target, &clock);
        Box::pin(panel::rejudge_panel(&context, DATASET, &request)).await?;
        self.scripted(target, rubric, (labelled, Sitting::First)).await
    }

    async fn scripted(
        &self,
        target: &ScoringTarget,
        rubric: &Rubric,
        (labelled, sitting): (&[SessionId], Sitting),
    ) -> anyhow::Result<()> {
        let Timeline { first, second, .. } = self.timeline;
        let now = match sitting {
            Sitting::First => self.after(first, LABEL + 2),
            Sitting::Second => self.after(second, 0),
        };
        let week = sampling::week(now);
        let verdicts = review::scripted_verdicts(self.ledger, rubric, labelled, (sitting, &week));
        Ok(panel::keep(&target.sink, &verdicts, now).await?)
    }
}

fn context<'a>(
    target: &'a ScoringTarget,
    clock: &'a (dyn Fn() -> Timestamp + Sync),
) -> ScoringContext<'a> {
    ScoringContext {
        source: &target.source,
        sink: &target.sink,
        journal: &target.journal,
        clock,
        is_stopping: &|| false,
        watch: &|_| (),
    }
}
