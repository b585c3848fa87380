//! `mummergpu`: matches of short reads in a genome by its suffix tree.

mod genome;
mod layout;
mod tree;

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_zeroed, load};
use tree::{Place, ROOT, SuffixTree};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "mummergpu",
    suite: Suite::Ispass2009,
    sentence: "Longest matches of DNA reads in a genome, down its suffix tree through textures.",
    source: "ISPASS-2009 benchmarks, MUM (M. Schatz et al., 2007); MUMmerGPU in Do et al. 2017, MUM in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: KERNEL,
        sentence: "Follows one read's characters and suffix links through the tree.",
        entries: &[KERNEL],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "25 characters a read; at size paper 50,000 reads against 1.4 million characters.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const KERNEL: &str = "match_queries";
const BLOCK: u32 = 256;
/// Number of characters of a read.
const READ: usize = 25;
/// Length of the shortest match that is reported.
const MIN_LENGTH: usize = 20;
/// Number of matches of a read: one for each position from which a match can be long enough.
const POSITIONS: usize = READ - MIN_LENGTH + 1;
/// Number of characters of the benchmark's reference, the first 19,999 lines of a chromosome.
const REFERENCE: usize = 19_999 * 70;
/// Number of characters of the chromosome from which the reads come.
const CHROMOSOME: usize = 5_227_293;

/// Number of characters of the reference, and number of reads.
fn extents(size: Size) -> (usize, usize) {
    size.pick((3_000, 500), (20_000, 8_000), (REFERENCE, 50_000))
}

/// Number of characters of the genome whose first part is the reference.
fn genome_length(characters: usize) -> usize {
    characters * CHROMOSOME / REFERENCE
}

fn shape(size: Size) -> LaunchShape {
    let blocks = extents(size).1.div_ceil(BLOCK as usize);
    LaunchShape::once(KERNEL, Dim3::linear(blocks as u32), Dim3::linear(BLOCK))
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, seed))
}

fn plan(device: &mut Device, size: Size, seed: u64) -> Result<Plan, HostError> {
    let (characters, count) = extents(size);
    let mut rng = Rng::new(seed);
    let genome = genome::genome(genome_length(characters), &mut rng);
    let reads = genome::reads(&genome, count, READ, &mut rng);
    let tree = SuffixTree::new(&genome[..characters]);
    let module = load(device, &WORKLOAD)?;
    let stored = store(&reads);
    let starts: Vec<_> = (0..count).map(|read| (read * (READ + 2)) as i32).collect();
    let matches_ptr = alloc_zeroed::<u32>(device, 2 * POSITIONS * count)?;
    let queries = [
        device.alloc_slice(&stored)?,
        device.alloc_slice(&starts)?,
        device.alloc_slice(&vec![READ as i32; count])?,
    ];
    let textures = [
        layout::nodes(device, &tree.records())?,
        layout::nodes(device, &tree.child_lists())?,
        layout::characters(device, tree.text())?,
    ];
    let mut args = vec![Arg::Pointer(matches_ptr)];
    args.extend(queries.map(Arg::Pointer));
    args.extend([count as u32, MIN_LENGTH as u32, layout::texel(ROOT)].map(Arg::U32));
    args.extend(textures.map(Arg::U64));
    let launch = shape(size).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let expected = reference(&tree, &reads);
        let matches = device.output(matches_ptr, expected.len())?;
        Ok(vec![equal("matches", &matches, &expected)])
    }))
}

/// All reads, each with a mark before it and a 0 after it.
fn store(reads: &[Vec<u8>]) -> Vec<u8> {
    let marked = |read: &Vec<u8>| [b"q", &read[..], &[0]].concat();
    reads.iter().flat_map(marked).collect()
}

/// Node, and characters on its edge, of the longest match of every position; zeros if it is too
/// short.
fn reference(tree: &SuffixTree, reads: &[Vec<u8>]) -> Vec<u32> {
    let of_position = |read: &[u8]| match tree.longest(read) {
        (Place { node, on_edge }, length) if length >= MIN_LENGTH => [layout::texel(node), on_edge],
        _ => [0; 2],
    };
    let of_read = |read: &Vec<u8>| {
        let places = (0..POSITIONS).map(|start| of_position(&read[start..]));
        places.collect::<Vec<_>>().concat()
    };
    reads.iter().flat_map(of_read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_196_blocks_with_a_guarded_tail() {
        assert_eq!(shape(Size::Paper).grid, Dim3::linear(196));
        for size in Size::ALL {
            assert!(!extents(size).1.is_multiple_of(BLOCK as usize));
        }
    }

    #[test]
    fn some_reads_match_and_most_do_not() {
        let (characters, count) = extents(Size::Small);
        let mut rng = Rng::new(1);
        let genome = genome::genome(genome_length(characters), &mut rng);
        let reads = genome::reads(&genome, count, READ, &mut rng);
        let matches = reference(&SuffixTree::new(&genome[..characters]), &reads);
        let hits = matches.chunks(2).filter(|found| found[0] != 0).count();
        let share = hits as f64 / (matches.len() / 2) as f64;
        // The benchmark's reads have 26.9%, measured on its files: the reference's share of the
        // chromosome.
        assert!((0.24..0.3).contains(&share), "{share}");
    }
}
