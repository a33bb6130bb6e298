use std::path::Path;
use std::process::{Command, Output};

use super::Ci;

/// A script of the documentation, and the heading that it is below.
struct Example {
    heading: String,
    script: String,
}

/// The scripts of the documentation: blocks of shell, and steps in blocks of YAML.
fn examples() -> Vec<Example> {
    let text = include_str!("../../../../../docs/gate.md");
    let mut examples = Vec::new();
    for part in text.split("\n## ").skip(1) {
        let heading = part.lines().next().unwrap().to_owned();
        for block in part.split("\n```").skip(1) {
            let script = match (block.strip_prefix("sh\n"), block.strip_prefix("yaml\n")) {
                (Some(script), _) => script.to_owned(),
                (None, Some(yaml)) => step_of(yaml),
                (None, None) => continue,
            };
            examples.push(Example { heading: heading.clone(), script });
        }
    }
    examples
}

/// The script of the only step: the block scalar after `|`.
fn step_of(yaml: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = yaml.lines().skip_while(|line| !line.ends_with('|'));
    let outer = indent(lines.next().unwrap());
    let inner = lines.take_while(|line| indent(line) > outer);
    inner.map(|line| format!("{}\n", line.trim_start())).collect()
}

fn run(ci: &Ci, script: &str, variables: &[(&str, &str)]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_ratchet")).parent().unwrap().display().to_string();
    Command::new("bash")
        .args(["-e", "-c", script])
        .current_dir(ci.folder.path())
        .env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap()))
        .env("SERVER_URL", ci.running.web())
        .env("RATCHET_PUBLIC_KEY", ratchet_testkit::process::PUBLIC_KEY)
        .env("RATCHET_SECRET_KEY", ratchet_testkit::process::SECRET_KEY)
        .env("GITHUB_STEP_SUMMARY", ci.file("summary.md"))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// Every example runs as it is printed: with an agent that passes, and with one that does not.
#[test]
fn the_examples_of_the_documentation_run() {
    let ci = Ci::start();
    let examples = examples();
    let headings: Vec<&str> = examples.iter().map(|example| example.heading.as_str()).collect();
    let expected = [
        "From nothing to a verdict",
        "Plain shell",
        "Interrupted gates, and what they cost",
        "GitHub Actions",
        "GitLab",
    ];
    assert_eq!(headings, expected);
    for Example { heading, script } in &examples {
        // The first one brings its own agent.
        let cases = [("1", 0), ("35", 3)];
        let cases = if heading == expected[0] { &cases[..1] } else { &cases[..] };
        for (wrong, code) in cases {
            let done = run(&ci, script, &[("WRONG", wrong), ("COMMIT", wrong)]);
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(*code), "{script}\n{said}");
        }
    }
    assert!(std::fs::read_to_string(ci.file("summary.md")).unwrap().contains("## Gate: BLOCK"));
}
