//! One kernel on one machine: its default solution, the profile that finds the best TLP, and what
//! CRAT makes of it.

use super::FERMI;
use crate::allocated::{Allocate, Subject};
use crate::figure::Request;
use crate::runs::Runs;
use crate::spec::{Input, Machine, RunSpec, SEED};
use std::sync::Arc;
use warploom_config::GpuSpec;
use warploom_crat::{
    CacheAssumption, Candidate, Costs, Exploration, Kernel, Point, Search, Spill, estimate_tlp,
    explore,
};
use warploom_microbench::spill_costs;
use warploom_regalloc::{Options, Typing};
use warploom_stats::result::{KernelReport, RunReport};
use warploom_workloads::Size;

/// A kernel, its block, and the machine.
pub(super) struct Study {
    /// What it is a function of.
    key: String,
    target: String,
    gpu: String,
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
    /// Core cycles of the kernel in question.
    pub cycles: u64,
}

impl Solution {
    /// Its speed over another.
    pub fn over(&self, other: &Self) -> f64 {
        other.cycles as f64 / self.cycles as f64
    }
}

/// Everything that ran for a kernel.
pub(super) struct Solved {
    pub study: Arc<Study>,
    /// The default registers with 1, 2, 3 blocks on an SM, the last of them MaxTLP.
    pub profile: Vec<Solution>,
    /// The fastest of these.
    pub opt: Solution,
    /// With spilled values in local memory alone.
    pub local: Solution,
    pub crat: Solution,
    /// CRAT under the guessed TLP.
    pub guessed: Solution,
    /// The design space that CRAT chose from.
    pub space: Arc<Exploration>,
}

impl Solved {
    /// The default registers with as many blocks as fit.
    pub fn max(&self) -> &Solution {
        self.profile.last().expect("at least one block fits")
    }

    /// Share of the SM's registers that a solution holds.
    pub fn register_share(&self, of: &Solution) -> f64 {
        let Point { registers, tlp } = of.point;
        self.study
            .kernel
            .register_share(registers, tlp, &self.study.spec)
    }
}

fn preset(name: &str, gpu: &str, sets: &[&str]) -> Machine {
    let machine = Machine::preset(name, gpu, sets);
    machine.unwrap_or_else(|errors| panic!("{name}: {errors}"))
}

impl Study {
    /// A workload's kernel on a preset, with the default registers.
    pub fn get(request: &Request, runs: &Runs<'_>, target: &str, gpu: &str) -> Arc<Self> {
        Self::with_defaults_of(request, runs, target, target, gpu)
    }

    /// The same with the default registers of another target: another input of the same kernel.
    pub fn with_defaults_of(
        request: &Request,
        runs: &Runs<'_>,
        target: &str,
        of: &str,
        gpu: &str,
    ) -> Arc<Self> {
        let size = request.scale.size();
        let key = format!("crat/{target}/{of}/{gpu}/{size}");
        runs.computed(&key, || Self::new(key.clone(), size, target, of, gpu))
    }

    fn new(key: String, size: Size, target: &str, of: &str, gpu: &str) -> Self {
        let [spec, fermi] = [gpu, FERMI].map(|gpu| preset(gpu, gpu, &[]).spec.as_ref().clone());
        let subject = |name| Subject::new(name, size).unwrap_or_else(|why| panic!("{why}"));
        let (subject, known) = (subject(target), subject(of));
        let kernel = subject.kernel().unwrap_or_else(|why| panic!("{why}"));
        let costs = spill_costs(&spec).unwrap_or_else(|why| panic!("{gpu}: {why}"));
        let registers = known.default_registers(&kernel, &spec);
        let fewest = kernel.fewest_registers(&Options::default(), registers);
        let registers = registers.max(fewest.unwrap_or_else(|why| panic!("{why}")));
        let mut study = Self {
            key,
            target: target.to_owned(),
            gpu: gpu.to_owned(),
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

    /// Blocks on an SM with so many registers, as far as the grid has them.
    pub fn most_blocks(&self, registers: u32) -> u32 {
        let fit = self.kernel.blocks_per_sm(registers, &self.spec);
        fit.min(self.blocks_of_grid()).max(1)
    }

    /// Blocks on an SM that the largest launch's grid makes.
    fn blocks_of_grid(&self) -> u32 {
        let spread = self
            .subject
            .largest()
            .grid
            .count()
            .div_ceil(self.spec.gpu.sms.into());
        u32::try_from(spread).unwrap_or(u32::MAX)
    }

    /// The preset on which a point runs. Kepler's has more registers and threads than Fermi's and
    /// nothing else, and blocks are capped: a point that fits Fermi's is the same on both.
    fn machine(&self, point: Point) -> &str {
        let fits = self.kernel.blocks_per_sm(point.registers, &self.fermi);
        match fits >= point.tlp {
            true => FERMI,
            false => &self.gpu,
        }
    }

    /// A run of the kernel allocated so, capped at a point's blocks. Other kernels are executed
    /// without timing.
    fn run(&self, runs: &Runs<'_>, tlp: u32, how: &Allocate) -> RunSpec {
        let input = runs.computed(&format!("{} {how:?}", self.key), || {
            let input = Input::allocated(&self.target, self.size, SEED, how);
            input.unwrap_or_else(|why| panic!("{}: {why}", self.target))
        });
        let registers = how.registers;
        let gpu = self.machine(Point { registers, tlp });
        let cap = format!("gpu.max_blocks_per_sm={tlp}");
        let name = match tlp {
            1 => format!("{gpu}, 1 block"),
            tlp => format!("{gpu}, {tlp} blocks"),
        };
        let entries = self.subject.entries().into_iter().map(str::to_owned);
        let machine = preset(&name, gpu, &[&cap]);
        RunSpec {
            time_kernels: entries.filter(|_| self.subject.has_others).collect(),
            ..RunSpec::new(&input, &machine)
        }
    }

    /// The result of a point, once it is there.
    pub fn solution(
        &self,
        runs: &mut Runs<'_>,
        point: Point,
        shared_bytes: u32,
    ) -> Option<Solution> {
        let how = Allocate {
            shared_bytes,
            ..Allocate::local(point.registers)
        };
        self.allocated(runs, point.tlp, &how)
    }

    /// The same of any allocation.
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

    /// Launches of the kernel in question.
    pub fn launches<'a>(&self, report: &'a RunReport) -> impl Iterator<Item = &'a KernelReport> {
        let entries = self.subject.entries();
        let kernels = report.kernels.iter();
        kernels.filter(move |kernel| entries.contains(&kernel.name.as_str()))
    }

    /// A count of the launches of the kernel in question: of the counters that `of` picks.
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

    /// The design space under a bound on blocks.
    pub fn space(&self, runs: &Runs<'_>, opt_tlp: u32, spill: Spill) -> Arc<Exploration> {
        let search = Search {
            opt_tlp: Some(opt_tlp),
            spill,
            typing: Typing::Bits,
            costs: self.costs,
        };
        runs.computed(&format!("{} {opt_tlp} {spill:?}", self.key), || {
            let space = explore(&self.kernel, &self.spec, &search);
            space.unwrap_or_else(|why| panic!("{}: {why}", self.target))
        })
    }

    /// The rightmost point of the stair of so many blocks: the most registers that are of use.
    pub fn rightmost(&self, runs: &Runs<'_>, tlp: u32) -> Point {
        let space = self.space(runs, tlp, Spill::Local);
        let mut points = space.candidates.iter().map(Candidate::point);
        let of_tlp = points.find(|point| point.tlp == tlp);
        of_tlp.unwrap_or(Point {
            registers: self.default.registers,
            tlp,
        })
    }

    /// The point that CRAT chooses under a bound on blocks, with its result.
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

    /// The best TLP guessed from the code, with the share of hits that MaxTLP has.
    pub fn guess(&self, max: &Solution) -> u32 {
        let cache = CacheAssumption {
            hit_ratio: hit_rate(max).unwrap_or(0.0),
            at_tlp: max.point.tlp,
        };
        estimate_tlp(&self.kernel, &self.spec, self.default.tlp, &cache)
    }

    /// Everything, once it is there.
    pub fn solve(self: Arc<Self>, runs: &mut Runs<'_>) -> Option<Solved> {
        let profile = self.profile(runs)?;
        let opt = fastest(&profile);
        let guess = self.guess(profile.last()?);
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

/// The fastest; of equally fast ones that of fewest blocks.
pub(super) fn fastest(profile: &[Solution]) -> Solution {
    let fastest = profile.iter().min_by_key(|solution| solution.cycles);
    fastest.expect("at least one block fits").clone()
}

/// Share of L1D's accesses that hit.
pub(super) fn hit_rate(of: &Solution) -> Option<f64> {
    of.report.totals.figures.l1d.hit_rate
}
