use std::collections::HashSet;
use std::time::Duration;

use ratchet_agent::budget::Budget;
use ratchet_core::catalog::evaluator::document::{
    EvaluationRule, EvaluationTarget, Evaluator, EvaluatorVersion, NO_MODEL,
};
use ratchet_core::catalog::evaluator::sampling::is_sampled;
use ratchet_core::judge::evaluator::{EvaluatorVerdict, judge_offline, read};
use ratchet_core::money::Money;
use ratchet_core::record::score::ScoreTarget;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::experiment::{ExperimentItemQuery, ExperimentQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Detail, Direction, Paging, TimeRange, TraceOrder, TraceQuery};

use super::EvaluationWorker;
use super::code::CodeFailure;
use super::evaluation::{Subject, request};
use super::intake::{job, observations, run_target, target_key};
use super::judges::OpenJudge;
use super::manage::{ManageError, find};
use super::records::score_id;
use super::rules::{ProjectRules, RuleFilter};

/// Traces that are read at a time.
const PAGE: u64 = 200;
/// Jobs of one transaction.
const CHUNK: usize = 500;
/// Records whose prompts are built to estimate the cost of all.
const PRICED: usize = 10;
/// The most records of one backfill.
pub const MAX_BACKFILL: usize = 100_000;
/// The most records of one test.
pub const MAX_TEST: usize = 20;

/// Which records to judge in retrospect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillPlan {
    pub since: Option<Timestamp>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// What a backfill or test would do.
#[derive(Clone, Debug, PartialEq)]
pub struct BackfillEstimate {
    /// Matching records, at most as many as asked for.
    pub records: usize,
    /// Those that have a verdict of this version.
    pub judged: usize,
    /// What judging the others costs at most; `None` without a known price.
    pub max_cost: Option<Money>,
    /// The name of the judge.
    pub judge: String,
    pub target: EvaluationTarget,
}

/// What a judge says of one record, without a score being written.
#[derive(Clone, Debug, PartialEq)]
pub struct TestVerdict {
    /// Kind and id of the record.
    pub record: String,
    /// The verdict, or why there is none.
    pub verdict: Result<EvaluatorVerdict, String>,
    pub cost: Option<Money>,
}

/// An evaluator with the rule that a backfill follows, and the matching records.
struct Found {
    rule: EvaluationRule,
    evaluator: Evaluator,
    targets: Vec<ScoreTarget>,
    estimate: BackfillEstimate,
}

impl EvaluationWorker {
    /// Estimates a backfill: nothing is judged.
    ///
    /// # Errors
    /// Fails if there is no such evaluator, or if it can judge nothing.
    pub async fn estimate(
        &self,
        project: &ProjectId,
        (name, plan): (&str, BackfillPlan),
    ) -> Result<BackfillEstimate, ManageError> {
        Ok(self.find(project, name, plan).await?.estimate)
    }

    /// Enqueues a job for each matching record, and returns what was estimated. Records that have
    /// the verdict already are not judged again.
    ///
    /// # Errors
    /// Fails if there is no such evaluator, or if it can judge nothing.
    pub async fn backfill(
        &self,
        project: &ProjectId,
        (name, plan): (&str, BackfillPlan),
    ) -> Result<BackfillEstimate, ManageError> {
        let Found { rule, evaluator, targets, estimate } = self.find(project, name, plan).await?;
        if evaluator.paused.is_some() {
            let why = format!("evaluator {} is paused; resume it first", evaluator.name);
            return Err(ManageError::Refused(why));
        }
        let now = self.pace.now();
        let jobs: Vec<_> = targets
            .iter()
            .filter_map(|target| job((&rule, &evaluator), target, (now, now), true))
            .collect();
        for chunk in jobs.chunks(CHUNK) {
            let catalog = &self.store.catalog;
            catalog.enqueue_evaluations(project.clone(), chunk.to_vec(), now).await?;
        }
        self.wake();
        Ok(estimate)
    }

    /// Judges the newest matching records without writing scores. A model is called and paid for;
    /// its calls count against the cost cap.
    ///
    /// # Errors
    /// Fails if there is no such evaluator, or if it can judge nothing.
    pub async fn test(
        &self,
        project: &ProjectId,
        (name, records): (&str, usize),
    ) -> Result<(BackfillEstimate, Vec<TestVerdict>), ManageError> {
        let plan = BackfillPlan { since: None, limit: records.min(MAX_TEST) };
        let found = self.find(project, name, plan).await?;
        let mut verdicts = Vec::with_capacity(found.targets.len());
        for target in &found.targets {
            let (said, cost) = match self.try_out(project, &found, target).await {
                Ok((said, cost)) => (said.into_iter().map(Ok).collect(), cost),
                Err(why) => (vec![Err(why)], None),
            };
            let tested = |verdict| TestVerdict { record: target_key(target), verdict, cost };
            verdicts.extend(said.into_iter().map(tested));
        }
        Ok((found.estimate, verdicts))
    }

    async fn try_out(
        &self,
        project: &ProjectId,
        found: &Found,
        target: &ScoreTarget,
    ) -> Result<(Vec<EvaluatorVerdict>, Option<Money>), String> {
        let (rule, evaluator) = (&found.rule, &found.evaluator);
        let version = evaluator.latest().ok_or("it has no version")?;
        let subject = Subject { project, rule, evaluator, version, target };
        let now = self.pace.now();
        let material = self.material(&subject, now).await.map_err(|error| error.to_string())?;
        let material = material.ok_or("it is gone")?.map_err(|_| "the session is not over yet")?;
        if let Some(code) = version.code() {
            let verdict = self.code.run(code, &material.record).await;
            return Ok((verdict.map_err(CodeFailure::into_text)?, Some(Money::ZERO)));
        }
        let judge = self.judges.open(&subject.judge_key(), now).await;
        match &*judge.map_err(|error| error.public)? {
            OpenJudge::Offline { signals, rubric } => {
                let verdict = judge_offline(signals, rubric, &material.evidence);
                let verdict = verdict.ok_or("it shows no signal that the offline judge knows")?;
                Ok((vec![verdict], Some(Money::ZERO)))
            }
            OpenJudge::Model { model, instructions, seed, .. } => {
                let output = subject.output().ok_or("it has no outputDefinition")?;
                let ask = request(&subject.prompt(instructions, seed, &material.record), output);
                let most = model.most(&ask);
                let cap = evaluator.cost_cap().filter(|_| most.is_some());
                let catalog = &self.store.catalog;
                let begun = catalog.begin_evaluator_call(subject.call(), most, cap, now).await;
                if !begun.map_err(|error| error.to_string())? {
                    return Err("the evaluator is at its cost cap of the day".to_owned());
                }
                let answer = model.complete(&ask, &Budget::unlimited()).await;
                let cost = answer.as_ref().map_or(Some(Money::ZERO), |answer| answer.cost);
                let settled = catalog.settle_evaluator_call(subject.call(), (most, cost), now);
                settled.await.map_err(|error| error.to_string())?;
                let answer = answer.map_err(|error| error.without_reply())?;
                Ok((vec![read(output, &answer.json.unwrap_or_default())?], answer.cost))
            }
        }
    }

    async fn find(
        &self,
        project: &ProjectId,
        name: &str,
        plan: BackfillPlan,
    ) -> Result<Found, ManageError> {
        let all = ProjectRules::load(&self.store.catalog, project.clone()).await?;
        let evaluator = find(&all, name)?.clone();
        let version = evaluator.latest().map_or(0, |latest| latest.version);
        let its = all.rules.iter().filter(|rule| rule.uses(&evaluator.id));
        let is_online = |rule: &EvaluationRule| rule.target != EvaluationTarget::Experiment;
        let rule = its.max_by_key(|rule| (is_online(rule), rule.is_running()));
        let rule = rule.cloned().ok_or_else(|| {
            let why = "no rule uses it, so nothing says what it judges; add a rule";
            ManageError::Refused(format!("evaluator {}: {why}", evaluator.name))
        })?;
        let filter = RuleFilter::of(&rule).map_err(ManageError::Refused)?;
        let targets = self.targets(project, (&rule, &filter), plan).await?;
        let (mut open, mut judged) = (Vec::new(), 0);
        for target in &targets {
            let id = score_id(&evaluator.id, version, target).ok();
            let known = match id {
                Some(id) => self.store.telemetry.score(project.clone(), id).await?,
                None => None,
            };
            match known {
                Some(_) => judged += 1,
                None => open.push(target),
            }
        }
        let (judge, max_cost) = self.price(project, (&rule, &evaluator), &open).await?;
        let estimate = BackfillEstimate {
            records: targets.len(),
            judged,
            max_cost,
            judge,
            target: rule.target,
        };
        Ok(Found { rule, evaluator, targets, estimate })
    }

    /// What judging some records costs at most, by the prompts of the first ones.
    async fn price(
        &self,
        project: &ProjectId,
        (rule, evaluator): (&EvaluationRule, &Evaluator),
        open: &[&ScoreTarget],
    ) -> Result<(String, Option<Money>), ManageError> {
        let version = evaluator.latest();
        let name = version.and_then(EvaluatorVersion::judge_name);
        let (Some(version), Some(name)) = (version, name) else {
            let why = format!("evaluator {}: {NO_MODEL}", evaluator.name);
            return Err(ManageError::Refused(why));
        };
        if version.code().is_some() {
            let obstacle = self.code.obstacle(version);
            return match obstacle {
                Some(why) => Err(ManageError::Refused(why.to_owned())),
                None => Ok((name, Some(Money::ZERO))),
            };
        }
        let now = self.pace.now();
        let judge = self.judges.open(&(project.clone(), name.clone()), now).await;
        let judge = judge.map_err(|error| ManageError::Refused(error.public))?;
        let OpenJudge::Model { model, instructions, seed, .. } = &*judge else {
            return Ok((name, Some(Money::ZERO)));
        };
        let (mut sum, mut priced) = (Money::ZERO, 0_u64);
        for target in open.iter().take(PRICED) {
            let subject = Subject { project, rule, evaluator, version, target };
            let material = self.material(&subject, now).await;
            let (Ok(Some(Ok(material))), Some(output)) = (material, subject.output()) else {
                continue;
            };
            let ask = request(&subject.prompt(instructions, seed, &material.record), output);
            let Some(most) = model.most(&ask) else { return Ok((name, None)) };
            (sum, priced) = (sum + most, priced + 1);
        }
        let all = i64::try_from(open.len()).unwrap_or(i64::MAX);
        let mean = sum.pico() / i64::try_from(priced.max(1)).unwrap_or(1);
        Ok((name, Some(Money::from_pico(mean.saturating_mul(all)))))
    }

    /// The matching records, newest first.
    async fn targets(
        &self,
        project: &ProjectId,
        (rule, filter): (&EvaluationRule, &RuleFilter),
        plan: BackfillPlan,
    ) -> StoreResult<Vec<ScoreTarget>> {
        let limit = plan.limit.min(MAX_BACKFILL);
        if rule.target == EvaluationTarget::Experiment {
            return self.runs(project, rule, BackfillPlan { limit, ..plan }).await;
        }
        let mut found: Vec<ScoreTarget> = Vec::new();
        let mut seen = HashSet::new();
        let mut cursor = None;
        loop {
            let query = traces(project, filter, plan.since, cursor);
            let page = self.store.telemetry.traces(query).await?;
            for trace in page.rows.iter().filter(|it| it.environment.is_production_traffic()) {
                for target in self.of_trace(project, (rule, filter), trace).await? {
                    if found.len() < limit && seen.insert(target_key(&target)) {
                        found.push(target);
                    }
                }
            }
            cursor = page.cursor;
            if cursor.is_none() || found.len() >= limit {
                return Ok(found);
            }
        }
    }

    /// The runs of dataset items that a rule wants, newest first.
    async fn runs(
        &self,
        project: &ProjectId,
        rule: &EvaluationRule,
        plan: BackfillPlan,
    ) -> StoreResult<Vec<ScoreTarget>> {
        let mut found: Vec<ScoreTarget> = Vec::new();
        let mut seen = HashSet::new();
        let mut cursor = None;
        loop {
            let of = ExperimentQuery {
                project: project.clone(),
                range: TimeRange { from: plan.since, to: None },
                ids: Vec::new(),
                names: Vec::new(),
                datasets: Vec::new(),
                paging: Paging::After { cursor, limit: PAGE },
            };
            let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Row };
            let page = self.store.telemetry.experiment_items(query).await?;
            for target in page.rows.iter().filter_map(|item| run_target(rule, item)) {
                if found.len() < plan.limit && seen.insert(target_key(&target)) {
                    found.push(target);
                }
            }
            cursor = page.cursor;
            if cursor.is_none() || found.len() >= plan.limit {
                return Ok(found);
            }
        }
    }

    async fn of_trace(
        &self,
        project: &ProjectId,
        (rule, filter): (&EvaluationRule, &RuleFilter),
        trace: &Trace,
    ) -> StoreResult<Vec<ScoreTarget>> {
        let all = match rule.target {
            EvaluationTarget::Trace => vec![ScoreTarget::Trace(trace.id.clone())],
            EvaluationTarget::Session => {
                trace.session.iter().cloned().map(ScoreTarget::Session).collect()
            }
            EvaluationTarget::Observation => {
                let ids = observations(&self.store.telemetry, project, &trace.id, filter).await?;
                ids.into_iter().map(|id| ScoreTarget::Observation(trace.id.clone(), id)).collect()
            }
            EvaluationTarget::Experiment => Vec::new(),
        };
        let is_chosen = |target: &ScoreTarget| match target {
            ScoreTarget::Trace(id) => is_sampled(&id.to_string(), rule.sampling),
            ScoreTarget::Observation(_, id) => is_sampled(&id.to_string(), rule.sampling),
            ScoreTarget::Session(id) => is_sampled(&id.to_string(), rule.sampling),
            ScoreTarget::DatasetRun(_) => false,
        };
        Ok(all.into_iter().filter(is_chosen).collect())
    }
}

fn traces(
    project: &ProjectId,
    filter: &RuleFilter,
    since: Option<Timestamp>,
    cursor: Option<String>,
) -> TraceQuery {
    let (range, conditions) = match filter {
        RuleFilter::Traces(filter) => (filter.range, filter.conditions.clone()),
        // Their observations are filtered.
        RuleFilter::Observations(_) => (TimeRange::default(), Vec::new()),
    };
    TraceQuery {
        project: project.clone(),
        range: range.and(TimeRange { from: since, to: None }),
        conditions,
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor, limit: PAGE },
        detail: Detail::Row,
    }
}

/// Reads a time span such as `7d`, `12h` or `30m`.
///
/// ```
/// use ratchet_stages::score::evaluators::backfill::parse_span;
///
/// assert_eq!(parse_span("2h").map(|span| span.as_secs()), Some(7200));
/// assert_eq!(parse_span("2 weeks"), None);
/// ```
pub fn parse_span(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        _ => return None,
    };
    Some(Duration::from_secs(count.checked_mul(seconds)?))
}
