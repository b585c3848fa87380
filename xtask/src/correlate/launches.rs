//! The part of the page on launches that real GPUs measured.

use std::fmt::Write as _;

use super::kernels::Measured;
use super::page::{correlation, mean};
use super::workloads::Simulated;

const INTRODUCTION: &str = "
### Whole kernels

`cargo xtask correlate --record` ran the workloads of this project at sizes `small` and `paper`, and
the kernels of today of `xtask/data/kernels`, on the GPU. Nsight Compute read the counters of the
first three launches of each kernel, with empty caches before each and with the clocks of the GPU.
`cargo xtask correlate --simulate` runs the same launches on the preset: with the registers that the
driver's assembler gave them, empty caches, and the outputs of earlier launches as inputs. Launches
of more than 10,000,000 warp instructions or 500,000 cycles are left out. Workloads with textures
were not run on the GPU.

Cycles are `sm__cycles_elapsed.max`, means over the launches of a kernel. Instructions are the issue
slots that they took on the preset, with those of their machine instructions, over the instructions
that the GPU executed. Outputs of the GPU were right but for five workloads that compare bit by bit,
whose additions and multiplications the driver's assembler fused: `cutcp`, `dxtc`, `lbm`, `sift` and
`stencil`. Those of the kernels of today were not compared there.
";

const AGREEMENT: &str = "
Absolute errors, and the correlation of the logarithms of cycles:

| size | kernels | mean, % | median, % | correlation |
|---|--:|--:|--:|--:|
";

const CAUSES: &str = "
What is known of larger errors:

- `option_per_block` of `montecarlo`: all blocks read the same lines at the same time. L1D of the
  GPU missed 131,072 sectors, and its L2 was asked for 35,120: between them, Nsight Compute's L2
  request coalescer joins requests of several SMs. The simulator has none, and each line's bank
  serves all SMs one after the other.
- Products by `cp.async`, `wgmma` and tensor descriptors are too slow. An SM sends one sector a
  cycle past L1D and takes one reply a cycle, where a GPU has requests for a line: with perfect
  memory `matmul_fp8` took 0.87 times the cycles, and 0.68 times if the load/store unit also took
  four steps a cycle (before the assembler's last changes). By descriptors, the columns of
  instructions are also far above 1.
- `gabor` at size `paper` takes 31,740 cycles, 33 % more than the GPU, without `sm.l1d_one_line`,
  which makes `mvt_kernel1`, `atax_kernel1` and `sift` nearer; so a line a cycle is not the whole
  rule.
- `init_rng` of `estimatepi` waits for sectors of DRAM one after the other. With 64 bytes for each
  (`partition.fetch_bytes`) it is too fast; why is not known, nor for `dwt2d` and `nw`.
- `streamcluster` at size `paper` reads 2.4 TB/s from DRAM on the GPU and 3.4 here.
- The add of `vector-add` was 5 % too slow before sums became offsets of addresses, and is 26 % too
  slow with them; the order of its loads alone (`sm.instruction_order=text`) is not the cause.
- The 8 cycles for which an L2 bank is busy with a part of a sector come from `naive_32x8` of
  `transpose` (`docs/model/partition.md`), which is thus no evidence for the preset.
";

const COLUMNS: &str = "
| kernel | size | launches | hardware | simulated | error, % | instructions |
|---|---|--:|--:|--:|--:|--:|
";

/// Launches of one kernel in one program.
struct Kernel<'a> {
    name: &'a str,
    size: &'a str,
    entry: &'a str,
    launches: u64,
    hardware: u64,
    simulated: u64,
    hardware_instructions: u64,
    simulated_instructions: u64,
}

impl Kernel<'_> {
    fn error(&self) -> f64 {
        100.0 * (self.simulated as f64 / self.hardware as f64 - 1.0)
    }

    fn row(&self) -> String {
        let instructions = self.simulated_instructions as f64 / self.hardware_instructions as f64;
        format!(
            "| `{}`, `{}` | {} | {} | {} | {} | {:+.1} | {instructions:.2} |",
            self.name,
            self.entry,
            self.size,
            self.launches,
            self.hardware / self.launches,
            self.simulated / self.launches,
            self.error()
        )
    }
}

/// The section for all launches that were simulated; nothing if there are none.
pub fn section(measured: &[Measured], simulated: &[Simulated]) -> String {
    let kernels = kernels(measured, simulated);
    if kernels.is_empty() {
        return String::new();
    }
    let mut text = INTRODUCTION.to_owned() + AGREEMENT;
    let mut sizes: Vec<&str> = kernels.iter().map(|kernel| kernel.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let of_size: Vec<&Kernel<'_>> = kernels.iter().filter(|k| k.size == size).collect();
        let _ = writeln!(text, "| `{size}` {}", agreement(&of_size));
    }
    let all: Vec<&Kernel<'_>> = kernels.iter().collect();
    let _ = writeln!(text, "| all {}", agreement(&all));
    text += CAUSES;
    text += COLUMNS;
    for kernel in &kernels {
        let _ = writeln!(text, "{}", kernel.row());
    }
    text
}

/// Sums of the launches that were measured and simulated, by kernel.
fn kernels<'a>(measured: &'a [Measured], simulated: &'a [Simulated]) -> Vec<Kernel<'a>> {
    let mut kernels: Vec<Kernel<'a>> = Vec::new();
    for one in simulated {
        let same = |launch: &&Measured| {
            launch.gpu == one.gpu
                && launch.workload == one.workload
                && launch.size == one.size
                && launch.launch == one.launch
        };
        let Some(launch) = measured.iter().find(same) else {
            continue;
        };
        let known = |kernel: &Kernel<'a>| {
            kernel.name == one.workload && kernel.size == one.size && kernel.entry == launch.entry
        };
        let at = match kernels.iter().position(known) {
            Some(at) => at,
            None => {
                kernels.push(Kernel {
                    name: &one.workload,
                    size: &one.size,
                    entry: &launch.entry,
                    launches: 0,
                    hardware: 0,
                    simulated: 0,
                    hardware_instructions: 0,
                    simulated_instructions: 0,
                });
                kernels.len() - 1
            }
        };
        let kernel = &mut kernels[at];
        kernel.launches += 1;
        kernel.hardware += launch.cycles;
        kernel.simulated += one.cycles;
        kernel.hardware_instructions += launch.warp_instructions;
        kernel.simulated_instructions += one.warp_instructions;
    }
    kernels
}

/// Cells on how near kernels are to the hardware.
fn agreement(kernels: &[&Kernel<'_>]) -> String {
    let pairs: Vec<_> = kernels
        .iter()
        .map(|kernel| {
            let launches = kernel.launches as f64;
            (
                kernel.hardware as f64 / launches,
                kernel.simulated as f64 / launches,
            )
        })
        .collect();
    let mut errors: Vec<f64> = kernels.iter().map(|kernel| kernel.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let mut text = format!(
        "| {} | {:.1} | {:.1} |",
        kernels.len(),
        mean(errors.iter().copied()),
        errors[errors.len() / 2],
    );
    match correlation(&pairs) {
        Some(found) => {
            let _ = write!(text, " {found:.4} |");
        }
        None => text += " |",
    }
    text
}

#[cfg(test)]
mod tests {
    use super::section;
    use crate::correlate::kernels::measured;
    use crate::correlate::workloads::simulated;

    #[test]
    fn launches_of_a_kernel_are_one_row() {
        let counters = "8\t100\t90\t50\t10\t0\t0\t0\t0\t0\t0";
        let row = |launch: u32| format!("g\ta\tsmall\t{launch}\tk\t{counters}\n");
        let measured = measured(&(row(0) + &row(2))).expect("data");
        let simulated = simulated("g\ta\tsmall\t0\t120\t11\ng\ta\tsmall\t2\t100\t9\n");
        let text = section(&measured, &simulated.expect("data"));
        assert!(
            text.contains("| `a`, `k` | small | 2 | 100 | 110 | +10.0 | 1.00 |"),
            "{text}"
        );
        assert!(text.contains("| all | 1 | 10.0 | 10.0 | |"), "{text}");
        assert_eq!(section(&measured, &[]), "");
    }
}
