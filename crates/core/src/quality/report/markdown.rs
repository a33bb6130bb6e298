use super::terminal::{also_words, share_words};
use super::{
    MAX_SHOWN, WeekReport, advice_words, agent_words, change_words, counted, interval_words,
    judge_words, met_word, reading_words, standings, target_words, trend_words,
};
use crate::quality::suggestion::Suggestion;
use crate::quality::synthesis::{AgentStats, Change, Marks, Outlier, VariantStats};

pub(super) fn text(report: &WeekReport) -> String {
    let mut out = format!("# Week {} to {}\n", report.week, report.last_day);
    if !report.scope.is_all() {
        out.push_str(&format!("\nOnly {}.\n", escaped(&report.scope.words())));
    }
    for alert in &report.drift {
        out.push_str(&format!("\n> **Judge drift.** {}.\n", escaped(&alert.words())));
    }
    out.push_str(&format!("\n{}\n", escaped(&report.summary().join(" "))));
    let judge = judge_words(report).unwrap_or_default();
    out.push_str(&format!(
        "\n{} Rubric {}, time zone {}.\n",
        escaped(&judge),
        escaped(&report.rubric),
        escaped(&report.zone)
    ));
    if report.synthesis.sessions == 0 {
        out.push_str("\nScore sessions with `ratchet score`, then run this command again.\n");
        return out;
    }
    out.push_str(&agents(report));
    out.push_str(&table(report));
    out.push_str(&days(report));
    out.push_str(&outliers("Low outliers", &report.synthesis.poor, report));
    out.push_str(&outliers("High outliers", &report.synthesis.excellent, report));
    out.push_str(&issues(report));
    if !report.suggestions.is_empty() {
        out.push_str("\n## Suggestions\n");
        out.extend(advice_words(report).map(|words| format!("\n{}\n", escaped(&words))));
        out.extend(report.suggestions.iter().map(suggestion));
    }
    out.push_str(&success(report));
    out
}

fn success(report: &WeekReport) -> String {
    // In the first week nothing can be met or missed yet.
    if report.is_first() {
        return String::new();
    }
    let head =
        "\n## Success metrics\n\n| metric | current | target | status |\n|---|---|---|---|\n";
    let rows = report.success.iter().map(|metric| {
        format!(
            "| {} | {} | {} | {} |\n",
            metric.measure.title(),
            escaped(&reading_words(metric)),
            target_words(metric),
            met_word(metric)
        )
    });
    std::iter::once(head.to_owned()).chain(rows).collect()
}

/// Agents and environments, and their releases and prompt versions below them.
fn agents(report: &WeekReport) -> String {
    let all = &report.synthesis.agents;
    if all.is_empty() {
        return String::new();
    }
    let head = "\n## Agents\n\n| agent | environment | n | users | mean | 95% CI | change | \
                cost per session |\n|---|---|--:|--:|--:|---|---|--:|\n";
    let mut out = head.to_owned();
    for agent in all {
        let cost = agent.cost.map(|cost| format!("${:.4}", cost.per_session));
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            escaped(&agent_words(agent.agent.as_deref())),
            escaped(&agent.environment),
            agent.sessions,
            agent.users,
            mean(agent.overall.marks),
            agent.overall.marks.map(|marks| interval_words(marks.interval)).unwrap_or_default(),
            escaped(&change_words(&agent.overall.change)),
            cost.unwrap_or_default(),
        ));
    }
    let variants = |agent: &AgentStats| {
        let all = agent.releases.iter().map(|release| ("release", release));
        let all = all.chain(agent.prompts.iter().map(|prompt| ("prompt", prompt)));
        let all: Vec<String> = all.map(|(kind, one)| variant(agent, kind, one)).collect();
        all
    };
    let variants: Vec<String> = all.iter().flat_map(variants).collect();
    if !variants.is_empty() {
        out.push_str(
            "\n### Releases and prompts\n\n| agent | environment | version | since | n | mean | \
             95% CI | change |\n|---|---|---|---|--:|--:|---|---|\n",
        );
        out.extend(variants);
    }
    out
}

fn variant(agent: &AgentStats, kind: &str, variant: &VariantStats) -> String {
    let against = variant.against.as_ref();
    let change = match (&variant.change, against) {
        (change @ Change::By { .. }, Some(against)) => {
            format!("{} vs. {against}", change_words(change))
        }
        (change, _) => change_words(change),
    };
    format!(
        "| {} | {} | {kind} {} | {} | {} | {} | {} | {} |\n",
        escaped(&agent_words(agent.agent.as_deref())),
        escaped(&agent.environment),
        escaped(&variant.name),
        variant.first_day,
        variant.n,
        mean(variant.marks),
        variant.marks.map(|marks| interval_words(marks.interval)).unwrap_or_default(),
        escaped(&change)
    )
}

fn mean(marks: Option<Marks>) -> String {
    marks.map(|marks| format!("{:.2}", marks.mean)).unwrap_or_default()
}

fn days(report: &WeekReport) -> String {
    let days = &report.synthesis.days;
    if days.len() < 2 {
        return String::new();
    }
    let head = "\n## Overall quality by day\n\n| day | n | mean | 95% CI |\n|---|--:|--:|---|\n";
    let rows = days.iter().map(|day| {
        let interval = interval_words(day.interval);
        format!("| {} | {} | {:.2} | {interval} |\n", day.day, day.n, day.mean)
    });
    std::iter::once(head.to_owned()).chain(rows).collect()
}

fn table(report: &WeekReport) -> String {
    let head = "\n## Dimensions\n\n| dimension | n | mean | 95% CI | std dev | min | max | change | trend |\n\
                |---|--:|--:|---|--:|--:|--:|---|---|\n";
    let rows = standings(report).map(|standing| {
        let name = escaped(&standing.name);
        let Some(marks) = standing.marks else {
            return format!("| {name} | 0 | | | | | | | |\n");
        };
        let stdev = marks.stdev.map_or_else(String::new, |stdev| format!("{stdev:.2}"));
        format!(
            "| {name} | {} | {:.2} | {} | {stdev} | {:.2} | {:.2} | {} | {} |\n",
            standing.n,
            marks.mean,
            interval_words(marks.interval),
            marks.min,
            marks.max,
            escaped(&change_words(&standing.change)),
            escaped(&trend_words(&standing.trend))
        )
    });
    std::iter::once(head.to_owned()).chain(rows).collect()
}

fn outliers(title: &str, outliers: &[Outlier], report: &WeekReport) -> String {
    if outliers.is_empty() {
        return String::new();
    }
    let line = |outlier: &Outlier| {
        let card = report.sessions.get(&outlier.session);
        let agent = card.and_then(|card| card.agent.as_ref());
        let agent = agent.map(|agent| format!(", {}", escaped(agent))).unwrap_or_default();
        let request = card.and_then(|card| card.title.as_ref());
        let request = request.map(|title| format!(": {}", escaped(title))).unwrap_or_default();
        let reason = outlier.reason.as_ref().map(|reason| {
            let turn = reason.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
            format!("\n  - {}: {}{turn}", escaped(&reason.dimension), escaped(&reason.text))
        });
        let session = escaped(&outlier.session);
        let reason = reason.unwrap_or_default();
        format!("- {:.2}{agent}{request} (session {session}){reason}\n", outlier.overall)
    };
    let head = format!("\n## {title} ({})\n\n", outliers.len());
    let rest = outliers.len().saturating_sub(MAX_SHOWN);
    let rest = (rest > 0).then(|| format!("- {rest} more\n"));
    let lines = outliers.iter().take(MAX_SHOWN).map(line);
    std::iter::once(head).chain(lines).chain(rest).collect()
}

fn issues(report: &WeekReport) -> String {
    if report.synthesis.issues.is_empty() {
        return String::new();
    }
    let lines = report.synthesis.issues.iter().map(|issue| {
        let count = counted(issue.sessions.len(), "session");
        let shares: Vec<String> = issue.agents.iter().map(share_words).collect();
        let turn = issue.example.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
        let also = also_words(issue).map(|also| format!("  - {}\n", escaped(&also)));
        format!(
            "- **{}** {count}, {}: {}\n{}  - Example (session {}{turn}): {}\n",
            escaped(&issue.title),
            escaped(&issue.dimension),
            escaped(&shares.join(", ")),
            also.unwrap_or_default(),
            escaped(&issue.example.session),
            escaped(&issue.example.rationale)
        )
    });
    std::iter::once("\n## Common issues\n\n".to_owned()).chain(lines).collect()
}

/// Formats a suggestion; its edit is in a code fence that its content cannot close.
pub(super) fn suggestion(suggestion: &Suggestion) -> String {
    let longest = suggestion.text.split(|char| char != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    let sessions: Vec<String> =
        suggestion.sessions.iter().map(|session| escaped(session)).collect();
    let evidence = match sessions.as_slice() {
        [] => String::new(),
        sessions => format!("\nEvidence: {}\n", sessions.join(", ")),
    };
    format!(
        "\n### {} ({})\n\n{}: {}\n\n{}:\n\n{fence}\n{}\n{fence}\n{evidence}",
        escaped(&suggestion.title),
        suggestion.severity.as_str(),
        escaped(&suggestion.dimension),
        escaped(&suggestion.reason),
        suggestion.edit.words(),
        suggestion.text
    )
}

/// Escapes a text for Markdown, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' => {
                out.extend(['\\', char]);
            }
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out
}
