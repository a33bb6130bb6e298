//! The promotion policy in an agent's settings.

use maud::{Markup, html};
use ratchet_core::promotion::policy::PromotionPolicy;

use super::percent;
use crate::components::field::{self, Entered, FormField};

const REQUIRED: FormField<'_> = FormField {
    name: "promotionRequired",
    label: "Require promotion",
    hint: "The label production of its prompts then moves only by promotion or rollback.",
};
const TICKS: [FormField<'_>; 3] = [
    FormField {
        name: "secondPerson",
        label: "Approval by a second person",
        hint: "A person must approve who neither created the promotion nor reviewed its results.",
    },
    FormField {
        name: "automaticRollback",
        label: "Automatic rollback",
        hint: "A version that is significantly worse is rolled back without asking.",
    },
    FormField {
        name: "deploys",
        label: "Deploy on promotion",
        hint: "By the command or webhook that the server's operator has set up.",
    },
];
const LISTS: [FormField<'_>; 2] = [
    FormField {
        name: "approvers",
        label: "Approvers",
        hint: "One per line, by email address. Empty: the owner.",
    },
    FormField {
        name: "prompts",
        label: "Prompts",
        hint: "One per line, besides those of its recorded versions.",
    },
];
const LINES: [FormField<'_>; 3] = [
    FormField {
        name: "environment",
        label: "Environment",
        hint: "The one that versions are promoted to.",
    },
    FormField {
        name: "watchHours",
        label: "Watch, hours",
        hint: "How long production is compared with before after a promotion.",
    },
    FormField {
        name: "minAccuracy",
        label: "Minimum accuracy of gates, %",
        hint: "Where promotion is required, a gate must demand at least this.",
    },
];

pub(super) fn fields(entered: &Entered, is_disabled: bool) -> Markup {
    html! {
        fieldset disabled[is_disabled] {
            legend { "Promotion" }
            (field::tick(REQUIRED, entered))
            @for one in TICKS { (field::tick(one, entered)) }
            @for one in LISTS { (field::area(one, 2, entered)) }
            @for one in LINES { (field::line(one, entered)) }
        }
    }
}

/// Fills the fields with a policy.
pub(super) fn preset(policy: &PromotionPolicy, entered: &mut Entered) {
    let tick = |is_on: bool| if is_on { "yes" } else { "" };
    for (field, value) in [
        ("promotionRequired", tick(policy.is_required)),
        ("secondPerson", tick(policy.second_person)),
        ("automaticRollback", tick(policy.automatic_rollback)),
        ("deploys", tick(policy.deploys)),
        ("approvers", policy.approvers.join("\n").as_str()),
        ("prompts", policy.prompts.join("\n").as_str()),
        ("environment", policy.environment.as_str()),
        ("watchHours", policy.watch_hours.to_string().as_str()),
        ("minAccuracy", percent(policy.min_accuracy).as_str()),
    ] {
        entered.set(field, value);
    }
}

pub(super) fn read(entered: &mut Entered, was: &PromotionPolicy) -> PromotionPolicy {
    let min_accuracy = entered.text("minAccuracy").trim_end_matches('%').trim().parse::<f64>();
    if min_accuracy.is_err() {
        entered.wrong("minAccuracy", "a number from 0 to 100");
    }
    let watch_hours = entered.text("watchHours").parse();
    if watch_hours.is_err() {
        entered.wrong("watchHours", "a whole number");
    }
    PromotionPolicy {
        is_required: entered.is_ticked("promotionRequired"),
        prompts: entered.lines("prompts"),
        approvers: entered.lines("approvers"),
        second_person: entered.is_ticked("secondPerson"),
        environment: entered.text("environment").to_owned(),
        watch_hours: watch_hours.unwrap_or(1),
        automatic_rollback: entered.is_ticked("automaticRollback"),
        deploys: entered.is_ticked("deploys"),
        min_accuracy: match min_accuracy {
            // What is shown is rounded: an untouched field changes nothing.
            Ok(_) if entered.text("minAccuracy") == percent(was.min_accuracy) => was.min_accuracy,
            Ok(percent) => percent / 100.0,
            Err(_) => 0.0,
        },
    }
}
