//! The output as it should have been, as a person wrote it.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::environment::Environment;
use ratchet_core::id::ScoreId;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::message_formats::{self, Part, Reading};
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{DataType, Score, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_store::catalog::AuditObject;
use uuid::Uuid;

use super::run::{RecordDetail, Subject};
use super::{TracePath, content, forms, name, outline};
use crate::components::{diff, figure};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::annotation;
use crate::pages::datasets::to_type;
use crate::request_context::{Link, RequestContext};
use crate::score_summary;
use crate::web::Web;

/// Bytes of an output that can be edited or compared on a page.
const MAX_EDITED: usize = 100_000;

/// The newest correction of what is selected, and its text.
fn newest(subject: &Subject) -> Option<(&Score, &str)> {
    let corrections = subject.scores.iter().filter_map(|score| match &score.value {
        ScoreValue::Correction(text) => Some((score, text.as_str())),
        _ => None,
    });
    corrections.max_by_key(|(score, _)| score.timestamp)
}

/// Link to the form.
pub(super) fn link(ctx: &RequestContext, subject: &Subject) -> Link {
    let to = forms::action(ctx, subject, "correction");
    subject.step_id().into_iter().fold(to, |to, id| to.with("observation", id))
}

/// The recorded output as it is edited; `None` if it is too long for a page.
fn recorded(subject: &Subject) -> Option<String> {
    let output: Option<Json> = subject.content.output.as_ref().map(Payload::to_json);
    let answer = output.as_ref().and_then(|output| answer(output.as_str()));
    let text = answer.unwrap_or_else(|| to_type(output.as_ref()));
    (text.len() <= MAX_EDITED).then_some(text)
}

/// The words of a message, if an output is one and nothing else.
fn answer(output: &str) -> Option<String> {
    let Reading::Messages(messages) = message_formats::read(output) else { return None };
    let [message] = messages.as_slice() else { return None };
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        _ => None,
    };
    let texts: Option<Vec<String>> = message.parts.iter().map(text).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

/// The corrected output beside the recorded one.
pub(super) async fn shown(ctx: &RequestContext, subject: &Subject) -> Markup {
    let Some((score, text)) = newest(subject) else { return Markup::default() };
    let changes = match recorded(subject).filter(|_| text.len() <= MAX_EDITED) {
        Some(recorded) => diff::beside(recorded, text.to_owned()).await,
        None => html! { pre.payload tabindex="0" { (text) } },
    };
    html! {
        section.side.corrected {
            h3 { "Corrected output" }
            p.muted {
                (score_summary::judge_name(score)) ", " (figure::when(score.timestamp, &ctx.time)) ". "
                "Changes from the recorded output:"
                @if ctx.viewer.can_change() { " " a href=(link(ctx, subject)) { "Edit" } }
            }
            (changes)
        }
    }
}

/// `GET …/traces/{trace}/correction`: a form that begins with the last correction, or with what was
/// recorded.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let subject = forms::subject(&web, &ctx, &trace, &ctx.params).await?;
    let text = match newest(&subject) {
        Some((_, text)) => text.to_owned(),
        None => recorded(&subject).unwrap_or_default(),
    };
    Ok(page(&ctx, &subject, (&text, None)))
}

fn page(ctx: &RequestContext, subject: &Subject, (text, wrong): (&str, Option<&str>)) -> Markup {
    let title = match &subject.about {
        RecordDetail::Trace(trace, _) => name(trace),
        RecordDetail::Step(step) => outline::step_name(step),
    };
    let back = content::here(ctx, subject);
    let mut page = Page::new(Section::Traces, "Correct output");
    page.crumbs = vec![("Traces".to_owned(), Section::Traces.link(ctx)), (title, back.clone())];
    page.summary = html! { "What the output should have been. The recorded one stays as it is." };
    page.body = html! {
        form.maker method="post" action=(forms::action(ctx, subject, "correction")) {
            (forms::hidden(ctx, subject))
            div.form-row {
                label for="text" { "Corrected output" }
                textarea #text name="text" rows="16" spellcheck="false"
                    aria-invalid=[wrong.map(|_| "true")] { "\n" (text) }
                @if let Some(wrong) = wrong { p.wrong role="alert" { (wrong) } }
            }
            p.actions {
                button.button.primary type="submit" { "Save correction" } " "
                @if newest(subject).is_some() {
                    button.button.danger type="submit" name="action" value="remove" { "Remove correction" } " "
                }
                a.button href=(back) { "Cancel" }
            }
        }
    };
    page.show(ctx)
}

/// `POST …/traces/{trace}/correction`: saves or removes the correction.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let subject = forms::subject(&web, &ctx, &trace, &form).await?;
    if form.get("action") == Some("remove") {
        return Ok(remove(&web, &ctx, &subject).await?.into_response());
    }
    let text = form.get("text").unwrap_or_default().replace("\r\n", "\n");
    if text.trim().is_empty() {
        let shown = page(&ctx, &subject, ("", Some("required; to take it away, remove it")));
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response());
    }
    annotation::write(&web, &ctx, vec![draft(&ctx, &subject, text)?]).await?;
    Ok(forms::back(&ctx, &subject, "corrected").into_response())
}

/// The score of a correction: a new one, or a change of what people wrote before.
fn draft(ctx: &RequestContext, subject: &Subject, text: String) -> PageResult<ScoreDraft> {
    let (target, environment): (ScoreTarget, &Environment) = match &subject.about {
        RecordDetail::Trace(trace, _) => (ScoreTarget::Trace(trace.id.clone()), &trace.environment),
        RecordDetail::Step(step) => {
            (ScoreTarget::Observation(step.trace.clone(), step.id.clone()), &step.environment)
        }
    };
    let by_people = newest(subject).filter(|(score, _)| score.source == ScoreSource::Annotation);
    let id = match by_people {
        Some((score, _)) => score.id.clone(),
        None => ScoreId::parse(&Uuid::new_v4().to_string())
            .map_err(|why| PageError::Bad(why.to_string()))?,
    };
    let stamp = Stamp::stated(ctx.now, WriteKind::Create);
    Ok(ScoreDraft {
        value: Some(SentValue::Text(text)),
        data_type: Some(DataType::Correction),
        environment: Field::new(environment.clone(), stamp),
        author: Field::if_some(ctx.viewer.person().map(str::to_owned), stamp),
        ..ScoreDraft::new(id, target, ScoreSource::Annotation, stamp)
    })
}

async fn remove(web: &Web, ctx: &RequestContext, subject: &Subject) -> PageResult<Redirect> {
    let (score, _) = newest(subject).ok_or_else(|| PageError::not_there("correction"))?;
    let (id, project) = (score.id.clone(), ctx.project_id());
    let catalog = ctx.viewer.catalog(web);
    let named = vec![id.to_string()];
    catalog.note_deletion(project.clone(), AuditObject::Score, named, ctx.now).await?;
    web.store.telemetry.delete_score(project, id).await?;
    Ok(forms::back(ctx, subject, "uncorrected"))
}
