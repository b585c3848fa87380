//! Counts lines that several blocks access while a program executes without timing (Chen 2016, Fig.
//! 2.2: adjacent blocks, or blocks one row of the grid apart).

use warploom_base::lanes_of;
use warploom_exec::{Effect, LaunchContext, MemKind, Observer, StepOut};
use warploom_ir::MemSpace;
use warploom_stats::result::Sharing;

/// Size of a line in bytes. L1D has lines of this size in every machine of the papers.
const LINE_BYTES: u64 = 128;

/// Counts over all launches of a program.
#[derive(Debug, Default)]
pub(crate) struct BlockSharing {
    total: Sharing,
    /// Numbers of the lines that each block of the current launch accesses. They are sorted once
    /// the block has ended.
    lines: Vec<Vec<u64>>,
}

impl BlockSharing {
    pub fn counts(self) -> Sharing {
        self.total
    }
}

impl Observer for BlockSharing {
    fn begin(&mut self, launch: &LaunchContext) {
        self.lines.clear();
        self.lines
            .resize(launch.grid().count() as usize, Vec::new());
    }

    fn follows_all(&self) -> bool {
        false
    }

    fn stepped(&mut self, block: u64, _: u32, out: &StepOut) {
        let Effect::Memory(effect) = out.effect else {
            return;
        };
        if effect.space != MemSpace::Global || effect.kind == MemKind::Texture {
            return;
        }
        let lines = &mut self.lines[block as usize];
        let mut last = None;
        for lane in lanes_of(out.active) {
            let line = out.addrs[lane] / LINE_BYTES;
            if last != Some(line) {
                make_room(lines);
                lines.push(line);
                last = Some(line);
            }
        }
    }

    fn block_ended(&mut self, _: &LaunchContext, block: u64) {
        let lines = &mut self.lines[block as usize];
        lines.sort_unstable();
        lines.dedup();
        lines.shrink_to_fit();
    }

    fn end(&mut self, launch: &LaunchContext) {
        let grid = launch.grid();
        let row = if grid.x > 1 { grid.x as usize } else { 0 };
        add(&mut self.total, &count(&self.lines, row));
        self.lines.clear();
    }
}

/// Removes duplicates before a list grows.
fn make_room(lines: &mut Vec<u64>) {
    if lines.len() < lines.capacity() || lines.len() < 1024 {
        return;
    }
    lines.sort_unstable();
    lines.dedup();
    lines.reserve(lines.capacity() / 2);
}

fn add(total: &mut Sharing, more: &Sharing) {
    total.lines += more.lines;
    total.shared += more.shared;
    total.with_next += more.with_next;
    total.with_below += more.with_below;
    total.far += more.far;
}

/// Counts for one launch from its blocks' lines. `row` blocks make a row, 0 if there are no rows.
fn count(blocks: &[Vec<u64>], row: usize) -> Sharing {
    let mut all: Vec<u64> = blocks.iter().flatten().copied().collect();
    all.sort_unstable();
    let shared: Vec<u64> = all
        .chunk_by(|a, b| a == b)
        .filter(|same| same.len() > 1)
        .map(|same| same[0])
        .collect();
    let mut counts = Sharing {
        lines: all.len() as u64,
        ..Sharing::default()
    };
    let touches = |block: Option<usize>, line: &u64| {
        let lines = block.and_then(|block| blocks.get(block));
        lines.is_some_and(|lines| lines.binary_search(line).is_ok())
    };
    for (rank, lines) in blocks.iter().enumerate() {
        let below = (row > 0).then_some(rank + row);
        let above = (row > 0).then(|| rank.checked_sub(row)).flatten();
        for line in lines {
            if shared.binary_search(line).is_err() {
                continue;
            }
            let (next, down) = (touches(Some(rank + 1), line), touches(below, line));
            let near = next || down || touches(rank.checked_sub(1), line) || touches(above, line);
            counts.shared += 1;
            counts.with_next += u64::from(next);
            counts.with_below += u64::from(down);
            counts.far += u64::from(!near);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four blocks in two rows of two. Blocks 0 and 1 share line 7, 0 and 2 share line 8, 1 and 2
    /// (adjacent in order, across the rows' end) line 9, 0 and 3 line 5. Line 1 is used by block 0
    /// alone.
    #[test]
    fn lines_are_counted_by_how_far_their_blocks_lie_apart() {
        let blocks = [vec![1, 5, 7, 8], vec![7, 9], vec![8, 9], vec![5]];
        let counts = count(&blocks, 2);
        let expected = Sharing {
            lines: 9,
            shared: 8,
            with_next: 2,
            with_below: 1,
            far: 2,
        };
        assert_eq!(counts, expected);
        // Without rows no block is below another, and blocks 0 and 2 are far apart.
        let flat = count(&blocks, 0);
        assert_eq!((flat.with_below, flat.far), (0, 4));
    }
}
