//! Error codes of the runtime with their names and texts.
//!
//! `errors.txt` holds the results of `cudaGetErrorName` and `cudaGetErrorString` in NVIDIA's
//! runtime 13.5, with one code per line.

use warploom_run::{FaultKind, Stopped};

const TABLE: &str = include_str!("errors.txt");

/// An error code of the runtime other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CudaError(pub i32);

/// Result of a call of the runtime.
pub type Cuda<T = ()> = Result<T, CudaError>;

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        #[allow(missing_docs, reason = "the table has a sentence for each")]
        impl CudaError { $(pub const $name: Self = Self($code);)+ }
    };
}

codes! {
    INVALID_VALUE = 1,
    MEMORY_ALLOCATION = 2,
    INITIALIZATION = 3,
    INVALID_CONFIGURATION = 9,
    INVALID_PITCH = 12,
    INVALID_SYMBOL = 13,
    INVALID_TEXTURE = 18,
    INVALID_CHANNEL_DESCRIPTOR = 20,
    INVALID_MEMCPY_DIRECTION = 21,
    INVALID_FILTER_SETTING = 26,
    INVALID_NORM_SETTING = 27,
    INVALID_SURFACE = 37,
    MISSING_CONFIGURATION = 52,
    INVALID_DEVICE_FUNCTION = 98,
    INVALID_DEVICE = 101,
    INVALID_KERNEL_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_KERNEL_IMAGE = 209,
    INVALID_PTX = 218,
    FILE_NOT_FOUND = 301,
    INVALID_RESOURCE_HANDLE = 400,
    ILLEGAL_STATE = 401,
    SYMBOL_NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_OUT_OF_RESOURCES = 701,
    LAUNCH_TIMEOUT = 702,
    ASSERT = 710,
    HOST_MEMORY_ALREADY_REGISTERED = 712,
    HOST_MEMORY_NOT_REGISTERED = 713,
    HARDWARE_STACK_ERROR = 714,
    ILLEGAL_INSTRUCTION = 715,
    MISALIGNED_ADDRESS = 716,
    INVALID_PC = 718,
    LAUNCH_FAILURE = 719,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    NOT_PERMITTED = 800,
    NOT_SUPPORTED = 801,
    STREAM_CAPTURE_UNSUPPORTED = 900,
    STREAM_CAPTURE_INVALIDATED = 901,
    STREAM_CAPTURE_MERGE = 902,
    STREAM_CAPTURE_UNMATCHED = 903,
    STREAM_CAPTURE_UNJOINED = 904,
    STREAM_CAPTURE_ISOLATION = 905,
    STREAM_CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    STREAM_CAPTURE_WRONG_THREAD = 908,
    GRAPH_EXEC_UPDATE_FAILURE = 910,
    INVALID_CLUSTER_SIZE = 912,
    UNKNOWN = 999,
}

impl CudaError {
    /// Error that a launch leaves if it stops the run. Every later call returns it.
    pub fn of(why: Stopped) -> Self {
        match why {
            Stopped::CycleLimit | Stopped::Stuck | Stopped::Interrupted => Self::LAUNCH_TIMEOUT,
            Stopped::Fault(kind) => match kind {
                FaultKind::OutOfBounds
                | FaultKind::Freed
                | FaultKind::NoStateSpace
                | FaultKind::WriteToReadOnly
                | FaultKind::BadTensorMap
                | FaultKind::BlockEnded
                | FaultKind::BadTexture => Self::ILLEGAL_ADDRESS,
                FaultKind::Misaligned => Self::MISALIGNED_ADDRESS,
                FaultKind::IllegalInstruction | FaultKind::BadBarrier => Self::ILLEGAL_INSTRUCTION,
                FaultKind::BranchIndex | FaultKind::BadCallee => Self::INVALID_PC,
                FaultKind::StackOverflow => Self::HARDWARE_STACK_ERROR,
                FaultKind::Trap
                | FaultKind::BadFree
                | FaultKind::OutsideSurface
                | FaultKind::SurfaceFormat => Self::LAUNCH_FAILURE,
                FaultKind::Assertion => Self::ASSERT,
            },
        }
    }
}

/// Name and text of an error code.
fn row(code: i32) -> Option<(&'static str, &'static str)> {
    TABLE.lines().find_map(|line| {
        let (number, rest) = line.split_once('\t')?;
        (number.parse() == Ok(code)).then(|| rest.split_once('\t'))?
    })
}

const UNKNOWN: &str = "unrecognized error code";

/// Name of an error code, such as `cudaErrorInvalidValue`.
pub fn name(code: i32) -> &'static str {
    row(code).map_or(UNKNOWN, |row| row.0)
}

/// Text that describes an error code.
pub fn sentence(code: i32) -> &'static str {
    row(code).map_or(UNKNOWN, |row| row.1)
}

#[cfg(test)]
mod tests {
    use super::{CudaError, name, sentence};

    #[test]
    fn codes_have_the_runtimes_names_and_sentences() {
        assert_eq!((name(0), sentence(0)), ("cudaSuccess", "no error"));
        assert_eq!(name(CudaError::INVALID_VALUE.0), "cudaErrorInvalidValue");
        assert_eq!(sentence(700), "an illegal memory access was encountered");
        assert_eq!(name(CudaError::NOT_SUPPORTED.0), "cudaErrorNotSupported");
        assert_eq!(name(8888), "unrecognized error code");
        assert_eq!(sentence(-1), "unrecognized error code");
    }
}
