//! The tables of policies: one row a policy, from which come the choice in the specification, the
//! names that its key accepts, and (in the policy crate) dispatch, lists and documentation.
//!
//! A row is `Variant = "name": "meaning";`, or `Variant(settings: Type) = ...` for a policy with
//! settings, whose keys lie in a table of the policy's name. The policy crate has a struct of the
//! variant's name.

use crate::section::{Info, Reader, Section, Writer, settings};
use crate::value::{Rule, int, names, pow2};

/// Hands the rows of `sm.warp_scheduler` to a macro.
#[macro_export]
macro_rules! warp_schedulers {
    ($then:ident) => {
        $then! {
            WarpScheduler of "sm.warp_scheduler", "Which warp goes first.",
                "GPGPU-Sim -gpgpu_scheduler";
            Lrr = "lrr": "loose round robin";
            Grr = "grr": "greedy, then round robin";
            Gto = "gto": "greedy, then oldest";
            Oldest = "oldest": "oldest first, never greedy";
            Rrr = "rrr": "strict round robin: nobody goes before the one whose turn it is";
            TwoLevel(settings: TwoLevelSettings) = "two-level":
                "one group of warps goes on until its warps wait for memory";
            StaticLimit(settings: StaticLimitSettings) = "static-limit":
                "greedy, then oldest, over the oldest warps only";
            LongLatencyFirst(settings: LongLatencyFirstSettings) = "long-latency-first":
                "warps that stalled for most cycles first";
            Locality(settings: WarpLocalitySettings) = "locality":
                "a group goes on; who shares lines with it comes in and goes first";
        }
    };
}

/// Hands the rows of `gpu.block_scheduler` to a macro.
#[macro_export]
macro_rules! block_schedulers {
    ($then:ident) => {
        $then! {
            BlockScheduler of "gpu.block_scheduler", "Which block goes to which SM.",
                "this program";
            RoundRobin = "rr": "blocks in grid order, one at a time, to SMs in turn";
            Bcs = "bcs": "two consecutive blocks at a time to one SM";
            Locality(settings: BlockLocalitySettings) = "locality":
                "the block that shares most cache lines with those on the SM";
        }
    };
}

/// Hands the rows of `gpu.sm_filter` to a macro.
#[macro_export]
macro_rules! sm_filters {
    ($then:ident) => {
        $then! {
            SmFilter of "gpu.sm_filter", "Which SMs take new blocks.", "this program";
            All = "all": "every SM takes blocks whenever it has room";
            ContentionThrottle(settings: ContentionThrottleSettings) = "contention-throttle":
                "fewer SMs take blocks while stalls of DRAM and network grow";
        }
    };
}

/// Hands the rows of `gpu.multiprogram` to a macro.
#[macro_export]
macro_rules! multiprogram_policies {
    ($then:ident) => {
        $then! {
            Multiprogram of "gpu.multiprogram",
                "How kernels that run at once share the SMs.", "this program",
                default "left-over";
            Sequential = "sequential": "one process after the other";
            LeftOver = "left-over":
                "all that the kernel launched first can use; the next when its last block has started";
            Exclusive = "exclusive":
                "one kernel at a time on an SM; SMs that the first leaves take the next (GPGPU-Sim)";
            Fcfs = "fcfs": "kernels take blocks by turns, wherever there is room";
            Even = "even": "every SM's resources in equal parts";
            Spatial = "spatial": "SMs in equal parts";
            Fixed(settings: FixedSettings) = "fixed": "a fixed number of blocks on an SM for each";
            WarpedSlicer(settings: WarpedSlicerSettings) = "warped-slicer":
                "the blocks of each by what short profiles say they gain";
        }
    };
}

/// Hands the rows of `sm.context` to a macro.
#[macro_export]
macro_rules! contexts {
    ($then:ident) => {
        $then! {
            Context of "sm.context", "What is done with warps that wait long.",
                "this program", default "none";
            Resident = "none": "warps and blocks hold what they have until they end";
            Duet(settings: DuetSettings) = "duet":
                "GPUDuet: stalled warps or blocks leave to spare memory on the chip, others come in";
            DuetTb(settings: DuetSettings) = "duet-tb": "GPUDuet with blocks as wholes only";
            VirtualThread(settings: VirtualThreadSettings) = "virtual-thread":
                "warp slots of stalled blocks are lent to blocks that have only registers and \
                 shared memory";
        }
    };
}

/// Makes the choice of a key out of its table.
macro_rules! choices {
    (@take $reader:ident) => { $reader.take(Self::CHOICE) };
    (@take $reader:ident $default:literal) => {
        $reader.take_or(Self::CHOICE, $default.to_owned(), $default)
    };
    ($Enum:ident of $key:literal, $about:literal, $source:literal $(, default $default:literal)?;
     $($Variant:ident $(($bind:ident: $Settings:ident))? = $name:literal: $meaning:literal;)+) => {
        #[doc = concat!("What `", $key, "` chooses.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Enum {
            $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] $Variant $(($Settings))?,)+
        }

        impl $Enum {
            const CHOICE: Info = Info {
                name: concat!("/", $key),
                rule: Rule::Names(&[$(($name, $meaning)),+]),
                unit: "",
                about: $about,
                source: $source,
            };
        }

        impl Section for $Enum {
            /// Settings of policies that are not chosen are read too: they are keys all the same.
            fn read(reader: &mut Reader<'_>) -> Self {
                let name: String = choices!(@take reader $($default)?);
                let mut chosen = None;
                $(
                    let this = Self::$Variant
                        $((reader.section::<$Settings>(concat!("/", $name))))?;
                    if name == $name {
                        chosen = Some(this);
                    }
                )+
                chosen.expect("the rule lets only names of the table pass")
            }

            fn write(&self, writer: &mut Writer) {
                match self {
                    $(Self::$Variant $(($bind))? => {
                        writer.put(Self::CHOICE, &$name.to_owned());
                        $(writer.section::<$Settings>(concat!("/", $name), $bind);)?
                    })+
                }
            }
        }
    };
}

pub(crate) use choices;

warp_schedulers!(choices);
block_schedulers!(choices);
sm_filters!(choices);
multiprogram_policies!(choices);
contexts!(choices);

/// Order of the warps that may issue, in `two-level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerOrder {
    /// Loose round robin.
    Lrr,
    /// Greedy, then round robin.
    Grr,
    /// Greedy, then oldest.
    Gto,
    /// Oldest first.
    Oldest,
}

/// Which warps may issue, in `two-level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterOrder {
    /// The head of the queue of pending warps replaces a warp that waits.
    Queue,
    /// The oldest pending warp replaces a warp that waits.
    Oldest,
    /// Fixed groups take turns.
    Groups,
}

/// Among which warps stalls decide, in `long-latency-first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortScope {
    /// Within a block; blocks oldest first.
    Block,
    /// Over the scheduler's warps.
    Sm,
}

/// Which stalled warps are counted in a cycle, in `long-latency-first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCount {
    /// Every one.
    All,
    /// Those that the scheduler looked at before it found one to issue.
    Examined,
}

/// Which SMs take blocks when not all do, in `contention-throttle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleOrder {
    /// The first ones after the SM that took a block last.
    RoundRobin,
    /// Those with the lowest numbers.
    Lowest,
}

/// How a sample's IPC is weighted by its SM's blocks, in `warped-slicer` (equation 3's psi + 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleWeight {
    /// The SM's blocks over the mean of all: equation 4.
    BlocksOverMean,
    /// The mean of all over the SM's blocks: equation 3, bandwidth in proportion to blocks.
    MeanOverBlocks,
    /// None.
    One,
}

names! {
    InnerOrder: INNER_ORDERS {
        Lrr = "lrr": "loose round robin",
        Grr = "grr": "greedy, then round robin",
        Gto = "gto": "greedy, then oldest",
        Oldest = "oldest": "oldest first",
    }
    OuterOrder: OUTER_ORDERS {
        Queue = "queue":
            "a warp that waits goes to a queue's tail, its head takes the place (GPGPU-Sim)",
        Oldest = "oldest": "the oldest of those outside takes the place of a warp that waits",
        Groups = "groups": "fixed groups, in turn when all warps of one wait (Narasiman et al.)",
    }
    SampleWeight: SAMPLE_WEIGHTS {
        BlocksOverMean = "blocks-over-mean": "its blocks over the mean of all SMs (equation 4)",
        MeanOverBlocks = "mean-over-blocks":
            "the mean of all SMs over its blocks (equation 3, where bandwidth in the sample goes by \
             blocks and would be equal otherwise)",
        One = "one": "as sampled",
    }
    SortScope: SORT_SCOPES {
        Block = "block": "within a block, blocks oldest first",
        Sm = "sm": "over all warps of the scheduler",
    }
    StallCount: STALL_COUNTS {
        All = "all": "every stalled warp",
        Examined = "examined": "stalled warps that the scheduler looked at in the cycle",
    }
    ThrottleOrder: THROTTLE_ORDERS {
        RoundRobin = "round-robin": "the first ones after the SM that took a block last",
        Lowest = "lowest": "those with the lowest numbers",
    }
}

/// Settings of `two-level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoLevelSettings {
    /// Warps of a scheduler that may issue.
    pub active_warps: u32,
    /// Their order.
    pub inner: InnerOrder,
    /// How they are chosen.
    pub outer: OuterOrder,
}

settings! {
    TwoLevelSettings {
        active_warps: "active_warps", int(1, 64), 8, "8", "warps per scheduler",
            "Warps in the group that issues.",
            "Narasiman et al., MICRO 2011: fetch groups of 8; GPGPU-Sim two_level_active:N";
        inner: "inner", INNER_ORDERS, InnerOrder::Lrr, "lrr", "",
            "Order within the group.", "GPGPU-Sim two_level_active:N:INNER:OUTER";
        outer: "outer", OUTER_ORDERS, OuterOrder::Queue, "queue", "",
            "Which warps are the group.",
            "GPGPU-Sim two_level_active (queue); Narasiman et al., MICRO 2011 (groups)";
    }
}

/// Settings of `static-limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticLimitSettings {
    /// Warps that may issue, per scheduler.
    pub warps: u32,
}

settings! {
    StaticLimitSettings {
        warps: "warps", int(1, 64), 16, "16", "warps per scheduler",
            "Warps that may issue.",
            "GPGPU-Sim warp_limiting:2:N; Rogers et al., MICRO 2012 (SWL)";
    }
}

/// Settings of `long-latency-first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongLatencyFirstSettings {
    /// Among which warps stalls decide.
    pub scope: SortScope,
    /// Which stalled warps are counted.
    pub count: StallCount,
    /// Bits of a warp's counter, which stays at its largest value.
    pub counter_bits: u32,
}

settings! {
    LongLatencyFirstSettings {
        scope: "scope", SORT_SCOPES, SortScope::Block, "block", "",
            "Among which warps stalls decide.",
            "Do et al. 2017, Algorithm 1: \"warps of a thread block\"";
        count: "count", STALL_COUNTS, StallCount::All, "all", "",
            "Which stalled warps are counted in a cycle.",
            "Do et al. 2017, Algorithm 1, leaves it open";
        counter_bits: "counter_bits", int(1, 63), 32, "32", "bits",
            "Width of a warp's stall counter, which stays at its largest value.",
            "this program: the paper gives no width";
    }
}

/// Settings of `contention-throttle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionThrottleSettings {
    /// Least core cycles between two checks.
    pub interval_cycles: u32,
    /// SMs that always take blocks.
    pub min_sms: u32,
    /// Which SMs take blocks.
    pub order: ThrottleOrder,
}

settings! {
    ContentionThrottleSettings {
        interval_cycles: "interval_cycles", int(1, 10_000_000), 1000, "1000", "core cycles",
            "Least time between two checks of the contention.",
            "this program: Do et al. 2017, say \"a period of GPGPU cycles\"";
        min_sms: "min_sms", int(1, 1024), 2, "2", "SMs",
            "SMs that take blocks however high the contention.",
            "Do et al. 2017, Algorithm 2, line 13";
        order: "order", THROTTLE_ORDERS, ThrottleOrder::RoundRobin, "round-robin", "",
            "Which SMs take blocks when not all do.",
            "Do et al. 2017: \"the next round of round-robin scheduling\"";
    }
}

/// Settings of the block scheduler `locality`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLocalitySettings {
    /// Waiting blocks that are compared.
    pub queue: u32,
    /// Arrays of an entry.
    pub arrays: u32,
    /// No limits on arrays and fields, and the longest queue.
    pub ideal: bool,
}

/// Longest queue of waiting blocks.
const LONGEST_QUEUE: u32 = 4096;

impl BlockLocalitySettings {
    /// Waiting blocks that are compared.
    pub const fn entries(&self) -> u32 {
        if self.ideal {
            LONGEST_QUEUE
        } else {
            self.queue
        }
    }
}

settings! {
    BlockLocalitySettings {
        queue: "queue", int(1, LONGEST_QUEUE as u64), 128, "128", "blocks",
            "Waiting blocks that the block scheduler compares.",
            "this program: Chen, NTU thesis 2016, gives no length";
        arrays: "block_arrays", int(1, 16), 5, "5", "arrays",
            "Arrays whose rectangles an entry of the block queue holds.",
            "Chen, NTU thesis 2016, section 5.4: 15 bytes an entry";
        ideal: "ideal", Rule::Switch, false, "false", "",
            "Block scheduler without limits: 16 arrays, no field of one byte, 4096 blocks waiting.",
            "this program";
    }
}

/// Settings of the warp scheduler `locality`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpLocalitySettings {
    /// Warps of a scheduler that may issue.
    pub active_warps: u32,
    /// Arrays of a warp's range.
    pub arrays: u32,
    /// Bits of a region's index.
    pub region_bits: u32,
    /// Sub-regions of a region.
    pub sub_regions: u32,
    /// As many arrays, regions and sub-regions as there can be, and counts above 255.
    pub ideal: bool,
}

impl WarpLocalitySettings {
    /// The arrays, regions and sub-regions that these settings come to.
    pub const fn resolved(self) -> Self {
        match self.ideal {
            true => Self {
                arrays: 16,
                region_bits: 16,
                sub_regions: 64,
                ..self
            },
            false => self,
        }
    }
}

settings! {
    WarpLocalitySettings {
        active_warps: "active_warps", int(1, 64), 8, "8", "warps per scheduler",
            "Warps in the group that issues.",
            "this program: Chen, NTU thesis 2016, gives no size; two-level's";
        arrays: "warp_arrays", int(1, 16), 5, "5", "arrays",
            "Arrays that a warp's access range covers.",
            "Chen, NTU thesis 2016, section 5.4";
        region_bits: "region_bits", int(1, 16), 10, "10", "bits",
            "Width of the index of a block's region: an array has 2 to that many.",
            "Chen, NTU thesis 2016, section 5.2";
        sub_regions: "sub_regions", int(1, 64), 16, "16", "bits",
            "Sub-regions of a region, one bit each.",
            "Chen, NTU thesis 2016, section 5.2";
        ideal: "ideal_warps", Rule::Switch, false, "false", "",
            "Warp scheduler without limits: 16 arrays, 65536 regions of 64 sub-regions, pairs of \
             more than a byte.",
            "this program";
    }
}

/// When L1D may hold contexts, in `duet` and `duet-tb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum L1dStore {
    /// When nothing else can, and it is hardly used.
    Auto,
    /// Never.
    Never,
    /// From the first kernel on.
    Always,
}

names! {
    L1dStore: L1D_STORES {
        Auto = "auto": "when nothing else is spare, the kernel is not saturated and L1D idles",
        Never = "never": "never",
        Always = "always": "from the start; loads go past it",
    }
}

/// Settings of `duet` and of `duet-tb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuetSettings {
    /// Blocks above what an SM holds at once (ME); `None`: the monitor chooses.
    pub extra_blocks: Option<u32>,
    /// Bytes of a context that move in a cycle.
    pub port_bytes: u32,
    /// Bytes of a warp slot (ST).
    pub slot_bytes: u32,
    /// Entries of the divergence stack that a slot's bytes hold.
    pub stack_entries: u32,
    /// Entries of the warp context table.
    pub warp_contexts: u32,
    /// Entries of the block context table.
    pub block_contexts: u32,
    /// Entries of the queues of stalled and of ready warps.
    pub warp_queue: u32,
    /// Entries of the queues of stalled and of ready blocks.
    pub block_queue: u32,
    /// Warps that wait at a barrier may be switched out.
    pub barriers: bool,
    /// Only live registers are kept, compressed.
    pub reduce: bool,
    /// When L1D holds contexts.
    pub l1d: L1dStore,
    /// Use of L1D's port below which it may, in percent.
    pub l1d_percent: u32,
    /// Core cycles before the monitor first looks.
    pub warm_up_cycles: u32,
    /// Core cycles of each of its windows.
    pub window_cycles: u32,
}

settings! {
    DuetSettings {
        extra_blocks: "extra_blocks", Rule::IntegerOrNone { min: 0, max: 64 }, None, "none",
            "blocks",
            "Blocks above what an SM holds at once (ME), at most as many as have room; none: the \
             monitor chooses.",
            "Lin et al., TACO 2018, sections 6.4 and 7.1";
        port_bytes: "port_bytes", pow2(4, 4096), 128, "128", "bytes per cycle",
            "Bandwidth of the port that contexts move through.",
            "Lin et al., TACO 2018, sections 6.7 and 7.4";
        slot_bytes: "slot_bytes", int(1, 4096), 256, "256", "bytes",
            "Size of a warp slot (ST): 16 stack entries of 12 bytes, scoreboard, program counter, \
             flags, in units of 128 bytes.",
            "Fung et al., MICRO 2007, for the stack's entries; this program";
        stack_entries: "stack_entries", int(1, 64), 16, "16", "entries",
            "Entries of the divergence stack that a slot holds; a warp with more stays.",
            "this program";
        warp_contexts: "warp_contexts", int(1, 256), 128, "128", "warps",
            "Entries of the warp context table: most warps of an SM.",
            "Lin et al., TACO 2018, section 6.6";
        block_contexts: "block_contexts", int(1, 64), 32, "32", "blocks",
            "Entries of the block context table: most blocks of an SM.",
            "Lin et al., TACO 2018, Table 4 (its text says 16)";
        warp_queue: "warp_queue", int(1, 256), 16, "16", "warps",
            "Entries of the queue of stalled warps, and of that of ready warps.",
            "Lin et al., TACO 2018, Table 4";
        block_queue: "block_queue", int(1, 64), 8, "8", "blocks",
            "Entries of the queue of stalled blocks, and of that of ready blocks.",
            "Lin et al., TACO 2018, Table 4";
        barriers: "barriers", Rule::Switch, true, "true", "",
            "Warps that wait at a barrier may be switched out; without it kernels may deadlock.",
            "Lin et al., TACO 2018, section 6.3";
        reduce: "reduce", Rule::Switch, true, "true", "",
            "Of an absent warp only live registers are kept, compressed; else all of them.",
            "Lin et al., TACO 2018, section 6.6";
        l1d: "l1d", L1D_STORES, L1dStore::Auto, "auto", "",
            "When L1D holds contexts; it is drained first, and loads go past it from then on.",
            "Lin et al., TACO 2018, section 6.4";
        l1d_percent: "l1d_percent", int(0, 100), 3, "3", "percent",
            "Use of L1D's port below which it may hold contexts.",
            "Lin et al., TACO 2018, section 6.4";
        warm_up_cycles: "warm_up_cycles", int(0, 100_000_000), 10_000, "10000", "core cycles",
            "Time after a kernel's start before the monitor looks.",
            "Lin et al., TACO 2018, section 6.4";
        window_cycles: "window_cycles", int(100, 100_000_000), 10_000, "10000", "core cycles",
            "Length of the monitor's windows.",
            "Lin et al., TACO 2018, section 6.4";
    }
}

/// Settings of `virtual-thread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualThreadSettings {
    /// Bytes of a context that move in a cycle.
    pub port_bytes: u32,
    /// Bytes of a warp slot (ST).
    pub slot_bytes: u32,
    /// Entries of the divergence stack that a slot's bytes hold.
    pub stack_entries: u32,
    /// Virtual warps of an SM.
    pub warps: u32,
    /// Entries of the block status table.
    pub blocks: u32,
}

settings! {
    VirtualThreadSettings {
        port_bytes: "port_bytes", pow2(4, 4096), 128, "128", "bytes per cycle",
            "Bandwidth of the port that warp slots move through.",
            "Lin et al., TACO 2018, section 6.7: the same as GPUDuet's";
        slot_bytes: "slot_bytes", int(1, 4096), 256, "256", "bytes",
            "Size of a warp slot.", "as `duet.slot_bytes`";
        stack_entries: "stack_entries", int(1, 64), 16, "16", "entries",
            "Entries of the divergence stack that a slot holds; a block with a deeper one stays.",
            "this program";
        warps: "warps", int(1, 256), 128, "128", "warps",
            "Virtual warps of an SM: their numbers have 7 bits.",
            "Lin et al., TACO 2018, section 6.8";
        blocks: "blocks", int(1, 64), 32, "32", "blocks",
            "Entries of the block status table.",
            "Lin et al., TACO 2018, section 6.8";
    }
}

/// Settings of `fixed`: blocks of each kernel on an SM, kernels in order of their processes;
/// `None`: as many as there is room for. They hold while more than one kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedSettings {
    /// Of the first.
    pub first: Option<u32>,
    /// Of the second.
    pub second: Option<u32>,
    /// Of the third.
    pub third: Option<u32>,
    /// Of the fourth.
    pub fourth: Option<u32>,
}

const QUOTA: Rule = Rule::IntegerOrNone { min: 0, max: 64 };

settings! {
    FixedSettings {
        first: "first", QUOTA, None, "\"none\"", "blocks per SM",
            "Blocks of the first process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
        second: "second", QUOTA, None, "\"none\"", "blocks per SM",
            "Blocks of the second process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
        third: "third", QUOTA, None, "\"none\"", "blocks per SM",
            "Blocks of the third process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
        fourth: "fourth", QUOTA, None, "\"none\"", "blocks per SM",
            "Blocks of the fourth process's kernel on an SM.",
            "Xu et al., ISCA 2016, section V.A: the oracle's combinations";
    }
}

/// Settings of `warped-slicer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpedSlicerSettings {
    /// Core cycles before the first profile.
    pub warmup_cycles: u32,
    /// Core cycles of a sample.
    pub profile_cycles: u32,
    /// Core cycles from the last sample to the new partition.
    pub delay_cycles: u32,
    /// Loss of a kernel, in percent of an equal share, from which SMs are divided instead.
    pub loss_percent: u32,
    /// Change of a kernel's IPC, in percent, from which it is profiled again; 0: never.
    pub phase_percent: u32,
    /// What a sample's IPC is weighted by, as far as it waits for memory.
    pub weight: SampleWeight,
}

settings! {
    WarpedSlicerSettings {
        warmup_cycles: "warmup_cycles", int(0, 100_000_000), 20_000, "20000", "core cycles",
            "Time before the first profile.", "Xu et al., ISCA 2016, section V";
        profile_cycles: "profile_cycles", int(1, 100_000_000), 5000, "5000", "core cycles",
            "Length of a sample.", "Xu et al., ISCA 2016, sections IV.A and V";
        delay_cycles: "delay_cycles", int(0, 100_000_000), 0, "0", "core cycles",
            "Time that the algorithm takes, in which the blocks of the profile go on.",
            "Xu et al., ISCA 2016, section V.H";
        loss_percent: "loss_percent", int(0, 1000), 120, "120", "%",
            "Loss of a kernel from which SMs are divided instead, in percent of 1/K of its best \
             performance among K kernels.",
            "Xu et al., ISCA 2016, section IV";
        phase_percent: "phase_percent", int(0, 10_000), 50, "50", "%",
            "Change of a kernel's IPC over more than a profile's length from which it is profiled \
             again; 0: never.",
            "this program: Xu et al., ISCA 2016, section IV.B, say \"significantly\"";
        weight: "weight", SAMPLE_WEIGHTS, SampleWeight::BlocksOverMean, "blocks-over-mean", "",
            "What a sample's IPC is weighted by, as far as its SM waits for memory.",
            "Xu et al., ISCA 2016, section IV.A, equations 3 and 4";
    }
}
