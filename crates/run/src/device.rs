//! The device as a process sees it: its memory and its modules.

use crate::assembled::Assembled;
use crate::checkpoint::{CallKind, Calls};
use crate::output::Output;
use crate::written::{Bytes, Written};
use std::sync::Arc;
use warploom_base::Digest;
use warploom_exec::{
    DeviceMemory, MemoryError, MipmapSettings, Texture, TextureTable, load_module,
};
use warploom_ir::{GLOBAL_BASE, GlobalVar, ModuleIr, Program};

/// An address in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// Address of the byte `bytes` after this one.
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

/// Identifier of a loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModuleId(pub u32);

/// Reason why a device operation failed.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// Memory cannot be allocated or accessed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The PTX was refused. The text contains all diagnostics with their places.
    #[error("{0}")]
    Ptx(String),
    /// The module has no kernel with this name.
    #[error("module `{module}` has no kernel `{kernel}`{hint}")]
    UnknownKernel {
        /// Name of the module.
        module: String,
        /// Requested name of a kernel.
        kernel: String,
        /// Nearest name, or the names that exist.
        hint: String,
    },
    /// The kernel uses a feature that is not supported.
    #[error("kernel `{kernel}` cannot run: {reason}")]
    Refused {
        /// Name of the kernel.
        kernel: String,
        /// All diagnostics with their places.
        reason: String,
    },
    /// The module has no variable with this name.
    #[error("module `{module}` has no variable `{variable}`")]
    UnknownVariable {
        /// Name of the module.
        module: String,
        /// Requested name of a variable.
        variable: String,
    },
}

/// Types of buffer elements.
pub trait Scalar: Copy {
    /// Size of an element in bytes.
    const BYTES: usize;
    /// Appends the element's bytes in little-endian order.
    fn put(self, out: &mut Vec<u8>);
    /// Reads an element from its bytes.
    fn get(bytes: &[u8]) -> Self;
    /// True if both elements are equal bit by bit.
    fn same_bits(self, other: Self) -> bool;
}

macro_rules! scalars {
    ($($ty:ty),+) => {$(
        impl Scalar for $ty {
            const BYTES: usize = size_of::<$ty>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut raw = [0; size_of::<$ty>()];
                raw.copy_from_slice(bytes);
                Self::from_le_bytes(raw)
            }
            fn same_bits(self, other: Self) -> bool {
                self.to_le_bytes() == other.to_le_bytes()
            }
        }
    )+};
}
scalars!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// A module in device memory.
pub struct LoadedModule {
    /// Name of the module in messages.
    pub name: String,
    /// Kernels, ready to launch.
    pub kernels: Vec<Arc<Program>>,
    /// Number of instructions of the kernels that the process loaded before each kernel. Kernels
    /// are placed one after the other in the order in which they are loaded, as in GPGPU-Sim.
    pub instructions_before: Vec<u64>,
    /// Kernels that use unsupported features, with the reason.
    pub refused: Vec<(String, String)>,
    /// Variables of the module.
    pub globals: Vec<GlobalVar>,
    /// Addresses of the variables.
    pub addresses: Vec<u64>,
    /// Names of texture references.
    pub textures: Vec<String>,
    /// Handles of the textures that are bound to the references.
    pub texture_refs: Vec<u64>,
}

/// State of a run when it was cut.
struct Cut {
    launches: u64,
    written: Written,
}

/// Memory and modules of a process.
pub struct Device {
    /// Memory of the whole device.
    pub(crate) memory: DeviceMemory,
    /// Identifier of the process's address space.
    pub(crate) asid: u8,
    modules: Vec<LoadedModule>,
    /// Number of instructions of all kernels loaded so far.
    instructions_loaded: u64,
    textures: Arc<TextureTable>,
    /// Digest of everything that came from the host so far.
    input: Digest,
    /// Copies between host and device since the last query: address and bytes.
    copies: Vec<(u64, u64)>,
    /// PTX texts that are replaced when they are loaded.
    substitutes: Vec<(String, String)>,
    /// Set if the run was cut.
    cut: Option<Cut>,
    /// Kernels that were assembled for a machine.
    pub(crate) assembled: Vec<Assembled>,
    /// Record of the calls of the process, if the run makes checkpoints or goes on from one.
    pub(crate) calls: Option<Calls>,
}

impl Device {
    /// An empty device of `capacity` bytes for the process `asid`.
    pub fn new(capacity: u64, asid: u8) -> Self {
        Self {
            memory: DeviceMemory::new(capacity),
            asid,
            modules: Vec::new(),
            instructions_loaded: 0,
            textures: Arc::default(),
            input: Digest::new(),
            copies: Vec::new(),
            substitutes: Vec::new(),
            cut: None,
            assembled: Vec::new(),
            calls: None,
        }
    }

    /// An empty device of the same process. The digest of its input continues.
    pub(crate) fn anew(&mut self) -> Self {
        Self {
            input: self.input.clone(),
            calls: self.calls.take(),
            ..Self::new(0, self.asid)
        }
    }

    /// Replaces the PTX text `from` by `to` in later calls of `load_ptx`.
    pub(crate) fn substitute(&mut self, from: String, to: String) {
        self.substitutes.push((from, to));
    }

    /// Replacement of a PTX text, if it has one.
    pub(crate) fn substitute_for(&self, text: &str) -> Option<String> {
        let mut pairs = self.substitutes.iter();
        pairs
            .find(|(from, _)| from == text)
            .map(|(_, to)| to.clone())
    }

    /// Allocates `bytes`, aligned to 256, after all earlier allocations.
    pub fn alloc(&mut self, bytes: u64) -> Result<DevicePtr, DeviceError> {
        self.note_call(CallKind::Allocate, |digest| {
            digest.u64(bytes);
        });
        Ok(DevicePtr(self.memory.alloc(self.asid, bytes)?))
    }

    /// Buffers in global memory that are not freed, with their sizes in bytes, by address.
    pub fn buffers(&self) -> impl Iterator<Item = (DevicePtr, u64)> + '_ {
        let all = self.memory.allocations(self.asid).iter();
        let global = all.filter(|buffer| buffer.live && buffer.base >= GLOBAL_BASE);
        global.map(|buffer| (DevicePtr(buffer.base), buffer.bytes))
    }

    /// Gives a buffer the name that messages of faults use.
    pub fn name(&mut self, ptr: DevicePtr, name: &str) {
        self.memory.name(self.asid, ptr.0, name);
    }

    /// Allocates and fills a buffer.
    pub fn alloc_slice<T: Scalar>(&mut self, values: &[T]) -> Result<DevicePtr, DeviceError> {
        let ptr = self.alloc((values.len() * T::BYTES).max(1) as u64)?;
        self.write_slice(ptr, values)?;
        Ok(ptr)
    }

    /// Frees a buffer on the device.
    pub fn free(&mut self, ptr: DevicePtr) -> Result<(), DeviceError> {
        self.note_call(CallKind::Free, |digest| {
            digest.u64(ptr.0);
        });
        Ok(self.memory.free(self.asid, ptr.0)?)
    }

    /// Copies bytes to the device. They leave their lines in L2, if the machine is configured so.
    pub fn write(&mut self, ptr: DevicePtr, bytes: &[u8]) -> Result<(), DeviceError> {
        self.note_copy(ptr, bytes.len() as u64);
        self.write_past_l2(ptr, bytes)
    }

    /// Copies bytes to the device and leaves L2 as it is, as GPGPU-Sim's copies to variables do.
    pub fn write_past_l2(&mut self, ptr: DevicePtr, bytes: &[u8]) -> Result<(), DeviceError> {
        let add = |digest: &mut Digest| {
            digest.u64(ptr.0).u64(bytes.len() as u64).bytes(bytes);
        };
        add(&mut self.input);
        self.note_call(CallKind::Write, add);
        Ok(self.memory.write(self.asid, ptr.0, bytes)?)
    }

    /// Notes a copy of these bytes between host and device, which leaves their lines in L2 if the
    /// machine is configured so. Copies from the device have the same effect in GPGPU-Sim
    /// (`gpgpu_t::memcpy_from_gpu`); copies on the device have none.
    pub fn note_copy(&mut self, ptr: DevicePtr, bytes: u64) {
        self.copies.push((ptr.0, bytes));
    }

    /// Copies elements to the device.
    pub fn write_slice<T: Scalar>(
        &mut self,
        ptr: DevicePtr,
        values: &[T],
    ) -> Result<(), DeviceError> {
        let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
        values.iter().for_each(|v| v.put(&mut bytes));
        self.write(ptr, &bytes)
    }

    /// Fills memory with one byte (`cudaMemset`).
    pub fn fill(&mut self, ptr: DevicePtr, byte: u8, bytes: u64) -> Result<(), DeviceError> {
        let add = |digest: &mut Digest| {
            digest.u64(ptr.0).u64(bytes).u64(byte.into());
        };
        add(&mut self.input);
        self.note_call(CallKind::Fill, add);
        Ok(self.memory.fill(self.asid, ptr.0, byte, bytes)?)
    }

    /// Limits the buffer for the output of kernels (`cudaLimitPrintfFifoSize`). Of the output
    /// before a kernel's end, the last `bytes` are kept.
    pub fn limit_printed(&mut self, bytes: u64) {
        self.note_input(CallKind::Limit, &format!("printed {bytes}"));
        self.memory.limit_printed(self.asid, bytes);
    }

    /// Sets the size of the heap for `malloc` in kernels (`cudaLimitMallocHeapSize`).
    ///
    /// # Errors
    /// If the heap exists already: the first launch of a kernel that uses it creates it.
    pub fn limit_heap(&mut self, bytes: u64) -> Result<(), DeviceError> {
        self.note_input(CallKind::Limit, &format!("heap {bytes}"));
        Ok(self.memory.limit_heap(self.asid, bytes)?)
    }

    pub(crate) fn open_heap(&mut self) -> Result<(), DeviceError> {
        Ok(self.memory.open_heap(self.asid)?)
    }

    /// Copies bytes on the device, which leaves L2 as it is.
    pub fn copy(&mut self, from: DevicePtr, to: DevicePtr, bytes: u64) -> Result<(), DeviceError> {
        let inside = self.memory.bytes_from(self.asid, from.0);
        let mut copied = vec![0; bytes.min(inside.saturating_add(1)) as usize];
        self.read(from, &mut copied)?;
        self.write_past_l2(to, &copied)
    }

    /// Copies bytes from the device.
    pub fn read(&self, ptr: DevicePtr, out: &mut [u8]) -> Result<(), DeviceError> {
        self.note_call(CallKind::Read, |digest| {
            digest.u64(ptr.0).u64(out.len() as u64);
        });
        self.memory.read(self.asid, ptr.0, out)?;
        if let Some(calls) = &self.calls {
            calls.answer(out);
        }
        Ok(())
    }

    /// Copies `count` elements from the device.
    pub fn read_vec<T: Scalar>(&self, ptr: DevicePtr, count: usize) -> Result<Vec<T>, DeviceError> {
        let mut bytes = vec![0; count * T::BYTES];
        self.read(ptr, &mut bytes)?;
        Ok(bytes.chunks_exact(T::BYTES).map(T::get).collect())
    }

    /// Copies `count` elements of an output from the device. After a run that was cut, the elements
    /// that any launch wrote count as computed.
    pub fn output<T: Scalar>(
        &self,
        ptr: DevicePtr,
        count: usize,
    ) -> Result<Output<T>, DeviceError> {
        self.output_of(ptr, count, Written::by_any)
    }

    /// Copies `count` elements of an output that launches overwrite. After a run that was cut, the
    /// elements that the last launch wrote count as computed.
    pub fn last_output<T: Scalar>(
        &self,
        ptr: DevicePtr,
        count: usize,
    ) -> Result<Output<T>, DeviceError> {
        self.output_of(ptr, count, Written::by_last)
    }

    fn output_of<T: Scalar>(
        &self,
        ptr: DevicePtr,
        count: usize,
        bytes: fn(&Written) -> &Bytes,
    ) -> Result<Output<T>, DeviceError> {
        let values = self.read_vec(ptr, count)?;
        let Some(cut) = &self.cut else {
            return Ok(Output::from(values));
        };
        let bytes = bytes(&cut.written);
        let addresses = (0..count).map(|at| ptr.0 + (at * T::BYTES) as u64);
        let computed = addresses.map(|at| bytes.have(at, T::BYTES as u64));
        Ok(Output::partial(values, computed.collect()))
    }

    /// Number of launches that were made, of `all` launches of a program. It is lower if the run
    /// was cut; the last launch may then be incomplete.
    pub fn launches_of(&self, all: u32) -> u32 {
        let made = self.cut.as_ref().map(|cut| cut.launches);
        made.map_or(all, |made| all.min(made as u32))
    }

    /// Marks the run as cut after these launches.
    pub(crate) fn cut(&mut self, launches: u64, written: Written) {
        self.cut = Some(Cut { launches, written });
    }

    /// Copies between host and device since the last call, as (address, bytes).
    pub(crate) fn take_copies(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.copies)
    }

    /// Digest of all input: modules, copies, launches.
    pub fn input_digest(&self) -> String {
        self.input.hex()
    }

    /// Adds a text to the digest of the input, for a call.
    pub(crate) fn note_input(&mut self, kind: CallKind, text: &str) {
        self.input.str(text);
        self.note_call(kind, |digest| {
            digest.str(text);
        });
    }

    /// Notes a call of the process, if its calls are recorded. `add` adds its arguments and data to
    /// their digest.
    pub(crate) fn note_call(&self, kind: CallKind, add: impl FnOnce(&mut Digest)) {
        if let Some(calls) = &self.calls {
            calls.note(kind, add);
        }
    }

    /// Loads a lowered module: allocates its variables and writes their values.
    pub fn load(
        &mut self,
        name: &str,
        ir: ModuleIr,
        refused: Vec<(String, String)>,
    ) -> Result<ModuleId, DeviceError> {
        let image = load_module(&ir, &mut self.memory, self.asid)?;
        for (global, address) in ir.globals.iter().zip(&image.globals) {
            self.memory.name(self.asid, *address, &global.name);
        }
        let before = ir.kernels.iter().map(|kernel| self.place_code(kernel));
        let instructions_before = before.collect();
        self.modules.push(LoadedModule {
            name: name.to_owned(),
            instructions_before,
            kernels: ir.kernels.into_iter().map(Arc::new).collect(),
            refused,
            globals: ir.globals,
            addresses: image.globals,
            texture_refs: vec![0; ir.textures.len()],
            textures: ir.textures,
        });
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    /// Places a kernel's code after all code that was loaded before.
    fn place_code(&mut self, kernel: &Program) -> u64 {
        let before = self.instructions_loaded;
        self.instructions_loaded += kernel.insts.len() as u64;
        before
    }

    /// Creates a texture object for a kernel's argument and returns its handle for `tex`
    /// instructions.
    pub fn texture_object(&mut self, texture: Texture) -> u64 {
        self.note_input(CallKind::Texture, &format!("{texture:?}"));
        Arc::make_mut(&mut self.textures).bind(texture)
    }

    /// Creates a texture object with several levels, the largest first.
    pub fn mipmap_object(&mut self, levels: Vec<Texture>, detail: MipmapSettings) -> u64 {
        self.note_input(CallKind::Texture, &format!("{levels:?} {detail:?}"));
        Arc::make_mut(&mut self.textures).bind_mipmap(levels, detail)
    }

    /// Sets the border colour of a texture object: bits of floats, or integers if its texels are
    /// read as integers.
    pub fn colour_border(&mut self, handle: u64, colour: [u32; 4]) {
        self.note_input(CallKind::Texture, &format!("border {colour:?}"));
        Arc::make_mut(&mut self.textures).set_border_colour(handle, colour);
    }

    /// Binds a texture to a module's texture reference (`cudaBindTexture`).
    pub fn bind_texture(
        &mut self,
        id: ModuleId,
        reference: &str,
        texture: Texture,
    ) -> Result<(), DeviceError> {
        let handle = self.texture_object(texture);
        let module = &mut self.modules[id.0 as usize];
        let at = module.textures.iter().position(|name| name == reference);
        let at = at.ok_or_else(|| DeviceError::UnknownVariable {
            module: module.name.clone(),
            variable: reference.to_owned(),
        })?;
        module.texture_refs[at] = handle;
        Ok(())
    }

    /// Table of all textures by handle.
    pub(crate) fn textures(&self) -> &Arc<TextureTable> {
        &self.textures
    }

    /// The loaded module with this identifier.
    pub fn module(&self, id: ModuleId) -> &LoadedModule {
        &self.modules[id.0 as usize]
    }

    /// The kernel with this name.
    pub fn kernel(&self, id: ModuleId, name: &str) -> Result<&Arc<Program>, DeviceError> {
        let module = self.module(id);
        if let Some(program) = module.kernels.iter().find(|k| k.name == name) {
            return Ok(program);
        }
        if let Some((kernel, reason)) = module.refused.iter().find(|(k, _)| k == name) {
            return Err(DeviceError::Refused {
                kernel: kernel.clone(),
                reason: reason.clone(),
            });
        }
        let names: Vec<&str> = module.kernels.iter().map(|k| k.name.as_str()).collect();
        let hint = match names.as_slice() {
            [] => "; it has none".to_owned(),
            names => format!("; it has: {}", names.join(", ")),
        };
        Err(DeviceError::UnknownKernel {
            module: module.name.clone(),
            kernel: name.to_owned(),
            hint,
        })
    }

    /// Number of instructions that lie before a kernel's.
    pub(crate) fn instructions_before(&self, id: ModuleId, name: &str) -> u64 {
        let module = self.module(id);
        let at = module.kernels.iter().position(|k| k.name == name);
        at.map_or(0, |at| module.instructions_before[at])
    }

    /// Address of a module's variable (`cudaGetSymbolAddress`).
    pub fn variable(&self, id: ModuleId, name: &str) -> Result<DevicePtr, DeviceError> {
        let module = self.module(id);
        let at = module.globals.iter().position(|g| g.name == name);
        at.map(|i| DevicePtr(module.addresses[i]))
            .ok_or_else(|| DeviceError::UnknownVariable {
                module: module.name.clone(),
                variable: name.to_owned(),
            })
    }
}
