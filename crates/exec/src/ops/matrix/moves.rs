//! Moves of matrices of 8 by 8 elements of 16 bits between shared memory and the lanes of a warp:
//! `ldmatrix`, `stmatrix`, `movmatrix`.

use crate::fault::FaultKind;
use crate::inst::{Exec, InstExec};
use crate::memory::effect::MemKind;
use crate::ops::access::Access;
use crate::ops::tile::EIGHT;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, MemSpace};

/// Bytes of a row of a matrix.
const ROW: usize = 2 * EIGHT;

/// Rows of four matrices.
type Rows = [[u8; ROW]; WARP_SIZE];

impl InstExec<'_, '_> {
    /// Computes and checks the addresses of the rows of `count` matrices. Lanes without a row are
    /// given the address of another lane, so that they cause no memory traffic. Returns the active
    /// lanes that have a row.
    fn rows(&mut self, space: MemSpace, kind: MemKind, count: usize) -> Exec<LaneMask> {
        let rows = count * EIGHT;
        if !(1..=WARP_SIZE).contains(&rows) {
            return Err(self.illegal());
        }
        self.addresses();
        let access = Access {
            space,
            kind,
            bytes: ROW,
            align: ROW as u64,
        };
        for lane in rows..WARP_SIZE {
            self.out.addrs[lane] = self.out.addrs[lane % rows];
        }
        if space == MemSpace::Generic {
            self.only_shared(access)?;
        }
        let access = access.within(MemSpace::Shared);
        let lanes = self.mask & LaneMask::MAX >> (WARP_SIZE - rows);
        if !self.plain_shared(&self.span(access), access) {
            for lane in lanes_of(lanes) {
                self.check(access, lane)?;
                self.look_for_uninitialised_if_load(access, lane);
            }
            self.look_for_races(access, lanes);
        }
        self.memory_effect(access, CacheOp::Default, kind == MemKind::Load);
        Ok(lanes)
    }

    /// Records a finding if a lane loads uninitialised bytes.
    fn look_for_uninitialised_if_load(&mut self, access: Access, lane: usize) {
        if access.kind == MemKind::Load {
            self.look_for_uninitialised(access, lane);
        }
    }

    /// Converts generic addresses to addresses of shared memory. Other addresses are faults.
    pub(crate) fn only_shared(&mut self, access: Access) -> Exec {
        let groups = self.split_spaces(access)?;
        let mut strays = groups
            .iter()
            .filter(|(space, _)| *space != MemSpace::Shared);
        match strays.find(|(_, lanes)| *lanes != 0) {
            None => Ok(()),
            Some((_, lanes)) => {
                let lane = lanes.trailing_zeros() as usize;
                Err(self.memory_fault(FaultKind::NoStateSpace, access, lane))
            }
        }
    }

    /// Executes the instruction `ldmatrix`.
    pub fn load_matrix(&mut self, space: MemSpace, turned: bool) -> Exec {
        let dsts = &self.extra_operands()?.dsts;
        let lanes = self.rows(space, MemKind::Load, dsts.len())?;
        let mut rows: Rows = [[0; ROW]; WARP_SIZE];
        for lane in lanes_of(lanes) {
            let at = self.out.addrs[lane] as usize;
            rows[lane].copy_from_slice(&self.block.shared[at..at + ROW]);
        }
        for (&dst, matrix) in dsts.iter().zip(rows.as_chunks::<EIGHT>().0) {
            let words = words_of(matrix);
            let words = if turned { transposed(&words) } else { words };
            self.write_reg(dst, &words);
        }
        Ok(())
    }

    /// Executes the instruction `stmatrix`.
    pub fn store_matrix(&mut self, space: MemSpace, turned: bool) -> Exec {
        let srcs = &self.extra_operands()?.srcs;
        let lanes = self.rows(space, MemKind::Store, srcs.len())?;
        let mut rows: Rows = [[0; ROW]; WARP_SIZE];
        for (&src, matrix) in srcs.iter().zip(rows.as_chunks_mut::<EIGHT>().0) {
            let words = self.lanes_of_word(src);
            let words = if turned { transposed(&words) } else { words };
            let bytes = matrix.as_flattened_mut().as_chunks_mut::<4>().0;
            for (bytes, word) in bytes.iter_mut().zip(words) {
                *bytes = word.to_le_bytes();
            }
        }
        for lane in lanes_of(lanes) {
            self.write_lane(MemSpace::Shared, lane, self.out.addrs[lane], &rows[lane]);
        }
        Ok(())
    }

    /// Executes `movmatrix`: transposes a matrix of 8 by 8.
    pub fn turn_matrix(&mut self) -> Exec {
        let value = transposed(self.src::<u32>(0));
        self.write_result(&value);
        Ok(())
    }
}

/// A matrix as the lanes hold it: the words of its rows one after the other.
fn words_of(matrix: &[[u8; ROW]; EIGHT]) -> [u32; WARP_SIZE] {
    let mut words = [0; WARP_SIZE];
    let bytes = matrix.as_flattened().as_chunks::<4>().0;
    for (word, bytes) in words.iter_mut().zip(bytes) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// The transposed matrix, as the lanes hold it.
fn transposed(words: &[u32; WARP_SIZE]) -> [u32; WARP_SIZE] {
    let mut halves = [[0; EIGHT]; EIGHT];
    for (row, words) in words.as_chunks::<{ EIGHT / 2 }>().0.iter().enumerate() {
        for (pair, word) in words.iter().enumerate() {
            halves[2 * pair][row] = word & 0xffff;
            halves[2 * pair + 1][row] = word >> 16;
        }
    }
    let mut turned = [0; WARP_SIZE];
    let pairs = halves.as_flattened().as_chunks::<2>().0;
    for (word, [low, high]) in turned.iter_mut().zip(pairs) {
        *word = high << 16 | low;
    }
    turned
}
