use super::{PastMessage, TruncatedSection};
use crate::judge::judge_prompt::quoting::QuotedText;
use crate::record::tokens::Tokens;

/// Shares a budget out: evenly, but none gets more than it wants, and what it leaves goes to the
/// others.
pub(super) fn shares(wanted: &[u64], room: u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|index| wanted.get(*index));
    let mut shares = vec![0; wanted.len()];
    let mut left = room;
    let mut waiting = wanted.len() as u64;
    for index in order {
        let want = wanted.get(index).copied().unwrap_or_default();
        let share = want.min(left / waiting.max(1));
        if let Some(slot) = shares.get_mut(index) {
            *slot = share;
        }
        left -= share;
        waiting -= 1;
    }
    shares
}

/// The longest cut of a text that has at most so many tokens, or the shortest there is.
pub(super) fn shortest(len: usize, tokens: u64, cut: impl Fn(usize) -> String) -> String {
    let mut bytes = usize::try_from(tokens.saturating_mul(4)).unwrap_or(len).min(len);
    loop {
        let short = cut(bytes);
        if bytes == 0 || Tokens::approximate(&short).count <= tokens {
            return short;
        }
        bytes = bytes / 8 * 7;
    }
}

/// What was said before, written down.
pub(super) struct FitRequest {
    /// Each with how many tokens it takes, oldest first.
    written: Vec<(String, u64)>,
    last: Option<PastMessage>,
}

impl FitRequest {
    pub(super) fn of(history: &[PastMessage]) -> Self {
        let written = history.iter().map(|words| {
            let text = tell(words, usize::MAX);
            let tokens = Tokens::approximate(&text).count;
            (text, tokens)
        });
        Self { written: written.collect(), last: history.last().cloned() }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.written.iter().map(|(_, tokens)| tokens).sum()
    }

    /// As much of it as fits, newest first; the very last words are cut rather than left out.
    pub(super) fn newest(&self, room: u64, cuts: &mut Vec<TruncatedSection>) -> String {
        let Some(last) = &self.last else { return String::new() };
        let mut left = room;
        let fits = |(_, tokens): &&(String, u64)| {
            let fits = *tokens <= left;
            left = left.saturating_sub(*tokens);
            fits
        };
        let kept = self.written.iter().rev().take_while(fits).count();
        let first = self.written.len() - kept;
        let mut parts: Vec<String> =
            self.written.iter().skip(first).map(|(text, _)| text.clone()).collect();
        if kept == 0 {
            parts.push(shortest(last.text.len(), room, |bytes| tell(last, bytes)));
        }
        let shown: u64 = parts.iter().map(|part| Tokens::approximate(part).count).sum();
        let mut heading = "# What was said before".to_owned();
        if first > 0 {
            let what = format!("earlier conversation ({first} of {} turns)", self.written.len());
            cuts.push(TruncatedSection { what, kept: shown, of: self.tokens() });
            heading.push_str(&format!(
                " (the first {} of {} turns are left out)",
                first.min(self.written.len() - 1),
                self.written.len()
            ));
        }
        format!("{heading}\n{}", parts.join("\n"))
    }
}

fn tell(words: &PastMessage, most: usize) -> String {
    let mut sheet = QuotedText::default();
    sheet.line(format_args!("{}:", words.by.as_str())).block(&words.text, most);
    sheet.into_text()
}
