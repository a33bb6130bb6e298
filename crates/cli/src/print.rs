use std::io::{self, IsTerminal, Write};

use clap::Args;
use serde::Serialize;

pub(crate) use ratchet_core::size::bytes_text;

/// How a command answers.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct OutputArgs {
    /// Print JSON to stdout only
    #[arg(long)]
    pub(crate) json: bool,
}

impl OutputArgs {
    /// Prints an answer: the value itself as JSON, or its text for people.
    pub(crate) fn show<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> io::Result<()> {
        print(&self.text(value, text)?)
    }

    /// An answer as it is printed.
    pub(crate) fn text<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> io::Result<String> {
        if self.json { Ok(serde_json::to_string_pretty(value)? + "\n") } else { Ok(text(value)) }
    }
}

/// Prints a text to stdout. Unlike `print!` it reports a reader that went away.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Lays rows out in columns as wide as their widest cell.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    });
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let body = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    std::iter::once(line(head)).chain(body).collect()
}

/// A cell that stays one: names may contain any character.
pub(crate) fn one_line(text: &str) -> String {
    without_control_characters(text).take(80).collect::<String>().trim_end().to_owned()
}

/// A text without terminal escape sequences.
pub(crate) fn without_control_characters(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if c.is_control() { ' ' } else { c })
}

/// Says on stderr how far long work has come, if a person is watching.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    bytes: u64,
    shown: u64,
    is_watched: bool,
}

/// How often progress is shown.
const PROGRESS_STEP: u64 = 8_000_000;

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, bytes: 0, shown: 0, is_watched: io::stderr().is_terminal() }
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.is_watched && self.bytes - self.shown >= PROGRESS_STEP {
            self.shown = self.bytes;
            eprintln!("{} {}", self.what, bytes_text(self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "long cell".to_owned()], ["bbbb".to_owned(), String::new()]];
        assert_eq!(table(["K", "V"], &rows), "K     V\na     long cell\nbbbb\n");
    }
}
