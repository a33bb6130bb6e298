use super::{ScoringView, SessionView, summary};
use crate::print::without_control_characters;

/// Sessions of the short table.
pub(in crate::cmd::score) const MAX_ROWS: usize = 20;
/// Columns of a line.
const WIDTH: usize = 100;
/// Columns of an overall mark with its bar, and of the number of traces.
const OVERALL: usize = 15;
const TRACES: usize = 6;

/// The worst sessions by their first request, in 100 columns.
pub(in crate::cmd::score) fn short(view: &ScoringView) -> String {
    with_summary(view, short_rows)
}

/// All sessions with all dimensions.
pub(in crate::cmd::score) fn wide(view: &ScoringView) -> String {
    with_summary(view, wide_rows)
}

fn with_summary(view: &ScoringView, rows: fn(&ScoringView) -> String) -> String {
    let rows = if view.sessions.is_empty() { String::new() } else { rows(view) + "\n" };
    rows + &summary(view)
}

fn short_rows(view: &ScoringView) -> String {
    let sessions = view.worst_first();
    let listed: Vec<&SessionView> = sessions.iter().take(MAX_ROWS).copied().collect();
    let widths = listed.iter().map(|session| shown(&session.session_id).chars().count());
    let id_width = widths.max().unwrap_or(0).max("ID".len());
    let room = WIDTH - OVERALL - TRACES - id_width - 3 * "  ".len();
    let line = |overall: &str, traces: &str, title: &str, id: &str| {
        let title = cut(title, room);
        format!("{overall:OVERALL$}  {traces:>TRACES$}  {title:room$}  {id}").trim_end().to_owned()
            + "\n"
    };
    let row = |session: &SessionView| {
        let traces = session.traces.map_or_else(|| "?".to_owned(), |traces| traces.to_string());
        let title = view.titles.iter().find(|(id, _)| id.to_string() == session.session_id);
        let title = title.map(|(_, title)| title.as_str()).unwrap_or_default();
        line(&mark(session.overall_quality, 10), &traces, title, &shown(&session.session_id))
    };
    let head = line("OVERALL", "TRACES", "FIRST REQUEST", "ID");
    let rows: String = listed.into_iter().map(row).collect();
    let left = sessions.len().saturating_sub(MAX_ROWS);
    let more = match left {
        0 => String::new(),
        left => format!("… {left} more with higher marks; --wide shows all, with all dimensions\n"),
    };
    head + &rows + &more
}

/// All sessions with a bar for each dimension, worst first.
fn wide_rows(view: &ScoringView) -> String {
    let ids = view.sessions.iter().map(|session| shown(&session.session_id).chars().count());
    let id_width = ids.max().unwrap_or(0).max("SESSION".len());
    let widths: Vec<usize> = view.dimensions.iter().map(|name| name.len().max(10)).collect();
    let mut text = format!("{:id_width$}  {:>6}  {:15}", "SESSION", "TRACES", "OVERALL");
    for (name, width) in view.dimensions.iter().zip(&widths) {
        text += &format!("  {name:width$}");
    }
    text = text.trim_end().to_owned() + "\n";
    for session in view.worst_first() {
        let traces = session.traces.map_or_else(|| "?".to_owned(), |traces| traces.to_string());
        let mut line = format!(
            "{:id_width$}  {traces:>6}  {}",
            shown(&session.session_id),
            mark(session.overall_quality, 10)
        );
        for (name, width) in view.dimensions.iter().zip(&widths) {
            line += &format!("  {:width$}", mark(session.dimensions.value(name), 5));
        }
        text += line.trim_end();
        text += "\n";
    }
    text
}

/// A bar of a few characters for a mark from 0 to 1.
pub(super) fn bar(value: f64, width: u32) -> String {
    const PARTS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    let eighths = (value.clamp(0.0, 1.0) * f64::from(width) * 8.0).round();
    (0..width)
        .map(|target| {
            let left = (eighths - f64::from(target) * 8.0).clamp(0.0, 8.0);
            let filled = PARTS.iter().zip(0_u32..).find(|(_, eighth)| f64::from(*eighth) >= left);
            filled.map_or('█', |(part, _)| *part)
        })
        .collect()
}

pub(super) fn mark(value: Option<f64>, width: u32) -> String {
    match value {
        Some(value) => format!("{} {value:.2}", bar(value, width)),
        None => "–".to_owned(),
    }
}

/// A session's id, cut to what a line has room for.
pub(super) fn shown(id: &str) -> String {
    const ROOM: usize = 36;
    if id.chars().count() <= ROOM {
        return id.to_owned();
    }
    id.chars().take(ROOM - 1).chain(['…']).collect()
}

/// A text of one line, cut to a width.
fn cut(text: &str, width: usize) -> String {
    let clean: String = without_control_characters(text).collect();
    if clean.chars().count() <= width {
        return clean;
    }
    clean.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_marks_are_high() {
        assert_eq!(bar(0.0, 4), "    ");
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(0.3, 4), "█▎  ");
    }
}
