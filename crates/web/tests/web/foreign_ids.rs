//! What somebody names of a project that is not theirs, in fields of forms and behind public links.

use crate::roles::{Needs, Way, everything, viewer, ways};
use crate::seeded_project::{Ids, OURS, Shop};

/// Fields of forms that name something of the project: the route, the field, whose id it has, and what
/// else the form needs.
const REFERENCES: &[(&str, &str, &str, &str)] = &[
    ("/project/{project}/traces/{trace}/queue", "queue", "queue", ""),
    ("/project/{project}/traces/{trace}/dataset", "dataset", "name", "expected_output=1"),
    ("/project/{project}/traces/{trace}/comments", "observation", "observation", "content=x"),
    ("/project/{project}/traces/{trace}/scores", "observation", "observation", "score=a&value=1"),
    ("/project/{project}/sessions/{session}/queue", "queue", "queue", ""),
    ("/project/{project}/sessions/{session}/dataset", "dataset", "name", ""),
    ("/project/{project}/datasets/{name}/runs/{run}/queue", "queue", "queue", ""),
    ("/project/{project}/datasets/{name}/compare", "trace", "trace", "correctness=1"),
    ("/project/{project}/playground/item", "dataset", "name", "input=1&output=2"),
    ("/project/{project}/experiments/start", "dataset", "name", "target=tour-it&evaluators=exact"),
    ("/project/{project}/experiments/start", "target", "target", "dataset=tour-it&repeats=1"),
    ("/project/{project}/chats/with/{target}/{chat}/dataset", "dataset", "name", "turn=tour-it"),
    ("/project/{project}/chats/with/{target}/{chat}/dataset", "turn", "trace", "dataset=tour-it"),
    ("/project/{project}/promotions", "agent", "agent", "model=m&dataset=tour-it"),
    ("/project/{project}/promotions", "dataset", "name", "model=m&agent=tour-it"),
    ("/project/{project}/promotions", "prompts", "prompts", "agent=tour-it&dataset=tour-it"),
    ("/project/{project}/prompts/{name}/ab-tests", "agent", "agent", "candidate=next"),
    ("/project/{project}/matrix/split", "agent", "agent", "share=0.5"),
    ("/project/{project}/queues", "config", "config", "name=x"),
    ("/project/{project}/queues/{queue}/assignees", "person", "person", ""),
    ("/project/{project}/dashboards/{dashboard}/tiles", "widget", "widget", ""),
    ("/project/{project}/list/traces/do", "id", "trace", "action=tag&tag=x"),
    ("/project/{project}/list/traces/do", "id", "trace", "action=delete&sure=yes"),
    ("/project/{project}/list/traces/do", "id", "trace", "action=queue&queue=none"),
    ("/project/{project}/list/traces/forget-view", "id", "view", ""),
    ("/project/{project}/settings/jobs", "id", "trace", "kind=score-session&do=revive"),
    ("/project/{project}/settings/score-configs", "id", "config", "action=archive"),
];

/// The value of a field: an id, or something with one.
fn value(kind: &str, ids: &Ids) -> String {
    match kind {
        "prompts" => format!("{}=1", ids.of("name")),
        kind => ids.of(kind).to_owned(),
    }
}

#[tokio::test]
async fn what_a_form_names_of_another_project_is_not_there() {
    let shop = Shop::open().await;
    let own = shop.furnish_lab().await;
    let Shop { site, ids, .. } = &shop;
    let ways = ways(site).await;
    let mut owner = viewer(site, Needs::Owner).await;
    let mut stranger = viewer(site, Needs::SignedIn).await;
    let before = everything(site, ids, &ways, &mut owner).await;
    let nobodys = Ids::nobodys();
    for (route, field, kind, rest) in REFERENCES {
        let way = Way { method: "POST".to_owned(), route: (*route).to_owned() };
        assert!(ways.contains(&way), "there is no {way:?}");
        let mut send = async |ids: &Ids| {
            let form =
                format!("{field}={}&{rest}&form_token={}", value(kind, ids), stranger.form_token);
            let kind = [("content-type", "application/x-www-form-urlencoded")];
            stranger.send("POST", &way.at("lab", &own), &kind, form).await
        };
        let (not_theirs, not_there) = (send(ids).await, send(&nobodys).await);
        let said = (way.route.as_str(), field, &not_theirs.text);
        assert!(!not_theirs.text.contains(OURS), "{said:?}");
        assert_eq!(not_theirs.status, not_there.status, "{said:?}");
        assert!(not_theirs.status < 500, "{said:?}");
    }
    let after = everything(site, ids, &ways, &mut owner).await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after, "the lab changed the shop");
    }
}

#[tokio::test]
async fn a_public_link_opens_nothing_of_another_project() {
    let shop = Shop::open().await;
    let own = shop.furnish_lab().await;
    let (site, ids) = (&shop.site, &shop.ids);
    let mut anybody = site.browser();
    let link = format!("/public/{}", own.of("token"));
    anybody.get(&link).await.check(200, own.of("trace"));
    let nobodys = Ids::nobodys();
    for place in [
        "?trace={trace}",
        "?trace={own}&observation={observation}",
        "/media/{media}",
        "/payload?trace={trace}&side=output",
        "/picture?trace={trace}&n=0&side=output",
    ] {
        let at = |ids: &Ids| {
            let filled = place.replace("{own}", own.of("trace"));
            let named = ["trace", "observation", "media"];
            let fill =
                |text: String, name: &&str| text.replace(&format!("{{{name}}}"), ids.of(name));
            format!("{link}{}", named.iter().fold(filled, fill))
        };
        for ids in [ids, &nobodys] {
            let answer = anybody.get(&at(ids)).await;
            assert_eq!(answer.status, 404, "{place}: {}", answer.text);
            assert!(!answer.text.contains(OURS), "{place}: {}", answer.text);
        }
    }
    // A login opens no more than none.
    let mut stranger = viewer(site, Needs::SignedIn).await;
    let media = format!("{link}/media/{}", ids.of("media"));
    assert_eq!(stranger.get(&media).await.status, 404);
}
