use maud::{Markup, html};
use ratchet_core::catalog::review::TOOL_USAGE;
use ratchet_core::record::agent_runs::AgentRun;
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::Score;

use super::{Called, NAME, link};
use crate::components::table::{self, Column, Row, Table};
use crate::request_context::RequestContext;
use crate::score_summary;

/// Score of the evaluator of experiments that looks at the choice of a sub-agent.
const ROUTING: &str = "routing";

/// What each caller chose, in the order of its calls, and who judged the choice.
pub(super) fn routing(ctx: &RequestContext, called: &Called) -> Markup {
    let callers = called.runs.iter().enumerate().filter_map(|(at, run)| {
        let mut chosen: Vec<&AgentRun> =
            called.runs.iter().filter(|one| one.caller.is_some_and(|(by, _)| by == at)).collect();
        chosen.sort_by_key(|one| one.start);
        (!chosen.is_empty()).then_some((at, run, chosen))
    });
    let rows: Vec<Row> = callers.map(|decision| row(ctx, called, decision)).collect();
    if rows.is_empty() {
        return Markup::default();
    }
    let columns =
        vec![Column::wide("Caller"), Column::wide("Chose, in order"), Column::wide("Scored")];
    let caption = "Routing decisions".to_owned();
    html! {
        h2 { "Routing decisions" }
        (table::table(&Table { caption, columns, rows, select_for: None }))
        p.muted {
            "Scores named " code { (ROUTING) } " on the caller, which the evaluator of experiments gives, and "
            "answers of reviewers on each call (" code { (TOOL_USAGE) } ")."
        }
    }
}

fn row(
    ctx: &RequestContext,
    called: &Called,
    (at, run, chosen): (usize, &AgentRun, Vec<&AgentRun>),
) -> Row {
    let named = |run: &AgentRun, name: &str| -> Vec<&Score> {
        called.scores_of(run).into_iter().filter(|score| score.name == name).collect()
    };
    let of_calls = chosen.iter().flat_map(|call| named(call, TOOL_USAGE));
    let scores: Vec<&Score> = named(run, ROUTING).into_iter().chain(of_calls).collect();
    Row {
        id: format!("routing-{at}"),
        link: None,
        cells: vec![
            html! { a href=(link(ctx, run)) { bdi { (elide(&run.agent, NAME)) } } },
            html! {
                @for (nth, call) in chosen.iter().enumerate() {
                    @if nth > 0 { " → " }
                    a href=(link(ctx, call)) { bdi { (elide(&call.agent, NAME)) } }
                }
            },
            html! {
                @if scores.is_empty() { span.muted { "not scored" } }
                @for score in scores {
                    div {
                        (score_summary::chip(score, ctx)) " "
                        small.muted { bdi { (score_summary::judge_name(score)) } }
                    }
                }
            },
        ],
        failed: false,
    }
}
