//! The SM as a device under test: in which cycle what issues, leaves or ends. Formulas stand
//! beside the tests (docs/model/sm.md).

use crate::dut::{Dut, fermi};
use warploom_base::Cycle;
use warploom_config::{GpuSpec, OpTiming, Products};
use warploom_mem::AccessKind;
use warploom_sm::{CODE_BASE, Pipe, RESULT_SOURCES};
use warploom_stats::trace::Activity;

/// `count` moves to registers of their own, and a store of each result behind them.
fn moves(count: u32) -> String {
    let moves = (0..count).map(|i| format!("mov.u32 %r{i}, {i};\n"));
    let uses = (0..count).map(|i| format!("st.shared.u32 [s+{}], %r{i};\n", 4 * i));
    moves.chain(uses).collect()
}

/// Loads the buffer's address and a word from it; the moves keep what follows apart.
const LOAD: &str = "ld.param.u64 %rd1, [buf];\nld.global.u32 %r1, [%rd1];\n";

/// Fetched in cycle 0, decoded in 1, issued in 2. The buffer holds two instructions and is
/// fetched anew in the cycle in which it became empty, so a warp alone issues two of three cycles.
#[test]
fn a_warp_issues_two_instructions_a_fetch() {
    let mut dut = Dut::new(&fermi(), &moves(6), 32);
    dut.finish();
    assert_eq!(dut.issued[..6], [2, 3, 5, 6, 8, 9]);
}

/// A miss of the instruction cache leaves in the cycle of the fetch. The reply fills the cache in
/// the cycle in which it is seen, is decoded in the next and issues in the one after.
#[test]
fn a_fetch_that_misses_waits_for_its_line() {
    let mut spec = fermi();
    spec.sm.perfect_inst_const_cache = false;
    let mut dut = Dut::new(&spec, &moves(2), 32);
    dut.run_to(50);
    assert_eq!(dut.sent.len(), 1, "one line");
    let (at, request) = dut.sent[0];
    assert_eq!((at, request.kind), (0, AccessKind::InstRead));
    assert!(dut.issued.is_empty());
    dut.answer(&request);
    assert_eq!(dut.issue(0), 52);
    dut.finish();
}

/// Code of six lines of 128 bytes, for an SM whose instruction cache has `mshrs` MSHRs and a stream
/// buffer of two lines.
fn streaming(mshrs: u32) -> Dut {
    let mut spec = fermi();
    spec.sm.perfect_inst_const_cache = false;
    spec.sm.instruction_bytes = 16;
    spec.sm.prefetched_code_lines = 2;
    spec.l1i.mshr_entries = mshrs;
    // 20 moves, 20 stores and the return: 41 instructions, eight in a line.
    Dut::new(&spec, &moves(20), 32)
}

/// Requests for code so far: the cycle in which each left, and the number of its line.
fn lines_sent(dut: &Dut) -> Vec<(Cycle, u64)> {
    let sent = dut.sent.iter();
    let code = sent.filter(|(_, request)| request.kind == AccessKind::InstRead);
    code.map(|(at, request)| (*at, (request.addr - CODE_BASE) / 128))
        .collect()
}

/// Behind a line that misses in cycle 0, the stream buffer requests the next two, one a cycle. The
/// line comes in cycle 50: its eight instructions issue from 52 on, two of three cycles, so that
/// the last issues in 62, in which fetch comes to the next line. That moves the stream on by one.
/// A line that came in that cycle costs nothing, a later one costs the cycles of its delay.
#[test]
fn a_stream_buffer_requests_the_next_lines() {
    for (second, ninth) in [(55, 64), (62, 64), (63, 65), (80, 82)] {
        let mut dut = streaming(8);
        dut.run_to(50);
        assert_eq!(lines_sent(&dut), [(0, 0), (1, 1), (2, 2)]);
        let requests: Vec<_> = dut.sent.iter().map(|(_, request)| *request).collect();
        dut.answer(&requests[0]);
        dut.run_to(second);
        dut.answer(&requests[1]);
        assert_eq!(dut.issue(8), ninth, "line 1 comes in {second}");
        assert_eq!(dut.issued[..2], [52, 53]);
        assert_eq!(dut.issued[7], 62);
        assert_eq!(lines_sent(&dut)[3..], [(62, 3)]);
        let l1i = dut.sm.front.l1i.counters();
        assert_eq!(
            l1i.misses(),
            1 + u64::from(second > 62),
            "fetches alone count"
        );
        assert_eq!(dut.sm.detail.prefetched_code_lines, 3);
    }
}

/// Answers to all requests, 20 cycles after each: sooner than a warp alone comes to the line, which
/// issues eight instructions in 12 cycles. The last line is the sixth.
#[test]
fn a_stream_buffer_stops_at_the_end_of_the_code() {
    let mut dut = streaming(8);
    while dut.ended.is_empty() {
        let due = dut.now.wrapping_sub(20);
        let sent = dut.sent.iter().filter(|(at, _)| *at == due);
        let sent: Vec<_> = sent.map(|(_, request)| *request).collect();
        sent.iter().for_each(|request| dut.answer(request));
        dut.cycle();
    }
    let lines: Vec<u64> = lines_sent(&dut).iter().map(|(_, line)| *line).collect();
    assert_eq!(lines, [0, 1, 2, 3, 4, 5]);
    assert_eq!(dut.sm.front.l1i.counters().misses(), 1);
    assert!(dut.sm.front.l1i.is_idle());
}

/// With two MSHRs the stream buffer waits for the fetch's own line, and leaves the other free while
/// one of its lines is on its way. With three it has one line on its way beside the fetch's.
#[test]
fn a_stream_buffer_leaves_an_mshr_to_fetches() {
    for (mshrs, before, after) in [
        (2, &[(0, 0)][..], (50, 1)),
        (3, &[(0, 0), (1, 1)][..], (50, 2)),
    ] {
        let mut dut = streaming(mshrs);
        dut.run_to(50);
        assert_eq!(lines_sent(&dut), before);
        dut.answer(&dut.sent[0].1.clone());
        dut.run_to(60);
        assert_eq!(lines_sent(&dut)[before.len()..], [after]);
    }
}

/// Warps take turns at fetching, one a cycle: their first instructions issue one after the other.
/// Warps 0 and 2 have one scheduler, 1 and 3 the other (w mod 2).
#[test]
fn one_warp_fetches_a_cycle() {
    let mut dut = Dut::new(&fermi(), &moves(2), 128);
    dut.run_to(6);
    // Warp 0 in cycles 2 and 3, warp 1 in 3 and 4, warp 2 in 4 and 5.
    assert_eq!(dut.issued[..6], [2, 3, 3, 4, 4, 5]);
    dut.finish();
    assert_eq!(dut.issued.len(), 4 * 5);
}

/// Two instructions of one warp in a cycle, where the machine may: the buffer holds two.
#[test]
fn dual_issue_takes_two_instructions_of_one_warp() {
    let mut spec = fermi();
    spec.sm.max_issue_per_warp = 2;
    let mut dut = Dut::new(&spec, &moves(4), 32);
    dut.finish();
    assert_eq!(dut.issued[..4], [2, 2, 4, 4]);
    // Not if both go to one kind of unit.
    spec.sm.dual_issue_different_units = true;
    let mut dut = Dut::new(&spec, &moves(4), 32);
    dut.finish();
    assert_eq!(dut.issued[..4], [2, 3, 5, 6]);
}

/// Three maxima of doubles occupy the only SP unit for 16 cycles each, its only collector and its
/// input register. A product of floats behind them goes to SFU at once where it may, and otherwise
/// waits for a place like the sum behind it. While SP has room it goes to SP.
#[test]
fn a_product_goes_to_sfu_while_sp_has_no_room() {
    let mut spec = fermi();
    let sp = &mut spec.sm.units.sp;
    (sp.count, sp.issue_width, sp.dispatch_width) = (1, 1, 1);
    spec.sm.collectors.sp.units = 1;
    let maxima = "max.f64 %fd1, %fd2, %fd2;\nmax.f64 %fd3, %fd2, %fd2;\n\
                  max.f64 %fd4, %fd2, %fd2;\nmax.f64 %fd5, %fd2, %fd2;\n";
    let product = "mul.f32 %f1, %f2, %f2;\n";
    let run = |products: Products, body: &str| {
        let mut spec = spec.clone();
        spec.sm.products = products;
        let mut dut = Dut::new(&spec, body, 32);
        dut.finish();
        let used = dut.sm.by_kernel[0].pipe_cycles;
        (
            dut.issued,
            used[Pipe::Sp as usize],
            used[Pipe::Sfu as usize],
        )
    };
    let behind = format!("{maxima}{product}");
    let (waits, ..) = run(Products::ByType, &behind);
    let (goes, _, in_sfu) = run(Products::Sfu, &behind);
    assert_eq!(waits[..4], goes[..4], "maxima go to SP in both");
    assert_eq!(goes[4], goes[3] + 2, "the next fetch");
    assert!(waits[4] > goes[4] + 8, "{waits:?} {goes:?}");
    assert_eq!(in_sfu, 1);
    // SP has room.
    let (_, in_sp, in_sfu) = run(Products::Sfu, product);
    assert_eq!((in_sp, in_sfu), (2, 0), "the product and the return");
}

/// A taken branch in the buffer's first place leaves a wrong instruction in the second: the
/// scheduler drops it when it comes to the warp in the next cycle, which fetches; decode and issue
/// follow.
#[test]
fn a_taken_branch_refetches() {
    let first = "bra L;\nmov.u32 %r1, 1;\nL:\nmov.u32 %r2, 2;\n";
    let mut dut = Dut::new(&fermi(), first, 32);
    dut.finish();
    assert_eq!(dut.issued[..2], [2, 5]);
    // Dual issue looks for a second instruction in the cycle of the branch.
    let mut spec = fermi();
    spec.sm.max_issue_per_warp = 2;
    let mut dut = Dut::new(&spec, first, 32);
    dut.finish();
    assert_eq!(dut.issued[..2], [2, 4]);
}

/// In the second place it leaves an empty buffer. Fetch goes on behind the branch in the cycle of
/// its issue, t; decode follows in t + 1; the scheduler finds the wrong path in t + 2, which
/// fetches from the target; decode and issue follow.
#[test]
fn fetch_goes_on_behind_a_taken_branch() {
    let body = "mov.u32 %r0, 0;\nbra L;\nmov.u32 %r1, 1;\nL:\nmov.u32 %r2, 2;\n\
                st.shared.u32 [s], %r0;\nst.shared.u32 [s], %r2;\n";
    let mut dut = Dut::new(&fermi(), body, 32);
    dut.finish();
    assert_eq!(dut.issued[..3], [2, 3, 7]);
    // Each fetch is an access: mov and bra, what is behind bra, then four instructions from L on.
    let mut spec = fermi();
    spec.sm.perfect_inst_const_cache = false;
    let mut dut = Dut::new(&spec, body, 32);
    dut.run_until(|dut| dut.sent.len() == 1);
    let request = dut.sent[0].1;
    dut.answer(&request);
    dut.finish();
    assert_eq!(dut.sm.front.l1i.counters().accesses(), 4);
}

/// A warp of two, of which the first keeps the scheduler to itself: the scheduler does not come to
/// the other, which stays on the wrong path.
#[test]
fn a_warp_stays_astray_until_the_scheduler_comes_to_it() {
    let spec = {
        let mut spec = fermi();
        spec.sm.schedulers = 1;
        spec
    };
    // Greedy: warp 0 issues its moves, two a fetch, and warp 1 its own in the gaps.
    let body = format!("bra L;\nmov.u32 %r1, 1;\nL:\n{}", moves(8));
    let mut alone = Dut::new(&spec, &body, 32);
    alone.finish();
    let mut both = Dut::new(&spec, &body, 64);
    both.finish();
    // Warp 0 branches in 2. Warp 1 is fetched for in 1, decoded in 2 and branches in 3, after the
    // scheduler has come to warp 0 and dropped its buffer.
    assert_eq!(alone.issued[..3], [2, 5, 6]);
    assert_eq!(both.issued[..4], [2, 3, 5, 6]);
}

/// Lanes that end empty their warp's buffer at once: those that go on are fetched for anew in the
/// same cycle, decoded in the next and issue in the one after it.
#[test]
fn the_end_of_some_lanes_refetches() {
    let body = "mov.u32 %r0, %laneid;\nsetp.lt.u32 %p0, %r0, 16;\n@%p0 exit;\nmov.u32 %r1, 1;\n";
    let mut dut = Dut::new(&fermi(), body, 32);
    let exit = dut.issue(2);
    assert_eq!(dut.issue(3), exit + 2);
    // Lanes whose guard is false end nothing.
    let body = body.replace("16", "0");
    let mut dut = Dut::new(&fermi(), &body, 32);
    let exit = dut.issue(2);
    assert_eq!(dut.issue(3), exit + 1);
}

/// The reply of a load is taken in cycle r, fills the cache; its request is served in r + 1 and
/// written to the registers in r + 2, in which what waits for it issues. A cycle more of waiting
/// for the reply is a cycle more of waiting for that.
#[test]
fn a_loads_reply_frees_its_register_two_cycles_later() {
    for wait in [0, 1, 7] {
        let body = format!("{LOAD}add.u32 %r2, %r1, 1;\nst.shared.u32 [s], %r2;\n");
        let mut dut = Dut::new(&fermi(), &body, 32);
        dut.run_until(|dut| !dut.sent.is_empty());
        let (at, request) = dut.sent[0];
        assert_eq!(request.kind, AccessKind::GlobalRead);
        dut.run_to(at + 100 + wait);
        assert_eq!(dut.issued.len(), 2, "the sum waits");
        dut.answer(&request);
        assert_eq!(dut.issue(2), at + 100 + wait + 2);
        dut.finish();
    }
}

/// A hit needs no request, and a second load of the line none of its own while the first waits.
#[test]
fn loads_of_a_line_on_its_way_send_one_request() {
    let body = format!("{LOAD}ld.global.u32 %r2, [%rd1+4];\nld.global.u32 %r3, [%rd1+8];\n");
    let mut dut = Dut::new(&fermi(), &body, 32);
    dut.run_to(200);
    assert_eq!(dut.sent.len(), 1);
    assert!(dut.ended.is_empty(), "registers are pending");
    let request = dut.sent[0].1;
    dut.answer(&request);
    dut.finish();
    assert_eq!(dut.sent.len(), 1);
}

/// A block ends when its stores are acknowledged, though its warps have long exited.
#[test]
fn a_store_keeps_its_block_until_it_is_acknowledged() {
    let body = "ld.param.u64 %rd1, [buf];\nst.global.u32 [%rd1], %r1;\n";
    let mut dut = Dut::new(&fermi(), body, 32);
    dut.run_to(300);
    assert_eq!(dut.issued.len(), 3, "load, store, return");
    assert!(dut.ended.is_empty());
    let request = dut.sent[0].1;
    assert_eq!(request.kind, AccessKind::GlobalWrite);
    dut.answer(&request);
    // Taken from the link in cycle 300, from the responses in the same; the warp is reclaimed in
    // the fetch stage of that cycle.
    assert_eq!(dut.finish(), 300);
}

/// The last warp to arrive releases the others for the next cycle.
#[test]
fn a_barrier_opens_in_the_cycle_after_the_last_arrival() {
    // Warp 1 arrives late: it has a load to wait for.
    let body = format!(
        "mov.u32 %r9, %tid.x;\nsetp.lt.u32 %p1, %r9, 32;\n@%p1 bra B;\n{LOAD}\
         add.u32 %r2, %r1, 1;\nB:\nbar.sync 0;\nmov.u32 %r3, 3;\n"
    );
    let mut dut = Dut::new(&fermi(), &body, 64);
    dut.run_to(300);
    let waiting = dut.issued.len();
    assert!(dut.sm.counters.barriers == 1 && dut.ended.is_empty());
    let request = dut.sent[0].1;
    dut.answer(&request);
    dut.run_until(|dut| dut.sm.counters.barriers == 2);
    let arrival = dut.now - 1;
    assert!(dut.issued[waiting..].iter().all(|&at| at <= arrival));
    dut.cycle();
    assert_eq!(dut.issued.last(), Some(&(arrival + 1)), "warp 0 goes on");
    dut.finish();
}

/// A fence holds the warp until its load has written its register.
#[test]
fn a_fence_waits_for_what_was_loaded() {
    let body = format!("{LOAD}membar.gl;\nmov.u32 %r5, 5;\n");
    let mut dut = Dut::new(&fermi(), &body, 32);
    dut.run_to(300);
    assert_eq!(dut.issued.len(), 3, "the move waits behind the fence");
    let request = dut.sent[0].1;
    dut.answer(&request);
    let after = dut.issue(3);
    assert!((300..310).contains(&after), "{after}");
    dut.finish();
}

/// The user of a load from shared memory waits for the configured latency, cycle by cycle.
#[test]
fn the_end_of_a_load_from_shared_memory_is_its_latency_away() {
    let end = |latency: u32| -> Cycle {
        let mut spec = fermi();
        spec.sm.shared_latency_cycles = latency;
        let body = "ld.shared.u32 %r1, [s];\nadd.u32 %r2, %r1, 1;\nst.shared.u32 [s], %r2;\n";
        Dut::new(&spec, body, 32).finish()
    };
    assert_eq!(end(10) - end(4), 6);
}

/// Cycles in which the only warp waits for results, by what these come from.
fn waits(spec: &GpuSpec, body: &str) -> [u64; RESULT_SOURCES.len()] {
    let mut dut = Dut::new(spec, body, 32);
    dut.finish();
    dut.sm.counters.execution_dependence_slots
}

/// A warp that needs the last of four results. A unit for double precision that takes an
/// instruction in 50 cycles lets three of them wait; one that takes one in each cycle lets none.
#[test]
fn waits_for_a_taken_unit_are_told_from_those_for_results() {
    let chain: String = (0..4)
        .map(|i| format!("add.f64 %fd{i}, %fd7, %fd7;\n"))
        .collect();
    let body = chain + "st.shared.f64 [s], %fd3;\n";
    let of = |interval: u32| {
        let mut spec = fermi();
        spec.sm.units.sp.count = 1;
        spec.sm.units.f64_timing.add = OpTiming {
            latency_cycles: 60,
            interval_cycles: interval,
        };
        waits(&spec, &body)
    };
    let [units, shared, arithmetic] = of(50);
    assert_eq!(shared, 0);
    assert!(units > 90 && arithmetic > 40, "{units} and {arithmetic}");
    let [units, shared, arithmetic] = of(1);
    assert_eq!([units, shared], [0, 0]);
    assert!(arithmetic >= 50, "{arithmetic}");
}

/// The sum needs a word of shared memory, and the store the sum.
#[test]
fn waits_for_shared_memory_are_told_from_those_for_results() {
    let body = "ld.shared.u32 %r1, [s];\nadd.u32 %r2, %r1, 1;\nst.shared.u32 [s+4], %r2;\n";
    let of = |latency: u32| {
        let mut spec = fermi();
        spec.sm.shared_latency_cycles = latency;
        waits(&spec, body)
    };
    let ([_, near, arithmetic], [units, far, same]) = (of(20), of(60));
    assert_eq!((far - near, units), (40, 0));
    assert!(near > 0 && arithmetic > 0 && arithmetic == same);
}

/// A kernel of more registers than one word of the scoreboard holds comes while a load is out: the
/// sum still waits for it, and the newcomer's 70th load holds what reads it.
#[test]
fn a_wider_kernel_leaves_what_is_pending() {
    let body = format!("{LOAD}add.u32 %r2, %r1, 1;\nst.shared.u32 [s], %r2;\n");
    let mut dut = Dut::new(&fermi(), &body, 32);
    dut.run_until(|dut| !dut.sent.is_empty());
    let request = dut.sent[0].1;
    let loads = (0..70).map(|i| format!("ld.shared.u32 %r{i}, [s+{}];\n", 4 * i));
    let uses = (0..70).map(|i| format!("st.shared.u32 [s+{}], %r{i};\n", 4 * i));
    dut.launch_beside(&loads.chain(uses).collect::<String>());
    let both = 2 + 70 + 70 + 1;
    dut.run_until(|dut| dut.issued.len() == both);
    dut.run_to(2000);
    assert_eq!(
        dut.issued.len(),
        both,
        "the sum waits, the other kernel has returned"
    );
    dut.answer(&request);
    assert_eq!(dut.issue(both), 2002);
}

/// A timeline notes the changes of a row only. The warp waits for its parameter and, once the
/// instruction behind it is decoded, for its load; it runs again in the cycle in which that one
/// issues, and its row is empty from the cycle on in which its slot is free.
#[test]
fn a_timeline_notes_what_changes() {
    use Activity::{Ends, None, Runs, WaitsForMemory};
    let body = format!("{LOAD}add.u32 %r2, %r1, 1;\nst.shared.u32 [s], %r2;\n");
    let mut dut = Dut::new(&fermi(), &body, 32);
    dut.sm.record_trace();
    dut.run_to(300);
    dut.answer(&dut.sent[0].1.clone());
    let add = dut.issue(2);
    let end = dut.finish();
    let (load, exit) = (dut.issued[1], *dut.issued.last().expect("the exit"));
    let events = dut.sm.take_trace();
    assert!(events.iter().all(|e| (e.row, e.block, e.warp) == (0, 0, 0)));
    let seen: Vec<_> = events.iter().map(|e| (e.activity, e.at)).collect();
    let param = dut.issued[0];
    let expected = [
        (Runs, 0),
        (WaitsForMemory, param),
        (Runs, load),
        (WaitsForMemory, load + 1),
        (Runs, add),
        (Ends, exit),
        (None, end),
    ];
    assert_eq!(seen, expected);
    assert!(dut.sm.take_trace().is_empty(), "they are taken once");
}

/// A miss leaves in the cycle of the fetch, and its line comes `sm.code_latency_cycles` later, with
/// no packet. Lines of the stream follow, each when the fill port, of 32 bytes a cycle, is free.
/// Cycle 100: line 0, whose first two instructions issue in 102 and 103, as in a fetch that misses;
/// line 1, requested in cycle 0 and sent in 1, comes when line 0 is filled, in 104.
#[test]
fn code_may_come_from_a_cache_that_has_all() {
    let run = |latency: u32| {
        let mut spec = fermi();
        spec.sm.perfect_inst_const_cache = false;
        spec.sm.instruction_bytes = 16;
        spec.sm.prefetched_code_lines = 8;
        spec.sm.code_latency_cycles = latency;
        (spec.l1i.mshr_entries, spec.l1i.port_bytes) = (16, 32);
        let mut dut = Dut::new(&spec, &moves(20), 32);
        dut.finish();
        assert!(dut.sent.is_empty(), "no packet");
        assert_eq!(dut.sm.detail.prefetched_code_lines, 5);
        (dut.issued, dut.sm.front.l1i.counters().fill_port_busy)
    };
    let (issued, filled) = run(100);
    assert_eq!(issued[..4], [102, 103, 105, 106]);
    assert_eq!(filled, 6 * 4);
    // Lines that came ahead cost nothing: the rest runs as with a cache that always hits.
    let mut perfect = Dut::new(&fermi(), &moves(20), 32);
    perfect.finish();
    let later: Vec<Cycle> = perfect.issued.iter().map(|at| at + 100).collect();
    assert_eq!(issued, later);
    let (sooner, _) = run(99);
    assert_eq!(sooner, issued.iter().map(|at| at - 1).collect::<Vec<_>>());
}
