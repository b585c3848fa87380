//! A kernel on a machine: its default solution, the profile that finds the best TLP, and CRAT's
//! choice.

use super::{ALLOCATOR, FERMI, KEPLER, Machine};
use crate::allocated::{Allocate, Subject};
use crate::figure::Request;
use crate::runs::Runs;
use crate::spec::{Input, MachineVariant, RunSpec, SEED};
use std::sync::Arc;
use warploom_config::GpuSpec;
use warploom_crat::{
    CacheAssumption, Candidate, Costs, Exploration, Kernel, Point, Search, Spill, estimate_tlp,
    explore,
};
use warploom_microbench::spill_costs;
use warploom_regalloc::{Method, Options, Typing};
use warploom_stats::result::{KernelReport, RunReport};
use warploom_workloads::Size;

/// Lanes of a warp.
const WARP: u64 = 32;
/// Outcomes of which each access to L1D has exactly one in the end.
const ONCE: [&str; 4] = ["hit", "hit_reserved", "miss", "sector_miss"];

/// A kernel, its block, and the machine.
pub(super) struct Study {
    /// Text of everything on which the study depends.
    key: String,
    target: String,
    machine: Machine,
    method: Method,
    size: Size,
    pub subject: Subject,
    pub kernel: Kernel,
    pub spec: GpuSpec,
    fermi: GpuSpec,
    /// Registers and blocks of MaxTLP.
    pub default: Point,
    costs: Costs,
}

/// A point that ran.
#[derive(Clone)]
pub(super) struct Solution {
    pub point: Point,
    pub report: Arc<RunReport>,
    /// Core cycles of the kernel under study.
    pub cycles: u64,
}

impl Solution {
    /// Speed relative to another solution.
    pub fn over(&self, other: &Self) -> f64 {
        other.cycles as f64 / self.cycles as f64
    }
}

/// All solutions of a kernel.
pub(super) struct Solved {
    pub study: Arc<Study>,
    /// The default registers with 1, 2, 3 blocks on an SM; the last is MaxTLP.
    pub profile: Vec<Solution>,
    /// The fastest solution of the profile.
    pub opt: Solution,
    /// Solution with all spilled values in local memory.
    pub local: Solution,
    pub crat: Solution,
    /// CRAT's solution under the guessed TLP.
    pub guessed: Solution,
    /// The design space from which CRAT chose.
    pub space: Arc<Exploration>,
}

impl Solved {
    /// The default registers with the largest number of blocks that fit.
    pub fn max(&self) -> &Solution {
        self.profile.last().expect("at least one block fits")
    }

    /// Share of the SM's registers that a solution uses.
    pub fn register_share(&self, of: &Solution) -> f64 {
        let Point { registers, tlp } = of.point;
        self.study
            .kernel
            .register_share(registers, tlp, &self.study.spec)
    }
}

fn preset(name: &str, gpu: &str, sets: &[&str]) -> MachineVariant {
    let machine = MachineVariant::preset(name, gpu, sets);
    machine.unwrap_or_else(|errors| panic!("{name}: {errors}"))
}

impl Study {
    /// A workload's kernel on a preset, with the default registers.
    pub fn get(request: &Request, runs: &Runs<'_>, target: &str, machine: Machine) -> Arc<Self> {
        Self::with_defaults_of(request, runs, target, target, machine)
    }

    /// A workload's kernel with an allocator.
    pub fn allocated_by(
        request: &Request,
        runs: &Runs<'_>,
        target: &str,
        machine: Machine,
        method: Method,
    ) -> Arc<Self> {
        let size = request.scale.size();
        let key = format!("crat/{target}/{target}/{machine}/{method:?}/{size}");
        runs.computed(&key, || {
            Self::new(key.clone(), size, [target; 2], machine, method)
        })
    }

    /// A workload's kernel with the default registers of another target, which is another input of
    /// the same kernel.
    pub fn with_defaults_of(
        request: &Request,
        runs: &Runs<'_>,
        target: &str,
        of: &str,
        machine: Machine,
    ) -> Arc<Self> {
        let size = request.scale.size();
        let key = format!("crat/{target}/{of}/{machine}/{size}");
        runs.computed(&key, || {
            Self::new(key.clone(), size, [target, of], machine, ALLOCATOR)
        })
    }

    fn new(
        key: String,
        size: Size,
        [target, of]: [&str; 2],
        machine: Machine,
        method: Method,
    ) -> Self {
        let spec = |gpu| preset(gpu, gpu, machine.sets).spec.as_ref().clone();
        let [spec, fermi] = [machine.gpu, FERMI.gpu].map(spec);
        let subject = |name| Subject::new(name, size).unwrap_or_else(|why| panic!("{why}"));
        let (subject, known) = (subject(target), subject(of));
        let kernel = subject.kernel().unwrap_or_else(|why| panic!("{why}"));
        let costs = spill_costs(&spec).unwrap_or_else(|why| panic!("{machine}: {why}"));
        let registers = known.default_registers(&kernel, &spec);
        let options = Options {
            method,
            ..Options::default()
        };
        let fewest = kernel.fewest_registers(&options, registers);
        let registers = registers.max(fewest.unwrap_or_else(|why| panic!("{why}")));
        let mut study = Self {
            key,
            target: target.to_owned(),
            machine,
            method,
            size,
            subject,
            kernel,
            spec,
            fermi,
            default: Point { registers, tlp: 1 },
            costs: Costs {
                local: costs.local,
                shared: costs.shared,
                other: 1.0,
            },
        };
        study.default.tlp = study.most_blocks(registers);
        study
    }

    /// Largest number of blocks on an SM with these registers, limited by the grid.
    pub fn most_blocks(&self, registers: u32) -> u32 {
        let fit = self.kernel.blocks_per_sm(registers, &self.spec);
        fit.min(self.blocks_of_grid()).max(1)
    }

    /// Blocks on an SM that the largest launch's grid provides.
    fn blocks_of_grid(&self) -> u32 {
        let spread = self
            .subject
            .largest()
            .grid
            .count()
            .div_ceil(self.spec.gpu.sms.into());
        u32::try_from(spread).unwrap_or(u32::MAX)
    }

    /// The preset on which a point runs. Kepler only has more registers and threads than Fermi, and
    /// the number of blocks is limited: a point that fits Fermi is the same on both.
    fn gpu_of(&self, point: Point) -> &'static str {
        let fits = self.kernel.blocks_per_sm(point.registers, &self.fermi);
        match self.machine.gpu == KEPLER.gpu && fits >= point.tlp {
            true => FERMI.gpu,
            false => self.machine.gpu,
        }
    }

    /// A run of the kernel with this allocation and at most a point's blocks.
    fn run(&self, runs: &Runs<'_>, tlp: u32, how: &Allocate) -> Arc<RunSpec> {
        let key = format!("{} {how:?}", self.key);
        runs.computed(&format!("{key}, {tlp} blocks"), || {
            let input = runs.computed(&key, || {
                let input = Input::allocated(&self.target, self.size, SEED, how);
                input.unwrap_or_else(|why| panic!("{}: {why}", self.target))
            });
            self.run_of(&input, tlp, how.registers)
        })
    }

    /// A run of an allocated input with at most this many blocks. Other kernels are executed
    /// without timing.
    fn run_of(&self, input: &Input, tlp: u32, registers: u32) -> RunSpec {
        let gpu = self.gpu_of(Point { registers, tlp });
        let cap = format!("gpu.max_blocks_per_sm={tlp}");
        let own = self.machine.gpu;
        let blocks = if tlp == 1 { "block" } else { "blocks" };
        let name = match gpu == own {
            true => format!("{own}, {tlp} {blocks}"),
            false => format!("{own}, {tlp} {blocks} (equal to {gpu}, which runs)"),
        };
        let entries = self.subject.entries().into_iter().map(str::to_owned);
        let sets = [&[cap.as_str()], self.machine.sets].concat();
        let machine = preset(&name, gpu, &sets);
        RunSpec {
            time_kernels: entries.filter(|_| self.subject.has_others).collect(),
            ..RunSpec::new(input, &machine)
        }
    }

    /// The solution of a point, or `None` while its run is missing.
    pub fn solution(
        &self,
        runs: &mut Runs<'_>,
        point: Point,
        shared_bytes: u32,
    ) -> Option<Solution> {
        let how = Allocate {
            shared_bytes,
            ..self.allocation(point.registers)
        };
        self.allocated(runs, point.tlp, &how)
    }

    /// An allocation with this many registers, and all spilled values in local memory.
    pub fn allocation(&self, registers: u32) -> Allocate {
        Allocate {
            method: self.method,
            ..Allocate::local(registers)
        }
    }

    /// Options of the allocator with a limit.
    pub fn options(&self, registers: u32) -> Options {
        Options {
            registers: Some(registers),
            method: self.method,
            ..Options::default()
        }
    }

    /// The solution of any allocation, or `None` while its run is missing.
    pub fn allocated(&self, runs: &mut Runs<'_>, tlp: u32, how: &Allocate) -> Option<Solution> {
        let report = runs.get(&self.run(runs, tlp, how))?;
        Some(Solution {
            point: Point {
                registers: how.registers,
                tlp,
            },
            cycles: self
                .launches(&report)
                .map(|kernel| kernel.figures.cycles)
                .sum(),
            report,
        })
    }

    /// Launches of the kernel under study.
    pub fn launches<'a>(&self, report: &'a RunReport) -> impl Iterator<Item = &'a KernelReport> {
        let entries = self.subject.entries();
        let kernels = report.kernels.iter();
        kernels.filter(move |kernel| entries.contains(&kernel.name.as_str()))
    }

    /// Sum of the counters that `picks` selects, over launches of the kernel under study.
    pub fn count(&self, of: &Solution, picks: impl Fn(&str) -> bool) -> u64 {
        let launches = self.launches(&of.report);
        let counts = launches.flat_map(|kernel| &kernel.figures.statistics);
        counts.filter(|(name, _)| picks(name)).map(|(_, n)| n).sum()
    }

    /// Solutions with the default registers and 1, 2, 3 blocks on an SM.
    pub fn profile(&self, runs: &mut Runs<'_>) -> Option<Vec<Solution>> {
        let registers = self.default.registers;
        let points = (1..=self.default.tlp).map(|tlp| Point { registers, tlp });
        let found: Vec<_> = points.map(|point| self.solution(runs, point, 0)).collect();
        found.into_iter().collect()
    }

    /// The design space under a limit on blocks.
    pub fn space(&self, runs: &Runs<'_>, opt_tlp: u32, spill: Spill) -> Arc<Exploration> {
        let search = Search {
            opt_tlp: Some(opt_tlp),
            spill,
            method: self.method,
            typing: Typing::Bits,
            costs: self.costs,
            default_registers: self.default.registers,
        };
        runs.computed(&format!("{} {opt_tlp} {spill:?}", self.key), || {
            let space = explore(&self.kernel, &self.spec, &search);
            space.unwrap_or_else(|why| panic!("{}: {why}", self.target))
        })
    }

    /// The rightmost point of the stair with this number of blocks: the most registers that are
    /// useful.
    pub fn rightmost(&self, runs: &Runs<'_>, tlp: u32) -> Point {
        let space = self.space(runs, tlp, Spill::Local);
        let mut points = space.candidates.iter().map(Candidate::point);
        let of_tlp = points.find(|point| point.tlp == tlp);
        of_tlp.unwrap_or(Point {
            registers: self.default.registers,
            tlp,
        })
    }

    /// The point that CRAT chooses under a limit on blocks, with its solution.
    pub fn choose(
        &self,
        runs: &mut Runs<'_>,
        opt_tlp: u32,
        spill: Spill,
    ) -> (Arc<Exploration>, Option<Solution>) {
        let space = self.space(runs, opt_tlp, spill);
        let shared_bytes = match spill {
            Spill::Local => 0,
            Spill::Shared(_) => self.kernel.spare_shared(space.best.tlp, &self.spec),
        };
        let solution = self.solution(runs, space.best, shared_bytes);
        (space, solution)
    }

    /// The best TLP as guessed from the code of MaxTLP, with the share of hits and the lines of its
    /// accesses.
    pub fn guess(&self, runs: &Runs<'_>, max: &Solution) -> u32 {
        let key = format!("{} guess", self.key);
        *runs.computed(&key, || {
            let cache = CacheAssumption {
                hit_ratio: self.hit_ratio(max),
                at_tlp: max.point.tlp,
                lines_per_load: self.lines_of_warp(max, "read", "load"),
                lines_per_store: self.lines_of_warp(max, "write", "store"),
            };
            let options = self.options(self.default.registers);
            let code = self.kernel.allocated(&options);
            let code = code.unwrap_or_else(|why| panic!("{}: {why}", self.target));
            estimate_tlp(&code, &self.spec, self.default.tlp, &cache)
        })
    }

    /// Share of the lines of loads that L1D did not request from L2.
    fn hit_ratio(&self, of: &Solution) -> f64 {
        let requested = self.lines(of, "read", &["miss", "sector_miss"]);
        let lines = self.lines(of, "read", &ONCE);
        1.0 - requested as f64 / lines.max(1) as f64
    }

    /// Lines of L1D that a warp touches with a load (`read`) or a store (`write`) of 32 lanes, on
    /// average.
    fn lines_of_warp(&self, of: &Solution, kind: &str, lanes: &str) -> f64 {
        let lines = self.lines(of, kind, &ONCE);
        let lanes = self.count(of, |name| name == format!("sm.memory_lanes.{lanes}"));
        let accesses = lanes.div_ceil(WARP).max(1);
        (lines as f64 / accesses as f64).max(1.0)
    }

    /// Lines of global and local accesses of a kind in L1D with these outcomes.
    fn lines(&self, of: &Solution, kind: &str, outcomes: &[&str]) -> u64 {
        let names = outcomes.iter().flat_map(|outcome| {
            ["global", "local"].map(|space| format!("l1d.accesses.{outcome}.{space}_{kind}"))
        });
        let names: Vec<String> = names.collect();
        self.count(of, |name| names.iter().any(|other| other == name))
    }

    /// All solutions, or `None` while runs are missing.
    pub fn solve(self: Arc<Self>, runs: &mut Runs<'_>) -> Option<Solved> {
        let profile = self.profile(runs)?;
        let opt = fastest(&profile);
        let guess = self.guess(runs, profile.last()?);
        let (_, local) = self.choose(runs, opt.point.tlp, Spill::Local);
        let (space, crat) = self.choose(runs, opt.point.tlp, Spill::Shared(None));
        let (_, guessed) = self.choose(runs, guess, Spill::Shared(None));
        Some(Solved {
            profile,
            opt,
            local: local?,
            crat: crat?,
            guessed: guessed?,
            space,
            study: self,
        })
    }
}

/// The fastest solution; among equally fast ones that with the fewest blocks.
pub(super) fn fastest(profile: &[Solution]) -> Solution {
    let fastest = profile.iter().min_by_key(|solution| solution.cycles);
    fastest.expect("at least one block fits").clone()
}

/// Share of L1D's accesses that hit.
pub(super) fn hit_rate(of: &Solution) -> Option<f64> {
    of.report.totals.figures.l1d.hit_rate
}
