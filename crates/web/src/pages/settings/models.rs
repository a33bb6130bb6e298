//! What models are called and cost: those of the project, which win, and those of the program.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::record::price::{ModelDefinition, ModelUnit, OwnModel, PricingTier};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::StoredModel;
use uuid::Uuid;

use super::tiers::{per_million, read_conditions, read_prices, shown_conditions, shown_prices};
use super::{ConfirmDialog, Done, Tab, page, question, wrong};
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Tiers with conditions that a model may have.
const TIERS: usize = 49;

const NAME: FormField<'_> = FormField { name: "modelName", label: "Name", hint: "" };
const PATTERN: FormField<'_> = FormField {
    name: "matchPattern",
    label: "Pattern",
    hint: "A regular expression matched against the model name of a call, such as (?i)^my-model(-v\\d+)?$.",
};
const START: FormField<'_> = FormField {
    name: "startDate",
    label: "Valid from",
    hint: "Earlier calls use another definition. Leave empty for no start date.",
};
const UNIT: FormField<'_> = FormField { name: "unit", label: "Unit", hint: "" };
const PRICES: FormField<'_> = FormField {
    name: "pricingTiers",
    label: "Prices per million units (USD)",
    hint: "One usage type and price per line: input 3.00, output 15.00, input_cached_tokens 0.30.",
};

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings/models", get(show).post(make))
        .route("/project/{project}/settings/models/{model}", get(edit).post(change))
        .route("/project/{project}/settings/models/{model}/delete", post(delete))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let preset = match ctx.params.get("like") {
        Some(like) => copied(&web, like),
        None => Entered::preset(&[("unit", ModelUnit::Tokens.as_str())]),
    };
    drawn(&web, &ctx, &preset).await
}

/// The prices of a built-in model, to begin one's own with.
fn copied(web: &Web, like: &str) -> Entered {
    let known = web.store.catalog.built_in_models().into_iter().find(|model| model.name == like);
    known.map_or_else(Entered::default, |model| filled(&model))
}

async fn drawn(web: &Web, ctx: &RequestContext, entered: &Entered) -> PageResult<Markup> {
    let own = web.store.catalog.models(ctx.project_id()).await?;
    let built_in = web.store.catalog.built_in_models();
    let body = html! {
        section.settings {
            h2 { "Custom prices" }
            @if own.is_empty() {
                (empty::empty("No custom prices yet", &html! {
                    p { "Add a model that Ratchet does not know, or override a price. Applies to new traces; existing costs do not change." }
                    @if ctx.viewer.can_change() { p { a.button href="#define" { "Add model" } } }
                }))
            } @else { (own_table(&own, ctx)) }
        }
        @if ctx.viewer.can_change() {
            section.settings #define {
                h2 { "Add model" }
                (form(ctx, entered, &Tab::Models.action(ctx, &[])))
            }
        }
        section.settings {
            h2 { "Built-in prices" }
            (built_in_table(&built_in, ctx))
        }
    };
    let summary = html! {
        (own.len()) " custom, " (built_in.len()) " built-in. Custom prices take precedence. USD per million units."
    };
    Ok(page(ctx, Tab::Models, summary, &body))
}

fn own_table(own: &[StoredModel], ctx: &RequestContext) -> Markup {
    let can_change = ctx.viewer.can_change();
    let mut columns = vec![
        Column::text("Model"),
        Column::text("Pattern"),
        Column::text("Valid from"),
        Column::text("Prices"),
        Column::text("Created"),
    ];
    if can_change {
        columns.push(Column::text("Actions"));
    }
    let row = |kept: &StoredModel| {
        let mut cells = vec![
            html! { bdi { (kept.definition.name) } },
            html! { code { (kept.definition.pattern) } },
            html! { @match kept.definition.start {
                Some(start) => { (figure::when(start, &ctx.time)) },
                None => { "always" },
            } },
            prices(&kept.definition),
            figure::ago(kept.created_at, &ctx.time),
        ];
        if can_change {
            cells.push(html! {
                form.inline method="post" action=(Tab::Models.action(ctx, &[&kept.id, "delete"])) {
                    (ctx.viewer.form_token.field())
                    button.quiet type="submit" { "Delete" span.sr { " " (kept.definition.name) } }
                }
            });
        }
        let link = can_change.then(|| ctx.to(&["settings", "models", &kept.id]));
        Row { id: kept.id.clone(), link, cells, failed: false }
    };
    let (caption, rows) = ("Custom models".to_owned(), own.iter().map(row).collect());
    table::table(&Table { caption, columns, rows, select_for: None })
}

fn built_in_table(built_in: &[ModelDefinition], ctx: &RequestContext) -> Markup {
    let can_change = ctx.viewer.can_change();
    let mut columns = vec![Column::text("Model"), Column::text("Prices")];
    if can_change {
        columns.push(Column::text("Actions"));
    }
    let row = |model: &ModelDefinition| {
        let mut cells = vec![html! { (model.name) }, prices(model)];
        if can_change {
            let like = Tab::Models.link(ctx).with("like", &model.name);
            cells.push(html! {
                a.quiet href={ (like) "#define" } { "Override price" span.sr { ": " (model.name) } }
            });
        }
        Row { id: model.name.clone(), link: None, cells, failed: false }
    };
    let (caption, rows) = ("Built-in models".to_owned(), built_in.iter().map(row).collect());
    table::table(&Table { caption, columns, rows, select_for: None })
}

/// What a model costs, the tiers with conditions below.
fn prices(model: &ModelDefinition) -> Markup {
    html! {
        @for tier in by_priority(model) {
            div.prices {
                @if !tier.is_default { span.muted title=(shown_conditions(&tier.conditions)) { (tier.name) ": " } }
                @for (kind, price) in &tier.prices {
                    span.price { (kind) " " strong { "$" (per_million(*price)) } }
                }
            }
        }
    }
}

/// The default first, then the others as they are tried.
fn by_priority(model: &ModelDefinition) -> Vec<&PricingTier> {
    let mut tiers: Vec<&PricingTier> = model.tiers.iter().collect();
    tiers.sort_by_key(|tier| (!tier.is_default, tier.priority));
    tiers
}

/// A definition as the form shows it.
fn filled(model: &ModelDefinition) -> Entered {
    let start = model.start.map(ratchet_core::calendar::day);
    let mut entered = Entered::preset(&[
        ("modelName", &model.name),
        ("matchPattern", &model.pattern),
        ("startDate", start.as_deref().unwrap_or_default()),
        ("unit", model.unit.as_str()),
    ]);
    let tiers = by_priority(model);
    let others = tiers.iter().filter(|tier| !tier.is_default);
    for (index, tier) in others.take(TIERS).enumerate() {
        entered.set(&format!("tier{index}-name"), &tier.name);
        entered.set(&format!("tier{index}-when"), &shown_conditions(&tier.conditions));
        entered.set(&format!("tier{index}-prices"), &shown_prices(&tier.prices));
    }
    let default = tiers.first().map(|tier| shown_prices(&tier.prices)).unwrap_or_default();
    entered.set("pricingTiers", &default);
    entered
}

fn form(ctx: &RequestContext, entered: &Entered, action: &crate::request_context::Link) -> Markup {
    let units = ModelUnit::ALL.map(|unit| (unit.as_str(), unit.as_str()));
    let used = (0..TIERS).filter(|index| entered.filled(&format!("tier{index}-name")).is_some());
    let room = (used.count() + 1).min(TIERS);
    html! {
        form method="post" action=(action) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            (field::line(NAME, entered))
            (field::line(PATTERN, entered))
            (field::area(PRICES, 4, entered))
            (field::choice(UNIT, &units, entered))
            (field::day(START, entered))
            details open[room > 1] {
                summary { "Pricing tiers" }
                p.hint { "The first tier whose conditions all match applies; otherwise the prices above." }
                @for index in 0..room { (tier_fields(index, entered)) }
            }
            button.button.primary type="submit" { "Save model" }
        }
    }
}

fn tier_fields(index: usize, entered: &Entered) -> Markup {
    let (name, when) = (format!("tier{index}-name"), format!("tier{index}-when"));
    let prices = format!("tier{index}-prices");
    let number = index + 1;
    html! {
        fieldset {
            legend { "Tier " (number) }
            (field::line(FormField { name: &name, label: "Tier name", hint: "Leave empty to skip this tier." }, entered))
            (field::area(FormField {
                name: &when,
                label: "Conditions",
                hint: "One per line: input > 200000, parameter.speed = fast, metadata.tier = batch.",
            }, 2, entered))
            (field::area(FormField { name: &prices, label: "Prices per million units", hint: "" }, 3, entered))
        }
    }
}

/// Parses the form; adds validation errors.
fn read(
    entered: &mut Entered,
    id: &str,
    before: Option<&ModelDefinition>,
) -> Option<ModelDefinition> {
    let mut tiers = Vec::new();
    match read_prices(&entered.lines("pricingTiers")) {
        Ok(prices) => tiers.push(PricingTier::standard(Uuid::new_v4().to_string(), prices)),
        Err(why) => entered.wrong("pricingTiers", why),
    }
    for index in 0..TIERS {
        tiers.extend(read_tier(entered, index));
    }
    let start =
        entered.filled("startDate").map(|day| Timestamp::parse(&format!("{day}T00:00:00Z")));
    if matches!(start, Some(Err(_))) {
        entered.wrong("startDate", "a date such as 2026-11-15");
    }
    // The form knows days only: a moment within the same day stays.
    let known = before.and_then(|before| before.start);
    let is_same = known.map(ratchet_core::calendar::day).as_deref() == entered.filled("startDate");
    let start = if is_same { known } else { start.and_then(Result::ok) };
    let unit = ModelUnit::parse(entered.raw("unit"));
    if unit.is_none() {
        entered.wrong("unit", "select one of the options");
    }
    let definition = ModelDefinition {
        name: entered.text("modelName").to_owned(),
        pattern: entered.text("matchPattern").to_owned(),
        start,
        unit: unit.unwrap_or_default(),
        tiers,
        tokenizer: before.and_then(|before| before.tokenizer.clone()),
        tokenizer_config: before.and_then(|before| before.tokenizer_config.clone()),
    };
    if entered.is_fine()
        && let Err(why) = OwnModel::new(id.to_owned(), &definition)
    {
        entered.wrong(why.field, why.problem);
    }
    entered.is_fine().then_some(definition)
}

/// A tier with conditions, if its name is filled in.
fn read_tier(entered: &mut Entered, index: usize) -> Option<PricingTier> {
    let name = entered.filled(&format!("tier{index}-name"))?.to_owned();
    let (when, at) = (format!("tier{index}-when"), format!("tier{index}-prices"));
    let conditions = read_conditions(&entered.lines(&when));
    if let Err(why) = &conditions {
        entered.wrong(&when, why.clone());
    } else if conditions.as_ref().is_ok_and(Vec::is_empty) {
        entered.wrong(&when, "a tier needs at least one condition");
    }
    let prices = read_prices(&entered.lines(&at));
    if let Err(why) = &prices {
        entered.wrong(&at, why.clone());
    }
    let priority = i64::try_from(index).unwrap_or(i64::MAX).saturating_add(1);
    let (conditions, prices) = (conditions.ok()?, prices.ok()?);
    let id = Uuid::new_v4().to_string();
    Some(PricingTier { id, name, is_default: false, priority, conditions, prices })
}

async fn find(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<StoredModel> {
    let found = web.store.catalog.model(ctx.project_id(), id.to_owned()).await?;
    found.ok_or_else(|| PageError::not_there("model"))
}

async fn make(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    let (mut entered, id) = (Entered::new(form), Uuid::new_v4().to_string());
    let Some(definition) = read(&mut entered, &id, None) else {
        return Ok(wrong(drawn(&web, &ctx, &entered).await?));
    };
    keep(&web, &ctx, StoredModel { id, definition, created_at: ctx.now }).await
}

async fn keep(web: &Web, ctx: &RequestContext, kept: StoredModel) -> PageResult<Response> {
    let catalog = ctx.viewer.catalog(web);
    match catalog.save_model(ctx.project_id(), kept, ctx.now).await {
        Ok(_) => Ok(Done::Saved.back(ctx, Tab::Models)),
        Err(StoreError::BadQuery(why)) => Err(PageError::Bad(why)),
        Err(error) => Err(error.into()),
    }
}

async fn edit(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let kept = find(&web, &ctx, &id).await?;
    Ok(edited(&ctx, &kept, &filled(&kept.definition)))
}

fn edited(ctx: &RequestContext, kept: &StoredModel, entered: &Entered) -> Markup {
    let body = html! {
        section.settings {
            h2 { bdi { (kept.definition.name) } }
            (form(ctx, entered, &Tab::Models.action(ctx, &[&kept.id])))
        }
    };
    let summary = html! { "Applies to new traces; existing costs do not change." };
    page(ctx, Tab::Models, summary, &body)
}

async fn change(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let kept = find(&web, &ctx, &id).await?;
    let mut entered = Entered::new(form);
    let Some(definition) = read(&mut entered, &id, Some(&kept.definition)) else {
        return Ok(wrong(edited(&ctx, &kept, &entered)));
    };
    keep(&web, &ctx, StoredModel { definition, ..kept }).await
}

async fn delete(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let kept = find(&web, &ctx, &id).await?;
    if !Entered::new(form).is_ticked("sure") {
        let ask = ConfirmDialog {
            title: format!("Delete {}?", kept.definition.name),
            lost: html! {
                "New calls use another matching definition, if any. Existing costs do not change."
            },
            action: Tab::Models.action(&ctx, &[&id, "delete"]),
            verb: "Delete",
            fields: &[],
        };
        return Ok(question(&ctx, Tab::Models, &ask).into_response());
    }
    ctx.viewer.catalog(&web).delete_model(ctx.project_id(), id, ctx.now).await?;
    Ok(Done::Deleted.back(&ctx, Tab::Models))
}
