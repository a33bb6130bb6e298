use proptest::prelude::*;

use super::*;
use crate::id::{SessionId, TraceId};
use crate::record::score::config::Category;

fn trace() -> ScoreTarget {
    ScoreTarget::Trace(TraceId::parse("t").unwrap())
}

fn config(values: ConfigValues) -> ScoreConfig {
    ScoreConfig { id: "c".to_owned(), name: "quality".to_owned(), values, is_archived: false }
}

fn grades() -> ScoreConfig {
    let category = |label: &str, value| Category { label: label.to_owned(), value };
    config(ConfigValues::Categorical(vec![category("good", 1.0), category("bad", -1.0)]))
}

fn percent() -> ScoreConfig {
    config(ConfigValues::Numeric { min: Some(0.0), max: Some(100.0) })
}

fn text(text: &str) -> SentValue {
    SentValue::Text(text.to_owned())
}

struct Case<'a> {
    value: SentValue,
    data_type: Option<DataType>,
    config: Option<&'a ScoreConfig>,
}

#[track_caller]
fn check(case: Case<'_>, expected: Result<ScoreValue, &str>) {
    let target = trace();
    let judged = judge(SentScore {
        name: Some("mine".to_owned()),
        value: Some(case.value),
        data_type: case.data_type,
        source: ScoreSource::Api,
        target: &target,
        config: case.config,
    });
    let judged = judged.map(|verdict| verdict.value).map_err(|unfit| unfit.to_string());
    assert_eq!(judged, expected.map_err(str::to_owned));
}

fn plain(value: SentValue, data_type: Option<DataType>) -> Case<'static> {
    Case { value, data_type, config: None }
}

#[test]
fn the_data_type_is_inferred_from_the_value() {
    let label = |label: &str| ScoreValue::Categorical { label: label.to_owned(), number: None };
    check(plain(SentValue::Number(0.5), None), Ok(ScoreValue::Numeric(0.5)));
    check(plain(SentValue::Bool(true), None), Ok(ScoreValue::Boolean(true)));
    check(plain(text("good"), None), Ok(label("good")));
    let boolean = Some(DataType::Boolean);
    check(plain(SentValue::Number(1.0), boolean), Ok(ScoreValue::Boolean(true)));
    let refused = Err("value: a BOOLEAN score needs 0 or 1");
    check(plain(SentValue::Number(2.0), boolean), refused);
    let short = Some(DataType::Text);
    check(plain(text(&"é".repeat(500)), short), Ok(ScoreValue::Text("é".repeat(500))));
    let refused = Err("value: a TEXT score needs a text of 1 to 500 characters");
    check(plain(text(&"é".repeat(501)), short), refused.clone());
    check(plain(text(""), short), refused);
    let refused = Err("value: a NUMERIC score needs a finite number");
    check(plain(SentValue::Number(f64::NAN), None), refused);
}

#[test]
fn a_config_bounds_numbers() {
    let percent = percent();
    let case =
        |value| Case { value: SentValue::Number(value), data_type: None, config: Some(&percent) };
    check(case(100.0), Ok(ScoreValue::Numeric(100.0)));
    check(case(-1.0), Err("value: -1 is below 0, the least that the config quality takes"));
    check(case(101.0), Err("value: 101 is above 100, the greatest that the config quality takes"));
}

#[test]
fn a_config_gives_labels_their_numbers() {
    let grades = grades();
    let case = |value, data_type| Case { value, data_type, config: Some(&grades) };
    let good = ScoreValue::Categorical { label: "good".to_owned(), number: Some(1.0) };
    check(case(text("good"), None), Ok(good.clone()));
    check(case(text("good"), Some(DataType::Categorical)), Ok(good));
    check(case(text("Good"), None), Err("value: no category of the config quality"));
    let refused = Err("value: a CATEGORICAL score needs a text that is not empty");
    check(case(SentValue::Number(1.0), None), refused);
    let refused = Err("dataType: TEXT, but scores of the config quality are CATEGORICAL");
    check(case(text("good"), Some(DataType::Text)), refused);
    let archived = ScoreConfig { is_archived: true, ..grades.clone() };
    let case = Case { value: text("good"), data_type: None, config: Some(&archived) };
    check(case, Err("configId: the score config quality is archived"));
}

#[test]
fn names_come_from_the_config_or_the_client() {
    let (target, boolean) = (trace(), config(ConfigValues::Boolean));
    let sent = SentScore {
        name: None,
        value: Some(SentValue::Bool(true)),
        data_type: None,
        source: ScoreSource::Annotation,
        target: &target,
        config: Some(&boolean),
    };
    assert_eq!(judge(sent.clone()).unwrap().name, "quality");
    let unruled = judge(SentScore { config: None, ..sent.clone() }).unwrap_err();
    assert_eq!(unruled.field, "configId");
    let nameless = SentScore { config: None, source: ScoreSource::Api, ..sent };
    assert_eq!(judge(nameless.clone()).unwrap_err().field, "name");
    let empty = SentScore { name: Some(String::new()), ..nameless.clone() };
    assert_eq!(judge(empty).unwrap_err().field, "name");
    assert_eq!(judge(SentScore { value: None, ..nameless }).unwrap_err().field, "value");
}

#[test]
fn corrections_have_their_own_name_and_judge_traces() {
    let target = trace();
    let sent = SentScore {
        name: Some("mine".to_owned()),
        value: Some(text("")),
        data_type: Some(DataType::Correction),
        source: ScoreSource::Annotation,
        target: &target,
        config: None,
    };
    assert_eq!(judge(sent.clone()).unwrap().name, "output");
    let session = ScoreTarget::Session(SessionId::parse("s").unwrap());
    assert_eq!(judge(SentScore { target: &session, ..sent }).unwrap_err().field, "dataType");
}

fn sent_value() -> impl Strategy<Value = SentValue> {
    prop_oneof![
        prop_oneof![any::<f64>(), Just(0.0), Just(1.0), -200.0..200.0].prop_map(SentValue::Number),
        prop_oneof!["(good|bad|.{0,4})", Just("x".repeat(501))].prop_map(SentValue::Text),
        any::<bool>().prop_map(SentValue::Bool),
    ]
}

fn any_config() -> impl Strategy<Value = ScoreConfig> {
    let values = prop_oneof![
        Just(percent().values),
        Just(grades().values),
        Just(ConfigValues::Boolean),
        Just(ConfigValues::Text),
    ];
    (values, any::<bool>())
        .prop_map(|(values, is_archived)| ScoreConfig { is_archived, ..config(values) })
}

/// Returns whether a value is valid for its type, and for the config if there is one.
fn is_allowed(value: &ScoreValue, config: Option<&ScoreConfig>) -> bool {
    let by_itself = match value {
        ScoreValue::Numeric(number) => number.is_finite(),
        ScoreValue::Boolean(_) | ScoreValue::Correction(_) => true,
        ScoreValue::Categorical { label, .. } => !label.is_empty(),
        ScoreValue::Text(text) => is_short(text),
    };
    let by_config = config.is_none_or(|config| match (&config.values, value) {
        (ConfigValues::Numeric { min, max }, ScoreValue::Numeric(number)) => {
            min.is_none_or(|min| min <= *number) && max.is_none_or(|max| *number <= max)
        }
        (ConfigValues::Categorical(all), ScoreValue::Categorical { label, number }) => {
            all.iter().any(|one| one.label == *label && Some(one.value) == *number)
        }
        (values, value) => values.data_type() == value.data_type(),
    });
    by_itself && by_config
}

proptest! {
    #[test]
    fn whatever_passes_is_a_score(
        name in proptest::option::of("[a-z]{0,3}"),
        value in sent_value(),
        data_type in proptest::option::of(prop::sample::select(&DataType::ALL[..])),
        source in prop::sample::select(&ScoreSource::ALL[..]),
        config in proptest::option::of(any_config()),
    ) {
        let target = trace();
        let config = config.as_ref();
        let sent =
            SentScore { name, value: Some(value), data_type, source, target: &target, config };
        match judge(sent) {
            Err(unfit) => prop_assert!(!unfit.why.is_empty()),
            Ok(verdict) => {
                prop_assert!(!verdict.name.is_empty());
                prop_assert!(is_allowed(&verdict.value, config));
                prop_assert!(data_type.is_none_or(|said| said == verdict.value.data_type()));
                prop_assert!(config.is_none_or(|config| !config.is_archived));
                let is_correction = verdict.value.data_type() == DataType::Correction;
                let is_ruled = config.is_some() || is_correction;
                prop_assert!(source != ScoreSource::Annotation || is_ruled);
            }
        }
    }
}
