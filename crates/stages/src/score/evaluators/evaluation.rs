use std::sync::Arc;

use ratchet_agent::budget::Budget;
use ratchet_agent::error::ModelError;
use ratchet_agent::request::{LlmRequest, ResponseFormat};
use ratchet_core::backoff::FailedAttempt;
use ratchet_core::catalog::evaluator::document::{
    EvaluationRule, Evaluator, EvaluatorState, EvaluatorVersion, OutputDefinition,
};
use ratchet_core::catalog::evaluator::variables;
use ratchet_core::catalog::prompt::{ChatMessage, PromptBody};
use ratchet_core::job::Retry;
use ratchet_core::judge::evaluator::{
    EvaluatedRecord, EvaluatorPrompt, EvaluatorVerdict, evidence_fingerprint, judge_offline, read,
    schema, values,
};
use ratchet_core::judge::judge_prompt::Seed;
use ratchet_core::money::Money;
use ratchet_core::record::score::ScoreTarget;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{
    EvaluationEnd, EvaluatorCall, FinishedEvaluation, JobFailure, JobLease, JobRecord,
};
use ratchet_store::project::ProjectId;

use super::code::{self, CodeFailure};
use super::intake::{EvaluationPayload, look_again};
use super::judges::{CallPermit, JudgeKey, OUTAGE, OpenJudge};
use super::material::Material;
use super::records::{AnsweredCall, VerdictRecords, VerdictSource, is_current, score_id, written};
use super::rules::ProjectRules;
use super::{EvaluationWorker, store_failure};
use crate::llm_connections;
use crate::source::SourceError;

/// Attempts for an answer that cannot be used: another one may be.
const MAX_INVALID_ANSWERS: u32 = 3;
/// The longest answer of a judge.
const MAX_ANSWER_TOKENS: u32 = 1_024;

/// An evaluation that ended, before its verdict is written.
#[derive(Debug)]
pub(super) struct Evaluated {
    lease: JobLease,
    pub(super) of: EvaluatorCall,
    end: EvaluationEnd,
    pub(super) written: Option<VerdictRecords>,
    spent: Option<(Option<Money>, Option<Money>)>,
    changed_at: Timestamp,
}

impl Evaluated {
    pub(super) fn ended(self, now: Timestamp) -> FinishedEvaluation {
        let Self { lease, of, end, spent, changed_at, .. } = self;
        let lag_ms = u64::try_from(now.since(changed_at) / 1_000_000).unwrap_or(0);
        FinishedEvaluation { lease, of, end, spent, lag_ms }
    }

    /// The verdict is not on disk: it is asked for again.
    pub(super) fn unwritten(self, error: &StoreError, now: Timestamp) -> FinishedEvaluation {
        let retry = Retry::At(now.plus(OUTAGE.first));
        Self { end: failure(store_failure(error), retry), ..self }.ended(now)
    }

    /// The score is refused, and always will be.
    pub(super) fn refused(self, why: &str, now: Timestamp) -> FinishedEvaluation {
        let why = format!("the score is refused: {why}");
        Self { end: failure(why, Retry::Never), ..self }.ended(now)
    }
}

fn failure(error: String, retry: Retry) -> EvaluationEnd {
    EvaluationEnd::Failed(JobFailure { error, retry, result: None })
}

/// How an evaluation ended, and what it left behind.
struct Ending {
    end: EvaluationEnd,
    written: Option<VerdictRecords>,
    spent: Option<(Option<Money>, Option<Money>)>,
}

impl From<EvaluationEnd> for Ending {
    fn from(end: EvaluationEnd) -> Self {
        Self { end, written: None, spent: None }
    }
}

/// What is judged, by whom.
pub(super) struct Subject<'a> {
    pub(super) project: &'a ProjectId,
    pub(super) rule: &'a EvaluationRule,
    pub(super) evaluator: &'a Evaluator,
    pub(super) version: &'a EvaluatorVersion,
    pub(super) target: &'a ScoreTarget,
}

impl Subject<'_> {
    pub(super) fn judge_key(&self) -> JudgeKey {
        (self.project.clone(), self.version.judge_name().unwrap_or_default())
    }

    /// The version that a call is counted for.
    pub(super) fn call(&self) -> EvaluatorCall {
        EvaluatorCall {
            project: self.project.clone(),
            evaluator: self.evaluator.id.clone(),
            version: self.version.version,
        }
    }

    fn score_name(&self) -> &str {
        self.version.score_name.as_deref().unwrap_or(&self.evaluator.name)
    }

    /// The prompt about a record.
    pub(super) fn prompt(
        &self,
        instructions: &str,
        seed: &Seed,
        record: &EvaluatedRecord,
    ) -> EvaluatorPrompt {
        let messages = self.version.prompt.as_deref().unwrap_or_default();
        let names = variables(messages.iter().map(|message| message.content.as_str()));
        let own = self.rule.evaluator_assignments.iter();
        let own = own.filter(|one| one.evaluator_id == self.evaluator.id);
        let own = own.filter_map(|one| one.variable_mapping.as_deref()).next();
        let mapping = own.or(self.version.variable_mapping.as_deref()).unwrap_or_default();
        let what = super::intake::target_key(self.target);
        EvaluatorPrompt::new(
            instructions,
            messages,
            &values(&names, mapping, record),
            (&what, seed),
        )
    }

    /// The form of the answer.
    pub(super) fn output(&self) -> Option<&OutputDefinition> {
        self.version.output_definition.as_ref()
    }
}

/// The request for a verdict.
pub(crate) fn request(prompt: &EvaluatorPrompt, output: &OutputDefinition) -> LlmRequest {
    let said = |(role, content): (&str, &str)| ChatMessage::Said {
        role: role.to_owned(),
        content: content.to_owned(),
        rest: serde_json::Map::new(),
    };
    let system = std::iter::once(("system", prompt.system.as_str()));
    let rest = prompt.messages.iter().map(|(role, text)| (role.as_str(), text.as_str()));
    let body = PromptBody::Chat(system.chain(rest).map(said).collect());
    LlmRequest {
        response_format: ResponseFormat::Json(schema(output)),
        temperature: Some(0.0),
        max_tokens: MAX_ANSWER_TOKENS,
        ..llm_connections::ask(&body)
    }
}

impl EvaluationWorker {
    /// Works off one job.
    pub(super) async fn evaluate(&self, job: JobRecord, rules: Arc<ProjectRules>) -> Evaluated {
        let lease = job.lease();
        let payload: Option<EvaluationPayload> = serde_json::from_str(&job.payload).ok();
        let of = EvaluatorCall {
            project: job.project.clone(),
            evaluator: payload.as_ref().map(|it| it.evaluator.clone()).unwrap_or_default(),
            version: payload.as_ref().map(|it| it.version).unwrap_or_default(),
        };
        let changed_at = payload
            .as_ref()
            .map_or(job.enqueued_at, |payload| Timestamp::from_nanos(payload.changed_at));
        let ending = match payload.as_ref().and_then(EvaluationPayload::target) {
            Some(target) => {
                let payload = payload.as_ref();
                let subject = payload.and_then(|it| subject(&job.project, &rules, it, &target));
                match subject {
                    Some(subject) => self.judge(&job, subject).await,
                    // Its evaluator was paused, changed or deleted since.
                    None => EvaluationEnd::Skipped.into(),
                }
            }
            None => failure("the job names no record".to_owned(), Retry::Never).into(),
        };
        let Ending { end, written, spent } = ending;
        Evaluated { lease, of, end, written, spent, changed_at }
    }

    async fn judge(&self, job: &JobRecord, subject: Subject<'_>) -> Ending {
        match self.try_judge(job, &subject).await {
            Ok(ending) => ending,
            Err(error) => {
                let retry = Retry::At(self.pace.now().plus(self.delay(job)));
                failure(format!("the record cannot be read: {error}"), retry).into()
            }
        }
    }

    async fn try_judge(
        &self,
        job: &JobRecord,
        subject: &Subject<'_>,
    ) -> Result<Ending, SourceError> {
        let now = self.pace.now();
        if let Some(until) = self.unquiet(subject, now).await? {
            return Ok(EvaluationEnd::Postponed(until).into());
        }
        let Some(material) = self.material(subject, now).await? else {
            // It was deleted since.
            return Ok(EvaluationEnd::Skipped.into());
        };
        let material = match material {
            Ok(material) => material,
            Err(until) => return Ok(EvaluationEnd::Postponed(until).into()),
        };
        if subject.version.code().is_some() {
            return self.run_code(job, subject, &material).await;
        }
        let key = subject.judge_key();
        let judge = match self.judges.open(&key, now).await {
            Ok(judge) => judge,
            Err(error) => {
                tracing::warn!(evaluator = subject.evaluator.name, %error, "a judge cannot be opened");
                let retry = Retry::At(now.plus(self.delay(job)));
                return Ok(failure(error.public, retry).into());
            }
        };
        match &*judge {
            OpenJudge::Offline { signals, rubric } => {
                let fingerprint = evidence_fingerprint(&material.evidence);
                if self.is_judged(subject, &fingerprint).await? {
                    return Ok(EvaluationEnd::Unchanged.into());
                }
                let verdict = judge_offline(signals, rubric, &material.evidence);
                let Some(verdict) = verdict else { return Ok(EvaluationEnd::Skipped.into()) };
                let version = signals.fingerprint();
                let names =
                    (ratchet_core::judge::offline::NAME, version.as_str(), fingerprint.as_str());
                Ok(self.judged(subject, &material, (names, vec![verdict], None)))
            }
            OpenJudge::Model { .. } => self.ask(job, subject, (&judge, &key), &material).await,
        }
    }

    /// Runs the evaluator's code.
    async fn run_code(
        &self,
        job: &JobRecord,
        subject: &Subject<'_>,
        material: &Material,
    ) -> Result<Ending, SourceError> {
        let Some(code) = subject.version.code() else {
            return Ok(EvaluationEnd::Skipped.into());
        };
        let fingerprint = code::fingerprint(code.1, &material.record);
        if self.is_judged(subject, &fingerprint).await? {
            return Ok(EvaluationEnd::Unchanged.into());
        }
        let verdicts = self.code.run(code, &material.record).await;
        let now = self.pace.now();
        match verdicts {
            Ok(verdicts) => {
                let judge = subject.version.judge_name().unwrap_or_default();
                let names = (judge.as_str(), "1", fingerprint.as_str());
                Ok(self.judged(subject, material, (names, verdicts, None)))
            }
            Err(CodeFailure::Code(why)) => Ok(invalid_answer(job, why, now).into()),
            Err(CodeFailure::NoInterpreter(why)) => {
                Ok(failure(why, Retry::At(now.plus(self.delay(job)))).into())
            }
        }
    }

    /// Asks a model. The call is counted before it is sent.
    async fn ask(
        &self,
        job: &JobRecord,
        subject: &Subject<'_>,
        (judge, key): (&OpenJudge, &JudgeKey),
        material: &Material,
    ) -> Result<Ending, SourceError> {
        let OpenJudge::Model { name, model, instructions, seed, calls } = judge else {
            return Ok(EvaluationEnd::Skipped.into());
        };
        let Some(output) = subject.output() else { return Ok(EvaluationEnd::Skipped.into()) };
        let prompt = subject.prompt(instructions, seed, &material.record);
        let fingerprint = prompt.fingerprint();
        if self.is_judged(subject, &fingerprint).await? {
            return Ok(EvaluationEnd::Unchanged.into());
        }
        // The semaphore is never closed.
        let _permit = calls.acquire().await;
        let sent_at = self.pace.now();
        let permit = match self.judges.circuits.admit(key, sent_at) {
            Ok(permit) => permit,
            Err(until) => return Ok(EvaluationEnd::Postponed(look_again(until, sent_at)).into()),
        };
        let ask = request(&prompt, output);
        let most = model.most(&ask);
        let (of, cap) = (subject.call(), subject.evaluator.cost_cap());
        let cap = cap.filter(|_| most.is_some() || subject.evaluator.daily_cost_cap.is_some());
        if !self.store.catalog.begin_evaluator_call(of, most, cap, sent_at).await? {
            return Ok(EvaluationEnd::Skipped.into());
        }
        let answer = model.complete(&ask, &Budget::unlimited()).await;
        let now = self.pace.now();
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Ok(self.unanswered(job, (key, permit), (&error, most))),
        };
        permit.answered();
        let spent = Some((most, answer.cost));
        let document = answer.json.clone().unwrap_or_default();
        match read(output, &document) {
            Ok(verdict) => {
                let call = AnsweredCall {
                    // A record that has grown gets a new job of the same id: only the time of the
                    // call tells its trace from that of the earlier one.
                    key: format!("{}#{}#{}", job.id, job.state.leases, sent_at.nanos()),
                    prompt: &prompt,
                    response: &answer,
                    sent_at,
                };
                let names = (name.as_str(), model.name(), fingerprint.as_str());
                Ok(Ending {
                    spent,
                    ..self.judged(subject, material, (names, vec![verdict], Some(&call)))
                })
            }
            Err(why) => Ok(Ending { spent, ..invalid_answer(job, why, now).into() }),
        }
    }

    /// A call without a usable answer.
    fn unanswered(
        &self,
        job: &JobRecord,
        (key, permit): (&JudgeKey, CallPermit<'_>),
        (error, most): (&ModelError, Option<Money>),
    ) -> Ending {
        let now = self.pace.now();
        let why = error.without_reply();
        // A call that was refused before it was worked on is not billed.
        let cost = error.bill().map_or(Some(Money::ZERO), |bill| bill.cost);
        let spent = Some((most, cost));
        match error {
            ModelError::InvalidResponse(_) | ModelError::Refused(_) => {
                permit.answered();
                Ending { spent, ..invalid_answer(job, why, now).into() }
            }
            ModelError::TooLong { .. } => {
                permit.answered();
                Ending { spent, ..failure(why, Retry::Never).into() }
            }
            _ => {
                tracing::warn!(judge = key.1, %error, "a judge does not answer");
                let retry_after = match error {
                    ModelError::RateLimited { retry_after } => *retry_after,
                    _ => None,
                };
                permit.failed(retry_after, (now, self.pace.jitter()));
                let retry = Retry::At(now.plus(self.delay(job)));
                Ending { spent, ..failure(why, retry).into() }
            }
        }
    }

    fn judged(
        &self,
        subject: &Subject<'_>,
        material: &Material,
        (names, verdicts, call): (
            (&str, &str, &str),
            Vec<EvaluatorVerdict>,
            Option<&AnsweredCall<'_>>,
        ),
    ) -> Ending {
        let (judge, judge_version, fingerprint) = names;
        let source = VerdictSource {
            evaluator: subject.evaluator,
            version: subject.version.version,
            rule: &subject.rule.id,
            score_name: subject.score_name(),
            target: subject.target,
            judge,
            judge_version,
            fingerprint,
            environment: &material.environment,
        };
        match written(&source, verdicts, call, self.pace.now()) {
            Ok(written) => {
                Ending { end: EvaluationEnd::Judged, written: Some(written), spent: None }
            }
            Err(error) => failure(error.to_string(), Retry::Never).into(),
        }
    }

    async fn is_judged(
        &self,
        subject: &Subject<'_>,
        fingerprint: &str,
    ) -> Result<bool, SourceError> {
        let version = subject.version.version;
        let Ok(id) = score_id(&subject.evaluator.id, version, subject.target) else {
            return Ok(false);
        };
        let known = self.store.telemetry.score(subject.project.clone(), id).await?;
        Ok(known.is_some_and(|score| is_current(&score, fingerprint)))
    }

    /// Returns when to look again at a trace that was written a moment ago. The outbox waits for the
    /// shortest delay of all rules only, and a job may be older than the last change.
    async fn unquiet(
        &self,
        subject: &Subject<'_>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, SourceError> {
        let (ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _)) = subject.target
        else {
            return Ok(None);
        };
        let (project, delay) = (subject.project.clone(), subject.rule.delay());
        let change = self.store.telemetry.last_change(project, trace.clone()).await?;
        let Some(change) = change else { return Ok(None) };
        let due = match change.at.plus(delay) {
            due if due > now => Some(due),
            _ => change.is_in_outbox.then(|| now.plus(delay)),
        };
        Ok(due.map(|due| look_again(due, now)))
    }

    fn delay(&self, job: &JobRecord) -> std::time::Duration {
        let failed = FailedAttempt {
            attempt: job.state.attempts,
            jitter: self.pace.jitter(),
            ..FailedAttempt::default()
        };
        OUTAGE.delay(failed).unwrap_or(OUTAGE.cap)
    }
}

fn invalid_answer(job: &JobRecord, why: String, now: Timestamp) -> EvaluationEnd {
    let retry = match job.state.attempts {
        attempts if attempts < MAX_INVALID_ANSWERS => Retry::At(now.plus(OUTAGE.first)),
        _ => Retry::Never,
    };
    failure(why, retry)
}

/// The rule and evaluator of a job, if they run, in the version that it is for.
fn subject<'a>(
    project: &'a ProjectId,
    rules: &'a ProjectRules,
    payload: &EvaluationPayload,
    target: &'a ScoreTarget,
) -> Option<Subject<'a>> {
    let evaluator = rules.evaluator(&payload.evaluator)?;
    let rule = rules.rules.iter().find(|rule| rule.id == payload.rule)?;
    let version = evaluator.latest().filter(|latest| latest.version == payload.version)?;
    let is_active = evaluator.state(&rules.rules) == EvaluatorState::Active && rule.is_running();
    let may_run = is_active || (payload.is_backfill && evaluator.paused.is_none());
    may_run.then_some(Subject { project, rule, evaluator, version, target })
}
