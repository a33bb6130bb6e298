//! What customers of Kettle & Crane write in about.

#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) name: &'static str,
    pub(crate) sku: &'static str,
    pub(crate) price: u64,
    /// What it is, in a sentence.
    pub(crate) kind: &'static str,
    /// What goes wrong with it.
    pub(crate) fault: &'static str,
    /// Why, and what to do.
    pub(crate) remedy: &'static str,
    /// The article that says so.
    pub(crate) article: &'static str,
}

pub(crate) const PRODUCTS: [Product; 7] = [
    Product {
        name: "Heron espresso machine",
        sku: "HRN-200",
        price: 449,
        kind: "espresso machine",
        fault: "[only drips instead of pouring|takes a minute to fill half a cup]",
        remedy: "scale in the group head; run the descale programme twice with 120 ml of descaler, \
                 then pull two blank shots",
        article: "Heron: slow or no flow",
    },
    Product {
        name: "Wren grinder",
        sku: "WRN-80",
        price: 129,
        kind: "coffee grinder",
        fault: "[stops after two seconds|hums but does not turn]",
        remedy: "a bean stuck between the burrs; unplug it, lift the upper burr out by its red \
                 tabs, and brush both burrs clean",
        article: "Wren: motor stops or hums",
    },
    Product {
        name: "Plover kettle",
        sku: "PLV-17",
        price: 89,
        kind: "gooseneck kettle",
        fault: "[leaks at the base|leaves a puddle on the counter]",
        remedy: "a worn gasket at the base ring; we send a new gasket free of charge and it \
                 clicks in without tools",
        article: "Plover: water under the kettle",
    },
    Product {
        name: "Finch toaster",
        sku: "FCH-4",
        price: 74,
        kind: "toaster",
        fault: "[burns one side|toasts one slice and leaves the other white]",
        remedy: "a loose heating element on the left slot, which is a safety repair we do in our \
                 own workshop",
        article: "Finch: uneven toasting",
    },
    Product {
        name: "Bittern stand mixer",
        sku: "BTN-600",
        price: 389,
        kind: "stand mixer",
        fault: "[walks across the counter at speed 6|shakes so hard that the bowl comes loose]",
        remedy: "unscrewed feet; level the mixer with the four feet at the bottom and tighten the \
                 locking ring by hand",
        article: "Bittern: vibration at high speed",
    },
    Product {
        name: "Sandpiper hand blender",
        sku: "SDP-30",
        price: 64,
        kind: "hand blender",
        fault: "[smells burnt after a minute|gets too hot to hold]",
        remedy: "overload protection; blend for at most 60 seconds and let it rest for two \
                 minutes, and send it in if the smell stays",
        article: "Sandpiper: heat and smell",
    },
    Product {
        name: "Avocet waffle iron",
        sku: "AVC-2",
        price: 96,
        kind: "waffle iron",
        fault: "[sticks on the lower plate|tears every second waffle in half]",
        remedy: "a coating that was not burnt in; heat it empty for ten minutes, oil it lightly \
                 and let it cool before the first waffle",
        article: "Avocet: waffles stick",
    },
];

/// What the desk does for a case, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Uses one of its tools.
    Use(DeskTool),
    ReadArticle,
    /// Hands over to the refunds clerk.
    AskRefundsClerk,
}

/// A tool of the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeskTool {
    FindOrder,
    TrackParcel,
    CheckWarranty,
    BookRepair,
    /// Makes a label for the way back.
    ReturnLabel,
    CancelOrder,
}

/// A reason to write in.
#[derive(Debug)]
pub(crate) struct Case {
    /// What to find it by.
    pub(crate) topic: &'static str,
    pub(crate) asks: &'static [&'static str],
    pub(crate) moves: &'static [Move],
    /// What it says when all went well.
    pub(crate) answers: &'static [&'static str],
    /// How people go on, and what they hear.
    pub(crate) follow_ups: &'static [(&'static str, &'static str)],
}

/// Every reason to write in.
pub(crate) const CASES: [Case; 7] = [
    Case {
        topic: "late-delivery",
        asks: &[
            "[Hi|Hello], my {product} [should have been here|was promised for] [Monday|last Friday|two days ago]. Order {order}. [Where is it?|What is going on?]",
            "Order {order} still says \"on its way\" after {days} days. [Can you check?|Is it lost?]",
        ],
        moves: &[Move::Use(DeskTool::FindOrder), Move::Use(DeskTool::TrackParcel)],
        answers: &[
            "[Thanks for your patience|I am sorry for the wait], {given}. Your {product} left our warehouse {days} days ago and has been at the {city} depot since yesterday. The carrier now expects it [tomorrow before noon|within two working days]. If it has not arrived by then, reply here and I will send a new one the same day.",
            "I checked with the carrier, {given}: the parcel was sorted to the wrong depot and is moving again. It should reach you in [one working day|two working days]. I have put the {shipping} you paid for shipping back on your card.",
        ],
        follow_ups: &[
            (
                "[Okay|Fine], but I will not be at home tomorrow. Can it go to a pickup point?",
                "Yes. I have redirected it to the pickup point at {street}. It will be kept for seven days and you will get a text with the code.",
            ),
            ("Thanks, that [helps|is all I needed].", "Glad to hear it. Enjoy your {kind}!"),
        ],
    },
    Case {
        topic: "fault",
        asks: &[
            "My {product} {fault}. [It is only {months} months old.|I have had it for {months} months.] What can I do?",
            "[Hi there|Good evening]. The {product} I bought from you {fault}. [Please help.|Is this normal?]",
        ],
        moves: &[Move::ReadArticle, Move::Use(DeskTool::CheckWarranty)],
        answers: &[
            "[That sounds familiar|I know this one], {given}. The usual cause is {remedy}. [If that does not help,|Should it come back,] your guarantee runs for another {left} months and I will book a free repair.",
            "This is nearly always {remedy}. It takes about ten minutes. You are covered for {left} more months, so nothing can go wrong: if it still happens afterwards, we repair or replace it for free.",
        ],
        follow_ups: &[
            (
                "I did that and it [still does it|is exactly the same].",
                "Then it is our turn. I have booked a free pickup for [Thursday|tomorrow]; the workshop needs about five working days. The box will have the label on it.",
            ),
            (
                "[That worked!|It works again.] [Thank you so much.|Great, thanks.]",
                "Lovely. I noted it on your machine's record, in case it ever comes back.",
            ),
        ],
    },
    Case {
        topic: "refund",
        asks: &[
            "I sent the {product} back {days} days ago (order {order}) and [there is no money on my account|nobody has refunded me] yet.",
            "[Where is|When do I get] my refund for order {order}? [It has been {days} days.|The parcel arrived at your place last week.]",
        ],
        moves: &[Move::Use(DeskTool::FindOrder), Move::AskRefundsClerk],
        answers: &[
            "Your {product} reached us [on Tuesday|three days ago], {given}, and I have just released the refund of {price}. Banks usually take two to three working days to show it. The confirmation is in your inbox.",
            "You are right, {given}, this should have gone out already: the return was waiting for a check that it did not need. I have released {price} to the card you paid with. It will be there within three working days.",
        ],
        follow_ups: &[
            (
                "Does that include shipping?",
                "Yes: {price} for the {kind} and {shipping} for shipping, in two bookings.",
            ),
            (
                "And if it does not arrive?",
                "Reply here with a line and I will trace the payment with our bank the same day. The reference is R-{order}.",
            ),
        ],
    },
    Case {
        topic: "wrong-item",
        asks: &[
            "I ordered the {product} and got [something else entirely|a different colour|only the spare parts]. Order {order}.",
            "There is a mistake with order {order}: [the box holds the wrong machine|this is not the {product}].",
        ],
        moves: &[Move::Use(DeskTool::FindOrder), Move::Use(DeskTool::ReturnLabel)],
        answers: &[
            "I am sorry, {given}: that is our mistake. A new {product} leaves today and arrives in two working days. The label for the wrong one is in your inbox; there is no hurry in sending it back.",
            "Two orders were swapped on our packing table, {given}. Yours goes out again today with express shipping at our cost, and the return label is attached. Please leave the wrong box at any drop-off point.",
        ],
        follow_ups: &[(
            "Do I have to pay for the return?",
            "No. The label is prepaid, and a pickup at your door costs nothing either if you prefer that.",
        )],
    },
    Case {
        topic: "how-to",
        asks: &[
            "What is the right way to clean the {product}? The manual [is gone|says nothing useful].",
            "[Quick question|A question]: can I put the parts of the {product} into the dishwasher?",
        ],
        moves: &[Move::ReadArticle],
        answers: &[
            "Unplug the {kind} and let it cool. Removable parts go on the top rack of the dishwasher; everything with a cable stays out and only wants a damp cloth. Against limescale use citric acid, one spoon on half a litre of water, let it stand for twenty minutes and rinse twice.",
            "[Good question|Happy to help], {given}. The removable parts of the {product} are dishwasher-safe on the top rack at up to 55 °C. The motor block only wants a damp cloth.",
        ],
        follow_ups: &[(
            "Can I use vinegar on it?",
            "Better not: vinegar attacks the seals of the {kind} over time. Citric acid works, one spoon on half a litre, and never hotter than 60 °C.",
        )],
    },
    Case {
        topic: "cancel",
        asks: &[
            "Please cancel order {order}. [I found it cheaper.|I ordered it twice by accident.|It is too late for the birthday.]",
            "Can I still stop order {order}? [I picked the wrong size.|I changed my mind.]",
        ],
        moves: &[Move::Use(DeskTool::FindOrder), Move::Use(DeskTool::CancelOrder)],
        answers: &[
            "Done, {given}. Order {order} is cancelled and {price} goes back to your card within three working days. Nothing was shipped.",
            "That was just in time: the {product} was still on the packing table. The order is cancelled and the {price} is on its way back to you.",
        ],
        follow_ups: &[(
            "Thank you! Could you put the {product} on my wish list instead?",
            "It is on your list now, and you will hear from us once if the price drops.",
        )],
    },
    Case {
        topic: "repair",
        asks: &[
            "The {product} {fault} and I have already tried everything in the help centre. I want it repaired.",
            "How do I send in my {product}? It {fault}. [Bought {months} months ago.|It is under guarantee.]",
        ],
        moves: &[Move::Use(DeskTool::CheckWarranty), Move::Use(DeskTool::BookRepair)],
        answers: &[
            "Your guarantee covers this, {given}. I have booked the workshop: the courier comes on [Wednesday|Thursday] between 9 and 13 h and brings a box. Repairs take about five working days and you will get a photo of what was replaced.",
            "Understood. The repair is booked under guarantee, so it costs you nothing. Please take out loose parts before the courier comes; the label is in your inbox. Ticket W-{order}.",
        ],
        follow_ups: &[(
            "Can I get a machine to use meanwhile?",
            "Yes, we lend a {kind} for the time. The courier brings it along and takes it back with the next visit.",
        )],
    },
];

/// What the desk says when it could not find out.
pub(crate) const EVASIONS: [&str; 4] = [
    "[Thank you for reaching out|Thanks for your message]. Unfortunately I cannot find any order with that number. Please check the number and write again.",
    "I am unable to access that information at the moment. [You may want to look at our help centre.|Please try again later.]",
    "Delivery and refunds usually take 5 to 14 working days. Please be patient. Is there anything else I can help you with?",
    "I understand your frustration. For questions about an order please contact our support team.",
];

/// How people react to that.
pub(crate) const COMPLAINTS: [&str; 4] = [
    "[What?|Seriously?] The number is right in front of you: {order}.",
    "You ARE the support team. [Can I talk to a human?|Please read what I wrote.]",
    "That does not answer my question at all.",
    "[I have already looked there.|The help centre sent me here.] Please just check order {order}.",
];

/// How the desk makes good for that.
pub(crate) const APOLOGIES: [&str; 2] = [
    "You are right, {given}, and I am sorry for the run-around. I have order {order} in front of me now: your {product} is taken care of and the details are in your inbox.",
    "My mistake, {given}. I looked again and found order {order}. I have put it right and credited {shipping} for the trouble.",
];
