//! Insertion of spill code: a variable that rests in memory in a gap is stored before the gap and
//! loaded after it, or recomputed.
//!
//! An instruction with a guard leaves the old value in the lanes where the guard is false, so the
//! old value is loaded before the instruction and the complete value is stored after it.

use crate::body::{Body, Inst, Item, Purpose, Slot, Var, VarInfo};
use crate::evict::{Eviction, Facts, Return, Stores};
use crate::gaps::{Kind, Site, Touch};
use crate::inst_builder::InstBuilder;
use crate::spill::{Place, Stack, bits, new_slot};
use rustc_hash::FxHashMap;
use warploom_ptx::access::Access;
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// Rewrites a body so that the values of evicted gaps rest in memory.
pub(crate) fn spill(body: &mut Body, stack: &mut Stack, facts: &Facts, eviction: &Eviction) {
    let first = body.prologue.len();
    let mut rewriter = Rewriter::new(body, stack, facts, eviction);
    rewriter.clear_entries(body);
    // No instruction of the prologue mentions a variable that can be spilled, but a loop may begin
    // after it.
    let mut out = Vec::new();
    for at in 0..first {
        rewriter.boundaries(body, Site::After(at), &mut out);
    }
    body.prologue
        .extend(out.into_iter().filter_map(|item| match item {
            Item::Inst(inst) => Some(*inst),
            _ => None,
        }));
    let mut at = first;
    let items = std::mem::take(&mut body.items);
    let mut out = Vec::with_capacity(items.len() + items.len() / 2);
    for item in items {
        match item {
            Item::Inst(inst) => {
                rewriter.boundaries(body, Site::Before(at), &mut out);
                rewriter.inst(body, at, *inst, &mut out);
                rewriter.boundaries(body, Site::After(at), &mut out);
                at += 1;
            }
            other => out.push(other),
        }
    }
    body.items = out;
}

/// Insertion of the spill code.
struct Rewriter<'a> {
    stack: &'a mut Stack,
    facts: &'a Facts<'a>,
    eviction: &'a Eviction,
    /// The instructions that recompute variables.
    definitions: FxHashMap<Var, Inst>,
    /// The slot of each variable that is loaded.
    slots: FxHashMap<Var, Slot>,
    /// The variable that stands for a spilled variable in each gap without eviction.
    webs: FxHashMap<usize, Var>,
    /// The touches of spilled variables at each place.
    touches: FxHashMap<Site, Vec<&'a Touch>>,
}

impl<'a> Rewriter<'a> {
    fn new(
        body: &mut Body,
        stack: &'a mut Stack,
        facts: &'a Facts<'a>,
        eviction: &'a Eviction,
    ) -> Self {
        let mut touches: FxHashMap<Site, Vec<&Touch>> = FxHashMap::default();
        for touch in &facts.gaps.touches {
            if eviction.stores.contains_key(&touch.var) {
                touches.entry(touch.site).or_default().push(touch);
            }
        }
        let evicted = facts.gaps.gaps.iter().zip(&eviction.gaps);
        let recomputed = evicted.filter(|(_, how)| **how == Some(Return::Recompute));
        let recomputed: Vec<Var> = recomputed.filter_map(|(gap, _)| gap.var).collect();
        let mut rewriter = Self {
            definitions: facts.recipes.instructions(body, &recomputed),
            stack,
            facts,
            eviction,
            slots: FxHashMap::default(),
            webs: FxHashMap::default(),
            touches,
        };
        rewriter.make_slots(body);
        rewriter.make_webs(body);
        rewriter
    }

    /// Gives a slot to every variable that is loaded.
    fn make_slots(&mut self, body: &mut Body) {
        for (gap, how) in self.facts.gaps.gaps.iter().zip(&self.eviction.gaps) {
            if let (Some(var), Some(Return::Load)) = (gap.var, how)
                && !self.slots.contains_key(&var)
            {
                let known = body.vars[var.index()].slot;
                let slot = known.unwrap_or_else(|| new_slot(body, self.stack, var));
                self.slots.insert(var, slot);
            }
        }
    }

    /// Gives a new variable to each group of gaps without eviction through which one register holds
    /// the value of a spilled variable.
    fn make_webs(&mut self, body: &mut Body) {
        let gaps = &self.facts.gaps.gaps;
        let mut parent: Vec<usize> = (0..gaps.len()).collect();
        for touch in self.touches.values().flatten() {
            if let (Some(before), Some(after)) = (touch.before, touch.after)
                && self.is_kept(before)
                && self.is_kept(after)
                && !matches!(touch.kind, Kind::Write | Kind::ReadWrite)
            {
                let (a, b) = (root(&parent, before), root(&parent, after));
                parent[a.max(b)] = a.min(b);
            }
        }
        for (gap, info) in gaps.iter().enumerate() {
            let Some(var) = info.var.filter(|var| self.is_spilled(*var)) else {
                continue;
            };
            let first = root(&parent, gap);
            if !self.is_kept(gap) {
                continue;
            }
            if first == gap {
                let slot = self.slots.get(&var).copied();
                let info = VarInfo {
                    slot: slot.filter(|_| self.stores(var) != Stores::Gaps),
                    ..body.vars[var.index()].clone()
                };
                self.webs.insert(gap, body.new_var(info));
            } else {
                self.webs.insert(gap, self.webs[&first]);
            }
        }
    }

    fn is_spilled(&self, var: Var) -> bool {
        self.eviction.stores.contains_key(&var)
    }

    fn is_kept(&self, gap: usize) -> bool {
        self.eviction.gaps[gap].is_none()
    }

    fn how(&self, gap: Option<usize>) -> Option<Return> {
        self.eviction.gaps[gap?]
    }

    /// Returns the variable that holds the value in a gap, unless the value rests in memory there.
    fn web(&self, gap: Option<usize>) -> Option<Var> {
        self.webs.get(&gap?).copied()
    }

    /// Returns the stores of a variable; those that no load needs are left out.
    fn stores(&self, var: Var) -> Stores {
        let stores = self.eviction.stores.get(&var).copied();
        match self.slots.contains_key(&var) {
            true => stores.unwrap_or_default(),
            false => Stores::None,
        }
    }

    /// Stores zero in the slots of variables that may be read before they are written, because such
    /// a register reads as zero.
    fn clear_entries(&mut self, body: &mut Body) {
        let all: Vec<&Touch> = self.touches.values().flatten().copied().collect();
        let mut entries: Vec<&Touch> = all.into_iter().filter(|t| t.kind == Kind::Entry).collect();
        entries.sort_by_key(|touch| touch.var);
        for touch in entries {
            if !self.needs_store(touch) {
                continue;
            }
            let temp = self.temporary(body, touch.var);
            let ty = bits(body.vars[temp.index()].class);
            let zero = InstBuilder::new(Opcode::Mov, &[Modifier::Type(ty)]);
            let store = self.access(body, touch.var, temp, Access::Write);
            let zero = zero.write(temp).number(0).inst(Purpose::Clear);
            body.prologue.extend([zero, store]);
        }
    }

    /// Returns whether the value of a variable must be stored after a touch.
    fn needs_store(&self, touch: &Touch) -> bool {
        let writes = touch.kind.writes() || touch.kind == Kind::Entry;
        match self.stores(touch.var) {
            Stores::None | Stores::Done => false,
            Stores::Writes => writes && touch.after.is_some(),
            Stores::Gaps => {
                let loaded = self.how(touch.after) == Some(Return::Load);
                loaded && (writes || self.how(touch.before) != Some(Return::Load))
            }
        }
    }

    /// Inserts the loads and stores of variables whose gaps meet at the boundary of a loop.
    fn boundaries(&mut self, body: &mut Body, site: Site, out: &mut Vec<Item>) {
        for touch in self.touches_at(site, |kind| kind == Kind::Boundary) {
            let store = self.needs_store(touch);
            let mut place = self.web(touch.before);
            let after = self.web(touch.after);
            if place.is_none() && (store || after.is_some()) {
                let target = after.unwrap_or_else(|| self.temporary(body, touch.var));
                self.fetch(body, touch, target, out);
                place = Some(target);
            }
            if let (true, Some(place)) = (store, place) {
                let store = self.access(body, touch.var, place, Access::Write);
                out.push(Item::Inst(Box::new(store)));
            }
        }
    }

    fn touches_at(&self, site: Site, wanted: impl Fn(Kind) -> bool) -> Vec<&'a Touch> {
        let touches = self.touches.get(&site).into_iter().flatten();
        touches
            .copied()
            .filter(|touch| wanted(touch.kind))
            .collect()
    }

    /// Rewrites one instruction and adds the spill code before and after it.
    fn inst(&mut self, body: &mut Body, at: usize, mut inst: Inst, out: &mut Vec<Item>) {
        let real = |kind| !matches!(kind, Kind::Boundary | Kind::Entry);
        let touches = self.touches_at(Site::Before(at), real);
        if touches.iter().any(|touch| self.is_needless(touch, &inst)) {
            // The value is recomputed before each use. The instructions that follow may use the
            // operands.
            for touch in touches {
                if touch.kind.reads() && self.web(touch.after).is_some() {
                    self.place_before(body, touch, out);
                }
            }
            if let Purpose::Original(number) = inst.purpose {
                out.push(Item::Deleted(number));
            }
            return;
        }
        let mut after = Vec::new();
        for touch in touches {
            let place = self.place_before(body, touch, out);
            let written = match touch.kind {
                Kind::Write | Kind::ReadWrite => self.new_place(body, touch),
                _ => place,
            };
            replace(&mut inst, touch.var, place, Access::Read);
            replace(&mut inst, touch.var, written, Access::Write);
            if self.needs_store(touch) {
                after.push(self.access(body, touch.var, written, Access::Write));
            }
        }
        out.push(Item::Inst(Box::new(inst)));
        out.extend(after.into_iter().map(|inst| Item::Inst(Box::new(inst))));
    }

    /// Returns whether an instruction only produces a value that is recomputed wherever it is used,
    /// or only brings a value into a register that is brought there again.
    fn is_needless(&self, touch: &Touch, inst: &Inst) -> bool {
        let repeats = matches!(inst.purpose, Purpose::Load(_) | Purpose::Rematerialize);
        let needless = match self.how(touch.after) {
            Some(Return::Recompute) => true,
            Some(Return::Load) => repeats,
            None => false,
        };
        touch.kind == Kind::Write && needless && !self.needs_store(touch)
    }

    /// Returns the variable that an instruction reads, and inserts the code that provides it.
    fn place_before(&mut self, body: &mut Body, touch: &Touch, out: &mut Vec<Item>) -> Var {
        if let Some(place) = self.web(touch.before) {
            return place;
        }
        let target = match touch.kind {
            Kind::Read | Kind::Partial => self.new_place(body, touch),
            _ => self.temporary(body, touch.var),
        };
        if touch.kind.reads() && touch.before.is_some() {
            self.fetch(body, touch, target, out);
        }
        target
    }

    /// Returns the variable that holds a value after a touch.
    fn new_place(&mut self, body: &mut Body, touch: &Touch) -> Var {
        let web = self.web(touch.after);
        web.unwrap_or_else(|| self.temporary(body, touch.var))
    }

    fn temporary(&self, body: &mut Body, var: Var) -> Var {
        let info = body.vars[var.index()].clone();
        body.new_var(VarInfo {
            unspillable: true,
            ..info
        })
    }

    /// Inserts the code that brings the value of an evicted gap into a register.
    fn fetch(&mut self, body: &mut Body, touch: &Touch, target: Var, out: &mut Vec<Item>) {
        match self.how(touch.before) {
            Some(Return::Recompute) => self.recompute(body, touch.var, target, touch.site, out),
            _ => self.load(body, touch.var, target, out),
        }
    }

    fn load(&mut self, body: &mut Body, var: Var, target: Var, out: &mut Vec<Item>) {
        let load = self.access(body, var, target, Access::Read);
        out.push(Item::Inst(Box::new(load)));
    }

    /// Returns a load (`Access::Read`) or a store (`Access::Write`) of a variable's slot.
    fn access(&mut self, body: &mut Body, var: Var, place: Var, access: Access) -> Inst {
        let slot = self.slots[&var];
        let class = body.vars[var.index()].class;
        let shared = body.slots[slot.index()].place == Place::Shared;
        let space = if shared { Space::Shared } else { Space::Local };
        let base = shared.then(|| self.stack.shared_base(body, class.bytes()));
        let modifiers = [Modifier::Space(space), Modifier::Type(bits(class))];
        let address = |builder: InstBuilder| match base {
            Some(base) => builder.address(base),
            None => builder.symbol_address(&self.stack.local),
        };
        match access {
            Access::Read => {
                let load = InstBuilder::new(Opcode::Ld, &modifiers).write(place);
                address(load).inst(Purpose::Load(slot))
            }
            Access::Write => {
                let store = address(InstBuilder::new(Opcode::St, &modifiers));
                store.read(place).inst(Purpose::Store(slot))
            }
        }
    }

    /// Inserts the instructions that recompute a variable.
    fn recompute(
        &mut self,
        body: &mut Body,
        var: Var,
        target: Var,
        site: Site,
        out: &mut Vec<Item>,
    ) {
        let Some(mut inst) = self.definitions.get(&var).cloned() else {
            return;
        };
        let mut operands: Vec<Var> = inst.reads().collect();
        operands.sort_unstable();
        operands.dedup();
        let places: Vec<Var> = operands
            .iter()
            .map(|operand| self.operand(body, *operand, site, out))
            .collect();
        for mention in &mut inst.mentions {
            let Some(var) = mention.var else { continue };
            mention.var = Some(match mention.access {
                Access::Write => target,
                Access::Read => operands
                    .iter()
                    .position(|operand| *operand == var)
                    .map_or(var, |nth| places[nth]),
            });
        }
        inst.purpose = Purpose::Rematerialize;
        out.push(Item::Inst(Box::new(inst)));
    }

    /// Returns the variable that holds an operand of a recomputation, and inserts the code that
    /// provides it.
    fn operand(&mut self, body: &mut Body, var: Var, site: Site, out: &mut Vec<Item>) -> Var {
        let live = self.facts.live_before[site.point()].contains(var.index());
        let gap = self.facts.gaps.gap_at(var, site).filter(|_| live);
        let how = match (live, gap) {
            (true, None) => return var,
            (true, Some(gap)) if self.is_kept(gap) => {
                return self.webs.get(&gap).copied().unwrap_or(var);
            }
            (true, Some(gap)) => self.how(Some(gap)),
            (false, _) => Some(Return::Recompute),
        };
        let temp = self.temporary(body, var);
        match how {
            Some(Return::Load) => self.load(body, var, temp, out),
            _ => self.recompute(body, var, temp, site, out),
        }
        temp
    }
}

/// Returns the representative of a gap.
fn root(parent: &[usize], mut of: usize) -> usize {
    while parent[of] != of {
        of = parent[of];
    }
    of
}

/// Replaces a variable by another in the mentions of an instruction.
fn replace(inst: &mut Inst, var: Var, by: Var, access: Access) {
    for mention in &mut inst.mentions {
        if mention.var == Some(var) && mention.access == access {
            mention.var = Some(by);
        }
    }
}
