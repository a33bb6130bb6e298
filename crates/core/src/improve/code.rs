use std::collections::BTreeSet;

/// A file of an agent's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFile {
    /// Below the root.
    pub path: String,
    pub text: String,
}

/// A line of a file, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine<'a> {
    pub file: &'a CodeFile,
    pub line: usize,
}

impl CodeLine<'_> {
    /// Returns `path:line`.
    pub fn cited(&self) -> String {
        format!("{}:{}", self.file.path, self.line)
    }
}

/// Words in paths of files that only tests read.
const TESTS: &[&str] = &["test", "spec.", "fixture"];
const JUDGES: &[&str] = &["judge", "rubric", "evaluator"];
const KNOWLEDGE: &[&str] = &["knowledge", "handbook", "faq", "help-center", "help_center"];
/// Stems of prompts that hold for all of an agent's requests.
const GENERAL: &[&str] = &["system", "system_prompt", "main", "agent", "prompt", "instructions"];
/// Lines below an agent's name in which its model stands.
const SECTION: usize = 8;

/// Returns the line of a tool's definition, else of its first mention outside prompts and tests.
pub fn find_tool<'a>(files: &'a [CodeFile], tool: &str) -> Option<CodeLine<'a>> {
    let keywords = ["def ", "fn ", "function ", "func ", "class ", "const ", "let ", "name"];
    let defines = |line: &str| names(line, tool) && keywords.iter().any(|word| line.contains(word));
    let is_code = |file: &&CodeFile| !is_prompt(file) && !has(&file.path, TESTS);
    let code: Vec<&CodeFile> = files.iter().filter(is_code).collect();
    find(&code, defines).or_else(|| find(&code, |line| names(line, tool)))
}

/// Returns the file that lists tools: the one outside prompts and tests that names the most of them,
/// and at least three.
pub fn find_registry<'a>(files: &'a [CodeFile], tools: &BTreeSet<&str>) -> Option<CodeLine<'a>> {
    let is_code = |file: &&CodeFile| !is_prompt(file) && !has(&file.path, TESTS);
    let counted = files
        .iter()
        .filter(is_code)
        .map(|file| (tools.iter().filter(|tool| names(&file.text, tool)).count(), file));
    // Of files with as many the first.
    let most = counted.rev().max_by_key(|(count, _)| *count).filter(|(count, _)| *count >= 3)?;
    let last = most
        .1
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| tools.iter().any(|tool| names(line, tool)));
    Some(CodeLine { file: most.1, line: last.last().map_or(1, |(at, _)| at + 1) })
}

/// Returns the last line of the prompt with one of these names, the first name first; else of the
/// general prompt, or of the only one.
pub fn find_prompt<'a>(files: &'a [CodeFile], wanted: &[&str]) -> Option<CodeLine<'a>> {
    let prompts: Vec<&CodeFile> = files.iter().filter(is_prompt).collect();
    let with_stem =
        |name: &str| prompts.iter().find(|file| plain(stem(&file.path)) == plain(name)).copied();
    let containing = |name: &str| {
        let is_part = |file: &&&CodeFile| plain(&file.path).contains(&plain(name));
        prompts.iter().find(is_part).copied().filter(|_| name.len() > 2)
    };
    let named = wanted.iter().find_map(|name| with_stem(name));
    let found = named
        .or_else(|| wanted.iter().find_map(|name| containing(name)))
        .or_else(|| GENERAL.iter().find_map(|name| with_stem(name)))
        .or(if let [only] = prompts.as_slice() { Some(*only) } else { None });
    found.map(last_line).or_else(|| {
        let all: Vec<&CodeFile> = files.iter().filter(|file| !has(&file.path, TESTS)).collect();
        find(&all, |line| line.to_lowercase().contains("system_prompt"))
    })
}

/// Returns the last line of the judge's prompt.
pub fn find_judge(files: &[CodeFile]) -> Option<CodeLine<'_>> {
    let is_judge = |file: &&CodeFile| has(&file.path, JUDGES) && !has(&file.path, TESTS);
    files.iter().find(is_judge).map(last_line)
}

/// Returns the last line of what the agent may know: a handbook or a knowledge base.
pub fn find_knowledge(files: &[CodeFile]) -> Option<CodeLine<'_>> {
    let is_known = |file: &&CodeFile| has(&file.path, KNOWLEDGE) && !has(&file.path, TESTS);
    files.iter().find(is_known).map(last_line)
}

/// Returns the line of the model's configuration, below the name of the agent where there is one.
pub fn find_model<'a>(
    files: &'a [CodeFile],
    model: &str,
    agent: Option<&str>,
) -> Option<CodeLine<'a>> {
    let of_agent = agent.and_then(|agent| {
        files.iter().find_map(|file| {
            let lines: Vec<&str> = file.text.lines().collect();
            let named = lines.iter().position(|line| names(line, agent))?;
            let below = lines.iter().skip(named).take(SECTION);
            let line = below.clone().position(|line| line.contains(model))?;
            Some(CodeLine { file, line: named + line + 1 })
        })
    });
    let all: Vec<&CodeFile> = files.iter().collect();
    of_agent.or_else(|| find(&all, |line| line.contains(model)))
}

fn is_prompt(file: &&CodeFile) -> bool {
    has(&file.path, &["prompt", "instructions"])
        && !has(&file.path, JUDGES)
        && !has(&file.path, TESTS)
}

fn has(path: &str, parts: &[&str]) -> bool {
    let path = path.to_lowercase();
    parts.iter().any(|part| path.contains(part))
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

/// Without what differs between names of agents and of files.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a text names an identifier: not as part of a longer one.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn last_line(file: &CodeFile) -> CodeLine<'_> {
    let lines = file.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    CodeLine { file, line: lines.last().map_or(1, |(at, _)| at + 1) }
}

fn find<'a>(files: &[&'a CodeFile], is_wanted: impl Fn(&str) -> bool) -> Option<CodeLine<'a>> {
    files.iter().find_map(|file| {
        let at = file.text.lines().position(&is_wanted)?;
        Some(CodeLine { file, line: at + 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<CodeFile> {
        let file =
            |(path, text): (&str, &str)| CodeFile { path: path.to_owned(), text: text.to_owned() };
        [
            (
                "config/models.toml",
                "[agents.orders]\nmodel = \"small\"\n[agents.help]\nmodel = \"small\"\n",
            ),
            ("judges/quality.md", "Rate it.\n"),
            ("knowledge/handbook.md", "# Handbook\n"),
            ("prompts/orders.md", "You handle orders.\nBe brief.\n\n"),
            ("prompts/refunds.md", "Call get_price.\n"),
            ("tools/price.py", "def get_price_list():\n    pass\n\ndef get_price():\n    pass\n"),
            ("tools/registry.py", "TOOLS = [\n  get_price,\n  get_price_list,\n  track,\n]\n"),
        ]
        .map(file)
        .to_vec()
    }

    #[test]
    fn lines_are_those_of_the_right_file() {
        let files = files();
        let cited = |line: Option<CodeLine<'_>>| line.map(|line| line.cited()).unwrap_or_default();
        assert_eq!(cited(find_tool(&files, "get_price")), "tools/price.py:4");
        assert_eq!(cited(find_tool(&files, "track")), "tools/registry.py:4");
        assert_eq!(cited(find_tool(&files, "get_stock")), "");
        let tools = BTreeSet::from(["get_price", "get_price_list", "track"]);
        assert_eq!(cited(find_registry(&files, &tools)), "tools/registry.py:4");
        assert_eq!(cited(find_prompt(&files, &["none", "Refunds"])), "prompts/refunds.md:1");
        assert_eq!(cited(find_prompt(&files, &["orders_agent", "orders"])), "prompts/orders.md:2");
        assert_eq!(cited(find_prompt(&files, &["billing"])), "", "not any prompt");
        assert_eq!(cited(find_model(&files, "small", Some("help"))), "config/models.toml:4");
        assert_eq!(cited(find_model(&files, "small", None)), "config/models.toml:2");
        assert_eq!(cited(find_judge(&files)), "judges/quality.md:1");
        assert_eq!(cited(find_knowledge(&files)), "knowledge/handbook.md:1");
    }
}
