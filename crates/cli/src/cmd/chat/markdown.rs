//! Markdown, laid out for a terminal while it comes.
//!
//! It goes character by character, so that it cannot matter how a text was cut. Words are shown as
//! soon as nothing that follows can change how they read: emphasis that began is held back until it
//! ends, or until the line does. Line breaks stay where the agent made them. What was shown is never
//! taken back, so the same works on paper.

/// What kind of line it is.
mod lead;
/// What is set off within a line.
mod inline;
mod wrap;
mod table;

use super::sanitize::{char_columns, safe};
use super::style::{Marks, Style};
use inline::Span;
use lead::{Bullet, Extent, Fence, Lead};
use table::Table;
pub(crate) use wrap::seen_columns;
use wrap::{Flow, Margin};

/// How much is held back at most because something in it has not ended.
const MAX_HELD: usize = 512;
/// How much of a line is looked at to know what it begins.
const MAX_LEAD: usize = 64;
/// How much of a table is held back at most.
const MAX_TABLE: usize = 64 * 1024;

/// A text on its way to the terminal.
#[derive(Debug)]
pub(crate) struct Markdown {
    style: Style,
    flow: Flow,
    at: At,
    /// What came and was not shown: a line's beginning, or a part of one in which something has
    /// not ended.
    held: String,
    /// Lines that may be a table.
    rows: Vec<String>,
    /// Indents of the lists that are open, outermost first.
    lists: Vec<usize>,
    /// How far the words of the last item are from the left.
    hang: usize,
    quotes: usize,
    gap: Gap,
}

#[derive(Debug)]
enum At {
    /// The beginning of a line.
    Start,
    /// A line whose kind is known only at its end.
    Line,
    /// Words, set off in this way.
    Words(Marks),
    Code(Fence),
}

/// What is between the last line and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// There is no last line.
    Nothing,
    Close,
    /// An empty line.
    Wide,
}

impl Markdown {
    /// A text of which nothing came yet, for a terminal that is so wide.
    pub(crate) fn new(width: usize, style: Style) -> Self {
        Self {
            style,
            flow: Flow::new(width, style),
            at: At::Start,
            held: String::new(),
            rows: Vec::new(),
            lists: Vec::new(),
            hang: 0,
            quotes: 0,
            gap: Gap::Nothing,
        }
    }

    /// The terminal is so wide from now on.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.flow.set_width(width);
    }

    /// Where the line that is open ends; 0 if none is.
    pub(crate) fn column(&self) -> usize {
        self.flow.column()
    }

    /// Takes what comes next, and gives what can be shown.
    pub(crate) fn push(&mut self, text: &str) -> String {
        for c in text.chars().filter(|c| *c != '\r') {
            self.step(safe(c));
        }
        self.flow.take()
    }

    /// Gives the rest, with the end of its last line, and makes ready for another text.
    pub(crate) fn finish(&mut self) -> String {
        let is_at_start = matches!(self.at, At::Start) && self.held.is_empty();
        if !is_at_start {
            self.step('\n');
        }
        self.end_table();
        self.at = At::Start;
        self.lists.clear();
        self.gap = Gap::Nothing;
        self.flow.take()
    }

    fn step(&mut self, c: char) {
        match (&self.at, c) {
            (At::Start | At::Line, '\n') => {
                self.at = At::Start;
                let line = std::mem::take(&mut self.held);
                self.quotes = 0;
                self.begin(line, Extent::Whole);
                if let At::Words(_) = self.at {
                    self.end_words();
                }
            }
            (At::Start, c) => {
                self.held.push(c);
                let line = std::mem::take(&mut self.held);
                self.quotes = 0;
                self.begin(line, Extent::Part);
            }
            (At::Words(_), '\n') => self.end_words(),
            (At::Words(marks), c) => {
                let marks = *marks;
                self.held.push(c);
                if c.is_whitespace() || char_columns(c) > 1 || self.held.len() > MAX_HELD {
                    self.show_held(marks);
                }
            }
            (At::Code(fence), '\n') => {
                let (line, fence) = (std::mem::take(&mut self.held), fence.clone());
                self.code_line(&line, &fence);
            }
            (At::Code(_) | At::Line, c) => self.held.push(c),
        }
    }

    /// Takes the beginning of a line, or holds it back until it is known what it begins.
    fn begin(&mut self, line: String, extent: Extent) {
        let mut lead = Lead::read(&line, extent);
        while let Some(Lead::Quote(rest)) = lead {
            self.quotes += 1;
            lead = Lead::read(&rest, extent);
        }
        let Some(lead) = lead else {
            // Parsing it again with each character would take quadratic time.
            self.at = if line.len() > MAX_LEAD { At::Line } else { At::Start };
            self.held = line;
            return;
        };
        if lead == Lead::Row {
            return self.row(line);
        }
        self.end_table();
        match lead {
            Lead::Blank | Lead::Quote(_) | Lead::Row => {
                if self.gap == Gap::Close {
                    self.gap = Gap::Wide;
                }
            }
            Lead::Heading(depth, rest) => {
                self.lists.clear();
                self.widen();
                let marks =
                    if depth == 1 { Marks::BOLD.and(Marks::UNDERLINED) } else { Marks::BOLD };
                self.open(self.margin(0, Vec::new()), marks, &rest);
            }
            Lead::Item(indent, bullet, rest) => self.item(indent, &bullet, &rest),
            Lead::Fence(fence) => {
                self.lists.retain(|list| *list < fence.indent);
                self.fence(fence);
            }
            Lead::Rule => {
                self.close_gap();
                self.flow.begin(self.margin(0, Vec::new()));
                let length = (self.flow.width() / 2).min(40);
                self.flow.letters(&"─".repeat(length), Marks::DIM);
                self.flow.end();
            }
            Lead::Words(indent, rest) => {
                if indent == 0 {
                    self.lists.clear();
                }
                let inset = if self.lists.is_empty() { 0 } else { self.hang };
                self.open(self.margin(inset, Vec::new()), Marks::NONE, &rest);
            }
        }
    }

    fn open(&mut self, margin: Margin, marks: Marks, words: &str) {
        self.close_gap();
        self.flow.begin(margin);
        self.at = At::Words(marks);
        for c in words.chars() {
            self.step(c);
        }
    }

    fn item(&mut self, indent: usize, bullet: &Bullet, rest: &str) {
        while self.lists.last().is_some_and(|last| *last >= indent) {
            self.lists.pop();
        }
        let depth = self.lists.len();
        self.lists.push(indent);
        let mark = match bullet {
            Bullet::Number(number) => format!("{number} "),
            Bullet::Dot if depth.is_multiple_of(2) => "• ".to_owned(),
            Bullet::Dot => "◦ ".to_owned(),
        };
        let inset = depth * 2;
        self.hang = inset + mark.chars().count();
        let first = Span { text: format!("{}{mark}", " ".repeat(inset)), marks: Marks::NONE };
        let margin = self.margin(self.hang, vec![first]);
        self.open(margin, Marks::NONE, rest);
    }

    /// Left margin: bars for quotations, then an indent or a list marker.
    fn margin(&self, inset: usize, first: Vec<Span>) -> Margin {
        let bars = Span { text: "│ ".repeat(self.quotes), marks: Marks::DIM };
        let rest = Span { text: " ".repeat(inset), marks: Marks::NONE };
        let first = if first.is_empty() { vec![rest.clone()] } else { first };
        let first = std::iter::once(bars.clone()).chain(first).collect();
        Margin { first, rest: vec![bars, rest] }
    }

    fn show_held(&mut self, marks: Marks) {
        let read = inline::read(&self.held, marks);
        if !read.is_open || self.held.len() > MAX_HELD {
            self.flow.words(&read.spans);
            self.held.clear();
        }
    }

    fn end_words(&mut self) {
        if let At::Words(marks) = self.at {
            let read = inline::read(self.held.trim_end_matches(['\\', ' ']), marks);
            self.flow.words(&read.spans);
        }
        self.held.clear();
        self.flow.end();
        self.at = At::Start;
    }

    fn fence(&mut self, fence: Fence) {
        self.close_gap();
        if !fence.language.is_empty() {
            self.flow.begin(self.code_margin());
            self.flow.letters(&fence.language, Marks::DIM);
            self.flow.end();
        }
        self.at = At::Code(fence);
    }

    fn code_margin(&self) -> Margin {
        let inset = if self.lists.is_empty() { 0 } else { self.hang };
        self.margin(inset + 2, Vec::new())
    }

    fn code_line(&mut self, line: &str, fence: &Fence) {
        if fence.is_ended_by(line) && !line.trim().is_empty() {
            self.at = At::Start;
            return;
        }
        let spare = line.chars().take(fence.indent).take_while(|c| *c == ' ').count();
        let line: String = line.chars().skip(spare).collect();
        self.flow.begin(self.code_margin());
        self.flow.letters(line.replace('\t', "    ").trim_end(), Marks::CODE);
        self.flow.end();
    }

    fn row(&mut self, line: String) {
        let held: usize = self.rows.iter().map(String::len).sum();
        if held > MAX_TABLE {
            self.end_table();
        }
        self.rows.push(line);
    }

    /// Shows the lines that were held back because they may be a table.
    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return;
        }
        self.close_gap();
        let inset = if self.lists.is_empty() { 0 } else { self.hang };
        let margin = self.margin(inset, Vec::new());
        if let Some(table) = Table::read(&rows) {
            return table.show(&mut self.flow, self.style, &margin);
        }
        for row in &rows {
            self.flow.begin(margin.clone());
            self.flow.words(&inline::read(row.trim(), Marks::NONE).spans);
            self.flow.end();
        }
    }

    fn widen(&mut self) {
        if self.gap == Gap::Close {
            self.gap = Gap::Wide;
        }
    }

    fn close_gap(&mut self) {
        if self.gap == Gap::Wide {
            self.flow.blank();
        }
        self.gap = Gap::Close;
    }
}

#[cfg(test)]
mod tests;
