use super::inline::Span;
use crate::cmd::chat::sanitize::{char_columns, columns};
use crate::cmd::chat::style::{Marks, Style};

/// Narrower than this nothing can be laid out.
const MIN_WIDTH: usize = 20;

/// Left margin of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Margin {
    pub(super) first: Vec<Span>,
    /// Of those that follow it.
    pub(super) rest: Vec<Span>,
}

impl Margin {
    fn columns(spans: &[Span]) -> usize {
        spans.iter().map(|span| columns(&span.text)).sum()
    }
}

/// Lays words out in lines. What was laid out is taken from it piece by piece.
#[derive(Debug)]
pub(super) struct Flow {
    style: Style,
    width: usize,
    margin: Margin,
    column: usize,
    /// Whether white space came since the last word.
    has_space: bool,
    /// Whether the line has only its margin yet.
    is_fresh: bool,
    out: String,
}

/// A word: pieces that are set off in different ways, and how wide it is.
#[derive(Debug, Default)]
struct Word {
    pieces: Vec<Span>,
    columns: usize,
}

impl Word {
    fn push(&mut self, c: char, marks: Marks) {
        self.columns += char_columns(c);
        match self.pieces.last_mut() {
            Some(last) if last.marks == marks => last.text.push(c),
            _ => self.pieces.push(Span { text: c.to_string(), marks }),
        }
    }
}

impl Flow {
    pub(super) fn new(width: usize, style: Style) -> Self {
        let margin = Margin::default();
        let mut flow = Self {
            style,
            width,
            margin,
            column: 0,
            has_space: false,
            is_fresh: true,
            out: String::new(),
        };
        flow.set_width(width);
        flow
    }

    /// How wide lines may be from now on. The last column stays free: what is written there
    /// leaves the cursor where terminals disagree about.
    pub(super) fn set_width(&mut self, width: usize) {
        self.width = width.max(MIN_WIDTH).saturating_sub(1);
    }

    /// Columns that a line can have.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Where the line that is open ends.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Takes the output since the last call.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    pub(super) fn begin(&mut self, margin: Margin) {
        self.margin = margin;
        let first = std::mem::take(&mut self.margin.first);
        self.put_all(&first);
        self.has_space = false;
        self.is_fresh = true;
    }

    pub(super) fn end(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// An empty line.
    pub(super) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Lays words out. A word that goes on in the next call is broken there if need be.
    pub(super) fn words(&mut self, spans: &[Span]) {
        let mut word = Word::default();
        for span in spans {
            for c in span.text.chars() {
                if c.is_whitespace() {
                    self.word(&std::mem::take(&mut word));
                    self.has_space = true;
                } else if char_columns(c) > 1 {
                    // Scripts of wide characters have no spaces between words.
                    self.word(&std::mem::take(&mut word));
                    word.push(c, span.marks);
                    self.word(&std::mem::take(&mut word));
                } else {
                    word.push(c, span.marks);
                }
            }
        }
        self.word(&word);
    }

    /// Lays a text out letter by letter, with all its spaces.
    pub(super) fn letters(&mut self, text: &str, marks: Marks) {
        let mut piece = String::new();
        let mut room = self.width.saturating_sub(self.column);
        for c in text.chars() {
            let wide = char_columns(c);
            if wide > room {
                self.put(&piece, marks);
                piece.clear();
                self.turn();
                room = self.width.saturating_sub(self.column);
            }
            piece.push(c);
            room = room.saturating_sub(wide);
        }
        self.put(&piece, marks);
    }

    /// Adds a text that was laid out elsewhere.
    pub(super) fn painted(&mut self, text: &str) {
        self.column += seen_columns(text);
        self.out.push_str(text);
    }

    fn word(&mut self, word: &Word) {
        if word.pieces.is_empty() {
            return;
        }
        let has_space = std::mem::take(&mut self.has_space) && !self.is_fresh;
        let wanted = word.columns + usize::from(has_space);
        let fits = self.column + wanted <= self.width;
        if !fits && !self.is_fresh {
            self.turn();
        } else if has_space {
            self.out.push(' ');
            self.column += 1;
        }
        for piece in &word.pieces {
            self.letters(&piece.text, piece.marks);
        }
        self.is_fresh = false;
    }

    /// Goes on in the next line.
    fn turn(&mut self) {
        self.end();
        let rest = std::mem::take(&mut self.margin.rest);
        self.put_all(&rest);
        self.margin.rest = rest;
        self.is_fresh = true;
    }

    fn put_all(&mut self, spans: &[Span]) {
        // A margin that leaves no room for words does without itself.
        if Margin::columns(spans) + 4 <= self.width {
            spans.iter().for_each(|span| self.put(&span.text, span.marks));
        }
    }

    fn put(&mut self, text: &str, marks: Marks) {
        self.column += columns(text);
        self.out.push_str(&self.style.paint(text, marks));
    }
}

/// Wraps a text into lines, each with its width in columns.
pub(super) fn lines(spans: &[Span], width: usize, style: Style) -> Vec<(String, usize)> {
    let mut flow = Flow::new(MIN_WIDTH, style);
    flow.width = width.max(1);
    let mut lines = Vec::new();
    flow.words(spans);
    let last = flow.column();
    let text = flow.take();
    let all: Vec<&str> = text.split('\n').collect();
    for (index, line) in all.iter().enumerate() {
        let columns = if index + 1 == all.len() { last } else { seen_columns(line) };
        lines.push(((*line).to_owned(), columns));
    }
    lines
}

/// How many columns a painted text takes. Only our own paint begins with an escape.
pub(crate) fn seen_columns(painted: &str) -> usize {
    let mut seen = String::new();
    let mut chars = painted.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| *c == 'm');
        } else {
            seen.push(c);
        }
    }
    columns(&seen)
}
