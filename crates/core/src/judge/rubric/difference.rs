use super::{Dimension, Part, Rubric, Scale};

/// A difference between two rubrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `None` for the rubric as a whole.
    pub dimension: Option<String>,
    pub part: Part,
    /// `None` for an addition.
    pub before: Option<String>,
    /// `None` for a removal.
    pub after: Option<String>,
}

/// Returns the differences between two rubrics, in file order.
///
/// An added or removed dimension is one change of [`Part::Dimensions`]; a moved one is part of the
/// change of their order.
pub fn difference(before: &Rubric, after: &Rubric) -> Vec<Change> {
    let mut changes: Vec<_> = whole(before)
        .into_iter()
        .zip(whole(after))
        .filter_map(|((part, before), (_, after))| changed(None, part, before, after))
        .collect();
    changes.extend(order(before, after));
    for one in &before.dimensions {
        match after.dimension(&one.name) {
            Some(other) => changes.extend(of_dimension(one, other)),
            None => changes.push(Change {
                dimension: Some(one.name.clone()),
                part: Part::Dimensions,
                before: Some(summary(one)),
                after: None,
            }),
        }
    }
    let is_new = |one: &&Dimension| before.dimension(&one.name).is_none();
    changes.extend(after.dimensions.iter().filter(is_new).map(|one| Change {
        dimension: Some(one.name.clone()),
        part: Part::Dimensions,
        before: None,
        after: Some(summary(one)),
    }));
    changes
}

fn whole(rubric: &Rubric) -> [(Part, String); 6] {
    [
        (Part::Name, rubric.name.clone()),
        (Part::Version, rubric.version.to_string()),
        (Part::Description, rubric.description.clone()),
        (Part::Critics, rubric.critics.as_str().to_owned()),
        (Part::Temperature, rubric.judge.temperature.to_string()),
        (Part::MaxOutputTokens, rubric.judge.max_output_tokens.to_string()),
    ]
}

/// Returns the order of the common dimensions, if it changed.
fn order(before: &Rubric, after: &Rubric) -> Option<Change> {
    let shared = |one: &Rubric, other: &Rubric| {
        let names = one.dimensions.iter().map(|dimension| dimension.name.as_str());
        let kept: Vec<_> = names.filter(|name| other.dimension(name).is_some()).collect();
        kept.join(", ")
    };
    changed(None, Part::Dimensions, shared(before, after), shared(after, before))
}

fn of_dimension(before: &Dimension, after: &Dimension) -> Vec<Change> {
    let parts = |one: &Dimension| {
        [
            (Part::Weight, one.weight.to_string()),
            (Part::Grades, grades(&one.scale)),
            (Part::Aggregation, one.aggregation.as_str().to_owned()),
            (Part::Criteria, one.criteria.clone()),
        ]
    };
    let pairs = parts(before).into_iter().zip(parts(after));
    pairs.filter_map(|((part, was), (_, is))| changed(Some(&before.name), part, was, is)).collect()
}

fn changed(dimension: Option<&str>, part: Part, before: String, after: String) -> Option<Change> {
    (before != after).then(|| Change {
        dimension: dimension.map(str::to_owned),
        part,
        before: Some(before),
        after: Some(after),
    })
}

/// Formats a dimension on one line.
fn summary(dimension: &Dimension) -> String {
    let Dimension { weight, scale, aggregation, .. } = dimension;
    format!("weight {weight}, {}, {}", grades(scale), aggregation.as_str())
}

fn grades(scale: &Scale) -> String {
    match scale {
        Scale::Numeric => "numeric".to_owned(),
        Scale::Ordered(grades) => {
            let grade = |grade: &super::Grade| format!("{} {}", grade.label, grade.value);
            grades.iter().map(grade).collect::<Vec<_>>().join(" < ")
        }
    }
}
