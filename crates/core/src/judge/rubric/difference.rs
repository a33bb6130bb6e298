use super::{Dimension, Part, Rubric, Scale};

/// One thing that differs between two rubrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// In which dimension; `None` for the rubric as a whole.
    pub dimension: Option<String>,
    pub part: Part,
    /// What it was; `None` for what is new.
    pub before: Option<String>,
    /// What it is now; `None` for what is gone.
    pub after: Option<String>,
}

/// What changed from one rubric to another, in the order people read a file. Empty if nothing did.
///
/// A dimension that is new or gone is one change of [`Part::Dimensions`] that names it; one that
/// only moved is in the change of their order.
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

fn whole(rubric: &Rubric) -> [(Part, String); 5] {
    [
        (Part::Name, rubric.name.clone()),
        (Part::Version, rubric.version.to_string()),
        (Part::Description, rubric.description.clone()),
        (Part::Temperature, rubric.judge.temperature.to_string()),
        (Part::MaxOutputTokens, rubric.judge.max_output_tokens.to_string()),
    ]
}

/// The order of those that both have, if it changed.
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

/// A dimension in a line.
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
