//! The form of a queue's score configs: a question for each, with its description.

use maud::{Markup, html};
use ratchet_core::catalog::review::{REVIEW_HEARTBEAT, ReviewSettings};
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::config::{Category, ConfigValues};
use ratchet_core::record::score::rule::SentValue;
use ratchet_store::catalog::{QueueId, ReviewLease, StoredScoreConfig};

use super::form;
use crate::page_error::{PageError, PageResult};
use crate::pages::annotation::{self, SCORE};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Ending of the field with a number that is not one of the steps.
const EXACT: &str = ".exact";
/// The most values that are shown one by one; more are a menu.
const MAX_CHOICES: usize = 10;
/// Steps of a range of numbers.
const STEPS: u32 = 4;
/// Bytes shown of a description.
const MAX_DESCRIPTION: usize = 600;
const MAX_TEXT: usize = 500;

/// The score configs of a queue that are in use, in its order.
pub(super) async fn configs(
    web: &Web,
    of: &QueueId,
    ids: &[String],
) -> PageResult<Vec<StoredScoreConfig>> {
    let mut configs: Vec<StoredScoreConfig> = Vec::with_capacity(ids.len());
    for id in ids {
        let found = web.store.catalog.score_config(of.project.clone(), id.clone()).await?;
        let found = found.filter(|one| !one.config.is_archived);
        configs.extend(found.filter(|one| configs.iter().all(|known| known != one)));
    }
    Ok(configs)
}

/// The form. `said` is what others say of the record, `after` comes below the comment.
pub(super) fn form(
    ctx: &RequestContext,
    (of, lease): (&QueueId, &ReviewLease),
    (settings, configs): (&ReviewSettings, &[StoredScoreConfig]),
    (said, after): (&Markup, &Markup),
) -> Markup {
    let heartbeat = ctx.to(&["queues", &of.queue, "review", &lease.item.id, "heartbeat"]);
    html! {
        form.review-form data-review method="post" action=(form::action(ctx, of, lease))
             data-heartbeat=(heartbeat) data-heartbeat-seconds=(REVIEW_HEARTBEAT.as_secs())
             data-next=(ctx.to(&["queues", &of.queue, "review"])) {
            (form::hidden(ctx, lease))
            @for config in configs { (question(config)) }
            (form::after_answer(settings, "every score", said))
            (form::area(("comment", "Comment", "c"), ""))
            (after)
            (form::buttons())
            p.muted.keys-hint {
                "A number selects an option of the framed score; " kbd { "j" } " " kbd { "k" } " move the frame; "
                kbd { "Esc" } " leaves a text. Leave out what does not apply."
            }
        }
    }
}

fn question(config: &StoredScoreConfig) -> Markup {
    let name = field(config);
    let input = match &config.config.values {
        ConfigValues::Numeric { min, max } => numeric(&name, (*min, *max)),
        ConfigValues::Boolean => html! {
            @for (value, word) in [("0", "false"), ("1", "true")] {
                (choice(&name, (Some(value), value, word)))
            }
        },
        ConfigValues::Categorical(categories) => categorical(&name, categories),
        ConfigValues::Text => html! {
            input.wide type="text" name=(name) maxlength=(MAX_TEXT) autocomplete="off"
                aria-label=(config.config.name);
        },
    };
    let range = match &config.config.values {
        ConfigValues::Numeric { min, max } => annotation::range(*min, *max),
        ConfigValues::Boolean | ConfigValues::Categorical(_) | ConfigValues::Text => {
            Markup::default()
        }
    };
    html! {
        fieldset.review-choice data-question data-reveals {
            legend { bdi { (config.config.name) } (range) }
            @if let Some(text) = &config.description {
                p.review-description title=(text) { bdi { (elide(text, MAX_DESCRIPTION)) } }
            }
            (input)
        }
    }
}

/// The field of a score config.
fn field(config: &StoredScoreConfig) -> String {
    format!("{SCORE}{}", config.config.id)
}

fn choice(name: &str, (key, value, word): (Option<&str>, &str, &str)) -> Markup {
    html! {
        label.mark {
            input type="radio" name=(name) value=(value) data-key=[key];
            @if let Some(key) = key { kbd { (key) } }
            span { bdi { (word) } }
        }
    }
}

/// Steps between the bounds, and any other number.
fn numeric(name: &str, (min, max): (Option<f64>, Option<f64>)) -> Markup {
    let steps = min.zip(max).map(|(min, max)| steps(min, max)).unwrap_or_default();
    html! {
        @for (at, step) in steps.iter().enumerate() {
            @let value = step.to_string();
            // A digit selects itself, where the steps are digits.
            @let key = if is_digits(&steps) { value.clone() } else { at.to_string() };
            (choice(name, (Some(&key), &value, &value)))
        }
        label.exact {
            @if steps.is_empty() { "number " } @else { "exact " }
            input type="number" name={ (name) (EXACT) } min=[min] max=[max] step="any";
        }
    }
}

/// The whole numbers of a short range, and the quarters of another one.
fn steps(min: f64, max: f64) -> Vec<f64> {
    let is_whole = |number: f64| number.fract().abs() < f64::EPSILON;
    if is_whole(min) && is_whole(max) && (2.0..10.0).contains(&(max - min)) {
        let numbers = std::iter::successors(Some(min), |number| Some(number + 1.0));
        return numbers.take_while(|number| *number <= max).collect();
    }
    (0..=STEPS).map(|step| min + (max - min) * f64::from(step) / f64::from(STEPS)).collect()
}

fn is_digits(steps: &[f64]) -> bool {
    steps.iter().all(|step| step.fract().abs() < f64::EPSILON && (0.0..10.0).contains(step))
}

fn categorical(name: &str, categories: &[Category]) -> Markup {
    html! {
        @if categories.len() <= MAX_CHOICES {
            @for (key, category) in categories.iter().enumerate() {
                (choice(name, (Some(&key.to_string()), &category.label, &category.label)))
            }
        } @else {
            select name=(name) aria-label="Category" {
                option value="" { "Select a category" }
                @for category in categories { option value=(category.label) { (category.label) } }
            }
        }
    }
}

/// The values of a form, in the order of the queue.
pub(super) fn read(
    form: &Params,
    configs: Vec<StoredScoreConfig>,
) -> PageResult<Vec<(StoredScoreConfig, SentValue)>> {
    let mut values = Vec::new();
    for config in configs {
        let name = field(&config);
        let given = |name: &str| form.get(name).filter(|text| !text.trim().is_empty());
        let Some(text) = given(&format!("{name}{EXACT}")).or_else(|| given(&name)) else {
            continue;
        };
        let value = annotation::sent(&config.config.values, text);
        let value =
            value.ok_or_else(|| PageError::Bad(format!("{}: a number", config.config.name)))?;
        values.push((config, value));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ranges_have_their_whole_numbers_and_others_quarters() {
        assert_eq!(steps(1.0, 5.0), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(steps(0.0, 1.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(steps(0.0, 100.0), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(steps(-1.0, 1.0), [-1.0, 0.0, 1.0]);
        assert!(is_digits(&steps(1.0, 5.0)) && !is_digits(&steps(-1.0, 1.0)));
    }
}
