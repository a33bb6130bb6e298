use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::record::score::DataType;
use ratchet_core::record::score::config::{
    Category, ConfigValues, ScoreConfig, StatedValues, check_description, check_name,
};
use ratchet_core::record::score::rule::ScoreInvalid;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::StoredScoreConfig;
use ratchet_store::query::PageNumber;
use uuid::Uuid;

use super::{Done, Tab, page, wrong};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, empty, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::score_summary;
use crate::web::Web;

const ROWS: u64 = 50;
/// Categories that a cell names.
const NAMED: usize = 8;
/// The data types that people choose from.
const TYPES: [DataType; 4] =
    [DataType::Boolean, DataType::Categorical, DataType::Numeric, DataType::Text];

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/settings/score-configs", get(show).post(change))
}

/// Fields of the form, as they were filled in.
#[derive(Clone, Default)]
struct ConfigForm {
    /// The config that is edited; `None` for a new one.
    id: Option<String>,
    name: String,
    description: String,
    data_type: Option<DataType>,
    min: String,
    max: String,
    /// One a line.
    categories: String,
    problem: Option<ScoreInvalid>,
}

impl ConfigForm {
    fn read(form: &Params) -> Self {
        let text = |name: &str| form.get(name).unwrap_or_default().trim().to_owned();
        Self {
            id: form.get("id").map(str::to_owned),
            name: text("name"),
            description: text("description"),
            data_type: form.get("dataType").and_then(DataType::parse),
            min: text("minValue"),
            max: text("maxValue"),
            categories: text("categories"),
            problem: None,
        }
    }

    /// The form of a config as it is.
    fn of(kept: StoredScoreConfig) -> Self {
        let StoredScoreConfig { config, description, .. } = kept;
        let mut form = Self {
            id: Some(config.id),
            name: config.name,
            description: description.unwrap_or_default(),
            data_type: Some(config.values.data_type()),
            ..Self::default()
        };
        let text = |bound: Option<f64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
        match config.values {
            ConfigValues::Numeric { min, max } => (form.min, form.max) = (text(min), text(max)),
            ConfigValues::Categorical(categories) => {
                let line = |one: &Category| format!("{} = {}", one.label, one.value);
                form.categories = categories.iter().map(line).collect::<Vec<_>>().join("\n");
            }
            ConfigValues::Boolean | ConfigValues::Text => {}
        }
        form
    }

    /// The config with what was entered. Its data type stays: scores that exist have it.
    fn changed(
        &self,
        mut kept: StoredScoreConfig,
        now: Timestamp,
    ) -> Result<StoredScoreConfig, ScoreInvalid> {
        let data_type = Some(kept.config.values.data_type());
        let form = Self { data_type, ..self.clone() };
        check_name(&form.name)?;
        kept.description = Some(form.description.clone()).filter(|text| !text.is_empty());
        check_description(kept.description.as_deref())?;
        kept.config.values = form.values()?;
        kept.config.name = form.name;
        kept.updated_at = now.max(kept.created_at);
        Ok(kept)
    }

    /// Whether the form has the fields of a data type: all of a new config, as its type is chosen
    /// in the form.
    fn has(&self, data_type: DataType) -> bool {
        self.id.is_none() || self.data_type == Some(data_type)
    }

    /// Validates the fields. Those of other data types are ignored.
    fn values(&self) -> Result<ConfigValues, ScoreInvalid> {
        let data_type =
            self.data_type.ok_or_else(|| ScoreInvalid::new("dataType", "choose one"))?;
        let mut stated = StatedValues::default();
        match data_type {
            DataType::Numeric => {
                stated.min = number("minValue", &self.min)?;
                stated.max = number("maxValue", &self.max)?;
            }
            DataType::Categorical => stated.categories = Some(categories(&self.categories)?),
            DataType::Boolean | DataType::Text | DataType::Correction => {}
        }
        ConfigValues::new(data_type, stated)
    }

    fn config(&self, ctx: &RequestContext) -> Result<StoredScoreConfig, ScoreInvalid> {
        check_name(&self.name)?;
        let description = Some(self.description.clone()).filter(|text| !text.is_empty());
        check_description(description.as_deref())?;
        let id = Uuid::new_v4().to_string();
        let values = self.values()?;
        let config = ScoreConfig { id, name: self.name.clone(), values, is_archived: false };
        Ok(StoredScoreConfig { config, description, created_at: ctx.now, updated_at: ctx.now })
    }

    fn problem(&self, field: &str) -> Markup {
        let found = self.problem.as_ref().filter(|problem| problem.field == field);
        html! { @if let Some(problem) = found { p.wrong role="alert" { (problem.why) } } }
    }
}

fn number(field: &'static str, text: &str) -> Result<Option<f64>, ScoreInvalid> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| ScoreInvalid::new(field, "a number, or empty"))
}

/// Reads `label = number` lines. A label without a number gets the number of its line, from 0.
fn categories(text: &str) -> Result<Vec<Category>, ScoreInvalid> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let category = |(index, line): (u32, &str)| match line.rsplit_once('=') {
        None => Ok(Category { label: line.to_owned(), value: f64::from(index) }),
        Some((label, value)) => {
            let value = value.trim().parse().map_err(|_| {
                ScoreInvalid::new("categories", format!("{line}: a number must follow ="))
            })?;
            Ok(Category { label: label.trim().to_owned(), value })
        }
    };
    (0..).zip(lines).map(category).collect()
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let form = match ctx.params.get("edit").filter(|_| ctx.viewer.can_change()) {
        Some(id) => {
            let kept = web.store.catalog.score_config(ctx.project_id(), id.to_owned()).await?;
            ConfigForm::of(kept.ok_or_else(|| PageError::not_there("score config"))?)
        }
        None => ConfigForm::default(),
    };
    drawn(&web, &ctx, &form).await
}

async fn drawn(web: &Web, ctx: &RequestContext, values: &ConfigForm) -> PageResult<Markup> {
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let found = web.store.catalog.score_configs(ctx.project_id(), at).await?;
    let total = found.total.unwrap_or_default();
    let summary =
        html! { "A score config names a score that people give, and the values it can have." };
    let body = html! {
        section.settings {
            @if total == 0 {
                (empty::empty("No score configs yet", &html! {
                    p { "Create one below to annotate traces and sessions, and to fill annotation queues." }
                    @if ctx.viewer.can_change() { p { a.button href="#config" { "Create score config" } } }
                }))
            } @else {
                (list(ctx, &found.rows)) (table::numbers(&ctx.here(), at, total))
            }
        }
        @if ctx.viewer.can_change() { (form(ctx, values)) }
    };
    Ok(page(ctx, Tab::ScoreConfigs, summary, &body))
}

fn list(ctx: &RequestContext, configs: &[StoredScoreConfig]) -> Markup {
    let columns = vec![
        Column::text("Name"),
        Column::text("Type"),
        Column::wide("Values"),
        Column::wide("Description"),
        Column::text("Created"),
        Column::text("Actions"),
    ];
    let row = |kept: &StoredScoreConfig| Row {
        id: kept.config.id.clone(),
        link: None,
        cells: vec![
            html! {
                a href=(score_summary::link(ctx, &kept.config.name)) { bdi { (kept.config.name) } }
                @if kept.config.is_archived { " " (badge::tag("archived")) }
            },
            html! { (score_summary::form(kept.config.values.data_type())) },
            html! { (values_in_words(&kept.config.values)) },
            html! { (kept.description.as_deref().unwrap_or_default()) },
            figure::ago(kept.created_at, &ctx.time),
            html! {
                @if ctx.viewer.can_change() {
                    a.button.quiet href=(format!("{}#config", Tab::ScoreConfigs.link(ctx).with("edit", &kept.config.id))) {
                        "Edit" span.sr { " " (kept.config.name) }
                    }
                    (archive_button(ctx, kept))
                }
            },
        ],
        failed: false,
    };
    let rows = configs.iter().map(row).collect();
    table::table(&Table { caption: "Score configs".to_owned(), columns, rows, select_for: None })
}

fn values_in_words(values: &ConfigValues) -> String {
    match values {
        ConfigValues::Numeric { min: None, max: None } => "any number".to_owned(),
        ConfigValues::Numeric { min: Some(min), max: None } => format!("{min} or more"),
        ConfigValues::Numeric { min: None, max: Some(max) } => format!("{max} or less"),
        ConfigValues::Numeric { min: Some(min), max: Some(max) } => format!("{min} to {max}"),
        ConfigValues::Boolean => "true, false".to_owned(),
        ConfigValues::Text => "any text".to_owned(),
        ConfigValues::Categorical(categories) => {
            let labels = categories.iter().take(NAMED).map(|category| category.label.as_str());
            let labels: Vec<&str> = labels.collect();
            let more = if categories.len() > NAMED { ", …" } else { "" };
            format!("{}{more}", labels.join(", "))
        }
    }
}

fn archive_button(ctx: &RequestContext, kept: &StoredScoreConfig) -> Markup {
    let (verb, words) =
        if kept.config.is_archived { ("restore", "Restore") } else { ("archive", "Archive") };
    html! {
        form.inline method="post" action=(Tab::ScoreConfigs.link(ctx)) {
            (ctx.viewer.form_token.field())
            input type="hidden" name="id" value=(kept.config.id);
            button.quiet type="submit" name="action" value=(verb) {
                (words) span.sr { " " (kept.config.name) }
            }
        }
    }
}

fn form(ctx: &RequestContext, values: &ConfigForm) -> Markup {
    let field = |name: &str, label: &str, value: &str| {
        html! {
            div.form-row {
                label for=(name) { (label) }
                input id=(name) type="text" name=(name) value=(value) autocomplete="off";
                (values.problem(name))
            }
        }
    };
    html! {
        section.settings #config {
            h2 { @if values.id.is_some() { "Edit score config" } @else { "New score config" } }
            form.maker method="post" action=(Tab::ScoreConfigs.link(ctx)) {
                (ctx.viewer.form_token.field())
                @if let Some(id) = &values.id { input type="hidden" name="id" value=(id); }
                (field("name", "Name", &values.name))
                (field("description", "Description (optional)", &values.description))
                (type_row(values))
                @if values.has(DataType::Numeric) {
                    (field("minValue", "Min (numeric, optional)", &values.min))
                    (field("maxValue", "Max (numeric, optional)", &values.max))
                }
                @if values.has(DataType::Categorical) { (categories_row(values)) }
                @if values.id.is_some() {
                    p.hint { "Applies to new scores; scores that exist keep their values." }
                    button.button.primary type="submit" name="action" value="save" { "Save" }
                    " " a.button href=(Tab::ScoreConfigs.link(ctx)) { "Cancel" }
                } @else {
                    button.button.primary type="submit" name="action" value="create" { "Create" }
                }
            }
        }
    }
}

fn type_row(values: &ConfigForm) -> Markup {
    if let (Some(_), Some(data_type)) = (&values.id, values.data_type) {
        return html! {
            input type="hidden" name="dataType" value=(data_type.as_str());
            p { "Type: " b { (score_summary::form(data_type)) } ". " span.muted { "It cannot be changed." } }
        };
    }
    html! {
        div.form-row {
            label for="dataType" { "Type" }
            select #dataType name="dataType" {
                @for data_type in TYPES {
                    option value=(data_type.as_str()) selected[values.data_type == Some(data_type)] {
                        (score_summary::form(data_type))
                    }
                }
            }
            (values.problem("dataType"))
        }
    }
}

fn categories_row(values: &ConfigForm) -> Markup {
    html! {
        div.form-row {
            label for="categories" { "Categories (categorical)" }
            textarea #categories name="categories" rows="4" placeholder="good = 1\nbad = 0" {
                "\n" (values.categories)
            }
            (values.problem("categories"))
            p.hint { "One a line, with a number behind = if it should be averaged." }
        }
    }
}

async fn change(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    match form.get("action").unwrap_or_default() {
        "create" => create(&web, &ctx, ConfigForm::read(&form)).await,
        "save" => save(&web, &ctx, ConfigForm::read(&form)).await,
        "archive" => archive(&web, &ctx, &form, true).await,
        "restore" => archive(&web, &ctx, &form, false).await,
        _ => Err(PageError::Bad("action: must be create, save, archive or restore".to_owned())),
    }
}

async fn create(web: &Web, ctx: &RequestContext, values: ConfigForm) -> PageResult<Response> {
    match values.config(ctx) {
        Ok(new) => {
            ctx.viewer.catalog(web).create_score_config(ctx.project_id(), new).await?;
            Ok(Done::Added.back(ctx, Tab::ScoreConfigs))
        }
        Err(problem) => {
            let refused = ConfigForm { problem: Some(problem), ..values };
            Ok(wrong(drawn(web, ctx, &refused).await?))
        }
    }
}

async fn save(web: &Web, ctx: &RequestContext, values: ConfigForm) -> PageResult<Response> {
    let (id, now) = (values.id.clone().unwrap_or_default(), ctx.now);
    let entered = values.clone();
    let change = move |kept: StoredScoreConfig| entered.changed(kept, now).map_err(NotSaved::from);
    let catalog = ctx.viewer.catalog(web);
    match catalog.change_score_config(ctx.project_id(), id, change).await {
        Ok(_) => Ok(Done::Saved.back(ctx, Tab::ScoreConfigs)),
        Err(NotSaved::Invalid(problem)) => {
            let refused = ConfigForm { problem: Some(problem), ..values };
            Ok(wrong(drawn(web, ctx, &refused).await?))
        }
        Err(NotSaved::Store(error)) => Err(error.into()),
    }
}

/// Why a change is not saved.
enum NotSaved {
    Invalid(ScoreInvalid),
    Store(StoreError),
}

impl From<ScoreInvalid> for NotSaved {
    fn from(problem: ScoreInvalid) -> Self {
        Self::Invalid(problem)
    }
}

impl From<StoreError> for NotSaved {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

async fn archive(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    is_archived: bool,
) -> PageResult<Response> {
    let (id, now) = (form.get("id").unwrap_or_default().to_owned(), ctx.now);
    let change = move |mut kept: StoredScoreConfig| -> Result<_, StoreError> {
        kept.config.is_archived = is_archived;
        kept.updated_at = now.max(kept.created_at);
        Ok(kept)
    };
    ctx.viewer.catalog(web).change_score_config(ctx.project_id(), id, change).await?;
    Ok(Done::Saved.back(ctx, Tab::ScoreConfigs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_numbered_by_their_line_unless_they_say_more() {
        let read = categories("good = 1\n\n bad=0.5\nno idea\na=b = 3").unwrap();
        let read: Vec<(&str, f64)> =
            read.iter().map(|category| (category.label.as_str(), category.value)).collect();
        assert_eq!(read, [("good", 1.0), ("bad", 0.5), ("no idea", 2.0), ("a=b", 3.0)]);
        let refused = categories("good = one").unwrap_err();
        assert_eq!(
            (refused.field, refused.why.as_str()),
            ("categories", "good = one: a number must follow =")
        );
    }
}
