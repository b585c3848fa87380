//! A profile of Warped-Slicer: which SM runs how many blocks of which kernel, and what that says
//! (Warped-Slicer, section IV.A, equations 3 and 4).

use super::quotas::share_of_sms;
use super::{KernelView, MultiprogramView, SmSample};
use warploom_base::{Cycle, KernelSlot};
use warploom_config::{GpuSpec, PhiBase, SampleWeight, WarpedSlicerSettings};

/// One SM's part in a profile.
#[derive(Clone, Copy, Debug)]
struct Post {
    sm: usize,
    member: usize,
    /// Its number among the member's SMs.
    nth: usize,
}

/// What one SM did in a sample.
#[derive(Clone, Copy, Debug)]
struct Taken {
    member: usize,
    blocks: u32,
    ipc: f64,
    /// Scheduler cycles that waited for memory or its pipe, over all of them and over those of
    /// them in which warps were there and none issued.
    memory_of_all: f64,
    memory_of_stalls: f64,
    /// Flits received in a cycle.
    bandwidth: f64,
}

/// A profile.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// By member: it is sampled.
    sampled: Vec<bool>,
    /// By member: its SMs, and most of its blocks on one.
    sms: Vec<usize>,
    most: Vec<u32>,
    posts: Vec<Post>,
    round: u32,
    rounds: u32,
    began: Cycle,
    start: Vec<SmSample>,
    slots: Vec<KernelSlot>,
    /// Of all rounds.
    taken: Vec<Taken>,
}

impl Profile {
    /// A profile of the members that are to be `sampled`, each on its equal part of the SMs.
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

    /// A member is sampled.
    pub fn is_sampled(&self, member: usize) -> bool {
        self.sampled.get(member).copied().unwrap_or(false)
    }

    /// Blocks of a member on its `nth` SM in the round that runs. SMs left over in the first round
    /// begin again with 1; later an SM never goes back, since blocks are not evicted.
    pub fn blocks(&self, member: usize, nth: usize) -> u32 {
        let (sms, most) = (self.sms[member] as u32, self.most[member]);
        let nth = nth as u32;
        if sms >= most {
            return nth % most + 1;
        }
        let reached = (0..=self.round).map(|round| round * sms + nth + 1);
        reached.filter(|blocks| *blocks <= most).max().unwrap_or(1)
    }

    /// Every SM that is to be sampled holds what it is to hold, and nothing else.
    pub fn is_ready(&self, members: &[KernelView], view: &MultiprogramView<'_>) -> bool {
        self.posts.iter().all(|post| {
            let slot = members[post.member].slot.index();
            let blocks = &view.sms[post.sm].blocks;
            let wanted = self.blocks(post.member, post.nth);
            blocks[slot] == wanted && blocks.iter().sum::<u32>() == wanted
        })
    }

    /// A sample begins.
    pub fn begin(&mut self, members: &[KernelView], view: &MultiprogramView<'_>) {
        self.began = view.now;
        self.start = view.sms.to_vec();
        self.slots = members.iter().map(|kernel| kernel.slot).collect();
    }

    /// It ends. Returns false if its kernels are not those of its beginning.
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

    /// What an SM did, if it held its kernel alone, and as many blocks as it was to hold or fewer
    /// throughout: a sample that began late has SMs that still drain.
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

    /// Goes on to the next round, if there is one.
    pub fn next_round(&mut self) -> bool {
        self.round += 1;
        self.round < self.rounds
    }

    /// A member's IPC with 1, 2, 3 up to `most` blocks on an SM; what was not sampled lies on the
    /// line between its neighbours. `None` if nothing was.
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

    /// A member has SMs of its own: with more kernels than SMs not every one has.
    pub fn has_sms(&self, member: usize) -> bool {
        self.sms[member] > 0
    }
}

/// Means over all SMs sampled, in whichever round: counts of several rounds are one curve.
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
    /// Equation 3: IPC with the bandwidth that the SM would have if every SM held as many blocks.
    fn scaled(&self, means: &Means, settings: &WarpedSlicerSettings) -> f64 {
        let phi = match settings.phi {
            PhiBase::Stalls => self.memory_of_stalls,
            PhiBase::Cycles => self.memory_of_all,
        };
        self.ipc * (1.0 + phi * self.psi(means, settings.weight))
    }

    /// Psi of equation 3. An SM that received less than the mean asked for no more: were all like
    /// it, it would receive the same. Equation 4 prints the blocks over their mean; where bandwidth
    /// in the sample goes by blocks and would be the same for all otherwise, it is the inverse.
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

/// Fills gaps by straight lines, from 0 for no block; behind the last sample the curve is flat.
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

    /// An SM with 8 blocks where the mean is 4, and 3 flits a cycle where the mean is 2; it waits
    /// for memory in a quarter of the scheduler cycles, which is half of those that stall.
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
        // Equation 4, and its inverse.
        assert_eq!(psi(SampleWeight::Blocks), 1.0);
        assert_eq!(psi(SampleWeight::BlocksInverse), -0.5);
        assert_eq!(psi(SampleWeight::None), 0.0);
        // Equation 3: 2 / 3 - 1, and nothing for an SM that received less than the mean.
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
