//! Fat binaries that the program registers, with their functions, variables, and texture and
//! surface references. A module is loaded when something in it is first used.

use crate::capability::capability;
use crate::context::Context;
use crate::driver::{is_text, target_of};
use crate::error::{Cuda, CudaError};
use crate::fatbin::{self, FatbinError};
use crate::memory::{Block, Kind};
use crate::prepared::Prepared;
use std::sync::Arc;
use warploom_ir::Program;
use warploom_run::{DeviceError, ModuleId};

/// A registered fat binary, identified by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatBinary(pub usize);

/// A fat binary and the module loaded from it.
pub(crate) struct Module {
    bytes: Vec<u8>,
    loaded: Option<Cuda<ModuleId>>,
    /// Architecture of the loaded PTX, such as 75 for `compute_75`.
    arch: u32,
    /// Managed variables as (address of the host's pointer, name, size in bytes). The pointers are
    /// set when the module is loaded.
    managed: Vec<(u64, String, u64)>,
}

/// A `__global__` function of the program.
#[derive(Clone)]
pub(crate) struct Function {
    pub module: FatBinary,
    pub name: String,
    pub program: Option<Arc<Program>>,
    /// Maximum dynamic shared memory in bytes that the program requested.
    pub dynamic_shared: Option<u32>,
    pub prepared: Prepared,
    /// True if the program permits clusters of more than eight blocks.
    pub large_clusters: bool,
}

/// A `__device__` or `__constant__` variable of the program.
#[derive(Clone)]
pub(crate) struct Variable {
    pub module: FatBinary,
    pub name: String,
    pub bytes: u64,
    pub address: Option<u64>,
}

/// Declaration of a texture reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureDeclaration {
    /// Number of dimensions of the texture.
    pub dimensions: i32,
    /// True if integers are read as floats from 0 to 1.
    pub normalized_read: bool,
}

/// Kind of a reference with its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// Texture reference, declared as `texture<>`.
    Texture(TextureDeclaration),
    /// Surface reference, declared as `surface<>`.
    Surface,
}

/// A `texture<>` or `surface<>` variable of the program.
#[derive(Clone)]
pub(crate) struct Reference {
    pub module: FatBinary,
    pub name: String,
    pub kind: ReferenceKind,
}

impl Context {
    /// Registers a fat binary (`__cudaRegisterFatBinary`).
    pub fn register(&mut self, bytes: Vec<u8>) -> FatBinary {
        self.modules.push(Module {
            bytes,
            loaded: None,
            arch: 0,
            managed: Vec::new(),
        });
        FatBinary(self.modules.len() - 1)
    }

    /// Registers a function under the address that the host uses to launch it.
    pub fn register_function(&mut self, module: FatBinary, host: u64, name: String) {
        let function = Function {
            module,
            name,
            program: None,
            dynamic_shared: None,
            prepared: Prepared::default(),
            large_clusters: false,
        };
        self.functions.insert(host, function);
    }

    /// Registers a variable under its address in the host program, with its size in bytes.
    pub fn register_variable(&mut self, module: FatBinary, host: u64, name: String, bytes: u64) {
        let variable = Variable {
            module,
            name,
            bytes,
            address: None,
        };
        self.variables.insert(host, variable);
    }

    /// Registers a managed variable. `pointer` is the address at which the host stores the
    /// variable's address.
    pub fn register_managed(&mut self, module: FatBinary, pointer: u64, name: String, bytes: u64) {
        self.register_variable(module, pointer, name.clone(), bytes);
        if let Some(module) = self.modules.get_mut(module.0) {
            module.managed.push((pointer, name, bytes));
        }
    }

    /// Registers a texture or surface reference under its address in the host program.
    pub fn register_reference(
        &mut self,
        module: FatBinary,
        host: u64,
        name: String,
        kind: ReferenceKind,
    ) {
        let reference = Reference { module, name, kind };
        self.references.insert(host, reference);
    }

    /// Assigns addresses to the managed variables of a module (`__cudaInitModule`).
    pub fn initialise(&mut self, module: FatBinary) -> Cuda {
        let managed = self
            .modules
            .get(module.0)
            .map(|own| !own.managed.is_empty());
        match managed {
            Some(true) => self.load(module).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Module of a fat binary, which is loaded if necessary.
    pub(crate) fn load(&mut self, module: FatBinary) -> Cuda<ModuleId> {
        let own = self.modules.get(module.0);
        let own = own.ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
        if let Some(loaded) = own.loaded {
            return loaded;
        }
        let told = match self.settings.capability {
            Some(told) => told,
            None => capability(&self.spec),
        };
        let code = if is_text(&own.bytes) {
            let text = String::from_utf8_lossy(&own.bytes).into_owned();
            Ok((target_of(&text), text))
        } else {
            fatbin::ptx(&own.bytes, told)
        };
        let loaded = match code {
            Ok((arch, text)) => {
                self.modules[module.0].arch = arch;
                self.load_text(module, text)?
            }
            Err(error) => {
                self.show(&error.to_string());
                Err(match error {
                    FatbinError::NoPtx(_) | FatbinError::Empty => CudaError::NO_KERNEL_IMAGE,
                    _ => CudaError::INVALID_KERNEL_IMAGE,
                })
            }
        };
        self.modules[module.0].loaded = Some(loaded);
        if let Ok(id) = loaded {
            self.place_managed(module, id)?;
        }
        loaded
    }

    /// Architecture of the PTX that was loaded from a fat binary.
    pub(crate) fn architecture(&self, module: FatBinary) -> u32 {
        self.modules.get(module.0).map_or(0, |own| own.arch)
    }

    /// Loads a PTX text. The outer error is one of the simulation, the inner one is one of the
    /// text.
    fn load_text(&mut self, module: FatBinary, text: String) -> Cuda<Cuda<ModuleId>> {
        let name = format!("module {} of the program", module.0);
        let loaded = self.with(move |device| device.load_ptx(&name, &text))?;
        Ok(loaded.map_err(|error| {
            self.show(&error.to_string());
            match error {
                DeviceError::Memory(_) => CudaError::MEMORY_ALLOCATION,
                _ => CudaError::INVALID_PTX,
            }
        }))
    }

    /// Maps the managed variables of a module and sets the host's pointers.
    fn place_managed(&mut self, module: FatBinary, id: ModuleId) -> Cuda {
        for (pointer, name, bytes) in self.modules[module.0].managed.clone() {
            let address = self.address_of(id, &name, bytes)?;
            let initial = self.read_device(address, bytes)?;
            self.share(address, bytes)?;
            self.host.write(address, &initial);
            self.host.write(pointer, &address.to_le_bytes());
            if let Some(own) = self.variables.get_mut(&pointer) {
                own.address = Some(address);
            }
        }
        Ok(())
    }

    /// Address of a variable of a module.
    fn address_of(&mut self, id: ModuleId, name: &str, bytes: u64) -> Cuda<u64> {
        let wanted = name.to_owned();
        let found = self.with(move |device| device.variable(id, &wanted))?;
        let address = found.map_err(|_| CudaError::INVALID_SYMBOL)?.0;
        let block = Block {
            bytes,
            kind: Kind::Variable,
            flags: 0,
        };
        // The variable may be known as managed memory already.
        self.memory.entry(address).or_insert(block);
        Ok(address)
    }

    /// Unloads all modules. A module that is used again is reloaded with its initial values.
    /// Managed variables are available again at once.
    pub(crate) fn unload(&mut self) -> Cuda {
        for own in &mut self.modules {
            own.loaded = None;
        }
        for own in self.functions.values_mut() {
            own.program = None;
            own.dynamic_shared = None;
            own.large_clusters = false;
        }
        for own in self.variables.values_mut() {
            own.address = None;
        }
        (0..self.modules.len()).try_for_each(|at| self.initialise(FatBinary(at)))
    }

    /// Address and size of the variable that the host knows by an address.
    pub fn symbol(&mut self, host: u64) -> Cuda<(u64, u64)> {
        // The host accesses a managed variable at the variable's own address.
        let managed = || {
            let mut all = self.variables.values();
            all.find(|own| own.address == Some(host))
        };
        let variable = self.variables.get(&host).or_else(managed).cloned();
        let variable = variable.ok_or(CudaError::INVALID_SYMBOL)?;
        if let Some(address) = variable.address {
            return Ok((address, variable.bytes));
        }
        let id = self.load(variable.module)?;
        let address = self.address_of(id, &variable.name, variable.bytes)?;
        if let Some(own) = self.variables.get_mut(&host) {
            own.address = Some(address);
        }
        Ok((address, variable.bytes))
    }

    /// Function and program of the kernel that the host knows by an address.
    pub(crate) fn program(&mut self, host: u64) -> Cuda<(Function, Arc<Program>)> {
        let function = self.functions.get(&host).cloned();
        let function = function.ok_or(CudaError::INVALID_DEVICE_FUNCTION)?;
        if let Some(program) = &function.program {
            return Ok((function.clone(), Arc::clone(program)));
        }
        let id = self.load(function.module)?;
        let name = function.name.clone();
        let found = self.with(move |device| device.kernel(id, &name).cloned())?;
        let program = found.map_err(|error| {
            self.show_once(&error.to_string());
            match error {
                DeviceError::Refused { .. } => CudaError::NOT_SUPPORTED,
                _ => CudaError::INVALID_DEVICE_FUNCTION,
            }
        })?;
        if let Some(own) = self.functions.get_mut(&host) {
            own.program = Some(Arc::clone(&program));
        }
        Ok((function, program))
    }
}
