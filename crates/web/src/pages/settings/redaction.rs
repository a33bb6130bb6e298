//! Redaction rules and CORS origins.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::cors_origin::PageOrigin;
use ratchet_core::catalog::validation;
use ratchet_core::record::redact::preset::{self, Preset};
use ratchet_core::record::redact::{RedactionPattern, Redactor, Rule, RuleError};
use ratchet_store::catalog::StoredRule;

use super::{ConfirmDialog, Done, Tab, page, question, wrong};
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{diff, empty, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// The most of a text that rules are tried on.
const MAX_SAMPLE_BYTES: usize = 100_000;

const KIND: FormField<'_> = FormField { name: "kind", label: "Rule type", hint: "" };
const WHAT: FormField<'_> = FormField {
    name: "what",
    label: "Pattern or path",
    hint: "A regular expression, or a path such as input.user.email or metadata.*.token. Not needed for presets.",
};
const REPLACEMENT: FormField<'_> = FormField {
    name: "replacement",
    label: "Replacement",
    hint: "Default: “[redacted]”, or the preset's replacement.",
};
const SAMPLE: FormField<'_> = FormField {
    name: "sample",
    label: "Test text",
    hint: "Tests all rules of the project plus the one above. Nothing is saved.",
};
const ORIGINS: FormField<'_> = FormField {
    name: "origins",
    label: "Allowed origins",
    hint: "One per line, such as https://app.example.com. Leave empty to allow any origin.",
};

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings/redaction", get(show).post(add))
        .route("/project/{project}/settings/redaction/{rule}/remove", post(remove))
        .route("/project/{project}/settings/origins", post(set_origins))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_own()?;
    drawn(&web, &ctx, &Entered::default(), None).await
}

/// A text before and after the rules.
struct Trial {
    before: String,
    after: String,
}

async fn drawn(
    web: &Web,
    ctx: &RequestContext,
    entered: &Entered,
    trial: Option<&Trial>,
) -> PageResult<Markup> {
    let rules = web.store.catalog.redaction_rules(ctx.project_id()).await?;
    let origins = web.store.catalog.page_origins(ctx.project_id()).await?;
    let body = html! {
        section.settings {
            h2 { "Rules" }
            @if rules.is_empty() {
                (empty::empty("No redaction rules", &html! {
                    p { "A rule removes matches before text is stored: email addresses, card numbers, keys, or the value of a field. Stored data does not change." }
                    p { a.button href="#add" { "Add rule" } }
                }))
            } @else { (list(&rules, ctx)) }
        }
        (add_form(ctx, entered, trial))
        (origins_form(ctx, entered, &origins))
    };
    let count = rules.len();
    let summary = html! {
        (count) " " (if count == 1 { "rule" } else { "rules" }) "; "
        @match origins.len() {
            0 => { "any origin allowed." },
            1 => { "1 origin allowed." },
            many => { (many) " origins allowed." },
        }
    };
    Ok(page(ctx, Tab::Redaction, summary, &body))
}

fn list(rules: &[StoredRule], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Type"),
        Column::text("Pattern, path or preset"),
        Column::text("Replacement"),
        Column::text("Added"),
        Column::text("Actions"),
    ];
    let row = |kept: &StoredRule| Row {
        id: kept.id.clone(),
        link: None,
        cells: vec![
            html! { (kind_words(&kept.rule.what)) },
            html! { code { (kept.rule.what.text()) } },
            html! { code { (kept.rule.replacement) } },
            figure::ago(kept.created_at, &ctx.time),
            html! {
                form.inline method="post"
                     action=(Tab::Redaction.action(ctx, &[&kept.id, "remove"])) {
                    (ctx.viewer.form_token.field())
                    button.quiet type="submit" { "Remove" span.sr { " " (kept.rule.what.text()) } }
                }
            },
        ],
        failed: false,
    };
    let rows = rules.iter().map(row).collect();
    table::table(&Table { caption: "Redaction rules".to_owned(), columns, rows, select_for: None })
}

const fn kind_words(what: &RedactionPattern) -> &'static str {
    match what {
        RedactionPattern::Pattern(_) => "pattern in any text",
        RedactionPattern::Field(_) => "field",
        RedactionPattern::Preset(_) => "preset",
    }
}

fn add_form(ctx: &RequestContext, entered: &Entered, trial: Option<&Trial>) -> Markup {
    let named = |preset: &Preset| (format!("preset:{}", preset.name), preset.finds.clone());
    let presets: Vec<(String, String)> = preset::all().iter().map(named).collect();
    let mut kinds = vec![("pattern", "Custom pattern"), ("field", "Field")];
    kinds.extend(presets.iter().map(|(value, words)| (value.as_str(), words.as_str())));
    html! {
        section.settings #add {
            h2 { "Add rule" }
            form method="post" action=(Tab::Redaction.action(ctx, &[])) {
                (ctx.viewer.form_token.field())
                (field::problem(entered))
                (field::choice(KIND, &kinds, entered))
                (field::line(WHAT, entered))
                (field::line(REPLACEMENT, entered))
                (field::area(SAMPLE, 4, entered))
                button.button type="submit" name="do" value="try" { "Test" } " "
                button.button.primary type="submit" name="do" value="add" { "Add rule" }
            }
            @if let Some(trial) = trial {
                h3 { "Redacted text" }
                @if trial.before == trial.after { p.muted { "No matches." } }
                (diff::diff(&trial.before, &trial.after))
            }
        }
    }
}

fn origins_form(ctx: &RequestContext, entered: &Entered, origins: &[PageOrigin]) -> Markup {
    let known: Vec<&str> = origins.iter().map(PageOrigin::as_str).collect();
    let mut shown = entered.clone();
    if !entered.has("origins") {
        shown.set("origins", &known.join("\n"));
    }
    html! {
        section.settings {
            h2 { "Allowed origins (CORS)" }
            p { "Web pages that send feedback contain the public key. List your origins to reject requests from other pages." }
            form method="post" action=(Tab::General.action(ctx, &["origins"])) {
                (ctx.viewer.form_token.field())
                (field::area(ORIGINS, 3, &shown))
                button.button.primary type="submit" { "Save origins" }
            }
        }
    }
}

/// Parses the rule form.
fn read(entered: &Entered) -> Result<Rule, RuleError> {
    let text = || entered.text("what").to_owned();
    let what = match entered.raw("kind") {
        "field" => RedactionPattern::Field(text()),
        kind => match kind.strip_prefix("preset:") {
            Some(name) => RedactionPattern::Preset(name.to_owned()),
            None => RedactionPattern::Pattern(text()),
        },
    };
    Rule::new(what, entered.filled("replacement").map(str::to_owned))
}

/// The field that a rule's mistake is in.
fn field_of(why: &RuleError) -> &'static str {
    match why {
        RuleError::Circular { .. } | RuleError::Length { what: "replacement", .. } => "replacement",
        RuleError::Preset { .. } => "kind",
        RuleError::TooMany => "",
        RuleError::Length { .. }
        | RuleError::Pattern(_)
        | RuleError::Empty(_)
        | RuleError::Path(_) => "what",
    }
}

async fn add(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let entered = Entered::new(form);
    let refused = async |why: RuleError| {
        let entered = entered.clone().and_wrong(field_of(&why), why.to_string());
        PageResult::Ok(wrong(drawn(&web, &ctx, &entered, None).await?))
    };
    let rule = match read(&entered) {
        Ok(rule) => rule,
        Err(why) => return refused(why).await,
    };
    if entered.raw("do") == "try" {
        let rules = web.store.catalog.redaction_rules(ctx.project_id()).await?;
        let rules: Vec<Rule> = rules.into_iter().map(|kept| kept.rule).chain([rule]).collect();
        return match tried(&rules, entered.raw("sample")) {
            Ok(trial) => Ok(drawn(&web, &ctx, &entered, Some(&trial)).await?.into_response()),
            Err(why) => refused(why).await,
        };
    }
    let catalog = ctx.viewer.catalog(&web);
    match catalog.add_redaction_rule(ctx.project_id(), rule, ctx.now).await? {
        Ok(_) => Ok(Done::Added.back(&ctx, Tab::Redaction)),
        Err(why) => refused(why).await,
    }
}

fn tried(rules: &[Rule], sample: &str) -> Result<Trial, RuleError> {
    let before = ratchet_core::record::limit::elide(sample, MAX_SAMPLE_BYTES).into_owned();
    let after = Redactor::new(rules)?.trial(&before, "input")?;
    Ok(Trial { before, after })
}

async fn remove(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let rules = web.store.catalog.redaction_rules(ctx.project_id()).await?;
    let found = rules.into_iter().find(|kept| kept.id == id);
    let found = found.ok_or_else(|| PageError::not_there("rule"))?;
    if !Entered::new(form).is_ticked("sure") {
        let ask = ConfirmDialog {
            title: "Remove this rule?".to_owned(),
            lost: html! {
                "New values of " code { (found.rule.what.text()) } " are stored unredacted. "
                "Redacted data does not change."
            },
            action: Tab::Redaction.action(&ctx, &[&id, "remove"]),
            verb: "Remove",
            fields: &[],
        };
        return Ok(question(&ctx, Tab::Redaction, &ask).into_response());
    }
    ctx.viewer.catalog(&web).remove_redaction_rule(ctx.project_id(), id, ctx.now).await?;
    Ok(Done::Removed.back(&ctx, Tab::Redaction))
}

async fn set_origins(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let entered = Entered::new(form);
    match validation::origins(&entered.lines("origins")) {
        Ok(origins) => {
            let catalog = ctx.viewer.catalog(&web);
            catalog.set_page_origins(ctx.project_id(), origins, ctx.now).await?;
            Ok(Done::Saved.back(&ctx, Tab::Redaction))
        }
        Err(why) => {
            let entered = entered.and_wrong("origins", why.problem);
            Ok(wrong(drawn(&web, &ctx, &entered, None).await?))
        }
    }
}
