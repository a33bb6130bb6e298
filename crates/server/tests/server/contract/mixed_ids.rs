//! Calls in one's own project with one id of another: another project's item in one's own queue.
//! All else about such a call is valid, so that only project isolation can reject it.

use ratchet_store::catalog::{Permissions, Role};

use super::calls::{Chosen, Ids};
use super::walk::{Holder, THEIRS, Walk, by_method, make_media, make_project};

#[tokio::test]
async fn one_id_of_another_project_is_an_id_that_is_not_there() {
    let walk = Walk::start().await;
    let theirs = make_project(&walk.server, "elsewhere").await;
    let owner = Holder {
        name: "pk-elsewhere".to_owned(),
        role: Role::Owner,
        permissions: Permissions::ALL,
    };
    owner.make(&walk.server, theirs.clone()).await;
    make_media(&walk.server, theirs.clone()).await;
    let key = owner.header();
    let makes = walk.calls.iter().filter(|call| call.method() != "DELETE" && !call.whole_server);
    // Server-wide ids are the same for both.
    let kept = walk.kept.clone().moved(theirs.as_str());
    let kept = walk.seed(makes, &key, kept, (THEIRS, Chosen::Elsewhere)).await;
    let before = walk.everything().await;
    let strangers = walk.kept.strangers();
    // Users belong to the server.
    let of_server = |id: &str| {
        let mut calls = walk.calls.iter().filter(|call| call.whole_server);
        calls.any(|call| call.keeps(id))
    };
    let mut mixed = 0;
    for call in by_method(&walk.calls) {
        let ids = call.ids();
        for id in ids.iter().filter(|id| ids.len() > 1 && !of_server(id)) {
            let not_theirs = Ids::new(&walk.kept, THEIRS, Chosen::Seeded).fill(id);
            let nobodys = Ids::new(&strangers, THEIRS, Chosen::Nobodys).fill(id);
            let send = async |other: &str| {
                let own = Ids::new(&kept, THEIRS, Chosen::Elsewhere);
                call.make(&walk.server, &key, &Ids { but: Some((id.as_str(), other)), ..own }).await
            };
            walk.check_border(call, &send(&not_theirs).await, &send(&nobodys).await);
            mixed += 1;
        }
    }
    assert!(mixed > 40, "only {mixed} calls named something of both");
    assert_eq!(walk.everything().await, before, "a stranger changed something");
    walk.server.stop().await;
}
