//! Profiles of Warped-Slicer: which SM runs how many blocks of which kernel, and the curves that
//! follow from the samples (Xu et al., ISCA 2016, section IV.A, equations 3 and 4). The kernels of
//! a profile are its members, and a post is an SM that samples one of them.

use super::quotas::share_of_sms;
use super::{KernelView, MultiprogramView, SmSample};
use warploom_base::{Cycle, KernelSlot};
use warploom_config::{GpuSpec, PhiBase, SampleWeight, WarpedSlicerSettings};
use warploom_state::Value;

/// SM that samples a member.
#[derive(Clone, Copy, Debug, Value)]
struct Post {
    sm: usize,
    member: usize,
    /// Number of the SM among the member's SMs.
    nth: usize,
}

/// Result of a sample on one SM.
#[derive(Clone, Copy, Debug, Value)]
struct Taken {
    member: usize,
    blocks: u32,
    ipc: f64,
    /// Share of all scheduler cycles in which warps waited for memory or for its pipe.
    memory_of_all: f64,
    /// The same cycles, as a share of those in which a scheduler had warps and none issued.
    memory_of_stalls: f64,
    /// Flits received per cycle.
    bandwidth: f64,
}

/// Profile of some or all kernels in flight.
#[derive(Clone, Debug, Default, Value)]
pub struct Profile {
    /// Whether a member is sampled, by member.
    sampled: Vec<bool>,
    /// Number of a member's SMs, by member.
    sms: Vec<usize>,
    /// Most blocks of a member on an SM, by member.
    most: Vec<u32>,
    posts: Vec<Post>,
    round: u32,
    rounds: u32,
    began: Cycle,
    start: Vec<SmSample>,
    slots: Vec<KernelSlot>,
    /// Results of all rounds so far.
    taken: Vec<Taken>,
}

impl Profile {
    /// A profile of the members marked in `sampled`. Each samples on an equal part of the SMs.
    pub fn new(sampled: Vec<bool>, members: &[KernelView], spec: &GpuSpec) -> Self {
        let shares = (0..members.len()).map(|m| share_of_sms(spec.gpu.sms, m, members.len()));
        let shares: Vec<_> = shares.collect();
        let mut profile = Self {
            sms: shares.iter().map(ExactSizeIterator::len).collect(),
            most: members.iter().map(|k| k.blocks_per_sm.max(1)).collect(),
            sampled,
            ..Self::default()
        };
        for (member, share) in shares.into_iter().enumerate() {
            if profile.sampled[member] {
                let rounds = profile.most[member].div_ceil(share.len().max(1) as u32);
                profile.rounds = profile.rounds.max(rounds);
                let posts = share.enumerate().map(|(nth, sm)| Post { sm, member, nth });
                profile.posts.extend(posts);
            }
        }
        profile
    }

    /// True if a member is sampled.
    pub fn is_sampled(&self, member: usize) -> bool {
        self.sampled.get(member).copied().unwrap_or(false)
    }

    /// Number of blocks of a member on its `nth` SM in the current round. If the member has more
    /// SMs than numbers to sample, the further SMs begin again with 1. From round to round an SM's
    /// number never falls, because blocks are not evicted.
    pub fn blocks(&self, member: usize, nth: usize) -> u32 {
        let (sms, most) = (self.sms[member] as u32, self.most[member]);
        let nth = nth as u32;
        if sms >= most {
            return nth % most + 1;
        }
        let reached = (0..=self.round).map(|round| round * sms + nth + 1);
        reached.filter(|blocks| *blocks <= most).max().unwrap_or(1)
    }

    /// True if every sampling SM holds exactly the blocks that it has to sample.
    pub fn is_ready(&self, members: &[KernelView], view: &MultiprogramView<'_>) -> bool {
        self.posts.iter().all(|post| {
            let slot = members[post.member].slot.index();
            let blocks = &view.sms[post.sm].blocks;
            let wanted = self.blocks(post.member, post.nth);
            blocks[slot] == wanted && blocks.iter().sum::<u32>() == wanted
        })
    }

    /// Notes the counts at the beginning of a sample.
    pub fn begin(&mut self, members: &[KernelView], view: &MultiprogramView<'_>) {
        self.began = view.now;
        self.start = view.sms.to_vec();
        self.slots = members.iter().map(|kernel| kernel.slot).collect();
    }

    /// Adds the results of a sample that ends. Returns false, without results, if the kernels in
    /// flight are no longer those of its beginning.
    pub fn end(&mut self, members: &[KernelView], view: &MultiprogramView<'_>) -> bool {
        let slots = members.iter().map(|kernel| kernel.slot);
        if !slots.eq(self.slots.iter().copied()) {
            return false;
        }
        let posts = self.posts.iter();
        let taken: Vec<Taken> = posts.filter_map(|p| self.take(p, members, view)).collect();
        self.taken.extend(taken);
        true
    }

    /// Result of an SM, if it held blocks of its member only when the sample began: as many as it
    /// has to sample, or fewer if their number did not change. In a sample that began before all
    /// SMs were ready, some SMs still held other blocks.
    fn take(
        &self,
        post: &Post,
        members: &[KernelView],
        view: &MultiprogramView<'_>,
    ) -> Option<Taken> {
        let slot = members[post.member].slot.index();
        let (start, end) = (&self.start[post.sm], &view.sms[post.sm]);
        let (blocks, wanted) = (start.blocks[slot], self.blocks(post.member, post.nth));
        let alone = start.blocks.iter().sum::<u32>() == blocks;
        let stays = blocks == wanted || blocks < wanted && end.blocks[slot] == blocks;
        let cycles = (view.now - self.began).max(1) as f64;
        let since = |of: fn(&SmSample) -> u64| (of(end) - of(start)) as f64;
        let memory = since(|sm| sm.memory_slots);
        (alone && stays && blocks > 0).then(|| Taken {
            member: post.member,
            blocks,
            ipc: (end.instructions[slot] - start.instructions[slot]) as f64 / cycles,
            memory_of_all: memory / since(|sm| sm.slots).max(1.0),
            memory_of_stalls: memory / since(|sm| sm.stalled_slots).max(1.0),
            bandwidth: since(|sm| sm.flits_received) / cycles,
        })
    }

    /// Advances to the next round. Returns whether there is one.
    pub fn next_round(&mut self) -> bool {
        self.round += 1;
        self.round < self.rounds
    }

    /// IPC of a member with 1, 2, ... up to `most` blocks on an SM, interpolated linearly where
    /// samples are missing. `None` without any sample.
    pub fn curve(
        &self,
        member: usize,
        most: u32,
        settings: &WarpedSlicerSettings,
    ) -> Option<Vec<f64>> {
        let means = Means::of(&self.taken);
        let mut points = vec![(0.0, 0_u32); most.max(1) as usize];
        let own = self.taken.iter().filter(|taken| taken.member == member);
        for taken in own.filter(|taken| taken.blocks <= most) {
            let (ipc, samples) = &mut points[taken.blocks as usize - 1];
            *ipc += taken.scaled(&means, settings);
            *samples += 1;
        }
        let average =
            |&(ipc, samples): &(f64, u32)| (samples > 0).then(|| ipc / f64::from(samples));
        let points: Vec<Option<f64>> = points.iter().map(average).collect();
        points.iter().any(Option::is_some).then(|| filled(&points))
    }

    /// True if a member has SMs. With more kernels than SMs, some members have none.
    pub fn has_sms(&self, member: usize) -> bool {
        self.sms[member] > 0
    }
}

/// Means over all results of all rounds, which together give one curve.
#[derive(Clone, Copy, Debug)]
struct Means {
    blocks: f64,
    bandwidth: f64,
}

impl Means {
    fn of(taken: &[Taken]) -> Self {
        let count = taken.len().max(1) as f64;
        Self {
            blocks: taken.iter().map(|t| f64::from(t.blocks)).sum::<f64>() / count,
            bandwidth: taken.iter().map(|t| t.bandwidth).sum::<f64>() / count,
        }
    }
}

impl Taken {
    /// Equation 3: the IPC that the SM would have if every SM held the same number of blocks, and
    /// so received the same bandwidth.
    fn scaled(&self, means: &Means, settings: &WarpedSlicerSettings) -> f64 {
        let phi = match settings.phi {
            PhiBase::Stalls => self.memory_of_stalls,
            PhiBase::Cycles => self.memory_of_all,
        };
        self.ipc * (1.0 + phi * self.psi(means, settings.weight))
    }

    /// Psi of equation 3. By bandwidth: an SM that received less than the mean requested no more,
    /// so it would receive the same among SMs like itself. By blocks: the paper's equation 4
    /// divides the blocks by their mean. The inverse follows if an SM's bandwidth in the sample is
    /// proportional to its blocks, and all SMs would have the same bandwidth with equal blocks.
    fn psi(&self, means: &Means, weight: SampleWeight) -> f64 {
        let blocks = f64::from(self.blocks);
        match weight {
            SampleWeight::Bandwidth if self.bandwidth > means.bandwidth => {
                means.bandwidth / self.bandwidth - 1.0
            }
            SampleWeight::Bandwidth | SampleWeight::None => 0.0,
            SampleWeight::Blocks => blocks / means.blocks - 1.0,
            SampleWeight::BlocksInverse => means.blocks / blocks - 1.0,
        }
    }
}

/// Fills gaps by linear interpolation, with 0 for no block. After the last sample the curve is
/// constant.
fn filled(samples: &[Option<f64>]) -> Vec<f64> {
    let (mut curve, mut last) = (Vec::with_capacity(samples.len()), 0.0);
    for (at, sample) in samples.iter().enumerate() {
        let next = samples[at..].iter().position(Option::is_some);
        last = match (sample, next) {
            (Some(ipc), _) => *ipc,
            (None, Some(gap)) => {
                let target = samples[at + gap].unwrap_or(last);
                last + (target - last) / (gap + 1) as f64
            }
            (None, None) => last,
        };
        curve.push(last);
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::{Means, Taken, filled};
    use warploom_config::{PhiBase, SampleWeight, WarpedSlicerSettings};

    /// An SM with 8 blocks where the mean is 4, and 3 flits per cycle where the mean is 2. It waits
    /// for memory in a quarter of all scheduler cycles and in half of the stalled ones.
    const TAKEN: Taken = Taken {
        member: 0,
        blocks: 8,
        ipc: 0.8,
        memory_of_all: 0.25,
        memory_of_stalls: 0.5,
        bandwidth: 3.0,
    };
    const MEANS: Means = Means {
        blocks: 4.0,
        bandwidth: 2.0,
    };

    #[test]
    fn psi_follows_bandwidth_or_blocks() {
        let psi = |weight| TAKEN.psi(&MEANS, weight);
        // First equation 4, then its inverse.
        assert_eq!(psi(SampleWeight::Blocks), 1.0);
        assert_eq!(psi(SampleWeight::BlocksInverse), -0.5);
        assert_eq!(psi(SampleWeight::None), 0.0);
        // Equation 3 gives 2 / 3 - 1, and 0 for an SM that received less than the mean.
        assert!((psi(SampleWeight::Bandwidth) + 1.0 / 3.0).abs() < 1e-12);
        for bandwidth in [0.0, 1.0, 2.0] {
            let less = Taken { bandwidth, ..TAKEN };
            assert_eq!(less.psi(&MEANS, SampleWeight::Bandwidth), 0.0);
        }
    }

    #[test]
    fn the_factor_follows_equation_3() {
        let scaled = |weight, phi| {
            let settings = WarpedSlicerSettings {
                weight,
                phi,
                ..Default::default()
            };
            TAKEN.scaled(&MEANS, &settings)
        };
        assert_eq!(scaled(SampleWeight::Blocks, PhiBase::Cycles), 0.8 * 1.25);
        assert_eq!(scaled(SampleWeight::Blocks, PhiBase::Stalls), 0.8 * 1.5);
        assert_eq!(
            scaled(SampleWeight::BlocksInverse, PhiBase::Stalls),
            0.8 * 0.75
        );
        assert_eq!(scaled(SampleWeight::None, PhiBase::Stalls), 0.8);
        let third = scaled(SampleWeight::Bandwidth, PhiBase::Stalls);
        assert!((third - 0.8 * (1.0 - 0.5 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn gaps_lie_on_lines() {
        let curve = filled(&[None, Some(0.5), None, None, Some(2.0), None]);
        assert_eq!(curve, [0.25, 0.5, 1.0, 1.5, 2.0, 2.0]);
        assert_eq!(filled(&[None, None]), [0.0, 0.0]);
    }
}
