//! Deleting datasets, items and runs.

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::DatasetItem;
use ratchet_store::experiment::RunQuery;
use ratchet_store::query::Paging;

use super::{count, one, run};
use crate::components::figure;
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::deletion::{self, DeletionQuestion};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

type DatasetPath = Path<(String, String)>;
/// Path parameters of an item or a run.
type PartPath = Path<(String, String, String)>;

/// Runs that are deleted at a time.
const SLICE: u64 = 100;
/// Characters of an id in a title.
const NAME: usize = 60;

pub(super) fn of_dataset(ctx: &RequestContext, dataset: &str) -> Link {
    ctx.to(&["datasets", dataset, "delete"])
}

/// `GET …/datasets/{name}/delete`: asks first.
pub(super) async fn ask_dataset(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): DatasetPath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let dataset = one::find(&web, &ctx, name).await?;
    let counts = count(&web, &ctx, &dataset).await?;
    let back = ctx.to(&["datasets", &dataset.name]);
    let mut page = one::begin(&dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), back.clone()));
    let question = DeletionQuestion {
        title: format!("Delete dataset {}?", elide(&dataset.name, NAME)),
        lost: html! {
            p {
                "This also deletes its " (figure::counted(counts.items, "active item"))
                " with all versions, archived ones too, and " (figure::counted(counts.runs, "run"))
                " with their results and scores. Traces of the runs and decisions of gates stay. "
                "This cannot be undone."
            }
        },
        action: of_dataset(&ctx, &dataset.name),
        back,
    };
    Ok(deletion::ask(&ctx, page, &question))
}

/// `POST …/datasets/{name}/delete`: deletes a dataset, its runs first.
pub(super) async fn delete_dataset(
    State(web): State<Web>,
    Path((_, name)): DatasetPath,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let dataset = one::find(&web, &ctx, name).await?;
    let catalog = ctx.viewer.catalog(&web);
    catalog.check_dataset_deletion(ctx.project_id(), dataset.id.clone()).await?;
    loop {
        let runs = RunQuery {
            project: ctx.project_id(),
            dataset: dataset.id.clone(),
            name: None,
            paging: Paging::After { cursor: None, limit: SLICE },
        };
        let runs = web.store.telemetry.runs(runs).await?.rows;
        let mut gone = 0;
        for run in &runs {
            let was_there =
                web.store.telemetry.delete_experiment(ctx.project_id(), run.id.clone()).await?;
            gone += u64::from(was_there);
        }
        if gone == 0 {
            break;
        }
    }
    catalog.delete_dataset(ctx.project_id(), dataset.id, ctx.now).await?;
    Ok(Redirect::to(&ctx.to(&["datasets"]).with("done", "deleted").to_string()))
}

/// An item that is there now.
async fn item(
    web: &Web,
    ctx: &RequestContext,
    (name, id): (String, String),
) -> PageResult<DatasetItem> {
    let dataset = one::find(web, ctx, name).await?;
    let known = web.store.catalog.dataset_item(ctx.project_id(), id, None).await?;
    let known = known.filter(|known| known.dataset == dataset.id);
    known.ok_or_else(|| PageError::not_there("dataset item"))
}

/// `GET …/datasets/{name}/items/{item}/delete`: asks first.
pub(super) async fn ask_item(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name, id)): PartPath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let item = item(&web, &ctx, (name, id)).await?;
    let dataset = one::find(&web, &ctx, item.dataset_name.clone()).await?;
    let back = ctx.to(&["datasets", &dataset.name, "items", &item.id]);
    let mut page = one::begin(&dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name])));
    let question = DeletionQuestion {
        title: format!("Delete item {}?", elide(&item.id, NAME)),
        lost: html! {
            p {
                "Its results leave all runs, and it cannot be restored. Earlier versions of the dataset "
                "still show it. To keep results and only leave it out of new runs, archive it instead."
            }
        },
        action: ctx.to(&["datasets", &dataset.name, "items", &item.id, "delete"]),
        back,
    };
    Ok(deletion::ask(&ctx, page, &question))
}

/// `POST …/datasets/{name}/items/{item}/delete`: deletes an item and its results.
pub(super) async fn delete_item(
    State(web): State<Web>,
    Path((_, name, id)): PartPath,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let item = item(&web, &ctx, (name, id)).await?;
    let (project, id) = (ctx.project_id(), item.id);
    ctx.viewer.catalog(&web).delete_dataset_item(project.clone(), id.clone(), ctx.now).await?;
    web.store.telemetry.forget_item(project, id).await?;
    let back = ctx.to(&["datasets", &item.dataset_name]).with("done", "deleted");
    Ok(Redirect::to(&back.to_string()))
}

/// `GET …/datasets/{name}/runs/{run}/delete`: asks first.
pub(super) async fn ask_run(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name, run)): PartPath,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let dataset = one::find(&web, &ctx, name).await?;
    let (id, run) = run::known(&web, &ctx, &dataset, run).await?;
    let mut page = one::begin(&dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name, "runs"])));
    let question = DeletionQuestion {
        title: format!("Delete run {}?", elide(&run.name, NAME)),
        lost: html! {
            p {
                "This deletes its results and the scores on the run. The traces stay with their scores, and so "
                "do decisions of gates on it. This cannot be undone."
            }
        },
        action: ctx.to(&["datasets", &dataset.name, "runs", &id, "delete"]),
        back: ctx.to(&["datasets", &dataset.name, "runs", &id]),
    };
    Ok(deletion::ask(&ctx, page, &question))
}

/// `POST …/datasets/{name}/runs/{run}/delete`: deletes a run.
pub(super) async fn delete_run(
    State(web): State<Web>,
    Path((_, name, run)): PartPath,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let dataset = one::find(&web, &ctx, name).await?;
    let (id, run) = run::known(&web, &ctx, &dataset, run).await?;
    let (project, named) = (ctx.project_id(), (id.clone(), run.name));
    ctx.viewer.catalog(&web).delete_experiment_run(project.clone(), named, ctx.now).await?;
    web.store.telemetry.delete_experiment(project, id).await?;
    let back = ctx.to(&["datasets", &dataset.name, "runs"]).with("done", "run-deleted");
    Ok(Redirect::to(&back.to_string()))
}
