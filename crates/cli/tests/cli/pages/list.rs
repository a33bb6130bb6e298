use std::collections::BTreeMap;

use ratchet_browser::Page;

use super::answers;
use super::stage::Stage;

/// A page that people can open.
#[derive(Debug)]
pub(super) struct Listed {
    /// What its screenshots are called.
    pub(super) name: &'static str,
    /// Where it is, with names in braces for what differs from one server to the next.
    address: &'static str,
}

/// All pages of a project, or of none. A new page is added here, and every check looks at
/// it.
pub(super) const PAGES: &[Listed] = &[
    Listed { name: "home", address: "/project/{project}" },
    Listed { name: "traces", address: "/project/{project}/traces" },
    Listed { name: "traces-found", address: "/project/{project}/find?q={words}" },
    Listed { name: "traces-misread", address: "/project/{project}/traces?q=cost%3Emuch" },
    Listed { name: "observations", address: "/project/{project}/observations" },
    Listed { name: "trace", address: "/project/{project}/traces/{trace}" },
    Listed { name: "trace-raw", address: "/project/{project}/traces/{trace}?view=raw" },
    Listed { name: "trace-graph", address: "/project/{project}/traces/{trace}?view=graph" },
    Listed { name: "trace-to-dataset", address: "/project/{project}/traces/{trace}/dataset" },
    Listed { name: "trace-correction", address: "/project/{project}/traces/{trace}/correction" },
    Listed { name: "trace-delete", address: "/project/{project}/traces/{trace}/delete" },
    Listed { name: "sessions", address: "/project/{project}/sessions" },
    Listed { name: "session", address: "/project/{project}/sessions/{session}" },
    Listed { name: "users", address: "/project/{project}/users" },
    Listed { name: "user", address: "/project/{project}/users/{user}" },
    Listed { name: "scores", address: "/project/{project}/scores" },
    Listed { name: "score", address: "/project/{project}/scores/{score}" },
    Listed {
        name: "score-compare",
        address: "/project/{project}/scores/compare?a={score}&b={other-score}",
    },
    Listed {
        name: "scores-filtered",
        address: "/project/{project}/list/scores?where=%5B%7B%22column%22:%22source%22,%22operator%22:%22any%20of%22,%22type%22:%22stringOptions%22,%22value%22:%5B%22EVAL%22%5D%7D%5D",
    },
    Listed { name: "calibration", address: "/project/{project}/calibration" },
    Listed {
        name: "calibration-grades",
        address: "/project/{project}/calibration?dimension=task_completion",
    },
    Listed { name: "evaluators", address: "/project/{project}/evaluators" },
    Listed { name: "evaluator", address: "/project/{project}/evaluators/{evaluator}" },
    Listed { name: "evaluator-new", address: "/project/{project}/evaluators/new" },
    Listed { name: "evaluator-code", address: "/project/{project}/evaluators/new?type=code" },
    Listed { name: "evaluator-edit", address: "/project/{project}/evaluators/{evaluator}/edit" },
    Listed {
        name: "evaluator-versions",
        address: "/project/{project}/evaluators/{evaluator}/versions",
    },
    Listed {
        name: "evaluator-delete",
        address: "/project/{project}/evaluators/{evaluator}/delete",
    },
    Listed {
        name: "rule-new",
        address: "/project/{project}/evaluation-rules/new?evaluator={evaluator}",
    },
    Listed {
        name: "rule-edit",
        address: "/project/{project}/evaluation-rules/{evaluation-rule}/edit",
    },
    Listed {
        name: "rule-delete",
        address: "/project/{project}/evaluation-rules/{evaluation-rule}/delete",
    },
    Listed { name: "matrix", address: "/project/{project}/matrix" },
    Listed { name: "matrix-category", address: "/project/{project}/matrix/category/W6" },
    Listed { name: "metrics", address: "/project/{project}/metrics" },
    Listed { name: "reports", address: "/project/{project}/reports" },
    Listed { name: "report", address: "/project/{project}/reports/{week}" },
    Listed { name: "suggestions", address: "/project/{project}/reports/suggestions" },
    Listed { name: "proposals", address: "/project/{project}/proposals" },
    Listed { name: "proposal", address: "/project/{project}/proposals/{proposal}" },
    Listed { name: "success", address: "/project/{project}/reports/success" },
    Listed { name: "schedules", address: "/project/{project}/reports/schedules" },
    Listed { name: "queues", address: "/project/{project}/queues" },
    Listed { name: "queue", address: "/project/{project}/queues/{queue}" },
    Listed { name: "review", address: "/project/{project}/queues/{queue}/review" },
    Listed { name: "review-settings", address: "/project/{project}/queues/{queue}/settings" },
    Listed { name: "queue-edit", address: "/project/{project}/queues/{queue}/edit" },
    Listed { name: "queue-delete", address: "/project/{project}/queues/{queue}/delete" },
    Listed { name: "agents", address: "/project/{project}/agents" },
    Listed { name: "targets", address: "/project/{project}/targets" },
    Listed { name: "target", address: "/project/{project}/targets/{target}" },
    Listed { name: "experiment-start", address: "/project/{project}/experiments/start" },
    Listed { name: "agent", address: "/project/{project}/agents/agent/{agent}" },
    Listed { name: "experiments", address: "/project/{project}/experiments" },
    Listed { name: "gates", address: "/project/{project}/gates" },
    Listed { name: "gate", address: "/project/{project}/gates/{gate}" },
    Listed { name: "promotions", address: "/project/{project}/promotions" },
    Listed { name: "promotion", address: "/project/{project}/promotions/{promotion}" },
    Listed {
        name: "agent-versions",
        address: "/project/{project}/promotions/agents/{promoted-agent}",
    },
    Listed { name: "ab-tests", address: "/project/{project}/ab-tests" },
    Listed { name: "ab-test", address: "/project/{project}/ab-tests/{ab-test}?unit=user-17" },
    Listed { name: "ab-test-start", address: "/project/{project}/prompts/{prompt}/ab-tests" },
    Listed { name: "session-agents", address: "/project/{project}/sessions/{session}/agents" },
    Listed { name: "trace-agents", address: "/project/{project}/traces/{trace}/agents" },
    Listed { name: "datasets", address: "/project/{project}/datasets" },
    Listed { name: "dataset", address: "/project/{project}/datasets/{dataset}" },
    Listed { name: "dataset-edit", address: "/project/{project}/datasets/{dataset}/edit" },
    Listed { name: "dataset-delete", address: "/project/{project}/datasets/{dataset}/delete" },
    Listed { name: "item", address: "/project/{project}/datasets/{dataset}/items/{item}" },
    Listed {
        name: "item-delete",
        address: "/project/{project}/datasets/{dataset}/items/{item}/delete",
    },
    Listed { name: "item-add", address: "/project/{project}/datasets/{dataset}/add" },
    Listed { name: "upload", address: "/project/{project}/datasets/{dataset}/upload" },
    Listed { name: "run", address: "/project/{project}/datasets/{dataset}/runs/{before}" },
    Listed {
        name: "run-delete",
        address: "/project/{project}/datasets/{dataset}/runs/{before}/delete",
    },
    Listed { name: "runs", address: "/project/{project}/datasets/{dataset}/runs" },
    Listed {
        name: "runs-compared",
        address: "/project/{project}/datasets/{dataset}/compare?before={before}&after={after}",
    },
    Listed {
        name: "runs-compared-three",
        address: "/project/{project}/datasets/{dataset}/compare?before={before}&after={after}&after={before}&item={item}",
    },
    Listed { name: "prompts", address: "/project/{project}/prompts" },
    Listed { name: "prompts-folder", address: "/project/{project}/prompts?folder=support" },
    Listed { name: "prompts-none", address: "/project/{project}/prompts?text=nothing&tag=no" },
    Listed { name: "prompt-delete", address: "/project/{project}/prompts/{prompt}/delete" },
    Listed { name: "prompt", address: "/project/{project}/prompts/{prompt}?version=2" },
    Listed {
        name: "prompt-promotion",
        address: "/project/{project}/prompts/{prompt}?version=2&confirm=production",
    },
    Listed {
        name: "prompt-editor",
        address: "/project/{project}/prompt-editor?prompt={prompt}&version=2",
    },
    Listed {
        name: "playground",
        address: "/project/{project}/playground?prompt={prompt}&version=2",
    },
    Listed {
        name: "playground-versions",
        address: "/project/{project}/playground?prompt={prompt}&version=2&against=1",
    },
    Listed { name: "dashboard", address: "/project/{project}/dashboards" },
    Listed { name: "dashboard-by-model", address: "/project/{project}/dashboards?by=model" },
    Listed { name: "dashboards", address: "/project/{project}/dashboards/all" },
    Listed { name: "dashboard-own", address: "/project/{project}/dashboards/{dashboard}?edit=1" },
    Listed { name: "chart", address: "/project/{project}/dashboards/{dashboard}/widgets" },
    Listed {
        name: "chart-edited",
        address: "/project/{project}/dashboards/{dashboard}/widgets/{widget}",
    },
    Listed { name: "chats", address: "/project/{project}/chats" },
    Listed { name: "chat-new", address: "/project/{project}/chats/new" },
    Listed { name: "chat", address: "/project/{project}/chats/{chat}" },
    Listed { name: "chat-target-new", address: "/project/{project}/chats/with/{chat-target}" },
    Listed {
        name: "chat-target",
        address: "/project/{project}/chats/with/{chat-target}/{target-chat}?done=added",
    },
    Listed { name: "settings", address: "/project/{project}/settings" },
    Listed { name: "settings-members", address: "/project/{project}/settings/members" },
    Listed { name: "settings-keys", address: "/project/{project}/settings/keys" },
    Listed { name: "settings-models", address: "/project/{project}/settings/models" },
    Listed { name: "settings-model", address: "/project/{project}/settings/models/{model}" },
    Listed { name: "settings-connections", address: "/project/{project}/settings/connections" },
    Listed {
        name: "settings-connection",
        address: "/project/{project}/settings/connections/{connection}",
    },
    Listed { name: "settings-score-configs", address: "/project/{project}/settings/score-configs" },
    Listed {
        name: "settings-score-config",
        address: "/project/{project}/settings/score-configs?edit={score-config}",
    },
    Listed { name: "settings-redaction", address: "/project/{project}/settings/redaction" },
    Listed { name: "settings-notifications", address: "/project/{project}/settings/notifications" },
    Listed {
        name: "settings-receiver",
        address: "/project/{project}/settings/notifications/{receiver}",
    },
    Listed { name: "settings-audit", address: "/project/{project}/settings/audit" },
    Listed { name: "settings-projects", address: "/project/{project}/settings/projects" },
    Listed { name: "public-trace", address: "/public/{public-trace}" },
    Listed { name: "public-session", address: "/public/{public-session}" },
    Listed { name: "gallery", address: "/ui/gallery" },
    Listed { name: "api-docs", address: "/api/docs" },
];

/// Things that pages are about: a name in an address, and an id.
pub(super) type Places = BTreeMap<&'static str, String>;

impl Listed {
    /// Whether it needs nothing but a project.
    pub(super) fn is_about_a_project(&self) -> bool {
        let rest = self.address.strip_prefix("/project/{project}");
        rest.is_some_and(|rest| !rest.contains('{'))
    }

    /// The address on a server where these things are.
    pub(super) fn path(&self, places: &Places) -> String {
        fill(self.address, places)
    }
}

/// An address with ids in place of what is in braces.
pub(super) fn fill(address: &str, places: &Places) -> String {
    let mut path = String::new();
    for piece in address.split_inclusive('}') {
        let Some((before, name)) = piece.split_once('{') else {
            path += piece;
            continue;
        };
        let name = name.trim_end_matches('}');
        let Some(id) = places.get(name) else { panic!("{address}: which {name}?") };
        path += before;
        path += &encode(id);
    }
    path
}

/// Opens every page of servers that are in use, those for signing in too, and shows each.
pub(super) fn visit(stage: &Stage, page: &Page, mut show: impl FnMut(&str)) {
    let demo = stage.demo();
    for listed in PAGES {
        page.open(&demo.url(&listed.path(&demo.places)));
        show(listed.name);
    }
    answers::visit(demo, page, &mut show);
    let fresh = stage.fresh();
    page.open(&fresh.url(&fresh.places["set-up"]));
    show("set-up");
    let guarded = stage.guarded();
    page.open(&guarded.url("/sign-in"));
    show("sign-in");
    guarded.sign_in(page);
    page.open(&guarded.url("/account"));
    show("account");
}

/// An id as a part of a path, however odd.
pub(super) fn encode(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

#[test]
fn addresses_are_filled_in() {
    let page = Listed { name: "a", address: "/project/{project}/traces/{trace}?view=raw" };
    let places = Places::from([("project", "p".to_owned()), ("trace", "a/b ?".to_owned())]);
    assert_eq!(page.path(&places), "/project/p/traces/a%2Fb%20%3F?view=raw");
}
