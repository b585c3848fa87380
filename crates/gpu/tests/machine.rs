//! The machine as a device under test: clock domains, dispatch, and what must be conserved.

use std::sync::Arc;

use warploom_base::{Cycle, Dim3};
use warploom_config::{
    BlockSchedulerChoice, ContentionThrottleSettings, GpuSpec, MultiprogramChoice, PRESETS,
    SmFilterChoice, preset,
};
use warploom_diag::Source;
use warploom_exec::{BranchOrder, Checks, DeviceMemory, LaunchContext, LaunchSpec, TextureTable};
use warploom_gpu::{
    Gpu, KernelLaunch, PartCounters, Probe, Replay, ReplayKind, SEGMENT_BYTES, SmPart,
};
use warploom_ir::Program;
use warploom_policy::{CustomPolicies, DeviceView, Make, SmFilter, Turn};
use warploom_state::State;

const THREADS: u32 = 64;
const REGISTERS: u32 = 16;
/// Bytes of the buffer: loads scatter over its first half, stores fill the second.
const BUFFER: u64 = 1 << 16;

/// Every kind of traffic: scattered and local loads and stores, atomics, shared memory, a barrier.
const TRAFFIC: &str = "\
ld.param.u64 %rd1, [buf];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 64, %r1;
mul.lo.u32 %r4, %r3, 1540;
and.b32 %r5, %r4, 32764;
cvt.u64.u32 %rd2, %r5;
add.u64 %rd3, %rd1, %rd2;
ld.global.u32 %r6, [%rd3];
st.local.u32 [l], %r6;
mul.lo.u32 %r7, %r1, 4;
mov.u32 %r8, s;
add.u32 %r9, %r8, %r7;
st.shared.u32 [%r9], %r6;
bar.sync 0;
ld.shared.u32 %r10, [%r9];
ld.local.u32 %r11, [l];
add.u32 %r12, %r10, %r11;
atom.global.add.u32 %r13, [%rd1], 1;
add.u32 %r14, %r12, %r13;
mul.lo.u32 %r15, %r3, 4;
cvt.u64.u32 %rd4, %r15;
add.u64 %rd5, %rd1, %rd4;
st.global.u32 [%rd5+32768], %r14;
";

fn program(body: &str) -> Arc<Program> {
    let text = format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n\
         .visible .entry k(.param .u64 buf) {{\n\
         .reg .b32 %r<32>; .reg .b64 %rd<8>;\n\
         .local .align 4 .b8 l[16];\n.shared .align 4 .b8 s[1024];\n{body}\nret;\n}}\n"
    );
    let source = Source::new("traffic.ptx", text);
    let (module, _) = warploom_ptx::load(&source).unwrap_or_else(|e| panic!("{e:?}"));
    let ir = warploom_lower::lower(&module, &source).unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(ir.kernels.into_iter().next().expect("one kernel"))
}

/// A machine with memory and a program.
struct Bench {
    gpu: Gpu,
    memory: DeviceMemory,
    buffer: u64,
    program: Arc<Program>,
}

impl Bench {
    fn new(spec: &GpuSpec) -> Self {
        Self::with_policies(spec, &CustomPolicies::default())
    }

    fn with_policies(spec: &GpuSpec, own: &CustomPolicies) -> Self {
        let mut memory = DeviceMemory::new(1 << 24);
        let buffer = memory.alloc(0, BUFFER).expect("room");
        memory.fill(0, buffer, 0, BUFFER).expect("it is there");
        Self {
            gpu: Gpu::with_policies(spec.clone(), 1, Probe::default(), own),
            memory,
            buffer,
            program: program(TRAFFIC),
        }
    }

    fn launch(&mut self, blocks: u32) {
        self.launch_with(blocks, REGISTERS);
    }

    fn launch_with(&mut self, blocks: u32, registers_per_thread: u32) {
        let spec = LaunchSpec {
            grid: Dim3::linear(blocks),
            block: Dim3::linear(THREADS),
            cluster: None,
            dynamic_shared_bytes: 0,
            max_shared_bytes: self.gpu.spec().sm.max_shared_bytes_per_block,
            barriers: self.gpu.spec().sm.barriers_per_block,
            params: self.buffer.to_le_bytes().to_vec(),
            globals: Vec::new(),
            texture_refs: Vec::new(),
            textures: Arc::new(TextureTable::default()),
            grid_id: 0,
            workspace: 0,
            asid: 0,
            instructions_before: 0,
            checks: Checks::default(),
            branch_order: BranchOrder::HighestLaneLast,
        };
        let context = LaunchContext::new(Arc::clone(&self.program), spec);
        let launch = KernelLaunch {
            context: context.unwrap_or_else(|error| panic!("{error}")),
            program: Arc::clone(&self.program),
            registers_per_thread,
        };
        self.gpu.launch(launch, &self.memory);
    }

    fn step(&mut self) {
        self.step_to(Cycle::MAX);
    }

    fn step_to(&mut self, limit: Cycle) {
        let done = self.gpu.step(&mut self.memory, limit);
        done.unwrap_or_else(|stop| panic!("{stop:?}"));
    }

    fn run(&mut self, blocks: u32) {
        self.launch(blocks);
        while self.gpu.take_ended().is_empty() {
            self.step();
        }
    }

    /// Runs up to, not including, a cycle.
    fn run_to(&mut self, cycle: Cycle) {
        while self.gpu.now() < cycle {
            self.step_to(cycle);
        }
    }

    /// Blocks that SMs have started, in order of SMs.
    fn started(&mut self) -> Vec<u64> {
        let sms = self.gpu.part_counters().sms;
        sms.iter().map(|part| part.sm.blocks_started).collect()
    }
}

fn spec(name: &str) -> GpuSpec {
    preset(name).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Once the kernel has ended and memory is quiet, as many packets have come out of each network as
/// went in, no SM waits for a reply, and nothing is held anywhere: on every preset.
#[test]
fn nothing_is_left_behind() {
    for built_in in PRESETS {
        leaves_nothing(built_in.name, spec(built_in.name));
    }
    for cluster in [3, 5, 15] {
        let mut gpu = spec("gtx480-gpgpusim4");
        gpu.gpu.sms_per_cluster = cluster;
        leaves_nothing("clusters", gpu);
    }
}

fn leaves_nothing(name: &str, mut gpu: GpuSpec) {
    gpu.gpu.kernel_launch_cycles = 0;
    let counters = after_two_kernels(name, &gpu);
    let sms = &counters.sms;
    let sent: u64 = sms.iter().flat_map(|part| part.sm.packets_sent).sum();
    let received: u64 = sms.iter().map(|part| part.sm.packets_received).sum();
    assert_eq!(sent, counters.requests.packets, "{name}");
    assert_eq!(received, counters.replies.packets, "{name}");
    assert!(sent > 0 && received > 0, "{name}");
}

/// Counters after a kernel of one block and one of 40 blocks, when nothing of them is left.
fn after_two_kernels(name: &str, gpu: &GpuSpec) -> PartCounters {
    let mut bench = Bench::new(gpu);
    for blocks in [1, 40] {
        bench.run(blocks);
        while !bench.gpu.memory_is_quiet() {
            bench.step();
        }
        // The SMs take the last replies.
        bench.run_to(bench.gpu.now() + 1000);
        let leaks = bench.gpu.leaks();
        assert!(leaks.is_empty(), "{name}: {leaks:?}");
    }
    let counters = bench.gpu.part_counters();
    assert_eq!(counters.device.atomics, 41 * u64::from(THREADS), "{name}");
    counters
}

/// A grid that is not timed lets SMs take turns as a timed one does.
#[test]
fn blocks_that_are_not_timed_take_turns() {
    let mut clusters = spec("gtx480-gpgpusim4");
    clusters.gpu.sms_per_cluster = 3;
    for gpu in [spec("gtx480"), clusters] {
        let (mut timed, mut passed) = (Bench::new(&gpu), Bench::new(&gpu));
        timed.run(7);
        passed.gpu.pass_blocks(7);
        let mut expected = passed.gpu.next_sms(5);
        assert_eq!(timed.gpu.next_sms(5), expected);
        let before = timed.started();
        timed.run(5);
        let after = timed.started();
        expected.sort_unstable();
        let took = (0..after.len()).filter(|sm| after[*sm] > before[*sm]);
        assert_eq!(took.collect::<Vec<usize>>(), expected);
    }
}

#[test]
fn replayed_accesses_are_found_in_l2() {
    let cycles = |replays: bool| {
        let mut bench = Bench::new(&spec("gtx480"));
        let segments = (bench.buffer..bench.buffer + BUFFER).step_by(SEGMENT_BYTES as usize);
        for segment in segments.filter(|_| replays) {
            let read = Replay {
                segment,
                bytes: u128::MAX,
                kind: ReplayKind::Read,
            };
            bench.gpu.replay(0, &read, None, 0);
        }
        bench.run(40);
        bench.gpu.now()
    };
    let [warm, cold] = [true, false].map(cycles);
    assert!(warm + 100 < cold, "{warm} {cold}");
}

/// Lanes of a warp take numbers from two counters, one in shared memory and one in global: all of
/// them, whichever the lowest lane takes its from.
#[test]
fn an_atomic_acts_wherever_its_lanes_point() {
    const TWO_COUNTERS: &str = "\
ld.param.u64 %rd1, [buf];
mov.u32 %r1, %tid.x;
mov.u32 %r2, s;
cvt.u64.u32 %rd2, %r2;
cvta.shared.u64 %rd2, %rd2;
mov.u32 %r3, 0;
st.shared.u32 [%r2], %r3;
bar.sync 0;
add.u32 %r3, %r1, FIRST;
and.b32 %r3, %r3, 1;
cvt.u64.u32 %rd3, %r3;
neg.s64 %rd3, %rd3;
xor.b64 %rd4, %rd1, %rd2;
and.b64 %rd4, %rd4, %rd3;
xor.b64 %rd2, %rd2, %rd4;
atom.add.u32 %r4, [%rd2], 1;
bar.sync 0;
ld.shared.u32 %r5, [%r2];
st.global.u32 [%rd1+4], %r5;
mul.wide.u32 %rd5, %r1, 4;
add.u64 %rd5, %rd1, %rd5;
st.global.u32 [%rd5+8], %r4;
";
    let half = THREADS / 2;
    for first in ["0", "1"] {
        let mut bench = Bench::new(&spec("gtx480"));
        bench.program = program(&TWO_COUNTERS.replace("FIRST", first));
        bench.run(1);
        let mut bytes = [0; 4 * (THREADS as usize + 2)];
        let read = bench.memory.read(0, bench.buffer, &mut bytes);
        read.expect("it is there");
        let (words, _) = bytes.as_chunks::<4>();
        let mut words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let mut taken = words.split_off(2);
        assert_eq!(words, [half; 2], "{first}");
        taken.sort_unstable();
        let numbers: Vec<u32> = (0..half).flat_map(|number| [number; 2]).collect();
        assert_eq!(taken, numbers, "{first}");
    }
}

/// Perfect memory answers the requests of SMs, by sector or whole, with nothing beyond the links.
#[test]
fn perfect_memory_answers_at_once() {
    for name in ["gtx480", "gtx480-gpgpusim4", "qv100-volta"] {
        let mut gpu = spec(name);
        gpu.gpu.perfect_memory = true;
        let counters = after_two_kernels(name, &gpu);
        assert_eq!(counters.requests.packets + counters.replies.packets, 0);
        assert!(counters.banks.iter().all(|b| b.partition.packets == 0));
        let received = |part: &SmPart| part.sm.packets_received;
        assert!(counters.sms.iter().map(received).sum::<u64>() > 0);
    }
    // A request that leaves in t crosses the link in a cycle and is answered in t + 1; the answer
    // crosses it in another, so that none takes less than two.
    let mut gpu = spec("gtx480");
    gpu.gpu.perfect_memory = true;
    let mut bench = Bench::new(&gpu);
    bench.run(1);
    let sm = &bench.gpu.part_counters().sms[0].sm;
    assert!(sm.fetches > 0 && sm.fetch_cycles >= 2 * sm.fetches);
    let perfect = bench.gpu.now();
    let mut bench = Bench::new(&spec("gtx480"));
    bench.run(1);
    assert!(2 * perfect < bench.gpu.now(), "{perfect}");
}

/// Dirty lines of L2 are gone after a kernel, where it is flushed: what the next kernel stores to
/// them misses again.
#[test]
fn l2_forgets_what_was_written_where_it_is_flushed() {
    let misses = |flush| {
        let mut gpu = spec("gtx480-gpgpusim4");
        gpu.gpu.flush_l2_at_kernel_end = flush;
        let counters = after_two_kernels("gtx480-gpgpusim4", &gpu);
        counters.banks.iter().map(|b| b.l2.misses()).sum::<u64>()
    };
    assert!(misses(true) > misses(false));
}

/// Each domain has as many edges as its clock's share of the core cycles says, exactly, whether
/// memory works or sleeps.
#[test]
fn clock_domains_keep_their_ratio() {
    let mut bench = Bench::new(&spec("gtx480"));
    bench.run(20);
    bench.run_to(bench.gpu.now() + 777);
    let clocks = bench.gpu.spec().clocks;
    let edges = |khz: u32| bench.gpu.now() * u64::from(khz) / u64::from(clocks.core_khz);
    let [noc, l2, dram] = [clocks.noc_khz, clocks.l2_khz, clocks.dram_khz].map(edges);
    assert_ne!(dram, bench.gpu.now(), "a domain with a clock of its own");
    let counters = bench.gpu.part_counters();
    assert_eq!(
        [counters.requests.cycles, counters.replies.cycles],
        [noc; 2]
    );
    assert!(
        counters
            .banks
            .iter()
            .all(|bank| bank.partition.cycles == l2)
    );
    assert!(
        counters
            .channels
            .iter()
            .all(|channel| channel.cycles == dram)
    );
}

/// An SM takes one block in a cycle; SMs take turns, from SM 0 for the first block.
#[test]
fn blocks_go_round_one_an_sm_and_cycle() {
    let mut bench = Bench::new(&spec("gtx480"));
    bench.launch(20);
    bench.run_to(1);
    assert_eq!(bench.started(), [1; 15]);
    bench.run_to(2);
    let second: Vec<_> = (0..15).map(|sm| 1 + u64::from(sm < 5)).collect();
    assert_eq!(bench.started(), second);
    bench.run_to(3);
    assert_eq!(bench.started(), second, "there are no more");
}

/// A cluster takes one block in a cycle, for its SMs in turn, from the first one.
/// Fig. 6 of GPUDuet doubles Maxwell's 64 warp slots.
#[test]
fn an_sm_of_128_warps_holds_twice_the_blocks_of_one_of_64() {
    let blocks_at_once = |threads| {
        let mut gpu = spec("maxwell-duet");
        gpu.gpu.sms = 1;
        gpu.sm.max_threads = threads;
        gpu.sm.max_blocks = 64;
        let mut bench = Bench::new(&gpu);
        bench.launch(64);
        // One starts a cycle; none ends before its scattered load has come from DRAM.
        bench.run_to(300);
        let started = bench.started();
        while bench.gpu.take_ended().is_empty() {
            bench.step();
        }
        let mut counted = [0; 4];
        let read = bench.memory.read(0, bench.buffer, &mut counted);
        read.expect("it is there");
        assert_eq!(
            u32::from_le_bytes(counted),
            64 * THREADS,
            "every thread counts"
        );
        started
    };
    assert_eq!(blocks_at_once(2048), [32]);
    assert_eq!(blocks_at_once(4096), [64]);
}

/// An SM of 8,192 registers holds two blocks of 3,072 and has room for one of 1,024 beside them.
/// The first kernel has four of the former; the second starts at once where it may overtake, else
/// with the first's last two, when its first two have ended.
#[test]
fn left_over_waits_until_the_first_has_no_more_blocks_to_start() {
    let second_start = |policy: MultiprogramChoice| {
        let mut gpu = spec("fermi-slicer");
        (gpu.gpu.sms, gpu.sm.registers, gpu.gpu.multiprogram) = (1, 8192, policy);
        let mut bench = Bench::new(&gpu);
        bench.launch_with(4, 48);
        bench.launch_with(2, 16);
        let mut ended = Vec::new();
        while ended.len() < 2 {
            bench.step();
            ended.extend(bench.gpu.take_ended());
        }
        ended.sort_by_key(|end| end.slot);
        assert_eq!(ended[0].blocks_per_sm, 2);
        (ended[0].ended_at, ended[1].started_at)
    };
    let (_, at_once) = second_start(MultiprogramChoice::Fcfs);
    let (end, waited) = second_start(MultiprogramChoice::LeftOver);
    assert!(at_once < 10, "{at_once}");
    assert!((end / 3..end).contains(&waited), "{waited} of {end}");
}

#[test]
fn blocks_go_round_one_a_cluster_and_cycle() {
    let mut gpu = spec("gtx480");
    gpu.gpu.sms_per_cluster = 3;
    let mut bench = Bench::new(&gpu);
    bench.launch(12);
    let cluster =
        |first: [u64; 3], others: [u64; 3]| [first, first, others, others, others].concat();
    bench.run_to(1);
    assert_eq!(bench.started(), cluster([1, 0, 0], [1, 0, 0]));
    bench.run_to(2);
    assert_eq!(bench.started(), cluster([1, 1, 0], [1, 1, 0]));
    bench.run_to(3);
    assert_eq!(
        bench.started(),
        cluster([1, 1, 1], [1, 1, 0]),
        "there are no more"
    );
}

/// SMs of a cluster share a port each way: one reply a cycle for all of them.
#[test]
fn a_cluster_has_one_port() {
    let cycles = |cluster| {
        let mut gpu = spec("gtx480-gpgpusim4");
        gpu.gpu.sms_per_cluster = cluster;
        let mut bench = Bench::new(&gpu);
        bench.run(120);
        let counters = bench.gpu.part_counters();
        let clusters = u64::from(15 / cluster);
        assert!(counters.replies.packets <= counters.device.cycles * clusters);
        counters.device.cycles
    };
    let [own, three, all] = [1, 3, 15].map(cycles);
    assert!(own < three && three < all, "{own} {three} {all}");
}

/// The first blocks of a kernel start when its launch latency is over: blocked in the cycle
/// before, ready in that cycle.
#[test]
fn a_launch_takes_its_latency() {
    let mut gpu = spec("gtx480");
    gpu.gpu.kernel_launch_cycles = 100;
    gpu.gpu.block_launch_cycles = 3;
    let mut bench = Bench::new(&gpu);
    bench.launch(5);
    // 100 cycles of the kernel and 3 of each block.
    bench.run_to(115);
    assert_eq!(bench.started().iter().sum::<u64>(), 0);
    bench.run_to(116);
    assert_eq!(bench.started().iter().sum::<u64>(), 5);
}

/// Lets every SM take blocks up to its first look at the machine, SM 0 alone from then on.
#[derive(State)]
struct OnlyTheFirst {
    looked: bool,
}

impl SmFilter for OnlyTheFirst {
    fn next_check(&self) -> Cycle {
        1
    }

    fn check(&mut self, _: &DeviceView) {
        self.looked = true;
    }

    fn allows(&self, turn: &Turn) -> bool {
        !self.looked || turn.sm.0 == 0
    }
}

/// SMs 0 and 1 take the first blocks of two pairs in cycle 0. In cycle 1 the filter bars SM 1,
/// which gets the second of its pair all the same: the two were given at once. Later pairs go to
/// SM 0.
#[test]
fn a_barred_sm_gets_the_second_block_of_its_pair() {
    let mut gpu = spec("gtx480");
    gpu.gpu.sms = 2;
    gpu.gpu.block_scheduler = BlockSchedulerChoice::Bcs;
    let own = CustomPolicies {
        sm_filter: Some(Make::<dyn SmFilter>::new(|_| {
            Box::new(OnlyTheFirst { looked: false })
        })),
        ..CustomPolicies::default()
    };
    let mut bench = Bench::with_policies(&gpu, &own);
    bench.launch(20);
    bench.run_to(1);
    assert_eq!(bench.started(), [1, 1]);
    bench.run_to(2);
    assert_eq!(bench.started(), [2, 2]);
    bench.run_to(3);
    assert_eq!(bench.started(), [3, 2]);
    while bench.gpu.take_ended().is_empty() {
        bench.step();
    }
    assert_eq!(bench.started(), [18, 2]);
}

/// The same holds where the filter's order is that of turns: the SM that took a block last is the
/// last in turn, so that a filter of few SMs bars it in the very next cycle.
#[test]
fn pairs_stay_together_while_contention_throttles() {
    let mut gpu = spec("gtx480");
    gpu.gpu.sms = 3;
    gpu.gpu.block_scheduler = BlockSchedulerChoice::Bcs;
    gpu.gpu.sm_filter = SmFilterChoice::ContentionThrottle(ContentionThrottleSettings {
        interval_cycles: 50,
        ..ContentionThrottleSettings::default()
    });
    let mut bench = Bench::new(&gpu);
    bench.launch(120);
    let mut odd = Vec::new();
    while bench.gpu.take_ended().is_empty() {
        let before = bench.started();
        bench.step();
        // An SM that took the first block of a pair in one cycle takes the second in the next.
        let started = bench.started();
        for sm in odd.drain(..) {
            assert_eq!(started[sm], before[sm] + 1, "cycle {}", bench.gpu.now());
        }
        odd.extend((0..started.len()).filter(|sm| started[*sm] % 2 == 1));
    }
    let filter = bench.gpu.part_counters().filter;
    assert!(filter.throttle.steps_down > 0, "no SM was ever barred");
}
