use maud::{Markup, html};
use ratchet_core::record::score::config::ScoreConfig;
use ratchet_stages::validation::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use ratchet_store::catalog::NewQueue;

use crate::components::field::{self, Entered, FormField};
use crate::page_error::PageResult;
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

const NAME: FormField<'_> = FormField { name: "name", label: "Name", hint: "" };
const DESCRIPTION: FormField<'_> =
    FormField { name: "description", label: "Description", hint: "" };
/// Checkboxes of score configs.
pub(super) const CONFIG: &str = "config";

/// Fields of a queue: name, description and what reviewers fill in.
pub(super) async fn fields(
    web: &Web,
    ctx: &RequestContext,
    (entered, chosen): (&Entered, &[String]),
) -> PageResult<Markup> {
    let settings = web.store.catalog.recording_settings(&ctx.project_id()).await?;
    // One that was archived since stays until it is taken away.
    let is_offered = |config: &&ScoreConfig| !config.is_archived || chosen.contains(&config.id);
    let mut configs: Vec<&ScoreConfig> =
        settings.score_configs.values().filter(is_offered).collect();
    configs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(html! {
        (field::problem(entered))
        (field::line(NAME, entered))
        (field::line(DESCRIPTION, entered))
        fieldset {
            legend { "Score configs" }
            @for config in &configs {
                label.tick {
                    input type="checkbox" name=(CONFIG) value=(config.id)
                        checked[chosen.contains(&config.id)];
                    " " bdi { (config.name) }
                    @if config.is_archived { " " span.muted { "archived" } }
                }
            }
            p.hint { a href=(ctx.to(&["settings", "score-configs"])) { "Create a score config" } }
        }
    })
}

/// The queue that was entered; what is wrong with it is noted.
pub(super) fn read(form: Params) -> (NewQueue, Entered) {
    let score_configs = form.all(CONFIG).map(str::to_owned).collect();
    let mut entered = Entered::new(form);
    let name = entered.text(NAME.name).to_owned();
    if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) {
        entered.wrong(NAME.name, format!("1 to {MAX_NAME_CHARS} characters"));
    }
    let description = entered.filled(DESCRIPTION.name).map(str::to_owned);
    if description.as_ref().is_some_and(|text| text.chars().count() > MAX_DESCRIPTION_CHARS) {
        entered.wrong(DESCRIPTION.name, format!("at most {MAX_DESCRIPTION_CHARS} characters"));
    }
    (NewQueue { name, description, score_configs }, entered)
}
