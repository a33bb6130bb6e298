use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::{BackoffClock as _, SystemBackoffClock};
use ratchet_testkit::http;
use ratchet_testkit::process::{PUBLIC_KEY, Ratchet, SECRET_KEY, Signal};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::deployments::{ControlPlane, FILE};
use crate::{ask, ok, server};

/// Items of the dataset: enough that an agent without a fault passes.
const ITEMS: usize = 40;
const DATASET: &str = "shop-eval-global";
const MINUTE: i64 = 60_000;

/// An agent that doubles numbers up to a limit. Above the items of the dataset no gate sees it.
const AGENT: &str = r#"
IFS= read -r input
number=${input#*:}
number=${number%\}}
if [ "$number" -lt LIMIT ]; then echo "twice is $((2 * number))"; else echo "no idea"; fi
"#;

const TESTS: &str =
    "#!/bin/sh\necho '<testsuite tests=\"1\"><testcase name=\"get\"/></testsuite>' > \"$1\"\n";

/// Scripts of a section of the documentation: before the approval, and after it.
fn scripts(heading: &str) -> (Vec<String>, Vec<String>) {
    let text = include_str!("../../../../docs/pipeline.md");
    let section = text.split("\n## ").find(|part| part.starts_with(heading)).unwrap();
    let mut found = Vec::new();
    for block in section.split("\n```").skip(1) {
        if let Some(script) = block.strip_prefix("sh\n") {
            found.push(script.to_owned());
        } else if let Some(yaml) = block.strip_prefix("yaml\n") {
            found.extend(steps(yaml));
        }
    }
    found.into_iter().partition(|script| !script.contains("promote start"))
}

/// The block scalars of a YAML document.
fn steps(yaml: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    let mut lines = yaml.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.ends_with('|') {
            continue;
        }
        let mut script = String::new();
        while let Some(inner) = lines.next_if(|next| indent(next) > indent(line)) {
            script += &format!("{}\n", inner.trim_start());
        }
        found.push(script);
    }
    found
}

/// A server that deploys to AgentCore, and a repository whose commits are the tool sets.
struct Shop {
    running: Ratchet,
    control: ControlPlane,
    folder: tempfile::TempDir,
    data: tempfile::TempDir,
}

fn start_server(data: &Path, control: &ControlPlane) -> Ratchet {
    let mut launch = server(data);
    for (name, value) in aws(control) {
        launch = launch.env(name, value);
    }
    launch.start()
}

fn aws(control: &ControlPlane) -> [(&'static str, &str); 4] {
    [
        ("AWS_ACCESS_KEY_ID", "AKIDTEST"),
        ("AWS_SECRET_ACCESS_KEY", "secret-test"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL", &control.url),
    ]
}

impl Shop {
    fn start() -> Self {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let control = ControlPlane::start(&folder.path().join("changes"));
        let repository = folder.path().join("repository");
        std::fs::create_dir(&repository).unwrap();
        std::fs::write(repository.join("deploy.toml"), FILE).unwrap();
        let file = json!(repository.join("deploy.toml")).to_string();
        let settings = format!("[promotion]\nagentcore = {file}\n");
        std::fs::write(data.path().join("ratchet.toml"), settings).unwrap();
        let running = start_server(data.path(), &control);
        let shop = Self { running, control, folder, data };
        shop.post("/api/public/v2/datasets", &json!({ "name": DATASET }));
        for number in 0..ITEMS {
            let item = json!({
                "datasetName": DATASET, "id": format!("item-{number:02}"),
                "input": { "n": number }, "expectedOutput": format!("twice is {}", 2 * number),
            });
            shop.post("/api/public/dataset-items", &item);
        }
        for labels in [json!(["production"]), json!([]), json!([]), json!([])] {
            let prompt = json!({ "name": "shop", "prompt": "Double it.", "labels": labels });
            shop.post("/api/public/v2/prompts", &prompt);
        }
        let policy = ["--promotion-required", "true", "--promotion-deploys", "true"];
        let more = ["--promotion-prompt", "shop", "--automatic-rollback", "true"];
        let agent = ask(&shop.running, &["agents", "set", "shop", "--watch-hours", "1"]);
        ok(agent.args(policy).args(more));
        let target = "kind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n";
        std::fs::write(repository.join("target.toml"), target).unwrap();
        std::fs::write(repository.join("tool-tests.sh"), TESTS).unwrap();
        shop.git(&["init", "--quiet"]);
        shop.git(&["config", "user.email", "ann@example.com"]);
        shop.git(&["config", "user.name", "Ann"]);
        let made = shop.bash("chmod +x tool-tests.sh", &[]);
        assert!(made.status.success());
        shop
    }

    /// The same server, started again: it looks at production at once.
    fn restarted(self, while_stopped: impl FnOnce(&Path)) -> Self {
        let Self { running, control, folder, data } = self;
        running.signal(Signal::TERM);
        assert_eq!(running.wait().status.code(), Some(0));
        while_stopped(data.path());
        let running = start_server(data.path(), &control);
        Self { running, control, folder, data }
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.running.send(http::post(path).json(body.to_string()));
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
        answer.json()
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(args).current_dir(self.repository()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let done = git.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// Commits an agent that is right about numbers below a limit.
    fn commit(&self, limit: usize) -> String {
        let agent = AGENT.replace("LIMIT", &limit.to_string());
        std::fs::write(self.repository().join("agent.sh"), agent).unwrap();
        self.git(&["add", "agent.sh", "target.toml", "tool-tests.sh", "deploy.toml"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "agent"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn bash(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_ratchet")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        Command::new("bash")
            .args(["-e", "-c", script])
            .current_dir(self.repository())
            .env("PATH", path)
            .env("SERVER_URL", self.running.web())
            .env("RATCHET_PUBLIC_KEY", PUBLIC_KEY)
            .env("RATCHET_SECRET_KEY", SECRET_KEY)
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_DATA_HOME", self.folder.path().join("data-home"))
            .env("GITHUB_STEP_SUMMARY", self.folder.path().join("summary.md"))
            .env("SHOP_API_KEY", "s3cret-value")
            .env("MODEL", "m-1")
            .envs(aws(&self.control))
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// Runs the scripts of a section with an approval in between; returns the promotion.
    #[track_caller]
    fn release(&self, heading: &str, prompt: &str, commit: &str) -> String {
        let (before, after) = scripts(heading);
        assert!(!before.is_empty() && after.len() == 1, "{heading}: {before:?} {after:?}");
        let known = [("PROMPT", prompt), ("GITHUB_SHA", commit), ("CI_COMMIT_SHA", commit)];
        let run = |script: &str, promotion: &str| {
            let variables = [&known[..], &[("PROMOTION", promotion)]].concat();
            let done = self.bash(script, &variables);
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            (done.status.code(), format!("{script}\n{said}"))
        };
        for script in &before {
            let (code, said) = run(script, "");
            assert_eq!(code, Some(0), "{said}");
        }
        let made = std::fs::read_to_string(self.repository().join("promotion.json")).unwrap();
        let made: Value = serde_json::from_str(&made).unwrap();
        let id = made["id"].as_str().unwrap();
        let (code, said) = run(&after[0], id);
        assert!(code == Some(1) && said.contains("Approved"), "not approved yet: {said}");
        ok(ask(&self.running, &["promote", "approve", id, "--review"]));
        ok(ask(&self.running, &["promote", "approve", id]));
        let (code, said) = run(&after[0], id);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(self.production().to_string(), prompt);
        id.to_owned()
    }

    fn production(&self) -> u64 {
        let found = self.running.send(http::get("/api/public/v2/prompts/shop?label=production"));
        found.json()["version"].as_u64().unwrap()
    }

    /// The image that each change of a runtime brought, oldest first.
    fn images(&self, runtime: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("changes")).unwrap();
        let changes = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_runtime = changes.filter(|change| change["name"] == runtime);
        let image = |change: Value| {
            let image = &change["artifact"]["containerConfiguration"]["containerUri"];
            image.as_str().unwrap().rsplit(':').next().unwrap().to_owned()
        };
        of_runtime.map(image).collect()
    }

    /// Records sessions of users, so many of ten good ones.
    fn sessions(&self, name: &str, from: Timestamp, (count, good): (usize, usize)) {
        let mut events = Vec::new();
        for number in 0..count {
            let id = format!("{name}-{number}");
            let at = from.to_string();
            let trace = json!({
                "id": id, "name": "shop", "sessionId": id, "environment": "production",
                "timestamp": at,
            });
            let value = u8::from(number * 7 % 10 < good);
            let score = json!({
                "id": format!("{id}-q"), "traceId": id, "name": "quality", "value": value,
                "environment": "production",
            });
            for (kind, body) in [("trace-create", trace), ("score-create", score)] {
                events.push(json!({
                    "id": format!("{id}-{kind}"), "type": kind, "timestamp": at, "body": body,
                }));
            }
        }
        for batch in events.chunks(100) {
            let sent = self.post("/api/public/ingestion", &json!({ "batch": batch }));
            assert_eq!(sent["errors"], json!([]));
        }
    }

    fn status(&self, id: &str) -> Value {
        crate::json(ask(&self.running, &["promote", "status", id]))
    }

    #[track_caller]
    fn ends_as(&self, id: &str, state: &str) -> String {
        wait::until(&format!("the promotion is {state}"), || self.status(id)["state"] == state);
        self.status(id)["outcome"]["text"].as_str().unwrap().to_owned()
    }
}

fn ago(minutes: i64) -> Timestamp {
    Timestamp::from_millis(SystemBackoffClock.now().millis() - minutes * MINUTE)
}

/// Moves the start of a watch back, while the server is stopped.
fn went_live_earlier(data: &Path, promotion: &str, minutes: u32) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdk/earlier_promotion.py");
    let mut earlier = Command::new("python3");
    earlier.arg(script).arg(data.join("catalog.db")).arg(promotion).arg(minutes.to_string());
    assert!(earlier.status().unwrap().success());
}

#[test]
fn each_pipeline_of_the_documentation_brings_a_commit_to_production() {
    let shop = Shop::start();
    let mut commits = Vec::new();
    for (heading, prompt) in [("Plain shell", "2"), ("GitHub Actions", "3"), ("GitLab", "4")] {
        let commit = shop.commit(1_000 + commits.len());
        shop.release(heading, prompt, &commit);
        commits.push(commit);
    }
    assert_eq!(shop.images("shop_beta"), commits);
    assert_eq!(shop.images("shop_prod"), commits);
    let summary = std::fs::read_to_string(shop.folder.path().join("summary.md")).unwrap();
    assert!(summary.contains("## Gate: PASS") && summary.contains("Promotion: "), "{summary}");
    // A gate that blocks ends the pipeline, and the version stays out of production.
    let commit = shop.commit(10);
    let (before, _) = scripts("GitLab");
    let done = shop.bash(&before[0], &[("PROMPT", "4"), ("CI_COMMIT_SHA", &commit)]);
    assert_eq!(done.status.code(), Some(3), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(shop.images("shop_prod"), commits);
}

#[test]
fn a_good_version_is_confirmed_and_a_bad_one_that_passed_its_gate_is_rolled_back() {
    let shop = Shop::start();
    shop.sessions("first", ago(300), (200, 9));
    let good = shop.commit(1_000);
    let id = shop.release("Plain shell", "2", &good);
    shop.sessions("good", ago(100), (100, 9));
    let shop = shop.restarted(|data| went_live_earlier(data, &id, 180));
    let outcome = shop.ends_as(&id, "confirmed");
    assert!(outcome.contains("not significantly worse after the promotion"), "{outcome}");
    assert!(outcome.contains("100 sessions"), "{outcome}");

    // Its gate has no number that it is wrong about.
    let bad = shop.commit(ITEMS);
    let id = shop.release("Plain shell", "3", &bad);
    shop.sessions("bad", ago(80), (100, 3));
    let shop = shop.restarted(|data| went_live_earlier(data, &id, 90));
    let outcome = shop.ends_as(&id, "rolled-back");
    assert!(outcome.contains("worse after the promotion: online score"), "{outcome}");
    assert_eq!(shop.production(), 2);
    // The server deploys what served before, with the signature that the control plane computes.
    wait::until("the rollback is deployed", || shop.images("shop_prod").len() == 3);
    assert_eq!(shop.images("shop_prod"), [good.clone(), bad, good]);
}
