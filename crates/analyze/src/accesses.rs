//! Accesses to memory by kind: the transactions of global and local memory that each kind needs.

use warploom_config::{Coalescing, GpuSpec};
use warploom_stats::result::Counts;

/// Ratio of transactions to those of neighbouring words from which accesses count as uncoalesced.
pub(crate) const SPREAD: f64 = 2.0;
/// Share of all transactions that neighbouring words would save from which they are advised.
const SAVED: f64 = 0.2;

/// Share of accesses from which they are mostly to local memory.
const MOSTLY: f64 = 0.5;

/// Share by which accesses pass the transactions of neighbouring words before these are named.
const WORTH_NAMING: f64 = 1.05;

/// Accesses of one kind to global and local memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Accesses {
    /// Noun for a single access, with its article.
    pub one: &'static str,
    /// Number of these accesses.
    count: f64,
    /// Bytes that an access moves.
    pub bytes: f64,
    /// Transactions of an access.
    pub transactions: f64,
    /// Transactions of an access whose lanes use neighbouring words, of as many bytes.
    pub ideal: f64,
    /// Share of these accesses that are to local memory.
    pub local: f64,
}

/// Kinds of accesses, with a label of `sm.memory_accesses` each.
const KINDS: [(&str, &str); 3] = [
    ("load", "a load"),
    ("store", "a store"),
    ("atomic", "an atomic"),
];

impl Accesses {
    /// The kinds of accesses that a kernel makes.
    pub(crate) fn of(spec: &GpuSpec, counts: &Counts) -> Vec<Self> {
        let bytes = match spec.sm.coalescing {
            Coalescing::Sectors => 32.0,
            Coalescing::Segments | Coalescing::SegmentsAndSectors => 128.0,
        };
        let of_kind = |(label, one): (&str, &'static str)| {
            let get = |group: &str| {
                let count = counts.get(&format!("sm.{group}.{label}")).copied();
                count.unwrap_or(0) as f64
            };
            let count = get("memory_accesses");
            (count > 0.0).then(|| Self {
                one,
                count,
                bytes: get("access_bytes") / count,
                transactions: get("access_transactions") / count,
                ideal: (get("access_bytes") / bytes / count).max(1.0),
                local: get("local_accesses") / count,
            })
        };
        KINDS.into_iter().filter_map(of_kind).collect()
    }

    /// Accesses of which only the mean number of transactions is known.
    pub(crate) const fn of_any_kind(transactions: f64) -> Self {
        Self {
            one: "an access",
            count: 1.0,
            bytes: 0.0,
            transactions,
            ideal: transactions,
            local: 0.0,
        }
    }

    /// Transactions over those of neighbouring words.
    pub(crate) fn spread(&self) -> f64 {
        self.transactions / self.ideal
    }

    /// Transactions that neighbouring words would save.
    fn excess(&self) -> f64 {
        (self.transactions - self.ideal) * self.count
    }

    /// True if most of them are to local memory, so that other addresses of a program change
    /// nothing.
    pub(crate) fn are_local(&self) -> bool {
        self.local >= MOSTLY
    }

    pub(crate) fn is_load(&self) -> bool {
        self.one == KINDS[0].1
    }

    pub(crate) fn is_atomic(&self) -> bool {
        self.one == KINDS[2].1
    }

    /// The loads or stores, whichever have more transactions to save.
    pub(crate) fn worst(of: &[Self]) -> Option<Self> {
        let plain = of.iter().filter(|kind| !kind.is_atomic()).copied();
        plain.max_by(|a, b| a.excess().total_cmp(&b.excess()))
    }

    /// The loads or stores whose lanes touch different lines, if neighbouring words would save a
    /// large part of all transactions.
    pub(crate) fn scattered(of: &[Self]) -> Option<Self> {
        Self::split(of).filter(|kind| kind.spread() >= SPREAD)
    }

    /// The loads or stores of whose transactions neighbouring words would save a large part of all.
    pub(crate) fn split(of: &[Self]) -> Option<Self> {
        let all: f64 = of.iter().map(|kind| kind.transactions * kind.count).sum();
        Self::worst(of).filter(|kind| kind.excess() >= SAVED * all)
    }

    /// The transactions of each kind in a clause.
    pub(crate) fn in_words(of: &[Self]) -> String {
        let mut verb = "takes ";
        let mut unit = " transactions";
        let mut ideal_of = " with neighbouring words";
        let mut told = Vec::new();
        for kind in of {
            let mut words = format!("{} {verb}{:.1}{unit}", kind.one, kind.transactions);
            (verb, unit) = ("", "");
            if kind.spread() > WORTH_NAMING {
                words += &format!(" ({:.1}{ideal_of})", kind.ideal);
                ideal_of = "";
            }
            told.push(words);
        }
        match told.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }
}
