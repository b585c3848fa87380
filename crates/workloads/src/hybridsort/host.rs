//! The host's part: buffers, pivots, and the results of each launch that the next needs.

use warploom_run::{
    AddressMode, Arg, ChannelKind, Device, DevicePtr, HostError, Launch, ModuleId, Output, Texture,
};

use super::{BUCKETS, Shapes, WORKLOAD, threads_per_bucket};
use crate::program::{alloc_output, alloc_zeroed, load};

const BINS: usize = 1024;

/// Next action of the program.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    Histogram,
    Count,
    Prefix,
    Move,
    First,
    /// Merge pass that makes runs of this number of vectors.
    Pass(u32),
    Pack,
    Done,
}

pub(super) struct Run {
    shapes: Shapes,
    pub(super) numbers: Vec<f32>,
    range: (f32, f32),
    module: ModuleId,
    input: DevicePtr,
    histogram: DevicePtr,
    pivots: DevicePtr,
    places: DevicePtr,
    block_counts: DevicePtr,
    totals: DevicePtr,
    starts: DevicePtr,
    /// Numbers by bucket, in the first buffer. Each step of the merge reads the first, writes the
    /// second and swaps them.
    buffers: [DevicePtr; 2],
    /// Number of elements in the largest bucket, including fillers, after they are counted.
    largest: u32,
}

impl Run {
    pub(super) fn new(
        device: &mut Device,
        shapes: Shapes,
        numbers: Vec<f32>,
    ) -> Result<Self, HostError> {
        let fold = |pick: fn(f32, f32) -> f32| numbers.iter().copied().fold(numbers[0], pick);
        let buckets = BUCKETS as usize;
        let room = 4 * shapes.most_vectors() as usize;
        Ok(Self {
            shapes,
            range: (fold(f32::min), fold(f32::max)),
            module: load(device, &WORKLOAD)?,
            input: device.alloc_slice(&numbers)?,
            histogram: alloc_zeroed::<u32>(device, BINS)?,
            pivots: alloc_output::<f32>(device, buckets)?,
            places: alloc_output::<i32>(device, numbers.len())?,
            block_counts: alloc_output::<u32>(device, shapes.bucket_blocks() as usize * buckets)?,
            totals: alloc_zeroed::<u32>(device, buckets)?,
            starts: alloc_output::<u32>(device, buckets)?,
            buffers: [
                alloc_zeroed::<f32>(device, room)?,
                alloc_zeroed::<f32>(device, room)?,
            ],
            largest: 0,
            numbers,
        })
    }

    /// Launch of a stage, the copies before it, and the next stage.
    pub(super) fn launch(
        &mut self,
        device: &mut Device,
        stage: Stage,
    ) -> Result<Option<(Launch, Stage)>, HostError> {
        let count = Arg::U32(self.shapes.count);
        let (shape, args, next) = match stage {
            Stage::Histogram => {
                let (least, most) = self.range;
                let mut args = pointers(&[self.histogram, self.input]);
                args.extend([Arg::F32(least), Arg::F32(most), count]);
                (self.shapes.histogram(), args, Stage::Count)
            }
            Stage::Count => {
                let pivots = self.pivot_points(&self.histogram(device)?);
                device.write_slice(self.pivots, &pivots)?;
                let texture = device.texture_object(linear_texture(self.pivots, BUCKETS, 1));
                let mut args = vec![Arg::U64(texture)];
                args.extend(pointers(&[self.input, self.places, self.block_counts]));
                args.push(count);
                (self.shapes.buckets("bucketcount"), args, Stage::Prefix)
            }
            Stage::Prefix => {
                let mut args = pointers(&[self.block_counts, self.totals]);
                args.push(Arg::U32(self.shapes.bucket_blocks()));
                (self.shapes.prefix(), args, Stage::Move)
            }
            Stage::Move => {
                self.place_buckets(device)?;
                let mut args = pointers(&[self.input, self.places, self.buffers[0]]);
                args.push(count);
                args.extend(pointers(&[self.block_counts, self.starts]));
                (self.shapes.buckets("bucketsort"), args, Stage::First)
            }
            Stage::First => {
                let mut args = self.merge_args(device);
                args.push(Arg::U32(self.shapes.most_vectors()));
                (self.shapes.first(), args, Stage::Pass(2))
            }
            Stage::Pass(run) => {
                let threads = threads_per_bucket(self.largest, run);
                let mut args = self.merge_args(device);
                args.extend([Arg::U32(run), Arg::U32(threads)]);
                let next = if threads > 1 {
                    Stage::Pass(2 * run)
                } else {
                    Stage::Pack
                };
                (self.shapes.pass(threads), args, next)
            }
            Stage::Pack => {
                let args = pointers(&self.buffers);
                self.buffers.reverse();
                (self.shapes.pack(self.largest), args, Stage::Done)
            }
            Stage::Done => return Ok(None),
        };
        Ok(Some((shape.launch(self.module, args), next)))
    }

    /// Arguments of a merge from one buffer, as a texture of vectors, to the other.
    fn merge_args(&mut self, device: &mut Device) -> Vec<Arg> {
        let [source, result] = self.buffers;
        let texture = linear_texture(source, self.shapes.most_vectors(), 4);
        self.buffers.reverse();
        vec![
            Arg::U64(device.texture_object(texture)),
            Arg::Pointer(result),
        ]
    }

    pub(super) fn histogram(&self, device: &Device) -> Result<Vec<u32>, HostError> {
        Ok(device.read_vec(self.histogram, BINS)?)
    }

    /// Output of the histogram, to be checked.
    pub(super) fn counted(&self, device: &Device) -> Result<Output<u32>, HostError> {
        Ok(device.output(self.histogram, BINS)?)
    }

    /// The histogram, computed with the kernel's operations. The greatest number falls into the
    /// first bin, because the number of its bin wraps.
    pub(super) fn expected_histogram(&self) -> Vec<u32> {
        let (least, most) = self.range;
        let mut bins = vec![0; BINS];
        for number in &self.numbers {
            let bin = (number - least) / (most - least) * BINS as f32;
            bins[bin as usize % BINS] += 1;
        }
        bins
    }

    /// Output of the numbers; before the last launch they are in no defined order.
    pub(super) fn sorted(&self, device: &Device) -> Result<Output<f32>, HostError> {
        let sorted = device.output(self.buffers[0], self.numbers.len())?;
        Ok(sorted.combine(|numbers| numbers))
    }

    /// Upper ends of the buckets. Every bucket gets the same number of elements if the elements of
    /// a bin are spread evenly in it.
    fn pivot_points(&self, histogram: &[u32]) -> Vec<f32> {
        let (least, most) = self.range;
        let width = (f64::from(most) - f64::from(least)) / BINS as f64;
        let share = f64::from(self.shapes.count) / f64::from(BUCKETS);
        let (mut bin, mut before) = (0, 0.0);
        let end_of = |bucket: u32| {
            let wanted = share * f64::from(bucket + 1);
            while bin + 1 < BINS && before + f64::from(histogram[bin]) < wanted {
                before += f64::from(histogram[bin]);
                bin += 1;
            }
            let part = (wanted - before) / f64::from(histogram[bin].max(1));
            (f64::from(least) + (bin as f64 + part.min(1.0)) * width) as f32
        };
        (0..BUCKETS).map(end_of).collect()
    }

    /// Reads the buckets' sizes and assigns each a place of whole vectors, with fillers at its
    /// start.
    fn place_buckets(&mut self, device: &mut Device) -> Result<(), HostError> {
        let totals: Vec<u32> = device.read_vec(self.totals, BUCKETS as usize)?;
        let vectors = totals.iter().map(|total| total.div_ceil(4));
        let starts = sums(vectors);
        let offsets: Vec<u32> = starts[..BUCKETS as usize]
            .iter()
            .map(|start| 4 * start)
            .collect();
        device.write_slice(self.starts, &offsets)?;
        let fillers: Vec<u32> = totals
            .iter()
            .map(|total| total.next_multiple_of(4) - total)
            .collect();
        for (name, values) in [
            ("bucket_start", &starts),
            ("result_start", &sums(totals.iter().copied())),
            ("fillers", &fillers),
        ] {
            let variable = device.variable(self.module, name)?;
            device.write_slice(variable, values)?;
        }
        let largest = totals
            .iter()
            .max()
            .map_or(0, |total| total.next_multiple_of(4));
        self.largest = largest.max(self.shapes.least_largest());
        Ok(())
    }
}

/// Sums of all values before each element, followed by the sum of all.
fn sums(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut sums = vec![0];
    let mut sum = 0;
    for value in values {
        sum += value;
        sums.push(sum);
    }
    sums
}

fn pointers(pointers: &[DevicePtr]) -> Vec<Arg> {
    pointers.iter().copied().map(Arg::Pointer).collect()
}

/// A texture over linear memory of floats or of vectors of four.
fn linear_texture(base: DevicePtr, texels: u32, channels: u8) -> Texture {
    Texture {
        base: base.0,
        width: texels,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: 4 * u32::from(channels) * texels,
        channels,
        channel_bits: 32,
        kind: ChannelKind::Float,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}
