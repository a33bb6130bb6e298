use maud::{Markup, html};
use ratchet_core::judge::offline::SuccessModel;
use ratchet_core::judge::offline::success::fit::MIN_LABELS;
use ratchet_core::judge::offline::success::model::feature_name;
use ratchet_core::judge::rubric::Rubric;
use ratchet_stages::review::LabelComparison;

use crate::components::copy;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// The number of signals that are named.
const NAMED: usize = 6;
/// Signals that change the odds by less are not named.
const MIN_NAMED: f64 = 0.05;

/// Says whether the levels of the offline judge are calibrated, and by what.
pub(super) fn draw(
    web: &Web,
    ctx: &RequestContext,
    held: &LabelComparison,
    rubric: &Rubric,
) -> PageResult<Markup> {
    let model = web.success_model(&ctx.project_id(), rubric).map_err(|_| {
        // The error names a path of the data folder.
        PageError::Bad("the fitted P(success) of this project cannot be read".to_owned())
    })?;
    let labels = held.successes(rubric).len();
    if labels == 0 && model.is_none() {
        return Ok(html! {});
    }
    Ok(html! {
        h2 { "P(success) of the offline judge" }
        @match model {
            Some((model, true)) => { (fitted(&model)) },
            Some((_, false)) => {
                p {
                    "Not in use: it was fitted for another rubric or other signals. Levels are "
                    b { "uncalibrated" } ". Fit it again:"
                }
                (copy::snippet(&ctx.command("calibrate --apply")))
            },
            None if labels < MIN_LABELS => {
                p {
                    "Levels of the offline judge are " b { "uncalibrated" } ": " (labels) " of "
                    (MIN_LABELS) " labels needed. With enough labels, its levels are fitted to this project."
                }
            },
            None => {
                p {
                    "Levels of the offline judge are " b { "uncalibrated" } ". " (labels)
                    " labels are enough to fit them; this shows whether it would help, and saves it if it does:"
                }
                (copy::snippet(&ctx.command("calibrate --apply")))
            },
        }
    })
}

fn fitted(model: &SuccessModel) -> Markup {
    let weights = model.weights();
    let weights = weights.into_iter().filter(|(_, weight)| weight.abs() >= MIN_NAMED);
    html! {
        p {
            "Task completion is " b { "calibrated" } ": fitted to " (model.labels) " labels, "
            (model.successes) " of them a success."
        }
        p.muted { (model.checked) "." }
        p { "What makes success more or less likely in this project, strongest first:" }
        ul {
            @for (name, weight) in weights.take(NAMED) {
                li {
                    (feature_name(name)) ": "
                    @if weight > 0.0 { "more likely" } @else { "less likely" }
                }
            }
        }
    }
}
