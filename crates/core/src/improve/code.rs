/// A file of an agent's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFile {
    /// Below the root.
    pub path: String,
    pub text: String,
}

/// Returns `file:line` of a tool's definition, else of its first mention.
pub fn find_tool(files: &[CodeFile], tool: &str) -> Option<String> {
    let defines = |line: &str| {
        let keywords = ["def ", "fn ", "function ", "func ", "class ", "const ", "let ", "name"];
        line.contains(tool) && keywords.iter().any(|keyword| line.contains(keyword))
    };
    find(files, defines).or_else(|| find(files, |line| line.contains(tool)))
}

/// Returns `file:line` of the system prompt: a file that is named so, else a line that begins one.
pub fn find_prompt(files: &[CodeFile]) -> Option<String> {
    let is_prompt = |file: &&CodeFile| {
        let path = file.path.to_lowercase();
        path.contains("prompt") && !path.contains("judge") && !path.contains("test")
    };
    let named = files.iter().find(is_prompt).map(|file| format!("{}:1", file.path));
    named.or_else(|| find(files, |line| line.to_lowercase().contains("system_prompt")))
}

/// Returns `file:line` of the judge's prompt.
pub fn find_judge(files: &[CodeFile]) -> Option<String> {
    let is_judge = |file: &&CodeFile| {
        let path = file.path.to_lowercase();
        ["judge", "rubric", "evaluator"].iter().any(|part| path.contains(part))
    };
    files.iter().find(is_judge).map(|file| format!("{}:1", file.path))
}

/// Returns `file:line` of the model's configuration.
pub fn find_model(files: &[CodeFile], model: &str) -> Option<String> {
    find(files, |line| line.contains(model))
}

fn find(files: &[CodeFile], is_wanted: impl Fn(&str) -> bool) -> Option<String> {
    files.iter().find_map(|file| {
        let at = file.text.lines().position(&is_wanted)?;
        Some(format!("{}:{}", file.path, at + 1))
    })
}
