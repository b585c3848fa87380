//! Outstanding asynchronous operations of a warp, by group (PTX ISA, "cp.async.commit_group",
//! "wgmma.commit_group", "cp.async.bulk.commit_group").

use warploom_ir::{AsyncKind, CopyWait};
use warploom_state::Value;

/// Most outstanding groups of a warp. The commit of a further one waits for the oldest.
const GROUPS: u8 = 16;

/// Role of an instruction for asynchronous operations, in two bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyRole {
    /// The instruction has no role.
    None,
    /// The instruction starts a copy `cp.async`.
    Start,
    /// The instruction starts a product of a warp group.
    StartProduct,
    /// The instruction commits a group of copies `cp.async`.
    Commit,
    /// The instruction commits a group of other operations.
    CommitOther(AsyncKind),
    /// The instruction waits for some groups of copies `cp.async`.
    Wait(CopyWait),
    /// The instruction waits for all groups of products except this number of the youngest.
    WaitProducts(u8),
    /// The instruction waits for all groups of bulk copies except this number of the youngest.
    WaitBulk(u8),
}

/// Outstanding asynchronous operations of one warp.
#[derive(Clone, Copy, Default, Debug, Value)]
pub struct AsyncGroups {
    /// Copies made by `cp.async`.
    pub copies: CopyGroups,
    /// Products of warp groups.
    pub products: CopyGroups,
    /// Bulk copies from shared memory.
    pub bulk: CopyGroups,
}

impl AsyncGroups {
    /// Groups of a kind.
    pub fn of(&mut self, kind: AsyncKind) -> &mut CopyGroups {
        match kind {
            AsyncKind::Product => &mut self.products,
            AsyncKind::Bulk => &mut self.bulk,
        }
    }

    /// True if outstanding operations hold an instruction back.
    pub fn holds(&self, role: CopyRole) -> bool {
        match role {
            CopyRole::None | CopyRole::Start | CopyRole::StartProduct => false,
            CopyRole::Commit => self.copies.holds_commit(),
            CopyRole::CommitOther(AsyncKind::Product) => self.products.holds_commit(),
            CopyRole::CommitOther(AsyncKind::Bulk) => self.bulk.holds_commit(),
            CopyRole::Wait(which) => self.copies.holds(which),
            CopyRole::WaitProducts(youngest) => self.products.holds(CopyWait::But(youngest)),
            CopyRole::WaitBulk(youngest) => self.bulk.holds(CopyWait::But(youngest)),
        }
    }
}

/// Outstanding operations of one kind of one warp.
#[derive(Clone, Copy, Default, Debug, Value)]
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

    /// True if outstanding operations hold back the commit of the open group.
    pub fn holds_commit(&self) -> bool {
        self.any_out(GROUPS - 1)
    }

    /// True if outstanding operations hold back an instruction that waits.
    pub fn holds(&self, which: CopyWait) -> bool {
        self.any_out(match which {
            CopyWait::All => 0,
            CopyWait::But(youngest) => youngest.saturating_add(1),
        })
    }

    /// True if an operation is out whose group was begun at least `age` groups before the open one.
    fn any_out(&self, age: u8) -> bool {
        let out = |age: u8| self.out[usize::from(self.group(age))] > 0;
        (age..GROUPS).any(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{AsyncGroups, CopyGroups, CopyRole, GROUPS};
    use warploom_ir::AsyncKind;
    use warploom_ir::CopyWait::{self, All as ALL};

    fn but(groups: u8) -> CopyWait {
        CopyWait::But(groups)
    }

    #[test]
    fn a_role_is_two_bytes_long() {
        assert_eq!(size_of::<CopyRole>(), 2);
    }

    #[test]
    fn each_kind_waits_for_its_own_groups() {
        let mut groups = AsyncGroups::default();
        let product = groups.products.start();
        groups.of(AsyncKind::Product).commit();
        assert!(groups.holds(CopyRole::WaitProducts(0)));
        assert!(!groups.holds(CopyRole::WaitProducts(1)) && !groups.holds(CopyRole::WaitBulk(0)));
        groups.products.arrived(product);
        assert!(!groups.holds(CopyRole::WaitProducts(0)));
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
            assert!(!copies.holds_commit());
            copies.commit();
        }
        assert!(copies.holds_commit() && !copies.holds(but(GROUPS - 1)));
        copies.arrived(oldest);
        assert!(!copies.holds_commit() && !copies.holds(but(u8::MAX)));
    }
}
