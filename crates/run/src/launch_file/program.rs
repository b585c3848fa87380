//! Executes a launch file as a host program.

use super::access::{Access, influences, misread, remedy};
use super::bind::{BoundArg, Limits, bind};
use super::compare::compare;
use super::element::Element;
use super::error::InputErrors;
use super::mentioned::{add_problems_of_launches, with_unknown_names};
use super::npy::{self, Array};
use super::parse::{parse, product, read};
use super::plan::*;
use crate::checkpoint::CallKind;
use crate::compile::compile;
use crate::device::{Device, DevicePtr, ModuleId};
use crate::files::{is_same_file, probe_output};
use crate::host::{Arg, Check, HostAction, HostError, HostProgram, Launch};
use std::path::{Path, PathBuf};
use warploom_base::{Digest, Rng};
use warploom_diag::{Diagnostic, Diagnostics, Source, Span, Style};
use warploom_fields::Number;
use warploom_ir::ModuleIr;

/// A launch file with its module and the contents of its data files.
#[derive(Clone, Debug)]
pub struct LaunchFile {
    source: Source,
    plan: Plan,
    folder: PathBuf,
    module: Source,
    buffers: Vec<Buffer>,
    expected: Vec<Option<Array>>,
}

/// A buffer whose type and size are known.
#[derive(Clone, Debug)]
struct Buffer {
    element: Element,
    shape: Vec<u64>,
    /// Contents of its `.npy` file, if it has one.
    contents: Option<Vec<u8>>,
}

impl Buffer {
    fn elements(&self) -> u64 {
        product(&self.shape).expect("checked when it was read")
    }

    fn bytes(&self) -> u64 {
        self.elements() * self.element.bytes() as u64
    }
}

/// True if a file's name is that of CUDA, C or C++.
#[must_use]
pub fn is_source_code(name: &str) -> bool {
    let ending = Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str());
    matches!(
        ending,
        Some("cu" | "cuh" | "c" | "cc" | "cpp" | "h" | "hpp")
    )
}

/// The module of a launch file in `folder`, whose name is at `place`.
pub(super) fn read_module(
    folder: &Path,
    name: &str,
    place: Span,
) -> Result<Source, Box<Diagnostic>> {
    let problem = |message: String, help: &str| {
        Box::new(Diagnostic::error("no-module", place, message).help(help))
    };
    if is_source_code(name) && folder.join(name).is_file() {
        return Err(problem(
            format!("{name} is source code, which is compiled to PTX first"),
            "compile it to PTX, for example `nvcc -ptx -lineinfo -arch=compute_75 FILE.cu -o FILE.ptx`; \
             `warploom run FILE.cu` needs no launch file",
        ));
    }
    read(&folder.join(name)).map_err(|error| {
        let message = error.to_string().replacen("error: ", "", 1);
        problem(message, "`module` is a path from the launch file's folder")
    })
}

impl LaunchFile {
    /// Number of launches that the file describes.
    #[must_use]
    pub fn launches(&self) -> usize {
        self.plan.launches.len()
    }

    /// Reads a launch file, its module and its data files.
    ///
    /// # Errors
    /// All problems of the file, or of files that cannot be read.
    pub fn load(path: &Path) -> Result<Self, InputErrors> {
        Self::load_compiling(path, |_| None)
    }

    /// The same. If the file has problems and its module is source code, `compile` makes PTX of the
    /// module, so that kernels that it does not have are among the problems.
    ///
    /// # Errors
    /// All problems of the file, or of files that cannot be read.
    pub fn load_compiling(
        path: &Path,
        compile: impl FnOnce(&Path) -> Option<Source>,
    ) -> Result<Self, InputErrors> {
        let source = read(path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let plan = parse(&source).map_err(|errors| {
            with_unknown_names(errors, &folder, |name, place| {
                let module = folder.join(name);
                match is_source_code(name) && module.is_file() {
                    true => compile(&module).map(Ok),
                    false => Some(read_module(&folder, name, place)),
                }
            })
        })?;
        let (name, place) = &plan.module;
        let module = read_module(&folder, name, *place);
        let module = module.map_err(|problem| {
            let errors = InputErrors::one(&source, *problem);
            with_unknown_names(errors, &folder, |_, _| None)
        })?;
        Self::new(source, plan, folder, module)
    }

    /// Digest of the file, its module and its data files. Equal digests give equal runs.
    pub fn digest(&self) -> String {
        let mut digest = Digest::new();
        digest.str(self.source.text()).str(self.module.text());
        let buffers = self.buffers.iter();
        let contents = buffers.map(|buffer| buffer.contents.as_deref());
        let expected = self.expected.iter();
        let expected = expected.map(|array| array.as_ref().map(|array| array.bytes.as_slice()));
        for data in contents.chain(expected) {
            let data = data.unwrap_or_default();
            digest.u64(data.len() as u64).bytes(data);
        }
        digest.hex()
    }

    /// Creates a launch file from a plan. The places in the plan refer to `source`, and its paths
    /// are relative to `folder`.
    ///
    /// # Errors
    /// If data files cannot be read or do not fit. Problems of the launches that do not depend on
    /// the GPU are reported with them.
    pub fn new(
        source: Source,
        mut plan: Plan,
        folder: PathBuf,
        module: Source,
    ) -> Result<Self, InputErrors> {
        let mut diagnostics = Diagnostics::new();
        let buffers = plan.buffers.iter();
        let buffers: Vec<_> = buffers
            .filter_map(|buffer| fill(buffer, &folder, &mut diagnostics))
            .collect();
        let expects = plan.expects.iter();
        let expected = expects
            .map(|expect| expected(expect, &folder, &mut diagnostics))
            .collect();
        check_dumps(&source, &plan, &folder, &mut diagnostics);
        if diagnostics.has_errors() {
            add_problems_of_launches(&mut plan, &module, &mut diagnostics);
        }
        InputErrors::check(&source, diagnostics)?;
        Ok(Self {
            source,
            plan,
            folder,
            module,
            buffers,
            expected,
        })
    }

    /// Text of the module.
    pub fn module(&self) -> &Source {
        &self.module
    }

    /// Accesses of kernels to buffers whose elements have another size: each buffer's name, the
    /// type of its elements, and the access.
    pub fn other_sizes(&self) -> impl Iterator<Item = (&str, Element, &Access)> {
        let buffers = self.plan.buffers.iter().zip(&self.buffers);
        buffers.flat_map(|(plan, buffer)| {
            let accesses = plan.accesses.iter();
            let other = accesses.filter(|access| !access.has_size_of(buffer.element));
            other.map(|access| (plan.name.as_str(), buffer.element, access))
        })
    }

    /// Clauses on the buffers that a wrong output may depend on and whose elements have another
    /// size than a kernel accesses there.
    fn misread_for(&self, output: &str) -> String {
        let inputs = influences(&self.plan, output);
        let others = self.other_sizes();
        let others = others.filter(|(name, ..)| inputs.contains(name));
        others
            .map(|(name, given, access)| misread(name, given, access))
            .collect()
    }

    /// Compiles the module and binds the launches to its kernels and to the GPU.
    ///
    /// # Errors
    /// Problems of the PTX, or launches that do not fit.
    pub fn program(self, limits: Limits) -> Result<LaunchProgram, InputErrors> {
        let ir = compile(&self.module).map_err(|error| InputErrors::Module(error.to_string()))?;
        let reason = |why: &Diagnostics| why.render(&self.module, Style::Plain);
        let refused = ir
            .refused
            .iter()
            .map(|(kernel, why)| (kernel.clone(), reason(why)));
        let refused = refused.collect();
        self.bind(ir, refused, limits)
    }

    /// Creates the program for a compiled module. `refused` names kernels that cannot run, with the
    /// reason.
    ///
    /// # Errors
    /// Launches of refused kernels, with the reasons, or launches that do not fit.
    pub(super) fn bind(
        mut self,
        ir: ModuleIr,
        refused: Vec<(String, String)>,
        limits: Limits,
    ) -> Result<LaunchProgram, InputErrors> {
        let names: Vec<&str> = refused.iter().map(|(kernel, _)| kernel.as_str()).collect();
        self.plan.name_kernels(&ir, &names);
        let launched = |kernel: &str| self.plan.launches.iter().any(|l| l.kernel.0 == kernel);
        let reasons = refused.iter().filter(|(kernel, _)| launched(kernel));
        let reasons: Vec<String> = reasons
            .map(|(kernel, reason)| format!("kernel {kernel} cannot run:\n{reason}"))
            .collect();
        if !reasons.is_empty() {
            return Err(InputErrors::Module(reasons.join("\n")));
        }
        let mut diagnostics = Diagnostics::new();
        let args = bind(&self.plan, &ir, limits, &mut diagnostics);
        self.check_expected_shapes(&mut diagnostics);
        diagnostics.sort();
        InputErrors::check(&self.source, diagnostics)?;
        Ok(LaunchProgram {
            file: self,
            args,
            compiled: Some((ir, refused)),
            module: ModuleId(0),
            addresses: Vec::new(),
            next: 0,
            synchronised: false,
            failed_dumps: Vec::new(),
        })
    }

    fn buffer(&self, name: &str) -> Option<(usize, &Buffer)> {
        let at = self
            .plan
            .buffers
            .iter()
            .position(|buffer| buffer.name == name)?;
        Some((at, &self.buffers[at]))
    }

    fn check_expected_shapes(&self, diagnostics: &mut Diagnostics) {
        for (plan, array) in self.plan.expects.iter().zip(&self.expected) {
            let (Some(array), Some((_, buffer))) = (array, self.buffer(&plan.buffer.0)) else {
                continue;
            };
            let (has, wants) = (product(&array.shape), buffer.elements());
            if has != Some(wants) {
                let message = format!(
                    "{:?} values for a buffer of {:?}",
                    array.shape, buffer.shape
                );
                let problem = Diagnostic::error("wrong-size", plan.place, message);
                diagnostics.push(problem.help("save as many values as the buffer has elements"));
            }
        }
    }
}

/// Refuses dumps to files that the run reads, and two dumps to the same file.
fn check_dumps(source: &Source, plan: &Plan, folder: &Path, diagnostics: &mut Diagnostics) {
    let mut inputs = plan.inputs(folder);
    inputs.push(PathBuf::from(source.name()));
    for (at, dump) in plan.dumps.iter().enumerate() {
        let path = folder.join(&dump.path);
        let earlier = plan.dumps[..at].iter().map(|dump| folder.join(&dump.path));
        let message = if inputs.iter().any(|input| is_same_file(input, &path)) {
            format!("`{}` is a file that this run reads", dump.path)
        } else if earlier.into_iter().any(|other| is_same_file(&other, &path)) {
            format!("`{}` is the file of another dump", dump.path)
        } else {
            continue;
        };
        let problem = Diagnostic::error("dump-overwrites", dump.place, message);
        diagnostics.push(problem.help("write another path"));
    }
}

/// Loads the array of a file, or reports a problem at `place`.
pub(super) fn load(
    path: &str,
    folder: &Path,
    place: Span,
    diagnostics: &mut Diagnostics,
) -> Option<Array> {
    npy::load(&folder.join(path))
        .map_err(|why| {
            let problem = Diagnostic::error("bad-npy", place, format!("`{path}`: {why}"));
            diagnostics.push(problem.help("paths start at the launch file's folder"));
        })
        .ok()
}

fn fill(plan: &BufferPlan, folder: &Path, diagnostics: &mut Diagnostics) -> Option<Buffer> {
    let Init::Npy(path) = &plan.init else {
        return Some(Buffer {
            element: plan.element.expect("given unless there is a file"),
            shape: plan.shape.clone().expect("given unless there is a file"),
            contents: None,
        });
    };
    let array = load(path, folder, plan.init_place, diagnostics)?;
    let element_fits = plan.element.is_none_or(|element| element == array.element);
    let shape_fits = plan
        .shape
        .as_ref()
        .is_none_or(|shape| product(shape) == product(&array.shape));
    if !(element_fits && shape_fits) {
        let message = format!(
            "`{path}` holds {} of shape {:?}",
            array.element.name(),
            array.shape
        );
        let problem = Diagnostic::error("wrong-size", plan.init_place, message);
        let remedy = match (plan.element, element_fits) {
            (Some(element), false) => remedy(element, array.element, &plan.accesses),
            _ => "leave `shape` out, or write the file's own".to_owned(),
        };
        diagnostics.push(problem.help(remedy));
        return None;
    }
    Some(Buffer {
        element: array.element,
        shape: plan.shape.clone().unwrap_or(array.shape),
        contents: Some(array.bytes),
    })
}

fn expected(plan: &ExpectPlan, folder: &Path, diagnostics: &mut Diagnostics) -> Option<Array> {
    match &plan.expected {
        Expected::Npy(path) => load(path, folder, plan.place, diagnostics),
        Expected::Constant(_) => None,
    }
}

/// The host program of a launch file. It copies buffers, launches kernels in order, writes dumps,
/// and checks expectations.
#[derive(Debug)]
pub struct LaunchProgram {
    file: LaunchFile,
    args: Vec<Vec<BoundArg>>,
    /// Compiled module and refused kernels. The first action takes them.
    compiled: Option<(ModuleIr, Vec<(String, String)>)>,
    module: ModuleId,
    addresses: Vec<DevicePtr>,
    next: usize,
    synchronised: bool,
    /// Dumps that could not be written at the end of the run.
    failed_dumps: Vec<Check>,
}

impl LaunchProgram {
    fn set_up(&mut self, device: &mut Device) -> Result<(), HostError> {
        let Some((ir, refused)) = self.compiled.take() else {
            return Ok(());
        };
        self.probe_dumps()?;
        device.note_input(CallKind::Module, self.file.module.text());
        self.module = device.load(self.file.module.name(), ir, refused)?;
        for (plan, buffer) in self.file.plan.buffers.iter().zip(&mut self.file.buffers) {
            let address = device.alloc(buffer.bytes())?;
            device.name(address, &plan.name);
            match (&plan.init, buffer.contents.take()) {
                (_, Some(contents)) => device.write(address, &contents)?,
                (Init::Zeros, None) => device.fill(address, 0, buffer.bytes())?,
                (init, None) => device.write(address, &generate(init, buffer))?,
            }
            self.addresses.push(address);
        }
        Ok(())
    }

    fn launch(&self, at: usize) -> Launch {
        let plan = &self.file.plan.launches[at];
        let arg = |arg: &BoundArg| match arg {
            BoundArg::Value(value) => value.clone(),
            BoundArg::Buffer(buffer) => Arg::Pointer(self.addresses[*buffer]),
            BoundArg::Struct {
                bytes,
                addresses,
                address_bytes,
            } => {
                let mut bytes = bytes.clone();
                for (at, buffer) in addresses {
                    let address = self.addresses[*buffer].0.to_le_bytes();
                    bytes[*at..at + address_bytes].copy_from_slice(&address[..*address_bytes]);
                }
                Arg::Bytes(bytes)
            }
        };
        Launch {
            module: self.module,
            kernel: plan.kernel.0.clone(),
            grid: plan.grid.0,
            block: plan.block.0,
            cluster: plan.cluster.map(|(cluster, _)| cluster),
            dynamic_shared_bytes: plan.dynamic_shared_bytes.0,
            stream: plan.stream,
            args: self.args[at].iter().map(arg).collect(),
            registers_per_thread: plan.registers_per_thread.map(|(registers, _)| registers),
            workspace: None,
        }
    }

    /// Contents of a buffer whose name was checked.
    fn contents(&self, name: &str, device: &Device) -> Result<Array, HostError> {
        let (at, buffer) = self.file.buffer(name).expect("bound to a buffer");
        let mut bytes = vec![0; buffer.bytes() as usize];
        device.read(self.addresses[at], &mut bytes)?;
        Ok(Array {
            element: buffer.element,
            shape: buffer.shape.clone(),
            bytes,
        })
    }

    /// Refuses dumps that cannot be written, before anything runs for them.
    fn probe_dumps(&self) -> Result<(), HostError> {
        for plan in &self.file.plan.dumps {
            probe_output(&self.file.folder.join(&plan.path)).map_err(|error| {
                let message = format!("`{}` cannot be written: {error}", plan.path);
                let problem = Diagnostic::error("no-dump", plan.place, message)
                    .help("paths start at the launch file's folder, which must be writable");
                HostError::Input(InputErrors::one(&self.file.source, problem).to_string())
            })?;
        }
        Ok(())
    }

    /// Writes the dumps. One that cannot be written is a failed check, so that the result of the
    /// run is not lost with it.
    fn dump(&mut self, device: &Device) -> Result<(), HostError> {
        for plan in &self.file.plan.dumps {
            let array = self.contents(&plan.buffer.0, device)?;
            if let Err(error) = npy::store(&self.file.folder.join(&plan.path), &array) {
                self.failed_dumps.push(Check {
                    name: plan.buffer.0.clone(),
                    passed: false,
                    detail: format!("the dump `{}` cannot be written: {error}", plan.path),
                    compared: 0,
                });
            }
        }
        Ok(())
    }
}

impl HostProgram for LaunchProgram {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        self.set_up(device)?;
        if self.next == self.file.plan.launches.len() {
            let streams = self.file.plan.launches.iter().any(|plan| plan.stream != 0);
            if streams && !std::mem::replace(&mut self.synchronised, true) {
                return Ok(HostAction::Synchronize);
            }
            self.dump(device)?;
            return Ok(HostAction::Done);
        }
        self.next += 1;
        Ok(HostAction::Launch(self.launch(self.next - 1)))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let expects = self.file.plan.expects.iter().zip(&self.file.expected);
        let check = |(plan, expected): (&ExpectPlan, &Option<Array>)| {
            let got = self.contents(&plan.buffer.0, device)?;
            let mut comparison = compare(
                got.element,
                &got.bytes,
                |i| expected_value(plan, expected.as_ref(), got.element, i),
                plan.tolerance,
            );
            if !comparison.passed {
                comparison.detail += &self.file.misread_for(&plan.buffer.0);
            }
            Ok(Check {
                name: plan.buffer.0.clone(),
                passed: comparison.passed,
                detail: comparison.detail,
                compared: (got.bytes.len() / got.element.bytes()) as u64,
            })
        };
        let mut checks = expects.map(check).collect::<Result<Vec<_>, HostError>>()?;
        checks.append(&mut self.failed_dumps.clone());
        Ok(checks)
    }
}

/// Value that an element must have. A constant is rounded to the buffer's type, as the kernel's
/// own constants are.
fn expected_value(plan: &ExpectPlan, array: Option<&Array>, of: Element, i: usize) -> Number {
    match (&plan.expected, array) {
        (Expected::Constant(number), _) => of.rounded(*number),
        (Expected::Npy(_), Some(array)) => {
            array.element.get(&array.bytes[i * array.element.bytes()..])
        }
        (Expected::Npy(path), None) => panic!("`{path}` was not loaded"),
    }
}

/// Bytes of a buffer with generated contents.
fn generate(init: &Init, buffer: &Buffer) -> Vec<u8> {
    let mut out = Vec::with_capacity(buffer.bytes() as usize);
    let mut put = |number: Number| {
        buffer
            .element
            .put(number, &mut out)
            .expect("the range was checked");
    };
    let count = buffer.elements();
    let float = buffer.element.is_float();
    match init {
        Init::Zeros | Init::Npy(_) => unreachable!("no generated contents"),
        Init::Constant(number) => (0..count).for_each(|_| put(*number)),
        Init::Iota => {
            let modulo = 1i128 << (buffer.element.bytes() * 8 - usize::from(!float)).min(64);
            (0..count).for_each(|i| put(Number::Int(i128::from(i) % modulo)));
        }
        Init::Uniform { low, high, seed } => {
            let mut rng = Rng::new(*seed);
            (0..count).for_each(|_| put(uniform(&mut rng, *low, *high, float)));
        }
        Init::Normal {
            mean,
            deviation,
            seed,
        } => {
            let mut rng = Rng::new(*seed);
            let mut number = || mean + deviation * rng.normal_f64();
            if float {
                (0..count).for_each(|_| put(Number::Float(number())))
            } else {
                (0..count).for_each(|_| put(saturated(buffer.element, number())))
            }
        }
    }
    out
}

fn uniform(rng: &mut Rng, low: Number, high: Number, float: bool) -> Number {
    if let (Number::Int(low), Number::Int(high), false) = (low, high, float) {
        let span = (high - low) as u128;
        return Number::Int(low + ((u128::from(rng.next_u64()) * span) >> 64) as i128);
    }
    let (low, high) = (low.as_f64(), high.as_f64());
    Number::Float(low + (high - low) * rng.unit_f64())
}

/// The integer nearest to `value` that the type can represent.
fn saturated(element: Element, value: f64) -> Number {
    let bits = element.bytes() * 8;
    let signed = element.name().starts_with('i');
    let (least, most) = if signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    Number::Int((value.round() as i128).clamp(least, most))
}
