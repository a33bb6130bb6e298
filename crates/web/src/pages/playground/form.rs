use maud::{Markup, html};
use ratchet_core::catalog::prompt::PromptKind;
use ratchet_stages::llm_connections;
use ratchet_store::catalog::LlmConnection;

use super::PlaygroundState;
use super::fields::{OWN, PlaygroundForm, SLOTS, VARIABLE};
use crate::request_context::RequestContext;

const TOOLS_HINT: &str = "A JSON list of function definitions, each with name, description and parameters. \
     Calls are shown and not run.";
const SCHEMA_HINT: &str = "A JSON Schema that the answer must fit.";
/// Lines of a prompt that are seen at once.
const ROWS: usize = 14;

/// The form: the prompt, its variables, whom to ask and within what bounds.
pub(super) fn form(ctx: &RequestContext, state: &PlaygroundState) -> Markup {
    let request = &state.request;
    html! {
        form.playground method="post" action=(ctx.to(&["playground"])) {
            (ctx.viewer.form_token.field())
            (kept(request))
            div.playground-prompt {
                (prompt(request))
                (variables(request))
                (json_area(request, ("tools", "Tools", &request.tools), TOOLS_HINT))
                (json_area(request, ("schema", "Response schema", &request.schema), SCHEMA_HINT))
            }
            div.playground-models {
                fieldset {
                    legend { "Models" }
                    (problem(request, "slots"))
                    @for slot in 0..SLOTS { (self::slot(state, slot)) }
                }
                (bounds(request))
                button.button.primary type="submit" { "Run" }
            }
        }
        @for connection in &state.connections {
            datalist id={ "models-" (connection.id) } {
                @for model in known_models(connection) { option value=(model) {} }
            }
        }
    }
}

/// What the form remembers of the prompt that it began as.
fn kept(request: &PlaygroundForm) -> Markup {
    let kind = request.kind.unwrap_or(PromptKind::Text);
    html! {
        input type="hidden" name="kind" value=(kind.as_str());
        input type="hidden" name="config" value=(request.config);
        @if let Some(name) = &request.name { input type="hidden" name="name" value=(name); }
        @if let Some(version) = request.version { input type="hidden" name="version" value=(version); }
    }
}

fn prompt(request: &PlaygroundForm) -> Markup {
    let is_chat = request.kind == Some(PromptKind::Chat);
    let rows = request.text.lines().count().clamp(6, ROWS);
    html! {
        div.form-row {
            label for="text" {
                @if is_chat { "Messages (JSON)" } @else { "Prompt" }
                @if let (Some(name), Some(version)) = (&request.name, request.version) {
                    " " span.muted { "based on " bdi { (name) } " v" (version) }
                }
            }
            textarea #text name="text" rows=(rows) required spellcheck="false"
                aria-invalid=[request.problem("text").map(|_| "true")] { "\n" (request.text) }
            (problem(request, "text"))
            p.hint { "Variables in double braces, such as " code { "{{message}}" } ", are filled in below." }
        }
    }
}

fn variables(request: &PlaygroundForm) -> Markup {
    let names = request.all_variables();
    html! {
        (problem(request, "variables"))
        @for (nth, name) in names.iter().enumerate() {
            @let id = format!("v{nth}");
            div.form-row {
                label for=(id) { code { bdi { (name) } } }
                textarea id=(id) name={ (VARIABLE) (name) } rows="2" spellcheck="false" {
                    "\n" (request.variables.get(name).map(String::as_str).unwrap_or_default())
                }
            }
        }
    }
}

/// A field for JSON, folded while it is empty.
fn json_area(
    request: &PlaygroundForm,
    (name, label, value): (&'static str, &str, &str),
    hint: &str,
) -> Markup {
    let rows = value.lines().count().clamp(4, ROWS);
    html! {
        details.playground-json open[!value.trim().is_empty() || request.problem(name).is_some()] {
            summary { (label) }
            div.form-row {
                label.sr for=(name) { (label) }
                textarea id=(name) name=(name) rows=(rows) spellcheck="false"
                    aria-invalid=[request.problem(name).map(|_| "true")] { "\n" (value) }
                (problem(request, name))
                p.hint { (hint) }
            }
        }
    }
}

/// Another prompt for one model, folded while there is none.
fn own_prompt(request: &PlaygroundForm, nth: usize) -> Markup {
    let (Some(field), Some(text)) = (OWN.get(nth), request.own.get(nth)) else {
        return Markup::default();
    };
    let rows = text.lines().count().clamp(4, ROWS);
    html! {
        details.playground-json open[!text.trim().is_empty() || request.problem(field).is_some()] {
            summary { "Own prompt" span.sr { " for model " (nth + 1) } }
            div.form-row {
                label.sr for=(field) { "Prompt of model " (nth + 1) }
                textarea id=(field) name=(field) rows=(rows) spellcheck="false"
                    aria-invalid=[request.problem(field).map(|_| "true")] { "\n" (text) }
                (problem(request, field))
                p.hint { "Instead of the one on the left; the same variables." }
            }
        }
    }
}

fn slot(state: &PlaygroundState, nth: usize) -> Markup {
    let Some((id, model)) = state.request.slots.get(nth) else { return Markup::default() };
    // Before anything was chosen, the first connection is.
    let is_fresh = state.request.slots.iter().all(|(id, _)| id.is_empty());
    let first = state.connections.first();
    let first = first.filter(|_| is_fresh && (nth == 0 || state.request.has_own(nth)));
    let chosen = state.connections.iter().find(|known| known.id == *id).or(first);
    let usual = chosen.and_then(llm_connections::usual_model).unwrap_or_default();
    let model = if model.is_empty() { usual.as_str() } else { model };
    let number = nth + 1;
    html! {
        div.slot {
            select name={ "connection" (nth) } aria-label={ "Connection " (number) } {
                option value="" { "None" }
                @for connection in &state.connections {
                    option value=(connection.id) selected[chosen == Some(connection)] { (connection.provider) }
                }
            }
            input type="text" name={ "model" (nth) } value=(model) placeholder="model" maxlength="500"
                aria-label={ "Model " (number) } list=[chosen.map(|chosen| format!("models-{}", chosen.id))]
                spellcheck="false" autocomplete="off";
            (own_prompt(&state.request, nth))
        }
    }
}

/// Models that a connection is known to lead to.
fn known_models(connection: &LlmConnection) -> Vec<String> {
    let mut models = connection.custom_models.clone();
    models.extend(
        llm_connections::usual_model(connection)
            .filter(|usual| !connection.custom_models.contains(usual)),
    );
    models
}

fn bounds(request: &PlaygroundForm) -> Markup {
    let fields = [
        ("temperature", "Temperature", &request.temperature, "provider default"),
        ("max_tokens", "Max output tokens", &request.max_tokens, ""),
        ("dollars", "Max total cost (USD)", &request.dollars, ""),
    ];
    html! {
        @for (name, label, value, empty) in fields {
            div.form-row {
                label for=(name) { (label) }
                input id=(name) type="text" inputmode="decimal" name=(name) value=(value) placeholder=(empty)
                    autocomplete="off" aria-invalid=[request.problem(name).map(|_| "true")];
                (problem(request, name))
            }
        }
    }
}

fn problem(request: &PlaygroundForm, field: &str) -> Markup {
    html! { @if let Some(why) = request.problem(field) { p.wrong role="alert" { (why) } } }
}
