//! Dotted modifiers: the words after the opcode.

use super::lookup::spelled_enum;
use super::types::{ScalarType, Space};
use std::fmt;

/// Defines `Modifier` and its table of spellings from one list.
macro_rules! modifiers {
    ($( $variant:ident = $text:literal, )*) => {
        /// Dotted modifier of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Modifier {
            /// Scalar type, such as `.u32`.
            Type(ScalarType),
            /// State space without a sub-qualifier.
            Space(Space),
            /// Shape of a matrix operation.
            Shape(MatrixShape),
            $(
                #[doc = concat!("`.", $text, "`")]
                $variant,
            )*
        }

        spelled_enum! {
            /// Modifiers without data, which share the table of spellings.
            Plain, 1024:
            $( $variant = $text, )*
        }

        impl Modifier {
            /// All modifiers except types, spaces and shapes.
            pub const PLAIN: &[Self] = &[$(Self::$variant,)*];

            /// Spelling of a modifier without data.
            const fn plain_text(self) -> Option<&'static str> {
                match self {
                    Self::Type(_) | Self::Space(_) | Self::Shape(_) => None,
                    $(Self::$variant => Some($text),)*
                }
            }
        }
    };
}

modifiers! {
    // Roundings, saturation and float behaviour.
    Rn = "rn",
    Rz = "rz",
    Rm = "rm",
    Rp = "rp",
    Rna = "rna",
    Rs = "rs",
    Rni = "rni",
    Rzi = "rzi",
    Rmi = "rmi",
    Rpi = "rpi",
    Ftz = "ftz",
    Noftz = "noftz",
    Sat = "sat",
    Satfinite = "satfinite",
    Relu = "relu",
    Oob = "oob",
    Approx = "approx",
    Full = "full",
    Xorsign = "xorsign",
    Abs = "abs",
    NanPropagate = "NaN",
    Finite = "finite",
    Infinite = "infinite",
    Number = "number",
    Notanumber = "notanumber",
    Normal = "normal",
    Subnormal = "subnormal",
    ScaledN2Ue8m0 = "scaled::n2::ue8m0",
    // Integer parts, carry, permutation, shift.
    Wide = "wide",
    Hi = "hi",
    Lo = "lo",
    Cc = "cc",
    Shiftamt = "shiftamt",
    Wrap = "wrap",
    Clamp = "clamp",
    L = "l",
    R = "r",
    F4e = "f4e",
    B4e = "b4e",
    Rc8 = "rc8",
    Ecl = "ecl",
    Ecr = "ecr",
    Rc16 = "rc16",
    Pack = "pack",
    To = "to",
    // Comparisons (`.lo` and `.hi` are above).
    Eq = "eq",
    Ne = "ne",
    Lt = "lt",
    Le = "le",
    Gt = "gt",
    Ge = "ge",
    Ls = "ls",
    Hs = "hs",
    Equ = "equ",
    Neu = "neu",
    Ltu = "ltu",
    Leu = "leu",
    Gtu = "gtu",
    Geu = "geu",
    Num = "num",
    Nan = "nan",
    // Operations of atomics, reductions and Boolean combination.
    And = "and",
    Or = "or",
    Xor = "xor",
    Not = "not",
    Add = "add",
    Inc = "inc",
    Dec = "dec",
    Min = "min",
    Max = "max",
    Exch = "exch",
    Cas = "cas",
    Popc = "popc",
    // Vectors.
    V2 = "v2",
    V4 = "v4",
    V8 = "v8",
    // Cache operators and eviction.
    Ca = "ca",
    Cg = "cg",
    Cs = "cs",
    Lu = "lu",
    Cv = "cv",
    Nc = "nc",
    Wb = "wb",
    Wt = "wt",
    L1 = "L1",
    L2 = "L2",
    L1EvictNormal = "L1::evict_normal",
    L1EvictUnchanged = "L1::evict_unchanged",
    L1EvictFirst = "L1::evict_first",
    L1EvictLast = "L1::evict_last",
    L1NoAllocate = "L1::no_allocate",
    L2EvictNormal = "L2::evict_normal",
    L2EvictUnchanged = "L2::evict_unchanged",
    L2EvictFirst = "L2::evict_first",
    L2EvictLast = "L2::evict_last",
    L2CacheHint = "L2::cache_hint",
    L264B = "L2::64B",
    L2128B = "L2::128B",
    L2256B = "L2::256B",
    Fractional = "fractional",
    Cvt = "cvt",
    Range = "range",
    // Memory semantics, scopes and sub-qualified spaces.
    Weak = "weak",
    Volatile = "volatile",
    Relaxed = "relaxed",
    Acquire = "acquire",
    Release = "release",
    AcqRel = "acq_rel",
    Sc = "sc",
    Mmio = "mmio",
    Unified = "unified",
    Cta = "cta",
    Gpu = "gpu",
    Sys = "sys",
    Cluster = "cluster",
    Gl = "gl",
    SharedCta = "shared::cta",
    SharedCluster = "shared::cluster",
    ParamEntry = "param::entry",
    ParamFunc = "param::func",
    Proxy = "proxy",
    Alias = "alias",
    Async = "async",
    AsyncGeneric = "async::generic",
    AsyncGlobal = "async::global",
    AsyncSharedCta = "async::shared::cta",
    AsyncSharedCluster = "async::shared::cluster",
    Tensormap = "tensormap",
    TensormapGeneric = "tensormap::generic",
    GenericTensormap = "generic::tensormap",
    SyncRestrictSharedCta = "sync_restrict::shared::cta",
    SyncRestrictSharedCluster = "sync_restrict::shared::cluster",
    MbarrierInit = "mbarrier_init",
    // Warp-wide and block-wide instructions.
    Sync = "sync",
    Aligned = "aligned",
    Arrive = "arrive",
    Red = "red",
    Wait = "wait",
    WaitLd = "wait::ld",
    WaitSt = "wait::st",
    Warp = "warp",
    Up = "up",
    Down = "down",
    Bfly = "bfly",
    Idx = "idx",
    All = "all",
    Any = "any",
    Uni = "uni",
    Ballot = "ballot",
    IsCanceled = "is_canceled",
    // Barriers in shared memory.
    Mbarrier = "mbarrier",
    Init = "init",
    Inval = "inval",
    ExpectTx = "expect_tx",
    CompleteTx = "complete_tx",
    ArriveDrop = "arrive_drop",
    TestWait = "test_wait",
    TryWait = "try_wait",
    PendingCount = "pending_count",
    NoComplete = "noComplete",
    Parity = "parity",
    Noinc = "noinc",
    MbarrierCompleteTxBytes = "mbarrier::complete_tx::bytes",
    MbarrierArriveOne = "mbarrier::arrive::one",
    // Asynchronous copies.
    CommitGroup = "commit_group",
    WaitGroup = "wait_group",
    WaitAll = "wait_all",
    Bulk = "bulk",
    BulkGroup = "bulk_group",
    Read = "read",
    Reduce = "reduce",
    Prefetch = "prefetch",
    Tensor = "tensor",
    Tile = "tile",
    TileGather4 = "tile::gather4",
    TileScatter4 = "tile::scatter4",
    Im2col = "im2col",
    Im2colNoOffs = "im2col_no_offs",
    Im2colW = "im2col::w",
    Im2colW128 = "im2col::w::128",
    Im2colAt = "im2col_at",
    MulticastCluster = "multicast::cluster",
    MulticastClusterAll = "multicast::cluster::all",
    CpMask = "cp_mask",
    IgnoreOob = "ignore_oob",
    Dst = "dst",
    Src = "src",
    // Textures and surfaces.
    Dim1d = "1d",
    Dim2d = "2d",
    Dim3d = "3d",
    Dim4d = "4d",
    Dim5d = "5d",
    ArrayDim1d = "a1d",
    ArrayDim2d = "a2d",
    Cube = "cube",
    ArrayCube = "acube",
    Dim2dMultisample = "2dms",
    ArrayDim2dMultisample = "a2dms",
    Level = "level",
    Grad = "grad",
    Base = "base",
    A = "a",
    B = "b",
    C = "c",
    D = "d",
    G = "g",
    P = "p",
    Trap = "trap",
    Zero = "zero",
    Width = "width",
    Height = "height",
    Depth = "depth",
    ChannelDataType = "channel_data_type",
    ChannelOrder = "channel_order",
    NormalizedCoords = "normalized_coords",
    ForceUnnormalizedCoords = "force_unnormalized_coords",
    FilterMode = "filter_mode",
    AddrMode0 = "addr_mode_0",
    AddrMode1 = "addr_mode_1",
    AddrMode2 = "addr_mode_2",
    NumMipmapLevels = "num_mipmap_levels",
    NumSamples = "num_samples",
    ArraySize = "array_size",
    MemoryLayout = "memory_layout",
    Texref = "texref",
    Samplerref = "samplerref",
    Surfref = "surfref",
    // Matrix instructions.
    Row = "row",
    Col = "col",
    Trans = "trans",
    X1 = "x1",
    X2 = "x2",
    X4 = "x4",
    X8 = "x8",
    X16 = "x16",
    X32 = "x32",
    X64 = "x64",
    X128 = "x128",
    Sp = "sp",
    SpOrderedMetadata = "sp::ordered_metadata",
    Load = "load",
    Store = "store",
    Mma = "mma",
    MmaAsync = "mma_async",
    Fence = "fence",
    BlockScale = "block_scale",
    ScaleVec1X = "scale_vec::1X",
    ScaleVec2X = "scale_vec::2X",
    ScaleVec4X = "scale_vec::4X",
    Block16 = "block16",
    Block32 = "block32",
    KindF16 = "kind::f16",
    KindTf32 = "kind::tf32",
    KindF8f6f4 = "kind::f8f6f4",
    KindI8 = "kind::i8",
    KindMxf4 = "kind::mxf4",
    KindMxf8f6f4 = "kind::mxf8f6f4",
    KindMxf4nvf4 = "kind::mxf4nvf4",
    B8x16 = "b8x16",
    B4x16P64 = "b4x16_p64",
    B6x16P32 = "b6x16_p32",
    B6p2x16 = "b6p2x16",
    B4p64 = "b4p64",
    LdReduce = "ld_reduce",
    St = "st",
    AccF16 = "acc::f16",
    AccF32 = "acc::f32",
    // Tensor memory (`tcgen05`).
    Alloc = "alloc",
    Dealloc = "dealloc",
    RelinquishAllocPermit = "relinquish_alloc_permit",
    Ld = "ld",
    Cp = "cp",
    Shift = "shift",
    Commit = "commit",
    Ws = "ws",
    CtaGroup1 = "cta_group::1",
    CtaGroup2 = "cta_group::2",
    BeforeThreadSync = "fence::before_thread_sync",
    AfterThreadSync = "fence::after_thread_sync",
    Tile16x64b = "16x64b",
    Tile16x128b = "16x128b",
    Tile16x256b = "16x256b",
    Tile32x32b = "32x32b",
    Tile16x32bx2 = "16x32bx2",
    Tile4x256b = "4x256b",
    Tile32x128b = "32x128b",
    Tile64x128b = "64x128b",
    Tile128x128b = "128x128b",
    Tile128x256b = "128x256b",
    WarpX2_02_13 = "warpx2::02_13",
    WarpX2_01_23 = "warpx2::01_23",
    WarpX4 = "warpx4",
    Pack16b = "pack::16b",
    Unpack16b = "unpack::16b",
    Ashift = "ashift",
    CollectorAFill = "collector::a::fill",
    CollectorAUse = "collector::a::use",
    CollectorALastuse = "collector::a::lastuse",
    CollectorADiscard = "collector::a::discard",
    CollectorB0Fill = "collector::b0::fill",
    CollectorB0Use = "collector::b0::use",
    CollectorB0Lastuse = "collector::b0::lastuse",
    CollectorB0Discard = "collector::b0::discard",
    CollectorB1Fill = "collector::b1::fill",
    CollectorB1Use = "collector::b1::use",
    CollectorB1Lastuse = "collector::b1::lastuse",
    CollectorB1Discard = "collector::b1::discard",
    CollectorB2Fill = "collector::b2::fill",
    CollectorB2Use = "collector::b2::use",
    CollectorB2Lastuse = "collector::b2::lastuse",
    CollectorB2Discard = "collector::b2::discard",
    CollectorB3Fill = "collector::b3::fill",
    CollectorB3Use = "collector::b3::use",
    CollectorB3Lastuse = "collector::b3::lastuse",
    CollectorB3Discard = "collector::b3::discard",
    // Tensor maps.
    Replace = "replace",
    GlobalAddress = "global_address",
    Rank = "rank",
    BoxDim = "box_dim",
    GlobalDim = "global_dim",
    GlobalStride = "global_stride",
    ElementStride = "element_stride",
    Elemtype = "elemtype",
    InterleaveLayout = "interleave_layout",
    SwizzleMode = "swizzle_mode",
    SwizzleAtomicity = "swizzle_atomicity",
    FillMode = "fill_mode",
    CpFenceproxy = "cp_fenceproxy",
    // Video instructions.
    Shr7 = "shr7",
    Shr15 = "shr15",
    Po = "po",
    // Everything else.
    LaunchDependents = "launch_dependents",
    Mask = "mask",
    TryCancel = "try_cancel",
    QueryCancel = "query_cancel",
    GetFirstCtaid = "get_first_ctaid",
    GetFirstCtaidX = "get_first_ctaid::x",
    GetFirstCtaidY = "get_first_ctaid::y",
    GetFirstCtaidZ = "get_first_ctaid::z",
}

/// Shape of a matrix operation, such as `.m16n8k16`; `k` is 0 for a shape without it (`.m8n8`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatrixShape {
    /// Rows of the result.
    pub m: u16,
    /// Columns of the result.
    pub n: u16,
    /// Depth of the product.
    pub k: u16,
}

impl MatrixShape {
    /// Parses `m8n8` or `m16n8k16`; `None` for anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
        let (n, k) = match rest.split_once('k') {
            Some((n, k)) => (n, extent(k)?),
            None => (rest, 0),
        };
        Some(Self {
            m: extent(m)?,
            n: extent(n)?,
            k,
        })
    }
}

/// Parses a positive number in its canonical spelling, so that printing reproduces the text.
fn extent(text: &str) -> Option<u16> {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| canonical)
}

impl fmt::Display for MatrixShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}n{}", self.m, self.n)?;
        if self.k > 0 {
            write!(f, "k{}", self.k)
        } else {
            Ok(())
        }
    }
}

impl Modifier {
    /// Looks up a modifier by its spelling without the leading dot.
    pub fn from_text(text: &str) -> Option<Self> {
        if let Some(ty) = ScalarType::from_text(text) {
            return Some(Self::Type(ty));
        }
        if let Some(plain) = Plain::from_text(text) {
            return Some(Self::PLAIN[plain as usize]);
        }
        if let Some(space) = Space::from_text(text) {
            return Some(Self::Space(space));
        }
        MatrixShape::from_text(text).map(Self::Shape)
    }

    /// Scalar type, if the modifier is one.
    pub const fn scalar_type(self) -> Option<ScalarType> {
        match self {
            Self::Type(ty) => Some(ty),
            _ => None,
        }
    }

    /// State space, if the modifier is one. `.shared::cta` and `.shared::cluster` count as shared,
    /// `.param::entry` and `.param::func` as parameters.
    pub const fn space(self) -> Option<Space> {
        match self {
            Self::Space(space) => Some(space),
            Self::SharedCta | Self::SharedCluster => Some(Space::Shared),
            Self::ParamEntry | Self::ParamFunc => Some(Space::Param),
            _ => None,
        }
    }

    /// Number of elements of `.v2`, `.v4` or `.v8`.
    pub const fn vector_len(self) -> Option<u32> {
        match self {
            Self::V2 => Some(2),
            Self::V4 => Some(4),
            Self::V8 => Some(8),
            _ => None,
        }
    }
}

/// Prints the spelling with its leading dot.
impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.plain_text(), self) {
            (Some(text), _) => write!(f, ".{text}"),
            (None, Self::Type(ty)) => write!(f, ".{ty}"),
            (None, Self::Space(space)) => write!(f, ".{space}"),
            (None, Self::Shape(shape)) => write!(f, ".{shape}"),
            (None, _) => unreachable!("every other modifier has a spelling in the table"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MatrixShape, Modifier, ScalarType, Space};

    fn check(modifier: Modifier) {
        let text = modifier.to_string();
        assert_eq!(Modifier::from_text(&text[1..]), Some(modifier), "{text}");
    }

    #[test]
    fn every_spelling_finds_its_modifier() {
        Modifier::PLAIN.iter().copied().for_each(check);
        ScalarType::ALL
            .iter()
            .copied()
            .map(Modifier::Type)
            .for_each(check);
        Space::ALL
            .iter()
            .copied()
            .map(Modifier::Space)
            .for_each(check);
        check(Modifier::Shape(MatrixShape {
            m: 64,
            n: 256,
            k: 16,
        }));
        check(Modifier::Shape(MatrixShape { m: 8, n: 8, k: 0 }));
    }

    #[test]
    fn strangers_are_refused() {
        for text in [
            "",
            "s33",
            "rnn",
            "m8",
            "m8n",
            "m08n8",
            "m8n8k",
            "m8n8k0",
            "m99999n8k8",
            "+1",
        ] {
            assert_eq!(Modifier::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn helpers_see_through_qualifiers() {
        assert_eq!(Modifier::SharedCta.space(), Some(Space::Shared));
        assert_eq!(Modifier::V4.vector_len(), Some(4));
        assert_eq!(Modifier::Rn.scalar_type(), None);
        assert_eq!(
            Modifier::Type(ScalarType::F16).scalar_type(),
            Some(ScalarType::F16)
        );
    }
}
