//! Two weeks of review: which traces were drawn on Monday, and what people answered. The judge is the
//! online evaluator of the demo; every trace has its verdict before the first draw.

use ratchet_core::calendar::Week;
use ratchet_core::catalog::annotation::ItemStatus;
use ratchet_core::id::TraceId;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::trace::Trace;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::DrawnTrace;
use ratchet_core::review::sampler::order_key;
use ratchet_core::time::Timestamp;
use ratchet_stages::review::answer::{self, Answer, NewCase, Reviewed, Submission};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw::{self, QueuePage};
use ratchet_store::Store;
use ratchet_store::catalog::QueueId;
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;

use super::ledger::Ledger;
use super::remarks::{self, Occasion, remark};
use super::story::Course;
use super::timeline::MINUTE;

/// The people who answer, in turn.
const REVIEWERS: [&str; 2] = ["ada.marsh", "noor.weber"];
/// Everything of a demo's week.
const ALL: u64 = 10_000;
/// A week to be drawn and answered.
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
    /// Draws the week and answers; returns how many answers people gave.
    pub(crate) async fn plant(&self) -> anyhow::Result<usize> {
        let mut answered = 0;
        let site = ReviewSite::local(self.store, self.project);
        for target in weekly_draw::targets(&site, self.week).await? {
            let report = weekly_draw::draw(&site, self.week, &target, self.monday).await?;
            if let QueuePage::Here(queue) = &report.page {
                answered += self.answer(queue).await?;
            }
        }
        Ok(answered)
    }

    /// People answer what was drawn. In a week that is not finished, some of the categories with
    /// many traces are left.
    async fn answer(&self, queue: &str) -> anyhow::Result<usize> {
        let draws = self.store.catalog.draws(self.project.clone(), self.week.to_string()).await?;
        let drawn: Vec<DrawnTrace> =
            draws.into_iter().filter(|draw| draw.queue == queue).flat_map(|it| it.traces).collect();
        let of = QueueId { project: self.project.clone(), queue: queue.to_owned() };
        let page = PageNumber { page: 1, limit: ALL };
        let open = Some(ItemStatus::Pending);
        let items = self.store.catalog.queue_items(of.clone(), open, page).await?.rows;
        let mut answered = 0;
        for item in items {
            let Some(one) = drawn.iter().find(|one| one.trace == item.object) else { continue };
            let id = TraceId::parse(&one.trace)?;
            let is_many = matches!(one.category, Category::W6 | Category::W5) && one.taken > 8;
            if !self.is_finished && is_many && chance(&id, "reviewed") >= 150 {
                continue;
            }
            let trace = self.store.telemetry.trace(self.project.clone(), id).await?;
            let Some(trace) = trace else { continue };
            let minutes = i64::try_from(answered).unwrap_or(0);
            let now = self.monday.plus_nanos(minutes * MINUTE);
            self.submit((&of, item.id), (&trace, one.category), now).await?;
            answered += 1;
        }
        Ok(answered)
    }

    /// One answer, saved as the review page does.
    async fn submit(
        &self,
        (queue, item): (&QueueId, String),
        (trace, category): (&Trace, Category),
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let reviewer = REVIEWERS[usize::from(chance(&trace.id, "reviewer") < 80)];
        let submission = Submission {
            attempt: 0,
            queue: queue.clone(),
            item,
            reviewer: reviewer.to_owned(),
            author: Some(reviewer.to_owned()),
            seconds: 12 + u64::from(chance(&trace.id, "seconds")) / 4,
        };
        let reviewed = Reviewed {
            trace: trace.id.clone(),
            observation: None,
            environment: trace.environment.clone(),
        };
        let answer = self.says(trace, category);
        let place = (self.store, &self.store.catalog);
        answer::submit(place, submission, (&reviewed, answer), now).await?;
        Ok(())
    }

    /// What a person says of a trace.
    fn says(&self, trace: &Trace, category: Category) -> Answer {
        let is_correct = self.is_correct(trace, category);
        let agent = trace.agent.as_deref().unwrap_or("the agent");
        let (id, slots) = (trace.id.to_string(), [("agent", agent)]);
        let (wrong, right) = remarks::wrong(&id, &slots);
        let judge_error = match (category.judged_good(), is_correct) {
            (Some(true), false) => Some(remark(Occasion::JudgeTooKind, &id, &slots)),
            (Some(false), true) => Some(remark(Occasion::JudgeTooStrict, &id, &slots)),
            _ => None,
        };
        let content = trace.content.as_ref();
        let recorded = content.and_then(|it| it.output.as_ref()).map(Payload::to_json);
        // Most failures become cases, and a few good answers.
        let is_case = chance(&trace.id, "case") < if is_correct { 20 } else { 170 };
        let case = trace.agent.clone().filter(|_| is_case).map(|agent| NewCase {
            agent,
            input: content.and_then(|it| it.input.as_ref()).map(Payload::to_json),
            expected_output: if is_correct {
                recorded
            } else {
                Some(Json::from_value(&right.into()))
            },
        });
        Answer {
            is_correct,
            helpfulness: Some(if is_correct { 1.0 } else { 0.0 }),
            comment: (!is_correct).then_some(wrong),
            judge_error,
            case,
            ..Answer::default()
        }
    }

    /// Whether an answer was right: as its conversation went, and as its user said.
    fn is_correct(&self, trace: &Trace, category: Category) -> bool {
        let session = trace.session.as_ref().map(ToString::to_string).unwrap_or_default();
        let course = self.ledger.sessions.get(&session).map(|planted| planted.course);
        let course = course.unwrap_or(Course::Good);
        let percent: u32 = match (course, category.thumb()) {
            (Course::Failing, Some(false)) => 8,
            (Course::Failing, None) => 18,
            (Course::Failing, Some(true)) => 75,
            (Course::Rocky, Some(false)) => 25,
            (Course::Rocky, None) => 75,
            (Course::Good, Some(false)) => 45,
            (Course::Rocky, Some(true)) => 92,
            (Course::Good, None) => 97,
            (Course::Good, Some(true)) => 99,
        };
        u32::from(chance(&trace.id, "truth")) * 100 < percent * 256
    }
}

fn chance(trace: &TraceId, what: &str) -> u8 {
    order_key(what, &trace.to_string())[0]
}
