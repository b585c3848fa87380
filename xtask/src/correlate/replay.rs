//! Host programs on a real GPU, and the launches of which counters are read.
//!
//! A host program works on the memory of a simulated device. Before a launch all its buffers and
//! variables are copied to the GPU, and after it back, so that the program continues with what the
//! GPU computed, and its outputs are checked as always.

use std::io;

use anyhow::{Context, Result, bail, ensure};
use warploom_base::Cycle;
use warploom_run::{Arg, Check, Device, DevicePtr, HostAction, HostProgram, Launch, ModuleId};

use crate::hardware::driver::{GpuLaunch, GpuMachine};
use crate::hardware::machine::Machine;

/// Bytes of device memory that a program may allocate.
const CAPACITY: u64 = 4 << 30;

/// Launch of a program on a GPU.
pub struct Launched<'a> {
    /// Number of earlier launches of the program.
    pub number: u64,
    /// Name of the kernel's entry.
    pub entry: &'a str,
}

/// Receiver of the launches that a profiler observes.
pub type Note<'a> = dyn FnMut(&Launched<'_>) -> io::Result<()> + 'a;

/// Memory of a program on the GPU: one buffer with the distances of the simulated addresses.
struct Mirror {
    address: u64,
    first: u64,
    bytes: u64,
}

struct Replay<'a, 'gpu> {
    machine: &'a mut GpuMachine<'gpu>,
    /// PTX of the program's only module.
    ptx: &'a str,
    module: Option<ModuleId>,
    mirror: Option<Mirror>,
    device: Device,
    /// Entries of all launches so far.
    entries: Vec<String>,
}

/// Runs a program with one module on a GPU and compares its outputs. A profiler that waits for its
/// start observes the first `profiled` launches of each kernel.
pub fn replay(
    program: &mut dyn HostProgram,
    ptx: &str,
    machine: &mut GpuMachine<'_>,
    profiled: usize,
    note: &mut Note<'_>,
) -> Result<Vec<Check>> {
    ensure!(!ptx.contains("tex."), "textures are not made on the GPU");
    let mut replay = Replay {
        machine,
        ptx,
        module: None,
        mirror: None,
        device: Device::new(CAPACITY, 0),
        entries: Vec::new(),
    };
    let run = replay.run(program, profiled, note);
    replay.release()?;
    run?;
    Ok(program.checks(&replay.device)?)
}

impl Replay<'_, '_> {
    fn run(
        &mut self,
        program: &mut dyn HostProgram,
        profiled: usize,
        note: &mut Note<'_>,
    ) -> Result<()> {
        let mut time: Cycle = 0;
        loop {
            match program.next(&mut self.device)? {
                HostAction::Launch(launch) => self.take(launch, profiled, note)?,
                HostAction::Write { to, bytes, .. } => self.device.write(to, &bytes)?,
                HostAction::Copy {
                    from, to, bytes, ..
                } => self.device.copy(from, to, bytes)?,
                HostAction::Mark { mark, .. } => {
                    time += 1;
                    program.reached(mark, &mut self.device, time)?;
                }
                HostAction::WaitFor { .. }
                | HostAction::Nothing
                | HostAction::Synchronize
                | HostAction::SynchronizeStream(_) => {}
                HostAction::Interrupt => bail!("the program was ended"),
                HostAction::Done => return Ok(()),
            }
        }
    }

    fn take(&mut self, launch: Launch, profiled: usize, note: &mut Note<'_>) -> Result<()> {
        let earlier = self.entries.iter().filter(|&entry| *entry == launch.kernel);
        let profile = earlier.count() < profiled;
        let number = self.entries.len() as u64;
        self.launch(&launch, profile)
            .with_context(|| format!("launch {number}, `{}`", launch.kernel))?;
        if profile {
            let entry = &launch.kernel;
            note(&Launched { number, entry })?;
        }
        self.entries.push(launch.kernel);
        Ok(())
    }

    fn launch(&mut self, launch: &Launch, profile: bool) -> Result<()> {
        self.load(launch.module)?;
        self.place()?;
        self.copy_in()?;
        let arguments = launch.args.iter().map(|arg| self.argument(arg));
        let on_gpu = GpuLaunch {
            kernel: &launch.kernel,
            grid: [launch.grid.x, launch.grid.y, launch.grid.z],
            block: [launch.block.x, launch.block.y, launch.block.z],
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            arguments: arguments.collect::<Result<_>>()?,
        };
        ensure!(launch.cluster.is_none(), "clusters are not launched");
        if profile {
            self.machine.profile(true)?;
        }
        self.machine.launch(&on_gpu)?;
        if profile {
            self.machine.profile(false)?;
        }
        self.copy_out()
    }

    fn load(&mut self, module: ModuleId) -> Result<()> {
        if self.module.is_some() {
            ensure!(
                self.module == Some(module),
                "the program has several modules"
            );
            return Ok(());
        }
        self.machine.load(self.ptx)?;
        self.module = Some(module);
        Ok(())
    }

    /// Allocates the memory of the GPU anew if the program's buffers no longer fit.
    fn place(&mut self) -> Result<()> {
        let buffers: Vec<(DevicePtr, u64)> = self.device.buffers().collect();
        let first = buffers.iter().map(|(start, _)| start.0).min().unwrap_or(0);
        let end = buffers.iter().map(|(start, bytes)| start.0 + bytes).max();
        let bytes = end.unwrap_or(1) - first;
        let fits = |mirror: &Mirror| mirror.first <= first && first + bytes <= mirror.end();
        if self.mirror.as_ref().is_some_and(fits) {
            return Ok(());
        }
        self.release()?;
        let address = self.machine.allocate(bytes)?;
        self.mirror = Some(Mirror {
            address,
            first,
            bytes,
        });
        Ok(())
    }

    fn release(&mut self) -> Result<()> {
        match self.mirror.take() {
            Some(mirror) => self.machine.release(mirror.address),
            None => Ok(()),
        }
    }

    /// Pairs of a place on the device, one on the GPU, and a size.
    fn copies(&self) -> Result<Vec<(DevicePtr, u64, usize)>> {
        let mirror = self.mirror.as_ref().context("no memory")?;
        let buffers = self.device.buffers();
        let mut copies: Vec<_> = buffers
            .map(|(start, bytes)| (start, mirror.of(start), bytes as usize))
            .collect();
        if let Some(id) = self.module {
            let module = self.device.module(id);
            for (variable, address) in module.globals.iter().zip(&module.addresses) {
                if let Some(there) = self.machine.variable(&variable.name)? {
                    copies.push((DevicePtr(*address), there, variable.bytes as usize));
                }
            }
        }
        Ok(copies)
    }

    fn copy_in(&mut self) -> Result<()> {
        for (here, there, bytes) in self.copies()? {
            let mut data = vec![0; bytes];
            self.device.read(here, &mut data)?;
            self.machine.write(there, &data)?;
        }
        Ok(())
    }

    fn copy_out(&mut self) -> Result<()> {
        for (here, there, bytes) in self.copies()? {
            let mut data = vec![0; bytes];
            self.machine.read(there, &mut data)?;
            self.device.write_past_l2(here, &data)?;
        }
        Ok(())
    }

    /// Bytes of an argument; addresses are those of the GPU.
    fn argument(&self, arg: &Arg) -> Result<Vec<u8>> {
        let mirror = self.mirror.as_ref().context("no memory")?;
        Ok(match arg {
            Arg::U32(value) => value.to_le_bytes().to_vec(),
            Arg::I32(value) => value.to_le_bytes().to_vec(),
            Arg::U64(value) => value.to_le_bytes().to_vec(),
            Arg::I64(value) => value.to_le_bytes().to_vec(),
            Arg::F32(value) => value.to_le_bytes().to_vec(),
            Arg::F64(value) => value.to_le_bytes().to_vec(),
            Arg::Pointer(at) if mirror.has(*at) => mirror.of(*at).to_le_bytes().to_vec(),
            Arg::Pointer(DevicePtr(0)) => vec![0; 8],
            Arg::Pointer(at) => bail!("{:#x} is in no buffer", at.0),
            Arg::Bytes(bytes) => bytes.clone(),
        })
    }
}

impl Mirror {
    const fn end(&self) -> u64 {
        self.first + self.bytes
    }

    const fn has(&self, at: DevicePtr) -> bool {
        self.first <= at.0 && at.0 <= self.end()
    }

    const fn of(&self, at: DevicePtr) -> u64 {
        self.address + (at.0 - self.first)
    }
}
