//! The workload `neuralnet`: a convolutional network that recognises digits.

mod network;

use warploom_base::Dim3;
use warploom_run::{Arg, Check, Device, DevicePtr, HostError, HostProgram};

use crate::check::{Tolerance, close};
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};
use network::{LAYERS, Layer, Network};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "neuralnet",
    suite: Suite::Ispass2009,
    sentence: "Digits read by two convolutions and two full layers, a thread a neuron.",
    source: "ISPASS-2009 benchmarks, NN (B. Conan and K. Guy); NN in Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: NAMES[0],
            sentence: "Six maps of 13 x 13 neurons, each over a window of 5 x 5 pixels.",
            entries: &[NAMES[0]],
            alone: true,
        },
        KernelInfo {
            name: NAMES[1],
            sentence: "Fifty maps of 5 x 5 neurons, each over windows of all six maps.",
            entries: &[NAMES[1]],
            alone: true,
        },
        KernelInfo {
            name: NAMES[2],
            sentence: "Up to a hundred neurons over 1,250, each in a block of one thread.",
            entries: &[NAMES[2]],
            alone: true,
        },
        KernelInfo {
            name: NAMES[3],
            sentence: "Ten neurons over the third layer's.",
            entries: &[NAMES[3]],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper 9,000 images: 54,000 blocks of 169 threads in the first layer.",
        launches: shapes,
        program,
    }],
};

const NAMES: [&str; LAYERS] = ["first_layer", "second_layer", "third_layer", "fourth_layer"];

/// Tolerance for a layer's outputs, derived in the notes.
const TOLERANCE: Tolerance = Tolerance {
    relative: 0.0,
    absolute: 1e-5,
};

/// Number of images, and of neurons of the third layer.
fn extents(size: Size) -> (u32, u32) {
    size.pick((1, 16), (4, 100), (9000, 100))
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let (images, hidden) = extents(request.size);
    let shape = |name, blocks, side| {
        LaunchShape::once(name, Dim3::new(blocks, images, 1), Dim3::new(side, side, 1))
    };
    let all = [
        shape(NAMES[0], 6, 13),
        shape(NAMES[1], 50, 5),
        shape(NAMES[2], hidden, 1),
        shape(NAMES[3], 10, 1),
    ];
    let wanted = |shape: &LaunchShape| request.wants(shape.entry);
    all.into_iter().filter(wanted).collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// A layer that runs alone takes its inputs from the reference, which is computed only as far as
/// needed.
fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let (images, hidden) = extents(request.size);
    let network = Network::generate(hidden as usize, request.seed);
    let module = load(device, &WORKLOAD)?;
    let mut values = network::images(images as usize, request.seed);
    let mut launches = Vec::new();
    let mut runs = Vec::new();
    let mut input: Option<DevicePtr> = None;
    for (shape, layer) in NAMES.iter().zip(&network.layers) {
        let launched = shapes(request).into_iter().find(|s| s.entry == *shape);
        let Some(shape) = launched else {
            if input.is_none() && request.only.is_some() && runs.is_empty() {
                values = layer.apply(&values);
            }
            continue;
        };
        let from = match input {
            Some(from) => from,
            None => device.alloc_slice(&values)?,
        };
        let count = images as usize * layer.neurons();
        let to = alloc_output::<f32>(device, count)?;
        let pointers = [to, from, device.alloc_slice(&layer.weights)?];
        let mut args: Vec<_> = pointers.into_iter().map(Arg::Pointer).collect();
        if shape.entry == NAMES[3] {
            args.push(Arg::U32(hidden));
        }
        launches.push(shape.launch(module, args));
        runs.push(Run {
            name: shape.entry,
            layer: layer.clone(),
            from,
            to,
            images: images as usize,
        });
        input = Some(to);
    }
    Ok(Plan::new(launches, move |device| {
        runs.iter().map(|run| run.check(device)).collect()
    }))
}

/// Launch of a layer.
struct Run {
    name: &'static str,
    layer: Layer,
    from: DevicePtr,
    to: DevicePtr,
    images: usize,
}

impl Run {
    /// Compares with the layer's reference for the inputs that the kernel had.
    fn check(&self, device: &Device) -> Result<Check, HostError> {
        let inputs: Vec<f32> = device.read_vec(self.from, self.images * self.layer.inputs())?;
        let outputs = device.output(self.to, self.images * self.layer.neurons())?;
        let expected = self.layer.apply_exactly(&inputs);
        Ok(close(self.name, &outputs, &expected, TOLERANCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_first_layer_has_54000_blocks_of_169() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: Some(NAMES[0]),
        };
        let shapes = shapes(&request);
        assert_eq!(shapes.len(), 1);
        let [blocks, threads] = [shapes[0].grid, shapes[0].block].map(Dim3::count);
        assert_eq!((blocks, threads), (54_000, 169));
    }
}
