use std::collections::BTreeMap;

use super::draft::{LabelledMarks, OverrideDraft, drafts};
use super::*;
use crate::judge::offline::success::SessionFeatures;
use crate::judge::rubric::{self, Rubric};

const DIMENSION: &str = "resource_efficiency";

fn rubric() -> &'static Rubric {
    rubric::shipped().find(|rubric| rubric.name == rubric::DEFAULT).unwrap()
}

/// Sessions with so many repeated calls; people take off `per_call` for each.
fn labelled(n: usize, people: impl Fn(usize, f64) -> f64) -> Vec<LabelledMarks> {
    let one = |at: usize| {
        let share = f64::from(u32::try_from(at % 7).unwrap()) / 7.0;
        let features = SessionFeatures::for_tests(
            &[(Signal::ToolCall, 1.0), (Signal::RepeatedCall, share)],
            &format!("task {at}"),
        );
        let marks = BTreeMap::from([(DIMENSION.to_owned(), people(at, share))]);
        LabelledMarks { features, people: marks }
    };
    (0..n).map(one).collect()
}

fn drafted(n: usize, people: impl Fn(usize, f64) -> f64) -> Vec<OverrideDraft> {
    drafts(SignalSet::shipped(), rubric(), &labelled(n, people))
}

#[test]
fn what_people_mind_less_counts_less() {
    let found = drafted(42, |_, share| 0.9 - 0.15 * share);
    let [draft] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((draft.dimension.as_str(), draft.labels), (DIMENSION, 42));
    assert!(draft.factor < 1.0 && draft.base[1] < draft.base[0], "{draft:?}");
    assert!(draft.error[1] < draft.error[0], "{draft:?}");
    let repeated = draft.effects.iter().find(|(signal, _)| *signal == Signal::RepeatedCall);
    let (_, [before, after]) = repeated.unwrap();
    assert!(before < after && *after < 0.0, "{draft:?}");
}

#[test]
fn people_who_agree_change_nothing() {
    assert_eq!(drafted(42, |_, share| 1.0 - 0.6 * share), []);
    assert_eq!(drafted(29, |_, share| 0.9 - 0.15 * share), [], "29 labels are too few");
}

/// Labels that have nothing to do with the session gain nothing on other tasks, but for their level.
#[test]
fn chance_is_not_learned() {
    let found = drafted(60, |at, share| {
        let noise = f64::from(u32::try_from(at * 37 % 11).unwrap()) / 11.0 - 0.5;
        (1.0 - 0.6 * share + noise).clamp(0.0, 1.0)
    });
    assert_eq!(found, []);
}

#[test]
fn overrides_are_a_file_for_these_signals_only() {
    let found = drafted(42, |_, share| 0.9 - 0.15 * share);
    let set = SignalSet::shipped();
    let overrides = SignalOverrides::new(set, "session-quality", &found, None);
    let text = overrides.to_toml();
    assert_eq!(SignalOverrides::parse(&text), Ok(overrides.clone()));
    assert!(overrides.fits(set) && overrides.version == 1);
    let changed = set.with_overrides(&overrides, &text);
    assert_ne!(changed.fingerprint(), set.fingerprint(), "scores say that others judged");
    assert!(!overrides.fits(&changed));
    let next = SignalOverrides::new(&changed, "session-quality", &[], Some(&overrides));
    assert_eq!((next.version, next.dimension.len()), (2, 1), "earlier ones are kept");
    assert!(next.fits(set));
    let wrong = text.replacen("base = ", "base = 7", 1);
    assert_eq!(SignalOverrides::parse(&wrong), Err(OverridesError::Number(DIMENSION.to_owned())));
}

#[test]
fn a_draft_is_explained() {
    let found = drafted(42, |_, share| 0.9 - 0.15 * share);
    let draft = found.first().unwrap();
    insta::assert_snapshot!(format!("{}\n{}", draft.change(), draft.checked()));
}
