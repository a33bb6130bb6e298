//! Every page with every kind of viewer: anonymous, signed out, users of another
//! project, and each role.
//!
//! Routes and their methods come from the router itself, so a new page is walked as soon as it is
//! there: by default a project's pages are for viewers and its forms for members. What differs is
//! listed here.

use ratchet_store::catalog::{QueueId, Role};
use ratchet_testkit::build::START;

use crate::browser::{Answer, Browser, Site, id};
use crate::seeded_project::{Ids, OURS, Shop};

/// A form that says something in every field that any form has, so that it is a valid one of many.
const FORM: &str = "sure=yes&confirmed=yes&name=walk-x&text=hello&note=hello&version=1&label=production&\
                    title=walk&role=viewer&email=x%40shop.example&value=1&score=quality&days=30&\
                    decision=allow&mode=plan&view=walk&list=traces&kind=email&field=password&\
                    content=hello";

/// The least that a visitor must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Needs {
    Nothing,
    SignedIn,
    Viewer,
    Member,
    Owner,
    ServerOwner,
}

/// What is not for viewers to look at and for members to change.
const DIFFERENT: &[(&str, &str, Needs)] = &[
    ("GET", "/api/docs", Needs::Nothing),
    ("GET", "/api/docs/docs.css", Needs::Nothing),
    ("GET", "/api/docs/docs.js", Needs::Nothing),
    ("GET", "/assets/{version}/{name}", Needs::Nothing),
    ("GET", "/public/{token}", Needs::Nothing),
    ("GET", "/public/{token}/media/{media}", Needs::Nothing),
    ("GET", "/public/{token}/payload", Needs::Nothing),
    ("GET", "/public/{token}/picture", Needs::Nothing),
    ("GET", "/service-worker.js", Needs::Nothing),
    ("GET", "/set-up", Needs::Nothing),
    ("POST", "/set-up", Needs::Nothing),
    ("GET", "/sign-in", Needs::Nothing),
    ("POST", "/sign-in", Needs::Nothing),
    ("GET", "/sign-in/provider", Needs::Nothing),
    ("GET", "/sign-in/provider/callback", Needs::Nothing),
    ("POST", "/sign-out", Needs::Nothing),
    ("GET", "/ui/gallery", Needs::Nothing),
    ("GET", "/project/{project}/chats/new", Needs::Member),
    ("GET", "/project/{project}/chats/with/{target}", Needs::Member),
    ("GET", "/project/{project}/dashboards/{dashboard}/widgets", Needs::Member),
    ("GET", "/project/{project}/dashboards/{dashboard}/widgets/{widget}", Needs::Member),
    ("GET", "/project/{project}/datasets/{name}/add", Needs::Member),
    ("GET", "/project/{project}/datasets/{name}/delete", Needs::Member),
    ("GET", "/project/{project}/datasets/{name}/edit", Needs::Member),
    ("GET", "/project/{project}/datasets/{name}/items/{item}/delete", Needs::Member),
    ("GET", "/project/{project}/datasets/{name}/runs/{run}/delete", Needs::Member),
    ("GET", "/project/{project}/datasets/{name}/upload", Needs::Member),
    ("GET", "/project/{project}/datasets/{name}/upload/{word}", Needs::Member),
    ("GET", "/project/{project}/evaluation-rules/new", Needs::Member),
    ("GET", "/project/{project}/evaluation-rules/{evaluation_rule}/delete", Needs::Member),
    ("GET", "/project/{project}/evaluation-rules/{evaluation_rule}/edit", Needs::Member),
    ("GET", "/project/{project}/evaluators/new", Needs::Member),
    ("GET", "/project/{project}/evaluators/{evaluator}/delete", Needs::Member),
    ("GET", "/project/{project}/evaluators/{evaluator}/edit", Needs::Member),
    ("GET", "/project/{project}/experiments/start", Needs::Member),
    ("GET", "/project/{project}/targets/{target}", Needs::Owner),
    ("POST", "/project/{project}/targets", Needs::Owner),
    ("POST", "/project/{project}/targets/{target}/remove", Needs::Owner),
    ("GET", "/project/{project}/playground", Needs::Member),
    ("GET", "/project/{project}/prompts/{name}/ab-tests", Needs::Member),
    ("GET", "/project/{project}/prompts/{name}/delete", Needs::Member),
    ("GET", "/project/{project}/queues/{queue}/delete", Needs::Member),
    ("GET", "/project/{project}/queues/{queue}/edit", Needs::Member),
    ("GET", "/project/{project}/queues/{queue}/review", Needs::Member),
    ("GET", "/project/{project}/queues/{queue}/settings", Needs::Member),
    ("GET", "/project/{project}/settings/models/{model}", Needs::Member),
    ("GET", "/project/{project}/traces/{trace}/correction", Needs::Member),
    ("GET", "/project/{project}/traces/{trace}/dataset", Needs::Member),
    ("GET", "/project/{project}/traces/{trace}/delete", Needs::Member),
    ("GET", "/project/{project}/prompt-editor", Needs::Member),
    ("GET", "/project/{project}/settings/notifications", Needs::Member),
    ("GET", "/project/{project}/settings/notifications/{receiver}", Needs::Member),
    ("POST", "/project/{project}/settings/notifications", Needs::Owner),
    // The one that there is, is a webhook; browsers are their people's.
    ("POST", "/project/{project}/settings/notifications/{receiver}", Needs::Owner),
    ("POST", "/project/{project}/settings/notifications/{receiver}/remove", Needs::Owner),
    ("POST", "/project/{project}/settings/notifications/{receiver}/secret", Needs::Owner),
    ("POST", "/project/{project}/settings/notifications/{receiver}/test", Needs::Owner),
    ("GET", "/project/{project}/settings/keys", Needs::Owner),
    ("POST", "/project/{project}/settings/keys", Needs::Owner),
    ("POST", "/project/{project}/settings/keys/{key}/permissions", Needs::Owner),
    ("POST", "/project/{project}/settings/keys/{key}/revoke", Needs::Owner),
    ("GET", "/project/{project}/settings/members", Needs::Owner),
    ("POST", "/project/{project}/settings/members", Needs::Owner),
    ("POST", "/project/{project}/settings/members/{person}/role", Needs::Owner),
    ("POST", "/project/{project}/settings/members/{person}/remove", Needs::Owner),
    ("GET", "/project/{project}/settings/redaction", Needs::Owner),
    ("POST", "/project/{project}/settings/redaction", Needs::Owner),
    ("POST", "/project/{project}/settings/redaction/{rule}/remove", Needs::Owner),
    ("POST", "/project/{project}/settings/origins", Needs::Owner),
    ("GET", "/project/{project}/settings/connections/{connection}", Needs::Owner),
    ("POST", "/project/{project}/settings/connections", Needs::Owner),
    ("POST", "/project/{project}/settings/connections/{connection}/remove", Needs::Owner),
    ("GET", "/project/{project}/settings/audit", Needs::Owner),
    ("GET", "/project/{project}/settings/audit.csv", Needs::Owner),
    ("POST", "/project/{project}/calibration/overrides", Needs::Owner),
    ("POST", "/project/{project}/score-now", Needs::Owner),
    ("POST", "/project/{project}/reports/schedules/{name}", Needs::Owner),
    ("POST", "/project/{project}/settings/name", Needs::Owner),
    ("POST", "/project/{project}/settings/retention", Needs::Owner),
    ("POST", "/project/{project}/settings/jobs", Needs::Owner),
    ("POST", "/project/{project}/settings/delete", Needs::ServerOwner),
    ("GET", "/project/{project}/settings/projects", Needs::ServerOwner),
    ("POST", "/project/{project}/settings/projects", Needs::ServerOwner),
];

/// A segment that is a word, and which words there are.
const ACTION: &str = "{action}";
const ACTIONS: &[&str] = &[
    "refresh",
    "waive",
    "review",
    "approve",
    "start",
    "rollback",
    "abandon",
    "accept",
    "reject",
    "reopen",
    "experiment",
    "done",
];

/// One method of one route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub(crate) method: String,
    pub(crate) route: String,
}

impl Way {
    fn needs(&self) -> Needs {
        let is_this = |(method, route, _): &&(&str, &str, Needs)| {
            (self.method.as_str(), self.route.as_str()) == (*method, *route)
        };
        match DIFFERENT.iter().find(is_this) {
            Some((_, _, needs)) => *needs,
            None if !self.route.starts_with("/project/") => Needs::SignedIn,
            None if self.method == "GET" => Needs::Viewer,
            None => Needs::Member,
        }
    }

    /// The address, with a project and what the shop has in place of parameters.
    pub(crate) fn at(&self, project: &str, ids: &Ids) -> String {
        let segments: Vec<&str> = self.route.split('/').collect();
        let fill = |(index, segment): (usize, &&str)| match *segment {
            "{project}" => project.to_owned(),
            "{version}" => "0".to_owned(),
            segment if segment.starts_with('{') => {
                let before = segments.get(index.wrapping_sub(1)).copied();
                match (before, segment.trim_matches(['{', '}'])) {
                    (Some("scores" | "named"), _) => "quality".to_owned(),
                    (Some("{target}"), "chat") => ids.of("target-chat").to_owned(),
                    (_, "item") if self.route.contains("/queues/") => {
                        ids.of("queue-item").to_owned()
                    }
                    (_, name) => ids.of(name).to_owned(),
                }
            }
            segment => segment.to_owned(),
        };
        segments.iter().enumerate().map(fill).collect::<Vec<_>>().join("/")
    }
}

/// Every method of every route. The router shows the routes when it is printed, and what each takes
/// when it is asked.
pub(crate) async fn ways(site: &Site) -> Vec<Way> {
    let printed = format!("{:?}", site.router);
    let mut routes: Vec<&str> = printed.split('"').filter(|text| text.starts_with('/')).collect();
    routes.sort_unstable();
    routes.dedup();
    let mut ways = Vec::new();
    for route in routes {
        let filled = route.replace(['{', '}'], "");
        let answer = site.browser().send("OPTIONS", &filled, &[], String::new()).await;
        let methods = answer.header("allow").split(',').map(str::trim);
        for method in methods.filter(|method| !method.is_empty() && *method != "HEAD") {
            let all = if route.contains(ACTION) { ACTIONS } else { &[""] };
            let routes = all.iter().map(|action| route.replace(ACTION, action));
            ways.extend(routes.map(|route| Way { method: method.to_owned(), route }));
        }
    }
    assert!(ways.len() > 150, "the router shows only {ways:?}");
    for (method, route, _) in DIFFERENT {
        let way = Way { method: (*method).to_owned(), route: (*route).to_owned() };
        assert!(ways.contains(&way), "there is no {method} {route}");
    }
    ways
}

/// Someone with a role in the shop; an owner of the server if they need to be.
pub(crate) async fn viewer(site: &Site, needs: Needs) -> Browser {
    let email = format!("{needs:?}@shop.example").to_lowercase();
    match needs {
        Needs::Nothing => return site.browser(),
        Needs::SignedIn => {
            let person = site.person(&email, Role::Viewer).await;
            let catalog = site.data.catalog();
            catalog.end_membership(id("shop"), person.id.clone(), START).await.unwrap();
            catalog.set_membership(id("lab"), person.id, Role::Owner, START).await.unwrap();
        }
        Needs::Viewer => drop(site.person(&email, Role::Viewer).await),
        Needs::Member => drop(site.person(&email, Role::Member).await),
        Needs::Owner => {
            let person = site.person(&email, Role::Member).await;
            let catalog = site.data.catalog();
            catalog.set_membership(id("shop"), person.id, Role::Owner, START).await.unwrap();
        }
        Needs::ServerOwner => drop(site.person(&email, Role::Owner).await),
    }
    let mut browser = site.signed_in(&email).await;
    browser.get("/account").await.check(200, &email);
    browser
}

const EVERYONE: [Needs; 4] = [Needs::Viewer, Needs::Member, Needs::Owner, Needs::ServerOwner];

async fn send(browser: &mut Browser, way: &Way, at: &str) -> Answer {
    if way.method == "GET" {
        return browser.get(at).await;
    }
    let token = browser.form_token.clone();
    // The one word that two forms have with other values.
    let to = if way.route.contains("/suggestions/") { "done" } else { "off" };
    let form = format!("{FORM}&to={to}&form_token={token}");
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    let answer = browser.send(&way.method, at, &kind, form).await;
    // A page that was answered may have held another form's token.
    browser.form_token = token;
    answer
}

/// Whether someone was sent away to sign in.
fn is_sent_away(answer: &Answer) -> bool {
    let leads = answer.status == 303 && answer.header("location").starts_with("/sign-in");
    leads || answer.status == 401
}

#[tokio::test]
async fn nobody_sees_or_changes_anything_without_signing_in() {
    let Shop { site, ids, .. } = Shop::open().await;
    let mut stranger = site.browser();
    stranger.get("/sign-in").await;
    let mut gone = viewer(&site, Needs::Owner).await;
    let cookies = gone.jar.clone();
    gone.post("/sign-out", &[]).await;
    gone.jar = cookies;
    for way in ways(&site).await.iter().filter(|way| way.needs() > Needs::Nothing) {
        let at = way.at("shop", &ids);
        for (browser, who) in [(&mut stranger, "a stranger"), (&mut gone, "whoever signed out")] {
            let answer = send(browser, way, &at).await;
            let is_refused = is_sent_away(&answer) || answer.status == 403;
            assert!(is_refused, "{way:?} by {who}: {} {}", answer.status, answer.text);
            assert!(!answer.text.contains(OURS), "{way:?} tells {who}: {}", answer.text);
        }
    }
}

/// All that the shop's pages show to its owner.
pub(crate) async fn everything(
    site: &Site,
    ids: &Ids,
    ways: &[Way],
    owner: &mut Browser,
) -> Vec<String> {
    let mut shown = Vec::new();
    let pages = ways.iter().filter(|way| way.method == "GET" && way.route.starts_with("/project/"));
    // A stream goes on, and the page for a new chat has a new id each time.
    let is_other =
        |way: &&Way| way.route.ends_with("/events") || way.route.ends_with("/with/{target}");
    for way in pages.filter(|way| !is_other(way)) {
        let answer = send(owner, way, &way.at("shop", ids)).await;
        shown.push(format!("{way:?} {} {}", answer.status, answer.text));
    }
    let catalog = site.data.catalog();
    shown.push(format!("{:?}", catalog.keys(id("shop")).await.unwrap()));
    shown
}

/// What answers something else than 404 about what is another project's: it is about whatever has
/// that name, and nothing needs to.
const NOT_404: [&str; 4] = [
    "200 GET /project/{project}/scores/named/{name}",
    "200 GET /project/{project}/scores/{name}",
    "200 GET /project/{project}/sessions/{session}/steps/{trace}",
    "200 GET /project/{project}/users/{user}",
];

#[tokio::test]
async fn people_of_another_project_find_nothing_of_this_one() {
    let Shop { site, ids, .. } = Shop::open().await;
    let ways = ways(&site).await;
    let mut owner = viewer(&site, Needs::Owner).await;
    let mut stranger = viewer(&site, Needs::SignedIn).await;
    let before = everything(&site, &ids, &ways, &mut owner).await;
    let nobodys = Ids::nobodys();
    let mut others = Vec::new();
    for way in ways.iter().filter(|way| way.route.starts_with("/project/")) {
        let answer = send(&mut stranger, way, &way.at("shop", &ids)).await;
        assert_eq!(answer.status, 404, "{way:?} in the shop: {}", answer.text);
        assert!(!answer.text.contains(OURS), "{way:?} in the shop: {}", answer.text);
        let names_something = way.route.matches('{').count() > 1;
        if !names_something {
            continue;
        }
        // In one's own project, where one may do everything, with ids of the other one.
        let not_theirs = send(&mut stranger, way, &way.at("lab", &ids)).await;
        let not_there = send(&mut stranger, way, &way.at("lab", &nobodys)).await;
        assert!(!not_theirs.text.contains(OURS), "{way:?} in the lab: {}", not_theirs.text);
        assert_eq!(not_theirs.status, not_there.status, "{way:?} in the lab: {}", not_theirs.text);
        if not_theirs.status != 404 {
            others.push(format!("{} {} {}", not_theirs.status, way.method, way.route));
        }
    }
    assert_eq!(others, NOT_404, "they end before it is looked for");
    let after = everything(&site, &ids, &ways, &mut owner).await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after, "a stranger changed something");
    }
}

/// What a reviewer may open and send, besides what has no project. All of it is about queues that they
/// are assigned to.
const FOR_REVIEWERS: [(&str, &str); 9] = [
    ("GET", "/project/{project}/queues"),
    ("GET", "/project/{project}/queues/{queue}"),
    ("GET", "/project/{project}/queues/{queue}/review"),
    ("POST", "/project/{project}/queues/{queue}/review/{item}"),
    ("POST", "/project/{project}/queues/{queue}/review/{item}/heartbeat"),
    ("POST", "/project/{project}/queues/{queue}/undo"),
    ("GET", "/project/{project}/media/{media}"),
    ("GET", "/project/{project}/traces/{trace}/picture"),
    ("GET", "/project/{project}/traces/{trace}/observations/{observation}/picture"),
];

#[tokio::test]
async fn a_reviewer_sees_queues_and_nothing_else_of_a_project() {
    let Shop { site, ids, .. } = Shop::open().await;
    let person = site.person("reviewer@shop.example", Role::Reviewer).await;
    let of = QueueId { project: id("shop"), queue: ids.of("queue").to_owned() };
    site.data.catalog().assign_queue(of, person.id, START).await.unwrap();
    let mut browser = site.signed_in("reviewer@shop.example").await;
    browser.get("/account").await.check(200, "reviewer@shop.example");
    let mut wrong = Vec::new();
    for way in ways(&site).await.iter().filter(|way| way.route.starts_with("/project/")) {
        let answer = send(&mut browser, way, &way.at("shop", &ids)).await;
        let is_theirs = FOR_REVIEWERS.contains(&(way.method.as_str(), way.route.as_str()));
        let is_home = way.method == "GET" && way.route == "/project/{project}";
        let is_right = match (is_theirs, is_home) {
            (true, _) => answer.status != 403 && answer.status < 500,
            (false, true) => answer.status == 303,
            (false, false) => answer.status == 403 && !answer.text.contains(OURS),
        };
        if !is_right {
            wrong.push(format!("{way:?}: {}", answer.status));
        }
    }
    assert_eq!(wrong, [""; 0], "list what is for reviewers, or mend the page");
}

#[tokio::test]
async fn each_role_may_what_it_should_and_no_more() {
    let Shop { site, ids, .. } = Shop::open().await;
    let ways = ways(&site).await;
    let mut wrong = Vec::new();
    for who in EVERYONE {
        let mut browser = viewer(&site, who).await;
        for way in ways.iter().filter(|way| way.needs() > Needs::Nothing) {
            // A stream goes on until the server ends.
            if way.route.ends_with("/events") || way.route == "/account/logins" {
                continue;
            }
            let answer = send(&mut browser, way, &way.at("shop", &ids)).await;
            // What only the owner of an agent does is refused on the page of the promotion.
            let is_on_page = way.route.contains("/promotions/") && answer.text.contains(OURS);
            let is_open = answer.status != 403 || is_on_page;
            let is_let_in = is_open && answer.status < 500 && !is_sent_away(&answer);
            let is_refused = answer.status == 403 && !answer.text.contains(OURS);
            if !if way.needs() > who { is_refused } else { is_let_in } {
                wrong.push(format!("{way:?} by {who:?}: {}", answer.status));
            }
        }
    }
    assert_eq!(wrong, [""; 0], "list what a page needs in DIFFERENT, or mend the page");
}

/// The pages that every look of a browser walks through.
const WALKED: &str = include_str!("../../../cli/tests/cli/pages/list.rs");

/// Other addresses of pages that it walks through.
const NOT_WALKED: [&str; 2] =
    ["/project/{project}/datasets/{name}/items", "/project/{project}/scores/named/{name}"];

/// Whether an address of the list is one of a route: parameters stand for parameters.
fn is_address_of(address: &str, route: &str) -> bool {
    let path = address.split('?').next().unwrap_or_default();
    let (mut parts, mut wanted) = (path.split('/'), route.split('/'));
    let same = parts
        .by_ref()
        .zip(wanted.by_ref())
        .all(|(part, wanted)| part == wanted || (part.starts_with('{') && wanted.starts_with('{')));
    same && path.split('/').count() == route.split('/').count()
}

#[tokio::test]
async fn every_page_is_walked_through_by_browsers() {
    let Shop { site, ids, .. } = Shop::open().await;
    let mut owner = viewer(&site, Needs::ServerOwner).await;
    let addresses: Vec<&str> = WALKED.split('"').filter(|text| text.starts_with("/")).collect();
    let mut missing = Vec::new();
    for way in ways(&site).await.iter().filter(|way| way.method == "GET") {
        let is_known = addresses.iter().any(|address| is_address_of(address, &way.route))
            || NOT_WALKED.contains(&way.route.as_str());
        if is_known || way.route.ends_with("/events") {
            continue;
        }
        let answer = send(&mut owner, way, &way.at("shop", &ids)).await;
        if answer.status == 200 && answer.text.starts_with("<!DOCTYPE html>") {
            missing.push(way.route.clone());
        }
    }
    assert_eq!(missing, [""; 0], "add the page to PAGES of the pages' tests");
}
