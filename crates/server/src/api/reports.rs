use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::payload::Json as Document;
use ratchet_core::quality::report::WeekReport;
use ratchet_core::quality::suggestion;
use ratchet_core::quality::synthesis::{DimensionStats, WEEKS};
use ratchet_core::record::limit::elide;
use ratchet_remote::weekly_report::{
    SaveEffect, SavedReportView, TrackedListView, TrackedRequest, TrackedStepView, TrackedView,
    WeekListView, WeekReportView,
};
use ratchet_store::catalog::{NewReport, ReportEffect, StoredSuggestion};

use crate::app::App;
use crate::auth::{Member, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// Maximum number of dimensions in a report.
const MAX_DIMENSIONS: usize = 50;
/// Maximum number of suggestions in a report.
const MAX_SUGGESTIONS: usize = 50;

/// `GET /api/v1/reports`: the weekly reports of the key's project.
#[utoipa::path(
    get,
    path = "/api/v1/reports",
    tag = "Quality",
    responses((status = 200, body = WeekListView))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
) -> ApiResult<Json<WeekListView>> {
    let reports = app.store.catalog.reports(caller.project).await?;
    Ok(Json(WeekListView { weeks: reports.into_iter().map(|report| report.week).collect() }))
}

/// `GET /api/v1/reports/{week}`: the report of a week, given by its first day.
#[utoipa::path(
    get,
    path = "/api/v1/reports/{week}",
    tag = "Quality",
    params(("week" = String, Path, description = "The week's first day, such as `2026-11-08`.")),
    responses((status = 200, body = WeekReportView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path(week): Path<String>,
) -> ApiResult<Json<WeekReportView>> {
    let kept = app.store.catalog.report(caller.project, week.clone()).await?;
    let kept = kept.ok_or_else(|| ApiError::NotFound(format!("no report of the week {week}")))?;
    let report = serde_json::from_str(kept.document.as_str());
    Ok(Json(WeekReportView {
        week: kept.week,
        report: report.map_err(|why| ApiError::internal(format!("a stored report: {why}")))?,
        created_at: kept.created_at.to_string(),
        updated_at: kept.updated_at.to_string(),
    }))
}

/// `PUT /api/v1/reports/{week}`: saves the report of a week, and tracks its suggestions.
#[utoipa::path(
    put,
    path = "/api/v1/reports/{week}",
    tag = "Quality",
    params(("week" = String, Path, description = "The week's first day, such as `2026-11-08`.")),
    request_body = Object,
    responses((status = 200, body = SavedReportView))
)]
pub(super) async fn keep(
    State(app): State<App>,
    Member(caller): Member,
    Path(week): Path<String>,
    JsonBody(report): JsonBody<WeekReport>,
) -> ApiResult<Json<SavedReportView>> {
    check(&week, &report)?;
    let document = serde_json::to_value(&report);
    let document = document.map_err(|why| ApiError::Invalid(format!("report: {why}")))?;
    let suggestions = report.suggestions;
    let new = NewReport { week, document: Document::from_value(&document), suggestions };
    let project = caller.project.clone();
    let saved = caller.catalog(&app).save_report(project, new, app.clock.now()).await?;
    let effect = match saved.effect {
        ReportEffect::Made => SaveEffect::Made,
        ReportEffect::Changed => SaveEffect::Changed,
        ReportEffect::Same => SaveEffect::Same,
    };
    let suggestions = saved.suggestions.into_iter().map(tracked).collect();
    Ok(Json(SavedReportView { effect, suggestions }))
}

/// Checks that the report matches its URL and its keys.
fn check(week: &str, report: &WeekReport) -> ApiResult<()> {
    let zone = Zone::parse(&report.zone);
    let zone = zone.map_err(|why| ApiError::Invalid(format!("zone: {why}")))?;
    let named = Week::parse(week, &zone).ok().map(|week| week.days());
    if named != Some((report.week.clone(), report.last_day.clone())) || report.week != week {
        let why = "week: a Sunday, the same in the address and in the report, with its Saturday";
        return Err(ApiError::Invalid(why.to_owned()));
    }
    if !report.scope.is_all() {
        let why = "scope: the report of a week is of the whole project";
        return Err(ApiError::Invalid(why.to_owned()));
    }
    let standings = &report.synthesis.dimensions;
    let is_long = |standing: &DimensionStats| standing.history.len() > WEEKS;
    if standings.len() > MAX_DIMENSIONS
        || standings.iter().chain([&report.synthesis.overall]).any(is_long)
    {
        let why = format!("synthesis: at most {MAX_DIMENSIONS} dimensions over {WEEKS} weeks");
        return Err(ApiError::Invalid(why));
    }
    if report.suggestions.len() > MAX_SUGGESTIONS {
        return Err(ApiError::Invalid(format!("suggestions: at most {MAX_SUGGESTIONS}")));
    }
    let mut seen = BTreeSet::new();
    let is_wrong = |given: &&suggestion::Suggestion| {
        !suggestion::is_key(&given.key) || !seen.insert(given.key.clone())
    };
    match report.suggestions.iter().find(is_wrong) {
        Some(wrong) => {
            let why = format!("suggestions: {} is no key of its own", elide(&wrong.key, 40));
            Err(ApiError::Invalid(why))
        }
        None => Ok(()),
    }
}

/// `GET /api/v1/suggestions`: the suggestions of the key's project, with their status.
#[utoipa::path(
    get,
    path = "/api/v1/suggestions",
    tag = "Quality",
    responses((status = 200, body = TrackedListView))
)]
pub(super) async fn suggestions(
    State(app): State<App>,
    Reader(caller): Reader,
) -> ApiResult<Json<TrackedListView>> {
    let kept = app.store.catalog.suggestions(caller.project).await?;
    Ok(Json(TrackedListView { suggestions: kept.into_iter().map(tracked).collect() }))
}

/// `PUT /api/v1/suggestions/{id}`: sets the status of a suggestion.
#[utoipa::path(
    put,
    path = "/api/v1/suggestions/{id}",
    tag = "Quality",
    params(("id" = String, Path, description = "The suggestion's id.")),
    request_body = TrackedRequest,
    responses((status = 200, body = TrackedView))
)]
pub(super) async fn decide(
    State(app): State<App>,
    Member(caller): Member,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<TrackedRequest>,
) -> ApiResult<Json<TrackedView>> {
    let (catalog, now) = (caller.catalog(&app), app.clock.now());
    let kept = catalog.decide_suggestion(caller.project, id, request.progress, now).await?;
    Ok(Json(tracked(kept)))
}

fn tracked(kept: StoredSuggestion) -> TrackedView {
    let steps = kept.steps.into_iter().map(|step| TrackedStepView {
        progress: step.progress,
        actor: step.actor,
        at: step.at.to_string(),
    });
    TrackedView {
        id: kept.id,
        suggestion: kept.suggestion,
        first_week: kept.first_week,
        last_week: kept.last_week,
        progress: kept.progress,
        steps: steps.collect(),
        created_at: kept.created_at.to_string(),
    }
}
