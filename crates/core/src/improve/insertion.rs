use super::code::CodeLine;

/// Lines of context of a unified diff.
const CONTEXT: usize = 3;

/// Returns a unified diff that inserts a line of text below a line of a file; `None` where a diff
/// could not be applied to it, such as for paths that diffs quote.
///
/// ```
/// use ratchet_core::improve::code::{CodeFile, CodeLine};
/// use ratchet_core::improve::insertion::inserted;
/// let file = CodeFile { path: "prompt.md".to_owned(), text: "Be kind.\n".to_owned() };
/// let diff = inserted(&CodeLine { file: &file, line: 1 }, "Be brief.");
/// assert_eq!(
///     diff.unwrap(),
///     "--- a/prompt.md\n+++ b/prompt.md\n@@ -1,1 +1,2 @@\n Be kind.\n+Be brief.\n",
/// );
/// ```
pub fn inserted(below: &CodeLine<'_>, added: &str) -> Option<String> {
    let CodeLine { file, line } = below;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let is_text = file.text.ends_with('\n') && !file.text.contains('\r');
    if !is_text || !file.path.chars().all(is_plain) || added.contains(['\n', '\r']) {
        return None;
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let (from, to) = (line.saturating_sub(CONTEXT), (line + CONTEXT).min(lines.len()));
    let (before, after) = (lines.get(from..*line)?, lines.get(*line..to)?);
    let count = before.len() + after.len();
    let shown = |part: &[&str]| part.iter().map(|line| format!(" {line}\n")).collect::<String>();
    Some(format!(
        "--- a/{path}\n+++ b/{path}\n@@ -{start},{count} +{start},{more} @@\n{}+{added}\n{}",
        shown(before),
        shown(after),
        path = file.path,
        start = from + 1,
        more = count + 1,
    ))
}
