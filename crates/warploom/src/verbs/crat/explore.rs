//! Which point of registers and blocks to allocate for.

use super::{Args, Subject, base_options, shared_spills};
use crate::failure::Failure;
use serde::Serialize;
use warploom_config::{BlockNeeds, GpuSpec};
use warploom_regalloc::space::{Costs, Point, choose, min_registers, spill_cost, staircase};
use warploom_regalloc::space::{tlp_gain, tpsc};
use warploom_regalloc::{Demand, Options, Report};

/// A point that was considered, and what allocating for it costs.
#[derive(Serialize)]
pub struct Candidate {
    pub registers: u32,
    pub tlp: u32,
    pub spills: Spills,
    /// TLP_gain * (Base + Spill_cost), weighted by loops.
    pub tpsc: f64,
    /// TLP_gain * Spill_cost, as the paper has it.
    pub tpsc_literal: f64,
    pub tlp_gain: f64,
    pub spill_cost: f64,
}

/// Accesses of spilled values that stand in the code.
#[derive(Serialize)]
pub struct Spills {
    pub local: u64,
    pub shared: u64,
    /// Addresses, and values made again.
    pub others: u64,
}

#[derive(Clone, Copy, Serialize)]
pub struct Chosen {
    pub registers: u32,
    /// Unknown without a block size.
    pub tlp: Option<u32>,
}

/// The design space and the point taken of it.
pub struct Exploration {
    pub min_reg: u32,
    pub max_tlp: Option<u32>,
    pub candidates: Vec<Candidate>,
    pub chosen: Chosen,
    pub options: Options,
}

/// What a block takes besides its registers.
struct Machine<'a> {
    spec: &'a GpuSpec,
    threads: u32,
    shared_bytes: u32,
}

impl Machine<'_> {
    fn blocks(&self, registers: u32) -> u32 {
        let sm = &self.spec.sm;
        let needs = BlockNeeds::new(self.threads, registers, self.shared_bytes, sm);
        needs.blocks_per_sm(u64::MAX, sm, &self.spec.gpu).0
    }

    /// Shared memory that each of `tlp` blocks may use beyond its own without there being fewer.
    fn spare(&self, tlp: u32) -> u32 {
        let each = self.spec.sm.shared_bytes / tlp.max(1);
        let most = each.min(self.spec.sm.max_shared_bytes_per_block);
        most.saturating_sub(self.shared_bytes)
    }

    /// Cycles until a dependent instruction can issue, on an idle machine.
    fn costs(&self) -> Costs {
        let latencies = self.spec.latencies();
        let local = latencies.l1d.unwrap_or(latencies.l2);
        Costs {
            local: local as f64,
            shared: latencies.shared as f64,
            other: 1.0,
        }
    }
}

/// Looks at the design space. Without a block size there is only the point that was asked for.
pub fn explore(args: &Args, subject: &Subject, demand: &Demand) -> Result<Exploration, Failure> {
    let spec = args.gpu.spec()?;
    let min_reg = min_registers(spec.sm.registers, spec.sm.max_threads);
    let Some(block) = subject.block else {
        return without_block(args, subject, min_reg);
    };
    let machine = Machine {
        spec: &spec,
        threads: block.iter().product(),
        shared_bytes: static_shared(subject)?,
    };
    let capped = demand.max_registers.min(spec.sm.max_registers_per_thread);
    let least = min_reg.max(demand.min_registers);
    let max_tlp = machine.blocks(least.min(capped));
    let opt_tlp = args.opt_tlp.unwrap_or(max_tlp);
    let points = staircase(least, capped, opt_tlp, |registers| {
        machine.blocks(registers)
    });
    let mut candidates = Vec::new();
    let mut scored = Vec::new();
    for point in points {
        let (candidate, options) = candidate(args, subject, &machine, point)?;
        scored.push((point, candidate.tpsc));
        candidates.push((candidate, options));
    }
    let point = match args.registers {
        Some(registers) => Point {
            registers,
            tlp: machine.blocks(registers).min(opt_tlp),
        },
        None => choose(&scored).ok_or_else(|| {
            Failure::Input(format!(
                "not one block of {} threads fits an SM of `{}` with {least} registers a thread; \
                 use smaller blocks or another --gpu",
                machine.threads, spec.name
            ))
        })?,
    };
    let found = candidates
        .iter()
        .position(|(c, _)| c.registers == point.registers);
    let options = match found.filter(|_| args.registers.is_none()) {
        Some(at) => candidates[at].1.clone(),
        None => options(
            args,
            subject,
            point.registers,
            spare(args, &machine, point.tlp),
        )?,
    };
    Ok(Exploration {
        min_reg,
        max_tlp: Some(max_tlp),
        candidates: candidates
            .into_iter()
            .map(|(candidate, _)| candidate)
            .collect(),
        chosen: Chosen {
            registers: point.registers,
            tlp: Some(point.tlp),
        },
        options,
    })
}

fn spare(args: &Args, machine: &Machine, tlp: u32) -> u32 {
    let spare = machine.spare(tlp);
    args.spare.map_or(spare, |asked| asked.min(spare))
}

fn without_block(args: &Args, subject: &Subject, min_reg: u32) -> Result<Exploration, Failure> {
    let Some(registers) = args.registers else {
        return Err(Failure::Input(
            "how many registers to take depends on the block's shape: give --block, or --registers"
                .to_owned(),
        ));
    };
    Ok(Exploration {
        min_reg,
        max_tlp: None,
        candidates: Vec::new(),
        chosen: Chosen {
            registers,
            tlp: None,
        },
        options: options(args, subject, registers, 0)?,
    })
}

fn options(
    args: &Args,
    subject: &Subject,
    registers: u32,
    spare_bytes: u32,
) -> Result<Options, Failure> {
    Ok(Options {
        registers: Some(registers),
        shared: shared_spills(args, subject, spare_bytes)?,
        ..base_options(args)
    })
}

fn candidate(
    args: &Args,
    subject: &Subject,
    machine: &Machine,
    point: Point,
) -> Result<(Candidate, Options), Failure> {
    let options = options(
        args,
        subject,
        point.registers,
        spare(args, machine, point.tlp),
    )?;
    let report = subject.allocate(&options)?.report;
    let gain = tlp_gain(point.tlp, machine.threads, machine.spec.sm.max_threads);
    let costs = machine.costs();
    let cost = spill_cost(&report, &costs, true);
    let literal = spill_cost(&report, &costs, false);
    let candidate = Candidate {
        registers: point.registers,
        tlp: point.tlp,
        spills: spills(&report),
        tpsc: tpsc(gain, base(&report), cost),
        tpsc_literal: tpsc(gain, 0.0, literal),
        tlp_gain: gain,
        spill_cost: cost,
    };
    Ok((candidate, options))
}

fn spills(report: &Report) -> Spills {
    Spills {
        local: report.added.local.count,
        shared: report.added.shared.count,
        others: report.added.others.count,
    }
}

/// Instructions of the program itself, weighted by loops.
fn base(report: &Report) -> f64 {
    report.kept.weighted as f64
}

/// Static shared memory of the kernel.
fn static_shared(subject: &Subject) -> Result<u32, Failure> {
    let lowered =
        warploom_ir::lower(&subject.module, &subject.source).map_err(|why| subject.error(&why))?;
    if let Some((_, why)) = lowered
        .refused
        .iter()
        .find(|(name, _)| *name == subject.kernel)
    {
        return Err(subject.error(why));
    }
    let program = lowered
        .kernels
        .iter()
        .find(|program| program.name == subject.kernel);
    Ok(program.map_or(0, |program| program.shared_bytes))
}
