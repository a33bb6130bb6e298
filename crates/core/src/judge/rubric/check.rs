use std::collections::BTreeSet;

use super::{Aggregation, Dimension, MARKS, OVERALL, Part, Rubric, RubricFault, Scale};

/// Rubric names are file names too.
const MAX_NAME_CHARS: usize = 64;
/// The limit of score configs and of tool schemas.
const MAX_DIMENSION_NAME_CHARS: usize = 35;
/// The limit of strict schemas, and more than a judge can distinguish.
const MAX_DIMENSIONS: usize = 16;
const MAX_GRADES: usize = 10;
/// More would take context from the session.
const MAX_CRITERIA_CHARS: usize = 8_000;
const MAX_DESCRIPTION_CHARS: usize = 500;
const TEMPERATURES: std::ops::RangeInclusive<f64> = 0.0..=2.0;
const OUTPUT_TOKENS: std::ops::RangeInclusive<u32> = 256..=64_000;
/// Tolerance of the sum of weights, for rounding errors only.
const WEIGHT_SLACK: f64 = 1e-6;

/// Returns all violated invariants, in file order.
pub(super) fn faults(rubric: &Rubric) -> Vec<RubricFault> {
    let mut faults = whole(rubric);
    for (at, dimension) in rubric.dimensions.iter().enumerate() {
        let place = Some((at + 1, dimension.name.clone()));
        let own = of_dimension(dimension);
        faults
            .extend(own.into_iter().map(|fault| RubricFault { dimension: place.clone(), ..fault }));
    }
    faults.extend(doubled(rubric));
    faults.extend(weights(rubric));
    faults
}

fn whole(rubric: &Rubric) -> Vec<RubricFault> {
    let mut faults = Vec::new();
    let mut expect = |is_fine: bool, part, problem: String| {
        if !is_fine {
            faults.push(RubricFault::new(part, problem));
        }
    };
    let name_rule = format!(
        "1 to {MAX_NAME_CHARS} lowercase letters, digits, hyphens, underscores and periods, a \
         letter or digit first"
    );
    expect(is_rubric_name(&rubric.name), Part::Name, name_rule);
    expect(rubric.version >= 1, Part::Version, "must be at least 1".to_owned());
    expect(
        is_text(&rubric.description, MAX_DESCRIPTION_CHARS),
        Part::Description,
        format!("1 to {MAX_DESCRIPTION_CHARS} characters"),
    );
    let judge = &rubric.judge;
    expect(
        TEMPERATURES.contains(&judge.temperature),
        Part::Temperature,
        format!("{} is not from 0 to 2", judge.temperature),
    );
    expect(
        OUTPUT_TOKENS.contains(&judge.max_output_tokens),
        Part::MaxOutputTokens,
        format!("{} is not from 256 to 64000", judge.max_output_tokens),
    );
    let count = rubric.dimensions.len();
    expect(
        (1..=MAX_DIMENSIONS).contains(&count),
        Part::Dimensions,
        format!("{count} of them, but there must be 1 to {MAX_DIMENSIONS}"),
    );
    faults
}

fn of_dimension(dimension: &Dimension) -> Vec<RubricFault> {
    let mut faults = Vec::new();
    if !is_dimension_name(&dimension.name) {
        let problem = format!(
            "1 to {MAX_DIMENSION_NAME_CHARS} letters, digits, underscores, hyphens and periods of \
             ASCII, for scores are called so"
        );
        faults.push(RubricFault::new(Part::Name, problem));
    }
    if dimension.name == OVERALL {
        let problem = format!("{OVERALL} is what the mark of the whole is called");
        faults.push(RubricFault::new(Part::Name, problem));
    }
    if !(dimension.weight > 0.0 && MARKS.contains(&dimension.weight)) {
        let problem = format!("{} is not greater than 0 and at most 1", dimension.weight);
        faults.push(RubricFault::new(Part::Weight, problem));
    }
    faults.extend(scale(&dimension.scale));
    let misfit = match (&dimension.scale, dimension.aggregation) {
        (Scale::Ordered(_), Aggregation::Mean) => {
            Some("grades have no mean; use vote, worst or last")
        }
        (Scale::Numeric, Aggregation::Vote) => {
            Some("numbers have no majority; use mean, worst or last")
        }
        (Scale::Numeric | Scale::Ordered(_), _) => None,
    };
    faults.extend(misfit.map(|problem| RubricFault::new(Part::Aggregation, problem)));
    if !is_text(&dimension.criteria, MAX_CRITERIA_CHARS) {
        let problem = format!("1 to {MAX_CRITERIA_CHARS} characters that say what to look for");
        faults.push(RubricFault::new(Part::Criteria, problem));
    }
    faults
}

fn scale(scale: &Scale) -> Option<RubricFault> {
    let Scale::Ordered(grades) = scale else { return None };
    let fault = |problem| Some(RubricFault::new(Part::Grades, problem));
    if !(2..=MAX_GRADES).contains(&grades.len()) {
        return fault(format!("{} of them, but there must be 2 to {MAX_GRADES}", grades.len()));
    }
    if let Some(grade) = grades.iter().find(|grade| !is_label(&grade.label)) {
        return fault(format!(
            "{:?} is not a label: 1 to {MAX_DIMENSION_NAME_CHARS} letters, digits, spaces, \
             underscores and hyphens",
            grade.label
        ));
    }
    if let Some(grade) = grades.iter().find(|grade| !MARKS.contains(&grade.value)) {
        return fault(format!("{} counts {}, which is not from 0 to 1", grade.label, grade.value));
    }
    let mut labels = BTreeSet::new();
    if let Some(grade) = grades.iter().find(|grade| !labels.insert(&grade.label)) {
        return fault(format!("{} stands twice", grade.label));
    }
    let falls = grades.windows(2).find_map(|pair| match pair {
        [worse, better] if worse.value >= better.value => Some((worse, better)),
        _ => None,
    });
    let (worse, better) = falls?;
    fault(format!(
        "{} counts {} and must count more than {} before it, which counts {}: worst comes first",
        better.label, better.value, worse.label, worse.value
    ))
}

fn doubled(rubric: &Rubric) -> Vec<RubricFault> {
    let mut seen = BTreeSet::new();
    let again = rubric.dimensions.iter().enumerate().filter(|(_, one)| !seen.insert(&one.name));
    let fault = |(at, one): (usize, &Dimension)| RubricFault {
        dimension: Some((at + 1, one.name.clone())),
        ..RubricFault::new(Part::Name, "another dimension is called so")
    };
    again.map(fault).collect()
}

fn weights(rubric: &Rubric) -> Option<RubricFault> {
    let sum: f64 = rubric.dimensions.iter().map(|dimension| dimension.weight).sum();
    let is_whole = (sum - 1.0).abs() <= WEIGHT_SLACK || rubric.dimensions.is_empty();
    if is_whole {
        return None;
    }
    // Nine digits hide rounding errors.
    let sum = (sum * 1e9).round() / 1e9;
    Some(RubricFault::new(Part::Weight, format!("weights add up to {sum}, not to 1")))
}

fn is_text(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= most
}

/// Returns whether a rubric name is valid and safe as a file name.
fn is_rubric_name(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.chars().all(is_fine)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_dimension_name(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (1..=MAX_DIMENSION_NAME_CHARS).contains(&name.len()) && name.chars().all(is_fine)
}

fn is_label(label: &str) -> bool {
    let is_fine = |c: char| c.is_alphanumeric() || "_- ".contains(c);
    (1..=MAX_DIMENSION_NAME_CHARS).contains(&label.chars().count())
        && label.chars().all(is_fine)
        && label.trim() == label
}
