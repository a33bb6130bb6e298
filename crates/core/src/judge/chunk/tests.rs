use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn measured(count: u64) -> Tokens {
    Tokens { count, provenance: Provenance::Measured }
}

fn approximate(count: u64) -> Tokens {
    Tokens { count, provenance: Provenance::Approximate }
}

/// Checks the plan for traces of so many thousand tokens, by first and end index of its chunks.
#[track_caller]
fn check(thousands: &[u64], expected: &[(usize, usize)]) {
    let sizes: Vec<Tokens> = thousands.iter().map(|size| measured(size * 1000)).collect();
    let chunks = plan(&sizes, &ChunkLimits::default());
    let traces: Vec<_> =
        chunks.into_iter().map(|chunk| (chunk.traces.start, chunk.traces.end)).collect();
    assert_eq!(traces, expected);
}

#[test]
fn nothing_is_no_chunk() {
    check(&[], &[]);
}

#[test]
fn up_to_the_plan_line_a_session_is_one_chunk() {
    check(&[0], &[(0, 1)]);
    check(&[40, 40], &[(0, 2)]);
    check(&[1; 80], &[(0, 80)]);
}

#[test]
fn beyond_it_chunks_overlap_by_four_traces() {
    check(&[5; 31], &[(0, 14), (10, 24), (20, 31)]);
}

#[test]
fn a_small_last_chunk_joins_the_one_before() {
    check(&[1; 81], &[(0, 81)]);
    check(&[30, 30, 25], &[(0, 3)]);
    check(&[5; 30], &[(0, 14), (10, 30)]);
    check(&[30, 30, 30], &[(0, 2), (1, 3)]);
}

#[test]
fn what_was_joined_joins_again_if_it_is_still_small() {
    let limits = ChunkLimits::new(17, 1, 17).unwrap().with_overlap(0);
    let chunks = plan(&[measured(9), measured(12), measured(4), measured(1)], &limits);
    let traces: Vec<_> = chunks.into_iter().map(|chunk| chunk.traces).collect();
    assert_eq!(traces, [0..1, 1..4]);
}

#[test]
fn the_last_two_share_where_together_they_are_too_long() {
    // 70 and 34 more exceed the hard limit, and 34 is less than half of 70.
    check(&[2; 52], &[(0, 28), (24, 52)]);
}

#[test]
fn traces_too_large_to_repeat_are_not_repeated() {
    check(&[60, 60, 60], &[(0, 1), (1, 2), (2, 3)]);
    check(&[20, 20, 20, 90, 20, 20], &[(0, 3), (3, 4), (4, 6)]);
}

#[test]
fn approximate_counts_get_headroom() {
    let (sure, unsure) = ([measured(39_000); 2], [approximate(39_000); 2]);
    assert_eq!(plan(&sure, &ChunkLimits::default()).len(), 1);
    let chunks = plan(&unsure, &ChunkLimits::default());
    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks[0].tokens, approximate(39_000));
}

#[test]
fn a_giant_trace_is_cut_and_the_plan_says_to_what() {
    let chunks = plan(&[approximate(500_000)], &ChunkLimits::default());
    let left = approximate(60_869);
    let elided = vec![Elision { trace: 0, to: left }];
    assert_eq!(
        chunks,
        [Chunk { traces: 0..1, overlap: 0, elided, tokens: left, new_tokens: left }]
    );
    assert_eq!(planned(left), 70_000);
    let sizes = [measured(1000), measured(500_000), measured(1000)];
    let chunks = plan(&sizes, &ChunkLimits::default());
    assert_eq!(chunks.len(), 1);
    assert_eq!((chunks[0].elision(1), chunks[0].elision(2)), (Some(measured(70_000)), None));
}

#[test]
fn limits_stand_in_order() {
    assert!(ChunkLimits::new(80, 70, 100).is_some());
    for (plan_above, target, hard) in [(80, 0, 100), (80, 90, 100), (110, 70, 100)] {
        assert_eq!(ChunkLimits::new(plan_above, target, hard), None);
    }
}

fn limits() -> impl Strategy<Value = ChunkLimits> {
    (1_u64..50, 0_u64..30, 0_u64..30, 0_usize..6).prop_map(|(target, plan, hard, overlap)| {
        let limits = ChunkLimits::new(target + plan, target, target + plan + hard);
        limits.unwrap().with_overlap(overlap)
    })
}

fn sizes() -> impl Strategy<Value = Vec<Tokens>> {
    let count =
        prop_oneof![6 => 0_u64..15, 2 => 15_u64..60, 1 => 60_u64..1000, 1 => Just(u64::MAX)];
    let provenance = select(vec![Provenance::Measured, Provenance::Approximate]);
    vec((count, provenance).prop_map(|(count, provenance)| Tokens { count, provenance }), 0..60)
}

/// The size of a trace in a chunk after truncation.
fn left(chunk: &Chunk, sizes: &[Tokens], trace: usize) -> u64 {
    planned(chunk.elision(trace).unwrap_or(sizes[trace]))
}

fn size(chunk: &Chunk, sizes: &[Tokens], traces: Range<usize>) -> u64 {
    traces.map(|trace| left(chunk, sizes, trace)).sum()
}

proptest! {
    #[test]
    fn every_trace_is_in_a_chunk_and_order_is_kept(sizes in sizes(), limits in limits()) {
        let chunks = plan(&sizes, &limits);
        let fresh: Vec<usize> = chunks.iter().flat_map(Chunk::fresh).collect();
        prop_assert_eq!(fresh, (0..sizes.len()).collect::<Vec<_>>());
        prop_assert!(chunks.iter().all(|chunk| !chunk.fresh().is_empty()));
    }

    #[test]
    fn no_chunk_is_over_the_hard_limit(sizes in sizes(), limits in limits()) {
        for chunk in plan(&sizes, &limits) {
            prop_assert!(size(&chunk, &sizes, chunk.traces.clone()) <= limits.hard());
        }
    }

    #[test]
    fn only_what_is_over_the_hard_limit_is_cut_and_always(sizes in sizes(), limits in limits()) {
        for chunk in plan(&sizes, &limits) {
            for trace in chunk.traces.clone() {
                let is_giant = planned(sizes[trace]) > limits.hard();
                prop_assert_eq!(chunk.elision(trace).is_some(), is_giant);
                prop_assert!(left(&chunk, &sizes, trace) <= limits.hard());
            }
        }
    }

    #[test]
    fn chunks_overlap_by_as_much_as_fits(sizes in sizes(), limits in limits()) {
        let chunks = plan(&sizes, &limits);
        for pair in chunks.windows(2) {
            let (before, chunk) = (&pair[0], &pair[1]);
            let most = limits.overlap.min(before.traces.len());
            prop_assert!(chunk.overlap <= most);
            if chunk.overlap < most {
                // One more would have exceeded the overlap or the limit.
                let (fresh, one_more) = (chunk.fresh().start, chunk.traces.start - 1);
                let more = left(before, &sizes, one_more) + size(chunk, &sizes, chunk.traces.start..fresh);
                let with_first = more + left(chunk, &sizes, fresh);
                prop_assert!(more > limits.overlap_room() || with_first > limits.hard());
            }
        }
    }

    #[test]
    fn a_session_under_the_line_is_one_chunk(sizes in sizes(), limits in limits()) {
        let chunks = plan(&sizes, &limits);
        let Some(first) = chunks.first() else { return Ok(()) };
        let whole: u64 = chunks.iter().map(|chunk| size(chunk, &sizes, chunk.fresh())).sum();
        if whole <= limits.plan_above {
            prop_assert_eq!(first.traces.clone(), 0..sizes.len());
        }
    }

    #[test]
    fn a_chunk_counts_what_is_left_of_its_traces(sizes in sizes(), limits in limits()) {
        for chunk in plan(&sizes, &limits) {
            let traces = chunk.traces.clone();
            let left = traces.map(|trace| chunk.elision(trace).unwrap_or(sizes[trace]).count);
            prop_assert_eq!(chunk.tokens.count, left.sum::<u64>());
        }
    }

    #[test]
    fn the_last_chunk_adds_something_worth_reading(sizes in sizes(), limits in limits()) {
        let chunks = plan(&sizes, &limits);
        let Some([before, last]) = chunks.last_chunk() else { return Ok(()) };
        let adds = size(last, &sizes, last.fresh());
        let whole = size(before, &sizes, before.traces.clone());
        prop_assert!(adds >= whole / 2 || whole + adds > limits.hard());
    }
}
