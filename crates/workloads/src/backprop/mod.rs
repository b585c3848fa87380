//! `backprop`: one training step of a perceptron.

mod network;

use warploom_base::Dim3;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId, Output,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{alloc_output, load};
use network::{HIDDEN, Network};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "backprop",
    suite: Suite::Rodinia,
    sentence: "Training step of a perceptron: a tree sum in shared memory, then a weight update.",
    source: "Rodinia, backprop; BP_1 and BP_2 in GPUDuet, BAK in CRAT, BP in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: FORWARD,
            sentence: "Inputs times weights, summed over 16 inputs a block.",
            entries: &[FORWARD],
            alone: true,
        },
        KernelInfo {
            name: ADJUST,
            sentence: "Moves every weight by its error and its last change.",
            entries: &[ADJUST],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "16 hidden units; at size paper 65,536 inputs, 4,096 blocks of 16 x 16 a kernel.",
        launches: shapes,
        program,
    }],
};

const FORWARD: &str = "layerforward";
const ADJUST: &str = "adjust_weights";
/// Side of a block: inputs in y, hidden units in x.
const SIDE: u32 = 16;

/// Number of input units, a multiple of [`SIDE`].
fn inputs(size: Size) -> u32 {
    size.pick(1024, 16_384, 65_536)
}

fn shape(entry: &'static str, size: Size) -> LaunchShape {
    let grid = Dim3::new(1, inputs(size) / SIDE, 1);
    LaunchShape::once(entry, grid, Dim3::new(SIDE, SIDE, 1))
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let wanted = [FORWARD, ADJUST]
        .into_iter()
        .filter(|kernel| request.wants(kernel));
    wanted.map(|kernel| shape(kernel, request.size)).collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    Box::new(Program {
        request: *request,
        stage: Stage::Start,
        run: None,
    })
}

/// Next action of the program.
#[derive(Clone, Copy)]
enum Stage {
    Start,
    Adjust,
    Done,
}

/// The host program. It adds the partial sums of the first kernel, compares the network's output
/// with the target, and passes the errors of the hidden units to the second kernel.
struct Program {
    request: Request,
    stage: Stage,
    run: Option<Run>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let run = match self.run.take() {
            Some(run) => run,
            None => Run::new(device, &self.request)?,
        };
        let run = self.run.insert(run);
        let (action, stage) = match self.stage {
            Stage::Start if self.request.wants(FORWARD) => (run.forward(), Stage::Adjust),
            Stage::Start | Stage::Adjust if self.request.wants(ADJUST) => {
                (run.adjust(device)?, Stage::Done)
            }
            _ => return Ok(HostAction::Done),
        };
        self.stage = stage;
        Ok(HostAction::Launch(action))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.run
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |run| run.checks(device))
    }
}

/// A network with its buffers on the device.
struct Run {
    request: Request,
    network: Network,
    module: ModuleId,
    input: DevicePtr,
    weights: DevicePtr,
    partial_sums: DevicePtr,
    delta: DevicePtr,
    changes: DevicePtr,
    /// Products that the first kernel stored in place of the weights, read before they are
    /// replaced.
    products: Option<Vec<f32>>,
}

impl Run {
    fn new(device: &mut Device, request: &Request) -> Result<Self, HostError> {
        let network = Network::generate(inputs(request.size) as usize, request.seed);
        Ok(Self {
            request: *request,
            module: load(device, &WORKLOAD)?,
            input: device.alloc_slice(&network.input)?,
            weights: device.alloc_slice(&network.weights)?,
            partial_sums: alloc_output::<f32>(device, network.partial_sum_count())?,
            delta: alloc_output::<f32>(device, HIDDEN + 1)?,
            changes: device.alloc_slice(&network.changes)?,
            products: None,
            network,
        })
    }

    fn forward(&self) -> Launch {
        let args = vec![
            Arg::Pointer(self.input),
            Arg::Pointer(self.weights),
            Arg::Pointer(self.partial_sums),
            Arg::U32(HIDDEN as u32),
        ];
        shape(FORWARD, self.request.size).launch(self.module, args)
    }

    /// Copies the hidden units' errors and the weights, which the first kernel has overwritten.
    fn adjust(&mut self, device: &mut Device) -> Result<Launch, HostError> {
        let partial_sums = if self.request.wants(FORWARD) {
            self.products = Some(device.read_vec(self.weights, self.network.weights.len())?);
            device.read_vec(self.partial_sums, self.network.partial_sum_count())?
        } else {
            self.network.forward().partial_sums
        };
        device.write_slice(self.delta, &self.network.hidden_errors(&partial_sums))?;
        device.write_slice(self.weights, &self.network.weights)?;
        let args = vec![
            Arg::Pointer(self.delta),
            Arg::U32(HIDDEN as u32),
            Arg::Pointer(self.input),
            Arg::Pointer(self.weights),
            Arg::Pointer(self.changes),
        ];
        Ok(shape(ADJUST, self.request.size).launch(self.module, args))
    }

    fn checks(&self, device: &Device) -> Result<Vec<Check>, HostError> {
        let (network, count) = (&self.network, self.network.weights.len());
        let forward = network.forward();
        let mut checks = Vec::new();
        if self.request.wants(FORWARD) {
            let sums = device.output(self.partial_sums, network.partial_sum_count())?;
            checks.push(equal("partial sums", &sums, &forward.partial_sums));
            let products = match &self.products {
                Some(products) => Output::from(products.clone()),
                None => device.output(self.weights, count)?,
            };
            checks.push(equal("products", &products, &forward.products));
        }
        // Before that, the weights contain the first kernel's products.
        let launches = shapes(&self.request).len() as u32;
        if self.request.wants(ADJUST) && device.launches_of(launches) == launches {
            let adjusted = network.adjusted(&network.hidden_errors(&forward.partial_sums));
            let weights = device.output::<f32>(self.weights, count)?;
            checks.push(equal("weights", &weights, &adjusted.weights));
            let changes = device.output::<f32>(self.changes, count)?;
            checks.push(equal("changes", &changes, &adjusted.changes));
        }
        Ok(checks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_4096_blocks_a_kernel() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let blocks: Vec<_> = shapes(&request)
            .iter()
            .map(|shape| shape.grid.count())
            .collect();
        assert_eq!(blocks, [4096, 4096]);
    }

    #[test]
    fn a_kernel_can_run_alone() {
        let request = Request {
            size: Size::Test,
            seed: 0,
            only: Some(ADJUST),
        };
        assert_eq!(shapes(&request), [shape(ADJUST, Size::Test)]);
    }
}
