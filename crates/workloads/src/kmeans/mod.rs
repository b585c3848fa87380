//! `kmeans`: clustering of network connections.

mod points;

use warploom_base::Dim3;
use warploom_run::{
    AddressMode, Arg, ChannelKind, Check, Device, DevicePtr, HostAction, HostError, HostProgram,
    Launch, ModuleId, Texture,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{alloc_output, load};
use points::{CLUSTERS, FEATURES, NOWHERE, Points};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "kmeans",
    suite: Suite::Rodinia,
    sentence: "Clustering by k-means: an uncoalesced transposition, then nearest centres.",
    source: "Rodinia, kmeans; KM in GPUDuet, KMN in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: INVERT,
            sentence: "Transposes the points: every thread reads a record of its own.",
            entries: &[INVERT],
            alone: true,
        },
        KernelInfo {
            name: "cluster",
            sentence: "Finds the nearest centre of each point, which it reads through a texture.",
            entries: &[NEAREST],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "kdd",
        sentence: "At size paper, GPUDuet's 494,020 points of 34 features, 5 clusters, 1,936 blocks.",
        launches: shapes,
        program,
    }],
};

const INVERT: &str = "invert_mapping";
const NEAREST: &str = "kmeansPoint";
const BLOCK: u32 = 256;

fn points(size: Size) -> u32 {
    size.pick(200, 2_048, 494_020)
}

/// Side of the square of blocks in the second kernel; the first has the same number of blocks.
fn side(size: Size) -> u32 {
    let blocks = points(size).div_ceil(BLOCK);
    (1..).find(|side| side * side >= blocks).unwrap_or(blocks)
}

fn invert_shape(size: Size) -> LaunchShape {
    let side = side(size);
    LaunchShape::once(INVERT, Dim3::linear(side * side), Dim3::linear(BLOCK))
}

fn nearest_shape(size: Size) -> LaunchShape {
    let side = side(size);
    LaunchShape {
        times: Times::UntilDone,
        ..LaunchShape::once(NEAREST, Dim3::new(side, side, 1), Dim3::linear(BLOCK))
    }
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let mut shapes = Vec::new();
    if request.wants(INVERT) {
        shapes.push(invert_shape(request.size));
    }
    if request.wants("cluster") {
        shapes.push(nearest_shape(request.size));
    }
    shapes
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
    Nearest,
    Move,
}

/// The host program, which moves the centres until no point changes its cluster.
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
        let (launch, stage) = match self.stage {
            Stage::Start if self.request.wants(INVERT) => (run.invert(), Stage::Nearest),
            Stage::Start | Stage::Nearest if self.request.wants("cluster") => {
                (run.nearest(device)?, Stage::Move)
            }
            Stage::Move if run.move_centres(device)? => (run.nearest(device)?, Stage::Move),
            _ => return Ok(HostAction::Done),
        };
        self.stage = stage;
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.run
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |run| run.checks(device))
    }
}

struct Run {
    request: Request,
    points: Points,
    /// Centres of the last launch, followed by the cluster of each point after the launch.
    centres: Vec<f32>,
    membership: Vec<i32>,
    module: ModuleId,
    records: DevicePtr,
    columns: DevicePtr,
    texture: u64,
    members: DevicePtr,
}

impl Run {
    fn new(device: &mut Device, request: &Request) -> Result<Self, HostError> {
        let points = Points::generate(points(request.size) as usize, request.seed);
        let module = load(device, &WORKLOAD)?;
        let records = device.alloc_slice(&points.records)?;
        let columns = if request.wants(INVERT) {
            alloc_output::<f32>(device, points.records.len())?
        } else {
            device.alloc_slice(&points.columns())?
        };
        let membership = vec![NOWHERE; points.count()];
        Ok(Self {
            request: *request,
            centres: points.first_centres(),
            module,
            records,
            columns,
            texture: device.texture_object(linear_texture(columns, points.records.len())),
            members: device.alloc_slice(&membership)?,
            membership,
            points,
        })
    }

    fn invert(&self) -> Launch {
        let args = vec![
            Arg::Pointer(self.records),
            Arg::Pointer(self.columns),
            Arg::U32(self.points.count() as u32),
            Arg::U32(FEATURES as u32),
        ];
        invert_shape(self.request.size).launch(self.module, args)
    }

    /// Copies the centres and launches the kernel that assigns points to them.
    fn nearest(&self, device: &mut Device) -> Result<Launch, HostError> {
        let centres = device.variable(self.module, "centres")?;
        device.write_slice(centres, &self.centres)?;
        let args = vec![
            Arg::U64(self.texture),
            Arg::U32(FEATURES as u32),
            Arg::U32(self.points.count() as u32),
            Arg::U32(CLUSTERS as u32),
            Arg::Pointer(self.members),
        ];
        Ok(nearest_shape(self.request.size).launch(self.module, args))
    }

    /// Reads the clusters and moves the centres to their means. Returns false if no point has
    /// changed its cluster.
    fn move_centres(&mut self, device: &Device) -> Result<bool, HostError> {
        let members = device.read_vec(self.members, self.points.count())?;
        let changed = members != self.membership;
        self.membership = members;
        if changed {
            self.centres = self.points.centres(&self.membership, &self.centres);
        }
        Ok(changed)
    }

    fn checks(&self, device: &Device) -> Result<Vec<Check>, HostError> {
        let mut checks = Vec::new();
        if self.request.wants(INVERT) {
            let columns = device.output(self.columns, self.points.records.len())?;
            checks.push(equal("columns", &columns, &self.points.columns()));
        }
        if self.request.wants("cluster") {
            let inversions = u32::from(self.request.wants(INVERT));
            let iterations = device.launches_of(u32::MAX) - inversions;
            let members = device.last_output(self.members, self.points.count())?;
            let expected = self.points.clusters(iterations);
            checks.push(equal("clusters", &members, &expected));
        }
        Ok(checks)
    }
}

/// A texture over linear memory of floats.
fn linear_texture(base: DevicePtr, count: usize) -> Texture {
    Texture {
        base: base.0,
        width: count as u32,
        height: 1,
        depth: 1,
        layers: 1,
        pitch: 4 * count as u32,
        channels: 1,
        channel_bits: 32,
        kind: ChannelKind::Float,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_data_set_takes_a_square_of_1936_blocks() {
        assert_eq!(invert_shape(Size::Paper).grid, Dim3::linear(1936));
        assert_eq!(nearest_shape(Size::Paper).grid, Dim3::new(44, 44, 1));
    }
}
