/// Interactive labelling on a terminal or a pipe.
mod ask;
mod files;
/// A session in a few words.
mod brief;

use std::io::{self, BufReader};

use clap::{Args, Subcommand};
use ratchet_core::counted::counted;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::quality::label::table::within;
use ratchet_core::quality::label::{DATASET, Label, LabelOrigin, MAX_BY};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::review::answer::Submission;
use ratchet_stages::review::sampling::{self, SamplePlan};
use ratchet_stages::review::session_answer::{self, SessionAnswer};
use ratchet_stages::review::session_queue;
use ratchet_stages::review::{judge_scores, labels};
use ratchet_stages::score::judge_factory::notations;
use ratchet_stages::sink::{LocalSink, Sink};

use self::ask::{Answer, ask};
use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::print::print;
use crate::runtime;

/// `ratchet label …`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LabelCommand {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    args: LabelArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Import labels from CSV with the columns `session_id` and dimensions
    Import(files::ImportArgs),
    /// Export all labels as CSV
    Export(files::ExportArgs),
}

/// Where labels are, and what they are about.
#[derive(Args, Debug)]
struct WhereArgs {
    #[command(flatten)]
    target: ScoringArgs,
    /// Rubric name; see `ratchet rubrics list`
    #[arg(long, value_name = "NAME|FILE", default_value = rubric::DEFAULT)]
    rubric: String,
    /// Dataset that stores the labels
    #[arg(long, value_name = "NAME", default_value = DATASET)]
    dataset: String,
}

#[derive(Args, Debug)]
struct LabelArgs {
    /// Label this session; repeatable [default: this week's sample]
    #[arg(long = "session", value_name = "ID", value_parser = session_id)]
    sessions: Vec<SessionId>,
    /// Sample from sessions scored in the last N days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
    /// Sample size per week [default: 50 in the first week, then 10]
    #[arg(long, value_name = "N")]
    size: Option<usize>,
    #[command(flatten)]
    who: WhoArgs,
    #[command(flatten)]
    at: WhereArgs,
}

/// Reviewer name.
#[derive(Args, Debug)]
struct WhoArgs {
    /// Reviewer name
    #[arg(
        long,
        value_name = "NAME",
        env = "USER",
        hide_env_values = true,
        default_value = "human"
    )]
    by: String,
}

fn session_id(text: &str) -> Result<SessionId, String> {
    SessionId::parse(text).map_err(|why| why.to_string())
}

/// Runs `ratchet label`.
pub(crate) fn run(command: &LabelCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            None => label(&command.args).await,
            Some(Action::Import(args)) => files::import(args).await,
            Some(Action::Export(args)) => files::export(args).await,
        }
    })
}

async fn label(args: &LabelArgs) -> anyhow::Result<Outcome> {
    within("--by", &args.who.by, MAX_BY).map_err(anyhow::Error::msg)?;
    let kept = data_target::with_scoring(&args.at.target, "ratchet label", async |target| {
        let rubric = target.rubric(&args.at.rubric)?;
        let waiting = waiting(target, args, &rubric).await?;
        label_each(target, args, &rubric, waiting).await
    });
    let kept = kept.await?;
    print(&format!("{} saved in the dataset {}\n", counted(kept, "label"), args.at.dataset))?;
    Ok(Outcome::Done)
}

/// The sessions that are to be labelled, and how they were drawn.
async fn waiting(
    target: &ScoringTarget,
    args: &LabelArgs,
    rubric: &Rubric,
) -> anyhow::Result<Vec<(SessionId, Option<LabelOrigin>)>> {
    if !args.sessions.is_empty() {
        return Ok(args.sessions.iter().map(|session| (session.clone(), None)).collect());
    }
    let dataset = &args.at.dataset;
    let asking = SamplePlan { dataset, rubric, days: args.days, size: args.size };
    let asked =
        sampling::this_week(&target.source, &target.sink, asking, Clock::System.now()).await?;
    if asked.is_empty() {
        print(
            "No scored sessions in this time range; run `ratchet score` first, or use --session\n",
        )?;
    }
    let given = labels::read(&target.sink, dataset).await?;
    let is_mine = |session: &SessionId| {
        given.iter().any(|label| label.by == args.who.by && label.session == *session)
    };
    let open = asked.into_iter().filter(|(session, _)| !is_mine(session));
    Ok(open.map(|(session, draw)| (session, Some(draw))).collect())
}

/// Where a label goes.
enum Place<'a> {
    /// A queue of the data folder, whose item the reviewer holds.
    Queue(&'a LocalSink, Submission),
    /// A server: it has the sample as a dataset, without leases.
    Server,
}

/// Takes a session to label; `None` if someone else holds it.
async fn hold<'a>(
    target: &'a ScoringTarget,
    to: (&str, &Rubric),
    (by, session): (&str, &SessionId),
) -> anyhow::Result<Option<Place<'a>>> {
    let Sink::Local(local) = &target.sink else { return Ok(Some(Place::Server)) };
    let now = Clock::System.now();
    let queue = session_queue::ensure(local, to, now).await?;
    let item = session_queue::choose(local, &queue, session, now).await?.id;
    let lease = local.catalog.claim_review(queue.clone(), by.to_owned(), Some(item), now).await?;
    Ok(lease.map(|lease| {
        let submission = Submission {
            attempt: lease.attempt,
            queue,
            item: lease.item.id,
            reviewer: by.to_owned(),
            author: None,
            seconds: 0,
        };
        Place::Queue(local, submission)
    }))
}

async fn label_each(
    target: &ScoringTarget,
    args: &LabelArgs,
    rubric: &Rubric,
    waiting: Vec<(SessionId, Option<LabelOrigin>)>,
) -> anyhow::Result<u64> {
    let mut typed = BufReader::new(io::stdin());
    let (mut kept, of) = (0, waiting.len());
    let notations = notations(target.data())?;
    for (at, (session, drawn)) in waiting.into_iter().enumerate() {
        let to = (args.at.dataset.as_str(), rubric);
        let by = &args.who.by;
        let Some(place) = hold(target, to, (by, &session)).await? else {
            print(&format!("\nSession {session} is being reviewed by someone else; skipped\n"))?;
            continue;
        };
        let brief = brief::of((&target.source, &notations), &session).await?;
        print(&format!("\nSession {session} ({} of {of})\n{brief}\n", at + 1))?;
        let (marks, why) = match ask(rubric, &mut typed, &mut io::stdout())? {
            Answer::Label { marks, why } => (marks, why),
            Answer::Skip => continue,
            Answer::End => break,
        };
        let now = Clock::System.now();
        let (by, rubric_name) = (by.clone(), rubric.name.clone());
        let (at, judged) = (now, None);
        let label = Label { session, by, at, why, rubric: rubric_name, marks, drawn, judged };
        match place {
            Place::Queue(local, submission) => {
                let (session, by) = (label.session.clone(), label.by.clone());
                let (marks, why) = (label.marks.clone(), label.why.clone());
                let answer = SessionAnswer { session, by, marks, why };
                session_answer::submit(local, submission, to, answer, now).await?;
            }
            Place::Server => {
                let place = (&target.source, &target.sink);
                labels::keep(place, to, std::slice::from_ref(&label), now).await?;
            }
        }
        kept += 1;
        let judged = judge_scores::verdicts(&target.source, &label.session, rubric).await?;
        print(&ask::revealed(&label, judged.first(), rubric))?;
    }
    Ok(kept)
}
