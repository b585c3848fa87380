//! Tests of statistics by part and by window: they add up to those of the run, and recording them
//! changes nothing.

use crate::results::results;
use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{GpuSpec, preset};
use warploom_run::{
    Arg, Check, Device, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::{Counts, RunReport, accumulate};

/// Two kernels that read, write, add atomically and leave dirty lines in L2.
const PTX: &str = "
    .version 7.0
    .target sm_50
    .address_size 64
    .visible .entry k(.param .u64 buf) {
    .reg .b32 %r<16>; .reg .b64 %rd<8>;
    .shared .align 4 .b8 s[4096];
    ld.param.u64 %rd1, [buf];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r1, %r2, %r3, %r1;
    mul.wide.u32 %rd2, %r1, 36;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3];
    mov.u32 %r6, s; mov.u32 %r7, %tid.x; shl.b32 %r7, %r7, 3; add.s32 %r6, %r6, %r7;
    st.shared.u32 [%r6], %r5;
    bar.sync 0;
    ld.shared.u32 %r8, [%r6];
    atom.global.add.u32 %r9, [%rd1], %r8;
    st.global.u32 [%rd3], %r9;
    ret;
    }";
const LAUNCHES: u64 = 2;

struct Program {
    left: u64,
    start: Option<(warploom_run::ModuleId, warploom_run::DevicePtr)>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let (module, buffer) = match self.start {
            Some(start) => start,
            None => {
                let module = device.load_ptx("test.ptx", PTX)?;
                (module, device.alloc_slice(&vec![1u32; 1 << 16])?)
            }
        };
        self.start = Some((module, buffer));
        if self.left == 0 {
            return Ok(HostAction::Done);
        }
        self.left -= 1;
        let (grid, block) = (Dim3::linear(20), Dim3::linear(64));
        let args = vec![Arg::Pointer(buffer)];
        Ok(HostAction::Launch(Launch::new(
            module, "k", grid, block, args,
        )))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

fn run(spec: &GpuSpec, options: Options) -> RunReport {
    let mut program = Program {
        left: LAUNCHES,
        start: None,
    };
    Session::new(spec.clone(), options)
        .run(&mut program, &mut |_| ControlFlow::Continue(()))
        .expect("the kernel is sound")
}

fn with_everything(threads: usize) -> Options {
    Options {
        threads,
        parts: true,
        window_cycles: Some(500),
        ..Options::default()
    }
}

fn sum<'a>(counts: impl IntoIterator<Item = &'a Counts>) -> Counts {
    let mut sum = Counts::new();
    counts.into_iter().for_each(|c| accumulate(&mut sum, c));
    sum
}

fn presets() -> [GpuSpec; 3] {
    ["gtx480", "gtx480-gpgpusim4", "qv100-volta"].map(|name| preset(name).expect("a preset"))
}

/// The sums also hold with links so long that kernels end within a step.
#[test]
fn each_count_belongs_to_one_kernel() {
    for link_cycles in [1, 16] {
        for mut spec in presets() {
            spec.gpu.link_cycles = link_cycles;
            let report = run(&spec, Options::default());
            assert_eq!(report.kernels.len() as u64, LAUNCHES);
            let kernels = report.kernels.iter().map(|k| &k.figures.statistics);
            assert_eq!(sum(kernels), report.totals.figures.statistics);
        }
    }
}

fn is_detail(name: &str) -> bool {
    name.contains("_detail.")
}

/// Detailed counts add up to the totals.
fn check_details(details: &Counts, counted: &Counts) {
    let sum = |counts: &Counts, begins: &[&str]| -> u64 {
        let counts = counts.iter();
        let of = counts.filter(|(name, _)| begins.iter().any(|begin| name.starts_with(begin)));
        of.map(|(_, value)| value).sum()
    };
    for (detail, count) in [
        ("sm_detail.issued_by_slot.", &["sm.warp_instructions"][..]),
        ("sm_detail.issues.", &["sm.slots.issued"]),
        ("sm_detail.requests.", &["sm.packets_sent."]),
        ("sm_detail.replies.", &["sm.packets_received"]),
        ("sm_detail.returns_by_cycles.", &["sm.fetches_by_cycles."]),
        ("dram_detail.bus.", &["dram.cycles"]),
        (
            "dram_detail.requests.",
            &["dram.row_hits", "dram.row_misses"],
        ),
        ("dram_detail.row_changes.", &["dram.row_misses"]),
        ("dram_detail.reads.", &["dram.reads", "dram.allocate_reads"]),
        ("dram_detail.writes.", &["dram.writes", "dram.write_backs"]),
    ] {
        let expected: u64 = count
            .iter()
            .map(|name| {
                if name.ends_with('.') {
                    sum(counted, &[name])
                } else {
                    counted.get(*name).copied().unwrap_or(0)
                }
            })
            .sum();
        let found = sum(details, &[detail]);
        assert_eq!(found, expected, "{detail}");
        // L2 may keep everything that is read and written.
        let needs_dram = detail.starts_with("dram_detail.") && detail != "dram_detail.bus.";
        assert!(found > 0 || needs_dram, "{detail}");
    }
}

#[test]
fn parts_add_up_to_the_machine() {
    for spec in presets() {
        let report = run(&spec, with_everything(1));
        let kernels = report.kernels.iter().map(|kernel| &kernel.figures);
        for figures in kernels.chain([&report.totals.figures]) {
            let parts = figures.parts.as_ref().expect("parts were asked for");
            assert_eq!(parts.sms.len(), spec.gpu.sms as usize);
            assert_eq!(parts.channels.len(), spec.gpu.channels as usize);
            let all = parts.sms.iter().chain(&parts.banks).chain(&parts.channels);
            let mut expected = figures.statistics.clone();
            expected.retain(|name, _| !name.starts_with("gpu.") && !name.starts_with("noc_"));
            let (details, counted): (Counts, Counts) =
                sum(all).into_iter().partition(|(name, _)| is_detail(name));
            assert_eq!(counted, expected);
            check_details(&details, &counted);
        }
    }
}

#[test]
fn windows_add_up_to_the_run() {
    for spec in presets() {
        let report = run(&spec, with_everything(1));
        let series = report.series.expect("windows were asked for");
        let cycles = report.totals.figures.statistics["gpu.cycles"];
        assert!(series.start.len() as u64 >= cycles / 500 && series.start.len() > 2);
        assert_eq!(series.start[0], 0);
        assert_eq!(series.start[1..], series.end[..series.end.len() - 1]);
        assert_eq!(series.end.last(), Some(&cycles));
        let last = |values: &[u64]| values.last().copied().unwrap_or(0);
        for (name, values) in series.columns.iter().filter(|(n, _)| !n.contains(':')) {
            let found = if warploom_stats::result::is_peak(name) {
                last(values)
            } else {
                values.iter().sum()
            };
            assert_eq!(found, report.totals.figures.statistics[name], "{name}");
        }
        let sm0 = series.columns["sm0:sm.warp_instructions"]
            .iter()
            .sum::<u64>();
        let parts = report.totals.figures.parts.expect("parts were asked for");
        assert_eq!(sm0, parts.sms[0]["sm.warp_instructions"]);
    }
}

/// Threads and skipping change neither parts nor windows, and recording them changes no result.
#[test]
fn what_is_asked_for_changes_nothing() {
    for mut spec in presets() {
        let plain = run(&spec, Options::default());
        assert_eq!((&plain.series, &plain.totals.figures.parts), (&None, &None));
        let one = run(&spec, with_everything(1));
        assert_eq!(results(&plain), results(&one));
        let two = run(&spec, with_everything(2));
        spec.sim.skip_idle = false;
        let walked = run(&spec, with_everything(1));
        for other in [two, walked] {
            assert!(one.series == other.series, "windows differ");
            assert!(one.totals == other.totals, "totals differ");
            assert!(one.kernels == other.kernels, "kernels differ");
        }
    }
}

/// GPGPU-Sim's histogram: its classes and the issued instructions add up to the scheduler cycles in
/// which an SM holds blocks, as long as a scheduler issues one instruction per cycle.
#[test]
fn the_three_classes_and_the_issued_add_up() {
    let mut spec = preset("gtx480-gpgpusim4").expect("a preset");
    spec.sm.max_issue_per_warp = 1;
    let report = run(&spec, Options::default());
    let statistics = &report.totals.figures.statistics;
    let total = |prefix: &str| -> u64 {
        let of_group = statistics
            .iter()
            .filter(|(name, _)| name.starts_with(prefix));
        of_group.map(|(_, value)| value).sum()
    };
    let active = statistics["sm.active_cycles"] * u64::from(spec.sm.schedulers);
    assert_eq!(total("issue.") + total("sm.issued_by_lanes."), active);
    assert_eq!(total("sm.slots."), active + statistics["sm.inactive_slots"]);
    // Every reply belongs to an access that was sent, and is in one bin.
    assert_eq!(total("sm.fetches_by_cycles."), statistics["sm.fetches"]);
    assert_eq!(total("sm.packets_sent."), statistics["noc_to_l2.packets"]);
}

/// The digest names counters that exist: a name that is mistyped would stand for 0 for ever.
#[test]
fn the_digest_names_counters_of_the_machine() {
    let named = warploom_gpu::MachineCounters::default().named();
    for name in warploom_stats::DIGEST_COUNTERS {
        let row = format!("{name}.");
        let exists = |(other, _): &&(String, u64)| other == name || other.starts_with(&row);
        assert!(named.iter().any(|each| exists(&each)), "{name}");
    }
}
