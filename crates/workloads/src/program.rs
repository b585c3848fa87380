//! Host programs whose launches are known in advance.

use warploom_run::{
    Check, Device, DeviceError, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId,
    Scalar,
};

use crate::info::WorkloadInfo;

type Prepare = dyn FnOnce(&mut Device) -> Result<Plan, HostError> + Send;
type Verify = dyn Fn(&Device) -> Result<Vec<Check>, HostError> + Send;

/// Actions after the inputs are on the device.
pub(crate) struct Plan {
    launches: std::vec::IntoIter<Launch>,
    verify: Box<Verify>,
}

impl Plan {
    /// Creates a plan from launches in order and the comparison of their outputs.
    pub(crate) fn new(
        launches: Vec<Launch>,
        verify: impl Fn(&Device) -> Result<Vec<Check>, HostError> + Send + 'static,
    ) -> Self {
        Self {
            launches: launches.into_iter(),
            verify: Box::new(verify),
        }
    }
}

/// A host program that generates inputs at the first action, then launches in order, then verifies.
pub(crate) struct Sequence {
    prepare: Option<Box<Prepare>>,
    plan: Option<Plan>,
}

impl Sequence {
    /// A program that `prepare` plans when it starts.
    pub(crate) fn boxed(
        prepare: impl FnOnce(&mut Device) -> Result<Plan, HostError> + Send + 'static,
    ) -> Box<dyn HostProgram> {
        Box::new(Self {
            prepare: Some(Box::new(prepare)),
            plan: None,
        })
    }
}

impl HostProgram for Sequence {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if let Some(prepare) = self.prepare.take() {
            self.plan = Some(prepare(device)?);
        }
        let launch = self.plan.as_mut().and_then(|plan| plan.launches.next());
        Ok(launch.map_or(HostAction::Done, HostAction::Launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.plan
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |plan| (plan.verify)(device))
    }
}

/// Allocates `count` elements of zero bits, for outputs that a kernel may not write.
pub(crate) fn alloc_zeroed<T: Scalar>(
    device: &mut Device,
    count: usize,
) -> Result<DevicePtr, DeviceError> {
    let bytes = (count * T::BYTES) as u64;
    let ptr = device.alloc(bytes)?;
    device.fill(ptr, 0, bytes)?;
    Ok(ptr)
}

/// Allocates `count` elements that a kernel writes before they are read.
pub(crate) fn alloc_output<T: Scalar>(
    device: &mut Device,
    count: usize,
) -> Result<DevicePtr, DeviceError> {
    device.alloc((count * T::BYTES) as u64)
}

/// Loads a workload's module.
pub(crate) fn load(device: &mut Device, workload: &WorkloadInfo) -> Result<ModuleId, DeviceError> {
    device.load_ptx(workload.name, workload.ptx)
}
