//! Runs cases on a GPU through NVIDIA's driver. The driver's library is loaded at run time, so that
//! building needs nothing of CUDA, and running needs only the driver.
//!
//! This is the only file of the chores with `unsafe`: it calls a C library, with memory of ours
//! that outlives each call. Functions and their types are those in the reference of the CUDA Driver
//! API.
#![allow(
    unsafe_code,
    reason = "the driver is a C library that is found at run time"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use anyhow::{Context as _, Result, bail, ensure};

use super::case::{BLOCK, Case, TUPLES};
use super::machine::Machine;
use crate::correlate::Job;

const LIBRARY: &CStr = c"libcuda.so.1";
/// Size of the buffer for the assembler's messages.
const LOG_BYTES: usize = 1 << 16;
/// Values of CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.
const LOG_OPTIONS: [c_uint; 2] = [5, 6];
/// Values of CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
const CAPABILITY: [c_int; 2] = [75, 76];
/// Value of the attribute CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
const DYNAMIC_SHARED: c_int = 8;
/// Dynamic shared memory in bytes that every kernel may have.
const SHARED_BYTES: u32 = 48 << 10;
/// Value of the error CUDA_ERROR_NOT_FOUND.
const NOT_FOUND: c_int = 500;
/// Size of a buffer that is larger than any L2.
const FLUSHED_BYTES: usize = 1 << 28;
/// Largest number of operands and of results of a form.
const MOST_COLUMNS: usize = 16;

/// A handle of the driver: a pointer that only the driver dereferences.
type Handle = *mut c_void;

/// Declares the driver's functions, and finds them in the library.
macro_rules! functions {
    ($($name:ident = $symbol:literal ( $($arg:ty),* );)*) => {
        /// Pointers to the driver's functions.
        #[derive(Clone, Copy)]
        struct Functions {
            $($name: unsafe extern "C" fn($($arg),*) -> c_int,)*
        }

        impl Functions {
            fn find(library: Handle) -> Result<Self> {
                Ok(Self {
                    $($name: {
                        type Signature = unsafe extern "C" fn($($arg),*) -> c_int;
                        let name = concat!($symbol, "\0");
                        // SAFETY: the name ends with a zero; the library stays loaded.
                        let found = unsafe { libc::dlsym(library, name.as_ptr().cast()) };
                        ensure!(!found.is_null(), "the driver has no {}", $symbol);
                        // SAFETY: the driver's reference gives this function this type.
                        unsafe { std::mem::transmute::<Handle, Signature>(found) }
                    },)*
                })
            }
        }
    };
}

functions! {
    init = "cuInit"(c_uint);
    version = "cuDriverGetVersion"(*mut c_int);
    error_name = "cuGetErrorName"(c_int, *mut *const c_char);
    device = "cuDeviceGet"(*mut c_int, c_int);
    name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    retain = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
    set_current = "cuCtxSetCurrent"(Handle);
    synchronize = "cuCtxSynchronize"();
    load = "cuModuleLoadDataEx"(*mut Handle, *const c_void, c_uint, *const c_uint, *mut Handle);
    unload = "cuModuleUnload"(Handle);
    function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
    allocate = "cuMemAlloc_v2"(*mut u64, usize);
    free = "cuMemFree_v2"(u64);
    fill = "cuMemsetD32_v2"(u64, c_uint, usize);
    to_device = "cuMemcpyHtoD_v2"(u64, *const c_void, usize);
    from_device = "cuMemcpyDtoH_v2"(*mut c_void, u64, usize);
    launch = "cuLaunchKernel"(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void,
        *mut *mut c_void
    );
    set_function = "cuFuncSetAttribute"(Handle, c_int, c_int);
    variable = "cuModuleGetGlobal_v2"(*mut u64, *mut usize, Handle, *const c_char);
    profiler_start = "cuProfilerStart"();
    profiler_stop = "cuProfilerStop"();
}

/// Launch of a kernel of the loaded module.
pub struct GpuLaunch<'a> {
    /// Name of the kernel's entry.
    pub kernel: &'a str,
    /// Number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// Number of threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_bytes: u32,
    /// Bytes of each parameter, as many as the kernel declares.
    pub arguments: Vec<Vec<u8>>,
}

/// The first GPU, with a context that every thread can make current.
pub struct Gpu {
    functions: Functions,
    context: Handle,
    /// Name of the GPU and version of the driver.
    pub description: String,
}

// SAFETY: a context may be used by all threads (CUDA Driver API, "Context Management").
unsafe impl Sync for Gpu {}

impl Gpu {
    /// Opens the first GPU, or reports what is missing.
    pub fn open() -> Result<Self> {
        // SAFETY: the name is a C string; the handle is kept for ever.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) };
        ensure!(
            !library.is_null(),
            "there is no NVIDIA driver here: `libcuda.so.1` cannot be loaded; run this on a \
             machine with an NVIDIA GPU"
        );
        let functions = Functions::find(library)?;
        let (mut device, mut context) = (0, null_mut());
        // SAFETY: every pointer is to a variable of this function.
        unsafe {
            check(&functions, "cuInit", (functions.init)(0))
                .context("the driver finds no usable GPU")?;
            check(
                &functions,
                "cuDeviceGet",
                (functions.device)(&mut device, 0),
            )?;
            let status = (functions.retain)(&mut context, device);
            check(&functions, "cuDevicePrimaryCtxRetain", status)?;
        }
        let description = describe(&functions, device)?;
        Ok(Self {
            functions,
            context,
            description,
        })
    }

    /// A machine for the calling thread.
    pub fn machine(&self) -> Result<GpuMachine<'_>> {
        let f = &self.functions;
        let mut buffers = [0; 2];
        // SAFETY: the context exists; the pointers are to a variable of this function.
        unsafe {
            check(f, "cuCtxSetCurrent", (f.set_current)(self.context))?;
            for buffer in &mut buffers {
                let bytes = 8 * MOST_COLUMNS * TUPLES;
                check(f, "cuMemAlloc", (f.allocate)(buffer, bytes))?;
            }
        }
        Ok(GpuMachine {
            functions: f,
            module: null_mut(),
            buffers,
        })
    }
}

/// Version of the driver, from the file in which it reports it: the first word of digits and dots.
fn version_of_driver() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.split_whitespace().find(is_version).map(str::to_owned)
}

/// Text with name, architecture and driver of the GPU.
fn describe(functions: &Functions, device: c_int) -> Result<String> {
    let mut name = [0; 256];
    let (mut version, mut capability) = (0, [0; 2]);
    // SAFETY: every pointer is to a variable of this function, the name's with its length.
    unsafe {
        let length = name.len() as c_int;
        let status = (functions.name)(name.as_mut_ptr(), length, device);
        check(functions, "cuDeviceGetName", status)?;
        check(
            functions,
            "cuDriverGetVersion",
            (functions.version)(&mut version),
        )?;
        for (value, which) in capability.iter_mut().zip(CAPABILITY) {
            let status = (functions.attribute)(value, which, device);
            check(functions, "cuDeviceGetAttribute", status)?;
        }
    }
    let bytes = name.map(|byte| byte as u8);
    let name = CStr::from_bytes_until_nul(&bytes)?.to_string_lossy();
    let [major, minor] = capability;
    let cuda = format!("{}.{}", version / 1000, version % 1000 / 10);
    let driver = version_of_driver().unwrap_or_else(|| "unknown".to_owned());
    Ok(format!(
        "{name} (sm_{major}{minor}), driver {driver}, CUDA {cuda}"
    ))
}

/// Returns an error with the driver's name for it, unless the status is success.
fn check(functions: &Functions, what: &str, status: c_int) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    let mut name = null();
    // SAFETY: the pointer is to a variable; the driver gives a string that is never freed.
    let word = unsafe {
        (functions.error_name)(status, &mut name);
        if name.is_null() {
            "an unknown error".into()
        } else {
            CStr::from_ptr(name).to_string_lossy()
        }
    };
    bail!("{what}: {word} ({status})")
}

/// A GPU as one thread uses it: one module at a time, and buffers for operands and results.
pub struct GpuMachine<'a> {
    functions: &'a Functions,
    module: Handle,
    /// Addresses of the buffers for operands and results.
    buffers: [u64; 2],
}

impl GpuMachine<'_> {
    fn check(&self, what: &str, status: c_int) -> Result<()> {
        check(self.functions, what, status)
    }

    /// Runs a probe on caches without its data, and returns the numbers that it writes.
    pub fn probe(&mut self, job: &Job) -> Result<Vec<u64>> {
        self.load(&job.ptx)?;
        let f = self.functions;
        let sizes = [8 * job.results, job.data_bytes as usize, FLUSHED_BYTES];
        let mut buffers = [0; 3];
        let mut results = vec![0_u64; job.results];
        // SAFETY: the pointers are to variables of this function, with their lengths; each buffer
        // has the size that is filled, written or read, and is freed at the end.
        unsafe {
            for (buffer, bytes) in buffers.iter_mut().zip(sizes) {
                self.check("cuMemAlloc", (f.allocate)(buffer, bytes))?;
            }
            let [out, data, flushed] = buffers;
            for (cell, target) in &job.cells {
                let address = data + target;
                let status = (f.to_device)(data + cell, (&raw const address).cast(), 8);
                self.check("cuMemcpyHtoD", status)?;
            }
            // The fill takes the place of all other lines in L2.
            self.check("cuMemsetD32", (f.fill)(flushed, 0, FLUSHED_BYTES / 4))?;
            self.launch_pair("k", (job.blocks, job.threads), [out, data])?;
            let status = (f.from_device)(results.as_mut_ptr().cast(), out, sizes[0]);
            self.check("cuMemcpyDtoH", status)?;
            for buffer in buffers {
                self.check("cuMemFree", (f.free)(buffer))?;
            }
        }
        Ok(results)
    }

    fn unload(&mut self) {
        if !self.module.is_null() {
            // SAFETY: the module was loaded and nothing of it runs.
            unsafe { (self.functions.unload)(self.module) };
            self.module = null_mut();
        }
    }

    /// Launches a kernel and waits for its end.
    pub fn launch(&self, launch: &GpuLaunch<'_>) -> Result<()> {
        let f = self.functions;
        let name = CString::new(launch.kernel)?;
        let [grid, block] = [launch.grid, launch.block];
        let shared = launch.dynamic_shared_bytes;
        let mut values = launch.arguments.clone();
        let mut arguments: Vec<Handle> = values.iter_mut().map(|v| v.as_mut_ptr().cast()).collect();
        let mut function = null_mut();
        // SAFETY: name and module exist. The arguments are pointers to values of this function, as
        // many and as long as the kernel declares, which the caller ensures.
        unsafe {
            let status = (f.function)(&mut function, self.module, name.as_ptr());
            self.check("cuModuleGetFunction", status)?;
            if shared > SHARED_BYTES {
                let status = (f.set_function)(function, DYNAMIC_SHARED, shared as c_int);
                self.check("cuFuncSetAttribute", status)?;
            }
            let status = (f.launch)(
                function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                null_mut(),
                arguments.as_mut_ptr(),
                null_mut(),
            );
            self.check("cuLaunchKernel", status)?;
            self.check("cuCtxSynchronize", (f.synchronize)())
        }
    }

    /// Launches a kernel with two parameters, both addresses.
    fn launch_pair(&self, kernel: &str, shape: (u32, u32), addresses: [u64; 2]) -> Result<()> {
        let (grid, block) = shape;
        self.launch(&GpuLaunch {
            kernel,
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared_bytes: 0,
            arguments: addresses.map(|a| a.to_le_bytes().to_vec()).to_vec(),
        })
    }

    /// Allocates memory and returns its address.
    pub fn allocate(&self, bytes: u64) -> Result<u64> {
        let mut address = 0;
        // SAFETY: the pointer is to a variable of this function.
        let status = unsafe { (self.functions.allocate)(&mut address, bytes.max(1) as usize) };
        self.check("cuMemAlloc", status)?;
        Ok(address)
    }

    /// Frees memory that [`Self::allocate`] returned.
    pub fn release(&self, address: u64) -> Result<()> {
        // SAFETY: nothing runs between two calls of this machine.
        self.check("cuMemFree", unsafe { (self.functions.free)(address) })
    }

    /// Copies bytes to the GPU.
    pub fn write(&self, to: u64, bytes: &[u8]) -> Result<()> {
        let (from, count) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the length is the slice's; the driver refuses addresses that are not allocated.
        let status = unsafe { (self.functions.to_device)(to, from, count) };
        self.check("cuMemcpyHtoD", status)
    }

    /// Copies bytes from the GPU.
    pub fn read(&self, from: u64, bytes: &mut [u8]) -> Result<()> {
        let (to, count) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: the length is the slice's; the driver refuses addresses that are not allocated.
        let status = unsafe { (self.functions.from_device)(to, from, count) };
        self.check("cuMemcpyDtoH", status)
    }

    /// Address of a variable of the loaded module, if the assembler kept it.
    pub fn variable(&self, name: &str) -> Result<Option<u64>> {
        let name = CString::new(name)?;
        let (mut address, mut bytes) = (0, 0);
        let f = self.functions;
        // SAFETY: the pointers are to variables of this function; the module is loaded.
        let status = unsafe { (f.variable)(&mut address, &mut bytes, self.module, name.as_ptr()) };
        if status == NOT_FOUND {
            return Ok(None);
        }
        self.check("cuModuleGetGlobal", status)?;
        Ok(Some(address))
    }

    /// Starts or stops a profiler that observes this process. Without one nothing happens.
    pub fn profile(&self, on: bool) -> Result<()> {
        let f = self.functions;
        // SAFETY: both functions take nothing.
        let status = unsafe {
            if on {
                (f.profiler_start)()
            } else {
                (f.profiler_stop)()
            }
        };
        self.check("cuProfilerStart", status)
    }
}

impl Machine for GpuMachine<'_> {
    fn load(&mut self, text: &str) -> Result<()> {
        self.unload();
        let text = CString::new(text)?;
        let mut log = vec![0_u8; LOG_BYTES];
        let mut values: [Handle; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as Handle];
        // SAFETY: the text ends with a zero; the options are a buffer and its size, as values.
        let status = unsafe {
            (self.functions.load)(
                &mut self.module,
                text.as_ptr().cast(),
                LOG_OPTIONS.len() as c_uint,
                LOG_OPTIONS.as_ptr(),
                values.as_mut_ptr(),
            )
        };
        let said = CStr::from_bytes_until_nul(&log).unwrap_or_default();
        self.check("cuModuleLoadDataEx", status)
            .with_context(|| said.to_string_lossy().into_owned())
    }

    fn run(&mut self, number: usize, case: &Case, input: &[u8]) -> Result<Vec<u8>> {
        ensure!(
            case.inputs.len().max(case.outputs.len()) <= MOST_COLUMNS,
            "more operands than the buffer holds"
        );
        let f = self.functions;
        let [from, to] = self.buffers;
        let mut output = vec![0; case.output_bytes()];
        // SAFETY: both buffers are as large as the most operands need; lengths are the slices'.
        unsafe {
            let status = (f.to_device)(from, input.as_ptr().cast(), input.len());
            self.check("cuMemcpyHtoD", status)?;
            self.check("cuMemsetD32", (f.fill)(to, 0, output.len() / 4))?;
        }
        let shape = ((TUPLES / BLOCK) as u32, BLOCK as u32);
        self.launch_pair(&format!("k{number}"), shape, self.buffers)?;
        // SAFETY: as for the copy to the device.
        let status = unsafe { (f.from_device)(output.as_mut_ptr().cast(), to, output.len()) };
        self.check("cuMemcpyDtoH", status)?;
        Ok(output)
    }
}

impl Drop for GpuMachine<'_> {
    fn drop(&mut self) {
        self.unload();
        for buffer in self.buffers {
            // SAFETY: allocated by `Gpu::machine`, freed nowhere else.
            unsafe { (self.functions.free)(buffer) };
        }
    }
}
