//! One item: what it is, what it was, and how it is changed.

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::dataset::{DatasetStatus, check_item_id};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Dataset, DatasetItem, ItemVersion, NewDatasetItem};
use serde_json::Value;

use super::{form, one};
use crate::components::{diff, figure};
use crate::form::PageForm;
use crate::frame::Page;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

const VERSIONS: u64 = 200;
/// Bytes of a part that are compared.
const COMPARED: usize = 200_000;

/// What can be filled in of an item, and whether it must be.
const PARTS: [(&str, &str, bool); 3] = [
    ("input", "Input", true),
    ("expected_output", "Expected output", false),
    ("metadata", "Metadata", false),
];

type ItemPath = Path<(String, String, String)>;

/// `GET …/datasets/{name}/items/{item}`: an item and its versions.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name, id)): ItemPath,
) -> PageResult<Markup> {
    let dataset = one::find(&web, &ctx, name).await?;
    let catalog = &web.store.catalog;
    let versions = catalog.dataset_item_history(ctx.project_id(), id.clone(), VERSIONS).await?;
    let wanted = ctx.params.get("version").and_then(|text| Timestamp::parse(text).ok());
    let chosen = match wanted {
        // Like everywhere else: as it was at that time.
        Some(wanted) => versions.iter().position(|version| version.valid_from <= wanted),
        None => Some(0),
    };
    let chosen = chosen.and_then(|chosen| Some((versions.get(chosen)?, versions.get(chosen + 1))));
    let found = chosen.filter(|(version, _)| version.dataset == dataset.id);
    let (version, before) = found.ok_or_else(|| PageError::not_there("dataset item"))?;
    let read = async |version: &ItemVersion| {
        catalog.dataset_item(ctx.project_id(), id.clone(), Some(version.valid_from)).await
    };
    let item = read(version).await?.ok_or_else(|| PageError::not_there("dataset item"))?;
    let before = match before {
        Some(before) => read(before).await?,
        None => None,
    };
    let changed = match before {
        Some(before) => changed(&before, &item).await,
        None => Markup::default(),
    };
    let mut page = begin(&dataset, &ctx);
    page.title = format!("Item {}", ratchet_core::record::limit::elide(&id, 60));
    page.summary = summary(version, &versions, &ctx);
    page.body = html! {
        (form::done_toast(&ctx))
        div.prompt {
            (history(&versions, version, &ctx))
            div {
                (facts(&item, &ctx))
                (form::sides(sides(&item)))
                (changed)
                @if is_current(version, &versions) && ctx.viewer.can_change() {
                    (edit(&dataset, &item, &ctx))
                }
            }
        }
    };
    Ok(page.show(&ctx))
}

fn begin(dataset: &Dataset, ctx: &RequestContext) -> Page {
    let mut page = one::begin(dataset, ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name])));
    page
}

fn sides(item: &DatasetItem) -> [&Option<Json>; 3] {
    [&item.input, &item.expected_output, &item.metadata]
}

/// Whether it is the newest version, and still holds.
fn is_current(version: &ItemVersion, versions: &[ItemVersion]) -> bool {
    version.valid_to.is_none() && versions.first() == Some(version)
}

fn summary(version: &ItemVersion, versions: &[ItemVersion], ctx: &RequestContext) -> Markup {
    html! {
        @if is_current(version, versions) { "Current version, saved " } @else { "Old version, saved " }
        (figure::ago(version.valid_from, &ctx.time))
        @match (version.valid_to, version.status) {
            (Some(until), _) => { ", until " (figure::ago(until, &ctx.time)) },
            (None, DatasetStatus::Archived) => { "; archived" },
            (None, DatasetStatus::Active) => {},
        }
        "."
    }
}

fn history(versions: &[ItemVersion], chosen: &ItemVersion, ctx: &RequestContext) -> Markup {
    let here = ctx.here().without("done").without("version");
    let newest = versions.len();
    html! {
        nav.versions aria-label="Versions" {
            ol {
                @for (place_of, version) in versions.iter().enumerate() {
                    @let from = version.valid_from;
                    li {
                        a href=(here.clone().with("version", from.to_string()))
                          aria-current=[(version == chosen).then_some("true")] {
                            strong { "v" (newest - place_of) }
                            span.muted { (what_changed(versions.get(place_of + 1), version)) }
                            small.muted {
                                @if let Some(author) = &version.author { bdi { (author.name()) } ", " }
                                (figure::when(from, &ctx.time))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Summary of a version: its changes from the previous one.
fn what_changed(before: Option<&ItemVersion>, version: &ItemVersion) -> String {
    let Some(before) = before else { return "created".to_owned() };
    if before.valid_to.is_some_and(|until| until < version.valid_from) {
        return "created again".to_owned();
    }
    let status = match (before.status, version.status) {
        (DatasetStatus::Active, DatasetStatus::Archived) => Some("archived"),
        (DatasetStatus::Archived, DatasetStatus::Active) => Some("restored"),
        _ => None,
    };
    let parts = PARTS.iter().zip(version.changed.unwrap_or_default());
    let parts = parts.filter(|(_, has_changed)| *has_changed).map(|((_, title, _), _)| *title);
    let words: Vec<&str> = status.into_iter().chain(parts).collect();
    if words.is_empty() { "no changes".to_owned() } else { words.join(", ").to_lowercase() }
}

fn facts(item: &DatasetItem, ctx: &RequestContext) -> Markup {
    let source = item.source_trace.as_ref().map(|trace| {
        let link = ctx.to(&["traces", trace]);
        match &item.source_observation {
            Some(step) => link.with("observation", step.clone()),
            None => link,
        }
    });
    html! {
        dl.facts {
            dt { "ID" } dd { (crate::components::copy::id(&item.id)) }
            dt { "Created" } dd { (figure::when(item.created_at, &ctx.time)) }
            @if let Some(source) = source {
                dt { "Source" } dd { a href=(source) { "source trace" } }
            }
        }
    }
}

async fn changed(old: &DatasetItem, new: &DatasetItem) -> Markup {
    let parts = PARTS.iter().zip(sides(old).into_iter().zip(sides(new)));
    let mut drawn = Vec::new();
    for ((_, title, _), (old, new)) in parts.filter(|(_, (old, new))| old != new) {
        let diff = diff::beside(written(old.as_ref()), written(new.as_ref())).await;
        drawn.push(html! { h3 { (title) } (diff) });
    }
    html! {
        @if !drawn.is_empty() {
            h2 { "Changes since the previous version" }
            @for part in drawn { (part) }
        }
    }
}

/// A part as one text, so that two of them can be compared word by word.
fn written(part: Option<&Json>) -> String {
    ratchet_core::record::limit::elide(&form::to_type(part), COMPARED).into_owned()
}

fn edit(dataset: &Dataset, item: &DatasetItem, ctx: &RequestContext) -> Markup {
    let action = ctx.to(&["datasets", &dataset.name, "items", &item.id]);
    let (word, button) = match item.status {
        DatasetStatus::Active => ("archive", "Archive"),
        DatasetStatus::Archived => ("restore", "Restore"),
    };
    let parts = sides(item);
    html! {
        details.edit {
            summary { "Edit item" }
            form.maker method="post" data-inline-errors action=(action) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="action" value="change";
                (fields(parts.map(|part| form::to_type(part.as_ref()))))
                button.button.primary type="submit" { "Save as new version" }
            }
        }
        form method="post" action=(action) {
            (ctx.viewer.form_token.field())
            input type="hidden" name="action" value=(word);
            p.actions {
                button.button type="submit" { (button) } " "
                a.button.danger href=(ctx.to(&["datasets", &dataset.name, "items", &item.id, "delete"])) { "Delete" }
            }
        }
    }
}

fn fields(values: [String; 3]) -> Markup {
    html! {
        @for ((name, title, needed), value) in PARTS.into_iter().zip(values) {
            div.form-row {
                label for=(name) { (title) }
                textarea id=(name) name=(name) rows="6" required[needed] spellcheck="false" { (value) }
            }
        }
        p.muted { "Valid JSON is stored as JSON, everything else as text." }
    }
}

/// `GET …/datasets/{name}/add`: a form for one more item.
pub(super) async fn adding(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let dataset = one::find(&web, &ctx, name).await?;
    let mut page = begin(&dataset, &ctx);
    page.title = "Add item".to_owned();
    page.summary = html! { "New item in " bdi { (dataset.name) } "." };
    page.body = html! {
        form.maker method="post" data-inline-errors action=(ctx.to(&["datasets", &dataset.name, "add"])) {
            (ctx.viewer.form_token.field())
            (fields(Default::default()))
            div.form-row {
                label for="id" { "ID (optional)" }
                input #id type="text" name="id" maxlength="255" autocomplete="off";
            }
            button.button.primary type="submit" { "Add" }
        }
    };
    Ok(page.show(&ctx))
}

/// `POST …/datasets/{name}/add`: adds an item.
pub(super) async fn add(
    State(web): State<Web>,
    Path((_, name)): Path<(String, String)>,
    PageForm { ctx, form: said }: PageForm,
) -> PageResult<Redirect> {
    let dataset = one::find(&web, &ctx, name).await?;
    let input = form::typed(&said, "input");
    let id = said.get("id").map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    if let Some(id) = &id {
        check_item_id(id).map_err(|why| PageError::Bad(format!("id: {why}")))?;
        let known = web.store.catalog.dataset_item(ctx.project_id(), id.clone(), None).await?;
        if known.is_some() {
            return Err(PageError::Bad("id: an item with this ID already exists".to_owned()));
        }
    }
    let new = NewDatasetItem {
        dataset_name: dataset.name.clone(),
        id,
        input: Some(input.ok_or_else(|| PageError::Bad("input: required".to_owned()))?),
        expected_output: form::typed(&said, "expected_output"),
        metadata: form::typed(&said, "metadata"),
        ..NewDatasetItem::default()
    };
    let catalog = ctx.viewer.catalog(&web);
    let item = catalog.save_dataset_item(ctx.project_id(), new, ctx.now).await?;
    let back = ctx.to(&["datasets", &dataset.name, "items", &item.id]);
    Ok(Redirect::to(&back.with("done", "added").to_string()))
}

/// `POST …/datasets/{name}/items/{item}`: changes an item, archives it or brings it back.
pub(super) async fn change(
    State(web): State<Web>,
    Path((_, name, id)): ItemPath,
    PageForm { ctx, form: said }: PageForm,
) -> PageResult<Redirect> {
    let dataset = one::find(&web, &ctx, name).await?;
    let known = web.store.catalog.dataset_item(ctx.project_id(), id, None).await?;
    let known = known.filter(|known| known.dataset == dataset.id);
    let known = known.ok_or_else(|| PageError::not_there("dataset item"))?;
    let same = NewDatasetItem {
        dataset_name: dataset.name.clone(),
        id: Some(known.id.clone()),
        ..NewDatasetItem::default()
    };
    // A cleared field is stored as null: a missing one would keep its old value.
    let part = |name: &str, before: &Option<Json>| {
        let cleared = before.as_ref().map(|_| Json::from_value(&Value::Null));
        form::typed(&said, name).or(cleared)
    };
    let (new, done) = match said.get("action").unwrap_or_default() {
        "change" => {
            let new = NewDatasetItem {
                input: part("input", &known.input),
                expected_output: part("expected_output", &known.expected_output),
                metadata: part("metadata", &known.metadata),
                ..same
            };
            (new, "changed")
        }
        "archive" => (NewDatasetItem { status: Some(DatasetStatus::Archived), ..same }, "archived"),
        "restore" => (NewDatasetItem { status: Some(DatasetStatus::Active), ..same }, "restored"),
        _ => return Err(PageError::Bad("action: change, archive or restore".to_owned())),
    };
    ctx.viewer.catalog(&web).save_dataset_item(ctx.project_id(), new, ctx.now).await?;
    let back = ctx.to(&["datasets", &dataset.name, "items", &known.id]);
    Ok(Redirect::to(&back.with("done", done).to_string()))
}
