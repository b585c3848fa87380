//! Tables of functions that the driver exports by identifiers (`cuGetExportTable`). CUDA's runtime
//! asks for them where it is linked statically. They are not documented by NVIDIA. The identifiers
//! and functions here are those that ZLUDA and other projects describe in public. Every other
//! function of these tables reports its place and returns `CUDA_ERROR_NOT_SUPPORTED`.

mod answer;
mod storage;

use super::device::{check_context, cuCtxGetCurrent, cuCtxGetId};
use super::module::load;
use super::{DRIVER_VERSION, UUID, driver};
use crate::device::check_device;
use crate::ffi::{get, put, put_bytes};
use crate::register::container_at;
use answer::Asked;
use std::ffi::c_void;
use std::ptr::{from_ref, without_provenance};
use warploom_app::{CONTEXT, Context, Cuda, CudaError, attribute};

/// Table of addresses of functions. The first entry of most tables is their size in bytes.
#[repr(transparent)]
struct Table<const LENGTH: usize>([*const c_void; LENGTH]);

// SAFETY: the entries are sizes and addresses of functions, and nothing changes them.
unsafe impl<const LENGTH: usize> Sync for Table<LENGTH> {}

/// Most entries of a table.
const MOST: usize = 26;

/// Stands for a function that is not known, in the table with this identifier.
extern "C" fn unknown<const TABLE: u128, const PLACE: usize>() -> i32 {
    let what = format!("function {PLACE} of the driver's table {TABLE:032x}");
    super::call(false, |context| Err(context.unsupported(&what)))
}

/// Functions that are not known, by their places.
const fn unknowns<const TABLE: u128>() -> [extern "C" fn() -> i32; MOST] {
    macro_rules! places {
        ($($place:literal)*) => { [$(unknown::<TABLE, $place>),*] };
    }
    places!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25)
}

/// Table of a length that has its size and no known function yet.
const fn empty<const TABLE: u128, const LENGTH: usize>() -> [*const c_void; LENGTH] {
    let unknowns = unknowns::<TABLE>();
    let mut entries = [without_provenance(size_of::<Table<LENGTH>>()); LENGTH];
    let mut place = 1;
    while place < LENGTH {
        entries[place] = unknowns[place] as *const c_void;
        place += 1;
    }
    entries
}

/// Defines tables: name, identifier, length, and the known functions by their places.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident $uuid:literal [$length:literal] {
        $($place:literal: $function:path,)*
    })*) => {
        $(
            $(#[$doc])*
            static $name: Table<$length> = {
                #[allow(unused_mut, reason = "not every table has a known function")]
                let mut entries = empty::<$uuid, $length>();
                $(entries[$place] = $function as *const c_void;)*
                Table(entries)
            };
        )*

        /// Address of the table with an identifier.
        fn find(asked: u128) -> Option<*const c_void> {
            match asked {
                $($uuid => Some(from_ref(&$name).cast()),)*
                _ => None,
            }
        }
    };
}

tables! {
    /// Modules and contexts of the runtime.
    RUNTIME 0x6bd5fb6c_5bf4_e74a_8987_d93912fd9df9 [13] {
        1: load_wrapper,
        2: primary_context,
        6: load_wrapper_with,
        7: nothing,
        8: load_container,
        12: load_compilers,
    }
    /// Queries of threads, for profilers.
    THREADS 0x42d85a81_23f6_cb47_8298_f6e78a3aecdc [4] {
        2: cuCtxGetCurrent,
    }
    /// Queries of contexts, for profilers. The runtime of CUDA 13.4 needs the table. NVIDIA's has
    /// further functions.
    TOOLS_CONTEXTS 0x21318c60_9714_3248_8ca6_41ff7324c8f2 [5] {
        4: cuCtxGetId,
    }
    /// Memory for hooks of profilers.
    HOOKS 0xa094798c_2e74_2e74_93f2_0800200c0a66 [7] {
        2: first_hooks,
        6: second_hooks,
    }
    /// Values that libraries keep for a context.
    STORAGE 0xc693336e_1121_df11_a8c3_68f355d89593 [4] {
        0: storage::store,
        1: storage::remove,
        2: storage::load,
    }
    /// Another way to create contexts.
    CONTEXTS 0x0ca50b8c_1004_929a_89a7_d0df10e77286 [2] {}
    /// Memory of the driver on the host.
    HEAP 0x195bcbf4_d67d_024a_acc5_1d29cea631ae [3] {}
    /// Further queries of devices.
    DEVICES 0xb10541e1_f7c7_c74a_9f64_f223be99f1e2 [26] {}
    /// Question by which the runtime recognises the driver.
    RECOGNITION 0xd4082055_bde6_704b_8d34_ba123c66e1f2 [3] {
        1: recognise,
    }
    /// Questions about states of contexts that do not occur here.
    CHECKS 0x263e8860_7cd2_6143_92f6_bbd5006dfa7e [4] {
        2: check,
        3: no_state,
    }
}

extern "C" fn nothing() {}

extern "C" fn load_compilers() -> i32 {
    0
}

extern "C" fn no_state() -> u32 {
    0
}

/// Table of words that nothing reads here, which the runtime fills for profilers.
struct Hooks<const WORDS: usize>(std::cell::UnsafeCell<[u32; WORDS]>);

// SAFETY: only the runtime of the program accesses the words.
unsafe impl<const WORDS: usize> Sync for Hooks<WORDS> {}

static FIRST: Hooks<1024> = Hooks(std::cell::UnsafeCell::new([0; 1024]));
static SECOND: Hooks<14> = Hooks(std::cell::UnsafeCell::new([0; 14]));

unsafe extern "C" fn first_hooks(to: *mut *mut u32, words: *mut usize) {
    // SAFETY: the runtime passes addresses of two values.
    let _ = unsafe { put(to, FIRST.0.get().cast()).and(put(words, 1024)) };
}

unsafe extern "C" fn second_hooks(to: *mut *mut u32, words: *mut usize) {
    // SAFETY: the runtime passes addresses of two values.
    let _ = unsafe { put(to, SECOND.0.get().cast()).and(put(words, 14)) };
}

unsafe extern "C" fn load_wrapper(to: *mut u64, wrapper: *const u8) -> i32 {
    // SAFETY: the runtime passes the address of a handle and a fat binary of the program.
    super::call(false, |context| unsafe { load(context, to, wrapper) })
}

unsafe extern "C" fn load_wrapper_with(
    to: *mut u64,
    wrapper: *const u8,
    first: u64,
    second: u64,
    third: u32,
) -> i32 {
    super::call(false, |context| {
        require_none(context, (first, second, third))?;
        // SAFETY: the runtime passes the address of a handle and a fat binary of the program.
        unsafe { load(context, to, wrapper) }
    })
}

unsafe extern "C" fn load_container(
    container: *const u8,
    to: *mut u64,
    first: u64,
    second: u64,
    third: u32,
) -> i32 {
    super::call(false, |context| {
        require_none(context, (first, second, third))?;
        // SAFETY: the runtime passes a fat binary of the program.
        let module = context.load_module(unsafe { container_at(container) })?;
        // SAFETY: the runtime passes the address of a handle.
        unsafe { put(to, module) }
    })
}

/// Refuses arguments whose meaning is not known.
fn require_none(context: &mut Context, arguments: (u64, u64, u32)) -> Cuda {
    match arguments {
        (0, 0, 0) => Ok(()),
        _ => Err(context.unsupported("loading a module with options of the static runtime")),
    }
}

unsafe extern "C" fn primary_context(to: *mut u64, device: i32) -> i32 {
    super::call(false, |_| {
        check_device(device)?;
        // SAFETY: the runtime passes the address of a handle.
        unsafe { put(to, CONTEXT) }
    })
}

unsafe extern "C" fn check(context: u64, state: *mut u32, _further: *mut *const u8) -> i32 {
    super::call(false, |_| {
        if context != 0 {
            check_context(context)?;
        }
        // SAFETY: the runtime passes the address of a value.
        unsafe { put(state, 0) }
    })
}

unsafe extern "C" fn recognise(version: u32, seconds: u64, to: *mut u8) -> i32 {
    super::call(false, |context| {
        let facts = context.device_facts();
        let asked = Asked {
            driver: DRIVER_VERSION as u32,
            version,
            process: std::process::id(),
            // SAFETY: the call only returns the identity of the caller.
            thread: unsafe { libc::pthread_self() as u32 },
            runtime: from_ref(&RUNTIME) as u64,
            table: from_ref(&RECOGNITION) as u64,
            function: RECOGNITION.0[1] as u64,
            seconds,
        };
        // Domain, bus and number of the device.
        let address = [50, 33, 34].map(|number| attribute(&facts, number));
        let [domain, bus, number] = address;
        let answer = asked.answer(UUID, [domain?, bus?, number?]);
        // SAFETY: the runtime passes the address of 16 bytes.
        unsafe { put_bytes(to, &answer) }
    })
}

driver! {
    fn cuGetExportTable(to: *mut *const c_void, table: *const [u8; 16]) |_context| {
        put(to, std::ptr::null())?;
        let asked = u128::from_be_bytes(get(table)?);
        put(to, find(asked).ok_or(CudaError::SYMBOL_NOT_FOUND)?)
    }
}
