use proptest::prelude::*;

use super::table::{LabelColumns, LabelDefaults, written};
use super::*;
use crate::judge::rubric::{Aggregation, Critics, Grade, JudgeSettings};

fn rubric() -> Rubric {
    let grade = |label: &str, value: f64| Grade { label: label.to_owned(), value };
    let grades = vec![grade("failed", 0.0), grade("partial", 0.4), grade("complete", 0.85)];
    let dimension = |name: &str, scale: Scale| Dimension {
        name: name.to_owned(),
        weight: 0.5,
        scale,
        criteria: String::new(),
        aggregation: Aggregation::Mean,
    };
    Rubric {
        name: "test".to_owned(),
        version: 1,
        description: String::new(),
        dimensions: vec![
            dimension("task_completion", Scale::Ordered(grades)),
            dimension("tool_mastery", Scale::Numeric),
        ],
        judge: JudgeSettings { temperature: 0.0, max_output_tokens: 1000 },
        critics: Critics::Together,
    }
}

fn label() -> Label {
    Label {
        session: SessionId::parse("=session, 1").unwrap(),
        by: "ada".to_owned(),
        at: Timestamp::from_millis(1_700_000_000_123),
        why: Some("It says \"done\",\nbut is not.".to_owned()),
        rubric: "test".to_owned(),
        marks: [
            ("task_completion".to_owned(), Mark::Grade("partial".to_owned())),
            ("tool_mastery".to_owned(), Mark::NotObservable),
        ]
        .into(),
        drawn: Some(LabelOrigin {
            week: "2026-11-08".to_owned(),
            seed: "2026-11-08".to_owned(),
            band: Band::Fair,
            agent: Some("bot".to_owned()),
            population: 40,
            taken: 4,
        }),
        judged: Some(JudgedBefore {
            judge: "offline".to_owned(),
            rubric_version: 2,
            generation: 1,
            marks: [("task_completion".to_owned(), 0.85)].into(),
        }),
    }
}

#[test]
fn a_label_is_a_dataset_item() {
    let item = label().item(DATASET);
    let expected = item.expected_output.clone().unwrap();
    assert_eq!(expected, json!({ "task_completion": "partial", "tool_mastery": null }));
    assert_eq!(item.metadata["sample"]["inclusion_probability"], json!(0.1));
    assert_eq!(Label::read(&item.input, &expected, &item.metadata), Some(label()));
    let again = Label { why: None, ..label() };
    assert_eq!(again.item(DATASET).id, item.id, "labelling again changes the same item");
    let other = Label { by: "bob".to_owned(), ..label() };
    assert_ne!(other.item(DATASET).id, item.id, "each has a label of their own");
    assert_ne!(label().item("second").id, item.id, "each dataset has an item of its own");
    assert_eq!(item.metadata["judged"]["rubric_version"], json!(2), "what was judged is kept");
}

/// The format of the quality monitor's first design document.
#[test]
fn labels_of_other_programs_are_read() {
    let input = json!({ "session_id": "s1", "session_data": {} });
    let expected = json!({
        "task_completion": { "score": "complete", "rationale": "…" },
        "tool_mastery": 0.7,
        "odd": [1],
    });
    let metadata = json!({ "labeled_by": "human", "labeled_at": "2026-01-05T10:00:00" });
    let label = Label::read(&input, &expected, &metadata).unwrap();
    let marks = label.marks(&rubric());
    assert_eq!(marks["task_completion"], 0.85);
    assert_eq!(marks["tool_mastery"], 0.7);
    assert_eq!(Label::read(&json!({}), &expected, &metadata), None);
}

#[test]
fn a_draw_waits_as_an_item_without_an_answer() {
    let (session, draw) = (label().session, label().drawn.unwrap());
    let item = draw.item(&session, DATASET);
    assert_eq!(item.expected_output, None);
    assert_ne!(draw.item(&session, "second").id, item.id, "datasets are drawn apart");
    assert_eq!(LabelOrigin::of_item(&item.input, &item.metadata), Some((session, draw)));
}

#[track_caller]
fn check(dimension: usize, typed: &str, expected: Result<Mark, &str>) {
    let read = Mark::parse(&rubric().dimensions[dimension], typed);
    assert_eq!(read, expected.map_err(str::to_owned));
}

#[test]
fn marks_are_read_as_people_type_them() {
    let grade = |label: &str| Ok(Mark::Grade(label.to_owned()));
    check(0, "partial", grade("partial"));
    check(0, " C", grade("complete"));
    check(0, "-", Ok(Mark::NotObservable));
    let grades = "task_completion must be one of failed, partial, complete, or - if not observable";
    check(0, "", Err(grades));
    check(0, "great", Err(grades));
    check(1, "0,75", Ok(Mark::Number(0.75)));
    let number = "tool_mastery must be a number from 0 to 1, or - if not observable";
    for typed in ["1.5", "NaN", "", "complete", "-0.1", "inf"] {
        check(1, typed, Err(number));
    }
}

fn read(table: &str) -> Vec<String> {
    // Sufficient for cells without commas.
    table.lines().next().unwrap_or_default().split(',').map(str::to_owned).collect()
}

#[test]
fn tables_are_read_as_they_are_written() {
    let rubric = rubric();
    let label = Label { drawn: None, judged: None, ..label() };
    let table = written(std::slice::from_ref(&label), &rubric);
    assert_eq!(
        table,
        "session_id,labeled_by,labeled_at,why,task_completion,tool_mastery\r\n\
         \"'=session, 1\",ada,2023-11-14T22:13:20.123Z,\"It says \"\"done\"\",\nbut is not.\",partial,'-\r\n"
    );
    let columns = LabelColumns::new(&read(&table), &rubric).unwrap();
    let why = label.why.clone().unwrap();
    let at = label.at.to_string();
    let cells = ["'=session, 1", "ada", &at, &why, "partial", "'-"];
    let unless = LabelDefaults { by: "eve".to_owned(), at: Timestamp::default() };
    assert_eq!(columns.label(cells.into_iter(), &unless), Ok(label));
}

#[test]
fn a_wrong_table_is_refused_by_name() {
    let rubric = rubric();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let refused = |columns: &[&str]| LabelColumns::new(&names(columns), &rubric).unwrap_err();
    assert!(refused(&["session_id", "colour"]).starts_with("unknown dimension colour"));
    assert!(refused(&["tool_mastery"]).contains("session_id"));
    assert!(refused(&["session_id", "why"]).contains("no column matches a dimension"));
    let columns = LabelColumns::new(&names(&["session_id", "tool_mastery"]), &rubric).unwrap();
    let unless = LabelDefaults { by: "eve".to_owned(), at: Timestamp::default() };
    let label = |cells: &[&'static str]| columns.label(cells.iter().copied(), &unless);
    assert_eq!(label(&["s1", "0.5"]).unwrap().by, "eve");
    assert!(label(&["", "0.5"]).is_err());
    assert_eq!(label(&["s1", ""]), Err("the label of s1 has no score".to_owned()));
    assert!(label(&["s1", "7"]).unwrap_err().starts_with("tool_mastery must be a number"));
}

proptest! {
    #[test]
    fn whatever_an_item_holds_is_read_or_passed_over(
        session in ".{0,20}", marks in prop::collection::btree_map(".{0,8}", any::<Option<f64>>(), 0..4),
    ) {
        let input = json!({ "session_id": session });
        let expected = json!(marks);
        if let Some(label) = Label::read(&input, &expected, &json!({ "sample": 1 })) {
            prop_assert!(label.marks(&rubric()).values().all(|mark| (0.0..=1.0).contains(mark)));
        }
    }

    #[test]
    fn no_typed_text_panics(typed in ".{0,12}") {
        for dimension in &rubric().dimensions {
            if let Ok(Mark::Number(number)) = Mark::parse(dimension, &typed) {
                prop_assert!((0.0..=1.0).contains(&number));
            }
        }
    }
}
