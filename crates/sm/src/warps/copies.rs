//! Outstanding asynchronous copies of a warp, by group (PTX ISA, "cp.async.commit_group").

use warploom_ir::CopyWait;

/// Most outstanding groups of a warp. The commit of a further one waits for the oldest.
const GROUPS: u8 = 16;

/// Role of an instruction for asynchronous copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyRole {
    /// The instruction has no role.
    None,
    /// The instruction starts a copy.
    Start,
    /// The instruction commits a group.
    Commit,
    /// The instruction waits for some groups.
    Wait(CopyWait),
}

/// Outstanding copies of one warp.
#[derive(Clone, Copy, Default, Debug)]
pub struct CopyGroups {
    /// The group that copies join.
    open: u8,
    /// By group: number of copies whose data has not come.
    out: [u16; GROUPS as usize],
}

impl CopyGroups {
    /// Notes that a copy begins. Returns its group.
    pub fn start(&mut self) -> u8 {
        self.out[usize::from(self.open)] += 1;
        self.open
    }

    /// Notes that all data of a copy has come.
    pub fn arrived(&mut self, group: u8) {
        self.out[usize::from(group)] -= 1;
    }

    /// Begins the next group. Requires that its place is free ([`Self::holds`]).
    pub fn commit(&mut self) {
        self.open = self.group(GROUPS - 1);
    }

    /// The group that was begun `age` groups before the open one.
    fn group(&self, age: u8) -> u8 {
        (self.open + GROUPS - age) % GROUPS
    }

    /// True if outstanding copies hold an instruction back.
    pub fn holds(&self, role: CopyRole) -> bool {
        let ages = match role {
            CopyRole::None | CopyRole::Start => return false,
            CopyRole::Commit => GROUPS - 1..GROUPS,
            CopyRole::Wait(CopyWait::All) => 0..GROUPS,
            CopyRole::Wait(CopyWait::But(youngest)) => youngest.saturating_add(1)..GROUPS,
        };
        let out = |age: u8| self.out[usize::from(self.group(age))] > 0;
        ages.into_iter().any(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{CopyGroups, CopyRole, GROUPS};
    use warploom_ir::CopyWait;

    const ALL: CopyRole = CopyRole::Wait(CopyWait::All);

    fn but(groups: u8) -> CopyRole {
        CopyRole::Wait(CopyWait::But(groups))
    }

    #[test]
    fn a_wait_leaves_the_youngest_groups_under_way() {
        let mut copies = CopyGroups::default();
        let first = (copies.start(), copies.start());
        assert!(copies.holds(ALL) && !copies.holds(but(0)), "no group yet");
        copies.commit();
        let second = copies.start();
        copies.commit();
        assert!(copies.holds(but(0)) && copies.holds(but(1)) && !copies.holds(but(2)));
        copies.arrived(first.0);
        assert!(copies.holds(but(1)), "half of the first group is out");
        copies.arrived(first.1);
        assert!(copies.holds(but(0)) && !copies.holds(but(1)));
        copies.arrived(second);
        assert!(!copies.holds(ALL));
    }

    #[test]
    fn a_group_too_many_waits_for_the_oldest() {
        let mut copies = CopyGroups::default();
        let oldest = copies.start();
        for _ in 1..GROUPS {
            assert!(!copies.holds(CopyRole::Commit));
            copies.commit();
        }
        assert!(copies.holds(CopyRole::Commit) && !copies.holds(but(GROUPS - 1)));
        copies.arrived(oldest);
        assert!(!copies.holds(CopyRole::Commit) && !copies.holds(but(u8::MAX)));
    }
}
