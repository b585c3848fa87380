//! Tests of bulk copies of tensors (`cp.async.bulk.tensor`) against loops over the elements of a
//! box, for random tensors, boxes and coordinates.

use super::*;
use warploom_ir::tensor_map::{ElementType, Im2col, TensorMap};

/// Bytes of the input before the tensor: the tensor map, then the coordinates.
const HEAD: usize = 1024;
/// Bytes of the box in shared memory at most.
const TILE: usize = 16 << 10;

/// A copy of a box.
#[derive(Clone, Debug)]
struct Case {
    map: TensorMap,
    first: [i32; 5],
}

impl Case {
    fn draw(rng: &mut Rng) -> Self {
        let mut pick = |low: u32, high: u32| low + rng.below(high - low + 1);
        let rank = pick(1, 5) as usize;
        let ty = ElementType::ALL[pick(0, 12) as usize];
        let size = ty.bytes() as u32;
        let swizzle = [16, 32, 64, 128][pick(0, 3) as usize];
        let mut map = TensorMap {
            address: 0,
            rank,
            dims: [0; 5],
            strides: [0; 4],
            box_dims: [1; 5],
            element_strides: [1; 5],
            ty,
            swizzle: swizzle.into(),
            nan_fill: pick(0, 1) == 1,
            im2col: None,
        };
        // Rows of whole chunks of 16 bytes, as long as the pattern's at most.
        let chunks = match swizzle {
            16 => pick(1, 6),
            // Rows as long as the pattern, as programs have them.
            span => span / 16,
        };
        map.box_dims[0] = (chunks * 16 / size).min(256);
        map.element_strides[0] = if map.box_dims[0] <= 64 { pick(1, 2) } else { 1 };
        map.box_dims[0] *= map.element_strides[0];
        let most = [0, 9, 5, 3, 3];
        for (nth, most) in most.into_iter().enumerate().skip(1) {
            map.box_dims[nth] = pick(1, most);
            map.element_strides[nth] = pick(1, 2);
        }
        let mut stride = 0;
        for nth in 0..rank {
            map.dims[nth] = pick(1, map.box_dims[nth] + 3).min(if nth > 2 { 3 } else { 40 });
            stride = match nth {
                0 => u64::from(map.dims[0] * size).next_multiple_of(16),
                _ => stride * u64::from(map.dims[nth]) + 16 * u64::from(pick(0, 1)),
            };
            if nth < 4 {
                map.strides[nth] = stride;
            }
        }
        let first = std::array::from_fn(|nth| {
            if nth < rank {
                pick(0, map.dims[nth] + 2) as i32 - 2
            } else {
                0
            }
        });
        Self { map, first }
    }

    /// Bytes that the tensor takes.
    fn extent(&self) -> usize {
        let map = &self.map;
        let mut bytes = (map.dims[0] as usize - 1) * map.ty.bytes() + map.ty.bytes();
        for nth in 1..map.rank {
            bytes += (map.dims[nth] as usize - 1) * map.strides[nth - 1] as usize;
        }
        bytes.next_multiple_of(16)
    }

    /// Calls `f` with each element of the box: its place in shared memory, and its place in the
    /// tensor if it lies there.
    fn each(&self, mut f: impl FnMut(usize, Option<usize>)) {
        let map = &self.map;
        let counts: Vec<usize> = (0..map.rank)
            .map(|nth| map.box_dims[nth].div_ceil(map.element_strides[nth]) as usize)
            .collect();
        let size = map.ty.bytes();
        for number in 0..counts.iter().product() {
            let (mut left, mut far, mut inside) = (number, 0, true);
            for (nth, count) in counts.iter().enumerate() {
                let at = self.first[nth] + (left % count) as i32 * map.element_strides[nth] as i32;
                left /= count;
                inside &= at >= 0 && at < map.dims[nth] as i32;
                let step = if nth == 0 {
                    size as u64
                } else {
                    map.strides[nth - 1]
                };
                far += i64::from(at) * step as i64;
            }
            let linear = number * size;
            // Rows of 128 bytes of the tile, whose chunks are permuted by the row's number.
            let (row, chunk) = (linear / 128, linear % 128 / 16);
            let moved = match map.swizzle {
                128 => chunk ^ (row % 8),
                64 => chunk ^ (row % 4),
                32 => chunk ^ (row % 2),
                _ => chunk,
            };
            let near = row * 128 + moved * 16 + linear % 16;
            f(near, inside.then_some(far as usize));
        }
    }

    /// Input of the kernel: tensor map, coordinates, and `data`.
    fn input(&self, data: &[u8]) -> Vec<u32> {
        let mut bytes = self.map.to_bytes().to_vec();
        bytes.extend(self.first.iter().flat_map(|at| at.to_le_bytes()));
        bytes.resize(HEAD, 0);
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let words = bytes.as_chunks().0.iter();
        words
            .map(|word: &[u8; 4]| u32::from_le_bytes(*word))
            .collect()
    }

    /// Kernel with the tensor at the address in `tensor`. `start` and `end` run in all threads,
    /// `copy` in the first one.
    fn kernel(&self, tensor: &str, start: &str, copy: &str, end: &str) -> String {
        let coordinates: Vec<String> = (0..self.map.rank).map(|nth| format!("%c{nth}")).collect();
        let copy = copy
            .replace("RANK", &format!("{}d", self.map.rank))
            .replace("COORDINATES", &coordinates.join(", "));
        let load = |nth: usize| format!("ld.global.b32 %c{nth}, [%in+{}];\n", 128 + 4 * nth);
        let loads: String = (0..5).map(load).collect();
        format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b32 %c<5>, %t<6>; .reg .b64 %in, %out, %a<4>; .reg .pred %p<3>;\n\
             .shared .align 1024 .b8 tile[{TILE}];\n.shared .align 8 .b64 bar;\n\
             ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n{loads}\
             mov.u32 %t0, %tid.x;\nsetp.eq.u32 %p0, %t0, 0;\n\
             @%p0 mbarrier.init.shared::cta.b64 [bar], 1;\n\
             add.u64 %a0, %in, {HEAD};\n\
             @%p0 tensormap.replace.tile.global_address.global.b1024.b64 [%in], {tensor};\n\
             fence.proxy.tensormap::generic.acquire.gpu [%in], 128;\n\
             shl.b32 %t1, %t0, 2;\ncvt.u64.u32 %a1, %t1;\nmov.u32 %t2, tile;\n\
             add.u32 %t2, %t2, %t1;\n{start}\
             fence.proxy.async.shared::cta;\nbar.sync 0;\n{copy}{end}ret;\n}}\n"
        )
    }
}

/// Loop of all threads over the words of the tile, which moves each by `body`.
fn loop_of_words(label: &str, bytes: usize, body: &str) -> String {
    let turns = bytes.div_ceil(128);
    format!(
        "mov.u32 %t3, 0;\n{label}:\n{body}\
         add.u64 %a1, %a1, 128;\nadd.u32 %t2, %t2, 128;\nadd.u32 %t3, %t3, 1;\n\
         setp.lt.u32 %p1, %t3, {turns};\n@%p1 bra {label};\n"
    )
}

#[test]
fn boxes_are_loaded() {
    let mut rng = Rng::new(7);
    for _ in 0..60 {
        let case = Case::draw(&mut rng);
        let bytes = case.map.box_bytes();
        assert!(bytes <= TILE, "{case:?}");
        let data: Vec<u8> = (0..case.extent())
            .map(|_| rng.below(255) as u8 + 1)
            .collect();
        let wait = format!(
            "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes};\n\
             @%p0 cp.async.bulk.tensor.RANK.shared::cta.global.tile.mbarrier::complete_tx::bytes \
             [tile], [%in, {{COORDINATES}}], [bar];\n\
             WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\n"
        );
        let dump = loop_of_words(
            "DUMP",
            bytes,
            "ld.shared.b32 %t4, [%t2];\nadd.u64 %a2, %out, %a1;\nst.global.b32 [%a2], %t4;\n",
        );
        let kernel = case.kernel("%a0", "", &wait, &dump);
        let words = bytes.div_ceil(128) * 32;
        let output = run_block(&kernel, 32, &case.input(&data), words);
        let found: Vec<u8> = output.iter().flat_map(|word| word.to_le_bytes()).collect();
        let size = case.map.ty.bytes();
        let fill = if case.map.nan_fill {
            nan(case.map.ty)
        } else {
            vec![0; size]
        };
        case.each(|near, far| {
            let wanted = far.map_or(&fill[..], |far| &data[far..far + size]);
            assert_eq!(
                &found[near..near + size],
                wanted,
                "{case:?} at {near} from {far:?}"
            );
        });
    }
}

/// Pixels of images, as a convolution reads them, for random filters, paddings and strides: output
/// pixel (x, y) of image n and filter place (r, s) need input pixel (x * stride - pad + r, ...).
#[test]
fn pixels_are_loaded() {
    let mut rng = Rng::new(9);
    for _ in 0..40 {
        let mut pick = |low: u32, high: u32| low + rng.below(high - low + 1);
        let (width, height, images) = (pick(3, 9), pick(3, 7), pick(1, 3));
        let (filter, pad, stride) = (pick(1, 3), pick(0, 1), pick(1, 2));
        let (channels, skipped) = (8 * pick(1, 2), 8 * pick(0, 1));
        let all = channels + skipped + 8;
        let line = u64::from(all * 2);
        let (w, h) = (u64::from(width), u64::from(height));
        let corner = [pad as i16 - (filter as i16 - 1); 3];
        let pixels = pick(1, 40);
        let map = TensorMap {
            address: 0,
            rank: 4,
            dims: [all, width, height, images, 0],
            strides: [line, line * w, line * w * h, 0],
            box_dims: [0; 5],
            element_strides: [1, stride, stride, 1, 0],
            ty: ElementType::F16,
            swizzle: 16,
            nan_fill: false,
            im2col: Some(Im2col {
                channels,
                pixels,
                lower: [-(pad as i16); 3],
                upper: corner,
            }),
        };
        let of = |size: u32| ((size + 2 * pad - filter) / stride + 1) as i32;
        let (columns, rows) = (of(width), of(height));
        // The first pixel, by its number among all of the output.
        let first = pick(0, (columns * rows) as u32 - 1) as i32;
        let at = |out: i32| out * stride as i32 - pad as i32;
        let (x, y) = (at(first % columns), at(first / columns));
        let case = Case {
            map,
            first: [skipped as i32, x, y, 0, 0],
        };
        let (r, s) = (pick(0, filter - 1) as i32, pick(0, filter - 1) as i32);
        let data: Vec<u8> = (0..case.extent()).map(|_| pick(1, 255) as u8).collect();
        let bytes = case.map.box_bytes();
        let wait = format!(
            "mov.u16 %o0, {r};\nmov.u16 %o1, {s};\n\
             @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes};\n\
             @%p0 cp.async.bulk.tensor.RANK.shared::cta.global.im2col.mbarrier::complete_tx::bytes \
             [tile], [%in, {{COORDINATES}}], [bar], {{%o0, %o1}};\n\
             WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\n"
        );
        let dump = loop_of_words(
            "DUMP",
            bytes,
            "ld.shared.b32 %t4, [%t2];\nadd.u64 %a2, %out, %a1;\nst.global.b32 [%a2], %t4;\n",
        );
        let kernel = case.kernel("%a0", ".reg .b16 %o<2>;\n", &wait, &dump);
        let output = run_block(&kernel, 32, &case.input(&data), bytes.div_ceil(128) * 32);
        let found: Vec<u8> = output.iter().flat_map(|word| word.to_le_bytes()).collect();
        for pixel in 0..pixels as i32 {
            let number = first + pixel;
            let (x, y) = (at(number % columns) + r, at(number / columns % rows) + s);
            let image = number / (columns * rows);
            let inside = (0..width as i32).contains(&x)
                && (0..height as i32).contains(&y)
                && image < images as i32;
            let at = [image, y, x].map(|at| at.max(0) as u64);
            let from = ((at[0] * h + at[1]) * w + at[2]) * line;
            for byte in 0..2 * channels as usize {
                let far = from as usize + 2 * skipped as usize + byte;
                let wanted = if inside { data[far] } else { 0 };
                let near = pixel as usize * 2 * channels as usize + byte;
                assert_eq!(found[near], wanted, "{case:?}: pixel {pixel}, byte {byte}");
            }
        }
    }
}

/// Bytes of the NaN with which elements outside are filled.
fn nan(ty: ElementType) -> Vec<u8> {
    match ty {
        ElementType::F16 | ElementType::Bf16 => vec![0xff, 0x7f],
        ElementType::F32 | ElementType::F32Ftz | ElementType::Tf32 | ElementType::Tf32Ftz => {
            vec![0xff, 0xff, 0xff, 0x7f]
        }
        ElementType::F64 => [vec![0xff; 7], vec![0x7f]].concat(),
        other => vec![0; other.bytes()],
    }
}

/// Elements outside of the tensor are not written; a reduction adds twice.
#[test]
fn boxes_are_stored_and_added() {
    let mut rng = Rng::new(8);
    for nth in 0..40 {
        let mut case = Case::draw(&mut rng);
        let adds = nth % 2 == 1;
        if adds {
            (case.map.ty, case.map.swizzle) = (ElementType::U32, 128);
            case.map.box_dims[0] = 32 * case.map.element_strides[0];
            case.map.dims[0] = case.map.dims[0].min(case.map.strides[0] as u32 / 4);
        }
        let bytes = case.map.box_bytes();
        let tile: Vec<u8> = (0..TILE).map(|_| rng.below(100) as u8 + 1).collect();
        let fill = loop_of_words(
            "FILL",
            bytes,
            "add.u64 %a2, %a0, %a1;\nld.global.b32 %t4, [%a2];\nst.shared.b32 [%t2], %t4;\n",
        );
        let copy = match adds {
            false => "cp.async.bulk.tensor.RANK.global.shared::cta.tile.bulk_group",
            true => "cp.reduce.async.bulk.tensor.RANK.global.shared::cta.add.tile.bulk_group",
        };
        let copy = format!("@%p0 {copy} [%in, {{COORDINATES}}], [tile];\n");
        let copies = copy.repeat(1 + usize::from(adds))
            + "@%p0 cp.async.bulk.commit_group;\n@%p0 cp.async.bulk.wait_group 0;\n";
        let kernel = case.kernel("%out", &fill, &copies, "");
        let words = case.extent().div_ceil(4);
        let output = run_block(&kernel, 32, &case.input(&tile), words);
        let found: Vec<u8> = output.iter().flat_map(|word| word.to_le_bytes()).collect();
        let size = case.map.ty.bytes();
        let mut wanted = vec![0; found.len()];
        case.each(|near, far| {
            let Some(far) = far else {
                return;
            };
            let element = &tile[near..near + size];
            if adds {
                let value = u32::from_le_bytes([element[0], element[1], element[2], element[3]]);
                wanted[far..far + 4].copy_from_slice(&(2 * value).to_le_bytes());
            } else {
                wanted[far..far + size].copy_from_slice(element);
            }
        });
        assert_eq!(found, wanted, "{case:?}");
    }
}
