//! How tests wait: `testkit::wait` has the one deadline.

use super::{Offence, SourceFile, report, repository, test_lines};

/// The file that waits for everybody else.
const WAIT: &str = "crates/testkit/src/wait.rs";

fn sample(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.to_owned(), text: text.to_owned() }
}

fn lines_with(file: &SourceFile, is_bad: impl Fn(&str) -> bool) -> Vec<Offence> {
    let bad = test_lines(file).filter(|(_, line)| file.path != WAIT && is_bad(line));
    bad.map(|(number, line)| file.offence(number, line.trim())).collect()
}

fn sleeps(file: &SourceFile) -> Vec<Offence> {
    lines_with(file, |line| line.contains("sleep("))
}

#[test]
fn no_test_sleeps() {
    let text = "fn a() {}\nmod tests {\n    thread::sleep(SECOND);";
    for path in ["crates/core/src/a.rs", "crates/core/tests/a.rs", "crates/core/src/a/tests.rs"] {
        assert_eq!(sleeps(&sample(path, text)).len(), 1, "{path}");
    }
    let offences = repository().iter().flat_map(sleeps).collect();
    report(offences, "wait for the event itself, or pause the clock, instead of sleeping");
}

/// Lines that yield within a `while` or `loop`, however deep.
fn busy_loops(file: &SourceFile) -> Vec<Offence> {
    let mut offences = Vec::new();
    // The lines that enclose the current one.
    let mut enclosing: Vec<(usize, &str)> = Vec::new();
    for (number, line) in test_lines(file) {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        enclosing.retain(|(outer, _)| text.is_empty() || *outer < indentation);
        let is_in_loop =
            enclosing.iter().any(|(_, text)| text.contains("while ") || text.contains("loop {"));
        if is_in_loop && text.contains("yield_now(") {
            offences.push(file.offence(number, text));
        }
        enclosing.push((indentation, text));
    }
    offences
}

#[test]
fn no_test_waits_in_a_busy_loop() {
    let found = |text: &str| busy_loops(&sample("crates/core/tests/a.rs", text)).len();
    assert_eq!(found("while !is_done() {\n    tokio::task::yield_now().await;\n}"), 1);
    assert_eq!(found("loop {\n    match a() {\n        _ => thread::yield_now(),\n    }\n}"), 1);
    assert_eq!(found("while a() {\n    b();\n}\nthread::yield_now();"), 0);
    let offences = repository().iter().flat_map(busy_loops).collect();
    let advice = "use testkit::wait::until or until_async: a loop of yield_now takes the processor \
                  from what it waits for, and hangs the run if that never comes";
    report(offences, advice);
}

/// Loops that do nothing but check their condition, which rustfmt writes as `while … {}`, or with
/// the braces on a line of their own below a long condition.
fn empty_loops(file: &SourceFile) -> Vec<Offence> {
    let mut offences = Vec::new();
    // The last line of each indentation.
    let mut above: Vec<(usize, &str)> = Vec::new();
    for (number, line) in test_lines(file) {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        above.retain(|(other, _)| *other <= indentation);
        let is_below_condition = text == "{}"
            && above
                .last()
                .is_some_and(|(other, text)| *other == indentation && text.starts_with("while "));
        let body = text.split_once("while ").map_or("", |(_, rest)| rest);
        if is_below_condition || body.ends_with(" {}") || body.contains(" {} ") {
            offences.push(file.offence(number, text));
        }
        if !text.is_empty() {
            above.retain(|(other, _)| *other < indentation);
            above.push((indentation, text));
        }
    }
    offences
}

#[test]
fn no_test_waits_in_an_empty_loop() {
    let bad = [
        "    while look().await != 3 {}",
        "    run(async { while look().await {} });",
        "    while one\n        .two(|| {\n            three\n        })\n    {}",
    ];
    let good = ["    while more() {\n        next();\n    }", "fn one()\nwhere\n    A: B,\n{}"];
    let found = |text: &&str| empty_loops(&sample("crates/core/tests/a.rs", text)).len();
    assert_eq!(bad.iter().map(found).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(good.iter().map(found).collect::<Vec<_>>(), [0, 0]);
    let offences = repository().iter().flat_map(empty_loops).collect();
    let advice = "use testkit::wait, which has a deadline: an empty loop hangs the run if its \
                  condition never becomes false";
    report(offences, advice);
}

/// Functions that wait in their own way. Methods may have these names: they read a stream of which
/// only they know how, and await each event by `testkit::wait`.
fn own_waits(file: &SourceFile) -> Vec<Offence> {
    let lines: Vec<(usize, &str)> = test_lines(file).collect();
    let is_shared = file.path.starts_with("crates/testkit/");
    let is_own = |(index, (_, line)): &(usize, &(usize, &str))| {
        let Some((_, rest)) = line.split_once("fn ") else { return false };
        let name = rest.split(['(', '<']).next().unwrap_or_default();
        let next = lines.get(index + 1).map_or("", |(_, next)| next.trim_start());
        let arguments = rest.split_once('(').map_or("", |(_, arguments)| arguments);
        let first = if arguments.is_empty() { next } else { arguments };
        let is_method = ["&self", "&mut self", "self"].iter().any(|own| first.starts_with(own));
        ["until", "wait_until"].contains(&name) && !is_method && !is_shared
    };
    let own = lines.iter().enumerate().filter(is_own);
    own.map(|(_, (number, line))| file.offence(*number, line.trim())).collect()
}

#[test]
fn no_test_has_its_own_wait() {
    let bad =
        ["async fn until(is_so: impl Fn() -> bool) {", "pub(crate) fn wait_until<T>(\n    a: T"];
    let good =
        ["fn until(&mut self, kind: Kind)", "async fn until(\n    &mut self", "fn until_idle("];
    let found = |text: &&str| own_waits(&sample("crates/core/tests/a.rs", text)).len();
    assert_eq!(bad.iter().map(found).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(good.iter().map(found).collect::<Vec<_>>(), [0, 0, 0]);
    let offences = repository().iter().flat_map(own_waits).collect();
    let advice = "use testkit::wait: tests wait in one way, with one deadline, and their failure \
                  says what was waited for";
    report(offences, advice);
}
