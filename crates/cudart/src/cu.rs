//! Drop-in replacement for `libcuda`: the C interface of CUDA's driver for the simulated GPU.
//!
//! The functions are in the same library as those of the runtime and use the same context, so that
//! a program may mix both. Names with a suffix (`_v2`) are those that the headers give to programs.
//! Functions that both have with the same arguments stand with those of the runtime (`both!`).

mod array;
mod capture;
mod copy;
mod device;
mod executable;
mod export;
mod graph;
mod launch;
mod link;
mod memory;
mod module;
mod node;
mod occupancy;
mod pool;
mod prepared;
pub mod proc;
mod reference;
mod stream;
mod texture;
mod unsupported;

use warploom_app::{Context, Cuda};

/// Release of the driver, as 13.5: compilers generate PTX that it accepts.
pub const DRIVER_VERSION: i32 = 13_050;

/// Bytes by which programs tell devices apart.
pub const UUID: [u8; 16] = *b"Warploom device0";

/// Codes of the runtime that the driver reports by another code, as (runtime's, driver's).
const CODES: &[(i32, i32)] = &[(9, 1), (12, 1), (13, 500), (21, 1), (52, 1), (98, 400)];

/// Names of the driver's codes that differ from the runtime's names in more than their spelling.
const NAMES: &[(i32, &str)] = &[
    (0, "CUDA_SUCCESS"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY"),
    (3, "CUDA_ERROR_NOT_INITIALIZED"),
    (200, "CUDA_ERROR_INVALID_IMAGE"),
    (201, "CUDA_ERROR_INVALID_CONTEXT"),
    (209, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
    (400, "CUDA_ERROR_INVALID_HANDLE"),
    (500, "CUDA_ERROR_NOT_FOUND"),
    (719, "CUDA_ERROR_LAUNCH_FAILED"),
];

/// Executes a call of the driver and returns its code.
pub fn call(own: bool, action: impl FnOnce(&mut Context) -> Cuda) -> i32 {
    let code = crate::process::call_driver(own, action);
    let other = CODES.iter().find(|(runtime, _)| *runtime == code);
    other.map_or(code, |(_, driver)| *driver)
}

/// Name of a code of the driver, such as `CUDA_ERROR_INVALID_VALUE`.
fn name(code: i32) -> Option<String> {
    if let Some((_, name)) = NAMES.iter().find(|(own, _)| *own == code) {
        return Some((*name).to_owned());
    }
    let runtime = warploom_app::error_name(code).strip_prefix("cudaError")?;
    let mut name = "CUDA_ERROR".to_owned();
    for letter in runtime.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    Some(name)
}

/// Defines functions of the driver, as `c_functions!` does.
macro_rules! driver {
    ($($functions:tt)*) => { c_functions! { $crate::cu::call; $($functions)* } };
}
pub(crate) use driver;

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn codes_have_the_drivers_names() {
        let names = [0, 1, 2, 201, 500, 700, 716, 801].map(|code| name(code).unwrap());
        let expected = [
            "CUDA_SUCCESS",
            "CUDA_ERROR_INVALID_VALUE",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "CUDA_ERROR_INVALID_CONTEXT",
            "CUDA_ERROR_NOT_FOUND",
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "CUDA_ERROR_MISALIGNED_ADDRESS",
            "CUDA_ERROR_NOT_SUPPORTED",
        ];
        assert_eq!(names, expected);
        assert_eq!(name(12_345), None);
    }
}
