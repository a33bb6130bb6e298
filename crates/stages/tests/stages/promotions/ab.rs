//! A/B tests of a prompt: users get what they are assigned, the worker looks, the winner is offered.

use ratchet_core::promotion::ab_test::{AbEnd, AbSpec, Arm};
use ratchet_core::promotion::watch::Mark;
use ratchet_stages::gate::GateContext;
use ratchet_stages::promote::PromoteError;
use ratchet_stages::promote::ab::{assignment, start, stop};
use ratchet_store::catalog::{FieldUpdate, NewDataset, StoredAbTest};

use super::*;

/// Milliseconds until a user counts: the window, and an hour for scores.
const WINDOW: i64 = 2 * 60 * MINUTE;

impl Shop {
    async fn dataset(&self) {
        let dataset = NewDataset {
            name: "shop-eval-global".to_owned(),
            description: None,
            metadata: None,
            input_schema: FieldUpdate::Keep,
            expected_output_schema: FieldUpdate::Keep,
        };
        self.catalog().save_dataset(self.id.clone(), dataset, START).await.unwrap();
    }

    async fn start_ab(&self) -> Result<StoredAbTest, PromoteError> {
        let spec = AbSpec {
            agent: "shop".to_owned(),
            prompt: "shop".to_owned(),
            control: "production".to_owned(),
            candidate: "next".to_owned(),
            share: 50,
            primary: Mark::Quality,
            max_units: 400,
            max_days: 30,
            window_hours: 1,
        };
        let catalog = self.catalog();
        let context = self.gate_context(&catalog);
        start(context, spec).await
    }

    fn gate_context<'a>(&'a self, catalog: &'a Catalog) -> GateContext<'a> {
        let store = &self.worker.store;
        GateContext { store, catalog, project: &self.id, server: "", now: self.clock.now() }
    }

    async fn assigned(&self, user: &str) -> (Option<u32>, Option<Arm>) {
        let found = assignment((&self.catalog(), &self.id), "shop", user).await.unwrap();
        (found.version, found.arm)
    }

    /// Users who ask once each, one a minute; so many percent of those with the candidate and of
    /// the others get a good answer.
    async fn serve(&mut self, users: usize, (candidate, control): (u64, u64)) {
        let mut built = batch(&self.id);
        for _ in 0..users {
            self.clock.advance(MINUTE);
            let from = self.clock.millis();
            self.sessions += 1;
            let (id, user) = (format!("ab{}", self.sessions), format!("user-{}", self.sessions));
            let (version, arm) = self.assigned(&user).await;
            let percent = if arm == Some(Arm::Candidate) { candidate } else { control };
            let value = f64::from(u8::from(self.random.number() % 100 < percent));
            let one = trace(&id).beginning(from).agent("shop").for_user(&user);
            built = built.with(one.in_environment("production"));
            let call = span(&format!("{id}-o")).of(&id).in_environment("production");
            let call = call.prompted_by("shop", version.unwrap_or(1));
            built = built.with(call.lasting(from, from + 900));
            let judged = score(&format!("{id}-q")).of_trace(&id).on("quality").number(value);
            built = built.with(judged.in_environment("production").given(from + 1_000));
        }
        self.data.telemetry().record(built.build()).await.unwrap();
    }

    async fn ab(&self, id: &str) -> StoredAbTest {
        self.catalog().ab_test(self.id.clone(), id.to_owned()).await.unwrap()
    }
}

#[tokio::test]
async fn a_better_candidate_wins_and_is_offered_as_a_draft_promotion() {
    let mut shop = Shop::open(PromotionPolicy::default(), None).await;
    shop.dataset().await;
    shop.prompt(&["production"]).await.unwrap();
    shop.prompt(&["next"]).await.unwrap();
    // Nothing is tested: everybody gets production, whatever it points to.
    assert_eq!(shop.assigned("ann").await, (None, None));
    let test = shop.start_ab().await.unwrap();
    let again = shop.start_ab().await.unwrap_err().to_string();
    assert!(again.contains("has a running A/B test"), "{again}");
    assert_eq!(shop.assigned("ann").await, shop.assigned("ann").await);
    // Users whose window is not over do not count yet.
    shop.serve(50, (95, 60)).await;
    shop.worker.look_at_ab_tests().await.unwrap();
    assert_eq!(shop.ab(&test.id).await.test.result.unwrap().candidate_units, 0);
    for _ in 0..7 {
        shop.serve(50, (95, 60)).await;
        shop.worker.look_at_ab_tests().await.unwrap();
    }
    shop.clock.advance(WINDOW);
    shop.worker.look_at_ab_tests().await.unwrap();
    let ended = shop.ab(&test.id).await.test;
    assert_eq!(ended.outcome.as_ref().unwrap().end, AbEnd::Winner, "{:?}", ended.result);
    assert_eq!(ended.result.unwrap().other_version, 0);
    let draft = shop.stored(&ended.promotion.unwrap()).await.promotion;
    assert_eq!((draft.state, draft.author), (PromotionState::Draft, ended.author));
    let version = shop.catalog().agent_version(shop.id.clone(), draft.version).await.unwrap();
    assert_eq!(version.version.prompts.get("shop"), Some(&2));
    // Production moves by the promotion, not by the test.
    assert_eq!(shop.production().await, Some(1));
    assert_eq!(shop.assigned("ann").await, (None, None));
}

#[tokio::test]
async fn a_worse_candidate_is_stopped_and_a_moved_label_ends_a_test() {
    let mut shop = Shop::open(PromotionPolicy::default(), None).await;
    shop.prompt(&["production"]).await.unwrap();
    shop.prompt(&["next"]).await.unwrap();
    let test = shop.start_ab().await.unwrap();
    shop.serve(300, (40, 90)).await;
    shop.clock.advance(WINDOW);
    shop.worker.look_at_ab_tests().await.unwrap();
    let ended = shop.ab(&test.id).await.test;
    assert_eq!(ended.outcome.unwrap().end, AbEnd::Harm, "{:?}", ended.result);
    assert_eq!(ended.promotion, None);
    let catalog = shop.catalog();
    let stopped = stop(shop.gate_context(&catalog), &test.id, "again".to_owned()).await;
    assert!(stopped.unwrap_err().to_string().contains("has ended"));

    let moved = shop.start_ab().await.unwrap();
    shop.prompt(&["next"]).await.unwrap();
    shop.worker.look_at_ab_tests().await.unwrap();
    let outcome = shop.ab(&moved.id).await.test.outcome.unwrap();
    assert_eq!((outcome.end, outcome.text.contains("next")), (AbEnd::LabelMoved, true));
}

#[tokio::test]
async fn a_winner_without_a_dataset_says_why_it_is_not_offered() {
    let mut shop = Shop::open(PromotionPolicy::default(), None).await;
    shop.prompt(&["production"]).await.unwrap();
    shop.prompt(&["next"]).await.unwrap();
    let test = shop.start_ab().await.unwrap();
    shop.serve(300, (95, 40)).await;
    shop.clock.advance(WINDOW);
    shop.worker.look_at_ab_tests().await.unwrap();
    let ended = shop.ab(&test.id).await.test;
    let why = ended.offer_problem.unwrap();
    assert!(ended.promotion.is_none() && why.contains("shop-eval-global"), "{why}");
}
