//! What a hunt can find, and how much of what it has looked at.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::area::{AREAS, Area};
use crate::case::Case;
use crate::tested::How;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A verdict, a reference class or a witness is false.
    Verdict,
    /// A bound of a margin is on the wrong side of the margin.
    Margin,
    /// `--minimize` leaves a margin uncertain by more than a millionth of its size.
    Wide,
    /// A node is undecided though `--complete` or `--minimize` was asked for.
    Undecided,
    /// A search has not ended after some seconds.
    Slow,
    /// A decided node has no proof.
    Unproved,
    /// The checker rejects a proof that the program wrote.
    Rejected,
    /// The checker says one thing with intervals and another exactly.
    Disagreement,
    /// The verified checker rejects what the other one accepts.
    Unverified,
    /// The checker accepts a proof of something false.
    Accepted,
    /// The checker accepts what the format's rules, evaluated independently, do not accept.
    Rules,
    /// A panic, or a refusal of a valid problem.
    Crash,
    /// A small file that costs the checker more time or memory than a limit.
    Expensive,
}

/// All kinds, in the order of the counts.
pub const KINDS: [Kind; 13] = [
    Kind::Verdict,
    Kind::Margin,
    Kind::Wide,
    Kind::Undecided,
    Kind::Slow,
    Kind::Unproved,
    Kind::Rejected,
    Kind::Disagreement,
    Kind::Unverified,
    Kind::Accepted,
    Kind::Rules,
    Kind::Crash,
    Kind::Expensive,
];

impl Kind {
    /// A short name, also that of folders.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Verdict => "false-verdict",
            Kind::Margin => "false-margin",
            Kind::Wide => "wide-margin",
            Kind::Undecided => "undecided",
            Kind::Slow => "slow",
            Kind::Unproved => "unproved",
            Kind::Rejected => "own-proof-rejected",
            Kind::Disagreement => "disagreement",
            Kind::Unverified => "not-verified",
            Kind::Accepted => "false-acceptance",
            Kind::Rules => "against-rules",
            Kind::Crash => "crash",
            Kind::Expensive => "expensive",
        }
    }

    /// Do two checkers say different things?
    pub fn is_difference(self) -> bool {
        matches!(self, Kind::Disagreement | Kind::Unverified)
    }
}

/// Something found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// In words.
    pub message: String,
    /// The case, one component where that was possible.
    pub case: Case,
    /// The effort that was asked for.
    pub how: How,
    pub node: usize,
    /// The header and the line of a proof that was tampered with or forged, as JSON.
    pub proof: Option<(String, String)>,
}

/// Counts of one area.
#[derive(Default)]
pub struct AreaCounts {
    /// Cases: graphs with one model.
    pub cases: AtomicU64,
    /// Components, or whole graphs where a case is not cut into components.
    pub problems: AtomicU64,
    /// Nodes decided and compared with the truth.
    pub nodes: AtomicU64,
    /// Executions drawn.
    pub executions: AtomicU64,
    /// The largest error of an execution, in thousandths of its bound.
    pub closest: AtomicU64,
    /// Own proofs shown to the checker.
    pub own: AtomicU64,
    /// Tampered and forged proofs, headers and questions shown to the checker.
    pub shown: AtomicU64,
    /// Of those, with a false claim.
    pub false_claims: AtomicU64,
    /// Of those, accepted.
    pub accepted: AtomicU64,
    /// Proofs shown to the verified checker.
    pub verified: AtomicU64,
    /// Of those, accepted by it.
    pub confirmed: AtomicU64,
    /// Nanoseconds of processor time.
    pub nanoseconds: AtomicU64,
    /// Proofs on which checkers differ.
    pub differences: AtomicU64,
    /// Findings; slow searches are not counted.
    pub found: AtomicU64,
}

impl AreaCounts {
    /// Counts a finding.
    pub fn find(&self, kind: Kind) {
        Counts::add(&self.found, usize::from(kind != Kind::Slow));
        Counts::add(&self.differences, usize::from(kind.is_difference()));
    }
}

impl fmt::Display for AreaCounts {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let of = Counts::get;
        write!(f, "problems {} nodes {} own proofs {}", of(&self.problems), of(&self.nodes), of(&self.own))?;
        let (shown, wrong, accepted) = (of(&self.shown), of(&self.false_claims), of(&self.accepted));
        write!(f, " tampered or forged {shown} (false claims {wrong}, accepted {accepted})")?;
        if of(&self.verified) > 0 {
            let [verified, confirmed, differences] = [&self.verified, &self.confirmed, &self.differences].map(of);
            write!(f, " verified {verified} (accepted {confirmed}, differences {differences})")?;
        }
        if of(&self.executions) > 0 {
            let share = of(&self.closest) as f64 / 10.0;
            write!(f, " executions {} (errors up to {share:.1} % of their bounds)", of(&self.executions))?;
        }
        write!(f, " findings {} ({:.1} s)", of(&self.found), of(&self.nanoseconds) as f64 * 1e-9)
    }
}

macro_rules! counters {
    ($($field:ident: $text:literal),* $(,)?) => {
        /// Counts of everything that was looked at.
        #[derive(Default)]
        pub struct Counts {
            $(#[doc = $text] pub $field: AtomicU64,)*
            /// Findings of each kind.
            pub found: [AtomicU64; KINDS.len()],
            /// Counts of each area.
            pub areas: [AreaCounts; AREAS.len()],
        }
    };
}

counters! {
    cases: "Cases: graphs with one model.",
    problems: "Problems: components.",
    nodes: "Nodes certified.",
    verdicts: "Verdicts compared with the truth.",
    robust: "Robust nodes, by the truth.",
    margins: "Bounds of margins compared with the truth.",
    witnesses: "Witnesses replayed exactly.",
    proofs: "Own proofs checked, rounded and exactly.",
    enveloped: "Own proofs with envelopes.",
    nested: "Own proofs with bends of layer 3.",
    tampered: "Proofs tampered with.",
    forged: "Proofs forged for false claims.",
    bent: "Tampered and forged proofs with envelopes.",
    bent_above: "Tampered and forged proofs with bends of layer 3.",
    false_claims: "Tampered and forged proofs of false claims.",
    accepted: "Tampered and forged proofs that were accepted (and had to be true).",
    judged: "Trees made up and judged by the independent evaluation of the rules.",
    upheld: "Acceptances judged by the independent evaluation of the rules.",
    proved: "Of those, trees that prove their claim.",
    runs: "Runs of the real programs on files.",
    verified: "Proofs shown to the verified checker.",
    confirmed: "Of those, accepted (and had to be true).",
    confirmed_splits: "Of those, with splits.",
    generating: "Nanoseconds of making cases.",
    solving: "Nanoseconds of brute force.",
    certifying: "Nanoseconds of certifying and writing proofs.",
    checking: "Nanoseconds of checking own proofs.",
    attacking: "Nanoseconds of tampering and forging.",
    judging: "Nanoseconds of evaluating the rules.",
    verifying: "Nanoseconds of the verified checker.",
    differing: "Cases in which checkers differ.",
}

impl Counts {
    /// Adds to a count.
    pub fn add(count: &AtomicU64, amount: usize) {
        count.fetch_add(amount as u64, Ordering::Relaxed);
    }

    /// Reads a count.
    pub fn get(count: &AtomicU64) -> u64 {
        count.load(Ordering::Relaxed)
    }

    /// Counts a finding; returns how many of its kind there were before.
    pub fn find(&self, kind: Kind) -> u64 {
        let place = KINDS.iter().position(|&one| one == kind).unwrap_or(0);
        self.found[place].fetch_add(1, Ordering::Relaxed)
    }

    /// Findings of one kind.
    pub fn findings_of(&self, kind: Kind) -> u64 {
        KINDS.iter().position(|&one| one == kind).map_or(0, |place| Counts::get(&self.found[place]))
    }

    /// Findings of all kinds; a slow search is told, but is none.
    pub fn findings(&self) -> u64 {
        KINDS
            .iter()
            .zip(&self.found)
            .filter(|(kind, _)| **kind != Kind::Slow)
            .map(|(_, count)| Counts::get(count))
            .sum()
    }

    /// The counts of an area.
    pub fn area(&self, area: Area) -> &AreaCounts {
        &self.areas[AREAS.iter().position(|&one| one == area).unwrap_or(0)]
    }

    /// Brings the counts of the area of flips in line with the detailed ones.
    pub fn gather(&self) {
        let area = self.area(Area::Flips);
        let of = Counts::get;
        for (count, sum) in [
            (&area.nodes, of(&self.nodes)),
            (&area.own, of(&self.proofs)),
            (&area.shown, of(&self.tampered) + of(&self.forged)),
            (&area.false_claims, of(&self.false_claims)),
            (&area.accepted, of(&self.accepted)),
        ] {
            count.store(sum, Ordering::Relaxed);
        }
    }

    /// Problems of all areas.
    pub fn all_problems(&self) -> u64 {
        self.areas.iter().map(|area| Counts::get(&area.problems)).sum()
    }

    /// Tampered and forged proofs of all areas.
    pub fn all_shown(&self) -> u64 {
        self.areas.iter().map(|area| Counts::get(&area.shown)).sum()
    }

    /// A line for each area that was attacked.
    pub fn by_area(&self) -> Vec<String> {
        let attacked = |(_, counts): &(Area, &AreaCounts)| Counts::get(&counts.cases) > 0;
        let line = |(area, counts): (Area, &AreaCounts)| format!("{:>10}: {counts}", area.name());
        AREAS.into_iter().zip(&self.areas).filter(attacked).map(line).collect()
    }

    /// Findings in one line.
    pub fn findings_by_kind(&self) -> String {
        let mut text = format!("findings {}", self.findings());
        for (kind, count) in KINDS.iter().zip(&self.found).filter(|(_, count)| Counts::get(count) > 0) {
            text += &format!(" {} {}", kind.name(), Counts::get(count));
        }
        text
    }

    /// Runs something and adds its time to a count.
    pub fn time<T>(count: &AtomicU64, act: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = act();
        count.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    /// Problems per second of processor time at each stage.
    pub fn speeds(&self) -> String {
        let problems = Counts::get(&self.problems) as f64;
        let stages = [
            ("making", &self.generating),
            ("brute force", &self.solving),
            ("certifying", &self.certifying),
            ("checking", &self.checking),
            ("tampering and forging", &self.attacking),
            ("rules", &self.judging),
            ("verified checker", &self.verifying),
        ];
        let one = |(name, count): &(&str, &AtomicU64)| {
            let seconds = Counts::get(count) as f64 * 1e-9;
            format!("{name} {seconds:.1} s ({:.0}/s)", problems / seconds.max(1e-9))
        };
        format!("processor time: {}", stages.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let of = Counts::get;
        write!(
            f,
            "problems {} nodes {} (robust {}) verdicts {} margins {} witnesses {} own proofs {} (envelopes {}, bends of layer 3 {}) \
             tampered {} forged {} (envelopes {}, bends of layer 3 {}, false claims {}, accepted {}) acceptances judged {} made up {} (proved {}) verified {} (accepted {}, with splits {}) runs {}",
            of(&self.problems),
            of(&self.nodes),
            of(&self.robust),
            of(&self.verdicts),
            of(&self.margins),
            of(&self.witnesses),
            of(&self.proofs),
            of(&self.enveloped),
            of(&self.nested),
            of(&self.tampered),
            of(&self.forged),
            of(&self.bent),
            of(&self.bent_above),
            of(&self.false_claims),
            of(&self.accepted),
            of(&self.upheld),
            of(&self.judged),
            of(&self.proved),
            of(&self.verified),
            of(&self.confirmed),
            of(&self.confirmed_splits),
            of(&self.runs),
        )?;
        write!(f, " | {}", self.findings_by_kind())
    }
}
