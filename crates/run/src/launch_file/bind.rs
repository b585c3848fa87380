//! Checks launches against the kernels' declarations and the limits of the GPU.

use super::element::Element;
use super::plan::{ArgPlan, LaunchPlan, Plan, Scalar};
use super::structure::{Layout, layout};
use crate::host::Arg;
use crate::params::declaration;
use warploom_base::Dim3;
use warploom_config::GpuSpec;
use warploom_diag::{Diagnostic, Diagnostics, Span, nearest};
use warploom_exec::ClusterShape;
use warploom_fields::Number;
use warploom_ir::{ModuleIr, Param, ParamKind, Program};

/// Limits of a GPU for launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Largest number of registers per thread.
    pub registers_per_thread: u32,
}

impl Limits {
    /// Limits of the given GPU.
    pub fn of(gpu: &GpuSpec) -> Self {
        Self {
            shared_bytes: gpu.sm.max_shared_bytes_per_block,
            registers_per_thread: gpu.sm.max_registers_per_thread,
        }
    }
}

/// Largest extents of a grid and of a block, and largest number of threads in a block (CUDA C++
/// Programming Guide, compute capabilities 3.0 and up).
const MOST_BLOCKS: Dim3 = Dim3::new(0x7fff_ffff, 65_535, 65_535);
const MOST_THREADS: Dim3 = Dim3::new(1024, 1024, 64);
const MOST_THREADS_IN_ALL: u64 = 1024;

/// An argument whose buffer, if it is one, has no address yet.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundArg {
    /// A value of a scalar or of bytes.
    Value(Arg),
    /// Index of a buffer in the plan.
    Buffer(usize),
    /// A structure that holds addresses of buffers.
    Struct {
        /// Contents, with zeros in place of addresses.
        bytes: Vec<u8>,
        /// Offset of each address, and index of its buffer.
        addresses: Vec<(usize, usize)>,
        /// Size of an address in bytes.
        address_bytes: usize,
    },
}

/// Converts the arguments of every launch to the types that the kernels declare.
///
/// # Errors
/// Adds to `diagnostics` all violations: unknown kernels and buffers, extents, shared memory,
/// number and types of arguments. The result is complete only if there are no errors.
pub fn bind(
    plan: &Plan,
    module: &ModuleIr,
    limits: Limits,
    diagnostics: &mut Diagnostics,
) -> Vec<Vec<BoundArg>> {
    let names: Vec<&str> = plan
        .buffers
        .iter()
        .map(|buffer| buffer.name.as_str())
        .collect();
    let mut binder = Binder {
        names,
        limits,
        diagnostics,
    };
    for (name, place) in plan.expects.iter().map(|expect| &expect.buffer) {
        binder.buffer(name, *place);
    }
    for (name, place) in plan.dumps.iter().map(|dump| &dump.buffer) {
        binder.buffer(name, *place);
    }
    let launches = plan.launches.iter();
    launches
        .map(|launch| binder.launch(launch, module))
        .collect()
}

/// Problem of a buffer that is not among the declared ones.
pub(super) fn unknown_buffer(name: &str, place: Span, declared: &[&str]) -> Diagnostic {
    let help = match nearest(name, declared.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<_> = declared.iter().map(|name| format!("`{name}`")).collect();
            let known = match known.as_slice() {
                [] => String::new(),
                known => format!("; there are {}", known.join(", ")),
            };
            format!("declare it: `[[buffer]]` with `name = \"{name}\"`{known}")
        }
    };
    let message = format!("there is no buffer `{name}`");
    Diagnostic::error("unknown-buffer", place, message).help(help)
}

/// Problem of a kernel that is not among those of the module.
pub(super) fn unknown_kernel(name: &str, place: Span, kernels: &[&str]) -> Diagnostic {
    let plain: Vec<_> = kernels
        .iter()
        .map(|kernel| warploom_names::plain(kernel))
        .collect();
    let help = match (
        nearest(name, plain.iter().map(AsRef::as_ref)),
        plain.as_slice(),
    ) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => "the module has no kernel (`.entry`)".to_owned(),
        (None, all) => format!("the module has {}", all.join(", ")),
    };
    let message = format!("there is no kernel `{name}`");
    Diagnostic::error("unknown-kernel", place, message).help(help)
}

struct Binder<'a> {
    names: Vec<&'a str>,
    limits: Limits,
    diagnostics: &'a mut Diagnostics,
}

impl Binder<'_> {
    fn problem(&mut self, code: &'static str, place: Span, message: String, help: String) {
        self.diagnostics
            .push(Diagnostic::error(code, place, message).help(help));
    }

    fn buffer(&mut self, name: &str, place: Span) -> Option<usize> {
        let found = self.names.iter().position(|other| *other == name);
        if found.is_none() {
            let problem = unknown_buffer(name, place, &self.names);
            self.diagnostics.push(problem);
        }
        found
    }

    fn launch(&mut self, launch: &LaunchPlan, module: &ModuleIr) -> Vec<BoundArg> {
        let Some(kernel) = self.kernel(launch, module) else {
            return Vec::new();
        };
        self.extents("grid", launch.grid, MOST_BLOCKS);
        self.extents("block", launch.block, MOST_THREADS);
        self.block(launch, kernel);
        self.cluster(launch, kernel);
        self.shared(launch, kernel);
        self.registers(launch);
        self.args(launch, kernel, module.address_bits)
    }

    fn kernel<'m>(&mut self, launch: &LaunchPlan, module: &'m ModuleIr) -> Option<&'m Program> {
        let (name, place) = &launch.kernel;
        let found = module.kernels.iter().find(|kernel| kernel.name == *name);
        if found.is_some() {
            return found;
        }
        let kernels: Vec<&str> = module.kernels.iter().map(|k| k.name.as_str()).collect();
        self.diagnostics
            .push(unknown_kernel(name, *place, &kernels));
        None
    }

    fn extents(&mut self, what: &str, (size, place): (Dim3, Span), most: Dim3) {
        let within = |extent: u32, most: u32| (1..=most).contains(&extent);
        if !(within(size.x, most.x) && within(size.y, most.y) && within(size.z, most.z)) {
            let message = format!("a {what} of {size}");
            let help = format!("write extents from 1 to {most}");
            self.problem("bad-extent", place, message, help);
        }
    }

    fn block(&mut self, launch: &LaunchPlan, kernel: &Program) {
        let (block, place) = launch.block;
        let threads = block.count();
        if threads > MOST_THREADS_IN_ALL {
            let message = format!("a block of {threads} threads");
            let help = format!("write extents whose product is at most {MOST_THREADS_IN_ALL}");
            self.problem("block-too-large", place, message, help);
        }
        let declared = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        if let Some(required) = kernel
            .required_threads
            .map(declared)
            .filter(|r| *r != block)
        {
            let message = format!("`{}` requires blocks of {required}", kernel.name);
            let help = format!(
                "write `block = [{}, {}, {}]`",
                required.x, required.y, required.z
            );
            self.problem("wrong-block", place, message, help);
        }
        if let Some(most) = kernel
            .max_threads
            .map(declared)
            .filter(|m| m.count() < threads)
        {
            let message = format!(
                "`{}` allows blocks of {} threads",
                kernel.name,
                most.count()
            );
            let help = "use a smaller block, or compile with other launch bounds".to_owned();
            self.problem("block-too-large", place, message, help);
        }
    }

    fn cluster(&mut self, launch: &LaunchPlan, kernel: &Program) {
        let place = launch.cluster.map_or(launch.grid.1, |(_, place)| place);
        let cluster = launch.cluster.map(|(cluster, _)| cluster);
        if let Err(why) = ClusterShape::new(kernel, launch.grid.0, cluster) {
            let message = format!(
                "clusters of {} blocks in a grid of {}",
                why.cluster, why.grid
            );
            self.problem("bad-cluster", place, message, why.reason);
        }
    }

    fn shared(&mut self, launch: &LaunchPlan, kernel: &Program) {
        let (dynamic, place) = launch.dynamic_shared_bytes;
        let align = kernel.dynamic_shared_align.unwrap_or(1).max(1);
        let fixed = kernel.shared_bytes.next_multiple_of(align);
        let needed = u64::from(fixed) + u64::from(dynamic);
        let limit = self.limits.shared_bytes;
        if needed > u64::from(limit) {
            let message = format!(
                "a block of `{}` needs {needed} bytes of shared memory, {fixed} of them its own",
                kernel.name
            );
            let help = if fixed <= limit {
                format!(
                    "set `dynamic_shared_bytes` (`--shared`) to at most {}",
                    limit - fixed
                )
            } else {
                format!("this GPU allows {limit} per block; raise `sm.max_shared_bytes_per_block`")
            };
            self.problem("shared-too-large", place, message, help);
        }
    }

    fn registers(&mut self, launch: &LaunchPlan) {
        let limit = self.limits.registers_per_thread;
        if let Some((registers, place)) = launch.registers_per_thread.filter(|(n, _)| *n > limit) {
            let message = format!("{registers} registers per thread");
            let help = format!("this GPU allows {limit} per thread; use at most that number");
            self.problem("too-many-registers", place, message, help);
        }
    }

    fn args(&mut self, launch: &LaunchPlan, kernel: &Program, address_bits: u32) -> Vec<BoundArg> {
        if launch.args.len() != kernel.params.len() {
            let message = format!(
                "`{}` takes {} arguments, not {}",
                warploom_names::plain(&kernel.name),
                kernel.params.len(),
                launch.args.len()
            );
            let help = if kernel.params.is_empty() {
                "leave `args` out".to_owned()
            } else {
                format!("it declares {}", declaration(kernel))
            };
            self.problem("wrong-arguments", launch.args_place, message, help);
            return Vec::new();
        }
        let args = launch.args.iter().enumerate();
        let bound = args.map(|(i, (arg, place))| self.arg(i, arg, *place, kernel, address_bits));
        bound.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// Fits an argument to a parameter. A buffer needs a parameter at least as wide as the module's
    /// addresses.
    fn arg(
        &mut self,
        i: usize,
        arg: &ArgPlan,
        place: Span,
        kernel: &Program,
        address_bits: u32,
    ) -> Option<BoundArg> {
        let param = &kernel.params[i];
        let value = match arg {
            ArgPlan::Buffer(name) => {
                let buffer = self.buffer(name, place)?;
                if holds_address(param, address_bits) {
                    return Some(BoundArg::Buffer(buffer));
                }
                None
            }
            ArgPlan::Scalar(scalar) => scalar_arg(*scalar, param),
            ArgPlan::Bytes(bytes) if bytes.len() == param.bytes as usize => {
                Some(Arg::Bytes(bytes.clone()))
            }
            ArgPlan::Bytes(_) => None,
            ArgPlan::Struct(members) => {
                let address_bytes = address_bits as usize / 8;
                let laid = layout(members, address_bytes);
                if let Some(laid) = laid.filter(|laid| laid.bytes.len() == param.bytes as usize) {
                    return self.structure(laid, address_bytes, place);
                }
                None
            }
        };
        if value.is_none() {
            let address = holds_address(param, address_bits);
            let kind = kind(param, address);
            let given = given(arg, address_bits);
            let message = format!("argument {} is {kind}, not {given}", i + 1);
            let help = match (arg, places_of_buffers(kernel, address_bits)) {
                (ArgPlan::Buffer(_), Some(places)) => {
                    format!("{}; a buffer can be {places}", wanted(param, address))
                }
                _ => wanted(param, address),
            };
            self.problem("wrong-argument", place, message, help);
        }
        value.map(BoundArg::Value)
    }

    /// A structure whose buffers are found.
    fn structure(&mut self, laid: Layout, address_bytes: usize, place: Span) -> Option<BoundArg> {
        let addresses = laid.addresses.iter();
        let found = addresses.map(|(at, name)| Some((*at, self.buffer(name, place)?)));
        let found: Vec<_> = found.collect();
        Some(BoundArg::Struct {
            bytes: laid.bytes,
            addresses: found.into_iter().collect::<Option<_>>()?,
            address_bytes,
        })
    }
}

/// Arguments of a kernel that a buffer can be, in words: `argument 3 or 4`.
fn places_of_buffers(kernel: &Program, address_bits: u32) -> Option<String> {
    let params = kernel.params.iter().enumerate();
    let addresses = params.filter(|(_, param)| holds_address(param, address_bits));
    let numbers: Vec<String> = addresses.map(|(n, _)| (n + 1).to_string()).collect();
    let (last, others) = numbers.split_last()?;
    Some(match others {
        [] => format!("argument {last}"),
        others => format!("argument {} or {last}", others.join(", ")),
    })
}

/// True if a parameter is wide enough for an address of the module.
fn holds_address(param: &Param, address_bits: u32) -> bool {
    match param.kind {
        ParamKind::Int { bytes: 8, .. } => true,
        ParamKind::Int { bytes: 4, .. } => address_bits == 32,
        _ => false,
    }
}

/// The number in the parameter's type. `None` if the type cannot represent it.
fn scalar_arg(scalar: Scalar, param: &Param) -> Option<Arg> {
    if let Some(element) = scalar.element {
        let mut bytes = Vec::new();
        element.put(scalar.number, &mut bytes)?;
        return (bytes.len() == param.bytes as usize).then_some(Arg::Bytes(bytes));
    }
    let number = scalar.number;
    match (param.kind, number) {
        (ParamKind::F32, _) => Some(Arg::F32(number.as_f64() as f32)),
        (ParamKind::F64, _) => Some(Arg::F64(number.as_f64())),
        (ParamKind::F16, _) => {
            let mut bytes = Vec::new();
            Element::F16.put(number, &mut bytes)?;
            Some(Arg::Bytes(bytes))
        }
        (ParamKind::Int { bytes, .. }, Number::Int(value)) => integer_arg(bytes, value),
        _ => None,
    }
}

/// An integer of the given width. PTX seldom specifies whether it is signed, so both ranges are
/// accepted.
fn integer_arg(bytes: u8, value: i128) -> Option<Arg> {
    let bits = u32::from(bytes) * 8;
    let range = -(1i128 << (bits - 1))..1i128 << bits;
    if !range.contains(&value) {
        return None;
    }
    Some(match bytes {
        4 => Arg::U32(value as u32),
        8 => Arg::U64(value as u64),
        _ => Arg::Bytes(value.to_le_bytes()[..usize::from(bytes)].to_vec()),
    })
}

fn kind(param: &Param, address: bool) -> String {
    match param.kind {
        ParamKind::Int { bytes, .. } if address => {
            format!("a {}-bit integer or address", u32::from(bytes) * 8)
        }
        ParamKind::Int { bytes, .. } => format!("a {}-bit integer", u32::from(bytes) * 8),
        ParamKind::F16 => "an f16".to_owned(),
        ParamKind::F32 => "an f32".to_owned(),
        ParamKind::F64 => "an f64".to_owned(),
        ParamKind::Bytes => format!("{} bytes", param.bytes),
    }
}

fn given(arg: &ArgPlan, address_bits: u32) -> String {
    match arg {
        ArgPlan::Buffer(name) => format!("the buffer `{name}`"),
        ArgPlan::Scalar(Scalar {
            number,
            element: Some(element),
        }) => format!("{number} as {}", element.name()),
        ArgPlan::Scalar(Scalar { number, .. }) => format!("{number}"),
        ArgPlan::Bytes(bytes) => format!("{} bytes", bytes.len()),
        ArgPlan::Struct(members) => match layout(members, address_bits as usize / 8) {
            Some(laid) => format!("a structure of {} bytes", laid.bytes.len()),
            None => "a structure with a number that does not fit its type".to_owned(),
        },
    }
}

fn wanted(param: &Param, address: bool) -> String {
    match param.kind {
        ParamKind::Int { .. } if address => "write a buffer's name or a whole number".to_owned(),
        ParamKind::Int { .. } => "write a whole number in range, or name the bits: \
                                  `{ f32 = 1.0 }` in a launch file, `--arg f32:1.0`"
            .to_owned(),
        ParamKind::F16 | ParamKind::F32 | ParamKind::F64 => "write a number".to_owned(),
        ParamKind::Bytes => format!(
            "write its members, `{{ struct = [256, 0.5, {{ f64 = 1.0 }}, \"x\"] }}` (whole numbers \
             are `int`, others `float`, names buffers), or `{{ bytes = [..] }}` with {} numbers; \
             on the command line `--arg struct:256,0.5,f64:1`",
            param.bytes
        ),
    }
}
