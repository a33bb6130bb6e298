use proptest::prelude::*;

use super::{Aggregation, Part, Rubric, arbitrary, difference, shipped, shipped_file};

const SMALL: &str = r#"
name = "small"
version = 1
description = "Two things."
[[dimension]]
name = "honesty"
weight = 0.5
kind = "numeric"
criteria = "Does it tell the truth?"
[[dimension]]
name = "outcome"
weight = 0.5
kind = "ordered"
grades = [{ label = "bad", value = 0 }, { label = "good", value = 1 }]
criteria = "Did it work?"
"#;

#[test]
fn shipped_rubrics_say_what_their_files_say() {
    let names: Vec<_> = shipped().map(|rubric| rubric.name.as_str()).collect();
    assert_eq!(names, ["session-quality", "session-quality-v0"]);
    for rubric in shipped() {
        assert_eq!(rubric.faults(), []);
        insta::assert_debug_snapshot!(rubric.name.clone(), rubric);
        let file = shipped_file(&rubric.name).unwrap();
        assert_eq!(Rubric::parse(file).as_ref(), Ok(rubric));
    }
}

#[test]
fn what_a_file_leaves_out_is_as_usual() {
    let rubric = Rubric::parse(SMALL).unwrap();
    let rules: Vec<_> = rubric.dimensions.iter().map(|one| one.aggregation).collect();
    assert_eq!(rules, [Aggregation::Mean, Aggregation::Vote]);
    assert_eq!(rubric.judge, super::JudgeSettings::default());
}

/// Checks the faults of the small file after replacing one text.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(SMALL.contains(from), "{from} is not in the file");
    let error = Rubric::parse(&SMALL.replacen(from, to, 1)).unwrap_err();
    let faults: Vec<_> = error.faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults, expected);
}

#[test]
fn faults_name_their_place_and_their_reason() {
    check(
        "version = 1",
        "version = 1\nverison = 2",
        &["line 4: unknown field `verison`, expected one of `name`, `version`, `description`, \
           `critics`, `judge`, `dimension`"],
    );
    check(
        "\"numeric\"",
        "\"number\"",
        &["line 8: unknown variant `number`, expected `numeric` or `ordered`"],
    );
    check("weight = 0.5", "weight = 0.4", &["weight: weights add up to 0.9, not to 1"]);
    check(
        "weight = 0.5",
        "weight = -0.5",
        &[
            "line 5, dimension honesty, weight: -0.5 is not greater than 0 and at most 1",
            "weight: weights add up to 0, not to 1",
        ],
    );
    check(
        "weight = 0.5",
        "weight = nan",
        &[
            "line 5, dimension honesty, weight: NaN is not greater than 0 and at most 1",
            "weight: weights add up to NaN, not to 1",
        ],
    );
}

#[test]
fn grades_rise_and_fit_their_aggregation() {
    check(
        "value = 1",
        "value = 0",
        &[
            "line 10, dimension outcome, grades: good counts 0 and must count more than bad before it, \
         which counts 0: worst comes first",
        ],
    );
    check(
        "value = 1",
        "value = 1.5",
        &["line 10, dimension outcome, grades: good counts 1.5, which is not from 0 to 1"],
    );
    check("\"good\"", "\"bad\"", &["line 10, dimension outcome, grades: bad stands twice"]);
    check(
        "\"outcome\"",
        "\"honesty\"",
        &["line 10, dimension honesty, name: another dimension is called so"],
    );
    check(
        "\"outcome\"",
        "\"overall_quality\"",
        &[
            "line 10, dimension overall_quality, name: overall_quality is what the mark of the whole is \
         called",
        ],
    );
    check(
        "kind = \"numeric\"",
        "kind = \"numeric\"\naggregation = \"vote\"",
        &[
            "line 5, dimension honesty, aggregation: numbers have no majority; use mean, worst or last",
        ],
    );
    check(
        "kind = \"ordered\"",
        "kind = \"ordered\"\naggregation = \"mean\"",
        &["line 10, dimension outcome, aggregation: grades have no mean; use vote, worst or last"],
    );
    check(
        "kind = \"ordered\"",
        "kind = \"numeric\"",
        &[
            "line 10, dimension outcome, grades: a numeric dimension has none; say kind = \"ordered\" \
         or leave them out",
        ],
    );
    check(
        "kind = \"numeric\"",
        "kind = \"ordered\"",
        &["line 5, dimension honesty, grades: 0 of them, but there must be 2 to 10"],
    );
    check(
        "\"Did it work?\"",
        "\" \"",
        &["line 10, dimension outcome, criteria: 1 to 8000 characters that say what to look for"],
    );
}

#[test]
fn names_fit_scores_schemas_and_files() {
    let long = format!("name = \"{}\"", "x".repeat(36));
    let rule = "name: 1 to 35 letters, digits, underscores, hyphens and periods of ASCII, for \
                scores are called so";
    let place = |name: &str| format!("line 5, dimension {name}, {rule}");
    check("name = \"honesty\"", &long, &[&place(&"x".repeat(36))]);
    check("name = \"honesty\"", "name = \"größe\"", &[&place("größe")]);
    check("name = \"honesty\"", "name = \"\"", &[&format!("line 5, dimension 1, {rule}")]);
    let rule = "name: 1 to 64 lowercase letters, digits, hyphens, underscores and periods, a \
                letter or digit first";
    for name in ["", "../up", "Big", ".hidden", "a/b"] {
        check("name = \"small\"", &format!("name = {name:?}"), &[rule]);
    }
}

#[test]
fn all_faults_are_reported_at_once() {
    let text = SMALL.replace("0.5", "0").replace("version = 1", "version = 0");
    let error = Rubric::parse(&text).unwrap_err();
    let parts: Vec<_> = error.faults.iter().map(|fault| fault.part).collect();
    assert_eq!(parts, [Part::Version, Part::Weight, Part::Weight, Part::Weight]);
    assert_eq!(error.to_string().lines().count(), 4);
}

#[test]
fn the_fingerprint_is_of_what_counts() {
    let rubric = Rubric::parse(SMALL).unwrap();
    let same = Rubric { name: "other".to_owned(), version: 7, ..rubric.clone() };
    assert_eq!(rubric.fingerprint(), same.fingerprint());
    assert_eq!(rubric.fingerprint().len(), 12);
    let reworded = Rubric::parse(&SMALL.replace("tell", "speak")).unwrap();
    assert_ne!(rubric.fingerprint(), reworded.fingerprint());
    let reweighed = SMALL.replacen("0.5", "0.6", 1).replacen("0.5", "0.4", 1);
    assert_ne!(rubric.fingerprint(), Rubric::parse(&reweighed).unwrap().fingerprint());
}

#[test]
fn a_difference_names_what_changed() {
    let before = Rubric::parse(SMALL).unwrap();
    let mut after = before.clone();
    after.version = 2;
    after.dimensions[0].weight = 0.25;
    after.dimensions[0].criteria = "Is it so?".to_owned();
    after.dimensions[1].name = "result".to_owned();
    let changes: Vec<_> = difference(&before, &after)
        .into_iter()
        .map(|change| {
            let place = change.dimension.unwrap_or_default();
            let was = change.before.unwrap_or_default();
            let is = change.after.unwrap_or_default();
            format!("{place} {}: {was} -> {is}", change.part.as_str())
        })
        .collect();
    assert_eq!(
        changes,
        [
            " version: 1 -> 2",
            "honesty weight: 0.5 -> 0.25",
            "honesty criteria: Does it tell the truth? -> Is it so?",
            "outcome dimensions: weight 0.5, bad 0 < good 1, vote -> ",
            "result dimensions:  -> weight 0.5, bad 0 < good 1, vote",
        ]
    );
    after = before.clone();
    after.dimensions.reverse();
    let [moved] = difference(&before, &after).try_into().unwrap();
    assert_eq!(moved.after.as_deref(), Some("outcome, honesty"));
}

#[test]
fn depth_does_not_break_the_reader() {
    for open in ["[", "{", "a.", "[[a", "a=[", "a={b="] {
        assert!(Rubric::parse(&open.repeat(100_000)).is_err(), "{open}");
    }
}

proptest! {
    #[test]
    fn a_rubric_comes_back_from_its_file(rubric in arbitrary::rubric()) {
        prop_assert_eq!(rubric.faults(), []);
        prop_assert_eq!(Rubric::parse(&rubric.to_toml()), Ok(rubric));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        if let Err(error) = Rubric::parse(&text) {
            prop_assert!(!error.faults.is_empty());
        }
    }

    #[test]
    fn any_bend_of_a_file_is_read_or_refused(at in 0..5000_usize, with in "[\\[\\]{}=\".a0\n-]{0,3}") {
        let file = shipped_file(super::DEFAULT).unwrap();
        let at = (at..).find(|at| file.is_char_boundary(*at)).unwrap_or(0).min(file.len());
        let (head, tail) = file.split_at(at);
        let bent = format!("{head}{with}{}", tail.chars().skip(1).collect::<String>());
        if let Err(error) = Rubric::parse(&bent) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn nothing_differs_from_itself(one in arbitrary::rubric(), other in arbitrary::rubric()) {
        prop_assert_eq!(difference(&one, &one), []);
        prop_assert_eq!(difference(&one, &other).is_empty(), one == other);
    }
}
