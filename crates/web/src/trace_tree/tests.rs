use proptest::prelude::*;
use ratchet_core::environment::Environment;
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;

use super::*;

/// A step by number, begun at a moment, under another.
pub(crate) fn step(id: usize, start: i64, parent: Option<usize>) -> Observation {
    let id_of = |number: usize| ObservationId::parse(&format!("s{number}")).unwrap();
    Observation {
        id: id_of(id),
        trace: TraceId::parse("t").unwrap(),
        kind: ObservationKind::Span,
        name: None,
        parent: parent.map(id_of),
        app_root: false,
        start: Timestamp::from_millis(start),
        end: Some(Timestamp::from_millis(start + 1)),
        completion_start: None,
        level: Level::Default,
        status_message: None,
        version: None,
        environment: Environment::default(),
        agent: None,
        model: None,
        model_parameters: None,
        usage: Usage::default(),
        cost: None,
        counted: false,
        pricing_tier: None,
        prompt: None,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        content: None,
    }
}

#[track_caller]
fn check(parents: &[Option<usize>], expected: &[(usize, usize, Option<Mark>)]) {
    let steps: Vec<Observation> =
        (0..).zip(parents).map(|(id, parent)| step(id, id as i64, *parent)).collect();
    let rows = assemble(&steps);
    let found: Vec<_> = rows.iter().map(|row| (row.step, row.depth, row.mark)).collect();
    assert_eq!(found, expected);
}

#[test]
fn steps_stand_below_their_parents_by_start() {
    check(
        &[None, Some(0), Some(0), Some(1)],
        &[(0, 0, None), (1, 1, None), (3, 2, None), (2, 1, None)],
    );
}

#[test]
fn orphans_stand_at_the_top_with_a_mark() {
    check(&[None, Some(77)], &[(0, 0, None), (1, 0, Some(Mark::Orphan))]);
}

#[test]
fn whoever_says_that_the_application_begins_here_is_no_orphan() {
    let steps = [Observation { app_root: true, ..step(0, 0, Some(77)) }];
    assert_eq!(assemble(&steps)[0].mark, None);
}

#[test]
fn circles_are_cut_above_their_first_step() {
    check(&[Some(0)], &[(0, 0, Some(Mark::Loop))]);
    check(
        &[Some(2), Some(0), Some(1), Some(2)],
        &[(0, 0, Some(Mark::Loop)), (1, 1, None), (2, 2, None), (3, 3, None)],
    );
}

#[test]
fn a_chain_of_ten_thousand_needs_no_deep_stack() {
    let steps: Vec<Observation> = (0..10_000).map(|id| step(id, 0, id.checked_sub(1))).collect();
    let rows = assemble(&steps);
    assert_eq!(rows.last().unwrap().depth, 9_999);
    assert_eq!(rows[0].below, 9_999);
}

#[test]
fn costs_and_errors_are_summed_upwards() {
    let dollars = |amount| Money::from_dollars(amount).unwrap();
    let cost = |amount| {
        Some(ratchet_core::record::usage::Cost::new([("total".to_owned(), dollars(amount))].into()))
    };
    let steps = [
        step(0, 0, None),
        Observation { cost: cost(1.0), level: Level::Error, ..step(1, 1, Some(0)) },
        Observation { cost: cost(2.0), ..step(2, 2, Some(1)) },
    ];
    let rows = assemble(&steps);
    assert_eq!(
        [rows[0].cost, rows[1].cost, rows[2].cost],
        [Some(dollars(3.0)), Some(dollars(3.0)), Some(dollars(2.0))]
    );
    assert_eq!([rows[0].errors, rows[1].errors, rows[2].errors], [1, 1, 0]);
}

proptest! {
    #[test]
    fn every_step_stands_once_right_below_a_step_it_names(
        shape in proptest::collection::vec((0..40i64, proptest::option::of(0..50usize)), 0..40),
    ) {
        let steps: Vec<Observation> =
            shape.iter().enumerate().map(|(id, (start, parent))| step(id, *start, *parent)).collect();
        let rows = assemble(&steps);
        let mut found: Vec<usize> = rows.iter().map(|row| row.step).collect();
        found.sort_unstable();
        prop_assert_eq!(found, (0..steps.len()).collect::<Vec<_>>());
        let mut above: Vec<TreeRow> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            above.truncate(row.depth);
            prop_assert_eq!(above.len(), row.depth);
            if let Some(parent) = above.last() {
                prop_assert_eq!(steps[row.step].parent.as_ref(), Some(&steps[parent.step].id));
            } else {
                let is_marked = row.mark.is_some();
                prop_assert_eq!(steps[row.step].parent.is_some(), is_marked);
            }
            let below = rows[index + 1..].iter().take_while(|other| other.depth > row.depth);
            prop_assert_eq!(below.count(), row.below);
            above.push(*row);
        }
        for pair in rows.windows(2).filter(|pair| pair[0].depth == pair[1].depth) {
            prop_assert!(steps[pair[0].step].start <= steps[pair[1].step].start);
        }
    }
}

/// A step with a name and a kind, below the one before it.
fn named(id: usize, name: &str, kind: ObservationKind) -> Observation {
    let above = id.checked_sub(1);
    Observation { name: Some(name.to_owned()), kind, ..step(id, 0, above) }
}

#[track_caller]
fn check_merged(steps: &[Observation], expected: &[(usize, usize, usize)]) {
    let rows = assemble(steps);
    let found: Vec<_> = rows.iter().map(|row| (row.step, row.depth, row.merged)).collect();
    assert_eq!(found, expected);
    for step in 0..steps.len() {
        assert!(row_of(steps, &rows, step).is_some(), "{step} is selectable");
    }
}

#[test]
fn a_wrapper_and_its_only_child_of_the_same_name_are_one_row() {
    use ObservationKind::{Generation, Span, Tool};
    let wrapped =
        [named(0, "run", Span), named(1, "ChatOpenAI", Span), named(2, "chatopenai", Generation)];
    check_merged(&wrapped, &[(0, 0, 0), (2, 1, 1)]);
    let chain = [named(0, "a", Span), named(1, "a", Span), named(2, "a", Generation)];
    check_merged(&chain, &[(2, 0, 2)]);
    let tool = [
        named(0, "Bash", Tool),
        named(1, "claude_code.tool.execution", Span),
        named(2, "inside", Span),
    ];
    check_merged(&tool, &[(0, 0, 1), (2, 1, 0)]);
}

#[test]
fn what_says_something_of_its_own_is_not_merged() {
    use ObservationKind::{Generation, Span};
    check_merged(&[named(0, "a", Span), named(1, "b", Span)], &[(0, 0, 0), (1, 1, 0)]);
    check_merged(&[named(0, "a", Generation), named(1, "a", Generation)], &[(0, 0, 0), (1, 1, 0)]);
    let failed = Observation { level: Level::Error, ..named(0, "a", Span) };
    check_merged(&[failed, named(1, "a", Generation)], &[(0, 0, 0), (1, 1, 0)]);
    let second = Observation { parent: Some(step(0, 0, None).id), ..named(2, "a", Span) };
    let siblings = [named(0, "a", Span), named(1, "a", Span), second];
    check_merged(&siblings, &[(0, 0, 0), (1, 1, 0), (2, 1, 0)]);
}
