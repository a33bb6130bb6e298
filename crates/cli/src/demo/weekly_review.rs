//! Two weeks of review: what an online judge said of each trace, which traces were drawn on Monday,
//! and what people answered.

use ratchet_core::calendar::Week;
use ratchet_core::catalog::annotation::ItemStatus;
use ratchet_core::id::{IdError, ScoreId, TraceId};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{ScoreSource, ScoreTarget};
use ratchet_core::record::trace::Trace;
use ratchet_core::review::category::Category;
use ratchet_core::review::sampler::order_key;
use ratchet_core::time::Timestamp;
use ratchet_stages::record::scores;
use ratchet_stages::review::weekly_draw;
use ratchet_store::Store;
use ratchet_store::catalog::QueueId;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Detail, Direction, PageNumber, Paging, TimeRange, TraceOrder, TraceQuery,
};
use ratchet_store::review_signals::{CORRECTNESS, QUALITY};

use super::ledger::Ledger;
use super::story::Course;

/// The person who answers.
const REVIEWER: &str = "ada.marsh";
/// Everything of a demo's week.
const ALL: u64 = 10_000;

/// A week to be judged, drawn and answered.
#[derive(Debug)]
pub(crate) struct ReviewedWeek<'a> {
    pub(crate) store: &'a Store,
    pub(crate) project: &'a ProjectId,
    pub(crate) ledger: &'a Ledger,
    pub(crate) week: &'a Week,
    /// When traces are drawn and answered.
    pub(crate) monday: Timestamp,
    /// Whether people have finished the sample.
    pub(crate) is_finished: bool,
}

impl ReviewedWeek<'_> {
    /// Plants the week; returns how many answers people gave.
    pub(crate) async fn plant(&self) -> anyhow::Result<usize> {
        let traces = self.traces().await?;
        let verdicts = traces.iter().map(|trace| self.verdict(trace));
        self.write(verdicts.collect::<Result<_, _>>()?, self.week.end()).await?;
        let mut answered = 0;
        for target in weekly_draw::targets(self.store, self.project, self.week).await? {
            let of = (self.project, self.week);
            let report = weekly_draw::draw(self.store, of, &target, self.monday).await?;
            answered += self.answer(&report.queue_id, &traces).await?;
        }
        Ok(answered)
    }

    async fn traces(&self) -> anyhow::Result<Vec<Trace>> {
        let query = TraceQuery {
            project: self.project.clone(),
            range: TimeRange { from: Some(self.week.start()), to: Some(self.week.end()) },
            conditions: Vec::new(),
            order: (TraceOrder::Timestamp, Direction::Ascending),
            paging: Paging::Numbered(PageNumber { page: 1, limit: ALL }),
            detail: Detail::Row,
        };
        Ok(self.store.telemetry.traces(query).await?.rows)
    }

    /// Whether an answer was right: mostly, as its conversation went.
    fn is_correct(&self, trace: &Trace) -> bool {
        let session = trace.session.as_ref().map(ToString::to_string).unwrap_or_default();
        let course = self.ledger.sessions.get(&session).map(|planted| planted.course);
        let share = match course {
            Some(Course::Failing) => 60,
            Some(Course::Rocky) => 190,
            Some(Course::Good) | None => 248,
        };
        chance(&trace.id, "truth") < share
    }

    /// What the online judge said: right most of the time, lenient rather than strict.
    fn verdict(&self, trace: &Trace) -> Result<ScoreDraft, IdError> {
        let good = if self.is_correct(trace) {
            chance(&trace.id, "judge") < 244
        } else {
            chance(&trace.id, "judge") < 70
        };
        let spread = f64::from(chance(&trace.id, "quality")) / 255.0;
        let value = if good { 0.7 + 0.28 * spread } else { 0.1 + 0.3 * spread };
        let value = (value * 100.0).round() / 100.0;
        self.score(trace, (QUALITY, ScoreSource::Eval), value)
    }

    /// People answer what was drawn, through the API: scores with the source of pages need a config. In a week that is not finished, some of the categories with
    /// many traces are left.
    async fn answer(&self, queue: &str, traces: &[Trace]) -> anyhow::Result<usize> {
        let draws = self.store.catalog.draws(self.project.clone(), self.week.to_string()).await?;
        let drawn = draws.into_iter().filter(|draw| draw.queue == queue);
        let mut answers = Vec::new();
        for one in drawn.flat_map(|draw| draw.traces) {
            let left = matches!(one.category, Category::W6 | Category::W5) && one.taken > 8;
            let trace = traces.iter().find(|trace| trace.id.to_string() == one.trace);
            let Some(trace) = trace else { continue };
            if self.is_finished || !left || chance(&trace.id, "reviewed") < 150 {
                answers.push(trace);
            }
        }
        let answer = |trace: &&Trace| {
            let value = if self.is_correct(trace) { 1.0 } else { 0.0 };
            let mut draft = self.score(trace, (CORRECTNESS, ScoreSource::Api), value)?;
            draft.author = Field::new(REVIEWER.to_owned(), draft.stamp);
            Ok::<_, IdError>(draft)
        };
        self.write(answers.iter().map(answer).collect::<Result<_, _>>()?, self.monday).await?;
        self.complete(queue, &answers).await?;
        Ok(answers.len())
    }

    /// Marks the items of answered traces as done.
    async fn complete(&self, queue: &str, answered: &[&Trace]) -> anyhow::Result<()> {
        let of = QueueId { project: self.project.clone(), queue: queue.to_owned() };
        let page = PageNumber { page: 1, limit: ALL };
        let open = Some(ItemStatus::Pending);
        let items = self.store.catalog.queue_items(of.clone(), open, page).await?;
        let is_answered =
            |object: &str| answered.iter().any(|trace| trace.id.to_string() == object);
        for item in items.rows.into_iter().filter(|item| is_answered(&item.object)) {
            let done = Some(ItemStatus::Completed);
            self.store.catalog.set_queue_item(of.clone(), item.id, done, self.monday).await?;
        }
        Ok(())
    }

    fn score(
        &self,
        trace: &Trace,
        (name, source): (&str, ScoreSource),
        value: f64,
    ) -> Result<ScoreDraft, IdError> {
        let id = ScoreId::parse(&format!("demo-{name}-{}", trace.id))?;
        let at = if name == QUALITY { trace.timestamp } else { self.monday };
        let stamp = Stamp::stated(at, WriteKind::Create);
        let target = ScoreTarget::Trace(trace.id.clone());
        Ok(ScoreDraft {
            name: Some(name.to_owned()),
            value: Some(SentValue::Number(value)),
            environment: Field::new(trace.environment.clone(), stamp),
            ..ScoreDraft::new(id, target, source, stamp)
        })
    }

    async fn write(&self, drafts: Vec<ScoreDraft>, now: Timestamp) -> anyhow::Result<()> {
        let store = (&self.store.telemetry, &self.store.catalog);
        Ok(scores::write(store, self.project.clone(), drafts, now).await?)
    }
}

fn chance(trace: &TraceId, what: &str) -> u8 {
    order_key(what, &trace.to_string())[0]
}
