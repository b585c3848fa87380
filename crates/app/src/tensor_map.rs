//! Tensor maps that the host makes (CUDA driver, `cuTensorMapEncodeTiled` and
//! `cuTensorMapEncodeIm2col`).

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use warploom_ir::tensor_map::{ElementType, Im2col, MOST_DIMENSIONS, TENSOR_MAP_BYTES, TensorMap};

/// Description of a tensor map, as the driver's function receives it.
#[derive(Clone, Debug, Default)]
pub struct TiledTensor {
    /// Number of the element type in the driver's enumeration.
    pub ty: i32,
    /// Address of the tensor.
    pub address: u64,
    /// Elements by dimension, the fastest first.
    pub dims: Vec<u64>,
    /// Distance in bytes between neighbours of the second and further dimensions.
    pub strides: Vec<u64>,
    /// Elements of the tensor that a box spans, by dimension.
    pub box_dims: Vec<u32>,
    /// Distance in elements between the elements of a box, by dimension.
    pub element_strides: Vec<u32>,
    /// Layout in memory; 0 for the plain one.
    pub interleave: i32,
    /// Permutation in shared memory: 0 for none, then 32, 64 and 128 bytes.
    pub swizzle: i32,
    /// Value outside of the tensor: 0 for zero, 1 for a NaN.
    pub fill: i32,
    /// Properties of copies in mode `.im2col`, which have no box.
    pub im2col: Option<PixelWalk>,
}

/// Properties of copies in mode `.im2col`, as the driver's function receives them.
#[derive(Clone, Debug, Default)]
pub struct PixelWalk {
    /// First pixel of the bounding box, by spatial dimension.
    pub lower: Vec<i32>,
    /// Last pixel of the bounding box, relative to the tensor's last one.
    pub upper: Vec<i32>,
    /// Channels of each pixel.
    pub channels: u32,
    /// Number of pixels of a copy.
    pub pixels: u32,
}

impl PixelWalk {
    /// The properties for a tensor of `rank` dimensions. `None` if a corner is out of its range,
    /// which is narrower for more dimensions.
    fn encode(&self, rank: usize) -> Option<Im2col> {
        let most = match rank {
            3 => 1 << 15,
            4 => 1 << 7,
            5 => 1 << 4,
            _ => return None,
        };
        let corners = |all: &[i32]| {
            let inside = |at: &i32| (-most..most).contains(at);
            let complete = all.len() + 2 == rank && all.iter().all(inside);
            let all: Vec<i16> = all.iter().map(|at| *at as i16).collect();
            complete.then(|| by_dimension(&all))
        };
        Some(Im2col {
            channels: self.channels,
            pixels: self.pixels,
            lower: corners(&self.lower)?,
            upper: corners(&self.upper)?,
        })
    }
}

/// Element types in the order of the driver's enumeration (`CUtensorMapDataType`).
const TYPES: [ElementType; 13] = [
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::S32,
    ElementType::U64,
    ElementType::S64,
    ElementType::F16,
    ElementType::F32,
    ElementType::F64,
    ElementType::Bf16,
    ElementType::F32Ftz,
    ElementType::Tf32,
    ElementType::Tf32Ftz,
];

/// Bytes of a row of each permutation, by its number.
const SWIZZLES: [u64; 4] = [16, 32, 64, 128];
/// Limit of the distance between neighbours in bytes.
const MOST_STRIDE: u64 = 1 << 40;

/// Values by dimension, as the tensor map has them.
fn by_dimension<T: Copy + Default, const N: usize>(values: &[T]) -> [T; N] {
    std::array::from_fn(|nth| values.get(nth).copied().unwrap_or_default())
}

impl TiledTensor {
    /// Encodes the tensor map. `None` if the driver's documentation does not allow a value.
    fn encode(&self) -> Option<[u8; TENSOR_MAP_BYTES]> {
        let rank = self.dims.len();
        let complete = (1..=MOST_DIMENSIONS).contains(&rank)
            && self.strides.len() + 1 == rank
            && (self.box_dims.len() == rank || self.im2col.is_some())
            && self.element_strides.len() == rank;
        let strides = |stride: &u64| stride.is_multiple_of(16) && *stride < MOST_STRIDE;
        if !complete || !self.strides.iter().all(strides) {
            return None;
        }
        let dims: Option<Vec<u32>> = (self.dims.iter())
            .map(|dim| u32::try_from(*dim).ok())
            .collect();
        let index = |number: i32| usize::try_from(number).ok();
        let map = TensorMap {
            address: self.address,
            rank,
            dims: by_dimension(&dims?),
            strides: by_dimension(&self.strides),
            box_dims: by_dimension(&self.box_dims),
            element_strides: by_dimension(&self.element_strides),
            ty: *TYPES.get(index(self.ty)?)?,
            swizzle: *SWIZZLES.get(index(self.swizzle)?)?,
            nan_fill: self.fill == 1,
            im2col: match &self.im2col {
                Some(walk) => Some(walk.encode(rank)?),
                None => None,
            },
        };
        let bytes = map.to_bytes();
        TensorMap::from_bytes(&bytes).filter(|_| (0..=1).contains(&self.fill))?;
        Some(bytes)
    }
}

impl Context {
    /// Makes a tensor map of a tensor for copies of boxes or of pixels.
    ///
    /// # Errors
    /// Returns `INVALID_VALUE` for a value that the driver's documentation does not allow, and
    /// `NOT_SUPPORTED` for interleaved layouts and elements of less than a byte.
    pub fn encode_tiled(&mut self, tensor: &TiledTensor) -> Cuda<[u8; TENSOR_MAP_BYTES]> {
        if tensor.interleave != 0 || tensor.ty >= TYPES.len() as i32 {
            return Err(self.unsupported("cuTensorMapEncodeTiled with such a layout or type"));
        }
        tensor.encode().ok_or(CudaError::INVALID_VALUE)
    }
}

#[cfg(test)]
mod tests {
    use super::{PixelWalk, TiledTensor};
    use warploom_ir::tensor_map::{ElementType, TensorMap};

    fn tensor() -> TiledTensor {
        TiledTensor {
            ty: 9,
            address: 0x100,
            dims: vec![64, 32],
            strides: vec![128],
            box_dims: vec![64, 8],
            element_strides: vec![1, 1],
            interleave: 0,
            swizzle: 3,
            fill: 0,
            im2col: None,
        }
    }

    /// Limits of the driver's documentation for copies of pixels.
    #[test]
    fn pixels_become_a_map() {
        let walk = PixelWalk {
            lower: vec![-1, -1],
            upper: vec![-1, 0],
            channels: 64,
            pixels: 32,
        };
        let image = TiledTensor {
            dims: vec![64, 8, 8, 2],
            strides: vec![128, 1024, 8192],
            element_strides: vec![1; 4],
            box_dims: Vec::new(),
            im2col: Some(walk.clone()),
            ..tensor()
        };
        let bytes = image.encode().expect("every value is allowed");
        let map = TensorMap::from_bytes(&bytes).expect("a sound map");
        assert_eq!((map.rows(), map.row_bytes()), (32, 128));
        for wrong in [
            PixelWalk {
                lower: vec![-129, 0],
                ..walk.clone()
            },
            PixelWalk {
                upper: vec![0],
                ..walk.clone()
            },
            PixelWalk {
                pixels: 1025,
                ..walk.clone()
            },
            PixelWalk {
                channels: 0,
                ..walk
            },
        ] {
            let image = TiledTensor {
                im2col: Some(wrong),
                ..image.clone()
            };
            assert_eq!(image.encode(), None, "{image:?}");
        }
    }

    #[test]
    fn a_tensor_becomes_a_map() {
        let bytes = tensor().encode().expect("every value is allowed");
        let map = TensorMap::from_bytes(&bytes).expect("a sound map");
        assert_eq!((map.ty, map.swizzle, map.rank), (ElementType::Bf16, 128, 2));
        assert_eq!(
            (map.dims[1], map.strides[0], map.box_dims[0]),
            (32, 128, 64)
        );
    }

    /// Limits of the driver's documentation.
    #[test]
    fn values_beyond_the_limits_are_refused() {
        let refused = |change: fn(&mut TiledTensor)| {
            let mut tensor = tensor();
            change(&mut tensor);
            tensor.encode().is_none()
        };
        assert!(refused(|tensor| tensor.address = 8));
        assert!(refused(|tensor| tensor.strides[0] = 120));
        assert!(refused(|tensor| tensor.box_dims[1] = 257));
        assert!(
            refused(|tensor| tensor.box_dims[0] = 128),
            "wider than the swizzle"
        );
        assert!(refused(|tensor| tensor.element_strides[0] = 0));
        assert!(refused(|tensor| tensor.swizzle = -1));
        assert!(refused(|tensor| tensor.dims.clear()));
        assert!(refused(|tensor| tensor.fill = 2));
    }
}
