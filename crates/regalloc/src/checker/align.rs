//! The alignment of the two programs, and the control flow of both.

use super::flat::{Flat, Reg};
use super::{Refusal, refuse, regs};
use crate::emit::Step;
use std::collections::BTreeSet;
use warploom_ptx::access::Access;
use warploom_ptx::tokens::Opcode;

/// A step of both programs: the index of an original instruction, of a new instruction, or of both.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub old: Option<usize>,
    pub new: Option<usize>,
}

/// The aligned sequence of both programs' instructions.
pub(super) struct Nodes {
    pub list: Vec<Node>,
    /// The index of the node after each label.
    pub labels: Vec<usize>,
}

/// Aligns the two programs according to `steps`, which must match both, including the labels. The
/// original is in the order of the steps already.
pub(super) fn align(old: &Flat, new: &Flat, steps: &[Step]) -> Result<Nodes, Refusal> {
    let (mut at_old, mut at_new) = (0, 0);
    let mut nodes = Nodes {
        list: Vec::with_capacity(steps.len()),
        labels: Vec::new(),
    };
    let labels = |nodes: &mut Nodes, at_old: usize, at_new: usize| {
        while let (Some(a), Some(b)) = (
            old.labels.get(nodes.labels.len()),
            new.labels.get(nodes.labels.len()),
        ) && a.0 == b.0
            && (a.1, b.1) == (at_old, at_new)
        {
            nodes.labels.push(nodes.list.len());
        }
    };
    labels(&mut nodes, 0, 0);
    for step in steps {
        let node = match *step {
            Step::Kept(_) => Node {
                old: Some(at_old),
                new: Some(at_new),
            },
            Step::Deleted(_) => Node {
                old: Some(at_old),
                new: None,
            },
            Step::Inserted => Node {
                old: None,
                new: Some(at_new),
            },
        };
        at_old += usize::from(node.old.is_some());
        at_new += usize::from(node.new.is_some());
        nodes.list.push(node);
        labels(&mut nodes, at_old, at_new);
    }
    if (at_old, at_new) != (old.insts.len(), new.insts.len()) {
        return refuse("the programs' lengths do not fit");
    }
    if nodes.labels.len() != old.labels.len() || old.labels.len() != new.labels.len() {
        return refuse("labels have moved");
    }
    Ok(nodes)
}

/// Returns the possible successors of a node. The last node has no fall-through successor.
pub(super) fn successors(old: &Flat, nodes: &Nodes, at: usize) -> Vec<usize> {
    let next = Some(at + 1).filter(|next| *next < nodes.list.len());
    let Some(inst) = nodes.list[at].old.map(|index| &old.insts[index]) else {
        return next.into_iter().collect();
    };
    let ends = matches!(
        inst.blank.opcode.node,
        Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap
    );
    let falls = !ends || inst.blank.guard.is_some();
    let targets = inst.targets.iter().map(|label| nodes.labels[*label]);
    let targets = targets.filter(|target| *target < nodes.list.len());
    targets.chain(next.filter(|_| falls)).collect()
}

/// Returns the original registers that may be read before they are written.
pub(super) fn exposed(old: &Flat, nodes: &Nodes) -> BTreeSet<Reg> {
    let count = nodes.list.len();
    let mut live: Vec<BTreeSet<Reg>> = vec![BTreeSet::new(); count];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..count).rev() {
            let mut here: BTreeSet<Reg> = BTreeSet::new();
            for next in successors(old, nodes, at) {
                here.extend(live[next].iter());
            }
            if let Some(inst) = nodes.list[at].old.map(|index| &old.insts[index]) {
                if inst.blank.guard.is_none() {
                    here.retain(|reg| !regs(inst, Access::Write).any(|written| written == *reg));
                }
                here.extend(regs(inst, Access::Read));
            }
            if here != live[at] {
                live[at] = here;
                changed = true;
            }
        }
    }
    live.into_iter().next().unwrap_or_default()
}
