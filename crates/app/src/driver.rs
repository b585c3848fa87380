//! Calls that only CUDA's driver has: contexts of threads, and modules that the program loads while
//! it runs.
//!
//! There is one context. Every thread has a stack of current contexts, as in CUDA; it decides only
//! what queries answer, because all calls use the one device.

use crate::context::{Context, ThreadKey};
use crate::error::{Cuda, CudaError};
use crate::module::FatBinary;
use warploom_run::DeviceError;

/// Handle of the one context.
pub const CONTEXT: u64 = 0x2000;
/// Handle of the first module that a program loads. Handles of modules are 16 apart.
const FIRST_MODULE: u64 = 1 << 40;
const MODULE_STEP: u64 = 16;

/// Handle of a module.
fn handle_of(module: FatBinary) -> u64 {
    FIRST_MODULE + MODULE_STEP * module.0 as u64
}

/// Architecture that a PTX text names in its directive `.target`, such as 75; 0 without one.
pub(crate) fn target_of(text: &str) -> u32 {
    let rest = text.split_once(".target").map_or("", |(_, rest)| rest);
    let digits = rest.trim_start().trim_start_matches("sm_");
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().unwrap_or(0)
}

/// True if the bytes of a module are a PTX text and not a fat binary: a text begins with white
/// space, a comment or a directive.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let first = bytes.first();
    first.is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'.'))
}

impl Context {
    /// Loads a module from a fat binary or a PTX text (`cuModuleLoadData`).
    ///
    /// # Errors
    /// The code cannot be used; the message was shown.
    pub fn load_module(&mut self, bytes: Vec<u8>) -> Cuda<u64> {
        let module = self.register(bytes);
        self.load(module)?;
        Ok(handle_of(module))
    }

    /// Loads a module from a file (`cuModuleLoad`).
    ///
    /// # Errors
    /// The file cannot be read, or its code cannot be used; the message was shown.
    pub fn load_file(&mut self, path: &str) -> Cuda<u64> {
        let bytes = self.read_code(path)?;
        self.load_module(bytes)
    }

    /// Code in a file of the program.
    ///
    /// # Errors
    /// The file cannot be read, or is machine code; the message was shown.
    pub fn read_code(&self, path: &str) -> Cuda<Vec<u8>> {
        let bytes = std::fs::read(path).map_err(|error| {
            self.show(&format!(
                "the program's file {path} cannot be read: {error}"
            ));
            match error.kind() {
                std::io::ErrorKind::NotFound => CudaError::FILE_NOT_FOUND,
                _ => CudaError::INVALID_VALUE,
            }
        })?;
        match bytes.starts_with(b"\x7fELF") {
            true => Err(self.refuse_machine_code()),
            false => Ok(bytes),
        }
    }

    /// Shows that machine code cannot run, and returns the error of its load.
    pub fn refuse_machine_code(&self) -> CudaError {
        self.show(
            "the program loads machine code, and Warploom runs PTX; compile to PTX (nvcc -ptx, \
             `compute_75` in place of `sm_75`)",
        );
        CudaError::NO_KERNEL_IMAGE
    }

    /// Handle of the module of a kernel (`cuFuncGetModule`).
    pub fn function_module(&self, function: u64) -> Cuda<u64> {
        let own = self.functions.get(&function);
        own.map(|own| handle_of(own.module))
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Module with this handle.
    pub(crate) fn driver_module(&self, handle: u64) -> Cuda<FatBinary> {
        let at = handle.wrapping_sub(FIRST_MODULE) / MODULE_STEP;
        let known = handle >= FIRST_MODULE && (at as usize) < self.modules.len();
        let known = known && handle_of(FatBinary(at as usize)) == handle;
        known
            .then_some(FatBinary(at as usize))
            .ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }

    /// Forgets the functions and variables of a module (`cuModuleUnload`).
    pub fn unload_module(&mut self, handle: u64) -> Cuda {
        let module = self.driver_module(handle)?;
        self.synchronize()?;
        self.functions.retain(|_, own| own.module != module);
        self.variables.retain(|_, own| own.module != module);
        self.forget_references(module);
        Ok(())
    }

    /// Handle of a kernel of a module (`cuModuleGetFunction`). Equal names give equal handles.
    ///
    /// # Errors
    /// The module has no such kernel, or the kernel is not supported.
    pub fn module_function(&mut self, handle: u64, name: &str) -> Cuda<u64> {
        let module = self.driver_module(handle)?;
        let mut known = self.functions.iter();
        let known = known.find(|(_, own)| own.module == module && own.name == name);
        if let Some((host, _)) = known {
            return Ok(*host);
        }
        let host = self.handle();
        self.register_function(module, host, name.to_owned());
        match self.program(host) {
            Ok(_) => Ok(host),
            Err(error) => {
                self.functions.remove(&host);
                Err(match error {
                    CudaError::INVALID_DEVICE_FUNCTION => CudaError::SYMBOL_NOT_FOUND,
                    other => other,
                })
            }
        }
    }

    /// Address and size in bytes of a variable of a module (`cuModuleGetGlobal`).
    ///
    /// # Errors
    /// The module has no such variable.
    pub fn module_variable(&mut self, handle: u64, name: &str) -> Cuda<(u64, u64)> {
        let module = self.driver_module(handle)?;
        let id = self.load(module)?;
        let wanted = name.to_owned();
        let found = self.with(move |device| {
            let globals = &device.module(id).globals;
            let global = globals.iter().find(|global| global.name == wanted);
            let bytes = global.map(|global| global.bytes);
            bytes.ok_or(DeviceError::UnknownVariable {
                module: String::new(),
                variable: wanted,
            })
        })?;
        let bytes = found.map_err(|_| CudaError::SYMBOL_NOT_FOUND)?;
        let host = self.handle();
        self.register_variable(module, host, name.to_owned(), bytes);
        self.symbol(host)
    }

    /// Names of the kernels of a module in the order of its text.
    pub fn module_kernels(&mut self, handle: u64) -> Cuda<Vec<String>> {
        let module = self.driver_module(handle)?;
        let id = self.load(module)?;
        self.with(move |device| {
            let kernels = device.module(id).kernels.iter();
            kernels.map(|kernel| kernel.name.clone()).collect()
        })
    }

    /// Current context of a thread, or 0.
    pub fn current_context(&mut self, thread: ThreadKey) -> u64 {
        self.thread(thread).contexts.last().copied().unwrap_or(0)
    }

    /// Makes a context the current one of a thread, in the place of the one that was (0 for none).
    pub fn set_current_context(&mut self, thread: ThreadKey, context: u64) -> Cuda {
        let own = self.thread(thread);
        own.contexts.pop();
        match context {
            0 => Ok(()),
            _ => self.push_context(thread, context),
        }
    }

    /// Puts a context on the stack of a thread.
    pub fn push_context(&mut self, thread: ThreadKey, context: u64) -> Cuda {
        if context != CONTEXT {
            return Err(CudaError::INVALID_CONTEXT);
        }
        self.thread(thread).contexts.push(context);
        Ok(())
    }

    /// Removes the current context of a thread from its stack and returns it.
    pub fn pop_context(&mut self, thread: ThreadKey) -> Cuda<u64> {
        let popped = self.thread(thread).contexts.pop();
        popped.ok_or(CudaError::INVALID_CONTEXT)
    }
}

#[cfg(test)]
mod tests {
    use super::{is_text, target_of};

    #[test]
    fn targets_of_texts() {
        assert_eq!(target_of(".version 8.0\n.target sm_86, debug\n"), 86);
        assert_eq!(target_of(".target\tsm_100a\n"), 100);
        assert_eq!(target_of(".version 8.0\n"), 0);
        assert_eq!(target_of(".target"), 0);
    }

    #[test]
    fn texts_and_fat_binaries_are_told_apart() {
        assert!(is_text(b"//\n.version 8.0"));
        assert!(!is_text(b""));
        assert!(!is_text(&[0x50, 0xed, 0x55, 0xba, 1, 0]));
    }
}
