//! Tensor maps: the opaque objects of 128 bytes that describe tensors in global memory to bulk
//! copies (PTX ISA, "Tensors" and "tensormap.replace"; CUDA driver, `cuTensorMapEncodeTiled`).
//!
//! NVIDIA does not publish the layout. Here the fields follow each other, each with the value that
//! `tensormap.replace` gives it, in little-endian order.

/// Size of a tensor map in bytes.
pub const TENSOR_MAP_BYTES: usize = 128;
/// Most dimensions of a tensor.
pub const MOST_DIMENSIONS: usize = 5;

/// Most pixels of a column of a copy in mode `.im2col`.
const MOST_PIXELS: u32 = 1024;
/// Most elements of a box along a dimension.
const MOST_IN_BOX: u32 = 256;
/// Largest distance between the elements of a box along a dimension.
const MOST_APART: u32 = 8;

/// A field of a tensor map; fields with a value for each dimension have its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorMapField {
    /// Address of the tensor, in 64 bits.
    GlobalAddress,
    /// Distance in bytes between neighbours of dimension n + 1, in 64 bits.
    GlobalStride(u8),
    /// Number of elements of the tensor.
    GlobalDim(u8),
    /// Number of elements of the box.
    BoxDim(u8),
    /// Distance in elements between elements of the box.
    ElementStride(u8),
    /// Number of dimensions minus one.
    Rank,
    /// Type of an element: the number of an [`ElementType`].
    ElementType,
    /// Layout of the tensor in memory; 0 is the plain one.
    Interleave,
    /// Permutation in shared memory: 0 for none, then 32, 64 and 128 bytes.
    Swizzle,
    /// Value of elements outside of the tensor: 0 for zero, 1 for a NaN.
    Fill,
    /// 1 for copies in mode `.im2col`, whose properties are where a tile has its box: channels and
    /// pixels, then the corners by dimension, the lower one in the lower half.
    Mode,
}

impl TensorMapField {
    /// Byte offset of the field in the tensor map, and its size in bytes; `None` for a dimension
    /// that it does not have.
    pub fn place(self) -> Option<(usize, usize)> {
        let of = |first: usize, nth: u8, count: usize, bytes: usize| {
            let nth = usize::from(nth);
            (nth < count).then_some((first + nth * bytes, bytes))
        };
        match self {
            Self::GlobalAddress => Some((0, 8)),
            Self::GlobalStride(nth) => of(8, nth, MOST_DIMENSIONS - 1, 8),
            Self::GlobalDim(nth) => of(40, nth, MOST_DIMENSIONS, 4),
            Self::BoxDim(nth) => of(60, nth, MOST_DIMENSIONS, 4),
            Self::ElementStride(nth) => of(80, nth, MOST_DIMENSIONS, 4),
            Self::Rank => Some((100, 4)),
            Self::ElementType => Some((104, 4)),
            Self::Interleave => Some((108, 4)),
            Self::Swizzle => Some((112, 4)),
            Self::Fill => Some((116, 4)),
            Self::Mode => Some((120, 4)),
        }
    }
}

/// Element types in the order of their numbers (PTX ISA, "tensormap.replace").
#[allow(missing_docs, reason = "named as PTX names them")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementType {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
}

impl ElementType {
    /// All types, each at its number.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F32Ftz,
        Self::F64,
        Self::Bf16,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// Size of an element in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// Bits of the NaN that fills places outside of the tensor; zero for integers.
    pub fn nan(self) -> u64 {
        match self {
            Self::F16 | Self::Bf16 => 0x7fff,
            Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 0x7fff_ffff,
            Self::F64 => 0x7fff_ffff_ffff_ffff,
            _ => 0,
        }
    }
}

/// Properties of copies in mode `.im2col` (PTX ISA, "Im2col mode"). Pixels of the tensor's spatial
/// dimensions, the fastest first, are walked within a bounding box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Im2col {
    /// Channels of each pixel that are copied.
    pub channels: u32,
    /// Number of pixels that are copied.
    pub pixels: u32,
    /// First pixel of the bounding box, by spatial dimension.
    pub lower: [i16; MOST_DIMENSIONS - 2],
    /// Last pixel of the bounding box, relative to the last one of the tensor.
    pub upper: [i16; MOST_DIMENSIONS - 2],
}

impl Im2col {
    /// The values where a tile has its box.
    fn to_box(self) -> [u32; MOST_DIMENSIONS] {
        let corner = |nth: usize| {
            let [lower, upper] = [self.lower[nth], self.upper[nth]].map(|at| u32::from(at as u16));
            upper << 16 | lower
        };
        [self.channels, self.pixels, corner(0), corner(1), corner(2)]
    }

    /// The properties that lie where a tile has its box.
    fn from_box([channels, pixels, corners @ ..]: [u32; MOST_DIMENSIONS]) -> Self {
        Self {
            channels,
            pixels,
            lower: corners.map(|both| both as u16 as i16),
            upper: corners.map(|both| (both >> 16) as u16 as i16),
        }
    }
}

/// A decoded tensor map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorMap {
    /// Address of the first element.
    pub address: u64,
    /// Number of dimensions, from 1.
    pub rank: usize,
    /// Elements of the tensor by dimension, the fastest first.
    pub dims: [u32; MOST_DIMENSIONS],
    /// Distance in bytes between neighbours of the second and further dimensions.
    pub strides: [u64; MOST_DIMENSIONS - 1],
    /// Elements of the tensor that a box spans, by dimension.
    pub box_dims: [u32; MOST_DIMENSIONS],
    /// Distance in elements between the elements of a box, by dimension.
    pub element_strides: [u32; MOST_DIMENSIONS],
    /// Type of an element.
    pub ty: ElementType,
    /// Bytes of a row of the permutation in shared memory; 16 for none.
    pub swizzle: u64,
    /// True if places outside of the tensor are filled with NaN.
    pub nan_fill: bool,
    /// Properties of copies in mode `.im2col`; `None` for copies of boxes.
    pub im2col: Option<Im2col>,
}

/// Bytes of a row of each permutation.
const SWIZZLES: [u64; 4] = [16, 32, 64, 128];

impl TensorMap {
    /// Encodes the tensor map.
    pub fn to_bytes(&self) -> [u8; TENSOR_MAP_BYTES] {
        use TensorMapField as F;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        let mut put = |field: TensorMapField, value: u64| {
            if let Some((at, size)) = field.place() {
                bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
        };
        let box_dims = self.im2col.map_or(self.box_dims, Im2col::to_box);
        put(F::Mode, u64::from(self.im2col.is_some()));
        put(F::GlobalAddress, self.address);
        for (nth, in_box) in box_dims.into_iter().enumerate() {
            let d = nth as u8;
            put(
                F::GlobalStride(d),
                self.strides.get(nth).copied().unwrap_or(0),
            );
            put(F::GlobalDim(d), self.dims[nth].into());
            put(F::BoxDim(d), in_box.into());
            put(F::ElementStride(d), self.element_strides[nth].into());
        }
        put(F::Rank, self.rank as u64 - 1);
        put(F::ElementType, self.ty as u64);
        let swizzle = SWIZZLES.iter().position(|span| *span == self.swizzle);
        put(F::Swizzle, swizzle.unwrap_or(0) as u64);
        put(F::Fill, u64::from(self.nan_fill));
        bytes
    }

    /// Decodes a tensor map. `None` if a field has a value that no tensor map has, or one that is
    /// not supported: an interleaved layout, elements of less than a byte.
    pub fn from_bytes(bytes: &[u8; TENSOR_MAP_BYTES]) -> Option<Self> {
        use TensorMapField as F;
        let get = |field: TensorMapField| {
            let (at, size) = field.place()?;
            let mut word = [0; 8];
            word[..size].copy_from_slice(&bytes[at..at + size]);
            Some(u64::from_le_bytes(word))
        };
        let each = |field: fn(u8) -> TensorMapField| -> Option<[u32; MOST_DIMENSIONS]> {
            let mut values = [0; MOST_DIMENSIONS];
            for (nth, value) in values.iter_mut().enumerate() {
                *value = get(field(nth as u8))? as u32;
            }
            Some(values)
        };
        let rank = get(F::Rank)? as usize + 1;
        let mut strides = [0; MOST_DIMENSIONS - 1];
        for (nth, stride) in strides.iter_mut().enumerate() {
            *stride = get(F::GlobalStride(nth as u8))?;
        }
        let mut map = Self {
            address: get(F::GlobalAddress)?,
            rank,
            dims: each(F::GlobalDim)?,
            strides,
            box_dims: each(F::BoxDim)?,
            element_strides: each(F::ElementStride)?,
            ty: *ElementType::ALL.get(get(F::ElementType)? as usize)?,
            swizzle: *SWIZZLES.get(get(F::Swizzle)? as usize)?,
            nan_fill: get(F::Fill)? == 1,
            im2col: None,
        };
        if get(F::Mode)? == 1 {
            map.im2col = Some(Im2col::from_box(map.box_dims));
            map.box_dims = [0; MOST_DIMENSIONS];
        }
        let plain = get(F::Interleave)? == 0 && get(F::Fill)? <= 1 && get(F::Mode)? <= 1;
        (plain && rank <= MOST_DIMENSIONS && map.is_sound()).then_some(map)
    }

    /// True if the box has elements and its rows consist of whole chunks of 16 bytes.
    fn is_sound(&self) -> bool {
        let boxed = |nth: usize| match self.im2col {
            None => (1..=MOST_IN_BOX).contains(&self.box_dims[nth]),
            Some(im2col) => {
                self.rank > 2
                    && (1..=MOST_IN_BOX).contains(&im2col.channels)
                    && (1..=MOST_PIXELS).contains(&im2col.pixels)
            }
        };
        let sound = |nth: usize| {
            boxed(nth)
                && (1..=MOST_APART).contains(&self.element_strides[nth])
                && self.dims[nth] > 0
        };
        let row = self.row_bytes();
        (0..self.rank).all(sound)
            && row.is_multiple_of(16)
            && (self.swizzle == 16 || row as u64 <= self.swizzle)
            && self.address.is_multiple_of(16)
    }

    /// Number of elements of a box along a dimension.
    pub fn count(&self, dimension: usize) -> usize {
        self.box_dims[dimension].div_ceil(self.element_strides[dimension].max(1)) as usize
    }

    /// Number of elements of a row, along the first dimension.
    pub fn columns(&self) -> usize {
        match self.im2col {
            None => self.count(0),
            Some(im2col) => im2col.channels as usize,
        }
    }

    /// Distance in elements between those of a row.
    pub fn column_stride(&self) -> u32 {
        match self.im2col {
            None => self.element_strides[0],
            Some(_) => 1,
        }
    }

    /// Bytes of a row of the box, along the first dimension, or of a pixel.
    pub fn row_bytes(&self) -> usize {
        self.columns() * self.ty.bytes()
    }

    /// Number of rows of the box, or of pixels.
    pub fn rows(&self) -> usize {
        match self.im2col {
            None => (1..self.rank).map(|nth| self.count(nth)).product(),
            Some(im2col) => im2col.pixels as usize,
        }
    }

    /// Bytes of the box in shared memory.
    pub fn box_bytes(&self) -> usize {
        self.rows() * self.row_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{ElementType, Im2col, TensorMap, TensorMapField};

    fn map() -> TensorMap {
        TensorMap {
            address: 0x1_0000_0040,
            rank: 3,
            dims: [100, 20, 7, 0, 0],
            strides: [256, 5120, 0, 0],
            box_dims: [64, 8, 2, 0, 0],
            element_strides: [1, 2, 1, 0, 0],
            ty: ElementType::Bf16,
            swizzle: 128,
            nan_fill: true,
            im2col: None,
        }
    }

    #[test]
    fn a_map_comes_back_from_its_bytes() {
        let map = map();
        assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map));
        assert_eq!(
            (map.row_bytes(), map.rows(), map.box_bytes()),
            (128, 8, 1024)
        );
    }

    #[test]
    fn corners_come_back_with_their_signs() {
        let im2col = Im2col {
            channels: 32,
            pixels: 100,
            lower: [-1, 3, 0],
            upper: [-300, 0, 2],
        };
        let mut map = map();
        (map.box_dims, map.im2col) = ([0; 5], Some(im2col));
        assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Some(map));
        assert_eq!((map.row_bytes(), map.rows()), (64, 100));
        map.rank = 2;
        assert!(
            TensorMap::from_bytes(&map.to_bytes()).is_none(),
            "no pixels"
        );
    }

    #[test]
    fn fields_lie_apart_and_inside() {
        use TensorMapField as F;
        let mut taken = [false; 128];
        let each = [F::GlobalStride, F::GlobalDim, F::BoxDim, F::ElementStride];
        let by_dimension = each.iter().flat_map(|of| (0..6).map(of));
        let single = [
            F::GlobalAddress,
            F::Rank,
            F::ElementType,
            F::Interleave,
            F::Swizzle,
            F::Fill,
            F::Mode,
        ];
        for (at, size) in by_dimension.chain(single).filter_map(F::place) {
            for byte in &mut taken[at..at + size] {
                assert!(!std::mem::replace(byte, true));
            }
        }
        assert_eq!(F::GlobalStride(4).place(), None);
    }

    #[test]
    fn unsound_maps_are_refused() {
        let refused = |change: fn(&mut TensorMap)| {
            let mut map = map();
            change(&mut map);
            TensorMap::from_bytes(&map.to_bytes()).is_none()
        };
        assert!(refused(|map| map.box_dims[0] = 0), "no element");
        assert!(
            refused(|map| map.box_dims[0] = 60),
            "not a multiple of 16 bytes"
        );
        assert!(
            refused(|map| map.box_dims[0] = 128),
            "wider than the swizzle"
        );
        assert!(refused(|map| map.element_strides[2] = 9));
        assert!(refused(|map| map.address += 8));
        assert!(refused(|map| map.rank = 6));
        assert!(TensorMap::from_bytes(&[0; 128]).is_none());
    }
}
