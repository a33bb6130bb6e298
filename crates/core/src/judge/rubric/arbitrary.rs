//! Proptest strategies for rubrics.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Aggregation, Critics, Dimension, Grade, JudgeSettings, Rubric, Scale};

/// Strategy for valid rubrics: one to five dimensions of every type.
pub(crate) fn rubric() -> impl Strategy<Value = Rubric> {
    let judge = (0.0..=2.0, 256..=64_000_u32).prop_map(|(temperature, max_output_tokens)| {
        JudgeSettings { temperature, max_output_tokens }
    });
    let dimensions = vec((1..100_u32, scale(), text(), any::<bool>()), 1..5);
    ("[a-z0-9][a-z0-9._-]{0,20}", 1..u32::MAX, text(), judge, dimensions).prop_map(
        |(name, version, description, judge, parts)| {
            let total: u32 = parts.iter().map(|(weight, ..)| weight).sum();
            let dimensions =
                (1..).zip(parts).map(|(number, (weight, scale, criteria, is_usual))| {
                    let name = format!("dimension_{number}");
                    let weight = f64::from(weight) / f64::from(total);
                    let aggregation = aggregation(&scale, is_usual);
                    Dimension { name, weight, scale, criteria, aggregation }
                });
            let critics = if version % 2 == 0 { Critics::Together } else { Critics::PerDimension };
            let dimensions = dimensions.collect();
            Rubric { name, version, description, dimensions, judge, critics }
        },
    )
}

fn aggregation(scale: &Scale, is_usual: bool) -> Aggregation {
    match (scale, is_usual) {
        (Scale::Numeric, true) => Aggregation::Mean,
        (Scale::Numeric, false) => Aggregation::Last,
        (Scale::Ordered(_), true) => Aggregation::Vote,
        (Scale::Ordered(_), false) => Aggregation::Worst,
    }
}

fn scale() -> impl Strategy<Value = Scale> {
    let ordered = (2..=5_u8).prop_map(|count| {
        let grade = |number: u8| Grade {
            label: format!("grade {number}"),
            value: f64::from(number) / f64::from(count),
        };
        Scale::Ordered((0..count).map(grade).collect())
    });
    prop_oneof![Just(Scale::Numeric), ordered]
}

/// Strategy for text that TOML must escape.
fn text() -> impl Strategy<Value = String> {
    let piece = select(vec!["a", "\n", "\"", "\"\"\"", "\\", "'''", "é", "\t", "\r", "\u{1}", "#"]);
    vec(piece, 0..6).prop_map(|pieces| format!("x{}", pieces.concat()))
}
