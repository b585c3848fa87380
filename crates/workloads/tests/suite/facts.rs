//! Tests that inputs of the papers' experiments are exact: launches, blocks, threads, registers and
//! shared memory of every benchmark that a paper tabulates, and the resulting occupancy.

use warploom_config::{BlockNeeds, GpuSpec, OccupancyLimit, preset};
use warploom_run::Device;
use warploom_workloads::{Facts, LaunchShape, Size, Target, Times, aliases, facts};

/// A launch shape with the needs of a block.
struct Shape {
    launch: LaunchShape,
    times: u64,
    needs: BlockNeeds,
}

/// A paper's statements, and the workload's launches at size `paper`.
struct Case {
    facts: &'static Facts,
    name: String,
    gpu: GpuSpec,
    shapes: Vec<Shape>,
}

/// The machine of a paper. CRAT's occupancy of CFD is that of a Kepler (GTX 680).
fn gpu_of(facts: &Facts) -> GpuSpec {
    let name = match (facts.paper, facts.abbreviation) {
        ("duet", _) => "maxwell-duet",
        ("cooperative", _) => "gtx480",
        ("crat", "CFD") => "kepler-crat",
        ("crat", _) => "fermi-crat",
        ("slicer", _) => "fermi-slicer",
        _ => "fermi-locality",
    };
    preset(name).unwrap()
}

impl Case {
    fn new(facts: &'static Facts) -> Self {
        let name = format!("{}/{}", facts.paper, facts.abbreviation);
        let target = Target::resolve(&name).unwrap();
        let gpu = gpu_of(facts);
        let mut device = Device::new(1 << 20, 0);
        let module = device
            .load_ptx(target.workload.name, target.workload.ptx)
            .unwrap();
        let launches = target.launches(Size::Paper).into_iter();
        let meant = |launch: &LaunchShape| {
            let kernel = target.kernel;
            kernel.is_none_or(|kernel| kernel.entries.contains(&launch.entry))
        };
        let shape = |launch: LaunchShape| {
            let program = device.kernel(module, launch.entry).unwrap();
            let compiled = target.registers_on(architecture_of(&gpu), launch.entry);
            let registers = compiled.unwrap_or(program.registers_per_thread);
            let threads = launch.block.count() as u32;
            Shape {
                launch,
                times: match launch.times {
                    Times::Fixed(times) => u64::from(times),
                    Times::UntilDone => 1,
                },
                needs: BlockNeeds::new(threads, registers, program.shared_bytes, &gpu.sm),
            }
        };
        let shapes: Vec<_> = launches.filter(meant).map(shape).collect();
        Self {
            facts,
            name,
            gpu,
            shapes,
        }
    }

    fn launches(&self) -> u64 {
        self.shapes.iter().map(|shape| shape.times).sum()
    }

    /// The mean over all launches, rounded up.
    fn mean(&self, of: impl Fn(&Shape) -> u64) -> u64 {
        let weighted = self.shapes.iter().map(|shape| shape.times * of(shape));
        weighted.sum::<u64>().div_ceil(self.launches())
    }

    /// Number of blocks that fit an SM, and the resource that limits them.
    fn fit(&self, shape: &Shape) -> (u32, OccupancyLimit) {
        let limits = shape.needs.limits(&self.gpu.sm, &self.gpu.gpu);
        limits.into_iter().min().unwrap()
    }

    /// Number of blocks that fit half of every resource of an SM.
    fn fit_half(&self, shape: &Shape) -> u32 {
        let mut sm = self.gpu.sm.clone();
        for resource in [
            &mut sm.max_threads,
            &mut sm.registers,
            &mut sm.shared_bytes,
            &mut sm.max_blocks,
        ] {
            *resource /= 2;
        }
        let limits = shape.needs.limits(&sm, &self.gpu.gpu);
        limits.into_iter().min().unwrap().0
    }

    /// Checks the percentage of a resource that the blocks on an SM use. The papers' values are
    /// means over all cycles of all SMs, including the start and end of the run: up to five points
    /// less.
    fn demand_percent(&self, paper: u32, each: fn(&BlockNeeds) -> u32, total: u32) {
        for shape in &self.shapes {
            let taken = f64::from(self.fit(shape).0 * each(&shape.needs));
            let percent = 100.0 * taken / f64::from(total);
            let range = f64::from(paper) - 0.5..=f64::from(paper) + 5.0;
            assert!(range.contains(&percent), "{}: {percent}%", self.name);
        }
    }
}

/// The architecture for which a GPU's kernels are compiled.
fn architecture_of(gpu: &GpuSpec) -> Option<&'static str> {
    (gpu.name == "maxwell-duet").then_some("sm_50")
}

/// Cases of all rows, each of which names a target.
fn cases() -> impl Iterator<Item = Case> {
    facts().map(Case::new)
}

#[test]
fn launches_and_blocks_are_the_papers() {
    for case in cases() {
        let Facts {
            launches,
            blocks,
            blocks_a_launch,
            block_threads,
            ..
        } = *case.facts;
        let name = &case.name;
        let grid = |shape: &Shape| shape.launch.grid.count();
        if let Some(launches) = launches {
            assert_eq!(case.launches(), u64::from(launches), "{name}: launches");
        }
        if let Some(blocks) = blocks {
            let total: u64 = case.shapes.iter().map(|s| s.times * grid(s)).sum();
            assert_eq!(total, blocks, "{name}: blocks");
        }
        if let Some(blocks) = blocks_a_launch {
            assert_eq!(case.mean(grid), blocks, "{name}: blocks a launch");
        }
        for shape in case.shapes.iter().filter(|_| block_threads.is_some()) {
            let threads = shape.launch.block.count() as u32;
            assert_eq!(Some(threads), block_threads, "{name}: threads a block");
        }
    }
}

#[test]
fn blocks_on_an_sm_are_the_papers() {
    for case in cases() {
        let Facts {
            blocks_per_sm,
            blocks_of_half_an_sm,
            limited_by,
            ..
        } = *case.facts;
        let name = &case.name;
        if let Some(blocks) = blocks_per_sm {
            let fit = case.mean(|shape| u64::from(case.fit(shape).0));
            assert_eq!(fit, u64::from(blocks), "{name}: blocks on an SM");
        }
        for shape in &case.shapes {
            if let Some(blocks) = blocks_of_half_an_sm {
                assert_eq!(case.fit_half(shape), blocks, "{name}: blocks on half an SM");
            }
            if let Some(limit) = limited_by {
                assert_eq!(
                    case.fit(shape).1.name(),
                    limit,
                    "{name}: what limits blocks"
                );
            }
        }
    }
}

#[test]
fn registers_and_shared_memory_in_use_are_the_papers() {
    for case in cases() {
        if let Some(percent) = case.facts.register_percent {
            case.demand_percent(percent, |needs| needs.registers, case.gpu.sm.registers);
        }
        if let Some(percent) = case.facts.shared_percent {
            case.demand_percent(
                percent,
                |needs| needs.shared_bytes,
                case.gpu.sm.shared_bytes,
            );
        }
    }
}

#[test]
fn facts_say_where_they_are_from() {
    let papers = [
        "GPUDuet, ",
        "Do et al. 2017, ",
        "CRAT, ",
        "Warped-Slicer, ",
        "Chen 2016, ",
    ];
    for row in facts() {
        let named = papers.iter().any(|paper| row.source.starts_with(paper));
        assert!(named, "{}: {}", row.abbreviation, row.source);
        let implied = row.registers.and_then(|registers| registers.implied);
        assert_ne!(implied, Some(""), "{}", row.abbreviation);
    }
    for alias in aliases() {
        let has_row =
            facts().any(|row| (row.paper, row.abbreviation) == (alias.paper, alias.abbreviation));
        // CRAT prints nothing about most of its benchmarks' shapes.
        assert!(
            has_row || alias.paper == "crat",
            "{}/{}",
            alias.paper,
            alias.abbreviation
        );
    }
}
