//! Fields of forms: a label, what was entered, a hint, and what is wrong with it.

use maud::{Markup, html};

use crate::request_context::Params;

/// Entered values of a form and their validation errors.
#[derive(Clone, Debug, Default)]
pub struct Entered {
    values: Params,
    problems: Vec<(String, String)>,
}

impl Entered {
    pub fn new(values: Params) -> Self {
        Self { values, problems: Vec::new() }
    }

    /// Initial values of a form.
    pub fn preset(values: &[(&str, &str)]) -> Self {
        Self::new(Params::of(values))
    }

    /// What was entered into a field, without spaces around it.
    pub fn text(&self, field: &str) -> &str {
        self.values.get(field).unwrap_or_default().trim()
    }

    /// The same, or nothing if the field was left empty.
    pub fn filled(&self, field: &str) -> Option<&str> {
        Some(self.text(field)).filter(|text| !text.is_empty())
    }

    /// What was entered into a field, as it is.
    pub fn raw(&self, field: &str) -> &str {
        self.values.get(field).unwrap_or_default()
    }

    /// The lines that were entered, without empty ones.
    pub fn lines(&self, field: &str) -> Vec<String> {
        let lines = self.raw(field).lines().map(str::trim);
        lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Whether a box was ticked.
    pub fn is_ticked(&self, field: &str) -> bool {
        self.values.get(field) == Some("yes")
    }

    /// Whether a field was sent at all.
    pub fn has(&self, field: &str) -> bool {
        self.values.pairs().any(|(name, _)| name == field)
    }

    pub fn set(&mut self, field: &str, value: &str) {
        let others = self.values.pairs().filter(|(name, _)| *name != field);
        let pairs: Vec<(&str, &str)> = others.chain([(field, value)]).collect();
        self.values = Params::of(&pairs);
    }

    /// Notes what is wrong with a field.
    pub fn wrong(&mut self, field: &str, problem: impl Into<String>) {
        self.problems.push((field.to_owned(), problem.into()));
    }

    /// The same form with what is wrong with a field.
    #[must_use]
    pub fn and_wrong(mut self, field: &str, problem: impl Into<String>) -> Self {
        self.wrong(field, problem);
        self
    }

    pub fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }

    /// What is wrong with a field.
    pub fn problem(&self, field: &str) -> Option<&str> {
        let found = self.problems.iter().find(|(known, _)| known == field);
        found.map(|(_, problem)| problem.as_str())
    }
}

/// A field: what it is called, for the form and for people.
#[derive(Clone, Copy, Debug)]
pub struct FormField<'a> {
    /// Its name in the form.
    pub name: &'a str,
    pub label: &'a str,
    pub hint: &'a str,
}

pub fn line(field: FormField<'_>, entered: &Entered) -> Markup {
    typed("text", field, entered.raw(field.name), entered)
}

pub fn number(field: FormField<'_>, entered: &Entered) -> Markup {
    typed("number", field, entered.raw(field.name), entered)
}

pub fn day(field: FormField<'_>, entered: &Entered) -> Markup {
    typed("date", field, entered.raw(field.name), entered)
}

/// A secret: what was entered is not shown again.
pub fn secret(field: FormField<'_>, entered: &Entered) -> Markup {
    typed("password", field, "", entered)
}

fn typed(kind: &str, field: FormField<'_>, value: &str, entered: &Entered) -> Markup {
    let Names { input, description_id, is_wrong } = Names::of(field, entered);
    let complete = if kind == "password" { "new-password" } else { "off" };
    around(
        field,
        entered,
        &html! {
            input id=(input) name=(field.name) type=(kind) value=(value) autocomplete=(complete)
                  aria-describedby=(description_id) aria-invalid=[is_wrong.then_some("true")];
        },
    )
}

pub fn area(field: FormField<'_>, rows: u32, entered: &Entered) -> Markup {
    let Names { input, description_id, is_wrong } = Names::of(field, entered);
    around(
        field,
        entered,
        &html! {
            textarea id=(input) name=(field.name) rows=(rows) spellcheck="false"
                     aria-describedby=(description_id) aria-invalid=[is_wrong.then_some("true")] {
                // Browsers drop the first line break of a textarea.
                "\n" (entered.raw(field.name))
            }
        },
    )
}

/// One of a few: values and what people call them.
pub fn choice(field: FormField<'_>, options: &[(&str, &str)], entered: &Entered) -> Markup {
    let Names { input, description_id, is_wrong } = Names::of(field, entered);
    let chosen = entered.raw(field.name);
    around(
        field,
        entered,
        &html! {
            select id=(input) name=(field.name) aria-describedby=(description_id)
                   aria-invalid=[is_wrong.then_some("true")] {
                @for (value, words) in options {
                    option value=(value) selected[*value == chosen] { (words) }
                }
            }
        },
    )
}

pub fn tick(field: FormField<'_>, entered: &Entered) -> Markup {
    let Names { input, description_id, .. } = Names::of(field, entered);
    html! {
        div.form-row.tick {
            label for=(input) {
                input id=(input) name=(field.name) type="checkbox" value="yes"
                      checked[entered.is_ticked(field.name)] aria-describedby=(description_id);
                " " (field.label)
            }
            (below(field, entered, &description_id))
        }
    }
}

/// What is wrong with the form as a whole.
pub fn problem(entered: &Entered) -> Markup {
    html! { @if let Some(why) = entered.problem("") { p.problem role="alert" { (why) } } }
}

/// What is wrong with a group of fields.
pub fn said(group: &str, entered: &Entered) -> Markup {
    html! { @if let Some(why) = entered.problem(group) { p.wrong role="alert" { (why) } } }
}

/// Element ids of a field and its description.
struct Names {
    input: String,
    description_id: String,
    is_wrong: bool,
}

impl Names {
    fn of(field: FormField<'_>, entered: &Entered) -> Self {
        let is_wrong = entered.problem(field.name).is_some();
        Self {
            input: format!("f-{}", field.name),
            description_id: format!("f-{}-description", field.name),
            is_wrong,
        }
    }
}

fn around(field: FormField<'_>, entered: &Entered, input: &Markup) -> Markup {
    let Names { input: id, description_id, .. } = Names::of(field, entered);
    html! {
        div.form-row {
            label for=(id) { (field.label) }
            (input)
            (below(field, entered, &description_id))
        }
    }
}

fn below(field: FormField<'_>, entered: &Entered, description_id: &str) -> Markup {
    html! {
        div id=(description_id) {
            @if let Some(why) = entered.problem(field.name) { p.wrong { (why) } }
            @if !field.hint.is_empty() { p.hint { (field.hint) } }
        }
    }
}
