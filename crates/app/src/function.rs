//! Kernel functions: launches, attributes and occupancy.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::module::FatBinary;
use crate::operation::Operation;
use crate::properties::CLUSTERS;
use warploom_base::Dim3;
use warploom_config::BlockNeeds;
use warploom_ir::{MOST_CLUSTER_BLOCKS, Program};
use warploom_run::{Arg, DevicePtr, HostAction, Launch};

/// Maximum number of threads of a block, and its maximum extents (CUDA C++ Programming Guide, all
/// capabilities).
const MAX_THREADS: u64 = 1024;
const MAX_BLOCK: Dim3 = Dim3 {
    x: 1024,
    y: 1024,
    z: 64,
};
/// Maximum extents of a grid.
const MAX_GRID: Dim3 = Dim3 {
    x: i32::MAX as u32,
    y: 65_535,
    z: 65_535,
};
/// Size in bytes of the workspace for the barrier of a cooperative launch. Its first word is its
/// size, and the second one is the barrier (CUDA's `cooperative_groups`).
const WORKSPACE_BYTES: u32 = 8;

/// A launch that the program requests.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRequest {
    /// Function, given by the address that the host uses to launch it.
    pub function: u64,
    /// Extents of the grid in blocks.
    pub grid: Dim3,
    /// Extents of a block in threads.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u64,
    /// Arguments, each with the size of its parameter.
    pub arguments: Vec<Vec<u8>>,
    /// True if all blocks must be resident at the same time.
    pub cooperative: bool,
    /// Number of blocks of a cluster in each dimension, if the launch states it.
    pub cluster: Option<Dim3>,
}

/// Occupancy of the GPU by clusters of blocks of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterOccupancy {
    /// Number of clusters that the GPU holds at once (`cudaOccupancyMaxActiveClusters`).
    pub clusters: u32,
    /// Most blocks of a cluster that can be launched (`cudaOccupancyMaxPotentialClusterSize`).
    pub largest: u32,
}

/// Result of `cudaFuncGetAttributes` for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// Static shared memory in bytes.
    pub shared_bytes: u64,
    /// Constant memory of the function's module in bytes.
    pub constant_bytes: u64,
    /// Local memory of a thread in bytes.
    pub local_bytes: u64,
    /// Maximum number of threads of a block.
    pub max_threads: i32,
    /// Number of registers of a thread.
    pub registers: i32,
    /// Architecture of the function's PTX, such as 75 for `compute_75`.
    pub ptx_version: i32,
    /// Architecture of the machine code that a GPU would generate: that of the device, or of the
    /// PTX if that is newer. A real GPU could not run the latter.
    pub binary_version: i32,
    /// Maximum dynamic shared memory in bytes.
    pub max_dynamic_shared: i32,
}

/// Occupancy of an SM by blocks of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Number of blocks that fit in an empty SM.
    pub blocks: u32,
}

/// Most blocks of a cluster that all GPUs with clusters take (CUDA C++ Programming Guide, "Thread
/// Block Clusters"). A function has to allow larger ones.
const PORTABLE_CLUSTER: u32 = 8;
/// Maximum dynamic shared memory of a block unless the program requests more
/// (`cudaFuncAttributeMaxDynamicSharedMemorySize`).
const DEFAULT_MAX_DYNAMIC_SHARED: u32 = 48 << 10;

impl Context {
    /// Sizes of a function's parameters in bytes, in their order.
    pub fn parameters(&mut self, function: u64) -> Cuda<Vec<u64>> {
        let (_, program) = self.program(function)?;
        Ok(program
            .params
            .iter()
            .map(|param| u64::from(param.bytes))
            .collect())
    }

    /// Offset and size in bytes of a parameter.
    pub fn parameter(&mut self, function: u64, number: usize) -> Cuda<(u64, u64)> {
        let (_, program) = self.program(function)?;
        let param = program.params.get(number);
        let place = param.map(|param| (param.offset.into(), param.bytes.into()));
        place.ok_or(CudaError::INVALID_VALUE)
    }

    /// Name of a function in PTX.
    pub fn function_name(&self, function: u64) -> Cuda<&str> {
        let own = self.functions.get(&function);
        own.map(|own| own.name.as_str())
            .ok_or(CudaError::INVALID_DEVICE_FUNCTION)
    }

    /// Launches a kernel in a stream (`cudaLaunchKernel`).
    pub fn launch(&mut self, request: LaunchRequest, stream: u64) -> Cuda {
        self.check_launch(&request)?;
        if let Some(stream) = self.capturing(stream)? {
            return self.capture(stream, Operation::Launch(request));
        }
        let stream = self.busy_stream(stream)?;
        self.perform_launch(request, stream)
    }

    /// Checks whether a launch can be executed.
    pub(crate) fn check_launch(&mut self, request: &LaunchRequest) -> Cuda {
        let (function, program) = self.program(request.function)?;
        let (grid, block) = (request.grid, request.block);
        if !within(grid, MAX_GRID) || !within(block, MAX_BLOCK) || block.count() > MAX_THREADS {
            return Err(CudaError::INVALID_CONFIGURATION);
        }
        let most = function
            .dynamic_shared
            .unwrap_or(0)
            .max(self.default_shared());
        let shared = u64::from(program.shared_bytes) + request.shared_bytes;
        if shared > u64::from(most.min(self.spec.sm.max_shared_bytes_per_block)) {
            return Err(CudaError::INVALID_VALUE);
        }
        self.check_bounds(&program, block)?;
        self.check_units(&program, &function.name)?;
        let fit = self.blocks(
            &program,
            &function.name,
            block.count() as u32,
            shared as u32,
        );
        if fit == 0 {
            return Err(CudaError::LAUNCH_OUT_OF_RESOURCES);
        }
        self.check_cluster(&program, request, fit)?;
        let resident = u64::from(fit) * u64::from(self.spec.gpu.sms);
        if request.cooperative && grid.count() > resident {
            return Err(CudaError::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        Ok(())
    }

    /// Checks the clusters of a launch, of whose blocks `fit` fit in an SM.
    fn check_cluster(&self, program: &Program, request: &LaunchRequest, fit: u32) -> Cuda {
        let required = program.cluster.required.map(|[x, y, z]| Dim3::new(x, y, z));
        let Some(cluster) = request.cluster.or(required) else {
            return match program.cluster.explicit {
                true => Err(CudaError::INVALID_CLUSTER_SIZE),
                false => Ok(()),
            };
        };
        let most = self.largest_cluster(request.function, fit);
        let blocks = cluster.count();
        let whole = |grid: u32, extent: u32| {
            extent > 0 && (program.cluster.blocks_are_clusters || grid.is_multiple_of(extent))
        };
        let grid = request.grid;
        let divides =
            whole(grid.x, cluster.x) && whole(grid.y, cluster.y) && whole(grid.z, cluster.z);
        let allowed = required.is_none_or(|required| required == cluster)
            && program
                .cluster
                .max_rank
                .is_none_or(|most| blocks <= u64::from(most));
        if blocks <= u64::from(most) && divides && allowed {
            Ok(())
        } else {
            Err(CudaError::INVALID_CLUSTER_SIZE)
        }
    }

    /// True if the GPU has clusters of blocks.
    pub fn has_clusters(&self) -> bool {
        self.capability() >= CLUSTERS
    }

    /// Most blocks of a cluster of a function, of whose blocks `fit` fit in an SM.
    fn largest_cluster(&self, function: u64, fit: u32) -> u32 {
        let own = self.functions.get(&function);
        let most = match own.is_some_and(|own| own.large_clusters) {
            true => MOST_CLUSTER_BLOCKS,
            false => PORTABLE_CLUSTER,
        };
        let gpu = &self.spec.gpu;
        most.min(gpu.sms.div_ceil(gpu.gpcs).saturating_mul(fit))
    }

    /// Number of clusters of a launch that the GPU holds at once, and most blocks of one.
    pub fn cluster_occupancy(&mut self, request: &LaunchRequest) -> Cuda<ClusterOccupancy> {
        let (own, program) = self.program(request.function)?;
        let shared = u64::from(program.shared_bytes) + request.shared_bytes;
        let threads = request.block.count();
        if threads == 0 || threads > MAX_THREADS {
            return Err(CudaError::INVALID_CONFIGURATION);
        }
        let fits = shared <= u64::from(self.spec.sm.max_shared_bytes_per_block);
        let fit = match fits {
            true => self.blocks(&program, &own.name, threads as u32, shared as u32),
            false => 0,
        };
        let required = program.cluster.required.map(|[x, y, z]| Dim3::new(x, y, z));
        let cluster = request.cluster.or(required);
        let cluster = cluster.map_or(1, |cluster| cluster.count().max(1));
        let gpu = &self.spec.gpu;
        let of_gpc = |gpc: u32| u64::from(gpu.gpc(gpc).len() as u32 * fit) / cluster;
        let clusters: u64 = (0..gpu.gpcs).map(of_gpc).sum();
        Ok(ClusterOccupancy {
            clusters: clusters as u32,
            largest: self.largest_cluster(request.function, fit),
        })
    }

    /// Launches a kernel in the order of a simulated stream.
    pub(crate) fn perform_launch(&mut self, request: LaunchRequest, stream: u32) -> Cuda {
        let (function, _) = self.program(request.function)?;
        let (grid, block) = (request.grid, request.block);
        let module = self.load(function.module)?;
        self.bind_references(function.module)?;
        self.send_shadows(stream, &request.arguments)?;
        let workspace = if request.cooperative {
            Some(self.workspace(stream)?)
        } else {
            None
        };
        let arguments = request.arguments.into_iter().map(Arg::Bytes).collect();
        self.act(HostAction::Launch(Launch {
            dynamic_shared_bytes: request.shared_bytes as u32,
            registers_per_thread: self.settings.registers_of(&function.name),
            stream,
            workspace,
            cluster: request.cluster,
            ..Launch::new(module, &function.name, grid, block, arguments)
        }))
    }

    /// Workspace for the barriers of cooperative launches in a stream. The kernels of a stream run
    /// one after another, and each leaves the workspace as it was.
    fn workspace(&mut self, stream: u32) -> Cuda<DevicePtr> {
        if let Some(workspace) = self.workspaces.get(&stream) {
            return Ok(*workspace);
        }
        let words = [WORKSPACE_BYTES, 0];
        let workspace = self.with(move |device| device.alloc_slice(&words))?;
        let workspace = workspace.map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        self.workspaces.insert(stream, workspace);
        Ok(workspace)
    }

    /// Default maximum of dynamic shared memory in bytes.
    fn default_shared(&self) -> u32 {
        DEFAULT_MAX_DYNAMIC_SHARED.min(self.spec.sm.max_shared_bytes_per_block)
    }

    /// Rejects kernels that use units which the GPU does not have, since they cannot be timed.
    fn check_units(&mut self, program: &Program, name: &str) -> Cuda {
        let units = self.spec.sm.units.tensor.count;
        if self.settings.functional || units > 0 || !program.multiplies_matrices() {
            return Ok(());
        }
        let gpu = &self.spec.name;
        self.show_once(&format!(
            "{name} multiplies matrices (mma, wmma), and {gpu} has no tensor units: its launch \
             returns cudaErrorNoKernelImageForDevice; take a GPU that has them, such as \
             qv100-volta, or --functional"
        ));
        Err(CudaError::NO_KERNEL_IMAGE)
    }

    /// Checks the block size against the directives of the kernel.
    fn check_bounds(&self, program: &Program, block: Dim3) -> Cuda {
        let product = |[x, y, z]: [u32; 3]| u64::from(x) * u64::from(y) * u64::from(z);
        let too_many = |most: [u32; 3]| block.count() > product(most);
        if program.max_threads.is_some_and(too_many) {
            return Err(CudaError::INVALID_VALUE);
        }
        let other = |size: [u32; 3]| size != [block.x, block.y, block.z];
        if program.required_threads.is_some_and(other) {
            Err(CudaError::INVALID_CONFIGURATION)
        } else {
            Ok(())
        }
    }

    /// Registers of a thread of a kernel: the number in the settings, or that of the compiler.
    fn registers(&self, program: &Program, name: &str) -> u32 {
        let said = self.settings.registers_of(name);
        said.unwrap_or(program.registers_per_thread)
            .clamp(1, self.spec.sm.max_registers_per_thread)
    }

    /// Number of blocks of a kernel that fit in an empty SM.
    fn blocks(&self, program: &Program, name: &str, threads: u32, shared: u32) -> u32 {
        let sm = &self.spec.sm;
        let registers = self.registers(program, name);
        let needs = BlockNeeds::new(threads, registers, shared, sm);
        needs.blocks_per_sm(u64::MAX, sm, &self.spec.gpu).0
    }

    /// Number of blocks of a function that fit in an SM
    /// (`cudaOccupancyMaxActiveBlocksPerMultiprocessor`).
    pub fn occupancy(&mut self, function: u64, threads: i32, shared: u64) -> Cuda<Occupancy> {
        let (own, program) = self.program(function)?;
        let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0);
        let threads = threads.ok_or(CudaError::INVALID_VALUE)?;
        let shared = u64::from(program.shared_bytes) + shared;
        if u64::from(threads) > MAX_THREADS
            || shared > u64::from(self.spec.sm.max_shared_bytes_per_block)
        {
            return Ok(Occupancy { blocks: 0 });
        }
        let blocks = self.blocks(&program, &own.name, threads, shared as u32);
        Ok(Occupancy { blocks })
    }

    /// Block size, of some with their dynamic shared memory in bytes, at which most threads of a
    /// function fit in an SM; the first of equal ones. Also the number of such blocks that fill the
    /// device (`cuOccupancyMaxPotentialBlockSize`).
    pub fn best_block(&mut self, function: u64, sizes: &[(i32, u64)]) -> Cuda<(u32, i32)> {
        let (mut most, mut best) = (0, (0, 0));
        for (threads, shared) in sizes {
            let blocks = self.occupancy(function, *threads, *shared)?.blocks;
            let resident = u64::from(blocks) * threads.unsigned_abs() as u64;
            if resident > most {
                (most, best) = (resident, (blocks * self.spec.gpu.sms, *threads));
            }
        }
        Ok(best)
    }

    /// Maximum dynamic shared memory in bytes with which `blocks` blocks fit in an SM.
    pub fn available_shared(&mut self, function: u64, blocks: i32) -> Cuda<u64> {
        let (_, program) = self.program(function)?;
        let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0);
        let blocks = blocks.ok_or(CudaError::INVALID_VALUE)?;
        let sm = &self.spec.sm;
        let share = (sm.shared_bytes / blocks).min(sm.max_shared_bytes_per_block);
        Ok(share.saturating_sub(program.shared_bytes).into())
    }

    /// Attributes of a function (`cudaFuncGetAttributes`).
    pub fn function_attributes(&mut self, function: u64) -> Cuda<FunctionAttributes> {
        let (own, program) = self.program(function)?;
        let registers = self.registers(&program, &own.name);
        let fitting = self.spec.sm.registers / (registers.max(1) * 32) * 32;
        let bound = program.max_threads.map_or(u64::MAX, |[x, y, z]| {
            u64::from(x) * u64::from(y) * u64::from(z)
        });
        let most = own.dynamic_shared.unwrap_or(0).max(self.default_shared());
        let arch = self.architecture(own.module);
        let constant_bytes = self.constant_bytes(own.module)?;
        Ok(FunctionAttributes {
            shared_bytes: program.shared_bytes.into(),
            constant_bytes,
            local_bytes: program.local_bytes.into(),
            max_threads: bound.min(MAX_THREADS).min(fitting.into()) as i32,
            registers: registers as i32,
            ptx_version: arch as i32,
            binary_version: self.capability().max(arch) as i32,
            max_dynamic_shared: most.saturating_sub(program.shared_bytes) as i32,
        })
    }

    /// Size in bytes of the constants that a module declares.
    fn constant_bytes(&mut self, module: FatBinary) -> Cuda<u64> {
        let id = self.load(module)?;
        self.with(move |device| {
            let globals = device.module(id).globals.iter();
            globals
                .filter(|own| own.constant)
                .map(|own| own.bytes)
                .sum()
        })
    }

    /// Sets an attribute of a function: 8 is the maximum dynamic shared memory, 9 a preference for
    /// the division of the cache, 14 permits clusters of more than eight blocks, and 15 is a
    /// preference for the places of clusters. The preferences have no effect.
    pub fn set_function_attribute(&mut self, function: u64, attribute: i32, value: i32) -> Cuda {
        let (_, program) = self.program(function)?;
        match (attribute, u32::try_from(value)) {
            (8, Ok(bytes)) => {
                let most = self.spec.sm.max_shared_bytes_per_block;
                let all = bytes.saturating_add(program.shared_bytes);
                if all > most {
                    return Err(CudaError::INVALID_VALUE);
                }
                if let Some(own) = self.functions.get_mut(&function) {
                    own.dynamic_shared = Some(all);
                }
                Ok(())
            }
            (14, Ok(allowed)) => {
                if let Some(own) = self.functions.get_mut(&function) {
                    own.large_clusters = allowed != 0;
                }
                Ok(())
            }
            (9 | 15, _) => Ok(()),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }
}

/// True if all extents are between 1 and their maximum.
fn within(size: Dim3, most: Dim3) -> bool {
    let inside = |extent: u32, most: u32| (1..=most).contains(&extent);
    inside(size.x, most.x) && inside(size.y, most.y) && inside(size.z, most.z)
}
