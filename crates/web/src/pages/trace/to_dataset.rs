use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use ratchet_core::payload::{Json, Payload};
use ratchet_store::catalog::NewDatasetItem;

use super::run::{RecordDetail, Subject};
use super::{TracePath, content, forms, name, outline};
use crate::components::json;
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::pages::dataset_target::{self, Refusal};
use crate::pages::datasets::{to_type, typed};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Bytes of the input that are shown.
const SHOWN: usize = 20_000;
/// Bytes of a recorded output that can be edited here; a longer one is edited in the dataset.
const MAX_EDITED: usize = 100_000;

/// Fields of the form.
#[derive(Default)]
struct ItemForm {
    dataset: String,
    /// Name of a dataset to create instead.
    new_dataset: String,
    expected_output: String,
    /// Field and reason of a refused form.
    problem: Option<(&'static str, String)>,
}

impl ItemForm {
    fn read(form: &Params) -> Self {
        let text = |name: &str| form.get(name).unwrap_or_default().trim().to_owned();
        Self {
            dataset: text("dataset"),
            new_dataset: text("new_dataset"),
            expected_output: form.get("expected_output").unwrap_or_default().to_owned(),
            problem: None,
        }
    }

    fn refused(self, refusal: Refusal) -> Self {
        Self { problem: Some((refusal.field, refusal.reason)), ..self }
    }

    fn problem(&self, field: &str) -> Markup {
        let found = self.problem.as_ref().filter(|(known, _)| *known == field);
        html! { @if let Some((_, why)) = found { p.wrong role="alert" { (why) } } }
    }
}

/// `GET …/traces/{trace}/dataset`: a form that adds the trace or an observation to a dataset.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): TracePath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let subject = forms::subject(&web, &ctx, &trace, &ctx.params).await?;
    let mut values = ItemForm::default();
    if ctx.params.get("expected") == Some("recorded") {
        values.expected_output = to_type(recorded_output(&subject).as_ref());
    }
    page(&web, &ctx, &subject, &values).await
}

/// `POST …/traces/{trace}/dataset`: adds it. A refused form is shown again as it was filled in.
pub(super) async fn add(
    State(web): State<Web>,
    Path((_, trace)): TracePath,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let subject = forms::subject(&web, &ctx, &trace, &form).await?;
    match save(&web, &ctx, &subject, &form).await? {
        None => Ok(forms::back(&ctx, &subject, "collected").into_response()),
        Some(refused) => {
            let shown = page(&web, &ctx, &subject, &refused).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
        }
    }
}

/// Returns the form with its problem if it cannot be saved.
async fn save(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
    form: &Params,
) -> PageResult<Option<ItemForm>> {
    let item = NewDatasetItem {
        input: subject.content.input.as_ref().map(Payload::to_json),
        expected_output: typed(form, "expected_output"),
        source_trace: Some(subject.trace.to_string()),
        source_observation: subject.step_id(),
        ..NewDatasetItem::default()
    };
    let added = dataset_target::add(web, ctx, form, vec![item]).await?;
    Ok(added.err().map(|refusal| ItemForm::read(form).refused(refusal)))
}

fn recorded_output(subject: &Subject) -> Option<Json> {
    let output = subject.content.output.as_ref().map(Payload::to_json);
    output.filter(|output| output.as_str().len() <= MAX_EDITED)
}

async fn page(
    web: &Web,
    ctx: &RequestContext,
    subject: &Subject,
    values: &ItemForm,
) -> PageResult<Markup> {
    let datasets = dataset_target::offered(web, ctx).await?;
    let title = match &subject.about {
        RecordDetail::Trace(trace, _) => name(trace),
        RecordDetail::Step(step) => outline::step_name(step),
    };
    let back = content::here(ctx, subject);
    let mut page = Page::new(Section::Traces, "Add to dataset");
    page.crumbs = vec![("Traces".to_owned(), Section::Traces.link(ctx)), (title, back.clone())];
    page.summary = html! { "The recorded input becomes a dataset item, with the output that is expected for it." };
    page.body = html! {
        form.maker method="post" action=(forms::action(ctx, subject, "dataset")) {
            (forms::hidden(ctx, subject))
            (dataset_fields(values, datasets.iter().map(|dataset| dataset.name.as_str())))
            h2 { "Input" }
            (input(subject))
            (expected_output(ctx, subject, values))
            p.actions {
                button.button.primary type="submit" { "Add to dataset" } " "
                a.button href=(back) { "Cancel" }
            }
        }
    };
    Ok(page.show(ctx))
}

fn dataset_fields<'a>(values: &ItemForm, names: impl Iterator<Item = &'a str>) -> Markup {
    let mut names = names.peekable();
    html! {
        @if names.peek().is_some() {
            div.form-row {
                label for="dataset" { "Dataset" }
                select #dataset name="dataset" {
                    @for name in names { option value=(name) selected[name == values.dataset] { (name) } }
                }
                (values.problem("dataset"))
            }
        }
        div.form-row {
            label for="new_dataset" { "Or create a dataset" }
            input #new_dataset type="text" name="new_dataset" maxlength="1000" autocomplete="off"
                placeholder="name" value=(values.new_dataset);
            (values.problem("new_dataset"))
        }
    }
}

fn input(subject: &Subject) -> Markup {
    let input = subject.content.input.as_ref().map(Payload::to_json);
    html! {
        @match &input {
            Some(input) => {
                (json::json(&ratchet_core::record::limit::elide(input.as_str(), SHOWN)))
                @if input.as_str().len() > SHOWN { p.muted { "Only the beginning is shown; all of it is added." } }
            },
            None => { p.muted { "No input recorded." } },
        }
    }
}

fn expected_output(ctx: &RequestContext, subject: &Subject, values: &ItemForm) -> Markup {
    let recorded = forms::action(ctx, subject, "dataset").with("expected", "recorded");
    let recorded =
        subject.step_id().into_iter().fold(recorded, |to, id| to.with("observation", id));
    html! {
        div.form-row {
            label for="expected_output" { "Expected output" }
            textarea #expected_output name="expected_output" rows="10" spellcheck="false" {
                "\n" (values.expected_output)
            }
            (values.problem("expected_output"))
            p.hint {
                "The correct answer, not necessarily the recorded one. JSON is stored as JSON, everything else as text. "
                @if recorded_output(subject).is_some() { a href=(recorded) { "Start from the recorded output" } }
            }
        }
    }
}
