use std::collections::BTreeSet;

use maud::{Markup, html};
use ratchet_core::judge::rubric::OVERALL;
use ratchet_store::catalog::SavedView;
use ratchet_store::query::Compare;

use super::column::ListColumn;
use super::export::Format;
use super::facets::{Facet, FacetBasis};
use super::state::{ListState, SCORE, here};
use super::suggest::suggestions;
use super::views;
use crate::components::figure;
use crate::components::filter_bar::{self, FilterField};
use crate::filter::{ListKind, Problem, RecordField, ScoreCondition, Term};
use crate::frame::menu;
use crate::request_context::{Link, RequestContext};
use crate::scope::Span;

/// The field for the filter, and everything that can be clicked instead of typed.
pub(super) fn bar(
    ctx: &RequestContext,
    state: &ListState,
    facets: &[Facet],
    saved: &[SavedView],
    scores: &[String],
) -> Markup {
    html! {
        (field(ctx, state, suggestions(state.on, facets, scores)))
        div.list-tools {
            (chips(ctx, state))
            (quick(ctx, state))
            @for facet in facets { (offered(ctx, state, facet)) }
            div.end {
                (live(ctx, state))
                (views::views_menu(ctx, state.on, saved))
                (columns(ctx, state, scores))
                (exports(ctx, state))
            }
        }
    }
}

fn field(ctx: &RequestContext, state: &ListState, suggestions: String) -> Markup {
    let example = match state.on {
        ListKind::Traces => "level:error cost>0.10 latency>2s name:refund* -tag:test \"free text\"",
        ListKind::Observations => {
            "type:generation model:claude* tokens>=1000 level:error \"free text\""
        }
        ListKind::Sessions => {
            "score.overall_quality<0.5 errors>0 agent:support* cost>1 \"free text\""
        }
    };
    let typed = |problem: &Problem| state.typed.get(problem.span.clone()).unwrap_or_default();
    let problems = state.parsed.problems.iter();
    let list = here(ctx, state.on);
    filter_bar::field(&FilterField {
        action: list.path(),
        kept: kept(&list.clone().without("q")),
        typed: &state.typed,
        example,
        suggestions,
        problems: problems.map(|problem| (typed(problem), problem.message.as_str())).collect(),
    })
}

/// Other query parameters as hidden fields.
pub(super) fn kept(link: &Link) -> Markup {
    html! {
        @for (name, value) in link.pairs() { input type="hidden" name=(name) value=(value); }
    }
}

fn chips(ctx: &RequestContext, state: &ListState) -> Markup {
    let filter = &state.parsed.filter;
    let terms = filter.terms.iter().enumerate();
    let terms: Vec<(String, Link)> = terms
        .map(|(at, term)| {
            let without = ListState::with_filter(ctx, state.on, &filter.without(at));
            (term.to_string(), without)
        })
        .collect();
    filter_bar::chips(&terms, &here(ctx, state.on).without("q"))
}

/// What people look for most often.
pub(super) fn quick_filters(on: ListKind) -> [(&'static str, Term); 4] {
    let over = |field, number| Term::number(field, Compare::Greater, number);
    match on {
        ListKind::Traces | ListKind::Observations => [
            ("Errors", Term::word(RecordField::Level, "error")),
            ("Slow", over(RecordField::Latency, 10.0)),
            ("Expensive", over(RecordField::Cost, 0.1)),
            ("Thumbs down", Term::score("thumbs_feedback", ScoreCondition::Truth(false))),
        ],
        ListKind::Sessions => [
            ("Errors", over(RecordField::Errors, 0.0)),
            ("Low quality", Term::score(OVERALL, ScoreCondition::Number(Compare::Less, 0.5))),
            ("Expensive", over(RecordField::Cost, 1.0)),
            ("Not scored", Term::number(RecordField::Scores, Compare::Equal, 0.0)),
        ],
    }
}

fn quick(ctx: &RequestContext, state: &ListState) -> Markup {
    let filter = &state.parsed.filter;
    html! {
        nav.quick aria-label="Quick filters" {
            @for (name, term) in quick_filters(state.on) {
                a href=(ListState::with_filter(ctx, state.on, &filter.toggled(&term)))
                  aria-current=[filter.has(&term).then_some("true")] title=(term) { (name) }
            }
        }
    }
}

fn offered(ctx: &RequestContext, state: &ListState, facet: &Facet) -> Markup {
    let filter = &state.parsed.filter;
    let entries = facet.words.iter().map(|(word, count)| {
        let term = Term::word(facet.field, word);
        (
            word,
            count,
            filter.has(&term),
            ListState::with_filter(ctx, state.on, &filter.toggled(&term)),
        )
    });
    menu(
        "Filter",
        facet.title,
        &html! {
            @for (word, count, is_chosen, link) in entries {
                a.facet href=(link) aria-current=[is_chosen.then_some("true")] {
                    bdi { (ratchet_core::record::limit::elide(word, 60)) }
                    (how_many(*count, facet.basis))
                }
            }
        },
    )
}

/// The exact number of records with a value, or an approximate number or share.
fn how_many(count: u64, basis: FacetBasis) -> Markup {
    html! {
        @match basis {
            FacetBasis::All => { span.muted { (figure::grouped(count)) } },
            FacetBasis::Hours => {
                span.muted title="From hourly sums: whole hours, rare values left out" {
                    "≈" (figure::grouped(count))
                }
            },
            FacetBasis::Newest(sample) => {
                span.muted title={ (figure::grouped(count)) " of the newest " (figure::grouped(sample)) } {
                    "≈" (figure::percent(share(count, sample)))
                }
            },
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn share(count: u64, sample: u64) -> f64 {
    count as f64 / sample.max(1) as f64
}

/// A switch for scripts: without them there is nothing it could do.
fn live(ctx: &RequestContext, state: &ListState) -> Markup {
    let is_possible = state.is_newest_first()
        && state.cursor.is_none()
        && state.parsed.filter.texts().next().is_none()
        && !matches!(ctx.scope.span, Span::Between(..));
    html! {
        @if is_possible {
            button.quiet.live type="button" data-live=(served(ctx, state.on, "newer"))
                   aria-pressed="false" hidden title="Refresh every 2 s" { "Live" }
        }
    }
}

fn exports(ctx: &RequestContext, state: &ListState) -> Markup {
    let file = served(ctx, state.on, "export");
    menu(
        "Export",
        "Export",
        &html! {
            @for format in Format::ALL {
                a href=(file.clone().with("format", format.word())) download { (format.title()) }
            }
        },
    )
}

/// What else is served of this very list.
pub(super) fn served(ctx: &RequestContext, on: ListKind, what: &str) -> Link {
    let link = Link::to_project(&ctx.project.id, &["list", on.word(), what]);
    here(ctx, on).pairs().fold(link, |link, (name, value)| link.and(name, value))
}

fn columns(ctx: &RequestContext, state: &ListState, scores: &[String]) -> Markup {
    // Those that are shown stay, even if nothing was scored so lately.
    let known: BTreeSet<&String> = scores.iter().chain(&state.scores).collect();
    let all = ListColumn::of(state.on).filter(|column| *column != ListColumn::first(state.on));
    menu(
        "Columns",
        "Columns",
        &html! {
            form.choose method="get" action=(here(ctx, state.on).path()) {
                (kept(&here(ctx, state.on).without("col")))
                // The first is always shown; sending it distinguishes an empty selection from none.
                input type="hidden" name="col" value=(ListColumn::first(state.on).word());
                @for column in all {
                    label {
                        input type="checkbox" name="col" value=(column.word())
                              checked[state.columns.contains(&column)];
                        (column.title())
                    }
                }
                @if !known.is_empty() {
                    p.choose-part { "Scores" }
                    @for name in known {
                        label {
                            input type="checkbox" name="col" value={ (SCORE) (name) }
                                  checked[state.scores.contains(name)];
                            bdi { (ratchet_core::record::limit::elide(name, 40)) }
                        }
                    }
                }
                div.choose-end {
                    button.button.primary type="submit" { "Apply" }
                    a.quiet href=(here(ctx, state.on).without("col")) { "Reset columns" }
                }
            }
        },
    )
}
