//! Structures of the runtime's interface in the layout of the headers.

use warploom_app::{Channels, Extent};
use warploom_base::Dim3;

/// Layout of `dim3` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CDim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl From<CDim3> for Dim3 {
    fn from(size: CDim3) -> Self {
        Self {
            x: size.x,
            y: size.y,
            z: size.z,
        }
    }
}

impl From<Dim3> for CDim3 {
    fn from(size: Dim3) -> Self {
        Self {
            x: size.x,
            y: size.y,
            z: size.z,
        }
    }
}

/// Layout of `cudaChannelFormatDesc` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CChannels {
    pub bits: [i32; 4],
    pub kind: i32,
}

impl From<CChannels> for Channels {
    fn from(own: CChannels) -> Self {
        Self {
            bits: own.bits,
            kind: own.kind,
        }
    }
}

impl From<Channels> for CChannels {
    fn from(own: Channels) -> Self {
        Self {
            bits: own.bits,
            kind: own.kind,
        }
    }
}

/// Layout of `cudaExtent` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CExtent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

impl From<CExtent> for Extent {
    fn from(own: CExtent) -> Self {
        Self {
            width: own.width as u64,
            height: own.height as u64,
            depth: own.depth as u64,
        }
    }
}

/// Layout of `cudaPitchedPtr` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPitched {
    pub pointer: u64,
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// Layout of `cudaPos` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPosition {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// Layout of `cudaMemcpy3DParms` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CCopy3 {
    pub from_array: u64,
    pub from_position: CPosition,
    pub from: CPitched,
    pub to_array: u64,
    pub to_position: CPosition,
    pub to: CPitched,
    pub extent: CExtent,
    pub kind: i32,
}

/// Layout of `cudaMemcpy3DPeerParms` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPeerCopy3 {
    pub from_array: u64,
    pub from_position: CPosition,
    pub from: CPitched,
    pub from_device: i32,
    pub to_array: u64,
    pub to_position: CPosition,
    pub to: CPitched,
    pub to_device: i32,
    pub extent: CExtent,
}

/// Common part of `cudaTextureDesc` in all releases. From CUDA 12 on a further word follows, and in
/// CUDA 11 for functions whose names end in `_v2`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CSampler {
    pub address: [i32; 3],
    pub filter: i32,
    pub read: i32,
    pub srgb: i32,
    /// Border colour: bits of floats, or integers.
    pub border: [u32; 4],
    pub normalized: i32,
    /// Anisotropy, followed by the settings of mipmap levels.
    pub others: [u32; 6],
}

/// Layout of `cudaResourceViewDesc`, without reserved words at its end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CView {
    pub format: i32,
    pub extent: CExtent,
    pub levels: [u32; 2],
    pub layers: [u32; 2],
}

/// Part of `textureReference` that is read here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CTextureReference {
    pub normalized: i32,
    pub filter: i32,
    pub address: [i32; 3],
    pub channels: CChannels,
}

/// Layout of `cudaResourceDesc`: a kind and the largest of its variants. In CUDA 13 more space
/// follows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CResource {
    pub kind: i32,
    /// Handle of an array, or an address.
    pub first: u64,
    pub channels: CChannels,
    /// Size in bytes, or number of texels in a row.
    pub size: usize,
    pub height: usize,
    pub pitch: usize,
}

/// Common part of `cudaFuncAttributes` in all releases.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CFunctionAttributes {
    pub shared: usize,
    pub constant: usize,
    pub local: usize,
    pub max_threads: i32,
    pub registers: i32,
    pub ptx_version: i32,
    pub binary_version: i32,
    pub cache_mode: i32,
    pub max_dynamic_shared: i32,
    pub carveout: i32,
}

/// Common part of `cudaPointerAttributes` in all releases.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPointerAttributes {
    pub kind: i32,
    pub device: i32,
    pub device_pointer: u64,
    pub host_pointer: u64,
}

/// Layout of `cudaLaunchAttribute` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLaunchAttribute {
    pub id: i32,
    pub pad: i32,
    pub value: [u32; 16],
}

/// Layout of `cudaKernelNodeParams`, and of the common part of its second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CKernelNode {
    pub function: u64,
    pub grid: CDim3,
    pub block: CDim3,
    pub shared_bytes: u32,
    pub arguments: *const *const u8,
    pub extra: *const u64,
}

/// Layout of `cudaMemsetParams`, and of the common part of its second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CFillNode {
    pub address: u64,
    pub pitch: usize,
    pub value: u32,
    pub element: u32,
    pub width: usize,
    pub height: usize,
}

/// Layout of `cudaHostNodeParams`, and of the common part of its second version.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CHostNode {
    pub function: u64,
    pub data: u64,
}

/// Layout of `cudaMemcpyNodeParams` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CCopyNode {
    pub flags: i32,
    pub reserved: [i32; 3],
    pub copy: CCopy3,
}

/// Layout of `cudaGraphNodeParams`: a kind and the largest of its variants.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CNode {
    pub kind: i32,
    pub reserved: [i32; 3],
    pub part: [u64; 29],
    pub more: u64,
}

impl CNode {
    /// Parameters of a kind whose part is empty.
    pub fn empty(kind: i32) -> Self {
        Self {
            kind,
            reserved: [0; 3],
            part: [0; 29],
            more: 0,
        }
    }
}

/// Layout of `cudaMemLocation` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLocation {
    pub kind: i32,
    pub id: i32,
}

/// Layout of `cudaMemPoolProps` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPoolProperties {
    pub kind: i32,
    pub handles: i32,
    pub location: CLocation,
    pub more: [u64; 9],
}

/// Layout of `cudaMemAccessDesc` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPoolAccess {
    pub location: CLocation,
    pub flags: i32,
}

/// Layout of `cudaMemAllocNodeParams` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CAllocationNode {
    pub properties: CPoolProperties,
    pub access: *const CPoolAccess,
    pub count: usize,
    pub bytes: usize,
    pub address: u64,
}

/// Layout of `cudaGraphInstantiateParams` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CInstantiation {
    pub flags: u64,
    pub stream: u64,
    pub wrong_node: u64,
    pub result: i32,
}

/// Layout of `cudaGraphExecUpdateResultInfo`, which exists from CUDA 12 on.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUpdate {
    pub result: i32,
    pub wrong_node: u64,
    pub wrong_from: u64,
}

impl CUpdate {
    /// Result with the node that prevented the update, or 0.
    pub fn of(result: i32, wrong_node: u64) -> Self {
        Self {
            result,
            wrong_node,
            wrong_from: 0,
        }
    }
}

/// Layout of `cudaLaunchConfig_t` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLaunchConfiguration {
    pub grid: CDim3,
    pub block: CDim3,
    pub shared_bytes: usize,
    pub stream: u64,
    pub attributes: *const CLaunchAttribute,
    pub count: u32,
}

impl CLaunchConfiguration {
    /// Extents of grid and block, and the dynamic shared memory in bytes.
    pub fn shape(&self) -> (CDim3, CDim3, usize) {
        (self.grid, self.block, self.shared_bytes)
    }

    /// Address and number of the attributes.
    pub fn attributes(&self) -> (*const CLaunchAttribute, u32) {
        (self.attributes, self.count)
    }
}
