use super::{LineRule, Offence, SourceFile, crate_of, is_product, is_rust, report, repository};

const MAX_TRAIT_METHODS: usize = 7;

fn is_pure(path: &str) -> bool {
    is_product(path) && ["core", "stages"].contains(&crate_of(path).unwrap_or_default())
}

#[test]
fn sql_stays_in_the_store() {
    LineRule {
        advice: "only store speaks SQL: add a typed question there",
        covers: |path| is_product(path) && crate_of(path) != Some("store"),
        is_broken_by: |line| {
            let statements = ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM "];
            statements.iter().any(|statement| line.contains(&format!("\"{statement}")))
        },
    }
    .check("crates/server/src/a.rs", &[r#"db.run("SELECT 1")"#], &[r#""UPDATED at""#]);
}

#[test]
fn the_embedded_engine_is_private_to_the_store() {
    LineRule {
        advice: "SQLite is known only to store/src/embedded and store/src/catalog/sql: give Store a \
                 method, and callers a type of the store's interface",
        covers: |path| {
            let knows = ["crates/store/src/embedded", "crates/store/src/catalog/sql"];
            is_rust(path) && !knows.iter().any(|place| path.starts_with(place))
        },
        is_broken_by: |line| {
            ["rusqlite", "pub mod embedded", "store::embedded"].iter().any(|it| line.contains(it))
        },
    }
    .check(
        "crates/store/src/a.rs",
        &["Database(#[source] rusqlite::Error),", "pub mod embedded;"],
        &["mod embedded;", "pub use crate::embedded::Prepared;"],
    );
}

#[test]
fn telemetry_is_written_by_the_record_stage() {
    LineRule {
        advice: "write telemetry through stages::record (record::write, record::scores::write, \
                 record::count::write): it redacts and notes media references",
        covers: |path| {
            let writes =
                ["crates/store/", "crates/stages/src/record", "crates/testkit/src/recording.rs"];
            is_rust(path) && !writes.iter().any(|place| path.starts_with(place))
        },
        is_broken_by: |line| {
            [".write_batch(", ".write_counts("].iter().any(|call| line.contains(call))
        },
    }
    .check(
        "crates/stages/src/chat/a.rs",
        &["telemetry.write_batch(batch).await?;", "store.telemetry.write_counts(counts, now)"],
        &["record::write(telemetry, catalog, batch, text_bytes).await?;"],
    );
}

#[test]
fn blocking_work_is_started_in_one_place() {
    LineRule {
        advice: "blocking work has a limit: use ratchet_store::blocking",
        covers: |path| is_product(path) && !path.starts_with("crates/store/src/blocking"),
        is_broken_by: |line| {
            ["spawn_blocking(", "block_in_place("].iter().any(|it| line.contains(it))
        },
    }
    .check(
        "crates/server/src/a.rs",
        &["tokio::task::spawn_blocking(move || read())", "block_in_place(|| read())"],
        &["blocking::run(move || read())"],
    );
}

/// The modules that may name the wire types of Ratchet's own API: the client, the routes, and what
/// reads or writes either a data folder or a server.
const OWN_WIRE_MODULES: [&str; 4] = [
    "crates/remote/src/",
    "crates/server/src/api/",
    "crates/cli/src/administration/",
    "crates/stages/src/weekly_report/report_store.rs",
];

/// The modules that may name Langfuse's wire types: each converts them at its border.
const WIRE_MODULES: [&str; 8] = [
    "crates/remote/src/",
    "crates/server/src/langfuse",
    "crates/server/src/mcp",
    "crates/server/src/error.rs",
    "crates/server/src/openapi.rs",
    "crates/server/src/api/media.rs",
    "crates/server/src/api/chats/wire.rs",
    "crates/stages/src/sink/langfuse",
];

#[test]
fn wire_types_stay_at_the_edge() {
    LineRule {
        advice: "use the types of core, and convert Langfuse's wire types in remote, in \
                 server::langfuse or in stages::sink::langfuse",
        covers: |path| {
            is_product(path) && !WIRE_MODULES.iter().any(|module| path.starts_with(module))
        },
        is_broken_by: |line| line.contains("langfuse::wire"),
    }
    .check(
        "crates/web/src/pages/a.rs",
        &[
            "use ratchet_remote::langfuse::wire::dashboard::WidgetView;",
            "fn show(filter: &ratchet_remote::langfuse::wire::dashboard::WidgetFilter) {}",
        ],
        &["use ratchet_remote::langfuse::client::LangfuseClient;", "let wire = Wire::new();"],
    );
}

#[test]
fn wire_types_of_our_own_api_stay_at_the_edge() {
    LineRule {
        advice: "use the types of core::experiment and core::gate: RatchetClient and the routes \
                 convert them",
        covers: |path| {
            is_rust(path) && !OWN_WIRE_MODULES.iter().any(|module| path.starts_with(module))
        },
        is_broken_by: |line| {
            let modules =
                ["ratchet::experiments", "ratchet::gates", "ratchet_remote::weekly_report"];
            modules.iter().any(|module| line.contains(module))
        },
    }
    .check(
        "crates/web/src/pages/a.rs",
        &["use ratchet_remote::ratchet::experiments::{ClaimRequest, ClaimView};"],
        &["use ratchet_remote::ratchet::RatchetClient;"],
    );
}

#[test]
fn pure_code_reaches_for_no_clock_and_no_dice() {
    LineRule {
        advice: "time and chance are arguments in core and stages: take them from the caller",
        covers: |path| is_pure(path) && path != "crates/stages/src/clock.rs",
        is_broken_by: |line| {
            let reached = ["Time::now(", "Instant::now(", "Utc::now(", "Timestamp::now("];
            let rolled = ["rand::", "getrandom", "thread_rng", "Zoned::now("];
            reached.into_iter().chain(rolled).any(|call| line.contains(call))
        },
    }
    .check(
        "crates/core/src/a.rs",
        &["let now = SystemTime::now();", "let id = rand::random();", "let t = Instant::now();"],
        &["let elapsed = now.since(start);"],
    );
}

#[test]
fn the_store_makes_private_files_only() {
    LineRule {
        advice: "make files and folders of the data folder through private_files",
        covers: |path| {
            is_product(path)
                && crate_of(path) == Some("store")
                && !path.ends_with("/private_files.rs")
        },
        is_broken_by: |line| {
            let makes = ["File::create", "fs::create_dir", "DirBuilder::new", "OpenOptions::new"];
            makes.into_iter().any(|call| line.contains(call))
        },
    }
    .check(
        "crates/store/src/a.rs",
        &["let file = File::create_new(&path)?;", "fs::create_dir_all(folder)?;"],
        &["private_files::create_dir_all(folder)?;", "let file = File::open(&path)?;"],
    );
}

/// Where programs are started: the supervisor's process, and agents with it.
const STARTERS: [&str; 2] =
    ["crates/agent/src/claude/watchdog.rs", "crates/agent/src/claude/command.rs"];

#[test]
fn programs_are_started_with_a_supervisor() {
    LineRule {
        advice: "start programs through Supervision::spawn, so that they end with their host",
        covers: |path| {
            // Tests of these have processes of their own.
            let has_tests =
                ["/tests.rs", "/process_identity.rs", "/watchdog_main.rs", "/runner_id.rs"];
            is_product(path)
                && ["agent", "stages", "server", "web", "cli"]
                    .contains(&crate_of(path).unwrap_or(""))
                && !STARTERS.contains(&path)
                && !has_tests.iter().any(|end| path.ends_with(end))
        },
        is_broken_by: |line| line.contains(".spawn()"),
    }
    .check(
        "crates/stages/src/a.rs",
        &["let child = command.spawn()?;"],
        &["let (child, group) = supervision.spawn(&mut command)?;", "tasks.spawn(work);"],
    );
}

/// Files outside the store that write elsewhere than in a data folder: what a user names, the
/// importer's checkpoints, and workspaces of agents.
const WRITERS_ELSEWHERE: [&str; 8] = [
    "crates/stages/src/weekly_report/learnings_file.rs",
    "crates/stages/src/data_target/live_run.rs",
    "crates/stages/src/experiment/target/claude.rs",
    "crates/cli/src/cmd/demo.rs",
    "crates/cli/src/cmd/gate/output.rs",
    "crates/cli/src/cmd/label/files.rs",
    "crates/cli/src/cmd/import/langfuse/checkpoint.rs",
    "crates/cli/src/cmd/score/external_verdicts.rs",
];

/// Lines outside tests that write files with the permissions of the umask.
fn umask_writes(file: &SourceFile) -> Vec<Offence> {
    let calls =
        ["fs::write(", "File::create", "fs::create_dir", "DirBuilder::new", "OpenOptions::new"];
    let product = file.lines().take_while(|(_, line)| line.trim() != "mod tests {");
    let broken = product.filter(|(_, line)| calls.iter().any(|call| line.contains(call)));
    broken.map(|(number, line)| file.offence(number, line.trim())).collect()
}

#[test]
fn stages_and_commands_write_private_files_into_data_folders() {
    let sample = |text: &str| {
        let path = "crates/stages/src/a.rs".to_owned();
        umask_writes(&SourceFile { path, text: text.to_owned() }).len()
    };
    assert_eq!(sample("std::fs::write(&file, text)?;\nmod tests {\nfs::write(a, b)"), 1);
    assert_eq!(sample("private_files::replace(&file, text)?;"), 0);
    let covers = |path: &str| {
        let is_there = matches!(crate_of(path), Some("stages" | "cli" | "server" | "web"));
        let is_test = path.ends_with("/tests.rs");
        is_there && is_product(path) && !is_test && !WRITERS_ELSEWHERE.contains(&path)
    };
    let files = repository();
    let offences = files.iter().filter(|file| covers(&file.path)).flat_map(umask_writes);
    report(
        offences.collect(),
        "write into a data folder through private_files, or list a file that writes elsewhere",
    );
}

/// The folder of a data folder that a line names: `data.join("prompts")`, or a constant.
fn data_folder_named(line: &str) -> Option<&str> {
    let starts = ["data.join(\"", "FOLDER: &str = \"", "_FILE: &str = \""];
    let (_, rest) = starts.iter().find_map(|start| line.split_once(start))?;
    let path = rest.split('"').next()?;
    // A single file is part of no folder.
    path.split_once('/').map(|(folder, _)| folder).or((!path.contains('.')).then_some(path))
}

/// What lines like those name and a backup has in another way or not at all.
const NOT_COPIED: [&str; 5] = ["media", "tmp", ".claude", "ballast", "ratchet"];

#[test]
fn folders_of_the_data_folder_are_backed_up() {
    let named = |line| data_folder_named(line);
    assert_eq!(named(r#"const FOLDER: &str = "offline/success";"#), Some("offline"));
    assert_eq!(named(r#"let own = data.join("prompts").join(file);"#), Some("prompts"));
    assert_eq!(named(r#"const SECRET_FILE: &str = "secret.key";"#), None);
    let files = repository();
    let tree = files.iter().find(|file| file.path.ends_with("backup/tree.rs")).unwrap();
    let covers = |path: &str| {
        is_product(path) && matches!(crate_of(path), Some("core" | "store" | "stages" | "cli"))
    };
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| covers(&file.path)) {
        let product = file.lines().take_while(|(_, line)| line.trim() != "mod tests {");
        for (number, line) in product {
            let Some(folder) = data_folder_named(line) else { continue };
            let is_copied = tree.text.contains(&format!("\"{folder}\""));
            if !is_copied && !NOT_COPIED.contains(&folder) {
                offences.push(file.offence(number, folder));
            }
        }
    }
    report(offences, "add the folder to those of a backup (backup/tree.rs), or to NOT_COPIED");
}

/// Lines that read `Retry-After` in a file that does not parse it with `core::backoff`.
fn own_retry_after(file: &SourceFile) -> Vec<Offence> {
    if file.text.contains("parse_retry_after") || file.text.contains("backoff::retry_after") {
        return Vec::new();
    }
    let reads = ["get(RETRY_AFTER", "get(\"retry-after\"", "get(header::RETRY_AFTER"];
    let lines = file.lines().filter(|(_, line)| reads.iter().any(|read| line.contains(read)));
    lines.map(|(number, line)| file.offence(number, line.trim())).collect()
}

#[test]
fn waits_that_responses_ask_for_are_read_in_one_way() {
    let sample = |text: &str| {
        let path = "crates/stages/src/a.rs".to_owned();
        own_retry_after(&SourceFile { path, text: text.to_owned() }).len()
    };
    let read = "let after = headers.get(RETRY_AFTER);\n";
    assert_eq!(sample(&format!("{read}let seconds = after.parse().ok();")), 1);
    assert_eq!(sample(&format!("{read}let wait = parse_retry_after(after, now);")), 0);
    let files = repository();
    let product = files.iter().filter(|file| is_product(&file.path));
    report(
        product.flat_map(own_retry_after).collect(),
        "read Retry-After with core::backoff: it may be a date or have a fraction",
    );
}

#[test]
fn macros_are_not_ours_to_write() {
    LineRule {
        advice: "write a function, a table or a trait instead of a macro",
        covers: is_rust,
        is_broken_by: |line| line.contains("macro_rules!"),
    }
    .check("crates/core/src/a.rs", &["macro_rules! m {"], &["println!()"]);
}

#[test]
fn every_route_is_described() {
    LineRule {
        advice: "register it with routes!, so that clients find it in the description and the \
                 tests of roles and borders walk it",
        covers: |path| {
            let answers = ["crates/server/src/langfuse", "crates/server/src/api"];
            answers.iter().any(|folder| path.starts_with(folder))
        },
        is_broken_by: |line| line.contains(".route("),
    }
    .check(
        "crates/server/src/langfuse/a.rs",
        &[r#".route("/api/public/a", get(list))"#],
        &[".routes(routes!(list))"],
    );
}

#[test]
fn forms_are_read_by_their_extractor() {
    LineRule {
        advice: "take a PageForm, or Params where nobody is signed in: it checks the right to change \
                 the project and decodes the body",
        covers: |path| {
            path.starts_with("crates/web/src/pages") || path.starts_with("crates/web/src/sign_in")
        },
        is_broken_by: |line| {
            let is_parameter = |line: &str| !line.trim_start().starts_with("let ");
            let bodies = ["form: String", "body: String", "body: Bytes"];
            is_parameter(line) && bodies.iter().any(|body| line.contains(body))
        },
    }
    .check(
        "crates/web/src/pages/a.rs",
        &["    form: String,", "async fn add(State(web): State<Web>, body: Bytes) {"],
        &["    PageForm { place, form }: PageForm,", "    let form: String = fields.collect();"],
    );
}

fn is_loose_promise(line: &str) -> bool {
    let words = line.split(|c: char| !c.is_alphanumeric());
    let promises = words.filter(|word| ["TODO", "FIXME", "XXX"].contains(word)).count() > 0;
    let names_an_issue = line.split('#').skip(1).any(|rest| rest.starts_with(char::is_numeric));
    promises && !names_an_issue
}

#[test]
fn every_promise_names_its_issue() {
    LineRule {
        advice: "do it now, or open an issue and write its number: TODO #12",
        covers: |path| path.starts_with("crates/"),
        is_broken_by: is_loose_promise,
    }
    .check("crates/core/src/a.rs", &["// TODO later", "// FIXME(me)"], &["// TODO #12 later"]);
}

fn fat_traits(file: &SourceFile) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut current: Option<(usize, &str, usize)> = None;
    for (number, line) in file.lines() {
        let unqualified = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        if unqualified.starts_with("trait ") {
            current = Some((number, line, 0));
        }
        let Some((start, header, methods)) = &mut current else { continue };
        let is_method = line.starts_with("    fn ") || line.starts_with("    async fn ");
        *methods += usize::from(is_method);
        if line.starts_with('}') {
            if *methods > MAX_TRAIT_METHODS {
                offences.push(file.offence(*start, format!("{header} has {methods} methods")));
            }
            current = None;
        }
    }
    offences
}

#[test]
fn no_trait_is_fat() {
    let text = format!("pub trait Fat {{\n{}}}\n", "    fn method(&self);\n".repeat(8));
    let sample = SourceFile { path: "crates/core/src/a.rs".to_owned(), text };
    assert_eq!(fat_traits(&sample).len(), 1);
    let files = repository();
    let offences = files.iter().filter(|file| is_rust(&file.path)).flat_map(fat_traits).collect();
    report(offences, "a trait has at most seven methods: write a struct, or split the idea");
}
