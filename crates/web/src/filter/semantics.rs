use ratchet_core::record::field_table::{FieldKind, NumberUnit};
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_store::query::Compare;

use super::field::{self, ListKind, names};
use super::reader::{FieldTerm, Item, Piece, TermSyntax};
use super::{Pattern, RecordField, ScoreCondition, Term, TermCondition};

/// What a piece means on a list; otherwise what is wrong with it.
pub(super) fn of(on: ListKind, piece: &Piece) -> Result<Term, String> {
    let what = match &piece.form {
        TermSyntax::Text(text) if text.trim().is_empty() => {
            return Err("the quoted text is empty".to_owned());
        }
        TermSyntax::Text(text) => TermCondition::Text(text.clone()),
        TermSyntax::FieldTerm(asked) => what(on, asked)?,
        TermSyntax::Broken(why) => return Err(why.clone()),
    };
    check_negation(piece.negated, &what)?;
    Ok(Term { negated: piece.negated, what })
}

fn what(on: ListKind, asked: &FieldTerm) -> Result<TermCondition, String> {
    let name = asked.name.to_ascii_lowercase();
    let name = match name.as_str() {
        "environment" => "env",
        "tags" => "tag",
        "kind" => "type",
        "error" => "errors",
        "steps" => "observations",
        other => other,
    };
    if let Some(facts) = field::by_name(name) {
        allowed(on, facts.field, name)?;
        return match facts.kind {
            FieldKind::Number(unit) => {
                let number = number(unit, name, single(asked)?)?;
                Ok(TermCondition::Number(facts.field, compare(asked.sign), number))
            }
            _ => word(facts.field, asked),
        };
    }
    // The name of a score is kept as it was typed.
    if let Some(typed) = asked.name.get(..6).filter(|start| start.eq_ignore_ascii_case("score.")) {
        let key = asked.quoted_key.clone();
        let key = key.or_else(|| asked.name.get(typed.len()..).map(str::to_owned));
        return score(key.unwrap_or_default(), asked);
    }
    if name == "is" {
        let wanted = &single(asked)?.text;
        let flag = on.flags().find(|flag| field::name(*flag).eq_ignore_ascii_case(wanted));
        return flag.map(TermCondition::Is).ok_or_else(|| {
            let flags: Vec<_> = on.flags().map(field::name).collect();
            format!("unknown value “{wanted}”; use {}", flags.join(" or "))
        });
    }
    Err(format!(
        "unknown filter “{}”; put it in quotes to search for the text, or use {}",
        asked.name,
        names(on)
    ))
}

fn allowed(on: ListKind, field: RecordField, name: &str) -> Result<(), String> {
    if on.has_filter(field) {
        return Ok(());
    }
    let lists = [ListKind::Traces, ListKind::Observations, ListKind::Sessions];
    let others = lists.into_iter().filter(|other| other.has_filter(field));
    let others: Vec<_> = others.map(ListKind::word).collect();
    let (here, there) = (on.word(), others.join(" and "));
    Err(format!("{here} have no filter “{name}” ({there} do); use {}", names(on)))
}

fn single(asked: &FieldTerm) -> Result<&Item, String> {
    match asked.items.as_slice() {
        [item] if !item.text.is_empty() || item.is_quoted => Ok(item),
        [_] => Err(format!("“{}” needs a value", asked.name)),
        _ => Err(format!("“{}” takes one value", asked.name)),
    }
}

fn compare(sign: &str) -> Compare {
    match sign {
        ">" => Compare::Greater,
        ">=" => Compare::AtLeast,
        "<" => Compare::Less,
        "<=" => Compare::AtMost,
        _ => Compare::Equal,
    }
}

fn word(field: RecordField, asked: &FieldTerm) -> Result<TermCondition, String> {
    let name = field::name(field);
    if asked.sign != "=" {
        return Err(format!("“{name}” is text, not a number: write {name}:…"));
    }
    let pattern = match asked.items.as_slice() {
        [item] => pattern(name, item)?,
        items => {
            let words = items.iter().map(|item| match pattern(name, item)? {
                Pattern::Exactly(words) => Ok(words),
                _ => Err(format!("“{name}” allows * only with a single value")),
            });
            Pattern::Exactly(words.collect::<Result<Vec<_>, _>>()?.concat())
        }
    };
    let pattern = match field {
        RecordField::Level => one_of(name, pattern, &Level::ALL.map(Level::as_str))?,
        RecordField::Kind => {
            one_of(name, pattern, &ObservationKind::ALL.map(ObservationKind::as_str))?
        }
        _ => pattern,
    };
    let is_whole = matches!(pattern, Pattern::Any | Pattern::Exactly(_));
    if field == RecordField::Tags && !is_whole {
        return Err("tags match exactly, without *: write tag:vip".to_owned());
    }
    Ok(TermCondition::Word(field, pattern))
}

fn pattern(name: &str, item: &Item) -> Result<Pattern, String> {
    let has_star = item.star_before || item.star_behind;
    if item.text.is_empty() && !item.is_quoted {
        let wants = || format!("“{name}” needs a value; {name}:* matches any value");
        return if has_star { Ok(Pattern::Any) } else { Err(wants()) };
    }
    if item.text.contains('*') && !item.is_quoted {
        return Err("* is allowed at the start or end of a value, not inside".to_owned());
    }
    let text = item.text.clone();
    Ok(match (item.star_before, item.star_behind) {
        (false, false) => Pattern::Exactly(vec![text]),
        (false, true) => Pattern::StartsWith(text),
        (true, false) => Pattern::EndsWith(text),
        (true, true) => Pattern::Contains(text),
    })
}

/// Words of a short list, in whichever case.
fn one_of(name: &str, pattern: Pattern, known: &[&str]) -> Result<Pattern, String> {
    let allowed = || {
        let known: Vec<_> = known.iter().map(|word| word.to_ascii_lowercase()).collect();
        known.join(", ")
    };
    let Pattern::Exactly(words) = pattern else {
        return Err(format!("“{name}” is one of {}", allowed()));
    };
    let words = words.into_iter().map(|word| {
        let found = known.iter().find(|known| known.eq_ignore_ascii_case(&word));
        found
            .map(|known| known.to_ascii_lowercase())
            .ok_or_else(|| format!("“{word}” is not a valid {name}; use one of {}", allowed()))
    });
    words.collect::<Result<_, _>>().map(Pattern::Exactly)
}

const TIMES: [(&str, f64); 5] =
    [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];
const COUNTS: [(&str, f64); 2] = [("k", 1e3), ("M", 1e6)];

fn number(unit: NumberUnit, name: &str, item: &Item) -> Result<f64, String> {
    let typed = item.text.as_str();
    let (text, factor) = match unit {
        NumberUnit::Dollars => (typed.strip_prefix('$').unwrap_or(typed), 1.0),
        NumberUnit::Seconds => scaled(typed, &TIMES),
        NumberUnit::Count | NumberUnit::Plain => scaled(typed, &COUNTS),
    };
    let is_plain = !item.star_before && !item.star_behind;
    let number = finite(text).map(|number| number * factor).filter(|number| number.is_finite());
    number.filter(|_| is_plain).ok_or_else(|| {
        let example = match unit {
            NumberUnit::Dollars => "dollars, such as 0.10",
            NumberUnit::Seconds => "a time, such as 2s, 500ms or 3m",
            NumberUnit::Count | NumberUnit::Plain => "a count, such as 1000 or 1k",
        };
        format!("“{typed}” is not a number: “{name}” takes {example}")
    })
}

fn scaled<'a>(typed: &'a str, units: &[(&str, f64)]) -> (&'a str, f64) {
    let found = units.iter().find_map(|(unit, factor)| {
        let text = typed.strip_suffix(unit)?;
        text.ends_with(|c: char| c.is_ascii_digit() || c == '.').then_some((text, *factor))
    });
    found.unwrap_or((typed, 1.0))
}

fn finite(text: &str) -> Option<f64> {
    let is_digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let number = text.chars().all(is_digits).then(|| text.parse().ok())?;
    number.filter(|number: &f64| number.is_finite())
}

fn score(name: String, asked: &FieldTerm) -> Result<TermCondition, String> {
    if name.is_empty() {
        return Err("a score filter needs a name: write score.quality<0.5".to_owned());
    }
    let item = single(asked)?;
    if item.star_before || item.star_behind {
        return Err("score labels match exactly, without *".to_owned());
    }
    let number = finite(&item.text).filter(|_| !item.is_quoted);
    let verdict = match (number, asked.sign, item.text.to_ascii_lowercase().as_str()) {
        (Some(number), sign, _) => ScoreCondition::Number(compare(sign), number),
        (None, "=", "true") if !item.is_quoted => ScoreCondition::Truth(true),
        (None, "=", "false") if !item.is_quoted => ScoreCondition::Truth(false),
        (None, "=", _) => ScoreCondition::Label(item.text.clone()),
        (None, sign, _) => {
            return Err(format!("“{}” after {sign} is not a number", item.text));
        }
    };
    Ok(TermCondition::Score(name, verdict))
}

/// Some things cannot be asked the other way round.
fn check_negation(negated: bool, what: &TermCondition) -> Result<(), String> {
    match what {
        TermCondition::Word(field, Pattern::StartsWith(text) | Pattern::EndsWith(text))
            if negated =>
        {
            let name = field::name(*field);
            Err(format!("negation works only with contains: write -{name}:*{text}*"))
        }
        _ => Ok(()),
    }
}
