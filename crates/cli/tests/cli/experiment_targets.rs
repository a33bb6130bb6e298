//! Kinds of targets with their real parts: an app of `bedrock-agentcore` with a Strands agent, AWS's
//! signatures as botocore computes them, the real `claude`, prompts on a scripted model.

/// Sub-agents that are recorded elsewhere.
mod sub_agents;
/// Evaluators of whole runs.
mod whole_runs;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ratchet_testkit::process::{Launch, PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY};
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use ratchet_testkit::{claude, http, wait};
use serde_json::{Value, json};

use crate::{ask, server};

/// A Python program that prints its port and serves until it is dropped.
struct PythonServer {
    process: Child,
    url: String,
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn python(script: &str, environment: &[(&str, String)]) -> PythonServer {
    let program = root().join(".setup/agentcore/bin/python");
    assert!(program.exists(), "{} is not there: `make setup` installs it", program.display());
    let mut command = Command::new(program);
    command.arg(root().join("tests/sdk").join(script)).stdout(Stdio::piped());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let mut process = command.spawn().unwrap();
    let mut port = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
    PythonServer { process, url: format!("http://127.0.0.1:{}", port.trim()) }
}

/// A server, and a folder for target files.
struct Setting {
    running: Ratchet,
    folder: tempfile::TempDir,
    _data: tempfile::TempDir,
}

impl Setting {
    fn new(items: &[(Value, Value)]) -> Self {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let running = server(data.path()).start();
        let setting = Self { running, folder, _data: data };
        setting.post("/api/public/v2/datasets", &json!({ "name": "questions" }));
        for (number, (input, expected)) in items.iter().enumerate() {
            let item = json!({
                "datasetName": "questions", "id": format!("item-{number}"),
                "input": input, "expectedOutput": expected,
            });
            setting.post("/api/public/dataset-items", &item);
        }
        setting
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.running.send(http::post(path).json(body.to_string()));
        assert!(answer.status < 300, "{}", answer.text());
        answer.json()
    }

    fn run(&self, target: &str, evaluators: &[&str]) -> Launch {
        self.run_as("only", target, evaluators)
    }

    fn run_as(&self, name: &str, target: &str, evaluators: &[&str]) -> Launch {
        let file = self.folder.path().join("agent.toml");
        std::fs::write(&file, target).unwrap();
        let mut args = vec!["experiment", "run", "--dataset", "questions", "--run", name];
        args.extend(evaluators.iter().flat_map(|evaluator| ["--evaluator", evaluator]));
        ask(&self.running, &args).arg("--target").arg(file)
    }

    /// Scores of the run's trials, by item and name.
    fn scores(&self) -> Vec<(String, String, f64)> {
        self.scores_of("only")
    }

    fn scores_of(&self, run: &str) -> Vec<(String, String, f64)> {
        let shown = crate::json(ask(&self.running, &["experiment", "show", run]));
        let trials = shown["trials"].as_array().unwrap();
        let scores = trials.iter().flat_map(|trial| {
            let item = trial["item"].as_str().unwrap().to_owned();
            let scores = trial["scores"].as_array().unwrap().iter();
            scores.map(move |score| {
                let name = score["name"].as_str().unwrap().to_owned();
                (item.clone(), name, score["value"].as_f64().unwrap())
            })
        });
        let mut scores: Vec<_> = scores.collect();
        scores.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        scores
    }

    /// The trace of the first trial.
    fn trace(&self) -> Value {
        let shown = crate::json(ask(&self.running, &["experiment", "show", "only"]));
        let id = shown["trials"][0]["trace"].as_str().unwrap().to_owned();
        self.running.send(http::get(&format!("/api/public/traces/{id}"))).json()
    }
}

#[test]
fn a_prompt_is_answered_by_a_model_and_judged_by_another() {
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::text("Lisbon").on("Capital of Portugal?"));
    model.say_always(Reply::text("Rome").on("Capital of Spain?"));
    let verdict = |score: f64| Reply::document(json!({ "reasoning": "compared", "score": score }));
    // The judge is asked about both; evidence is indented between markers.
    model.say_always(verdict(1.0).on("measured against the expected answer"));
    let setting = Setting::new(&[
        (json!({ "country": "Portugal" }), json!("Lisbon")),
        (json!({ "country": "Spain" }), json!("Madrid")),
    ]);
    let prompt = json!({ "name": "capital", "type": "text", "prompt": "Capital of {{country}}?" });
    setting.post("/api/public/v2/prompts", &prompt);
    let target = "kind = \"prompt\"\nprompt = \"capital\"\nmodel = \"openai:gpt-4o\"\n";
    let launch = setting.run(target, &["exact", "experiment-accuracy:anthropic:claude-sonnet-5"]);
    let launch = launch.env("OPENAI_BASE_URL", format!("{}/v1", model.url()));
    let launch = launch.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "none");
    let run = crate::json(launch);
    assert_eq!((&run["done"], &run["faults"], &run["unpriced"]), (&json!(2), &json!(0), &json!(0)));
    assert_eq!(run["target"]["version"], "capital v1", "{run}");
    let answers = 2.0 * (100.0 * 2.5e-6 + 10.0 * 1e-5);
    assert!(run["cost"].as_f64().unwrap() > answers, "the judge is paid, too: {run}");
    let scores = setting.scores();
    let score = |item: &str, name: &str, value: f64| (item.to_owned(), name.to_owned(), value);
    assert_eq!(
        scores,
        [
            score("item-0", "exact", 1.0),
            score("item-0", "experiment-accuracy", 1.0),
            score("item-1", "exact", 0.0),
            score("item-1", "experiment-accuracy", 1.0),
        ]
    );
    let trace = setting.trace();
    let root = &trace["observations"][0];
    assert_eq!((&root["type"], &root["model"]), (&json!("GENERATION"), &json!("gpt-4o")));
    assert_eq!(root["usageDetails"]["input"], 100, "{root}");
    let asked = model.requests();
    // Items are judged in any order.
    let mut asked = asked.iter().map(ToString::to_string);
    let judge = asked.find(|text| text.contains("measured against") && text.contains("Portugal"));
    let judge = judge.unwrap();
    assert!(judge.contains("Lisbon") && judge.contains("evidence"), "{judge}");
    calls_of_the_judge_are_traces(&setting, trace["id"].as_str().unwrap());
}

/// Each call of the judge is a trace with its cost, which the score leads to.
fn calls_of_the_judge_are_traces(setting: &Setting, of: &str) {
    let get = |path: &str| setting.running.send(http::get(path)).json();
    let calls = get("/api/public/traces?environment=langfuse-llm-as-a-judge");
    assert_eq!(calls["meta"]["totalItems"], 2, "{calls}");
    let scores = get(&format!("/api/public/v2/scores?traceId={of}&name=experiment-accuracy"));
    let score = &scores["data"][0];
    let call = score["metadata"]["judge_trace"].as_str().unwrap();
    let call = get(&format!("/api/public/traces/{call}"));
    assert_eq!(call["metadata"]["target"], of, "{call}");
    assert_eq!(call["metadata"]["score"], score["id"], "{call}");
    let generation = &call["observations"][0];
    assert_eq!(generation["type"], "GENERATION", "{generation}");
    assert!(generation["model"].as_str().unwrap().contains("claude-sonnet-5"), "{generation}");
    assert_eq!(call["totalCost"], score["metadata"]["ratchet.experiment.judge_cost"], "{call}");
    assert!(call["input"][1]["content"].as_str().unwrap().contains("Lisbon"), "{call}");
}

#[test]
fn claude_works_in_a_fresh_workspace_and_its_tools_are_judged() {
    let model = ScriptedModel::start().unwrap();
    model.say(Reply::call("Bash", json!({ "command": "cat notes.txt > copy.txt; ls" })).on("Read"));
    model.say(Reply::call("Bash", json!({ "command": "cat copy.txt" })).on("copy.txt"));
    model.say(Reply::text("Ship on Friday.").on("Ship on Friday"));
    model.say_always(Reply::text("Nothing more."));
    let expected =
        json!({ "tools": ["Bash", { "name": "Bash", "args": { "command": "cat copy.txt" } }] });
    let setting = Setting::new(&[(json!("Read the notes."), expected)]);
    let notes = setting.folder.path().join("template");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("notes.txt"), "Ship on Friday").unwrap();
    let target = "kind = \"claude\"\nmodel = \"claude-sonnet-5\"\nworkspace = \"template\"\n\
                  allowed_tools = [\"Bash\"]\nmax_turns = 5\nmax_budget = 1.0\nversion = \"1\"\n";
    let evaluators = ["trajectory:only", "regex:^Ship on Friday"];
    let launch = with_claude(setting.run(target, &evaluators), &model);
    let run = crate::json(launch.arg("--cache"));
    assert_eq!((&run["done"], &run["faults"], &run["unpriced"]), (&json!(1), &json!(0), &json!(0)));
    assert!(run["cost"].as_f64().unwrap() > 0.0, "{run}");
    let values: Vec<f64> = setting.scores().iter().map(|(_, _, value)| *value).collect();
    assert_eq!(values, [1.0, 1.0]);
    assert!(!notes.join("copy.txt").exists(), "the template stays as it is");
    let trace = setting.trace();
    let of_type = |kind: &str| -> Vec<Value> {
        let all = trace["observations"].as_array().unwrap().iter();
        all.filter(|step| step["type"] == kind).cloned().collect()
    };
    let root = &of_type("GENERATION")[0];
    assert_eq!(root["model"], "claude-sonnet-5", "{root}");
    assert!(root["usageDetails"]["output"].as_u64().unwrap() >= 30, "{root}");
    let calls = of_type("TOOL");
    assert_eq!(calls.len(), 2, "{trace}");
    let last = calls.iter().find(|call| call["input"]["command"] == "cat copy.txt").unwrap();
    assert_eq!(last["parentObservationId"], root["id"]);
    assert!(last["output"].as_str().unwrap().contains("Ship on Friday"), "{last}");
    assert!(last["latency"].as_f64().unwrap() >= 0.0, "{last}");
    // An answer from the cache is judged by the recorded calls, and the program is not started.
    let asked = model.requests().len();
    let again = with_claude(setting.run_as("again", target, &evaluators), &model).arg("--cache");
    assert_eq!(crate::json(again)["done"], 1);
    let values: Vec<f64> = setting.scores_of("again").iter().map(|(_, _, value)| *value).collect();
    assert_eq!((values, model.requests().len()), (vec![1.0, 1.0], asked));
}

fn with_claude(launch: Launch, model: &ScriptedModel) -> Launch {
    launch
        .env("RATCHET_CLAUDE_BIN", claude::real())
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "none")
        .env("IS_SANDBOX", "1")
}

/// Processes whose environment names an item.
pub(crate) fn agents_of(item: &str) -> usize {
    let entry = format!("RATCHET_EXPERIMENT_ITEM={item}");
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|process| {
        let read = std::fs::read(process.path().join("environ")).unwrap_or_default();
        read.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    })
    .count()
}

#[test]
fn replies_of_providers_are_in_no_fault_and_no_verdict() {
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::rejecting("hush").on("measured against the expected answer"));
    model.say_always(Reply::text("Lisbon").on("Capital of Portugal?"));
    model.say_always(Reply::rejecting("hush"));
    let setting = Setting::new(&[
        (json!("Capital of Portugal?"), json!("Lisbon")),
        (json!("Capital of Spain?"), json!("Madrid")),
    ]);
    let target =
        "kind = \"prompt\"\ntext = \"{{input}}\"\nmodel = \"openai:gpt-4o\"\nretries = 0\n";
    let launch = setting.run(target, &["experiment-accuracy:anthropic:claude-sonnet-5"]);
    let launch = launch.env("OPENAI_BASE_URL", format!("{}/v1", model.url()));
    let ran = launch.env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "none").run();
    let shown = ask(&setting.running, &["experiment", "show", "only", "--json"]).run();
    let path = format!("/api/v1/projects/{PROJECT}/experiments/only/trials");
    let trials = setting.running.send(http::get(&path)).text();
    assert_eq!(
        trials.matches("the provider rejects the request (status 400)").count(),
        2,
        "{trials}"
    );
    for text in [ran.stdout, shown.stdout, trials] {
        assert!(!text.contains("hush"), "{text}");
    }
}

/// Starts a run over one item, kills it once it waits for the target, and expects the target to end.
fn check_target_ends_with_its_run(
    target: &str,
    adapt: impl Fn(Launch) -> Launch,
    is_waiting: impl Fn(&str) -> bool,
) {
    let setting = Setting::new(&[]);
    let kind = target.split('"').nth(1).unwrap_or_default();
    let item = format!("{kind}-{}", std::process::id());
    let body = json!({ "datasetName": "questions", "id": item, "input": "Work." });
    setting.post("/api/public/dataset-items", &body);
    let launch = adapt(setting.run(target, &["contains:x"]));
    let (mut command, _home) = launch.into_parts();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait::until("the target is at work", || is_waiting(&item));
    assert!(agents_of(&item) > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    wait::until("the target is gone", || agents_of(&item) == 0);
}

#[test]
fn claude_ends_with_the_command_that_runs_it() {
    let model = ScriptedModel::start().unwrap();
    model.say_always(Reply::text("Never said."));
    model.hold_after(0);
    let adapt = |launch| with_claude(launch, &model);
    check_target_ends_with_its_run("kind = \"claude\"\n", adapt, |_| !model.requests().is_empty());
}

#[test]
fn a_command_ends_with_the_command_that_runs_it() {
    // One of its processes leaves the group.
    let target = "kind = \"command\"\n\
                  command = [\"sh\", \"-c\", \"setsid sleep 600 & sleep 600\"]\n";
    check_target_ends_with_its_run(target, |launch| launch, |item| agents_of(item) >= 2);
}

/// Two questions: the front desk asks billing about one, and shipping about the other.
fn front_desk() -> ScriptedModel {
    let model = ScriptedModel::start().unwrap();
    let to_billing = json!({ "question": "Refund for order 7?" });
    model.say_always(Reply::call("ask_billing", to_billing).on("money back"));
    model.say_always(Reply::text("Refunded.").on("Refund for order 7?"));
    model.say_always(Reply::text("You get it back.").on("Refunded."));
    let to_shipping = json!({ "question": "Track 9?" });
    model.say_always(Reply::call("ask_shipping", to_shipping).on("parcel"));
    model.say_always(Reply::text("On its way.").on("Track 9?"));
    model.say_always(Reply::text("Tomorrow.").on("On its way."));
    model
}

/// The app with the agent, whose spans go to the server.
fn agentcore_app(setting: &Setting, model: &ScriptedModel) -> PythonServer {
    let key = http::basic(PUBLIC_KEY, SECRET_KEY);
    python(
        "agentcore_app.py",
        &[
            ("MODEL_URL", model.url()),
            (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                format!("{}/api/public/otel/v1/traces", setting.running.web()),
            ),
            ("OTEL_EXPORTER_OTLP_HEADERS", format!("Authorization={key}")),
            ("OTEL_BSP_SCHEDULE_DELAY", "100".to_owned()),
        ],
    )
}

#[test]
fn an_agent_of_strands_behind_agentcore_is_judged_by_its_spans() {
    let model = front_desk();
    let setting = Setting::new(&[
        (
            json!("I want my money back"),
            json!({
                "agent": "billing", "agents": { "billing": "Refunded." },
                "tools": [{ "name": "ask_billing", "args": { "question": "Refund for order 7?" } }],
            }),
        ),
        (
            json!("Where is my parcel?"),
            json!({
                "agent": "billing", "agents": { "shipping": "Lost." }, "tools": ["ask_billing"],
            }),
        ),
    ]);
    let app = agentcore_app(&setting, &model);
    let target = "kind = \"agentcore\"\nurl = { env = \"AGENT_URL\" }\noutput = \"$.output.text\"\n\
         version = \"1\"\n";
    let evaluators = ["trajectory", "routing", "each-agent:exact", "regex:^(You get|Tomorrow)"];
    let launch = setting.run(target, &evaluators).env("AGENT_URL", &app.url);
    let run = crate::json(launch.arg("--cache"));
    assert_eq!((&run["done"], &run["faults"]), (&json!(2), &json!(0)), "{run}");
    let score = |item: &str, name: &str, value: f64| (item.to_owned(), name.to_owned(), value);
    assert_eq!(
        setting.scores(),
        [
            score("item-0", "exact@billing", 1.0),
            score("item-0", "regex", 1.0),
            score("item-0", "routing", 1.0),
            score("item-0", "trajectory", 1.0),
            score("item-1", "exact@shipping", 0.0),
            score("item-1", "regex", 1.0),
            score("item-1", "routing", 0.0),
            score("item-1", "trajectory", 0.0),
        ]
    );
    // Answers from the cache are judged by the same spans, and our own root above them is no agent.
    let asked = model.requests().len();
    let again = setting.run_as("again", target, &evaluators).env("AGENT_URL", &app.url);
    assert_eq!(crate::json(again.arg("--cache"))["done"], 2);
    assert_eq!(setting.scores_of("again"), setting.scores());
    assert_eq!(model.requests().len(), asked, "the agent was not asked again");
    let trace = setting.trace();
    let names: Vec<&str> = trace["observations"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert!(names.iter().any(|name| name.contains("ask_billing")), "{names:?}");
    let on_agent = trace["scores"].as_array().unwrap();
    let on_agent = on_agent.iter().find(|score| score["name"] == "exact@billing").unwrap();
    assert!(on_agent["observationId"].is_string(), "{on_agent}");
}

#[test]
fn calls_of_an_arn_are_signed_as_aws_expects() {
    let setting =
        Setting::new(&[(json!("hello"), json!("hello!")), (json!("ünï €"), json!("ünï €!"))]);
    let endpoint = python("agentcore_endpoint.py", &[]);
    for name in ["plain-1", "streaming-1"] {
        let target = format!(
            "kind = \"agentcore-arn\"\n\
             arn = \"arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/{name}\"\n\
             endpoint = \"{}\"\n",
            endpoint.url
        );
        let file = setting.folder.path().join("agent.toml");
        std::fs::write(&file, target).unwrap();
        let call = |run: &str, secret: &str| {
            let args = ["experiment", "run", "--dataset", "questions", "--run", run];
            let launch = ask(&setting.running, &args).arg("--target").arg(&file);
            let launch = launch.env("AWS_ACCESS_KEY_ID", "AKIDTEST");
            launch.env("AWS_SECRET_ACCESS_KEY", secret).env("AWS_EC2_METADATA_DISABLED", "true")
        };
        let run = crate::json(call(name, "secret-test"));
        assert_eq!((&run["done"], &run["faults"]), (&json!(2), &json!(0)), "{run}");
        let shown = ask(&setting.running, &["experiment", "show", name]).run();
        assert!(shown.stdout.contains("exact: 1.000 of 2 trials"), "{}", shown.stdout);
        let refused = call(&format!("{name} refused"), "another").run();
        assert!(refused.stdout.contains("the signature does not match"), "{}", refused.stdout);
    }
}

/// A command that judges, and one that this machine does not have.
#[test]
fn commands_judge_only_if_the_operator_has_named_them() {
    let setting = Setting::new(&[(json!("hello"), json!("HELLO"))]);
    let judge = setting.folder.path().join("judge.py");
    let source = "import json, sys\ncase = json.load(sys.stdin)\n\
                  same = case['output'].upper() == case['expected_output']\n\
                  print(json.dumps({'score': same, 'rationale': 'compared in capitals'}))\n";
    std::fs::write(&judge, source).unwrap();
    let target = "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"tr -d '\\\"'\"]\n";
    let config = setting.folder.path().join("ratchet.toml");
    let entry = format!("[evaluators.commands]\ncapitals = [\"python3\", {judge:?}]\n");
    std::fs::write(&config, entry).unwrap();
    let unknown = setting.run(target, &["command:other"]).env("RATCHET_CONFIG", &config).run();
    assert!(unknown.stderr.contains("[evaluators.commands]"), "{}", unknown.stderr);
    let launch = setting.run(target, &["command:capitals"]).env("RATCHET_CONFIG", &config);
    let run = crate::json(launch);
    assert_eq!(run["done"], 1, "{run}");
    let scores = setting.scores();
    assert_eq!(scores, [("item-0".to_owned(), "capitals".to_owned(), 1.0)]);
}

#[test]
fn an_evaluator_without_a_verdict_is_named_and_is_not_a_score_of_zero() {
    let setting = Setting::new(&[(json!("hello"), json!("hello"))]);
    let config = setting.folder.path().join("ratchet.toml");
    std::fs::write(&config, "[evaluators.commands]\nsilent = [\"true\"]\n").unwrap();
    let target = "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"tr -d '\\\"'\"]\n";
    let launch = setting.run(target, &["exact", "command:silent"]);
    let run = crate::json(launch.env("RATCHET_CONFIG", &config));
    let scores = &run["summary"]["scores"];
    let facts = |at: usize| {
        let score = &scores[at];
        (score["name"].clone(), score["mean"].clone(), score["notJudged"].clone())
    };
    assert_eq!(facts(0), (json!("exact"), json!(1.0), json!(0)), "{run}");
    assert_eq!(facts(1), (json!("silent"), json!(null), json!(1)), "{run}");
    let shown = ask(&setting.running, &["experiment", "show", "only"]).run();
    let project = setting.running.send(http::get("/api/public/projects")).json();
    let project = project["data"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/projects/{project}/experiments/only/summary");
    let served = setting.running.send(http::get(&path)).json();
    assert_eq!(served["summary"], run["summary"], "{served}");
    assert!(shown.stdout.contains("silent: 1 not judged"), "{}", shown.stdout);
    assert!(shown.stdout.contains("NOT JUDGED item-0: silent: "), "{}", shown.stdout);
}
