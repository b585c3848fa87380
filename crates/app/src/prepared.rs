//! Launches that the program prepares call by call, as before CUDA 4 (`cuFuncSetBlockShape`,
//! `cuParamSetv`, `cuLaunchGrid`). PyCUDA still sets shapes of blocks in this way.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::function::LaunchRequest;
use crate::module::Function;
use warploom_base::Dim3;

/// Maximum size of all parameters of a kernel in bytes (CUDA C++ Programming Guide).
const MOST_BYTES: usize = 32_764;

/// Preparations of the program for launches of a function.
#[derive(Clone, Default)]
pub(crate) struct Prepared {
    block: Option<Dim3>,
    shared_bytes: u64,
    parameters: Vec<u8>,
}

impl Context {
    /// Function with this handle.
    fn prepared(&mut self, function: u64) -> Cuda<&mut Prepared> {
        let own: Option<&mut Function> = self.functions.get_mut(&function);
        let own = own.ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
        Ok(&mut own.prepared)
    }

    /// Sets the extents of blocks in threads.
    pub fn prepare_block(&mut self, function: u64, block: Dim3) -> Cuda {
        self.prepared(function)?.block = Some(block);
        Ok(())
    }

    /// Sets the dynamic shared memory in bytes.
    pub fn prepare_shared(&mut self, function: u64, bytes: u64) -> Cuda {
        self.prepared(function)?.shared_bytes = bytes;
        Ok(())
    }

    /// Sets the size of all parameters in bytes.
    pub fn prepare_size(&mut self, function: u64, bytes: usize) -> Cuda {
        if bytes > MOST_BYTES {
            return Err(CudaError::INVALID_VALUE);
        }
        self.prepared(function)?.parameters.resize(bytes, 0);
        Ok(())
    }

    /// Sets bytes of the parameters from an offset on.
    pub fn prepare_bytes(&mut self, function: u64, offset: usize, bytes: &[u8]) -> Cuda {
        let end = offset.checked_add(bytes.len());
        let end = end.filter(|end| *end <= MOST_BYTES);
        let end = end.ok_or(CudaError::INVALID_VALUE)?;
        let all = &mut self.prepared(function)?.parameters;
        all.resize(all.len().max(end), 0);
        all[offset..end].copy_from_slice(bytes);
        Ok(())
    }

    /// Launches a function as prepared, with a grid of blocks.
    pub fn launch_prepared(&mut self, function: u64, grid: Dim3, stream: u64) -> Cuda {
        let own = self.prepared(function)?.clone();
        let block = own.block.ok_or(CudaError::INVALID_VALUE)?;
        let count = self.parameters(function)?.len();
        let argument = |context: &mut Self, number| {
            let (offset, bytes) = context.parameter(function, number)?;
            let value = own
                .parameters
                .get(offset as usize..(offset + bytes) as usize);
            value.map(<[u8]>::to_vec).ok_or(CudaError::INVALID_VALUE)
        };
        let arguments = (0..count).map(|number| argument(self, number));
        let request = LaunchRequest {
            function,
            grid,
            block,
            shared_bytes: own.shared_bytes,
            arguments: arguments.collect::<Cuda<_>>()?,
            cooperative: false,
            cluster: None,
        };
        self.launch(request, stream)
    }
}
