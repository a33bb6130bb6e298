//! Prices and conditions as people type them: one on each line.

use std::collections::BTreeMap;

use ratchet_core::record::price::{AttributeSource, Comparison, TierCondition};

/// Prices are typed for so many units, as price lists have them.
const UNITS: f64 = 1_000_000.0;

/// Comparison operators. Longer ones first, since some are prefixes of others.
const COMPARISONS: [(&str, Comparison); 6] = [
    (">=", Comparison::Gte),
    ("<=", Comparison::Lte),
    ("!=", Comparison::Neq),
    (">", Comparison::Gt),
    ("<", Comparison::Lt),
    ("=", Comparison::Eq),
];

/// Where keys are, as it is typed.
const SOURCES: [(&str, AttributeSource); 2] =
    [("parameter.", AttributeSource::ModelParameters), ("metadata.", AttributeSource::Metadata)];

/// Reads prices: a kind and the dollars for a million of it, on each line.
pub(super) fn read_prices(lines: &[String]) -> Result<BTreeMap<String, f64>, String> {
    let mut prices = BTreeMap::new();
    for line in lines {
        let parts = line.rsplit_once(|c: char| c.is_whitespace() || c == '=' || c == ':');
        let wrong = || format!("“{line}” is not a usage type and a price, such as “input 3.00”");
        let (kind, price) = parts.ok_or_else(wrong)?;
        let kind = kind.trim_end_matches(|c: char| c.is_whitespace() || c == '=' || c == ':');
        let price: f64 = price.trim_start_matches('$').parse().map_err(|_| wrong())?;
        if !price.is_finite() || price < 0.0 || kind.is_empty() {
            return Err(wrong());
        }
        if prices.insert(kind.to_owned(), price / UNITS).is_some() {
            return Err(format!("{kind} has two prices"));
        }
    }
    Ok(prices)
}

/// Prices as they are typed.
pub(super) fn shown_prices(prices: &BTreeMap<String, f64>) -> String {
    let lines = prices.iter().map(|(kind, price)| format!("{kind} {}", per_million(*price)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The dollars for a million units, without the noise of floating point.
pub(super) fn per_million(price: f64) -> String {
    let text = format!("{:.6}", price * UNITS);
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() { "0".to_owned() } else { short.to_owned() }
}

/// Reads conditions: one on each line.
pub(super) fn read_conditions(lines: &[String]) -> Result<Vec<TierCondition>, String> {
    lines.iter().map(|line| read_condition(line)).collect()
}

fn read_condition(line: &str) -> Result<TierCondition, String> {
    let wrong = || {
        format!(
            "“{line}” is not a condition, such as “input > 200000” or “parameter.speed = fast, faster”"
        )
    };
    for (prefix, source) in SOURCES {
        let Some(rest) = line.strip_prefix(prefix) else { continue };
        let (key, values) = rest.split_once('=').ok_or_else(wrong)?;
        let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
        let values: Vec<String> = values.map(str::to_owned).collect();
        let key = key.trim().to_owned();
        if key.is_empty() || values.is_empty() {
            return Err(wrong());
        }
        return Ok(TierCondition::Attribute { source, key, values });
    }
    let (is_case_sensitive, rest) = match line.strip_prefix("exactly ") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (rest, value) = rest.trim_end().rsplit_once(' ').ok_or_else(wrong)?;
    let value: f64 =
        value.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(wrong)?;
    let rest = rest.trim_end();
    let found = COMPARISONS
        .into_iter()
        .find_map(|(word, operator)| Some((rest.strip_suffix(word)?.trim(), operator)));
    let (pattern, operator) = found.filter(|(pattern, _)| !pattern.is_empty()).ok_or_else(wrong)?;
    Ok(TierCondition::Usage { pattern: pattern.to_owned(), operator, value, is_case_sensitive })
}

/// Conditions as they are typed.
pub(super) fn shown_conditions(conditions: &[TierCondition]) -> String {
    conditions.iter().map(shown_condition).collect::<Vec<_>>().join("\n")
}

fn shown_condition(condition: &TierCondition) -> String {
    match condition {
        TierCondition::Usage { pattern, operator, value, is_case_sensitive } => {
            let word = COMPARISONS.iter().find(|(_, known)| known == operator);
            let word = word.map_or("=", |(word, _)| word);
            let exactly = if *is_case_sensitive { "exactly " } else { "" };
            format!("{exactly}{pattern} {word} {value}")
        }
        TierCondition::Attribute { source, key, values } => {
            let prefix = SOURCES.iter().find(|(_, known)| known == source);
            let prefix = prefix.map_or("metadata.", |(prefix, _)| prefix);
            format!("{prefix}{key} = {}", values.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn prices_are_read_as_they_are_shown() {
        let typed = "cache_read 0.3\ninput 3\noutput 15.25";
        let prices = read_prices(&lines(typed)).unwrap();
        assert_eq!(shown_prices(&prices), typed);
        assert_eq!(
            read_prices(&lines("input: $3.00")).unwrap(),
            read_prices(&lines("input 3")).unwrap()
        );
        for bad in ["input", "input -1", "input NaN", " 3", "input 1\ninput 2", "input x"] {
            assert!(read_prices(&lines(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn conditions_are_read_as_they_are_shown() {
        let typed = "^input.* > 200000\nexactly Output <= 5\nparameter.speed = fast, faster\nmetadata.tier = batch";
        assert_eq!(shown_conditions(&read_conditions(&lines(typed)).unwrap()), typed);
        for bad in [
            "input",
            "input >",
            "> 5",
            "input ~ 5",
            "parameter.x =",
            "input > many",
            "metadata. = a",
        ] {
            assert!(read_conditions(&lines(bad)).is_err(), "{bad}");
        }
    }
}
