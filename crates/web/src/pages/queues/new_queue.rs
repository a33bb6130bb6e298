use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::record::score::config::ScoreConfig;
use ratchet_stages::validation::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use ratchet_store::catalog::NewQueue;

use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Form of a new queue: its name, and the score configs that reviewers fill in.
pub(super) async fn form(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let settings = web.store.catalog.recording_settings(&ctx.project_id()).await?;
    let mut configs: Vec<&ScoreConfig> =
        settings.score_configs.values().filter(|config| !config.is_archived).collect();
    configs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(html! {
        details.making {
            summary.button.primary { "New queue" }
            form.maker method="post" data-inline-errors action=(ctx.to(&["queues"])) {
                (ctx.viewer.form_token.field())
                div.form-row {
                    label for="name" { "Name" }
                    input #name type="text" name="name" required maxlength=(MAX_NAME_CHARS) autocomplete="off";
                }
                div.form-row {
                    label for="description" { "Description" }
                    input #description type="text" name="description" maxlength=(MAX_DESCRIPTION_CHARS) autocomplete="off";
                }
                fieldset {
                    legend { "Score configs" }
                    @for config in &configs {
                        label.tick {
                            input type="checkbox" name="config" value=(config.id); " " bdi { (config.name) }
                        }
                    }
                    p.hint { a href=(ctx.to(&["settings", "score-configs"])) { "Create a score config" } }
                }
                button.button.primary type="submit" { "Create" }
            }
        }
    })
}

/// `POST …/queues`: creates a queue.
pub(super) async fn create(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let name = form.get("name").unwrap_or_default().trim().to_owned();
    if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) {
        return Err(PageError::Bad(format!("name: 1 to {MAX_NAME_CHARS} characters")));
    }
    let description = form.get("description").unwrap_or_default().trim().to_owned();
    if description.chars().count() > MAX_DESCRIPTION_CHARS {
        return Err(PageError::Bad(format!(
            "description: at most {MAX_DESCRIPTION_CHARS} characters"
        )));
    }
    let new = NewQueue {
        name,
        description: Some(description).filter(|text| !text.is_empty()),
        score_configs: form.all("config").map(str::to_owned).collect(),
    };
    let made = ctx.viewer.catalog(&web).create_queue(ctx.project_id(), new, ctx.now).await?;
    Ok(Redirect::to(&ctx.to(&["queues", &made.id]).to_string()))
}
