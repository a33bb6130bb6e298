use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use ratchet_core::judge::rubric::{Dimension, Rubric, Scale};
use ratchet_core::quality::calibration::draft::mark;
use ratchet_core::quality::label::table::within;
use ratchet_core::quality::label::{Label, MAX_WHY, Mark};
use ratchet_stages::review::judge_scores::JudgeScore;

use crate::print::table;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// What they think of the session.
    Label { marks: BTreeMap<String, Mark>, why: Option<String> },
    /// Not this one.
    Skip,
    /// No more.
    End,
}

/// Help on the input, printed once per session.
const HELP: &str =
    "Score each dimension; Enter skips it, - means not observable, s skips the session, q quits.\n";

/// Asks for each dimension and why. The end of what is typed ends it, and a session that is only
/// half labelled is not saved.
pub(super) fn ask(
    rubric: &Rubric,
    typed: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Answer> {
    write!(output, "{HELP}")?;
    let mut marks = BTreeMap::new();
    for dimension in &rubric.dimensions {
        loop {
            let Some(line) = question(&prompt(dimension), typed, output)? else {
                return Ok(Answer::End);
            };
            match line.as_str() {
                "" => break,
                "s" => return Ok(Answer::Skip),
                "q" => return Ok(Answer::End),
                line => match Mark::parse(dimension, line) {
                    Ok(mark) => {
                        marks.insert(dimension.name.clone(), mark);
                        break;
                    }
                    Err(why) => writeln!(output, "  {why}")?,
                },
            }
        }
    }
    if marks.is_empty() {
        return Ok(Answer::Skip);
    }
    loop {
        let Some(why) = question("comment: ", typed, output)? else {
            return Ok(Answer::End);
        };
        match within("why", &why, MAX_WHY) {
            Ok(()) => {
                return Ok(Answer::Label { marks, why: Some(why).filter(|why| !why.is_empty()) });
            }
            Err(refused) => writeln!(output, "  {refused}")?,
        }
    }
}

fn prompt(dimension: &Dimension) -> String {
    match &dimension.scale {
        Scale::Numeric => format!("{} [0 to 1]: ", dimension.name),
        Scale::Ordered(grades) => {
            let labels: Vec<&str> = grades.iter().map(|grade| grade.label.as_str()).collect();
            format!("{} [{}]: ", dimension.name, labels.join("/"))
        }
    }
}

/// A line that was typed; `None` at the end.
fn question(
    text: &str,
    typed: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Option<String>> {
    write!(output, "{text}")?;
    output.flush()?;
    let mut line = String::new();
    if typed.read_line(&mut line)? == 0 {
        writeln!(output)?;
        return Ok(None);
    }
    Ok(Some(line.trim().to_owned()))
}

/// The judge's scores, shown after the label.
pub(super) fn revealed(label: &Label, judged: Option<&JudgeScore>, rubric: &Rubric) -> String {
    let Some(judged) = judged else {
        return "Saved. The judge has not scored this session yet.\n".to_owned();
    };
    let marks = label.marks(rubric);
    let row = |dimension: &Dimension| {
        let shown = |value: Option<&f64>| {
            value.map_or_else(|| "-".to_owned(), |value| mark(dimension, *value))
        };
        let reason = judged.reasons.get(&dimension.name).map_or("", String::as_str);
        [
            dimension.name.clone(),
            shown(marks.get(&dimension.name)),
            shown(judged.marks.get(&dimension.name)),
            reason.chars().take(80).collect(),
        ]
    };
    let rows: Vec<_> = rubric.dimensions.iter().map(row).collect();
    format!("Saved. Judge scores:\n{}", table(["DIMENSION", "YOU", "JUDGE", "RATIONALE"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(typed: &str) -> (Answer, String) {
        let rubric = ratchet_core::judge::rubric::shipped().next().unwrap();
        let mut output = Vec::new();
        let answer = ask(rubric, &mut typed.as_bytes(), &mut output).unwrap();
        (answer, String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_session_is_labelled_line_by_line() {
        let (answer, output) = answered("great\ncomplete\n0.7\n\n-\n\n\nIt works.\n");
        assert!(output.contains("task_completion must be one of failed"), "{output}");
        let Answer::Label { marks, why } = answer else { panic!("{answer:?}") };
        assert_eq!(why.as_deref(), Some("It works."));
        assert_eq!(marks["task_completion"], Mark::Grade("complete".to_owned()));
        assert_eq!(marks["execution_quality"], Mark::Number(0.7));
        assert_eq!(marks["resource_efficiency"], Mark::NotObservable);
        assert_eq!(marks.len(), 3, "Enter leaves a dimension out");
    }

    #[test]
    fn what_is_cut_off_is_not_kept() {
        assert_eq!(answered("complete\n0.7\n").0, Answer::End);
        assert_eq!(answered("complete\nq\n").0, Answer::End);
        assert_eq!(answered("s\n").0, Answer::Skip);
        assert_eq!(answered("\n\n\n\n\n\n").0, Answer::Skip, "nothing was said");
    }
}
