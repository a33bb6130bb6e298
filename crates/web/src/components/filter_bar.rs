use maud::{Markup, html};
use ratchet_core::record::limit::elide;

use super::icon::{Icon, icon};
use crate::request_context::Link;

/// The field that a filter is typed into.
#[derive(Clone, Debug)]
pub(crate) struct FilterField<'a> {
    /// Action URL of the form.
    pub(crate) action: &'a str,
    /// Other query parameters, as hidden fields.
    pub(crate) kept: Markup,
    pub(crate) typed: &'a str,
    pub(crate) example: &'a str,
    /// What the script completes, as JSON; empty for nothing.
    pub(crate) suggestions: String,
    /// What was typed and means nothing, and why.
    pub(crate) problems: Vec<(&'a str, &'a str)>,
}

/// Draws the field, and below it what could not be understood.
pub(crate) fn field(field: &FilterField<'_>) -> Markup {
    let FilterField { action, kept, typed, example, suggestions, problems } = field;
    html! {
        form.filter method="get" action=(action) role="search" {
            (kept)
            label.sr for="q" { "Filter" }
            (icon(Icon::Find))
            input #q type="search" name="q" value=(typed) placeholder=(example) data-filter
                  data-suggest=[(!suggestions.is_empty()).then_some(suggestions)]
                  autocomplete="off" autocapitalize="off" spellcheck="false"
                  aria-describedby=[(!problems.is_empty()).then_some("q-problems")];
            button.button type="submit" { "Filter" }
        }
        @if !problems.is_empty() {
            div role="alert" {
                ul.problems #q-problems {
                    @for (typed, why) in problems {
                        li { code { bdi { (elide(typed, 120)) } } ": " (why) "." }
                    }
                }
            }
        }
    }
}

/// The terms in force, each with a link to the list without it, and a link without any.
pub(crate) fn chips(terms: &[(String, Link)], without_any: &Link) -> Markup {
    html! {
        @if !terms.is_empty() {
            ul.chips aria-label="Active filters" {
                @for (term, without) in terms {
                    li.chip {
                        code { bdi { (elide(term, 80)) } }
                        a href=(without) aria-label={ "Remove " (term) } { (icon(Icon::Close)) }
                    }
                }
                @if terms.len() > 1 { li { a.quiet href=(without_any) { "Clear all" } } }
            }
        }
    }
}
