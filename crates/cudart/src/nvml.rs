//! Queries of the machine as NVIDIA's management library (NVML, `libnvidia-ml.so.1`) answers them.
//!
//! The functions are in the same library as those of the runtime and of the driver, and describe
//! the same device. What a simulated GPU does not have, such as a temperature or a fan, is reported
//! as not supported. Layouts and numbers are those of `nvml.h`.

use crate::cu::{DRIVER_VERSION, UUID};
use crate::device::{BUS, require_bus};
use crate::error::lasting;
use crate::ffi::{put, put_bytes, text};
use crate::process::with;
use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, Ordering};
use warploom_app::{Context, CudaError};

/// Error of a call, as `nvmlReturn_t` numbers it.
#[derive(Clone, Copy)]
struct NvmlError(i32);

const UNINITIALIZED: NvmlError = NvmlError(1);
const INVALID_ARGUMENT: NvmlError = NvmlError(2);
const NOT_SUPPORTED: NvmlError = NvmlError(3);
const NOT_FOUND: NvmlError = NvmlError(6);
const INSUFFICIENT_SIZE: NvmlError = NvmlError(7);
const DRIVER_NOT_LOADED: NvmlError = NvmlError(9);

/// Texts of errors by number.
const TEXTS: &[(i32, &str)] = &[
    (0, "Success"),
    (1, "Uninitialized"),
    (2, "Invalid Argument"),
    (3, "Not Supported"),
    (6, "Not Found"),
    (7, "Insufficient Size"),
    (9, "Driver Not Loaded"),
];

impl From<CudaError> for NvmlError {
    /// A null pointer is the only error of the functions that are used here.
    fn from(_: CudaError) -> Self {
        INVALID_ARGUMENT
    }
}

type Nvml<T = ()> = Result<T, NvmlError>;

/// Number of initialisations that were not shut down.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// Handle of the one device.
const DEVICE: u64 = 0x3000;
/// Releases of NVIDIA's driver and of its management library that belong to CUDA 13.5, by the
/// version of the Python package `nvidia-ml-py`.
const DRIVER: &str = "615.71";
const LIBRARY: &str = "13.615.71";
/// Identifier of NVIDIA as a maker of PCI devices, in the place of the whole identifier.
const VENDOR: u32 = 0x10de;

/// Layout of `nvmlPciInfo_t` in the header.
#[repr(C)]
pub struct CPci {
    legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    id: u32,
    subsystem: u32,
    name: [u8; 32],
}

/// Layout of `nvmlMemory_t` in the header.
#[repr(C)]
pub struct CMemory {
    total: u64,
    free: u64,
    used: u64,
}

/// Layout of `nvmlMemory_v2_t` in the header.
#[repr(C)]
pub struct CMemory2 {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

/// Layout of `nvmlUtilization_t`, in percent.
#[repr(C)]
pub struct CUtilization {
    gpu: u32,
    memory: u32,
}

/// Executes a call with the context after the library was initialised.
fn call(action: impl FnOnce(&mut Context) -> Nvml) -> i32 {
    let started = STARTED.load(Ordering::Relaxed) > 0;
    let result = match started {
        true => with(action).unwrap_or(Err(DRIVER_NOT_LOADED)),
        false => Err(UNINITIALIZED),
    };
    result.map_or_else(|error| error.0, |()| 0)
}

/// Initialises the library once more.
fn start() -> i32 {
    STARTED.fetch_add(1, Ordering::Relaxed);
    // The settings of the process may be wrong.
    let code = call(|_| Ok(()));
    if code != 0 {
        STARTED.fetch_sub(1, Ordering::Relaxed);
    }
    code
}

/// Checks that a handle is that of the device.
fn check(device: u64) -> Nvml {
    match device {
        DEVICE => Ok(()),
        _ => Err(INVALID_ARGUMENT),
    }
}

/// Writes a C string into a buffer.
///
/// # Safety
/// The pointer is null or valid for writes of `length` bytes.
unsafe fn put_text(to: *mut u8, length: u32, text: &str) -> Nvml {
    let bytes = [text.as_bytes(), b"\0"].concat();
    if bytes.len() > length as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the caller fulfils the requirements of this function.
    Ok(unsafe { put_bytes(to, &bytes) }?)
}

/// Identifier of the device as a text: GPU-, and the bytes of the driver's identifier in groups.
fn uuid() -> String {
    let hex: String = UUID.iter().map(|byte| format!("{byte:02x}")).collect();
    let ends = [0, 8, 12, 16, 20, 32];
    let groups: Vec<&str> = ends.windows(2).map(|part| &hex[part[0]..part[1]]).collect();
    format!("GPU-{}", groups.join("-"))
}

/// Bytes of a text, with zeros behind it.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().take(N - 1).zip(text.bytes()) {
        *to = from;
    }
    bytes
}

/// PCI address of the device.
fn pci() -> CPci {
    let number = |from: usize, to: usize| u32::from_str_radix(&BUS[from..to], 16).unwrap_or(0);
    CPci {
        legacy: padded(BUS),
        domain: number(0, 4),
        bus: number(5, 7),
        device: number(8, 10),
        id: VENDOR,
        subsystem: 0,
        name: padded(&format!("0000{BUS}")),
    }
}

/// A property of the device, 0 if it has none of this name.
fn property(context: &Context, name: &str) -> u32 {
    let facts = context.device_facts();
    let values = facts.get(name);
    let value = values.and_then(|values| values.first()).copied();
    value.and_then(|value| value.try_into().ok()).unwrap_or(0)
}

/// Clock in MHz of the SMs or of the memory.
fn clock(context: &Context, kind: i32) -> Nvml<u32> {
    match kind {
        // Graphics, SMs and videos share a clock.
        0 | 1 | 3 => Ok(property(context, "clockRate") / 1000),
        2 => Ok(property(context, "memoryClockRate") / 1000),
        _ => Err(INVALID_ARGUMENT),
    }
}

/// Number of the architecture of a compute capability (`NVML_DEVICE_ARCH_*`).
fn architecture(capability: u32) -> u32 {
    match capability {
        30..50 => 2,
        50..60 => 3,
        60..70 => 4,
        70..75 => 5,
        75..80 => 6,
        89 => 8,
        80..89 => 7,
        90..100 => 9,
        100..130 => 10,
        _ => u32::MAX,
    }
}

/// Defines functions, each with one or more names.
macro_rules! nvml {
    (@ [] $args:tt $cx:ident $body:block) => {};
    (@ [$name:ident $($rest:ident)*] ($($arg:ident: $ty:ty),*) $cx:ident $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            #[allow(unused_unsafe, reason = "not every call has a pointer")]
            call(|$cx| {
                // SAFETY: the program keeps the contract of the header: a pointer is null or points
                // to what the header says.
                unsafe { $body }
            })
        }
        nvml! { @ [$($rest)*] ($($arg: $ty),*) $cx $body }
    };
    ($(fn $name:ident $(/ $alias:ident)* ($($arg:ident: $ty:ty),* $(,)?)
        |$cx:ident| $body:block)*) => {
        $(nvml! { @ [$name $($alias)*] ($($arg: $ty),*) $cx $body })*
    };
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> i32 {
    start()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> i32 {
    start()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: u32) -> i32 {
    start()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: i32) -> *const c_char {
    let text = TEXTS.iter().find(|(number, _)| *number == code);
    lasting(text.map_or("Unknown Error", |(_, text)| text))
}

nvml! {
    fn nvmlShutdown() |_context| {
        STARTED.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    fn nvmlSystemGetDriverVersion(to: *mut u8, length: u32) |_context| {
        put_text(to, length, DRIVER)
    }

    fn nvmlSystemGetNVMLVersion(to: *mut u8, length: u32) |_context| {
        put_text(to, length, LIBRARY)
    }

    fn nvmlSystemGetCudaDriverVersion / nvmlSystemGetCudaDriverVersion_v2 (
        to: *mut i32,
    ) |_context| {
        Ok(put(to, DRIVER_VERSION)?)
    }

    fn nvmlDeviceGetCount / nvmlDeviceGetCount_v2 (to: *mut u32) |_context| { Ok(put(to, 1)?) }

    fn nvmlDeviceGetHandleByIndex / nvmlDeviceGetHandleByIndex_v2 (
        index: u32, to: *mut u64,
    ) |_context| {
        match index {
            0 => Ok(put(to, DEVICE)?),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    fn nvmlDeviceGetHandleByUUID(name: *const c_char, to: *mut u64) |_context| {
        match text(name) == uuid() {
            true => Ok(put(to, DEVICE)?),
            false => Err(NOT_FOUND),
        }
    }

    // The domain may have four or eight digits.
    fn nvmlDeviceGetHandleByPciBusId / nvmlDeviceGetHandleByPciBusId_v2 (
        name: *const c_char, to: *mut u64,
    ) |_context| {
        let name = text(name);
        let short = name.strip_prefix("0000").filter(|rest| rest.len() == BUS.len());
        require_bus(short.unwrap_or(&name)).map_err(|_| NOT_FOUND)?;
        Ok(put(to, DEVICE)?)
    }

    fn nvmlDeviceGetName(device: u64, to: *mut u8, length: u32) |context| {
        check(device)?;
        put_text(to, length, &context.device_name())
    }

    fn nvmlDeviceGetUUID(device: u64, to: *mut u8, length: u32) |_context| {
        check(device)?;
        put_text(to, length, &uuid())
    }

    // The device is the first of its kind, its minor number is 0, and no mode is set.
    fn nvmlDeviceGetIndex / nvmlDeviceGetMinorNumber / nvmlDeviceGetBrand
        / nvmlDeviceGetComputeMode / nvmlDeviceGetPersistenceMode / nvmlDeviceGetDisplayActive
        / nvmlDeviceGetDisplayMode (device: u64, to: *mut u32) |_context| {
        check(device)?;
        Ok(put(to, 0)?)
    }

    fn nvmlDeviceGetPciInfo / nvmlDeviceGetPciInfo_v2 / nvmlDeviceGetPciInfo_v3 (
        device: u64, to: *mut CPci,
    ) |_context| {
        check(device)?;
        Ok(put(to, pci())?)
    }

    fn nvmlDeviceGetMemoryInfo(device: u64, to: *mut CMemory) |context| {
        check(device)?;
        let (free, total) = context.memory_info();
        Ok(put(to, CMemory { total, free, used: total - free })?)
    }

    fn nvmlDeviceGetMemoryInfo_v2(device: u64, to: *mut CMemory2) |context| {
        check(device)?;
        let (free, total) = context.memory_info();
        let version = crate::ffi::get(to.cast::<u32>())?;
        Ok(put(to, CMemory2 { version, total, reserved: 0, free, used: total - free })?)
    }

    fn nvmlDeviceGetMemoryBusWidth(device: u64, to: *mut u32) |context| {
        check(device)?;
        Ok(put(to, property(context, "memoryBusWidth"))?)
    }

    fn nvmlDeviceGetCudaComputeCapability(device: u64, major: *mut i32, minor: *mut i32) |context| {
        check(device)?;
        let capability = context.capability() as i32;
        put(major, capability / 10)?;
        Ok(put(minor, capability % 10)?)
    }

    fn nvmlDeviceGetArchitecture(device: u64, to: *mut u32) |context| {
        check(device)?;
        Ok(put(to, architecture(context.capability()))?)
    }

    fn nvmlDeviceGetClockInfo / nvmlDeviceGetMaxClockInfo (
        device: u64, kind: i32, to: *mut u32,
    ) |context| {
        check(device)?;
        Ok(put(to, clock(context, kind)?)?)
    }

    // The device works only while the program waits for it.
    fn nvmlDeviceGetUtilizationRates(device: u64, to: *mut CUtilization) |_context| {
        check(device)?;
        Ok(put(to, CUtilization { gpu: 0, memory: 0 })?)
    }

    // The device belongs to this process, and others do not see it.
    fn nvmlDeviceGetComputeRunningProcesses / nvmlDeviceGetComputeRunningProcesses_v2
        / nvmlDeviceGetComputeRunningProcesses_v3 / nvmlDeviceGetGraphicsRunningProcesses
        / nvmlDeviceGetGraphicsRunningProcesses_v2 / nvmlDeviceGetGraphicsRunningProcesses_v3 (
        device: u64, count: *mut u32,
    ) |_context| {
        check(device)?;
        Ok(put(count, 0)?)
    }

    fn nvmlDeviceGetPowerUsage / nvmlDeviceGetPowerManagementLimit / nvmlDeviceGetEnforcedPowerLimit
        / nvmlDeviceGetPowerManagementDefaultLimit / nvmlDeviceGetTotalEnergyConsumption
        / nvmlDeviceGetTemperature / nvmlDeviceGetTemperatureV / nvmlDeviceGetFanSpeed
        / nvmlDeviceGetPerformanceState / nvmlDeviceGetEccMode / nvmlDeviceGetMigMode
        / nvmlDeviceGetMaxMigDeviceCount / nvmlDeviceGetNvLinkState / nvmlDeviceGetSerial
        / nvmlDeviceGetVbiosVersion / nvmlDeviceGetBAR1MemoryInfo / nvmlDeviceGetCpuAffinity
        / nvmlDeviceGetCurrPcieLinkGeneration / nvmlDeviceGetCurrPcieLinkWidth
        / nvmlDeviceGetSupportedClocksThrottleReasons (device: u64) |_context| {
        check(device)?;
        Err(NOT_SUPPORTED)
    }
}

#[cfg(test)]
mod tests {
    use super::{CMemory2, CPci, architecture, pci, uuid};

    #[test]
    fn layouts_are_those_of_the_header() {
        assert_eq!((size_of::<CPci>(), size_of::<CMemory2>()), (68, 40));
        let pci = pci();
        assert_eq!((pci.domain, pci.bus, pci.device), (0, 1, 0));
        assert!(pci.name.starts_with(b"00000000:01:00.0\0"));
        assert!(pci.legacy.starts_with(b"0000:01:00.0\0"));
    }

    #[test]
    fn the_identifier_is_that_of_the_driver() {
        // The bytes of the text "Warploom device0".
        assert_eq!(uuid(), "GPU-57617270-6c6f-6f6d-2064-657669636530");
    }

    #[test]
    fn architectures_of_capabilities() {
        let expected = [
            (20, u32::MAX),
            (35, 2),
            (52, 3),
            (61, 4),
            (70, 5),
            (75, 6),
            (86, 7),
        ];
        for (capability, number) in expected.into_iter().chain([(89, 8), (90, 9), (120, 10)]) {
            assert_eq!(architecture(capability), number, "{capability}");
        }
    }
}
