//! What a walk will do: settings, turns and steps, made from a seed. Steps name things by how long ago they came,
//! so that a plan makes sense whatever has been left out of it.

use std::time::Duration;

use pantheon_core::Variants;

use super::rng::Rng;

/// A whole walk.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) setup: Setup,
    /// As stories write them.
    pub(super) turns: Vec<String>,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) seed: u64,
    pub(super) variants: Vec<&'static str>,
    pub(super) resume_deadline: Duration,
    pub(super) keep_alive: Duration,
    /// Time passes by `advance`, which tells of keep-alives, instead of by `settle`.
    pub(super) clock_is_virtual: bool,
    /// All bounds, where they are tight.
    pub(super) most: Option<u64>,
    /// Every second session has a stream from its beginning that reads all at once: the whole order of events.
    pub(super) is_witnessed: bool,
}

/// A thing, by how many of its kind came after it; [`NOBODY`] is none of this world.
pub(super) type Ago = u8;

pub(super) const NOBODY: Ago = u8::MAX;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Pass(Duration),
    CreateTool(u8),
    AddVersion(Ago),
    CreateAgent(u8),
    DeleteAgent(Ago),
    Deploy {
        agent: Ago,
        definitions: Vec<Ago>,
    },
    CreateSession {
        slug: Option<u8>,
        deployment: Option<Ago>,
    },
    Archive(Ago),
    Start {
        session: Ago,
        message: u8,
        key: Option<u8>,
    },
    Begin(Ago),
    Cancel(Ago),
    Expire(Ago),
    Resolve {
        run: Ago,
        event: Option<Reference>,
        given: Given,
    },
    Resume {
        run: Ago,
        key: u8,
        results: Vec<(Reference, Given)>,
        is_well_formed: bool,
    },
    /// The same start or resume again, so many after it.
    Again(Ago),
    /// Its answer has been sent.
    AnswerSent(Ago),
    Append {
        session: Ago,
        is_durable: bool,
    },
    Open {
        session: Ago,
        after: Cursor,
        deltas: bool,
    },
    Close(Ago),
    Read {
        stream: Ago,
        most_bytes: usize,
    },
}

/// Which event a result refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    /// The question of its run, by how many came after it.
    Question(Ago),
    /// The event of its session with that sequence, whatever it is.
    Event(u8),
    Nonsense,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    Object(u8),
    Text,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cursor {
    Nothing,
    /// The event so many before the newest.
    Known(Ago),
    Future,
    Foreign,
}

impl Plan {
    pub(super) fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let setup = Setup::new(seed, rng);
        let turns = (0..4).map(|number| format!("on m{number}: {}", turn(rng))).collect();
        let steps = (0..20 + rng.below(60)).map(|_| Step::new(rng)).collect();
        Self { setup, turns, steps }
    }
}

impl Setup {
    fn new(seed: u64, rng: &mut Rng) -> Self {
        Self {
            seed,
            variants: Variants::NAMES.into_iter().filter(|_| rng.once_in(4)).collect(),
            resume_deadline: rng.pick(&[5, 30, 1800]).pipe(Duration::from_secs),
            keep_alive: rng.pick(&[0, 4, 15]).pipe(Duration::from_secs),
            clock_is_virtual: rng.once_in(2),
            most: rng.once_in(8).then(|| 4 + rng.below(20)),
            is_witnessed: rng.once_in(2),
        }
    }
}

/// The steps of a random turn, as stories write them.
fn turn(rng: &mut Rng) -> String {
    let steps: Vec<&str> = (0..1 + rng.below(5))
        .map(|_| {
            rng.pick(&[
                "say One |two",
                "say a*300",
                "reason Let |me |think",
                "call add_todo",
                "call add_todo & echo",
                "call echo & echo & echo",
                "call add_todo & echo & add_todo",
                "call unbound & echo {} as same & add_todo {} as same",
                "wait 2s",
                "wait 5s",
                "wait 0s",
                "emit x.news",
                "emit ~ x.soon",
                "error it rains",
                "say {{ results.add_todo.n }}",
                "report",
                "fail BROKEN it broke",
            ])
        })
        .collect();
    steps.join("; ")
}

impl Step {
    fn new(rng: &mut Rng) -> Self {
        match rng.below(48) {
            0..6 => Self::Pass(pass(rng)),
            6 => Self::CreateTool(rng.below(4) as u8),
            7 => Self::AddVersion(ago(rng)),
            8 => Self::CreateAgent(rng.below(3) as u8),
            9 if rng.once_in(3) => Self::DeleteAgent(ago(rng)),
            9 => Self::Deploy { agent: ago(rng), definitions: (0..rng.below(3)).map(|_| ago(rng)).collect() },
            10 => Self::CreateSession {
                slug: (!rng.once_in(3)).then(|| rng.below(4) as u8),
                deployment: rng.once_in(3).then(|| ago(rng)),
            },
            11 if rng.once_in(3) => Self::Archive(ago(rng)),
            11..17 => Self::Start {
                session: ago(rng),
                message: rng.below(5) as u8,
                key: rng.once_in(2).then(|| rng.below(6) as u8),
            },
            17..20 => Self::Begin(ago(rng)),
            20 => Self::Cancel(ago(rng)),
            21 if rng.once_in(2) => Self::Expire(ago(rng)),
            21 => Self::Resolve {
                run: ago(rng),
                event: rng.once_in(2).then(|| reference(rng)),
                given: given(rng),
            },
            22..31 => Self::Resume {
                run: ago(rng),
                key: rng.below(8) as u8,
                results: results(rng),
                is_well_formed: !rng.once_in(12),
            },
            31..33 => Self::Again(rng.below(3) as u8),
            33 => Self::AnswerSent(rng.below(3) as u8),
            34..36 => Self::Append { session: ago(rng), is_durable: rng.once_in(2) },
            36..39 => Self::Open { session: ago(rng), after: cursor(rng), deltas: rng.once_in(2) },
            39 => Self::Close(ago(rng)),
            _ => Self::Read { stream: ago(rng), most_bytes: rng.pick(&[1, 1, 200, 1000, 64 * 1024]) },
        }
    }
}

fn pass(rng: &mut Rng) -> Duration {
    Duration::from_millis(
        rng.pick(&[0, 1, 1, 999, 1_000, 1_000, 2_000, 2_000, 4_000, 4_999, 15_000, 29_999, 1_800_000]),
    )
}

fn ago(rng: &mut Rng) -> Ago {
    match rng.below(24) {
        0 => NOBODY,
        1..4 => rng.below(8) as Ago,
        4..10 => rng.below(2) as Ago,
        _ => 0,
    }
}

/// Mostly for questions side by side, and mostly for none twice.
fn results(rng: &mut Rng) -> Vec<(Reference, Given)> {
    let last = rng.below(3) as Ago;
    let reference = |at: u64, rng: &mut Rng| {
        if rng.once_in(8) { reference(rng) } else { Reference::Question(last + at as Ago) }
    };
    (0..rng.pick(&[1, 1, 1, 1, 2, 3])).map(|at| (reference(at, rng), given(rng))).collect()
}

fn reference(rng: &mut Rng) -> Reference {
    match rng.below(12) {
        0 => Reference::Event(rng.below(12) as u8),
        1 => Reference::Nonsense,
        _ => Reference::Question(rng.below(4) as Ago),
    }
}

fn given(rng: &mut Rng) -> Given {
    match rng.below(8) {
        0 => Given::Text,
        1 => Given::Error,
        _ => Given::Object(rng.below(3) as u8),
    }
}

fn cursor(rng: &mut Rng) -> Cursor {
    match rng.below(8) {
        0 => Cursor::Future,
        1 => Cursor::Foreign,
        2..5 => Cursor::Known(rng.below(10) as Ago),
        _ => Cursor::Nothing,
    }
}

/// `value.pipe(f)` is `f(value)`.
trait Pipe: Sized {
    fn pipe<T>(self, to: impl FnOnce(Self) -> T) -> T {
        to(self)
    }
}

impl Pipe for u64 {}
