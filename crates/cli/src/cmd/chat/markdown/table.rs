use super::inline::{self, Span};
use super::wrap::{self, Flow, Margin};
use crate::cmd::chat::sanitize::columns;
use crate::cmd::chat::style::{Marks, Style};

/// More columns than this are no table for a terminal.
const MAX_COLUMNS: usize = 24;
/// Width of a column separator.
const GAP: usize = 3;
/// Narrower than this a column is not made.
const MIN_COLUMN: usize = 4;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Middle,
    Right,
}

#[derive(Debug)]
pub(super) struct Table {
    sides: Vec<Side>,
    /// Rows of cells, the first being the head.
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    /// Reads lines that may be a table.
    pub(super) fn read(lines: &[String]) -> Option<Self> {
        let [head, under, body @ ..] = lines else { return None };
        let sides: Option<Vec<Side>> = cells(under).iter().map(|cell| side(cell)).collect();
        let sides = sides.filter(|sides| (1..=MAX_COLUMNS).contains(&sides.len()))?;
        if cells(head).len() != sides.len() {
            return None;
        }
        let row = |line: &String, marks: Marks| {
            let mut row: Vec<Vec<Span>> =
                cells(line).iter().map(|cell| inline::read(cell, marks).spans).collect();
            row.resize(sides.len(), Vec::new());
            row
        };
        let rows = std::iter::once(row(head, Marks::BOLD));
        let rows = rows.chain(body.iter().map(|line| row(line, Marks::NONE))).collect();
        Some(Self { sides, rows })
    }

    pub(super) fn show(&self, flow: &mut Flow, style: Style, margin: &Margin) {
        let taken: usize = margin.rest.iter().map(|span| columns(&span.text)).sum();
        let widths = self.widths(flow.width().saturating_sub(taken));
        for (number, row) in self.rows.iter().enumerate() {
            self.show_row(row, &widths, flow, (style, margin));
            if number == 0 {
                let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                line(flow, &[Span { text: lines.join("─┼─"), marks: Marks::DIM }], margin);
            }
        }
    }

    fn show_row(
        &self,
        row: &[Vec<Span>],
        widths: &[usize],
        flow: &mut Flow,
        (style, margin): (Style, &Margin),
    ) {
        let laid: Vec<Vec<(String, usize)>> =
            row.iter().zip(widths).map(|(cell, width)| wrap::lines(cell, *width, style)).collect();
        let height = laid.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let mut text = String::new();
            for (index, (cell, width)) in laid.iter().zip(widths).enumerate() {
                if index > 0 {
                    text.push_str(&style.paint(" │ ", Marks::DIM));
                }
                let nothing = (String::new(), 0);
                let (piece, taken) = cell.get(at).unwrap_or(&nothing);
                let room = width.saturating_sub(*taken);
                let left = match self.sides.get(index) {
                    Some(Side::Right) => room,
                    Some(Side::Middle) => room / 2,
                    _ => 0,
                };
                let is_last = index + 1 == widths.len();
                let right = if is_last { 0 } else { room - left };
                text.push_str(&format!("{}{piece}{}", " ".repeat(left), " ".repeat(right)));
            }
            flow.begin(margin.clone());
            flow.painted(&text);
            flow.end();
        }
    }

    /// How wide each column is: as wide as it wants, or the widest ones less until all fit.
    fn widths(&self, room: usize) -> Vec<usize> {
        let wanted = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| cell.iter().map(|span| columns(&span.text)).sum()).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> =
            (0..self.sides.len()).map(|index| wanted(index).max(1)).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > MIN_COLUMN)
            else {
                break;
            };
            *widest -= 1;
        }
        widths
    }
}

/// A line of its own.
fn line(flow: &mut Flow, spans: &[Span], margin: &Margin) {
    flow.begin(margin.clone());
    for span in spans {
        flow.letters(&span.text, span.marks);
    }
    flow.end();
}

fn side(cell: &str) -> Option<Side> {
    let dashes = cell.strip_prefix(':').unwrap_or(cell);
    let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
    let is_side = !dashes.is_empty() && dashes.chars().all(|c| c == '-');
    is_side.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Side::Middle,
        (false, true) => Side::Right,
        _ => Side::Left,
    })
}

/// The cells of a row. A bar after a backslash, or in code, is part of a cell.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut is_escaped, mut is_code) = (false, false);
    let line = line.trim();
    for c in line.strip_prefix('|').unwrap_or(line).chars() {
        let Some(last) = cells.last_mut() else { break };
        match c {
            '|' if is_escaped => {
                last.pop();
                last.push('|');
            }
            '|' if !is_code => cells.push(String::new()),
            _ => last.push(c),
        }
        is_code ^= c == '`' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
    }
    if cells.len() > 1 && cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}
