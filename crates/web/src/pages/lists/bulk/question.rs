use maud::{Markup, html};

use super::super::change::came_from;
use super::super::views::action;
use super::matching;
use super::sources::traces_of;
use crate::components::figure;
use crate::filter::ListKind;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Names that the page shows.
const NAMED: usize = 10;

/// Whether somebody was asked about these rows: of all that match, no more may have come meanwhile.
pub(super) fn is_answered(form: &Params, count: usize) -> bool {
    let expected = || form.get("asked").and_then(|count| count.parse::<usize>().ok());
    let is_known = !matching::is_chosen(form) || expected().is_some_and(|known| count <= known);
    form.get("sure") == Some("yes") && is_known
}

/// The question before deleting: what goes, and that it does not come back.
pub(super) async fn ask(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    (chosen, on): (Vec<String>, ListKind),
) -> PageResult<Markup> {
    let telemetry = &web.store.telemetry;
    let ids = traces_of(web, ctx, (&chosen, on)).await?;
    let traces = telemetry.find_traces(ctx.project_id(), ids.clone()).await?;
    let attached = telemetry.count_attached(ctx.project_id(), ids).await?;
    let count = |count: usize| figure::grouped(count as u64);
    let title = match traces.len() {
        1 => "Delete 1 trace?".to_owned(),
        many => format!("Delete {} traces?", count(many)),
    };
    let mut page = Page::new(Section::Traces, title.clone());
    page.body = html! {
        section data-question=(title) {
            p {
                "This also deletes " (figure::counted(attached.observations, "observation")) " and " (figure::counted(attached.scores, "score"))
                " scores. This cannot be undone."
            }
            ul {
                @for trace in traces.iter().take(NAMED) {
                    li { bdi { (trace.name.as_deref().unwrap_or("unnamed")) } " "
                        code { (trace.id) } " " (figure::when(trace.timestamp, &ctx.time)) }
                }
                @if traces.len() > NAMED { li { "and " (count(traces.len() - NAMED)) " more" } }
            }
            form method="post" action=(action(ctx, on, "do")) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="back" value=(form.get("back").unwrap_or_default());
                input type="hidden" name="action" value="delete";
                input type="hidden" name="sure" value="yes";
                @if matching::is_chosen(form) {
                    input type="hidden" name="matching" value="yes";
                    input type="hidden" name="until" value=(ctx.now);
                    input type="hidden" name="asked" value=(chosen.len());
                } @else {
                    @for id in &chosen { input type="hidden" name="id" value=(id); }
                }
                button.button.danger type="submit" { "Delete" } " "
                a.button href=(came_from(ctx, on, form)) data-keep { "Cancel" }
            }
        }
    };
    Ok(page.show(ctx))
}
