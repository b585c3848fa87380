//! Declarations of statistics, and the macro that declares a struct of counters.

use warploom_state::Value;

/// Labels of a counter by number of active lanes, from 1 to 32 (GPGPU-Sim's W1 to W32).
pub const LANE_COUNTS: &[&str] = &[
    "w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12", "w13", "w14", "w15",
    "w16", "w17", "w18", "w19", "w20", "w21", "w22", "w23", "w24", "w25", "w26", "w27", "w28",
    "w29", "w30", "w31", "w32",
];

/// Unit of a statistic: what an increment by one stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Clock cycles of the domain that the sentence names.
    Cycles,
    /// Cycles summed over all schedulers or units.
    Slots,
    /// Warp instructions: one for up to 32 lanes of a warp.
    WarpInstructions,
    /// Thread instructions: one for each active lane.
    ThreadInstructions,
    /// Accesses of a cache or memory by the level above it.
    Accesses,
    /// Requests and replies between parts of the machine.
    Requests,
    /// Packets that cross the network.
    Packets,
    /// Flits that cross the network.
    Flits,
    /// Commands that DRAM executes.
    Commands,
    /// Bytes of 8 bits.
    Bytes,
    /// Threads of a kernel.
    Threads,
    /// Warps of 32 threads.
    Warps,
    /// Thread blocks of a grid.
    Blocks,
    /// Streaming multiprocessors (SMs) of the machine.
    Sms,
    /// Launches of a kernel.
    Kernels,
    /// Events of the kind that the sentence names.
    Events,
    /// Number between 0 and 1.
    Fraction,
    /// Stalls per core cycle, summed over all parts; may exceed 1.
    StallsPerCycle,
    /// Thread instructions per core cycle.
    InstructionsPerCycle,
    /// Seconds of real time on the host.
    Seconds,
    /// Simulated core cycles per second of real time.
    CyclesPerSecond,
    /// Simulated warp instructions per second of real time.
    WarpInstructionsPerSecond,
}

impl Unit {
    /// Name of the unit in words.
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

/// Declaration of one statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatMeta {
    /// Stable name within its group: `issued`. [`StatTable::name`] gives the full name.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Sentences that say what is counted; may begin with a blank from the doc comment.
    pub raw_sentence: &'static str,
    /// Names of the same statistic in GPGPU-Sim: none, or one for each group of the struct, in the
    /// order of [`Counters::TABLES`].
    pub gpgpusim: &'static [&'static str],
    /// Names of an array's elements, outermost dimension first; empty for a plain counter.
    pub labels: &'static [&'static [&'static str]],
    /// True for a [`Peak`], the largest value so far in the run. The names of peaks, and only
    /// these, end in [`PEAK_SUFFIX`].
    pub is_peak: bool,
}

/// Suffix of the names of [`Peak`]s, by which a reader of results knows what does not add up.
pub const PEAK_SUFFIX: &str = "_max";

impl StatMeta {
    /// Sentence that says what is counted.
    pub const fn sentence(&self) -> &'static str {
        self.raw_sentence.trim_ascii()
    }
}

/// Declarations of the statistics of one group.
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
        let labels = || meta.labels.iter().zip(at).map(|(labels, &i)| labels[i]);
        let suffixes: usize = labels().map(|label| 1 + label.len()).sum();
        let mut name = String::with_capacity(self.group.len() + 1 + meta.name.len() + suffixes);
        if !self.group.is_empty() {
            name.push_str(self.group);
            name.push('.');
        }
        name.push_str(meta.name);
        for label in labels() {
            name.push('.');
            name.push_str(label);
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
    /// Value before anything is counted.
    const ZERO: Self;
    /// True for a maximum, which does not add up.
    const IS_PEAK: bool = false;
    /// Adds the counts of another counter.
    fn add(&mut self, other: &Self);
    /// Subtracts the counts of an earlier time. Panics if `earlier` counted more.
    fn subtract(&mut self, earlier: &Self);
    /// Calls `f` with position and value of every element, in order. `at` is the position of this
    /// counter within the array that contains it.
    fn visit(&self, at: &mut Vec<usize>, f: &mut dyn FnMut(&[usize], u64));
    /// Appends the sizes of the dimensions, outermost first.
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

/// Largest value since the run began. Merging takes the larger value. A difference keeps the value,
/// so that a kernel or a window shows the largest value up to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
pub struct Peak(pub u64);

impl Peak {
    /// Raises the peak to `value`, if that is larger.
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

/// Labels of the bins of [`log2_bin`], named by the smallest value of each.
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

/// Bin of a value: the position of its highest bit. The last bin has all values from 32,768 on, the
/// first has 0 and 1.
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

/// Struct of counters declared by [`declare_stats!`](crate::declare_stats).
pub trait Counters: Clone + Default {
    /// The declarations, once for each group that the struct is counted in.
    const TABLES: &'static [StatTable];

    /// The declarations under the first group, for structs that have one group.
    const TABLE: StatTable = Self::TABLES[0];

    /// Adds the counts of another struct, as of an SM to those of the GPU.
    fn merge(&mut self, other: &Self);

    /// Returns the counts since `earlier`, which must be an earlier state of the same counters.
    fn since(&self, earlier: &Self) -> Self;

    /// Calls `f` with declaration, position (empty for a plain counter) and value of every counter,
    /// in order of declaration.
    fn visit(&self, f: &mut dyn FnMut(&'static StatMeta, &[usize], u64));

    /// Sizes of the dimensions of every counter, in order of declaration.
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

    /// Values of all counters, in order of declaration.
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
///     /// Counters of a cache.
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
        // Keeps the order of declaration, so that counters declared together share cache lines.
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

        impl $crate::state::State for $name {
            fn state(
                &mut self,
                io: &mut $crate::state::Io<'_>,
            ) -> ::core::result::Result<(), $crate::state::StateError> {
                $($crate::state::State::state(&mut self.$field, io)?;)+
                ::core::result::Result::Ok(())
            }
        }

        impl $crate::state::Value for $name {
            fn blank() -> Self {
                ::core::default::Default::default()
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

/// Tables of the groups of a struct, all with the same statistics.
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
