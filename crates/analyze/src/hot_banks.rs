//! L2 banks or DRAM channels to which a kernel sends most of its requests while others idle, over a
//! whole run or at each time of it. Means over all banks show nothing of them.

use crate::advice::{HALF, percent};
use crate::verdict::Bound;
use warploom_config::GpuSpec;
use warploom_stats::result::{Figures, HotBanks};

/// Share of the time of accesses that requests wait for a few banks from which these are the bound,
/// and share of the cycles for which one is busy from which it is.
const LONG: f64 = 1.0 / 3.0;
/// Share of the time of accesses that requests wait for a few banks below which one that is busy is
/// not the bound: hardly anything waits for it.
const SOME: f64 = 0.05;
/// Share of the cycles for which a bank is busy from which it is named beside another bound.
const WORTH_NAMING: f64 = 0.2;
/// Ratio to the mean over all banks from which one is busier than others.
const BUSIER: f64 = 2.0;
/// Share of the L2 cycles with blocks from which banks for which many requests wait at a time are
/// the bound, whichever they are.
const MOST: f64 = 0.5;
/// Share of these cycles from which they are the bound if accesses spend most of their time in the
/// request network.
const MANY: f64 = 0.2;

/// A few L2 banks for which requests wait long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hot {
    banks: HotBanks,
    /// Share of the packets that go to these banks.
    packets: f64,
    /// Share of the time of accesses that requests wait for these banks.
    waits: f64,
    /// Share of the cycles for which the busiest of these banks is busy; 0 if all banks are about
    /// as busy.
    pub busy: f64,
    /// Share of the cycles in which requests wait for few banks, if these are not known: they may
    /// be others at each time.
    crowded: Option<f64>,
    /// Share of the time of accesses that requests are in the network.
    in_network: f64,
}

impl Hot {
    /// The banks for which requests wait longest, if these are at most half of all, and the waits a
    /// large part of the time of accesses, or some of it while one of them is busy for a large part
    /// of the cycles. Else few banks at a time, if requests wait for such ones in most cycles in
    /// which SMs hold a block, in this share `active` of all; or in many of them, and accesses
    /// spend most of their time in the network, from which few banks take them.
    pub(crate) fn of(figures: &Figures, active: f64) -> Option<Self> {
        let is_long = |hot: &Self| hot.waits > LONG || hot.busy > LONG && hot.waits > SOME;
        let lasting = Self::few(figures).filter(is_long);
        lasting.or_else(|| {
            let share = crowded(figures)?;
            let longest = Self::longest(figures)?;
            let least = if longest.in_network > HALF {
                MANY
            } else {
                MOST
            };
            (share > least * active).then_some(Self {
                busy: share,
                crowded: Some(share),
                ..longest
            })
        })
    }

    /// The banks for which requests wait longest, if these are at most half of all.
    fn few(figures: &Figures) -> Option<Self> {
        let longest = Self::longest(figures)?;
        (2 * longest.banks.banks <= longest.banks.of_banks).then_some(longest)
    }

    /// The banks for which requests wait longest.
    fn longest(figures: &Figures) -> Option<Self> {
        let banks = figures.hot_banks?;
        let get = |name: &str| figures.statistics.get(name).copied().unwrap_or(0) as f64;
        let busy = busy(figures).unwrap_or(0.0);
        let taken = get("partition.packets") + get("partition.write_recovery_cycles");
        let mean = taken / get("partition.cycles").max(1.0);
        Some(Self {
            banks,
            packets: banks.packets as f64 / get("partition.packets").max(1.0),
            waits: banks.wait_cycles as f64 / get("sm.fetch_cycles").max(1.0),
            busy: if busy >= BUSIER * mean { busy } else { 0.0 },
            crowded: None,
            in_network: in_network(figures),
        })
    }

    /// Clause on a bank that is busy for long, or on few banks at a time, beside another bound.
    pub(crate) fn beside(figures: &Figures) -> String {
        let hot = Self::few(figures).filter(|hot| hot.busy > WORTH_NAMING);
        let crowded = crowded(figures).filter(|share| *share > WORTH_NAMING);
        match (hot, crowded) {
            (Some(hot), _) => format!(
                "; one of {} L2 banks is busy in {} of the cycles, mostly with {}",
                hot.banks.of_banks,
                percent(hot.busy),
                hot.requests()
            ),
            (None, Some(share)) => format!(
                "; in {} of the cycles requests wait for at most half of the L2 banks",
                percent(share)
            ),
            (None, None) => String::new(),
        }
    }

    /// True if the DRAM behind the banks is what they wait for: most requests miss in L2.
    fn is_dram(&self) -> bool {
        let HotBanks {
            loads,
            stores,
            atomics,
            misses,
            ..
        } = self.banks;
        2 * misses > loads + stores + atomics
    }

    /// True if most requests to these banks are atomics.
    pub(crate) fn are_atomics(&self) -> bool {
        let HotBanks {
            loads,
            stores,
            atomics,
            ..
        } = self.banks;
        atomics > loads + stores
    }

    fn requests(&self) -> &'static str {
        let HotBanks { loads, stores, .. } = self.banks;
        match self.are_atomics() {
            true => "atomics",
            false if loads >= stores => "loads",
            false => "stores",
        }
    }

    /// Sentence on these banks as the bound of a kernel.
    pub(crate) fn in_words(&self, kernel: &str) -> String {
        if let Some(share) = self.crowded {
            return format!(
                "Few L2 banks at a time bound `{kernel}`: in {} of the cycles at least as many \
                 requests wait in the network as there are banks ({}), and all that come out of it \
                 go to at most half of them{}. The requests are mostly {}{}.",
                percent(share),
                self.banks.of_banks,
                match 2 * self.banks.banks > self.banks.of_banks {
                    true => ", which change during the run",
                    false => "",
                },
                self.requests(),
                match self.in_network > HALF {
                    true => format!(
                        ", and are in the network for {} of the time that accesses take",
                        percent(self.in_network)
                    ),
                    false => String::new(),
                }
            );
        }
        let HotBanks {
            of_banks,
            banks,
            of_channels,
            channels,
            ..
        } = self.banks;
        let (few, all, parts) = match self.is_dram() {
            true => (channels, of_channels, "DRAM channels"),
            false => (banks, of_banks, "L2 banks"),
        };
        let bound = match few {
            1 => format!("One of {all} {parts} bounds `{kernel}`"),
            _ => format!("{few} of {all} {parts} bound `{kernel}`"),
        };
        let it = if few == 1 { "it" } else { "them" };
        let busy = match (self.busy > LONG, few) {
            (false, _) => String::new(),
            (true, 1) => format!("; it is busy in {} of the cycles", percent(self.busy)),
            (true, _) => format!("; one is busy in {} of the cycles", percent(self.busy)),
        };
        format!(
            "{bound}: {} of the requests, mostly {}, go to {it}, and wait {:.0} cycles for {it} on \
             average, {} of the time that accesses take{busy}.",
            percent(self.packets),
            self.requests(),
            self.banks.wait_cycles as f64 / self.banks.packets.max(1) as f64,
            percent(self.waits.min(1.0))
        )
    }

    /// True if these banks limit a kernel more than a cause for which schedulers do not issue in
    /// the share `waits` of their cycles: what warps wait for waits for the banks for long, or one
    /// is busy for longer. Accesses to other banks wait in queues for the share `elsewhere` of
    /// their time.
    pub(crate) fn is_behind(&self, cause: Bound, waits: f64, elsewhere: f64) -> bool {
        let long = self.waits_of(cause, elsewhere) > LONG;
        long || self.crowded.is_some() || self.busy > waits
    }

    /// Share of the time of accesses that those which warps wait for by a cause wait for these
    /// banks; all of them, if most are of that kind. Where accesses to other banks mostly wait in
    /// queues as well, these are taken to be those to the few banks.
    fn waits_of(&self, cause: Bound, elsewhere: f64) -> f64 {
        let HotBanks {
            loads,
            stores,
            atomics,
            ..
        } = self.banks;
        let all = loads + stores + atomics;
        let of = match cause {
            Bound::Loads => loads,
            Bound::Atomics => atomics,
            _ => all,
        };
        match 2 * of >= all || elsewhere > HALF {
            true => self.waits,
            false => self.waits * of as f64 / all as f64,
        }
    }

    /// Step that spreads the requests. `fewer_blocks` is the step that has fewer blocks, if the
    /// kernel has atomics on shared memory.
    pub(crate) fn step(&self, fewer_blocks: Option<&str>) -> String {
        let apart = "pad the rows of arrays, or let blocks begin at different rows, so that the \
                     distance of addresses that are used at a time does not lead to the same few \
                     again (partition camping)";
        let adds = self.are_atomics() && !self.is_dram();
        if let Some(fewer) = fewer_blocks.filter(|_| adds) {
            return format!(
                "{fewer}, since every block adds its results to the same words of global memory; or \
                 let blocks add to several copies there, which spread over more banks, and add \
                 those at the end"
            );
        }
        if adds {
            return "let each block update a copy of its own in shared memory (privatisation), or \
                    each warp combine its values by shuffles, and update global memory once for \
                    them; several copies in global memory, added at the end, spread the rest over \
                    more banks"
                .to_owned();
        }
        match (self.is_dram(), self.requests()) {
            (_, "loads") if self.crowded.is_some() => format!(
                "let warps that read the same data in the same order begin at different places of \
                 it, for example at one that follows from `blockIdx.x`, or load it once for a \
                 block into shared memory; where each block reads the same few lines once, let a \
                 block do more with them, or give groups of blocks a copy each; if the lines \
                 differ, {apart}"
            ),
            (false, "loads") => format!(
                "load lines that all blocks read once for a block, and keep them in shared memory \
                 or registers, or let L1D keep them (no `__ldcg` or `volatile`); if the lines \
                 differ, {apart}"
            ),
            _ => apart.to_owned(),
        }
    }
}

/// Share of the cycles for which the busiest of the L2 banks with the longest waits is busy. `None`
/// if no requests wait, and for results that do not count it.
pub(crate) fn busy(figures: &Figures) -> Option<f64> {
    let banks = figures.hot_banks?;
    let all = figures.statistics.get("partition.cycles").copied()?;
    let cycles = all as f64 / f64::from(banks.of_banks.max(1));
    (banks.busy_cycles > 0).then(|| (banks.busy_cycles as f64 / cycles.max(1.0)).min(1.0))
}

/// Share of the L2 cycles in which requests wait in the network for at most half of the banks.
/// `None` if there are no requests.
fn crowded(figures: &Figures) -> Option<f64> {
    let banks = figures.hot_banks?;
    let get = |name: &str| figures.statistics.get(name).copied().unwrap_or(0) as f64;
    let cycles = get("partition.cycles") / f64::from(banks.of_banks.max(1));
    Some((get("gpu.crowded_cycles") / cycles.max(1.0)).min(1.0))
}

/// Share of the time of accesses that requests are in the network to L2, whose cycles are not those
/// of the SMs.
fn in_network(figures: &Figures) -> f64 {
    let get = |name: &str| figures.statistics.get(name).copied().unwrap_or(0) as f64;
    let core_cycles = get("gpu.cycles") / get("noc_to_l2.cycles").max(1.0);
    let inside = get("noc_to_l2.packet_cycles") * core_cycles;
    (inside / get("sm.fetch_cycles").max(1.0)).min(1.0)
}

/// Shares of the time of accesses that they would not take on an idle machine, since they wait in
/// queues: of all accesses, and of those without the waits for the banks with the longest ones.
pub(crate) fn queueing(spec: &GpuSpec, figures: &Figures, l2_hits: Option<f64>) -> [f64; 2] {
    let get = |name: &str| figures.statistics.get(name).copied().unwrap_or(0) as f64;
    let idle = spec.latencies();
    let hits = l2_hits.unwrap_or(0.0);
    let idle = hits * f64::from(idle.l2) + (1.0 - hits) * f64::from(idle.dram);
    let banks = figures.hot_banks.unwrap_or_default();
    let (cycles, fetches) = (get("sm.fetch_cycles"), get("sm.fetches"));
    let others = (
        cycles - banks.wait_cycles as f64,
        fetches - banks.packets as f64,
    );
    [(cycles, fetches), others].map(|(cycles, fetches)| match cycles / fetches.max(1.0) {
        mean if mean > idle => 1.0 - idle / mean,
        _ => 0.0,
    })
}
