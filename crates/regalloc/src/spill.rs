//! Insertion of spill code: every use of a spilled variable loads it, and every definition stores
//! it.
//!
//! Accesses to local memory use one register that holds the base of the spill stack, as in Listing
//! 4 of CRAT (Xie et al., MICRO 2015). Accesses to shared memory use one register for each width of
//! value, which holds the thread's own address in the layout. The layout places the values of the
//! lanes of a warp side by side, slot after slot, so that they are in different banks. An
//! instruction with a guard leaves the old value in the lanes where the guard is false, so the old
//! value is loaded before the instruction and the complete value is stored after it.

use crate::body::{Body, Inst, Item, Purpose, Slot, Var, VarInfo};
use crate::class::{Class, PerClass, Typing};
use crate::flow::Flow;
use crate::graph::NEVER;
use crate::inst_builder::InstBuilder;
use crate::rematerialize::Recipe;
use fixedbitset::FixedBitSet;
use warploom_ptx::access::Access;
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType, Space};

/// The cost of one access to the spill stack, relative to an instruction that recomputes a value.
const ACCESS_COST: u64 = 4;

/// The memory that holds spilled values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Local memory of the thread.
    #[default]
    Local,
    /// Shared memory of the thread block.
    Shared,
}

/// The properties of a slot of the spill stack.
#[derive(Clone, Debug)]
pub(crate) struct SlotInfo {
    /// The variable whose value the slot holds.
    pub var: Var,
    /// The sub-stack that contains the slot, named by the class of [`Typing::Kinds`] that gives
    /// type and width of its values.
    pub stack: Class,
    pub place: Place,
    /// The offset from the base register in bytes, which is valid after the layout is computed.
    pub offset: u32,
}

/// The names and the shape of the spill stack of one function.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// The name of the array in local memory.
    pub local: String,
    /// The name of the array in shared memory.
    pub shared: String,
    /// The memory for spilled values of each type and width.
    pub places: PerClass<Place>,
    /// The size of a thread block, in threads along x, y and z.
    pub block: [u32; 3],
    /// The type of an address of local memory.
    pub address: ScalarType,
    /// The variable that holds the address of `local`.
    local_base: Option<Var>,
    /// The variables that hold the thread's own address in `shared`, each with the width of its
    /// values in bytes.
    shared_bases: Vec<(u32, Var)>,
}

impl Stack {
    pub fn new(names: [String; 2], address_bits: u32) -> Self {
        let [local, shared] = names;
        let address = match address_bits {
            32 => ScalarType::U32,
            _ => ScalarType::U64,
        };
        Self {
            local,
            shared,
            places: PerClass::default(),
            block: [1; 3],
            address,
            local_base: None,
            shared_bases: Vec::new(),
        }
    }

    /// Returns the variable that holds the base address for the accesses to a slot, and computes it
    /// in the prologue if necessary.
    fn base(&mut self, body: &mut Body, place: Place, bytes: u32) -> Var {
        match place {
            Place::Local => match self.local_base {
                Some(base) => base,
                None => self.make_local_base(body),
            },
            Place::Shared => match self.shared_bases.iter().find(|(width, _)| *width == bytes) {
                Some((_, base)) => *base,
                None => self.make_shared_base(body, bytes),
            },
        }
    }

    fn make_local_base(&mut self, body: &mut Body) -> Var {
        let base = fixed(body, &self.local, self.address);
        let mov = InstBuilder::new(Opcode::Mov, &[Modifier::Type(self.address)]);
        let mov = mov.write(base).symbol(&self.local);
        body.prologue.push(mov.inst(Purpose::Address));
        self.local_base = Some(base);
        base
    }

    /// Computes `shared + thread number in the block * width` in the prologue.
    fn make_shared_base(&mut self, body: &mut Body, bytes: u32) -> Var {
        let thread = self.thread_number(body);
        let start = self.temporary(body);
        body.prologue.push(mov(start, &self.shared));
        let base = fixed(body, &self.shared, ScalarType::U32);
        let mad = mad().write(base).read(thread).number(bytes).read(start);
        body.prologue.push(mad.inst(Purpose::Address));
        self.shared_bases.push((bytes, base));
        base
    }

    /// Computes the linear thread number, `x + y * width + z * width * height`, in the prologue.
    fn thread_number(&mut self, body: &mut Body) -> Var {
        let [width, height, depth] = self.block;
        let x = self.index(body, "%tid.x");
        if height == 1 && depth == 1 {
            return x;
        }
        let mut row = self.index(body, "%tid.y");
        if depth > 1 {
            let z = self.index(body, "%tid.z");
            let rows = self.temporary(body);
            let mad = mad().write(rows).read(z).number(height).read(row);
            body.prologue.push(mad.inst(Purpose::Address));
            row = rows;
        }
        let number = self.temporary(body);
        let mad = mad().write(number).read(row).number(width).read(x);
        body.prologue.push(mad.inst(Purpose::Address));
        number
    }

    /// Reads a special register into a new variable in the prologue.
    fn index(&self, body: &mut Body, name: &str) -> Var {
        let var = self.temporary(body);
        body.prologue.push(mov(var, name));
        var
    }

    fn temporary(&self, body: &mut Body) -> Var {
        fixed(body, &self.shared, ScalarType::U32)
    }
}

/// Creates a variable that is never spilled.
fn fixed(body: &mut Body, name: &str, ty: ScalarType) -> Var {
    body.new_var(VarInfo {
        name: name.to_owned(),
        ty,
        class: Class::of(ty, Typing::Kinds),
        unspillable: true,
    })
}

fn mov(to: Var, name: &str) -> Inst {
    let mov = InstBuilder::new(Opcode::Mov, &[Modifier::Type(ScalarType::U32)]);
    mov.write(to).symbol(name).inst(Purpose::Address)
}

fn mad() -> InstBuilder {
    InstBuilder::new(
        Opcode::Mad,
        &[Modifier::Lo, Modifier::Type(ScalarType::U32)],
    )
}

/// Returns the estimated cost of spilling each variable: the number of memory accesses or
/// recomputing instructions, with a weight of `loop_weight` to the power of the loop depth.
pub(crate) fn costs(
    body: &Body,
    flow: &Flow,
    recipes: &[Option<Recipe>],
    loop_weight: u32,
) -> Vec<u64> {
    let mut costs = vec![0_u64; body.vars.len()];
    for (inst, depth) in body.insts().zip(&flow.depth) {
        let weight = u64::from(loop_weight).saturating_pow(*depth);
        for (nth, mention) in inst.mentions.iter().enumerate() {
            let Some(var) = mention.var else { continue };
            if inst.mentions[..nth].contains(mention) {
                continue;
            }
            let each = match (&recipes[var.index()], mention.access) {
                (Some(_), Access::Write) => 0,
                (Some(recipe), Access::Read) => recipe.len() as u64,
                (None, Access::Write) if inst.ast.guard.is_some() => 2 * ACCESS_COST,
                (None, _) => ACCESS_COST,
            };
            let cost = &mut costs[var.index()];
            *cost = cost
                .saturating_add(each.saturating_mul(weight))
                .min(NEVER - 1);
        }
    }
    let shortest = short_lived(body);
    for (var, info) in body.vars.iter().enumerate() {
        let odd = matches!(info.class, Class::Pred | Class::B8 | Class::B128);
        if info.unspillable || odd || shortest.contains(var) {
            costs[var] = NEVER;
        }
    }
    costs
}

/// Returns the variables that are written once and read only by the next instruction. Spilling them
/// would not reduce register pressure.
fn short_lived(body: &Body) -> FixedBitSet {
    let mut written: Vec<Option<usize>> = vec![None; body.vars.len()];
    let mut short = FixedBitSet::with_capacity(body.vars.len());
    let mut long = FixedBitSet::with_capacity(body.vars.len());
    for (at, inst) in body.insts().enumerate() {
        for var in inst.reads().map(Var::index) {
            let next = written[var].is_some_and(|written| written + 1 == at);
            long.set(var, long.contains(var) || !next);
        }
        for var in inst.writes().map(Var::index) {
            let again = written[var].is_some() || inst.ast.guard.is_some();
            long.set(var, long.contains(var) || again);
            written[var] = Some(at);
            short.insert(var);
        }
    }
    short.difference_with(&long);
    short
}

/// Spills variables. A variable with a recipe is recomputed before each use, and every other
/// variable is kept on the spill stack.
pub(crate) fn spill(
    body: &mut Body,
    stack: &mut Stack,
    victims: &[Var],
    recipes: &[Option<Recipe>],
    entry: &FixedBitSet,
) {
    let mut slot_of = vec![None; body.vars.len()];
    let mut spilled = FixedBitSet::with_capacity(body.vars.len());
    for &var in victims {
        spilled.insert(var.index());
        if recipes[var.index()].is_none() {
            slot_of[var.index()] = Some(new_slot(body, stack, var));
        }
    }
    let mut spiller = Spiller {
        stack,
        recipes,
        spilled,
        slot_of,
    };
    for &var in victims {
        if entry.contains(var.index()) {
            spiller.clear(body, var);
        }
    }
    let items = std::mem::take(&mut body.items);
    let mut rewritten = Vec::with_capacity(items.len() + items.len() / 2);
    for item in items {
        match item {
            Item::Inst(inst) => spiller.rewrite(body, *inst, &mut rewritten),
            other => rewritten.push(other),
        }
    }
    body.items = rewritten;
}

fn new_slot(body: &mut Body, stack: &Stack, var: Var) -> Slot {
    let class = Class::of(body.vars[var.index()].ty, Typing::Kinds);
    body.slots.push(SlotInfo {
        var,
        stack: class,
        place: stack.places[class],
        offset: 0,
    });
    Slot::new(body.slots.len() - 1)
}

/// Insertion of the spill code for a set of variables.
struct Spiller<'a> {
    stack: &'a mut Stack,
    recipes: &'a [Option<Recipe>],
    spilled: FixedBitSet,
    slot_of: Vec<Option<Slot>>,
}

impl Spiller<'_> {
    fn is_spilled(&self, var: Var) -> bool {
        var.index() < self.spilled.len() && self.spilled.contains(var.index())
    }

    /// Initializes the slot of a variable to zero, because a register that is read before it is
    /// written reads as zero.
    fn clear(&mut self, body: &mut Body, var: Var) {
        let Some(slot) = self.slot_of[var.index()] else {
            return;
        };
        let store = self.access(body, slot, var, Access::Write);
        let temp = store.1;
        let ty = bits(body.vars[temp.index()].class);
        let zero = InstBuilder::new(Opcode::Mov, &[Modifier::Type(ty)])
            .write(temp)
            .number(0);
        body.prologue.push(zero.inst(Purpose::Clear));
        body.prologue.push(store.0);
    }

    /// Rewrites one instruction and adds the spill code before and after it.
    fn rewrite(&mut self, body: &mut Body, mut inst: Inst, out: &mut Vec<Item>) {
        let mut vars: Vec<Var> = Vec::new();
        for var in inst.mentions.iter().filter_map(|m| m.var) {
            if self.is_spilled(var) && !vars.contains(&var) {
                vars.push(var);
            }
        }
        let rematerialized = |var: &Var| self.recipes[var.index()].is_some();
        if inst
            .writes()
            .any(|var| self.is_spilled(var) && rematerialized(&var))
        {
            // The deleted instruction is the only definition, and the value is recomputed before
            // each use.
            if let Purpose::Original(number) = inst.purpose {
                out.push(Item::Deleted(number));
            }
            return;
        }
        let mut after = Vec::new();
        for var in vars {
            match self.slot_of[var.index()] {
                Some(slot) => self.fetch_and_put(body, &mut inst, slot, var, out, &mut after),
                None => self.rematerialize(body, &mut inst, var, out),
            }
        }
        out.push(Item::Inst(Box::new(inst)));
        out.extend(after.into_iter().map(|inst| Item::Inst(Box::new(inst))));
    }

    /// Loads a spilled variable before an instruction that reads it, and stores it after an
    /// instruction that writes it.
    fn fetch_and_put(
        &mut self,
        body: &mut Body,
        inst: &mut Inst,
        slot: Slot,
        var: Var,
        before: &mut Vec<Item>,
        after: &mut Vec<Inst>,
    ) {
        let guarded = inst.ast.guard.is_some();
        let writes = inst.writes().any(|v| v == var);
        let reads = inst.reads().any(|v| v == var);
        let mut fetched = None;
        if reads || (writes && guarded) {
            let (load, temp) = self.access(body, slot, var, Access::Read);
            before.push(Item::Inst(Box::new(load)));
            replace(inst, var, temp, Access::Read);
            fetched = Some(temp);
        }
        if writes {
            let (mut store, mut temp) = self.access(body, slot, var, Access::Write);
            if let (true, Some(fetched)) = (guarded, fetched) {
                replace(&mut store, temp, fetched, Access::Read);
                temp = fetched;
            }
            replace(inst, var, temp, Access::Write);
            after.push(store);
        }
    }

    /// Returns a load (`Access::Read`) or a store (`Access::Write`) of a slot, and the temporary
    /// variable that holds the value.
    fn access(&mut self, body: &mut Body, slot: Slot, var: Var, access: Access) -> (Inst, Var) {
        let info = body.vars[var.index()].clone();
        let (place, class) = (body.slots[slot.index()].place, info.class);
        let base = self.stack.base(body, place, class.bytes());
        let temp = body.new_var(VarInfo {
            unspillable: true,
            ..info
        });
        let space = match place {
            Place::Local => Space::Local,
            Place::Shared => Space::Shared,
        };
        let modifiers = [Modifier::Space(space), Modifier::Type(bits(class))];
        let inst = match access {
            Access::Read => {
                let load = InstBuilder::new(Opcode::Ld, &modifiers)
                    .write(temp)
                    .address(base);
                load.inst(Purpose::Load(slot))
            }
            Access::Write => {
                let store = InstBuilder::new(Opcode::St, &modifiers)
                    .address(base)
                    .read(temp);
                store.inst(Purpose::Store(slot))
            }
        };
        (inst, temp)
    }

    /// Recomputes a variable before an instruction that reads it.
    fn rematerialize(
        &mut self,
        body: &mut Body,
        inst: &mut Inst,
        var: Var,
        before: &mut Vec<Item>,
    ) {
        let recipe = self.recipes[var.index()].clone().unwrap_or_default();
        let mut last = None;
        for mut step in recipe {
            let Some(made) = step.writes().next() else {
                continue;
            };
            let info = body.vars[made.index()].clone();
            let temp = body.new_var(VarInfo {
                unspillable: true,
                ..info
            });
            let from = step.reads().next();
            if let (Some(from), Some(last)) = (from, last) {
                replace(&mut step, from, last, Access::Read);
            }
            replace(&mut step, made, temp, Access::Write);
            step.purpose = Purpose::Rematerialize;
            before.push(Item::Inst(Box::new(step)));
            last = Some(temp);
        }
        if let Some(last) = last {
            replace(inst, var, last, Access::Read);
        }
    }
}

/// Replaces a variable by another in the mentions of an instruction.
fn replace(inst: &mut Inst, var: Var, by: Var, access: Access) {
    for mention in &mut inst.mentions {
        if mention.var == Some(var) && mention.access == access {
            mention.var = Some(by);
        }
    }
}

/// Returns the untyped type with the width of a class.
fn bits(class: Class) -> ScalarType {
    match class.bytes() {
        2 => ScalarType::B16,
        8 => ScalarType::B64,
        _ => ScalarType::B32,
    }
}
