//! Tests of addresses and their effect on caches: code of kernels one after the other, and lines
//! that copies leave in L2.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::preset;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId, Options,
    Session,
};
use warploom_stats::result::{KernelReport, RunReport};

/// Number of words in each buffer.
const WORDS: u32 = 4096;

/// Kernels of one module that are launched one after the other, after an operation on the device.
struct Script {
    ptx: String,
    kernels: Vec<&'static str>,
    /// Prepares the buffer for the kernels.
    before: fn(&mut Device) -> Result<DevicePtr, HostError>,
    loaded: Option<(ModuleId, DevicePtr)>,
}

impl HostProgram for Script {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let (module, buffer) = match self.loaded {
            Some(loaded) => loaded,
            None => {
                let module = device.load_ptx("test.ptx", &self.ptx)?;
                (module, (self.before)(device)?)
            }
        };
        self.loaded = Some((module, buffer));
        if self.kernels.is_empty() {
            return Ok(HostAction::Done);
        }
        let (kernel, args) = (self.kernels.remove(0), vec![Arg::Pointer(buffer)]);
        let (grid, block) = (Dim3::linear(WORDS / 128), Dim3::linear(128));
        let launch = Launch::new(module, kernel, grid, block, args);
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Text of a kernel that loads one word per thread, computes for `length` instructions and stores.
fn entry(name: &str, length: usize) -> String {
    let body = "add.f32 %f1, %f1, %f1;\n".repeat(length);
    format!(
        ".visible .entry {name}(.param .u64 buf) {{\n\
         .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [buf];\n\
         mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n\
         mad.lo.u32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 4;\n\
         add.u64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\n{body}\
         st.global.f32 [%rd3], %f1;\nret;\n}}\n"
    )
}

fn run(
    names: &[(&str, usize)],
    kernels: &[&'static str],
    before: fn(&mut Device) -> Result<DevicePtr, HostError>,
) -> RunReport {
    let entries = names.iter().map(|(name, length)| entry(name, *length));
    let mut program = Script {
        ptx: format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n{}",
            entries.collect::<String>()
        ),
        kernels: kernels.to_vec(),
        before,
        loaded: None,
    };
    // Its copies warm L2, and its L1I is not perfect.
    let spec = preset("gtx480-gpgpusim4").expect("a preset");
    let session = Session::new(spec, Options::default());
    let result = session.run(&mut program, &mut |_| ControlFlow::Continue(()));
    result.expect("the kernels are sound")
}

/// Sum of a kernel's statistics with this prefix.
fn counted(kernel: &KernelReport, prefix: &str) -> u64 {
    let all = kernel.figures.statistics.iter();
    let own = all.filter(|(name, _)| name.starts_with(prefix));
    own.map(|(_, value)| *value).sum()
}

fn zeros(device: &mut Device) -> Result<DevicePtr, HostError> {
    Ok(device.alloc_slice(&[0f32; WORDS as usize])?)
}

#[test]
fn each_kernel_has_code_of_its_own() {
    let names = [("first", 40), ("second", 40)];
    let kernels = ["first", "second", "first", "second"];
    let result = run(&names, &kernels, zeros);
    let misses = |at: usize| counted(&result.kernels[at], "l1i.accesses.miss");
    let found: Vec<u64> = (0..4).map(misses).collect();
    assert!(found[0] > 0, "{found:?}");
    // The code of the second kernel was never fetched before.
    assert!(found[1] > found[0] / 2, "{found:?}");
    assert_eq!(found[2..], [0, 0], "both fit L1I");
}

#[test]
fn the_first_kernel_lies_where_a_module_of_one_has_it() {
    let alone = run(&[("first", 40)], &["first"], zeros);
    let of_two = run(&[("first", 40), ("second", 9)], &["first"], zeros);
    let cycles = |result: &RunReport| result.totals.figures.cycles;
    assert_eq!(cycles(&alone), cycles(&of_two));
}

/// A buffer that a copy on the device fills.
fn copied_inside(device: &mut Device) -> Result<DevicePtr, HostError> {
    let from = zeros(device)?;
    let to = device.alloc(u64::from(WORDS) * 4)?;
    device.copy(from, to, u64::from(WORDS) * 4)?;
    Ok(to)
}

/// A variable that the host fills by a copy to a variable.
fn copied_to_variable(device: &mut Device) -> Result<DevicePtr, HostError> {
    let to = device.alloc(u64::from(WORDS) * 4)?;
    device.write_past_l2(to, &[0; 4 * WORDS as usize])?;
    Ok(to)
}

/// A buffer that is filled on the device and copied to the host.
fn copied_out(device: &mut Device) -> Result<DevicePtr, HostError> {
    let from = device.alloc(u64::from(WORDS) * 4)?;
    device.fill(from, 1, u64::from(WORDS) * 4)?;
    device.note_copy(from, u64::from(WORDS) * 4);
    Ok(from)
}

/// GPGPU-Sim 4.2: `gpgpu_t::memcpy_to_gpu` and `memcpy_from_gpu` mark the lines in L2,
/// `memcpy_gpu_to_gpu` and `gpgpu_ptx_sim_memcpy_symbol` do not.
#[test]
fn copies_between_host_and_device_warm_l2_and_others_do_not() {
    let misses = |before| {
        let result = run(&[("k", 1)], &["k"], before);
        let kernel = &result.kernels[0];
        let first = counted(kernel, "l2.accesses.miss.global_read");
        first + counted(kernel, "l2.accesses.sector_miss.global_read")
    };
    assert_eq!(misses(zeros), 0);
    assert_eq!(misses(copied_out), 0);
    let sectors = u64::from(WORDS) * 4 / 32;
    assert_eq!(misses(copied_inside), sectors);
    assert_eq!(misses(copied_to_variable), sectors);
}
