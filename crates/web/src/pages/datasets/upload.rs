//! Upload of items from a table: choose a file, preview rows, map columns.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::catalog::dataset::upload::{Mapping, MappingError, Target, guess};
use ratchet_core::counted::counted;
use ratchet_core::record::limit::elide;
use ratchet_stages::dataset_import;
use ratchet_stages::dataset_import::{BadTable, Cells, Format, ImportTarget, MAX_ROWS, Preview};
use ratchet_store::blocking::run_blocking;
use ratchet_store::catalog::Dataset;
use serde_json::Value;

use super::{form, one};
use crate::components::figure;
use crate::form::PageForm;
use crate::frame::Page;
use crate::multipart;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::upload_staging::{MAX_BYTES, Upload};
use crate::web::Web;

/// Rows of the file that are shown.
const SHOWN: usize = 10;
/// Rows that are shown as items.
const TRIED: usize = 3;
/// Bytes of a cell that are shown.
const CELL: usize = 120;
/// Bytes of a form beside its file.
const AROUND: usize = 20_000;

/// `GET …/datasets/{name}/upload`: choose a file.
pub(super) async fn choose(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let dataset = one::find(&web, &ctx, name).await?;
    Ok(choosing(&dataset, &ctx, None).show(&ctx))
}

fn choosing(dataset: &Dataset, ctx: &RequestContext, bad: Option<&BadTable>) -> Page {
    let action = ctx.to(&["datasets", &dataset.name, "upload"]);
    let mut page = begin(dataset, ctx);
    page.summary = html! { "Import items into " bdi { (dataset.name) } "." };
    page.body = html! {
        @if let Some(bad) = bad { (problems(bad)) }
        form.maker method="post" action=(action) enctype="multipart/form-data" {
            // The token comes before the file, so that it is checked before the file is read.
            (ctx.viewer.form_token.field())
            div.form-row {
                label for="file" { "CSV or JSON Lines" }
                input #file type="file" name="file" required
                      accept=".csv,.jsonl,.ndjson,text/csv,application/x-ndjson";
                p.muted {
                    "CSV: the first line has the column names. JSON Lines: one object per line. "
                    "At most " (figure::bytes(MAX_BYTES)) " and " (figure::grouped(MAX_ROWS as u64)) " rows. "
                    "You can preview the import before it is saved."
                }
            }
            button.button.primary type="submit" { "Preview" }
        }
    };
    page
}

fn begin(dataset: &Dataset, ctx: &RequestContext) -> Page {
    let mut page = one::begin(dataset, ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name])));
    page.title = "Upload".to_owned();
    page
}

fn problems(bad: &BadTable) -> Markup {
    html! {
        section.problem role="alert" {
            p { strong { "Nothing was imported." } " Problems in the file:" }
            ul {
                @for line in &bad.lines {
                    li {
                        @if line.line > 0 { "Line " (figure::grouped(line.line)) ": " }
                        bdi { (elide(&line.why, 500)) }
                    }
                }
                @if bad.count > bad.lines.len() {
                    li { "and " (figure::grouped((bad.count - bad.lines.len()) as u64)) " more" }
                }
            }
        }
    }
}

fn refused(page: &Page, ctx: &RequestContext) -> Response {
    (StatusCode::BAD_REQUEST, page.show(ctx)).into_response()
}

/// `POST …/datasets/{name}/upload`: takes a file in, and leads to its first rows.
pub(super) async fn receive(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    let dataset = one::find(&web, &ctx, name).await?;
    let (form, boundary) = multipart::read(&headers, body, MAX_BYTES + AROUND).await?;
    let fields = multipart::fields(&form, &boundary);
    let fields = fields.ok_or_else(|| PageError::Bad("the upload is incomplete".to_owned()))?;
    let field = fields.iter().find(|field| field.name == "file" && field.file.is_some());
    let field = field.ok_or_else(|| PageError::Bad("file: choose a file".to_owned()))?;
    let file = elide(field.file.unwrap_or_default(), 200).into_owned();
    let upload = Upload {
        person: ctx.viewer.person().map(str::to_owned),
        project: ctx.project_id(),
        dataset: dataset.id.clone(),
        format: Format::of(&file, field.content),
        file,
        bytes: form.slice_ref(field.content),
        at: ctx.now,
    };
    if let Err(bad) = read(&upload).await? {
        return Ok(refused(&choosing(&dataset, &ctx, Some(&bad)), &ctx));
    }
    let word = web.uploads.put(upload);
    let next = ctx.to(&["datasets", &dataset.name, "upload", &word]);
    Ok(Redirect::to(&next.to_string()).into_response())
}

async fn read(upload: &Upload) -> PageResult<Result<Preview, BadTable>> {
    let upload = upload.clone();
    let read = move || dataset_import::preview(&upload.bytes, upload.format, SHOWN);
    Ok(run_blocking(read).await?)
}

/// A file that waits for this very person, in this dataset.
async fn waiting(
    web: &Web,
    ctx: &RequestContext,
    (name, word): (String, &str),
) -> PageResult<(Dataset, Upload, Preview)> {
    ctx.viewer.may_change()?;
    let dataset = one::find(web, ctx, name).await?;
    let upload = web.uploads.get(word, ctx.now).filter(|upload| {
        upload.person.as_deref() == ctx.viewer.person()
            && upload.project == ctx.project.id
            && upload.dataset == dataset.id
    });
    let upload = upload.ok_or_else(|| {
        let why = "the uploaded file has expired; upload it again";
        PageError::NotFound(why.to_owned())
    })?;
    let preview = read(&upload).await?.map_err(|_| PageError::not_there("table"))?;
    Ok((dataset, upload, preview))
}

/// Column mapping: as chosen, else by name.
fn chosen(preview: &Preview, said: &Params) -> Vec<(String, Target)> {
    let guessed = preview.columns.iter().cloned().zip(guess(&preview.columns));
    let column = |(index, (name, guessed)): (usize, (String, Target))| {
        let target = said.get(&format!("c{index}")).and_then(Target::parse);
        (name, target.unwrap_or(guessed))
    };
    guessed.enumerate().map(column).collect()
}

/// `GET …/datasets/{name}/upload/{word}`: the first rows, and what they would become.
pub(super) async fn preview(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name, word)): Path<(String, String, String)>,
) -> PageResult<Markup> {
    let (dataset, upload, preview) = waiting(&web, &ctx, (name, &word)).await?;
    let columns = chosen(&preview, &ctx.params);
    let page = previewed(&dataset, &ctx, (&upload, &preview, &word), &columns);
    Ok(page.show(&ctx))
}

fn previewed(
    dataset: &Dataset,
    ctx: &RequestContext,
    (upload, preview, word): (&Upload, &Preview, &str),
    columns: &[(String, Target)],
) -> Page {
    let action = ctx.to(&["datasets", &dataset.name, "upload", word]);
    let mapping = Mapping::new(columns.to_vec());
    let rows = preview.rows as u64;
    let mut page = begin(dataset, ctx);
    page.summary = html! {
        bdi { (upload.file) } ", " (upload.format.title()) ": " (figure::counted(rows, "row")) ", "
        (counted(preview.columns.len(), "column")) ". Nothing is imported yet."
    };
    page.body = html! {
        form method="post" action=(action) {
            (ctx.viewer.form_token.field())
            h2 { "Column mapping" }
            (table(preview, columns))
            p.muted { "Several columns mapped to one field become an object with their names. "
                "Valid JSON is stored as JSON. Rows with an existing item ID update that item." }
            div.form-end {
                button.button.primary type="submit" {
                    "Add " (figure::counted(rows, "item"))
                }
                button.button type="submit" formmethod="get" { "Preview first rows" }
                a.quiet href=(ctx.to(&["datasets", &dataset.name, "upload"])) { "Choose another file" }
            }
        }
        (tried(&mapping, preview))
    };
    page
}

fn table(preview: &Preview, columns: &[(String, Target)]) -> Markup {
    html! {
        div.table-wrap.mapping tabindex="0" role="region" aria-label="First rows of the file" {
            table {
                thead {
                    tr {
                        th scope="col" { "Line" }
                        @for (index, (name, target)) in columns.iter().enumerate() {
                            th scope="col" {
                                label for={ "c" (index) } { bdi { (elide(name, 60)) } }
                                (form::select(&format!("c{index}"), *target))
                            }
                        }
                    }
                }
                tbody {
                    @for (line, cells) in &preview.first {
                        tr {
                            td.num { (line) }
                            @for (name, _) in columns { td { (cell(cells, name)) } }
                        }
                    }
                }
            }
        }
    }
}

fn cell(cells: &Cells, name: &str) -> Markup {
    let text = match cells.get(name) {
        None => return html! { span.muted { "–" } },
        Some(Value::String(text)) => elide(text, CELL).into_owned(),
        Some(other) => elide(&other.to_string(), CELL).into_owned(),
    };
    html! { bdi { (text) } }
}

/// The first rows as the items they would become.
fn tried(mapping: &Result<Mapping, MappingError>, preview: &Preview) -> Markup {
    let mapping = match mapping {
        Ok(mapping) => mapping,
        Err(why) => return html! { p.problem role="alert" { (why) "." } },
    };
    html! {
        h2 { "Preview as items" }
        @for (line, cells) in preview.first.iter().take(TRIED) {
            section.case {
                h3 { "Line " (line) }
                @match mapping.case(cells) {
                    Ok(case) => {
                        @if let Some(id) = &case.id { p { "ID " code { bdi { (id) } } } }
                        (form::sides([&case.input, &case.expected_output, &case.metadata]))
                    },
                    Err(why) => { p.problem { (why) } },
                }
            }
        }
    }
}

/// `POST …/datasets/{name}/upload/{word}`: writes all rows, or none.
pub(super) async fn confirm(
    State(web): State<Web>,
    Path((_, name, word)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let (dataset, upload, preview) = waiting(&web, &ctx, (name, &word)).await?;
    let columns = chosen(&preview, &form);
    let again = |bad: Markup| {
        let mut page = previewed(&dataset, &ctx, (&upload, &preview, &word), &columns);
        page.body = html! { (bad) (page.body) };
        refused(&page, &ctx)
    };
    let Ok(mapping) = Mapping::new(columns.clone()) else { return Ok(again(html! {})) };
    let (bytes, format) = (upload.bytes.clone(), upload.format);
    let cases = run_blocking(move || dataset_import::cases(&bytes, format, &mapping)).await?;
    let cases = match cases {
        Ok(cases) => cases,
        Err(bad) => return Ok(again(problems(&bad))),
    };
    let into = ImportTarget { project: ctx.project_id(), dataset: dataset.name.clone() };
    match dataset_import::add(&ctx.viewer.catalog(&web), into, cases, ctx.now).await? {
        Ok(count) => {
            web.uploads.remove(&word);
            let back = ctx.to(&["datasets", &dataset.name]).with("done", "uploaded");
            Ok(Redirect::to(&back.with("count", count.to_string()).to_string()).into_response())
        }
        Err(bad) => Ok(again(problems(&bad))),
    }
}
