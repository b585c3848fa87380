//! The load/store unit of an SM as a device under test: which way accesses go, and what waits for
//! their replies (docs/model/load-store.md, Cycle of the unit).

use crate::dut::{Dut, fermi};
use warploom_config::{
    L1dVictims, LinebackerSettings, MascarSettings, WarpSchedulerChoice, preset,
};
use warploom_mem::AccessKind;
use warploom_sm::{LdstStage, LdstStall};

const ADDRESS: &str = "ld.param.u64 %rd1, [buf];\n";

fn kinds(dut: &Dut) -> Vec<AccessKind> {
    dut.sent.iter().map(|(_, request)| request.kind).collect()
}

/// Kernel parameters come through the constant cache: the first read misses, its reply frees the
/// register two cycles later, and another warp's read of the line then hits.
#[test]
fn parameters_come_through_the_constant_cache() {
    let mut spec = fermi();
    spec.sm.perfect_inst_const_cache = false;
    let body = format!("{ADDRESS}st.shared.u64 [s], %rd1;\n");
    let mut dut = Dut::new(&spec, &body, 32);
    dut.run_until(|dut| dut.sent.len() == 1);
    dut.answer(&dut.sent[0].1.clone());
    dut.run_until(|dut| dut.sent.len() == 2);
    assert_eq!(kinds(&dut), [AccessKind::InstRead, AccessKind::ConstRead]);
    dut.run_to(300);
    assert_eq!(dut.issued.len(), 1, "the store waits");
    dut.answer(&dut.sent[1].1.clone());
    assert_eq!(dut.issue(1), 302);
    dut.finish();
    assert_eq!(dut.sent.len(), 2);
}

/// Reads that bypass the data cache leave no line there: a second read asks again.
#[test]
fn reads_around_the_data_cache_leave_nothing_there() {
    let body = format!(
        "{ADDRESS}ld.global.cg.u32 %r1, [%rd1];\nst.shared.u32 [s], %r1;\n\
         ld.global.cg.u32 %r2, [%rd1];\nst.shared.u32 [s], %r2;\n"
    );
    let mut dut = Dut::new(&fermi(), &body, 32);
    for n in 1..=2 {
        dut.run_until(|dut| dut.sent.len() == n);
        dut.answer(&dut.sent[n - 1].1.clone());
    }
    dut.finish();
    assert_eq!(kinds(&dut), [AccessKind::GlobalRead; 2]);
}

/// An atomic holds its warp, whatever comes next, until the reply is written.
#[test]
fn an_atomic_holds_its_warp() {
    let body = format!("{ADDRESS}atom.global.add.u32 %r1, [%rd1], 1;\nmov.u32 %r2, 2;\n");
    let mut dut = Dut::new(&fermi(), &body, 32);
    dut.run_to(300);
    // All lanes add to one word: GPGPU-Sim sends a transaction for each.
    let atomics = kinds(&dut);
    assert!(!atomics.is_empty());
    assert!(atomics.iter().all(|kind| *kind == AccessKind::GlobalAtomic));
    assert_eq!(
        dut.issued.len(),
        2,
        "the move waits though it needs nothing"
    );
    let requests: Vec<_> = dut.sent.iter().map(|(_, request)| *request).collect();
    let (last, first) = requests.split_last().expect("there are some");
    for request in first {
        dut.answer(request);
        dut.cycle();
    }
    dut.run_to(600);
    assert_eq!(dut.issued.len(), 2, "one reply is still out");
    dut.answer(last);
    assert!((600..610).contains(&dut.issue(2)));
    dut.finish();
}

/// Local memory is written through on a miss, and read back through the data cache.
#[test]
fn local_memory_is_written_through_on_a_miss() {
    let body = "mov.u32 %r1, 7;\nst.local.u32 [l], %r1;\nld.local.u32 %r2, [l];\n\
                st.shared.u32 [s], %r2;\n";
    let mut dut = Dut::new(&fermi(), body, 32);
    dut.run_to(300);
    assert_eq!(kinds(&dut), [AccessKind::LocalWrite, AccessKind::LocalRead]);
    let requests: Vec<_> = dut.sent.iter().map(|(_, request)| *request).collect();
    requests.iter().for_each(|request| dut.answer(request));
    dut.finish();
}

/// Three warps read line X, which misses and stays. Then warp 1 reads A, warp 0 B, and warp 2 X
/// again. L1D has one MSHR, which A's miss takes, so that B is refused. Where B is parked, warp 2's
/// read goes by and hits, and the warp ends; otherwise it waits behind B. B is sent once A has
/// come.
#[test]
fn accesses_go_by_a_parked_load() {
    let body = format!(
        "{ADDRESS}mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nld.global.u32 %r3, [%rd1];\n\
         st.shared.u32 [s], %r3;\nsetp.eq.u32 %p1, %r2, 2;\nmul.wide.u32 %rd2, %r2, 128;\n\
         add.u64 %rd3, %rd1, %rd2;\nadd.u64 %rd3, %rd3, 128;\nselp.b64 %rd3, %rd1, %rd3, %p1;\n\
         ld.global.u32 %r4, [%rd3];\nst.shared.u32 [s+4], %r4;\n"
    );
    for (reexecution_entries, parked, issued) in [(0, 0, 3 * 11), (32, 1, 3 * 11 + 2)] {
        let mut spec = fermi();
        spec.l1d.mshr_entries = 1;
        spec.sm.warp_scheduler = WarpSchedulerChoice::Mascar(MascarSettings {
            reserved_misses: 0,
            reexecution_entries,
        });
        let mut dut = Dut::new(&spec, &body, 96);
        dut.run_until(|dut| dut.sent.len() == 1);
        dut.answer(&dut.sent[0].1.clone());
        dut.run_to(1000);
        assert_eq!(dut.sent.len(), 2, "A is sent, and B is refused");
        assert_eq!(dut.sm.detail.parked_loads, parked);
        assert_eq!(dut.issued.len(), issued);
        dut.answer(&dut.sent[1].1.clone());
        dut.run_until(|dut| dut.sent.len() == 3);
        assert_eq!(dut.sent[2].1.addr, dut.sent[1].1.addr - 128);
        dut.answer(&dut.sent[2].1.clone());
        dut.finish();
    }
}

/// A warp reads X, then Y, then X again, and stores each value once it has come. Returns the cycles
/// from the last read's issue to that of its store, the requests sent, and the reads that found a
/// kept line.
fn read_twice(ways: u32, latency_cycles: Option<u32>) -> (u64, usize, u64) {
    let body = format!(
        "{ADDRESS}ld.global.u32 %r1, [%rd1];\nst.shared.u32 [s], %r1;\n\
         ld.global.u32 %r2, [%rd1+128];\nst.shared.u32 [s], %r2;\n\
         ld.global.u32 %r3, [%rd1];\nst.shared.u32 [s], %r3;\n"
    );
    let mut spec = fermi();
    (spec.l1d.sets, spec.l1d.ways) = (1, ways);
    if let Some(latency_cycles) = latency_cycles {
        spec.sm.l1d_victims = L1dVictims::Linebacker(LinebackerSettings {
            latency_cycles,
            ..LinebackerSettings::default()
        });
    }
    let mut dut = Dut::new(&spec, &body, 32);
    for n in 0..2 {
        dut.run_until(|dut| dut.sent.len() > n);
        dut.answer(&dut.sent[n].1.clone());
    }
    dut.issue(5);
    dut.run_to(dut.now + 100);
    if dut.sent.len() > 2 {
        dut.answer(&dut.sent[2].1.clone());
    }
    let waited = dut.issue(6) - dut.issued[5];
    dut.finish();
    (waited, dut.sent.len(), dut.sm.detail.victim_hits)
}

/// The line of X, which Y replaced, is read from registers. A hit in the data cache frees the
/// register in the cycle of its look-up. Here the data are read after the latency, the turn to
/// write comes a cycle later, and the write another one.
#[test]
fn a_replaced_line_is_read_from_registers() {
    let (hit, requests, found) = read_twice(2, None);
    assert_eq!((requests, found), (2, 0));
    assert_eq!(
        read_twice(1, None).1,
        3,
        "without kept lines X is sent again"
    );
    for latency in [1, 4, 20] {
        let expected = (hit + u64::from(latency) + 2, 2, 1);
        assert_eq!(read_twice(1, Some(latency)), expected);
    }
}

/// A transaction a cycle: 32 lanes that touch 32 lines keep the unit for as many cycles, so that
/// the 32nd request leaves 31 cycles after the first.
#[test]
fn scattered_lanes_take_a_cycle_a_line() {
    let body = format!(
        "{ADDRESS}mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 128;\n\
         add.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\n"
    );
    let mut dut = Dut::new(&fermi(), &body, 32);
    dut.run_to(300);
    assert_eq!(kinds(&dut), [AccessKind::GlobalWrite; 32]);
    assert_eq!(dut.sent[31].0 - dut.sent[0].0, 31);
    let requests: Vec<_> = dut.sent.iter().map(|(_, request)| *request).collect();
    for request in &requests {
        assert!(dut.ended.is_empty(), "an acknowledgement is still out");
        dut.answer(request);
        dut.cycle();
    }
    dut.finish();
}

/// Behind a latency (4.x) the data cache has banks, each of which takes an access a cycle: 32 lines
/// of one bank take 32 cycles, and the first of two for a bank holds the other back; spread over
/// four banks they take 8. By words of 32 bytes all lines begin in one bank, by lines they go
/// round.
#[test]
fn banks_of_the_data_cache_take_an_access_each() {
    let stalls = |bank_bytes: u32| {
        let mut spec = fermi();
        spec.sm.l1d_latency_cycles = 40;
        (spec.sm.l1d_banks, spec.sm.l1d_bank_bytes) = (4, bank_bytes);
        let body = format!(
            "{ADDRESS}mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 128;\n\
             add.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\n"
        );
        let mut dut = Dut::new(&spec, &body, 32);
        dut.run_until(|dut| dut.sent.len() == 32);
        let requests: Vec<_> = dut.sent.iter().map(|(_, request)| *request).collect();
        for request in &requests {
            dut.answer(request);
            dut.cycle();
        }
        dut.finish();
        let store = dut.sm.counters.ldst_stalls[LdstStage::GlobalStore as usize];
        [LdstStall::BankConflict, LdstStall::Coalesce].map(|why| store[why as usize])
    };
    assert_eq!(stalls(32), [31, 0]);
    assert_eq!(stalls(128), [0, 7]);
}

/// A request that the network has no room for stays; it leaves in the cycle after room is made.
#[test]
fn requests_wait_for_room_in_the_network() {
    let body = format!(
        "{ADDRESS}mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 128;\n\
         add.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\n"
    );
    let spec = fermi();
    let mut dut = Dut::new(&spec, &body, 32);
    dut.withhold_credits();
    dut.run_to(300);
    let room = spec.noc.injection_buffer + 2 * spec.gpu.link_cycles;
    let flits = |bytes: u32| bytes.div_ceil(spec.noc.flit_bytes);
    let each = flits(dut.sent[0].1.request_bytes());
    let sent = dut.sent.len();
    assert_eq!(sent as u32, room / each, "as many as there is room for");
    dut.sm.link.add_credits(each);
    dut.run_to(310);
    assert_eq!(dut.sent.len(), sent + 1);
    assert_eq!(dut.sent[sent].0, 300);
}

/// A texture read goes to its own cache, whose miss the warp's next reader waits for: a reply that
/// comes a cycle later is a cycle more of waiting. The line stays there for the next read.
#[test]
fn texture_reads_come_through_their_own_cache() {
    let read = |n: u32| {
        format!(
            "tex.1d.v4.f32.s32 {{%f{n}, %f20, %f21, %f22}}, [t, {{%r1}}];\n\
             st.shared.f32 [s], %f{n};\n"
        )
    };
    let body = format!("mov.u32 %r1, %laneid;\n{}{}", read(1), read(2));
    let waits = |until| {
        let mut dut = Dut::new(&fermi(), &body, 32);
        dut.run_to(until);
        assert_eq!(kinds(&dut), [AccessKind::TextureRead], "one line");
        assert_eq!(dut.issued.len(), 2, "the store waits");
        dut.answer(&dut.sent[0].1.clone());
        let store = dut.issue(2);
        dut.finish();
        assert_eq!(dut.sent.len(), 1, "the second read hits");
        assert_eq!(dut.sm.ldst.l1t.counters().accesses(), 2);
        store
    };
    assert_eq!(waits(301), waits(300) + 1);
}

/// Texels that nobody reads are as long on their way as the one that somebody does, and no
/// instruction waits for them: the move and the store of its result issue, the store of the texel
/// does not.
#[test]
fn results_that_nobody_reads_hold_nothing_back() {
    let body = "mov.u32 %r1, %laneid;\n\
                tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];\n\
                mov.f32 %f5, 0f3F800000;\nst.shared.f32 [s], %f5;\nst.shared.f32 [s+4], %f1;\n";
    let mut dut = Dut::new(&fermi(), body, 32);
    dut.run_to(300);
    assert_eq!(dut.issued.len(), 4, "one store waits");
    dut.answer(&dut.sent[0].1.clone());
    dut.finish();
}

/// Kepler's L1D in 4.2 holds local memory and of global loads those marked `.nc` only. What the
/// coalescer makes does not depend on the way: sectors. (Lookups of L1D, requests that left.)
#[test]
fn where_global_loads_skip_l1d_all_go_by_sector() {
    let mut spec = preset("titan-kepler").unwrap_or_else(|errors| panic!("{errors}"));
    spec.sm.perfect_inst_const_cache = true;
    let counts = |load: &str| {
        let body = format!(
            "{ADDRESS}mov.u32 %r1, %laneid;\nmul.wide.u32 %rd2, %r1, 4;\n\
             add.u64 %rd3, %rd1, %rd2;\n{load};\nst.shared.u32 [s], %r2;\n"
        );
        let mut dut = Dut::new(&spec, &body, 32);
        dut.run_to(400);
        assert!(
            dut.sent.iter().all(|(_, request)| request.bytes == 32),
            "{load}"
        );
        let l1d = dut.sm.ldst.l1d.as_ref().expect("an L1D");
        (l1d.counters().accesses(), dut.sent.len())
    };
    assert_eq!(counts("ld.global.u32 %r2, [%rd3]"), (0, 4));
    assert_eq!(counts("ld.global.ca.u32 %r2, [%rd3]"), (0, 4));
    assert_eq!(counts("ld.global.nc.u32 %r2, [%rd3]"), (4, 4));
    assert_eq!(counts("ld.local.u32 %r2, [l]"), (4, 4));
    assert_eq!(counts("ld.local.cg.u32 %r2, [l]"), (0, 4));
}
