//! Rules between keys, which no single value can break. Each names the keys and what to change.

mod cache;

use crate::cache_policies::{L1dAllocation, L1dVictims};
use crate::policies::{self, BlockLimitChoice};
use crate::section::Problem;
use crate::spec::*;

/// Checks the rules between keys and returns all problems.
pub(crate) fn validate(spec: &GpuSpec) -> Vec<Problem> {
    let mut rules = Rules::default();
    sm(&mut rules, &spec.sm);
    units(&mut rules, &spec.sm);
    device(&mut rules, spec);
    adaptive(&mut rules, spec);
    allocation(&mut rules, spec);
    victims(&mut rules, spec);
    context(&mut rules, spec);
    block_limit(&mut rules, spec);
    policies::check(spec, &mut rules);
    let caches = [
        ("l1d", &spec.l1d),
        ("l1i", &spec.l1i),
        ("l1c", &spec.l1c),
        ("l1t", &spec.l1t),
        ("l2", &spec.partition.l2),
    ];
    for (name, spec) in caches {
        cache::check(&mut rules, name, spec);
    }
    cache::critical_lines(&mut rules, spec, &caches);
    for (name, spec) in [("l1i", &spec.l1i), ("l1c", &spec.l1c), ("l1t", &spec.l1t)] {
        rules.require(
            spec.write == WritePolicy::ReadOnly,
            &[&format!("{name}.write")],
            format!("`{name}` is never written"),
            "write \"read-only\"",
        );
    }
    dram(&mut rules, &spec.dram);
    write_queue(&mut rules, &spec.dram.write_queue, &spec.partition.l2);
    addresses(&mut rules, spec);
    rules.broken
}

/// Rules that a specification breaks, as far as they are found.
#[derive(Default)]
pub(crate) struct Rules {
    broken: Vec<Problem>,
}

impl Rules {
    /// Reports a problem of `keys` unless the rule holds.
    pub fn require(&mut self, holds: bool, keys: &[&str], reason: String, remedy: &str) {
        if !holds {
            self.broken.push(Problem {
                code: "contradiction",
                keys: keys.iter().map(|key| (*key).to_owned()).collect(),
                reason,
                remedy: remedy.to_owned(),
            });
        }
    }
}

/// Rules of context switching, which needs tables for the whole SM and storage at fixed addresses.
fn context(rules: &mut Rules, spec: &GpuSpec) {
    let Some(tables) = spec.sm.context.rules() else {
        return;
    };
    let slots = spec.sm.max_threads / 32;
    rules.require(
        tables.warps >= slots,
        &["sm.context", "sm.max_threads"],
        format!(
            "the context table has {} entries for {slots} warp slots",
            tables.warps
        ),
        "raise `duet.warp_contexts`, `virtual-thread.warps` or `finereg.warps`",
    );
    rules.require(
        tables.blocks >= spec.sm.max_blocks,
        &["sm.context", "sm.max_blocks"],
        format!(
            "the context table has {} entries for {} block slots",
            tables.blocks, spec.sm.max_blocks
        ),
        "raise `duet.block_contexts`, `virtual-thread.blocks` or `finereg.blocks`",
    );
    rules.require(
        !spec.sm.adaptive_l1d,
        &["sm.context", "sm.adaptive_l1d"],
        "contexts are stored at fixed addresses of shared memory and L1D, and the border between the \
         two would move"
            .to_owned(),
        "set `sm.adaptive_l1d` to false",
    );
}

/// Rules of block limits, which count whole blocks.
fn block_limit(rules: &mut Rules, spec: &GpuSpec) {
    rules.require(
        spec.sm.block_limit == BlockLimitChoice::Unlimited || spec.sm.context.rules().is_none(),
        &["sm.block_limit", "sm.context"],
        "a limit counts whole blocks, of which context switching moves parts".to_owned(),
        "write `sm.block_limit = \"none\"`, or `sm.context = \"none\"`",
    );
    rules.require(
        spec.sm.block_limit != BlockLimitChoice::Lcs || spec.sm.max_threads <= 64 * 32,
        &["sm.block_limit", "sm.max_threads"],
        "instructions of blocks are counted in the first 64 warp slots only".to_owned(),
        "write `sm.max_threads = 2048` at most, or another limit",
    );
}

fn sm(rules: &mut Rules, sm: &SmSpec) {
    rules.require(
        sm.max_threads.is_multiple_of(32),
        &["sm.max_threads"],
        format!("{} threads are not whole warps of 32", sm.max_threads),
        "write a multiple of 32",
    );
    rules.require(
        sm.schedulers <= sm.max_threads / 32,
        &["sm.schedulers", "sm.max_threads"],
        format!(
            "{} schedulers share {} warps",
            sm.schedulers,
            sm.max_threads / 32
        ),
        "write at most one scheduler per warp",
    );
    rules.require(
        sm.max_shared_bytes_per_block <= sm.shared_bytes,
        &["sm.max_shared_bytes_per_block", "sm.shared_bytes"],
        format!(
            "a block may use {} bytes of shared memory, an SM has {}",
            sm.max_shared_bytes_per_block, sm.shared_bytes
        ),
        "lower `sm.max_shared_bytes_per_block` or raise `sm.shared_bytes`",
    );
    rules.require(
        !sm.sub_cores || sm.collectors.banks.is_multiple_of(sm.schedulers),
        &["sm.collectors.banks", "sm.schedulers", "sm.sub_cores"],
        format!(
            "{} banks do not divide among {} schedulers",
            sm.collectors.banks, sm.schedulers
        ),
        "write a multiple of `sm.schedulers`, or turn `sm.sub_cores` off",
    );
    let banks = match sm.l1d_bank_index {
        SetIndex::FermiHash => matches!(sm.l1d_banks, 32),
        SetIndex::Ipoly => matches!(sm.l1d_banks, 16 | 32),
        SetIndex::Linear | SetIndex::Xor => true,
    };
    rules.require(
        banks,
        &["sm.l1d_bank_index", "sm.l1d_banks"],
        format!("the hash is not defined for {} banks", sm.l1d_banks),
        "write 32 banks (`ipoly` takes 16 too), or \"linear\"",
    );
}

fn units(rules: &mut Rules, sm: &SmSpec) {
    let (units, sets) = (&sm.units, &sm.collectors);
    let kinds = [
        ("sp", units.sp, sets.sp, true),
        ("dp", units.dp, sets.dp, false),
        ("int", units.int, sets.int, false),
        ("sfu", units.sfu, sets.sfu, true),
        ("tensor", units.tensor, sets.tensor, false),
        ("mem", units.mem, sets.mem, true),
    ];
    for (kind, unit, set, needed) in kinds {
        let key = |field: &str| format!("sm.units.{kind}.{field}");
        rules.require(
            unit.count > 0 || !needed,
            &[&key("count")],
            format!("an SM without `{kind}` units runs no kernel"),
            "write at least 1",
        );
        let widths = unit.issue_width > 0 && unit.dispatch_width > 0;
        rules.require(
            unit.count == 0 || widths,
            &[&key("count"), &key("issue_width"), &key("dispatch_width")],
            format!("`{kind}` units that no instruction can reach"),
            "write at least 1 for both widths, or 0 for the count",
        );
        let collected = usable(set) || usable(sets.general);
        rules.require(
            unit.count == 0 || collected,
            &[
                &format!("sm.collectors.{kind}.units"),
                "sm.collectors.general.units",
            ],
            format!("`{kind}` units without operand collectors"),
            "give them a set with units, in_ports and out_ports of at least 1, or use \
             `sm.collectors.general`",
        );
    }
    if sm.sub_cores {
        kinds
            .iter()
            .for_each(|(kind, unit, set, _)| split(rules, sm, kind, unit, set));
        split_set(rules, sm, "general", &sets.general);
    }
    for (name, timing) in timings(units) {
        let around = sm.cycles_around_units();
        rules.require(
            sm.latency_from == LatencyFrom::Unit || timing.latency_cycles >= around,
            &[
                "sm.latency_from",
                &format!("sm.units.{name}.latency_cycles"),
            ],
            format!(
                "`{name}`: {} cycles from issue, of which collectors, acceptance and write-back \
                 take {around}",
                timing.latency_cycles
            ),
            "write a longer latency, more `sm.collectors.steps_per_cycle`, or \
             `sm.latency_from = \"unit\"`",
        );
        rules.require(
            timing.interval_cycles <= timing.latency_cycles,
            &[
                &format!("sm.units.{name}.interval_cycles"),
                &format!("sm.units.{name}.latency_cycles"),
            ],
            format!(
                "`{name}`: the unit is held for {} cycles, longer than its result takes ({})",
                timing.interval_cycles, timing.latency_cycles
            ),
            "write an interval of at most the latency",
        );
    }
}

/// Rules of sub-cores, each of which needs a unit, places in the stage registers, and an equal part
/// of the collectors.
fn split(rules: &mut Rules, sm: &SmSpec, kind: &str, unit: &UnitSpec, set: &CollectorSet) {
    let n = sm.schedulers;
    let key = |field: &str| format!("sm.units.{kind}.{field}");
    let widths = unit.issue_width >= n && unit.dispatch_width >= n;
    rules.require(
        unit.count == 0 || widths,
        &[
            &key("issue_width"),
            &key("dispatch_width"),
            "sm.schedulers",
            "sm.sub_cores",
        ],
        format!(
            "{n} sub-cores need a place each on the way to and from the collectors of `{kind}`"
        ),
        "write at least `sm.schedulers` for both widths, or turn `sm.sub_cores` off",
    );
    rules.require(
        unit.count == 0 || unit.count >= n || kind == "mem",
        &[&key("count"), "sm.schedulers", "sm.sub_cores"],
        format!("{n} sub-cores share {} `{kind}` units", unit.count),
        "write at least `sm.schedulers`, or turn `sm.sub_cores` off",
    );
    split_set(rules, sm, kind, set);
}

fn split_set(rules: &mut Rules, sm: &SmSpec, kind: &str, set: &CollectorSet) {
    rules.require(
        set.units.is_multiple_of(sm.schedulers),
        &[
            &format!("sm.collectors.{kind}.units"),
            "sm.schedulers",
            "sm.sub_cores",
        ],
        format!(
            "{} collectors do not divide among {} sub-cores",
            set.units, sm.schedulers
        ),
        "write a multiple of `sm.schedulers`, or turn `sm.sub_cores` off",
    );
}

fn usable(set: CollectorSet) -> bool {
    set.units > 0 && set.in_ports > 0 && set.out_ports > 0
}

fn timings(units: &UnitSpecs) -> Vec<(String, OpTiming)> {
    let types = [
        ("int_timing", units.int_timing),
        ("f32_timing", units.f32_timing),
        ("f64_timing", units.f64_timing),
    ];
    let mut all = vec![
        ("sfu_timing".to_owned(), units.sfu_timing),
        ("tensor_timing".to_owned(), units.tensor_timing),
        ("shuffle_timing".to_owned(), units.shuffle_timing),
    ];
    for (name, timing) in types {
        let classes = [
            ("add", timing.add),
            ("minmax", timing.minmax),
            ("mul", timing.mul),
            ("mad", timing.mad),
            ("div", timing.div),
        ];
        all.extend(classes.map(|(class, timing)| (format!("{name}.{class}"), timing)));
    }
    all
}

/// Size of a packet's header in bytes (GPGPU-Sim's control size).
const PACKET_HEADER_BYTES: u32 = 8;

fn write_queue(rules: &mut Rules, queue: &WriteQueueSpec, l2: &CacheSpec) {
    let WriteQueueSpec { size, high, low } = *queue;
    let keeps = l2.enabled && l2.write == WritePolicy::WriteBack;
    let forwards = matches!(
        l2.write_allocate,
        WriteAllocate::None | WriteAllocate::WriteAndRead
    );
    rules.require(
        size == 0 || (keeps && !forwards),
        &[
            "dram.write_queue.size",
            "partition.l2.write",
            "partition.l2.write_allocate",
        ],
        "stores that DRAM acknowledges would wait for others to fill its queue of writes"
            .to_owned(),
        "write `size = 0`, or an L2 that keeps what is written",
    );
    rules.require(
        size == 0 || (low <= high && 0 < high && high <= size),
        &[
            "dram.write_queue.size",
            "dram.write_queue.high",
            "dram.write_queue.low",
        ],
        format!("{size} writes never drain between {high} and {low}"),
        "write a `low` of at most `high`, which is at most `size`",
    );
}

fn device(rules: &mut Rules, spec: &GpuSpec) {
    rules.require(
        spec.sm.latency_from == LatencyFrom::Unit || spec.gpu.style == ModelStyle::V4,
        &["sm.latency_from", "gpu.style"],
        "in style `gpgpu-sim-3` the time around the units depends on other parts".to_owned(),
        "write `sm.latency_from = \"unit\"`, or `gpu.style = \"gpgpu-sim-4\"`",
    );
    rules.require(
        spec.gpu.sms.is_multiple_of(spec.gpu.sms_per_cluster),
        &["gpu.sms", "gpu.sms_per_cluster"],
        format!(
            "{} SMs do not divide into clusters of {}",
            spec.gpu.sms, spec.gpu.sms_per_cluster
        ),
        "write a multiple of `gpu.sms_per_cluster`",
    );
    rules.require(
        spec.gpu.gpcs <= spec.gpu.sms,
        &["gpu.gpcs", "gpu.sms"],
        format!("{} GPCs for {} SMs", spec.gpu.gpcs, spec.gpu.sms),
        "write a `gpu.gpcs` of at most `gpu.sms`",
    );
    let (link, rop) = (spec.gpu.link_cycles, spec.partition.rop_cycles);
    rules.require(
        2 * link <= spec.sm.cluster_latency_cycles,
        &["gpu.link_cycles", "sm.cluster_latency_cycles"],
        format!(
            "a message takes {link} cycles each way, but an access of another block's shared memory {}",
            spec.sm.cluster_latency_cycles
        ),
        "write a `sm.cluster_latency_cycles` of at least twice `gpu.link_cycles`",
    );
    rules.require(
        2 * link <= rop,
        &["gpu.link_cycles", "partition.rop_cycles"],
        format!(
            "a message takes {link} cycles each way, but the fixed delay that pays for both is {rop}"
        ),
        "write a `gpu.link_cycles` of at most half of `partition.rop_cycles`",
    );
    let banks = spec.gpu.channels * spec.gpu.sub_partitions_per_channel;
    rules.require(
        spec.partition.far_cycles == 0 || (spec.gpu.gpcs > 1 && banks > 1),
        &["partition.far_cycles", "gpu.gpcs", "gpu.channels"],
        format!(
            "L2 has two halves, but `gpu.gpcs` is {}, and L2 banks are {banks}",
            spec.gpu.gpcs
        ),
        "write `partition.far_cycles` 0, or at least two GPCs and two L2 banks",
    );
    let packet = PACKET_HEADER_BYTES + spec.l1d.line_bytes.max(128);
    let (flits, buffer) = (
        packet.div_ceil(spec.noc.flit_bytes),
        spec.noc.injection_buffer,
    );
    rules.require(
        flits <= buffer,
        &["noc.flit_bytes", "noc.injection_buffer"],
        format!("a packet of {packet} bytes has {flits} flits, but its input buffers {buffer}"),
        "write wider flits or a larger `noc.injection_buffer`: such a packet could never be sent",
    );
    let room = spec.noc.boundary_buffer;
    rules.require(
        flits <= room || spec.noc.kind != NocKind::Fly,
        &["noc.flit_bytes", "noc.boundary_buffer"],
        format!(
            "a packet of {packet} bytes has {flits} flits, and after the network {room} can wait"
        ),
        &format!("write at least {flits} for `noc.boundary_buffer`, or wider flits: such a packet could never leave"),
    );
}

/// Rules of allocation policies, which need an L1D and, if they keep state for each warp slot,
/// warps that stay in their slots. `warp-tokens` has no such state: where contexts are switched,
/// the warps of the first contexts hold the tokens.
fn allocation(rules: &mut Rules, spec: &GpuSpec) {
    if spec.sm.l1d_allocation == L1dAllocation::Always {
        return;
    }
    rules.require(
        spec.l1d.enabled,
        &["sm.l1d_allocation", "l1d.enabled"],
        "no reads allocate in an L1D that does not exist".to_owned(),
        "write `sm.l1d_allocation = \"always\"`, or turn `l1d.enabled` on",
    );
    let by_slot = !matches!(spec.sm.l1d_allocation, L1dAllocation::WarpTokens(_));
    rules.require(
        !by_slot || spec.sm.context.rules().is_none(),
        &["sm.l1d_allocation", "sm.context"],
        "the allocation policy keeps state for each warp slot, and context switching gives a slot to \
         other warps"
            .to_owned(),
        "write `sm.l1d_allocation = \"always\"`, or `sm.context = \"none\"`",
    );
}

/// Rules of the policies that keep lines of L1D, which need an L1D and registers that nothing else
/// is kept in.
fn victims(rules: &mut Rules, spec: &GpuSpec) {
    if spec.sm.l1d_victims == L1dVictims::Nothing {
        return;
    }
    rules.require(
        spec.l1d.enabled,
        &["sm.l1d_victims", "l1d.enabled"],
        "no lines leave an L1D that does not exist".to_owned(),
        "write `sm.l1d_victims = \"none\"`, or turn `l1d.enabled` on",
    );
    rules.require(
        spec.sm.context.rules().is_none(),
        &["sm.l1d_victims", "sm.context"],
        "registers that no block holds cannot keep both lines of L1D and contexts".to_owned(),
        "write `sm.l1d_victims = \"none\"`, or `sm.context = \"none\"`",
    );
}

/// Rules of the division of one memory between L1D and shared memory (Volta).
fn adaptive(rules: &mut Rules, spec: &GpuSpec) {
    if !spec.sm.adaptive_l1d {
        return;
    }
    rules.require(
        spec.l1d.enabled,
        &["sm.adaptive_l1d", "l1d.enabled"],
        "an L1D that does not exist cannot take what shared memory leaves".to_owned(),
        "turn `sm.adaptive_l1d` off, or `l1d.enabled` on",
    );
    let configured = u64::from(spec.l1d.sets) * u64::from(spec.l1d.ways);
    let configured = configured * u64::from(spec.l1d.line_bytes);
    let unified = u64::from(spec.sm.unified_kib) * 1024;
    rules.require(
        unified > 0 && unified.is_multiple_of(configured),
        &["sm.unified_kib", "l1d.sets", "l1d.ways", "l1d.line_bytes"],
        format!("{unified} bytes are no multiple of the L1D configured, {configured} bytes"),
        "write a multiple of L1D's sets times ways times line size",
    );
    let largest = spec.sm.shared_options_kib.0.last().copied().unwrap_or(0);
    rules.require(
        u64::from(largest) * 1024 >= u64::from(spec.sm.shared_bytes),
        &["sm.shared_options_kib", "sm.shared_bytes"],
        format!(
            "blocks may use {} bytes of shared memory, the largest option is {largest} KiB",
            spec.sm.shared_bytes
        ),
        "add a larger option, or lower `sm.shared_bytes`",
    );
    let way_bytes = u64::from(spec.l1d.sets) * u64::from(spec.l1d.line_bytes);
    rules.require(
        u64::from(largest) * 1024 + way_bytes <= unified,
        &["sm.shared_options_kib", "sm.unified_kib"],
        format!(
            "{largest} KiB of {} KiB leave L1D without a way",
            spec.sm.unified_kib
        ),
        "write options below `sm.unified_kib`",
    );
}

fn dram(rules: &mut Rules, dram: &DramSpec) {
    let timing = &dram.timing;
    rules.require(
        dram.bank_groups <= dram.banks,
        &["dram.bank_groups", "dram.banks"],
        format!("{} groups of {} banks", dram.bank_groups, dram.banks),
        "write at most one group per bank",
    );
    rules.require(
        dram.data_ratio <= dram.burst_length,
        &["dram.data_ratio", "dram.burst_length"],
        "a burst shorter than a command cycle".to_owned(),
        "write a `dram.burst_length` of at least `dram.data_ratio`",
    );
    rules.require(
        timing.rcd > timing.wl,
        &["dram.timing.rcd", "dram.timing.wl"],
        format!(
            "activate to write is RCD - (WL + 1), which RCD {} and WL {} make negative",
            timing.rcd, timing.wl
        ),
        "raise `dram.timing.rcd` or lower `dram.timing.wl`",
    );
    let burst = dram.burst_length / dram.data_ratio;
    rules.require(
        timing.cl + burst + 2 >= timing.wl,
        &["dram.timing.cl", "dram.timing.wl"],
        "read to write is CL + burst + 2 - WL, which is negative here".to_owned(),
        "raise `dram.timing.cl` or lower `dram.timing.wl`",
    );
}

fn addresses(rules: &mut Rules, spec: &GpuSpec) {
    let map = &spec.partition.address_map;
    let bank_bits = map.bank_mask.count_ones();
    rules.require(
        1u64.checked_shl(bank_bits) == Some(u64::from(spec.dram.banks)),
        &["partition.address_map", "dram.banks"],
        format!(
            "the address map has {bank_bits} bank bits for {} banks",
            spec.dram.banks
        ),
        "give it as many letters B as `dram.banks` has bits",
    );
    rules.require(
        spec.gpu.sub_partitions_per_channel <= spec.dram.banks,
        &["gpu.sub_partitions_per_channel", "dram.banks"],
        "more L2 banks than DRAM banks to choose them by".to_owned(),
        "write at most `dram.banks`",
    );
    let atom = u64::from(spec.dram.burst_length * spec.dram.bus_bytes * spec.dram.chips);
    let burst_bytes = 1u64 << map.burst_mask.count_ones().min(63);
    rules.require(
        burst_bytes.is_multiple_of(atom) || atom.is_multiple_of(burst_bytes),
        &[
            "partition.address_map",
            "dram.burst_length",
            "dram.bus_bytes",
            "dram.chips",
        ],
        format!("a burst moves {atom} bytes, the address map's S bits name {burst_bytes}"),
        "give the address map as many letters S as a burst's size has bits",
    );
    rules.require(
        1u64 << map.channel_bit >= u64::from(spec.partition.l2.line_bytes),
        &["partition.channel_bit", "l2.line_bytes"],
        "an L2 line would lie in two channels".to_owned(),
        "write a `partition.channel_bit` of at least the line's number of offset bits",
    );
    let channels = spec.gpu.channels;
    rules.require(
        spec.partition.channel_index != ChannelIndex::Xor || channels.is_power_of_two(),
        &["partition.channel_index", "gpu.channels"],
        format!("{channels} channels cannot be XORed"),
        "write \"consecutive\", or a power of two for `gpu.channels`",
    );
    let ids = channels.next_power_of_two() * spec.gpu.sub_partitions_per_channel;
    rules.require(
        spec.partition.channel_index != ChannelIndex::Ipoly || matches!(ids, 16 | 32 | 64),
        &["partition.channel_index", "gpu.channels"],
        format!("no polynomial for {ids} L2 banks"),
        "write \"consecutive\", or channels and banks whose product is 16, 32 or 64",
    );
}
