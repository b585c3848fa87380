//! A test kernel with its inputs and the expected results of its threads.

use crate::forms::texture::Bound;
use crate::forms::value::{Expect, Kind, POISON};
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_base::Dim3;
use warploom_diag::{Source, Style};
use warploom_exec::{
    BranchOrder, DeviceMemory, FunctionalOptions, LaunchContext, LaunchSpec, MemoryError,
    TextureTable, load_module, run_grid,
};
use warploom_ir::{ModuleIr, Program};

/// Number of warp instructions after which a test is abandoned.
const BUDGET: u64 = 1 << 20;
/// Size of memory for all buffers.
const MEMORY_BYTES: u64 = 1 << 24;
/// Largest shared memory of a block.
const SHARED_BYTES: u32 = 96 << 10;

/// A value that every thread loads before the tested code, into a register of its name.
pub struct Input {
    pub name: String,
    pub kind: Kind,
    /// Values, one per thread.
    pub values: Vec<u64>,
}

/// A value that every thread stores after the tested code.
pub struct Output {
    pub name: String,
    pub kind: Kind,
    /// Line of the file and expected value, one per thread.
    pub expect: Vec<(usize, Expect)>,
    /// True if threads may give the values in any order.
    pub sorted: bool,
}

/// Global memory that all threads share. A register of its name contains the address.
pub struct Buffer {
    pub name: String,
    pub kind: Kind,
    pub initial: Vec<u64>,
    /// Line and expected contents after the run.
    pub after: Option<(usize, Vec<Expect>)>,
}

/// A test with its kernel.
#[derive(Default)]
pub struct Job {
    /// Line of the test in the file.
    pub line: usize,
    /// Title of the test in the file.
    pub title: String,
    /// Opcodes with modifiers that the test covers.
    pub covers: Vec<String>,
    pub grid: Dim3,
    pub block: Dim3,
    pub cluster: Option<Dim3>,
    pub dynamic_shared: u32,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub buffers: Vec<Buffer>,
    /// Textures. A texture is a reference if the module declares one of its name, otherwise an
    /// object in a register.
    pub textures: Vec<Bound>,
    /// Bytes of a kernel parameter `cells`.
    pub param: Vec<u8>,
    /// Declarations outside of the kernel.
    pub module: String,
    /// The code under test.
    pub code: String,
    /// A part of the message of the fault that must end the kernel.
    pub fault: Option<String>,
}

impl Job {
    pub fn threads(&self) -> usize {
        (self.grid.count() * self.block.count()) as usize
    }

    /// Runs the test without timing. Returns the errors, one line each. The order of the sides of a
    /// divergent branch must have no effect.
    pub fn run(&self) -> Vec<String> {
        let wrong = self.judge(self.results(BranchOrder::TakenFirst));
        if wrong.is_empty() {
            self.judge(self.results(BranchOrder::HighestLaneLast))
        } else {
            wrong
        }
    }

    /// Errors in the contents of results and buffers, or the reason why there are none.
    pub fn judge(&self, contents: Result<Vec<Vec<u8>>, String>) -> Vec<String> {
        match contents {
            Ok(_) if self.fault.is_some() => Vec::new(),
            Ok(contents) => self.compare(&contents),
            Err(message) => vec![format!("{}: `{}`: {message}", self.line, self.title)],
        }
    }

    /// Contents of the results and of each buffer after a run.
    fn results(&self, order: BranchOrder) -> Result<Vec<Vec<u8>>, String> {
        let text = self.ptx();
        let source = Source::new("form.ptx", &text);
        let module = warploom_run::compile(&source).map_err(|error| error.to_string())?;
        if let Some((_, why)) = module.refused.first() {
            return Err(why.render(&source, Style::Plain));
        }
        let mut memory = DeviceMemory::new(MEMORY_BYTES);
        let addresses = self.place_buffers(&mut memory)?;
        let program = Arc::new(module.kernels[0].clone());
        let spec = self.launch(&module, &program, &mut memory, &addresses)?;
        let spec = LaunchSpec {
            branch_order: order,
            ..spec
        };
        let context = LaunchContext::new(program, spec).map_err(|error| error.to_string())?;
        let options = FunctionalOptions {
            budget: BUDGET,
            resident_blocks: self.grid.count() as usize,
            ..FunctionalOptions::default()
        };
        let end = run_grid(&context, &mut memory, options);
        self.check_end(end.err().map(|error| error.to_string()))?;
        let places = addresses.iter().zip(self.memory());
        let contents = places.skip(1).map(|(&address, mut bytes)| {
            let read = memory.read(0, address, &mut bytes);
            read.map(|()| bytes).map_err(|error| error.to_string())
        });
        contents.collect()
    }

    /// Checks how the run ended. `failure` is the reason if it did not finish.
    pub fn check_end(&self, failure: Option<String>) -> Result<(), String> {
        match (&self.fault, failure) {
            (None, None) => Ok(()),
            (None, Some(message)) => Err(message),
            (Some(part), Some(message)) if message.contains(part) => Ok(()),
            (Some(part), end) => Err(format!("should end with `{part}`, ended with {end:?}")),
        }
    }

    /// Textures that no reference of the module names.
    pub fn objects(&self) -> impl Iterator<Item = &Bound> {
        self.textures.iter().filter(|texture| !self.names(texture))
    }

    /// True if a reference of the module names the texture.
    pub fn names(&self, texture: &Bound) -> bool {
        let name = &texture.memory.name;
        let declared = |what: &str| self.module.contains(&format!(".{what} {name};"));
        declared("texref") || declared("surfref")
    }

    /// Buffers, followed by the contents of textures.
    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let textures = self.textures.iter().map(|texture| &texture.memory);
        self.buffers.iter().chain(textures)
    }

    /// Each texture with its address, given the addresses of everything in memory.
    pub fn placed<T: Copy>(&self, places: &[T]) -> impl Iterator<Item = (&Bound, T)> {
        let own = places.len() - self.textures.len();
        self.textures.iter().zip(places[own..].iter().copied())
    }

    /// Initial contents of memory: inputs, results, buffers, textures.
    pub fn memory(&self) -> Vec<Vec<u8>> {
        let inputs = self.inputs.iter().flat_map(|input| &input.values);
        let inputs: Vec<u8> = inputs.flat_map(|value| value.to_le_bytes()).collect();
        let results = vec![POISON; 8 * self.threads() * self.outputs.len()];
        let buffers = self.buffers().map(Buffer::bytes);
        [inputs, results].into_iter().chain(buffers).collect()
    }

    fn place_buffers(&self, memory: &mut DeviceMemory) -> Result<Vec<u64>, String> {
        let mut place = |bytes: &[u8]| {
            let address = memory.alloc(0, bytes.len() as u64)?;
            memory.write(0, address, bytes)?;
            Ok(address)
        };
        let all = self.memory();
        let placed: Result<_, MemoryError> = all.iter().map(|bytes| place(bytes)).collect();
        placed.map_err(|error| error.to_string())
    }

    fn launch(
        &self,
        module: &ModuleIr,
        program: &Program,
        memory: &mut DeviceMemory,
        addresses: &[u64],
    ) -> Result<LaunchSpec, String> {
        let image = load_module(module, memory, 0).map_err(|error| error.to_string())?;
        let mut table = TextureTable::default();
        let mut handles = BTreeMap::new();
        for (texture, base) in self.placed(addresses) {
            let handle = table.bind(texture.at(base));
            handles.insert(texture.memory.name.as_str(), handle);
        }
        let objects = self.objects();
        let objects = objects.map(|texture| handles[texture.memory.name.as_str()]);
        let mut params = vec![0; program.param_bytes as usize];
        let pointers = &addresses[..addresses.len() - self.textures.len()];
        let pointers = pointers.iter().copied().chain(objects);
        let pointers = pointers.map(|address| address.to_le_bytes().to_vec());
        let values = pointers.chain([self.param.clone()]);
        for (param, bytes) in program.params.iter().zip(values) {
            params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        Ok(LaunchSpec {
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            dynamic_shared_bytes: self.dynamic_shared,
            max_shared_bytes: SHARED_BYTES,
            barriers: 16,
            params,
            globals: image.globals,
            texture_refs: module
                .textures
                .iter()
                .map(|name| handles[name.as_str()])
                .collect(),
            textures: Arc::new(table),
            ..LaunchSpec::default()
        })
    }

    fn compare(&self, contents: &[Vec<u8>]) -> Vec<String> {
        let mut wrong = Vec::new();
        let results = values(&contents[0], 64);
        for (output, got) in self.outputs.iter().zip(results.chunks(self.threads())) {
            wrong.extend(self.compare_output(output, got));
        }
        for (buffer, bytes) in self.buffers().zip(&contents[1..]) {
            wrong.extend(self.compare_buffer(buffer, &values(bytes, buffer.kind.bits())));
        }
        wrong
    }

    fn compare_output(&self, output: &Output, got: &[u64]) -> Vec<String> {
        let mut got = got.to_vec();
        if output.sorted {
            got.sort_unstable_by_key(|value| value & (u64::MAX >> (64 - output.kind.bits())));
        }
        let all = output.expect.iter().zip(got).enumerate();
        let wrong = all.filter(|(_, ((_, expect), got))| !output.kind.meets(*got, expect));
        wrong
            .map(|(thread, ((line, expect), got))| {
                let shown = output.kind.show(got);
                let (title, name) = (&self.title, &output.name);
                format!(
                    "{line}: `{title}`: {name} of thread {thread} is {shown}, not {expect:?}; {}",
                    self.inputs_of(thread)
                )
            })
            .collect()
    }

    fn inputs_of(&self, thread: usize) -> String {
        let show =
            |input: &Input| format!("{} {}", input.name, input.kind.show(input.values[thread]));
        self.inputs.iter().map(show).collect::<Vec<_>>().join(", ")
    }

    fn compare_buffer(&self, buffer: &Buffer, got: &[u64]) -> Vec<String> {
        let Some((line, after)) = &buffer.after else {
            return Vec::new();
        };
        let all = after.iter().zip(got).enumerate();
        let wrong = all.filter(|(_, (expect, got))| !buffer.kind.meets(**got, expect));
        wrong
            .map(|(index, (expect, got))| {
                let shown = buffer.kind.show(*got);
                let (title, name) = (&self.title, &buffer.name);
                format!("{line}: `{title}`: {name}[{index}] is {shown}, not {expect:?}")
            })
            .collect()
    }
}

impl Buffer {
    fn bytes(&self) -> Vec<u8> {
        let width = self.kind.bits() as usize / 8;
        let each = self.initial.iter().map(|value| value.to_le_bytes());
        each.flat_map(|bytes| bytes.into_iter().take(width))
            .collect()
    }
}

/// Values of `bits` bits each.
fn values(bytes: &[u8], bits: u32) -> Vec<u64> {
    let width = bits as usize / 8;
    let each = bytes.chunks(width).map(|chunk| {
        let mut value = [0; 8];
        value[..width].copy_from_slice(chunk);
        u64::from_le_bytes(value)
    });
    each.collect()
}
