//! Kernel launches and calls of host functions.

use crate::cu;
use crate::ffi::{bytes, get, put, put_if};
use crate::process::{call_function, call_with, with};
use crate::types::{CDim3, CLaunchAttribute, CLaunchConfiguration};
use std::ffi::c_void;
use warploom_app::{
    ClusterOccupancy, Configuration, Context, Cuda, CudaError, HostCall, LaunchRequest,
};
use warploom_base::Dim3;

/// Number of the attribute `cudaLaunchAttributeCooperative`, and of the driver's attribute.
const COOPERATIVE: i32 = 2;
/// Number of the attribute `cudaLaunchAttributeClusterDimension`, and of the driver's attribute.
const CLUSTER: i32 = 4;

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: CDim3,
    block: CDim3,
    shared: usize,
    stream: u64,
) -> u32 {
    let thread = std::thread::current().id();
    let configuration = Configuration {
        grid: grid.into(),
        block: block.into(),
        shared_bytes: shared as u64,
        stream,
    };
    // The program launches the kernel if the result is 0.
    let pushed = with(|context| context.push_configuration(thread, configuration));
    u32::from(pushed.is_err())
}

runtime! {
    fn __cudaPopCallConfiguration(
        grid: *mut CDim3,
        block: *mut CDim3,
        shared: *mut usize,
        stream: *mut u64,
    ) |context| {
        let configuration = context.pop_configuration(std::thread::current().id())?;
        put_if(grid, configuration.grid.into());
        put_if(block, configuration.block.into());
        put_if(shared, configuration.shared_bytes as usize);
        put_if(stream, configuration.stream);
        Ok(())
    }

    fn __cudaGetKernel(kernel: *mut u64, function: u64) |_context| {
        // The handle of a kernel is the address that the host uses to launch it.
        put(kernel, function)
    }

    fn cudaGetKernel(kernel: *mut u64, function: u64) |context| {
        context.parameters(function)?;
        put(kernel, function)
    }

    fn cudaGetFuncBySymbol(kernel: *mut u64, function: u64) |context| {
        context.parameters(function)?;
        put(kernel, function)
    }

    fn cudaLaunchKernel / cudaLaunchKernel_ptsz / __cudaLaunchKernel / __cudaLaunchKernel_ptsz (
        function: u64,
        grid: CDim3,
        block: CDim3,
        arguments: *const *const u8,
        shared: usize,
        stream: u64,
    ) |context| {
        let shape = (grid, block, shared, stream);
        launch(context, function, shape, arguments, Manner::default())
    }

    fn cudaLaunchCooperativeKernel / cudaLaunchCooperativeKernel_ptsz (
        function: u64,
        grid: CDim3,
        block: CDim3,
        arguments: *const *const u8,
        shared: usize,
        stream: u64,
    ) |context| {
        let shape = (grid, block, shared, stream);
        launch(context, function, shape, arguments, Manner::COOPERATIVE)
    }

    fn cudaLaunchKernelExC / cudaLaunchKernelExC_ptsz (
        configuration: *const CLaunchConfiguration,
        function: u64,
        arguments: *const *const u8,
    ) |context| {
        let own = get(configuration)?;
        let how = Manner::of(context, "cudaLaunchKernelExC", own.attributes())?;
        let shape = (own.grid, own.block, own.shared_bytes, own.stream);
        launch(context, function, shape, arguments, how)
    }

    fn cudaOccupancyMaxActiveClusters(
        to: *mut i32, function: u64, configuration: *const CLaunchConfiguration,
    ) |context| {
        let own = get(configuration)?;
        let fit = cluster_occupancy(context, function, own.shape(), own.attributes())?;
        put(to, fit.clusters as i32)
    }

    fn cudaOccupancyMaxPotentialClusterSize(
        to: *mut i32, function: u64, configuration: *const CLaunchConfiguration,
    ) |context| {
        let own = get(configuration)?;
        let fit = cluster_occupancy(context, function, own.shape(), own.attributes())?;
        put(to, fit.largest as i32)
    }
}

/// Occupancy of the GPU by clusters of a launch with some attributes, by address and number.
///
/// # Safety
/// The address is null or that of as many attributes.
pub unsafe fn cluster_occupancy(
    context: &mut Context,
    function: u64,
    shape: (CDim3, CDim3, usize),
    attributes: (*const CLaunchAttribute, u32),
) -> Cuda<ClusterOccupancy> {
    // SAFETY: the caller fulfils the requirements of this function.
    let how = unsafe { Manner::of(context, "a query of the occupancy", attributes) }?;
    context.cluster_occupancy(&how.request(function, shape, Vec::new()))
}

/// How the blocks of a launch are to run.
#[derive(Clone, Copy, Default)]
pub struct Manner {
    /// True if all of them have to be resident at the same time.
    pub cooperative: bool,
    /// Number of blocks of a cluster in each dimension, if the launch states it.
    pub cluster: Option<Dim3>,
}

impl Manner {
    /// Manner of a cooperative launch.
    pub const COOPERATIVE: Self = Self {
        cooperative: true,
        cluster: None,
    };

    /// Manner for which attributes, by address and number, ask. Fails if they ask for clusters and
    /// the GPU has none. `call` is the name of the called function.
    ///
    /// # Safety
    /// The address is null or that of as many attributes.
    pub unsafe fn of(
        context: &mut Context,
        call: &str,
        (attributes, count): (*const CLaunchAttribute, u32),
    ) -> Cuda<Self> {
        let mut how = Self::default();
        for at in 0..count as usize {
            // SAFETY: the caller fulfils the requirements of this function.
            let attribute = unsafe { get(attributes.wrapping_add(at)) }?;
            let [x, y, z, ..] = attribute.value;
            match attribute.id {
                COOPERATIVE => how.cooperative = x != 0,
                CLUSTER if [x, y, z] != [1, 1, 1] && !context.has_clusters() => {
                    return Err(context.unsupported(&format!("{call} with clusters")));
                }
                CLUSTER => how.cluster = Some(Dim3::new(x, y, z)),
                _ => {}
            }
        }
        Ok(how)
    }

    /// A launch with these arguments.
    pub fn request(
        self,
        function: u64,
        (grid, block, shared): (CDim3, CDim3, usize),
        arguments: Vec<Vec<u8>>,
    ) -> LaunchRequest {
        LaunchRequest {
            function,
            grid: grid.into(),
            block: block.into(),
            shared_bytes: shared as u64,
            arguments,
            cooperative: self.cooperative,
            cluster: self.cluster,
        }
    }
}

/// Launches a kernel in a stream.
///
/// # Safety
/// `arguments` is null or holds a pointer to the value of each parameter.
unsafe fn launch(
    context: &mut Context,
    function: u64,
    (grid, block, shared, stream): (CDim3, CDim3, usize, u64),
    arguments: *const *const u8,
    how: Manner,
) -> Cuda {
    let shape = (grid, block, shared);
    // SAFETY: the caller fulfils the requirements of this function.
    let request = unsafe { request(context, function, shape, arguments, how) }?;
    context.launch(request, stream)
}

/// Launch with copies of its arguments.
///
/// # Safety
/// `arguments` is null or holds a pointer to the value of each parameter.
pub unsafe fn request(
    context: &mut Context,
    function: u64,
    shape: (CDim3, CDim3, usize),
    arguments: *const *const u8,
    how: Manner,
) -> Cuda<LaunchRequest> {
    let sizes = context.parameters(function)?;
    let mut values = Vec::with_capacity(sizes.len());
    for (at, size) in sizes.into_iter().enumerate() {
        // SAFETY: the caller fulfils the requirements of this function.
        let value = unsafe { get(arguments.wrapping_add(at)) };
        let value = value.ok().filter(|_| !arguments.is_null());
        let value = value
            .filter(|value| !value.is_null())
            .ok_or(CudaError::INVALID_VALUE)?;
        // SAFETY: the caller fulfils the requirements of this function.
        values.push(unsafe { bytes(value, size) });
    }
    Ok(how.request(function, shape, values))
}

/// Calls a host function that was stored in a graph.
///
/// # Safety
/// The program passed the address of such a function with its argument.
pub unsafe fn call_host(call: HostCall) {
    // SAFETY: the caller fulfils the requirements of this function.
    let function = unsafe { std::mem::transmute::<usize, HostFunction>(call.function as usize) };
    if let Some(function) = function {
        // SAFETY: the caller fulfils the requirements of this function.
        call_function(|| unsafe { function(call.data as *mut c_void) });
    }
}

type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
type StreamCallback = Option<unsafe extern "C" fn(u64, i32, *mut c_void)>;

/// Defines the functions that call a host function in a stream. `$call` executes a call of the
/// runtime or of the driver. Each function has a variant for programs in which every thread has its
/// own default stream.
macro_rules! host_functions {
    ($call:path; $function:ident $callback:ident, $own:literal) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(stream: u64, function: HostFunction, data: *mut c_void) -> i32 {
            let Some(function) = function else {
                return $call($own, |_| Err(CudaError::INVALID_VALUE));
            };
            let call = HostCall {
                function: function as usize as u64,
                data: data as u64,
            };
            let mut now = false;
            let code = $call($own, |context| {
                now = context.call_in_stream(stream, call)?;
                Ok(())
            });
            if now {
                // SAFETY: the program passes a function that accepts its data.
                call_function(|| unsafe { function(data) });
            }
            code
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $callback(
            stream: u64,
            function: StreamCallback,
            data: *mut c_void,
            _flags: u32,
        ) -> i32 {
            let Some(function) = function else {
                return $call($own, |_| Err(CudaError::INVALID_VALUE));
            };
            let code = $call($own, |context| context.may_call_back(stream));
            if code == 0 {
                // The callback is called with the error code even if an earlier operation of the
                // stream failed.
                let status = $call($own, |context| context.synchronize_stream(stream));
                // SAFETY: the program passes a function that accepts its data.
                call_function(|| unsafe { function(stream, status, data) });
            }
            code
        }
    };
}

host_functions! { call_with; cudaLaunchHostFunc cudaStreamAddCallback, false }
host_functions! { call_with; cudaLaunchHostFunc_ptsz cudaStreamAddCallback_ptsz, true }
host_functions! { cu::call; cuLaunchHostFunc cuStreamAddCallback, false }
host_functions! { cu::call; cuLaunchHostFunc_ptsz cuStreamAddCallback_ptsz, true }
