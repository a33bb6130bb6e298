//! Name, description, metadata and schemas of a dataset.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::catalog::dataset::check_name;
use ratchet_core::json_schema::Schema;
use ratchet_core::payload::Json;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Dataset, FieldUpdate, NewDataset};
use serde_json::Value;

use super::{form, one};
use crate::components::field::{self, Entered, FormField};
use crate::form::PageForm;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

const NAME: FormField<'_> = FormField {
    name: "name",
    label: "Name",
    hint: "Slashes separate folders. Items and runs stay, and agents follow; scripts and CI that use \
           the old name must be changed.",
};
const DESCRIPTION: FormField<'_> =
    FormField { name: "description", label: "Description", hint: "" };
const METADATA: FormField<'_> =
    FormField { name: "metadata", label: "Metadata", hint: "JSON, or empty." };
const INPUT_SCHEMA: FormField<'_> = FormField {
    name: "input_schema",
    label: "Schema of inputs",
    hint: "A JSON Schema that every item must match, or empty. Active items are checked first.",
};
const EXPECTED_SCHEMA: FormField<'_> = FormField {
    name: "expected_schema",
    label: "Schema of expected outputs",
    hint: "The same for expected outputs.",
};
const MAX_DESCRIPTION: usize = 5_000;

/// `GET …/datasets/{name}/edit`: the form.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let dataset = one::find(&web, &ctx, name).await?;
    let (metadata, schemas) = (dataset.metadata.as_ref(), &dataset.schemas);
    let text = |part: Option<&Json>| part.map(|json| form::to_type(Some(json))).unwrap_or_default();
    let entered = Entered::preset(&[
        (NAME.name, &dataset.name),
        (DESCRIPTION.name, dataset.description.as_deref().unwrap_or_default()),
        (METADATA.name, &text(metadata.filter(|json| json.as_str() != "null"))),
        (INPUT_SCHEMA.name, &text(schemas.input.as_ref())),
        (EXPECTED_SCHEMA.name, &text(schemas.expected_output.as_ref())),
    ]);
    Ok(page(&dataset, &ctx, &entered))
}

fn page(dataset: &Dataset, ctx: &RequestContext, entered: &Entered) -> Markup {
    let back = ctx.to(&["datasets", &dataset.name]);
    let mut page = one::begin(dataset, ctx);
    page.crumbs.push((dataset.name.clone(), back.clone()));
    page.title = "Edit dataset".to_owned();
    page.summary = Markup::default();
    page.body = html! {
        form.maker method="post" action=(ctx.to(&["datasets", &dataset.name, "edit"])) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            (field::line(NAME, entered))
            (field::line(DESCRIPTION, entered))
            (field::area(METADATA, 4, entered))
            (field::area(INPUT_SCHEMA, 6, entered))
            (field::area(EXPECTED_SCHEMA, 6, entered))
            p.actions {
                button.button.primary type="submit" { "Save" } " "
                a.button href=(back) { "Cancel" }
            }
        }
    };
    page.show(ctx)
}

/// `POST …/datasets/{name}/edit`: saves the form. A refused one is shown again as it was filled in.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let dataset = one::find(&web, &ctx, name).await?;
    let mut entered = Entered::new(form);
    let new = read(&dataset, &mut entered);
    let name = entered.text(NAME.name).to_owned();
    if name != dataset.name {
        let taken = web.store.catalog.dataset(ctx.project_id(), name.clone()).await?;
        if let Err(why) = check_name(&name) {
            entered.wrong(NAME.name, why.to_string());
        } else if taken.is_some() {
            entered.wrong(NAME.name, "a dataset with this name already exists");
        }
    }
    if entered.is_fine() {
        match write(&web, &ctx, (&dataset, new), name).await {
            Ok(saved) => {
                let to = ctx.to(&["datasets", &saved.name]).with("done", "edited");
                return Ok(Redirect::to(&to.to_string()).into_response());
            }
            Err(
                refusal @ (StoreError::BadQuery(_)
                | StoreError::Exists(_)
                | StoreError::Conflict(_)
                | StoreError::Denied(_)),
            ) => entered.wrong("", refusal.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    let shown = page(&dataset, &ctx, &entered);
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

/// What was entered; what is wrong with it is noted.
fn read(dataset: &Dataset, entered: &mut Entered) -> NewDataset {
    let description = entered.text(DESCRIPTION.name).to_owned();
    if description.chars().count() > MAX_DESCRIPTION {
        entered.wrong(DESCRIPTION.name, format!("at most {MAX_DESCRIPTION} characters"));
    }
    let has_description = dataset.description.is_some() || !description.is_empty();
    let metadata = json(METADATA.name, entered);
    // What was cleared is stored as null: a missing value would keep the old one.
    let cleared = dataset.metadata.as_ref().map(|_| Json::from_value(&Value::Null));
    let schema = |field: FormField<'_>, entered: &mut Entered| {
        let Some(json) = json(field.name, entered) else { return FieldUpdate::Clear };
        if let Err(why) = Schema::read(&json) {
            entered.wrong(field.name, why.to_string());
        }
        FieldUpdate::Set(json)
    };
    NewDataset {
        name: dataset.name.clone(),
        description: has_description.then_some(description),
        metadata: metadata.or(cleared),
        input_schema: schema(INPUT_SCHEMA, entered),
        expected_output_schema: schema(EXPECTED_SCHEMA, entered),
    }
}

fn json(field: &str, entered: &mut Entered) -> Option<Json> {
    let text = entered.filled(field)?.to_owned();
    let json = Json::parse(&text);
    if json.is_none() {
        entered.wrong(field, "must be JSON");
    }
    json
}

/// The fields under the old name, then the name: items that do not match a schema rename nothing.
async fn write(
    web: &Web,
    ctx: &RequestContext,
    (dataset, new): (&Dataset, NewDataset),
    name: String,
) -> Result<Dataset, StoreError> {
    let catalog = ctx.viewer.catalog(web);
    catalog.save_dataset(ctx.project_id(), new, ctx.now).await?;
    catalog.rename_dataset(ctx.project_id(), dataset.id.clone(), name, ctx.now).await
}
