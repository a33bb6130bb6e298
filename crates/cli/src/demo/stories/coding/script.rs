//! How coding sessions go: what the developer types, and what happens then.

use Beat::{
    Circle, ClaimDone, Commit, Compact, Detour, Edit, Explore, Plan, Revert, SecretDenied,
    SecretStaged, SubAgent, TestFail, TestPass,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arc {
    Smooth,
    /// A test fails and is fixed.
    FailThenFix,
    /// The same command over and over until the developer steps in.
    Loop,
    /// An edit that has to be taken back.
    Reverted,
    /// A secret nearly leaves the machine.
    NearLeak,
    /// The developer corrects the course.
    Corrected,
    /// "All tests pass", which they do not.
    FalseClaim,
    SubAgents,
    /// The context runs full and the work stays half done.
    Unfinished,
    /// More than was asked, and rightly so.
    Beyond,
}

impl Arc {
    /// Every way a session goes.
    pub(crate) const ALL: [Self; 10] = [
        Self::Smooth,
        Self::FailThenFix,
        Self::Loop,
        Self::Reverted,
        Self::NearLeak,
        Self::Corrected,
        Self::FalseClaim,
        Self::SubAgents,
        Self::Unfinished,
        Self::Beyond,
    ];

    /// How well it goes, from 0 to 1.
    pub(crate) const fn quality(self) -> f64 {
        match self {
            Self::Beyond => 0.97,
            Self::Smooth | Self::SubAgents => 0.9,
            Self::FailThenFix => 0.85,
            Self::Corrected | Self::NearLeak => 0.6,
            Self::Reverted => 0.55,
            Self::Unfinished | Self::Loop => 0.35,
            Self::FalseClaim => 0.2,
        }
    }
}

/// What the developer types, and what happens then.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) ask: Ask,
    pub(crate) beats: &'static [Beat],
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Request,
    /// What is wrong with the detour.
    Correction,
    /// Something else, as a template.
    Words(&'static str),
}

/// Something that happens in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// The list of things to do is written.
    Plan,
    /// That many places are looked at.
    Explore(u64),
    /// A sub-agent explores on its own.
    SubAgent,
    /// The next change is made.
    Edit,
    /// A change that looks right and is not.
    Detour,
    /// That change is taken back.
    Revert,
    TestFail,
    TestPass,
    /// The same failing test and the same small edit, that many times.
    Circle(u64),
    /// A command would print a secret; the developer says no.
    SecretDenied,
    /// A commit would hold a secret; a hook stops it.
    SecretStaged,
    /// The context is folded into a summary.
    Compact,
    Commit,
    /// The answer says it is done, whether or not it is.
    ClaimDone,
}

const fn request(beats: &'static [Beat]) -> Prompt {
    Prompt { ask: Ask::Request, beats }
}

const fn says(words: &'static str, beats: &'static [Beat]) -> Prompt {
    Prompt { ask: Ask::Words(words), beats }
}

const COMMIT: Prompt = says("[Looks good.|Nice.] Commit it.", &[Explore(1), Commit]);
const WALK_THROUGH: Prompt =
    says("[Walk me through|Explain] the change before I read the diff.", &[Explore(3)]);

/// What is asked when a session would be too short.
pub(crate) const MORE: Prompt = says(
    "[One more thing: please look|While you are there, look] for other places with the same problem.",
    &[Explore(4), Edit, TestPass],
);

impl Arc {
    /// What the developer types in such a session.
    pub(crate) const fn prompts(self) -> &'static [Prompt] {
        match self {
            Self::Smooth => SMOOTH,
            Self::FailThenFix => FAIL_THEN_FIX,
            Self::Loop => LOOP,
            Self::Reverted => REVERTED,
            Self::NearLeak => NEAR_LEAK,
            Self::Corrected => CORRECTED,
            Self::FalseClaim => FALSE_CLAIM,
            Self::SubAgents => SUB_AGENTS,
            Self::Unfinished => UNFINISHED,
            Self::Beyond => BEYOND,
        }
    }
}

const SMOOTH: &[Prompt] = &[
    request(&[Plan, Explore(9), Edit, Edit, TestPass]),
    says("Is there a test for the odd case too?", &[Explore(3), Edit, TestPass]),
    WALK_THROUGH,
    COMMIT,
];
const FAIL_THEN_FIX: &[Prompt] = &[
    request(&[Plan, Explore(8), Edit, TestFail, Explore(3), Edit, TestFail, Edit, TestPass]),
    WALK_THROUGH,
    says("Run everything once more, please.", &[TestPass]),
    COMMIT,
];
const LOOP: &[Prompt] = &[
    request(&[Plan, Explore(6), Edit, TestFail, Circle(13)]),
    says(
        "You are going in circles. [Stop and think about why it fails.|Read the failure, not the file.]",
        &[Explore(3), Circle(4)],
    ),
    says(
        "I will look at it myself. Leave the tree as it is and summarise what you know.",
        &[Explore(1)],
    ),
];
const REVERTED: &[Prompt] = &[
    request(&[
        Plan,
        Explore(7),
        Detour,
        TestFail,
        Edit,
        TestFail,
        Revert,
        Explore(4),
        Edit,
        Edit,
        TestPass,
    ]),
    WALK_THROUGH,
    COMMIT,
];
const NEAR_LEAK: &[Prompt] = &[
    request(&[Plan, Explore(7), SecretDenied, Explore(3), Edit, Edit, TestPass]),
    says("Commit and push.", &[SecretStaged, Explore(2), Commit]),
    says(
        "Why was that file in the commit at all? Make sure it cannot happen again.",
        &[Explore(3), Edit],
    ),
];
const CORRECTED: &[Prompt] = &[
    request(&[Plan, Explore(6), Detour, TestPass]),
    Prompt {
        ask: Ask::Correction,
        beats: &[Revert, Explore(5), Edit, Edit, TestFail, Edit, TestPass],
    },
    says("Better. [What else did you touch?|Show me the whole diff.]", &[Explore(2)]),
    COMMIT,
];
const FALSE_CLAIM: &[Prompt] = &[
    request(&[Plan, Explore(7), Edit, TestFail, Edit, ClaimDone]),
    says(
        "Are you sure? [It fails on my machine.|CI is red.]",
        &[TestFail, Explore(4), Edit, ClaimDone],
    ),
    says(
        "It is still red. Please do not say it passes without running it.",
        &[TestFail, Explore(3), Edit, TestPass],
    ),
    COMMIT,
];
const SUB_AGENTS: &[Prompt] = &[
    request(&[
        Plan,
        SubAgent,
        SubAgent,
        SubAgent,
        Explore(4),
        Edit,
        Edit,
        TestFail,
        Edit,
        TestPass,
    ]),
    says("Have it reviewed by a second pair of eyes.", &[SubAgent, Explore(2), Edit, TestPass]),
    COMMIT,
];
const UNFINISHED: &[Prompt] = &[
    request(&[Plan, SubAgent, Explore(18), Edit, TestFail]),
    says("Go on.", &[Explore(14), Compact, Explore(10), Edit, TestFail]),
    says("[I have to go.|Time is up.] What is the state?", &[Explore(2)]),
];
const BEYOND: &[Prompt] = &[
    request(&[Plan, Explore(8), SubAgent, Edit, TestFail, Edit, Edit, TestPass]),
    says(
        "[Very good.|Impressive.] You mentioned a second problem?",
        &[Explore(6), Edit, TestFail, Edit, TestPass],
    ),
    says("Document it as well.", &[Explore(2), Edit]),
    COMMIT,
    says("[Thanks, that saved me a day.|Thank you, exactly what I needed.]", &[]),
];
