//! What a declared statistic is, and the macro that declares a struct of them.

/// Labels of a counter per number of active lanes, from 1 to 32 (GPGPU-Sim's W1 to W32).
pub const LANE_COUNTS: &[&str] = &[
    "w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12", "w13", "w14", "w15",
    "w16", "w17", "w18", "w19", "w20", "w21", "w22", "w23", "w24", "w25", "w26", "w27", "w28",
    "w29", "w30", "w31", "w32",
];

/// What one step of a counter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Clock cycles of the domain that the sentence names.
    Cycles,
    /// Cycles of every scheduler or unit added up.
    Slots,
    /// Warp instructions: one for up to 32 lanes.
    WarpInstructions,
    /// Thread instructions: one for each active lane.
    ThreadInstructions,
    /// Accesses to a cache or memory by the part above it.
    Accesses,
    /// Requests and replies between parts.
    Requests,
    /// Packets on the interconnect.
    Packets,
    /// Flits on the interconnect.
    Flits,
    /// Commands to DRAM.
    Commands,
    /// Bytes.
    Bytes,
    /// Threads.
    Threads,
    /// Warps.
    Warps,
    /// Thread blocks.
    Blocks,
    /// Streaming multiprocessors.
    Sms,
    /// Kernel launches.
    Kernels,
    /// Things that happened, named by the sentence.
    Events,
    /// A number between 0 and 1.
    Fraction,
    /// Stalls per core cycle, of all parts together: may exceed 1.
    StallsPerCycle,
    /// Thread instructions per core cycle.
    InstructionsPerCycle,
    /// Seconds of the machine that simulates.
    Seconds,
    /// Simulated core cycles per second of the machine that simulates.
    CyclesPerSecond,
    /// Simulated warp instructions per second of the machine that simulates.
    WarpInstructionsPerSecond,
}

impl Unit {
    /// The unit in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Slots => "slots",
            Self::WarpInstructions => "warp instructions",
            Self::ThreadInstructions => "thread instructions",
            Self::Accesses => "accesses",
            Self::Requests => "requests",
            Self::Packets => "packets",
            Self::Flits => "flits",
            Self::Commands => "commands",
            Self::Bytes => "bytes",
            Self::Threads => "threads",
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Sms => "SMs",
            Self::Kernels => "kernels",
            Self::Events => "events",
            Self::Fraction => "0 to 1",
            Self::StallsPerCycle => "stalls/cycle",
            Self::InstructionsPerCycle => "instructions/cycle",
            Self::Seconds => "s",
            Self::CyclesPerSecond => "cycles/s",
            Self::WarpInstructionsPerSecond => "warp instructions/s",
        }
    }
}

/// One declared statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatMeta {
    /// Stable name within its group: `issued`. [`StatTable::name`] gives the full name.
    pub name: &'static str,
    /// Unit.
    pub unit: Unit,
    /// What it counts, as one sentence or more; may begin with a blank from the doc comment.
    pub raw_sentence: &'static str,
    /// Names of the same statistic in GPGPU-Sim: none, or one for each group of the struct, in the
    /// order of [`Counters::TABLES`].
    pub gpgpusim: &'static [&'static str],
    /// Names of an array's elements, outermost dimension first; empty for a plain counter.
    pub labels: &'static [&'static [&'static str]],
    /// It is a [`Peak`]: the largest value so far in the run. Its name ends in [`PEAK_SUFFIX`], no
    /// other's does.
    pub is_peak: bool,
}

/// Ends the names of [`Peak`]s, so that a result's reader knows what does not add up.
pub const PEAK_SUFFIX: &str = "_max";

impl StatMeta {
    /// What it counts.
    pub const fn sentence(&self) -> &'static str {
        self.raw_sentence.trim_ascii()
    }
}

/// The statistics of one group, as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatTable {
    /// First word of every full name; empty for the figures computed from counters.
    pub group: &'static str,
    /// Position of the group among those of its struct, for [`StatMeta::gpgpusim`].
    pub nth: usize,
    /// The statistics in order of declaration.
    pub stats: &'static [StatMeta],
}

impl StatTable {
    /// Full name of a statistic of the group: `l1d.accesses`.
    pub fn name(&self, meta: &StatMeta) -> String {
        match self.group {
            "" => meta.name.to_owned(),
            group => format!("{group}.{}", meta.name),
        }
    }

    /// Full name of one array element: `l1d.accesses.load.hit`. `at` is its position, outermost
    /// dimension first.
    pub fn element_name(&self, meta: &StatMeta, at: &[usize]) -> String {
        let mut name = self.name(meta);
        for (labels, &i) in meta.labels.iter().zip(at) {
            name.push('.');
            name.push_str(labels[i]);
        }
        name
    }

    /// Name of a statistic of the group in GPGPU-Sim, where there is one.
    pub fn gpgpusim(&self, meta: &StatMeta) -> Option<&'static str> {
        meta.gpgpusim.get(self.nth).copied()
    }
}

/// An integer counter or an array of counters.
pub trait Counter {
    /// Nothing counted.
    const ZERO: Self;
    /// Does not add up.
    const IS_PEAK: bool = false;
    /// Adds another's counts.
    fn add(&mut self, other: &Self);
    /// Takes away the counts of an earlier moment. Panics if `earlier` counted more.
    fn subtract(&mut self, earlier: &Self);
    /// Calls `f` with the position and value of every element, in order; `at` is the position
    /// reached so far.
    fn visit(&self, at: &mut Vec<usize>, f: &mut dyn FnMut(&[usize], u64));
    /// Sizes of the dimensions, outermost first.
    fn shape(shape: &mut Vec<usize>);
}

impl Counter for u64 {
    const ZERO: Self = 0;

    #[inline]
    fn add(&mut self, other: &Self) {
        *self += other;
    }

    fn subtract(&mut self, earlier: &Self) {
        *self -= earlier;
    }

    fn visit(&self, at: &mut Vec<usize>, f: &mut dyn FnMut(&[usize], u64)) {
        f(at, *self);
    }

    fn shape(_: &mut Vec<usize>) {}
}

/// The largest value seen since the run began: merging takes the larger one, and a difference keeps
/// it, so that a kernel or a window shows the largest value up to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak(pub u64);

impl Peak {
    /// Takes a value in.
    #[inline]
    pub fn note(&mut self, value: u64) {
        self.0 = self.0.max(value);
    }
}

impl Counter for Peak {
    const ZERO: Self = Self(0);
    const IS_PEAK: bool = true;

    #[inline]
    fn add(&mut self, other: &Self) {
        self.note(other.0);
    }

    fn subtract(&mut self, _: &Self) {}

    fn visit(&self, at: &mut Vec<usize>, f: &mut dyn FnMut(&[usize], u64)) {
        f(at, self.0);
    }

    fn shape(_: &mut Vec<usize>) {}
}

/// Labels of [`log2_bin`]'s bins, by their smallest value.
pub const LOG2_BINS: &[&str] = &[
    "from_0",
    "from_2",
    "from_4",
    "from_8",
    "from_16",
    "from_32",
    "from_64",
    "from_128",
    "from_256",
    "from_512",
    "from_1024",
    "from_2048",
    "from_4096",
    "from_8192",
    "from_16384",
    "from_32768",
];

/// The bin of a value: the position of its highest bit, with everything from 32,768 on in the last
/// bin. Values 0 and 1 share the first.
#[inline]
pub const fn log2_bin(value: u64) -> usize {
    let bin = (value | 1).ilog2() as usize;
    if bin < LOG2_BINS.len() {
        bin
    } else {
        LOG2_BINS.len() - 1
    }
}

impl<C: Counter, const N: usize> Counter for [C; N] {
    const ZERO: Self = [const { C::ZERO }; N];
    const IS_PEAK: bool = C::IS_PEAK;

    #[inline]
    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.iter_mut().zip(other) {
            mine.add(theirs);
        }
    }

    fn subtract(&mut self, earlier: &Self) {
        for (mine, theirs) in self.iter_mut().zip(earlier) {
            mine.subtract(theirs);
        }
    }

    fn visit(&self, at: &mut Vec<usize>, f: &mut dyn FnMut(&[usize], u64)) {
        for (i, element) in self.iter().enumerate() {
            at.push(i);
            element.visit(at, f);
            at.pop();
        }
    }

    fn shape(shape: &mut Vec<usize>) {
        shape.push(N);
        C::shape(shape);
    }
}

/// A struct of declared counters.
pub trait Counters: Clone + Default {
    /// The declarations, once for each group that the struct is counted in.
    const TABLES: &'static [StatTable];

    /// The declarations under the first group, for structs that have one group.
    const TABLE: StatTable = Self::TABLES[0];

    /// Adds another's counts: SMs into a GPU, windows into a run.
    fn merge(&mut self, other: &Self);

    /// What was counted since `earlier`, which must be a former state of the same counters.
    fn since(&self, earlier: &Self) -> Self;

    /// Calls `f` with the declaration, position (empty for a plain counter) and value of every
    /// counter, in order of declaration.
    fn visit(&self, f: &mut dyn FnMut(&'static StatMeta, &[usize], u64));

    /// Sizes of every counter's dimensions, in order of declaration.
    fn shapes() -> Vec<Vec<usize>>;

    /// Every counter by its full name under the first group, in order of declaration.
    fn named(&self) -> Vec<(String, u64)> {
        self.named_in(&Self::TABLE)
    }

    /// Every counter by its full name under a group of [`Self::TABLES`], in order of declaration.
    fn named_in(&self, table: &StatTable) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        self.visit(&mut |meta, at, value| all.push((table.element_name(meta, at), value)));
        all
    }

    /// The values alone, in the same order.
    fn values(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.visit(&mut |_, _, value| all.push(value));
        all
    }
}

/// Declares a struct of counters.
///
/// A field is `name: type = unit;`, its type `u64`, [`Peak`] or arrays of them. The doc comment is
/// the statistic's sentence. `as "name"` gives GPGPU-Sim's name for it; `by [LABELS, ...]` names
/// the elements of an array, one list of strings a dimension, outermost first.
///
/// A struct that several parts of the machine count in, each under a group of its own, lists the
/// groups: `in "l1d", "l2"`. Then `as "name" | "name"` has GPGPU-Sim's name for each group.
///
/// ```
/// use warploom_stats::{Counters, declare_stats};
///
/// const OUTCOMES: &[&str] = &["hit", "miss"];
///
/// declare_stats! {
///     /// What a cache counted.
///     pub struct CacheStats in "l1d" {
///         /// Cycles in which the data port moved data.
///         pub port_busy: u64 = Cycles;
///         /// Accesses by outcome.
///         pub accesses: [u64; 2] = Accesses, as "L1D_total_cache_accesses", by [OUTCOMES];
///     }
/// }
///
/// let mut stats = CacheStats::default();
/// stats.accesses[1] += 3;
/// assert_eq!(stats.named()[2], ("l1d.accesses.miss".to_owned(), 3));
/// ```
#[macro_export]
macro_rules! declare_stats {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident in $($group:literal),+ {$(
            $(#[doc = $doc:literal])+
            $field_vis:vis $field:ident: $ty:ty = $unit:ident
                $(, as $($gpgpusim:literal)|+)? $(, by [$($labels:expr),+ $(,)?])? ;
        )+}
    ) => {
        $(#[$meta])*
        // As declared: what is declared together is counted together.
        #[repr(C)]
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {$(
            $(#[doc = $doc])+
            $field_vis $field: $ty,
        )+}

        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self {$($field: <$ty as $crate::Counter>::ZERO,)+}
            }
        }

        impl $crate::Counters for $name {
            const TABLES: &'static [$crate::StatTable] = &{
                const STATS: &[$crate::StatMeta] = &[$($crate::StatMeta {
                    name: stringify!($field),
                    unit: $crate::Unit::$unit,
                    raw_sentence: concat!($($doc),+),
                    gpgpusim: &[$($($gpgpusim),+)?],
                    labels: &[$($($labels),+)?],
                    is_peak: <$ty as $crate::Counter>::IS_PEAK,
                }),+];
                $crate::tables([$($group),+], STATS)
            };

            fn merge(&mut self, other: &Self) {
                $($crate::Counter::add(&mut self.$field, &other.$field);)+
            }

            fn since(&self, earlier: &Self) -> Self {
                let mut delta = self.clone();
                $($crate::Counter::subtract(&mut delta.$field, &earlier.$field);)+
                delta
            }

            fn visit(&self, f: &mut dyn FnMut(&'static $crate::StatMeta, &[usize], u64)) {
                let mut metas = <Self as $crate::Counters>::TABLES[0].stats.iter();
                let mut at = ::std::vec::Vec::new();
                $(
                    let meta = metas.next().expect("one declaration per field");
                    $crate::Counter::visit(&self.$field, &mut at, &mut |at, v| f(meta, at, v));
                )+
            }

            fn shapes() -> ::std::vec::Vec<::std::vec::Vec<usize>> {
                ::std::vec![$({
                    let mut shape = ::std::vec::Vec::new();
                    <$ty as $crate::Counter>::shape(&mut shape);
                    shape
                }),+]
            }
        }
    };
}

/// One table for each group of a struct, all with the same statistics.
///
/// # Panics
/// At compile time, where a statistic has GPGPU-Sim's name for some groups and not for others.
#[doc(hidden)]
pub const fn tables<const N: usize>(
    groups: [&'static str; N],
    stats: &'static [StatMeta],
) -> [StatTable; N] {
    let mut at = 0;
    while at < stats.len() {
        let names = stats[at].gpgpusim.len();
        assert!(
            names == 0 || names == N,
            "one GPGPU-Sim name for each group"
        );
        at += 1;
    }
    let any = StatTable {
        group: "",
        nth: 0,
        stats,
    };
    let mut tables = [any; N];
    let mut nth = 0;
    while nth < N {
        tables[nth].group = groups[nth];
        tables[nth].nth = nth;
        nth += 1;
    }
    tables
}
