use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Redirect;
use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::catalog::review::{CORRECTNESS, HELPFULNESS};
use ratchet_core::id::ObservationId;
use ratchet_core::record::score::ScoreTarget;
use ratchet_stages::review::answer::{self, Answer, AnswerError, NewCase, Submission};
use ratchet_stages::review::config_answer::{self, ConfigAnswer};
use ratchet_stages::review::session_answer;
use ratchet_stages::sink::LocalSink;
use ratchet_store::StoreError;
use ratchet_store::catalog::{LeaseStatus, QueueId, QueueItem, ReviewEffect, StoredScoreConfig};

use super::form::TOOL;
use super::record::Record;
use super::{config_form, reviewer, session};
use crate::form::ReviewForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::annotation;
use crate::pages::datasets::typed;
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Path parameters of an item.
type ItemPath = Path<(String, String, String)>;

/// `POST …/review/{item}`: saves an answer, or skips the item, and goes on to the next.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, queue, item)): ItemPath,
    ReviewForm { ctx, form }: ReviewForm,
) -> PageResult<Redirect> {
    let of = QueueId { project: ctx.project_id(), queue };
    super::super::must_be_assigned(&web, &ctx, &of).await?;
    let catalog = ctx.viewer.catalog(&web);
    let item = catalog.queue_item(of.clone(), item).await?;
    let submission = submission(&ctx, &form, &of, item.id.clone())?;
    let queue = catalog.queue(of.clone()).await?;
    let configs = config_form::configs(&web, &of, &queue.score_configs).await?;
    let effect = if form.get("skip").is_some() {
        answer::skip(&catalog, submission, ctx.now).await
    } else if !configs.is_empty() {
        let given = by_configs(&web, &ctx, &form, (&item, configs)).await?;
        config_answer::submit((&web.store, &catalog), submission, given, ctx.now).await
    } else if item.kind == ItemKind::Session {
        let settings = catalog.review_settings(of.clone()).await?;
        let rubric = session::rubric(&web, &settings)?;
        let given = session::read(&ctx, &form, &item, &rubric)?;
        let (telemetry, project) = (web.store.telemetry.clone(), ctx.project_id());
        let local = LocalSink { telemetry, catalog, project };
        let into = (settings.dataset.as_str(), &rubric);
        session_answer::submit(&local, submission, into, given, ctx.now).await
    } else {
        let record = Record::load(&web, &ctx, &item).await?;
        let given = read(&web, &ctx, &form, &record).await?;
        let about = (&record.reviewed(), given);
        answer::submit((&web.store, &catalog), submission, about, ctx.now).await
    };
    let done = match effect.map_err(refused)? {
        ReviewEffect::Completed | ReviewEffect::Counted | ReviewEffect::Repeated => None,
        ReviewEffect::Late => Some("late"),
    };
    let next = ctx.to(&["queues", &of.queue, "review"]);
    let next = done.into_iter().fold(next, |next, done| next.with("done", done));
    Ok(Redirect::to(&next.to_string()))
}

/// `POST …/review/{item}/heartbeat`: extends the lease; 409 if another reviewer has the item.
pub(super) async fn heartbeat(
    State(web): State<Web>,
    Path((_, queue, item)): ItemPath,
    ReviewForm { ctx, form }: ReviewForm,
) -> PageResult<StatusCode> {
    let of = QueueId { project: ctx.project_id(), queue };
    super::super::must_be_assigned(&web, &ctx, &of).await?;
    web.store.catalog.queue_item(of.clone(), item.clone()).await?;
    let lease = form.get("lease").and_then(|lease| lease.parse().ok());
    let lease = lease.ok_or_else(|| PageError::Bad("lease: a number".to_owned()))?;
    match web.store.catalog.renew_review(of, (item, lease), ctx.now).await? {
        LeaseStatus::Held => Ok(StatusCode::NO_CONTENT),
        LeaseStatus::Lost => Ok(StatusCode::CONFLICT),
    }
}

/// `POST …/undo`: takes the reviewer's last answer back, and shows its item again.
pub(super) async fn undo(
    State(web): State<Web>,
    Path((_, queue)): Path<(String, String)>,
    ReviewForm { ctx, .. }: ReviewForm,
) -> PageResult<Redirect> {
    let of = QueueId { project: ctx.project_id(), queue };
    super::super::must_be_assigned(&web, &ctx, &of).await?;
    web.store.catalog.queue(of.clone()).await?;
    let (catalog, me) = (ctx.viewer.catalog(&web), reviewer(&ctx.viewer));
    let undone = answer::undo((&web.store, &catalog), of.clone(), me, ctx.now).await;
    let next = ctx.to(&["queues", &of.queue, "review"]);
    let next = match undone.map_err(refused)? {
        Some(review) => next.with("item", review.item).with("done", "undone"),
        None => next.with("done", "nothing"),
    };
    Ok(Redirect::to(&next.to_string()))
}

/// Toast message after an action.
pub(super) fn done(ctx: &RequestContext) -> Option<&'static str> {
    match ctx.params.get("done")? {
        "late" => Some("Saved as a second review: another reviewer had the item by then"),
        "undone" => Some("Your last answer is taken back"),
        "nothing" => Some("There is no answer to take back"),
        _ => None,
    }
}

fn refused(error: AnswerError) -> PageError {
    match error {
        AnswerError::Invalid(why) => PageError::Bad(why),
        AnswerError::Store(error) => error.into(),
    }
}

fn submission(
    ctx: &RequestContext,
    form: &Params,
    of: &QueueId,
    item: String,
) -> PageResult<Submission> {
    let attempt = form.get("attempt").and_then(|text| text.parse().ok());
    let attempt = attempt.ok_or_else(|| PageError::Bad("attempt: a number".to_owned()))?;
    Ok(Submission {
        attempt,
        queue: of.clone(),
        item,
        reviewer: reviewer(&ctx.viewer),
        author: ctx.viewer.person().map(str::to_owned),
        seconds: form.get("seconds").and_then(|text| text.parse().ok()).unwrap_or(0),
    })
}

async fn read(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    record: &Record,
) -> PageResult<Answer> {
    let is_correct = match form.get(CORRECTNESS) {
        Some("1") => true,
        Some("0") => false,
        _ => return Err(PageError::Bad(format!("{CORRECTNESS}: choose 0 or 1"))),
    };
    let helpfulness = form.get(HELPFULNESS).map(|text| {
        text.parse().map_err(|_| PageError::Bad(format!("{HELPFULNESS}: a number from 0 to 1")))
    });
    let text = |name: &str| {
        let text = form.get(name)?.replace("\r\n", "\n").trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    };
    Ok(Answer {
        is_correct,
        helpfulness: helpfulness.transpose()?,
        tools: tools(form, record)?,
        comment: text("comment"),
        judge_error: text("judge_error"),
        case: case(web, ctx, form, record).await?,
    })
}

async fn case(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    record: &Record,
) -> PageResult<Option<NewCase>> {
    if form.get("case") != Some("yes") {
        return Ok(None);
    }
    let agent = agent(web, ctx, record).await?;
    let agent = agent.ok_or_else(|| {
        PageError::Bad("case: the trace names no agent, so there is no dataset for it".to_owned())
    })?;
    let expected_output = typed(form, "expected_output");
    Ok(Some(NewCase { agent, input: record.input(), expected_output }))
}

/// Reads an answer by the score configs of a queue.
async fn by_configs(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    (item, configs): (&QueueItem, Vec<StoredScoreConfig>),
) -> PageResult<ConfigAnswer> {
    let values = config_form::read(form, configs)?;
    let comment = annotation::comment(form)?;
    if item.kind == ItemKind::Session {
        let session = session::load(web, ctx, item).await?;
        let (target, environment) = (ScoreTarget::Session(session.id), session.environment);
        return Ok(ConfigAnswer { target, environment, values, comment, case: None });
    }
    let record = Record::load(web, ctx, item).await?;
    let reviewed = record.reviewed();
    let target = match &reviewed.observation {
        Some(step) => ScoreTarget::Observation(reviewed.trace.clone(), step.clone()),
        None => ScoreTarget::Trace(reviewed.trace.clone()),
    };
    let environment = reviewed.environment.clone();
    let case = case(web, ctx, form, &record).await?.map(|case| (reviewed, case));
    Ok(ConfigAnswer { target, environment, values, comment, case })
}

fn tools(form: &Params, record: &Record) -> PageResult<Vec<(ObservationId, String, bool)>> {
    let mut found = Vec::new();
    for tool in record.tools() {
        match form.get(&format!("{TOOL}{}", tool.first)) {
            None => {}
            Some("1") => found.push((tool.first, tool.name, true)),
            Some("0") => found.push((tool.first, tool.name, false)),
            Some(_) => return Err(PageError::Bad(format!("{TOOL}{}: choose 0 or 1", tool.first))),
        }
    }
    Ok(found)
}

/// The record's agent by its own name, where traces have an alias.
pub(super) async fn agent(
    web: &Web,
    ctx: &RequestContext,
    record: &Record,
) -> PageResult<Option<String>> {
    let Some(name) = record.trace.agent.clone() else { return Ok(None) };
    match web.store.catalog.agent(ctx.project_id(), name.clone()).await {
        Ok(agent) => Ok(Some(agent.name)),
        Err(StoreError::NotFound(_)) => Ok(Some(name)),
        Err(error) => Err(error.into()),
    }
}
