//! Explanations of several programs at once, on results made by hand.

use crate::support::{launched, run};
use warploom_analyze::{Bound, Machine, MixExplanation, explain_mix};
use warploom_config::preset;
use warploom_stats::result::*;

/// A launch of a process that waited `waited` cycles for its first block.
fn of_process(process: u32, waited: u64, launch: KernelReport) -> KernelReport {
    KernelReport {
        concurrent: Some(Concurrent {
            process,
            stream: 0,
            launched_at: 100,
            started_at: 100 + waited,
            halted: false,
        }),
        ..launch
    }
}

/// A program that issued a share of 1,000 warp instructions on `gtx480` (15 SMs, 2 schedulers).
fn process(name: &str, warp_instructions: u64, cycles: u64) -> ProcessReport {
    ProcessReport {
        name: name.to_owned(),
        ended_at: (cycles < 1000).then_some(cycles),
        warp_instructions,
        cycles,
        l2: CacheFigures::new(1, 4),
        l2_accesses: warp_instructions / 10,
        pipe_cycles: [("sp".to_owned(), cycles * 15 * 2 / 4)].into(),
        register_cycles: cycles * 15 * 32_768 / 2,
        joined_blocks: 7,
        ..ProcessReport::default()
    }
}

fn explained(processes: Vec<ProcessReport>, kernels: Vec<KernelReport>) -> Option<MixExplanation> {
    let gpu = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
    let totals = launched(
        1000,
        &[
            ("sm.active_cycles", 15_000),
            ("sm.slots.issued", 1000),
            ("sm.slots.memory_dependence", 29_000),
            ("dram.cycles", 6000),
            ("dram.data_cycles", 1500),
            ("noc_to_sm.cycles", 1000),
            ("noc_to_sm.flits", 84),
        ],
    );
    let mut totals = totals.figures;
    totals.warp_instructions = processes.iter().map(|of| of.warp_instructions).sum();
    let result = RunReport {
        processes,
        ..run(kernels, totals, None)
    };
    explain_mix(&Machine::new(&gpu, 0.7), &result)
}

/// Each program has its shares of what is counted for it, and the machine those of what is shared.
#[test]
fn programs_at_once_are_explained_one_by_one() {
    let apart = &[("sm.blocks_started", 40), ("sm.slots.barrier", 9)];
    let mut shared = launched(500, &[("sm.blocks_started", 12)]);
    shared.figures.stalls.clear();
    let told = explained(
        vec![process("bfs", 250, 1000), process("spmv", 750, 800)],
        vec![
            of_process(0, 300, shared),
            of_process(1, 0, launched(300, apart)),
        ],
    );
    let told = told.expect("two programs");
    assert_eq!(told.bound, Bound::Loads);
    assert_eq!(
        told.shared[0],
        "The bound of all programs together is: latency of loads."
    );
    assert!(
        told.shared[1].contains("177 GB/s (25%)") && told.shared[1].contains("to the SMs 1%"),
        "{told:#?}"
    );
    assert!(told.shared[2].starts_with("Schedulers issue in 3% of their cycles"));
    let [(first, bfs), (second, spmv)] = &told.programs[..] else {
        panic!("{told:#?}")
    };
    assert_eq!([first, second], ["bfs", "spmv"]);
    // 250 of 15 x 2 x 1,000 issue slots are 1 %.
    for part in [
        "from cycle 0 to the end of the run and issues 25% of the instructions of all programs, 1% ",
        "the pipe `sp` busiest, for 25% of their cycles",
        "hold 50% of the registers",
        "7 of 12 started on an SM with a block of another",
        "wait 300 cycles for the first block to find room, 30% of its time",
        "makes 25% of the accesses to L2, which hits 25% of them; L1D hits - of its",
    ] {
        assert!(bfs.join(" ").contains(part), "{part}: {bfs:#?}");
    }
    let spmv = spmv.join(" ");
    assert!(
        spmv.contains("to cycle 800 and issues 75%") && !spmv.contains("wait "),
        "{spmv}"
    );
    assert!(
        spmv.contains("No other program ran beside its launch (300 cycles)"),
        "{spmv}"
    );
    assert!(!bfs.join(" ").contains("No other program"), "{bfs:#?}");
}

#[test]
fn only_runs_of_several_programs_have_such_an_explanation() {
    let kernel = || of_process(0, 0, launched(500, &[("sm.blocks_started", 12)]));
    assert_eq!(
        explained(vec![process("bfs", 250, 1000)], vec![kernel()]),
        None
    );
    let idle = [process("bfs", 0, 1000), process("spmv", 0, 1000)];
    assert_eq!(explained(idle.to_vec(), vec![kernel()]), None);
    let one = vec![process("bfs", 0, 1000), process("spmv", 10, 1000)];
    let told = explained(one, vec![kernel()]).expect("spmv ran");
    assert!(told.programs[0].1[0].starts_with("It issued no instruction"));
}
