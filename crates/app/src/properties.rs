//! Properties and limits that the simulated GPU reports.
//!
//! Properties that follow from the GPU's specification are derived from it. Limits of the
//! programming model are those of the CUDA C++ Programming Guide's table of compute capabilities.
//! Textures and surfaces have the smallest limits of all capabilities.

use crate::capability::capability;
use crate::context::Context;
use crate::error::{Cuda, CudaError};
use std::collections::BTreeMap;
use warploom_config::{CacheSpec, GpuSpec};
use warploom_run::DevicePtr;

/// Number of `cudaDeviceGetAttribute`, name of the property with the same value, and index in that
/// property.
const ATTRIBUTES: &[(i32, &str, usize)] = &[
    (1, "maxThreadsPerBlock", 0),
    (2, "maxThreadsDim", 0),
    (3, "maxThreadsDim", 1),
    (4, "maxThreadsDim", 2),
    (5, "maxGridSize", 0),
    (6, "maxGridSize", 1),
    (7, "maxGridSize", 2),
    (8, "sharedMemPerBlock", 0),
    (9, "totalConstMem", 0),
    (10, "warpSize", 0),
    (11, "memPitch", 0),
    (12, "regsPerBlock", 0),
    (13, "clockRate", 0),
    (14, "textureAlignment", 0),
    (15, "deviceOverlap", 0),
    (16, "multiProcessorCount", 0),
    (17, "kernelExecTimeoutEnabled", 0),
    (18, "integrated", 0),
    (19, "canMapHostMemory", 0),
    (20, "computeMode", 0),
    (21, "maxTexture1D", 0),
    (22, "maxTexture2D", 0),
    (23, "maxTexture2D", 1),
    (24, "maxTexture3D", 0),
    (25, "maxTexture3D", 1),
    (26, "maxTexture3D", 2),
    (27, "maxTexture2DLayered", 0),
    (28, "maxTexture2DLayered", 1),
    (29, "maxTexture2DLayered", 2),
    (30, "surfaceAlignment", 0),
    (31, "concurrentKernels", 0),
    (32, "ECCEnabled", 0),
    (33, "pciBusID", 0),
    (34, "pciDeviceID", 0),
    (35, "tccDriver", 0),
    (36, "memoryClockRate", 0),
    (37, "memoryBusWidth", 0),
    (38, "l2CacheSize", 0),
    (39, "maxThreadsPerMultiProcessor", 0),
    (40, "asyncEngineCount", 0),
    (41, "unifiedAddressing", 0),
    (42, "maxTexture1DLayered", 0),
    (43, "maxTexture1DLayered", 1),
    (45, "maxTexture2DGather", 0),
    (46, "maxTexture2DGather", 1),
    (47, "maxTexture3DAlt", 0),
    (48, "maxTexture3DAlt", 1),
    (49, "maxTexture3DAlt", 2),
    (50, "pciDomainID", 0),
    (51, "texturePitchAlignment", 0),
    (52, "maxTextureCubemap", 0),
    (53, "maxTextureCubemapLayered", 0),
    (54, "maxTextureCubemapLayered", 1),
    (55, "maxSurface1D", 0),
    (56, "maxSurface2D", 0),
    (57, "maxSurface2D", 1),
    (58, "maxSurface3D", 0),
    (59, "maxSurface3D", 1),
    (60, "maxSurface3D", 2),
    (61, "maxSurface1DLayered", 0),
    (62, "maxSurface1DLayered", 1),
    (63, "maxSurface2DLayered", 0),
    (64, "maxSurface2DLayered", 1),
    (65, "maxSurface2DLayered", 2),
    (66, "maxSurfaceCubemap", 0),
    (67, "maxSurfaceCubemapLayered", 0),
    (68, "maxSurfaceCubemapLayered", 1),
    (69, "maxTexture1DLinear", 0),
    (70, "maxTexture2DLinear", 0),
    (71, "maxTexture2DLinear", 1),
    (72, "maxTexture2DLinear", 2),
    (73, "maxTexture2DMipmap", 0),
    (74, "maxTexture2DMipmap", 1),
    (75, "major", 0),
    (76, "minor", 0),
    (77, "maxTexture1DMipmap", 0),
    (78, "streamPrioritiesSupported", 0),
    (79, "globalL1CacheSupported", 0),
    (80, "localL1CacheSupported", 0),
    (81, "sharedMemPerMultiprocessor", 0),
    (82, "regsPerMultiprocessor", 0),
    (83, "managedMemory", 0),
    (84, "isMultiGpuBoard", 0),
    (85, "multiGpuBoardGroupID", 0),
    (86, "hostNativeAtomicSupported", 0),
    (87, "singleToDoublePrecisionPerfRatio", 0),
    (88, "pageableMemoryAccess", 0),
    (89, "concurrentManagedAccess", 0),
    (90, "computePreemptionSupported", 0),
    (91, "canUseHostPointerForRegisteredMem", 0),
    (95, "cooperativeLaunch", 0),
    (96, "cooperativeMultiDeviceLaunch", 0),
    (97, "sharedMemPerBlockOptin", 0),
    (99, "hostRegisterSupported", 0),
    (100, "pageableMemoryAccessUsesHostPageTables", 0),
    (101, "directManagedMemAccessFromHost", 0),
    (106, "maxBlocksPerMultiProcessor", 0),
    (108, "persistingL2CacheMaxSize", 0),
    (109, "accessPolicyMaxWindowSize", 0),
    (111, "reservedSharedMemPerBlock", 0),
    (112, "sparseCudaArraySupported", 0),
    (113, "hostRegisterReadOnlySupported", 0),
    (114, "timelineSemaphoreInteropSupported", 0),
    (115, "memoryPoolsSupported", 0),
    (116, "gpuDirectRDMASupported", 0),
    (117, "gpuDirectRDMAFlushWritesOptions", 0),
    (118, "gpuDirectRDMAWritesOrdering", 0),
    (119, "memoryPoolSupportedHandleTypes", 0),
    (120, "clusterLaunch", 0),
    (121, "deferredMappingCudaArraySupported", 0),
    (125, "ipcEventSupported", 0),
];

/// First capability with clusters of blocks.
pub(crate) const CLUSTERS: u32 = 90;

/// Largest number of an attribute.
const LAST_ATTRIBUTE: i32 = 160;

/// Properties that are not 0, by field of `cudaDeviceProp`.
pub fn facts(
    spec: &GpuSpec,
    capability: u32,
    memory_bytes: u64,
) -> BTreeMap<&'static str, Vec<i64>> {
    let mut facts = machine(spec, capability, memory_bytes);
    facts.extend(
        model()
            .iter()
            .map(|(name, values)| (*name, values.to_vec())),
    );
    facts
}

/// Properties that follow from the specification.
fn machine(spec: &GpuSpec, capability: u32, memory_bytes: u64) -> BTreeMap<&'static str, Vec<i64>> {
    let (sm, clocks) = (&spec.sm, &spec.clocks);
    let banks = spec.gpu.channels * spec.gpu.sub_partitions_per_channel;
    let l2 = if spec.partition.l2.enabled {
        cache_bytes(&spec.partition.l2) * u64::from(banks)
    } else {
        0
    };
    let bytes = spec.dram.chips * spec.dram.bus_bytes;
    let bus_bits = u64::from(spec.gpu.channels) * u64::from(bytes) * 8;
    let shared_default = sm.max_shared_bytes_per_block.min(48 << 10);
    let numbers: [(&str, u64); 22] = [
        ("totalGlobalMem", memory_bytes),
        ("sharedMemPerBlock", shared_default.into()),
        (
            "sharedMemPerBlockOptin",
            sm.max_shared_bytes_per_block.into(),
        ),
        ("sharedMemPerMultiprocessor", sm.shared_bytes.into()),
        ("regsPerBlock", sm.registers.into()),
        ("regsPerMultiprocessor", sm.registers.into()),
        ("clockRate", clocks.core_khz.into()),
        ("memoryClockRate", clocks.dram_khz.into()),
        ("memoryBusWidth", bus_bits),
        ("major", u64::from(capability / 10)),
        ("minor", u64::from(capability % 10)),
        ("multiProcessorCount", spec.gpu.sms.into()),
        ("l2CacheSize", l2),
        ("maxThreadsPerMultiProcessor", sm.max_threads.into()),
        ("maxBlocksPerMultiProcessor", sm.max_blocks.into()),
        (
            "concurrentKernels",
            u64::from(spec.gpu.max_concurrent_kernels > 1),
        ),
        ("globalL1CacheSupported", u64::from(spec.l1d.enabled)),
        ("localL1CacheSupported", u64::from(spec.l1d.enabled)),
        ("cooperativeLaunch", 1),
        ("clusterLaunch", u64::from(capability >= CLUSTERS)),
        ("pciBusID", 1),
        ("managedMemory", 1),
    ];
    numbers
        .map(|(name, number)| (name, vec![number as i64]))
        .into()
}

/// Size of a cache in bytes.
fn cache_bytes(cache: &CacheSpec) -> u64 {
    u64::from(cache.sets) * u64::from(cache.ways) * u64::from(cache.line_bytes)
}

/// Properties that follow from the programming model.
const fn model() -> &'static [(&'static str, &'static [i64])] {
    &[
        ("warpSize", &[32]),
        ("memPitch", &[i32::MAX as i64]),
        ("maxThreadsPerBlock", &[1024]),
        ("maxThreadsDim", &[1024, 1024, 64]),
        ("maxGridSize", &[i32::MAX as i64, 65_535, 65_535]),
        ("totalConstMem", &[64 << 10]),
        ("textureAlignment", &[512]),
        ("texturePitchAlignment", &[32]),
        ("surfaceAlignment", &[512]),
        ("deviceOverlap", &[1]),
        ("asyncEngineCount", &[1]),
        ("canMapHostMemory", &[1]),
        ("unifiedAddressing", &[1]),
        ("hostRegisterSupported", &[1]),
        ("maxTexture1D", &[65_536]),
        ("maxTexture1DMipmap", &[16_384]),
        ("maxTexture1DLinear", &[1 << 27]),
        ("maxTexture2D", &[65_536, 65_535]),
        ("maxTexture2DMipmap", &[16_384, 16_384]),
        ("maxTexture2DLinear", &[65_000, 65_000, 1_048_544]),
        ("maxTexture2DGather", &[16_384, 16_384]),
        ("maxTexture3D", &[2048, 2048, 2048]),
        ("maxTextureCubemap", &[16_384]),
        ("maxTexture1DLayered", &[16_384, 2048]),
        ("maxTexture2DLayered", &[16_384, 16_384, 2048]),
        ("maxTexture3DAlt", &[2048, 2048, 2048]),
        ("maxTextureCubemapLayered", &[16_384, 2046]),
        ("maxSurface1D", &[16_384]),
        ("maxSurface2D", &[65_536, 32_768]),
        ("maxSurface3D", &[4096, 4096, 2048]),
        ("maxSurface1DLayered", &[16_384, 2048]),
        ("maxSurface2DLayered", &[16_384, 16_384, 2048]),
        ("maxSurfaceCubemap", &[16_384]),
        ("memoryPoolsSupported", &[1]),
        ("maxSurfaceCubemapLayered", &[16_384, 2046]),
        ("singleToDoublePrecisionPerfRatio", &[2]),
    ]
}

/// Value of a device attribute.
///
/// # Errors
/// Returns `cudaErrorInvalidValue` if no attribute has this number.
pub fn attribute(facts: &BTreeMap<&'static str, Vec<i64>>, number: i32) -> Cuda<i32> {
    let row = ATTRIBUTES.iter().find(|(own, ..)| *own == number);
    match row {
        Some((_, name, at)) => {
            let value = facts.get(name).and_then(|values| values.get(*at));
            Ok(value.copied().unwrap_or(0) as i32)
        }
        None if (1..=LAST_ATTRIBUTE).contains(&number) => Ok(0),
        None => Err(CudaError::INVALID_VALUE),
    }
}

/// Number of the limit `cudaLimitPrintfFifoSize`.
const PRINTF_BYTES: i32 = 1;
/// Number of the limit `cudaLimitMallocHeapSize`.
const HEAP_BYTES: i32 = 2;

impl Context {
    /// Compute capability that the program sees, such as 75 for 7.5.
    pub fn capability(&self) -> u32 {
        let told = self.settings.capability;
        told.unwrap_or_else(|| capability(&self.spec))
    }

    /// Properties of the GPU, by field of `cudaDeviceProp`.
    pub fn device_facts(&self) -> BTreeMap<&'static str, Vec<i64>> {
        facts(
            &self.spec,
            self.capability(),
            self.settings.memory_mib << 20,
        )
    }

    /// Device flags that the program set.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// Sets the device flags, which have no effect.
    pub fn set_flags(&mut self, flags: u32) {
        self.flags = flags;
    }

    /// Name of the GPU.
    pub fn device_name(&self) -> String {
        format!("Warploom {}", self.spec.name)
    }

    /// Value of a limit (`cudaDeviceGetLimit`): stack size, buffer of `printf`, heap, and others
    /// without effect.
    pub fn limit(&self, limit: i32) -> Cuda<u64> {
        let standard = match limit {
            0 => 1024,
            PRINTF_BYTES => 1 << 20,
            HEAP_BYTES => 8 << 20,
            3 => 2,
            4 => 2048,
            5 => 128,
            6 => 0,
            _ => return Err(CudaError(215)),
        };
        Ok(self.limits.get(&limit).copied().unwrap_or(standard))
    }

    /// Sets a limit (`cudaDeviceSetLimit`).
    pub fn set_limit(&mut self, limit: i32, value: u64) -> Cuda {
        self.limit(limit)?;
        match limit {
            PRINTF_BYTES => self.with(move |device| device.limit_printed(value))?,
            HEAP_BYTES => {
                let set = self.with(move |device| device.limit_heap(value))?;
                set.map_err(|_| CudaError::INVALID_VALUE)?;
            }
            _ => {}
        }
        self.limits.insert(limit, value);
        Ok(())
    }

    /// Frees all allocations of the program and unloads its modules (`cudaDeviceReset`).
    pub fn reset(&mut self) -> Cuda {
        self.synchronize()?;
        self.forget_graphs();
        self.forget_pools()?;
        for address in std::mem::take(&mut self.memory).into_keys() {
            self.unshare(address);
            self.with(move |device| device.free(DevicePtr(address)))?
                .map_err(|_| CudaError::UNKNOWN)?;
        }
        self.used_bytes = 0;
        self.arrays.clear();
        self.mipmapped.clear();
        self.texture_objects.clear();
        self.streams.clear();
        self.threads
            .values_mut()
            .for_each(|thread| thread.stream = None);
        self.events.clear();
        self.unload()?;
        for limit in std::mem::take(&mut self.limits).into_keys() {
            let standard = self.limit(limit)?;
            // A heap that kernels have used keeps its size.
            let _ = self.set_limit(limit, standard);
        }
        Ok(())
    }
}
