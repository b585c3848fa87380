//! Spill code: every use of a spilled variable fetches it, every definition puts it away.
//!
//! Local memory is reached through one register with the stack's base (the paper's Listing 4),
//! shared memory through one register for each width of value: the thread's own place in a layout
//! that keeps the places of a warp's lanes side by side, slot after slot, so that they lie in
//! different banks. An instruction under a guard leaves the old value in some lanes: it is fetched
//! first and put away as a whole.

use crate::body::{Body, Inst, Item, Purpose, Slot, Var, VarInfo};
use crate::class::{Class, PerClass, Typing};
use crate::flow::Flow;
use crate::graph::NEVER;
use crate::make::Make;
use crate::remake::Recipe;
use fixedbitset::FixedBitSet;
use warploom_ptx::access::Access;
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType, Space};

/// What one access of the spill stack costs, in instructions that make a value again.
const ACCESS_COST: u64 = 4;

/// Where spilled values of one kind go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// Local memory.
    #[default]
    Local,
    /// Shared memory.
    Shared,
}

/// A place on the spill stack.
#[derive(Clone, Debug)]
pub(crate) struct SlotInfo {
    /// Whose values it holds.
    pub var: Var,
    /// Type and width of the values, as a class of [`Typing::Kinds`].
    pub stack: Class,
    pub place: Place,
    /// Bytes from the base register, once it is laid out.
    pub offset: u32,
}

/// Names and shape of the spill stack in one kernel.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// Name of the array in local memory.
    pub local: String,
    /// Name of the array in shared memory.
    pub shared: String,
    /// Where values go, by type and width.
    pub places: PerClass<Place>,
    /// Threads of a block, by dimension.
    pub block: [u32; 3],
    /// Width of an address in local memory.
    pub address: ScalarType,
    /// Register with the address of `local`.
    local_base: Option<Var>,
    /// Registers with the thread's place in `shared`, by width of value.
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

    /// The register that a slot's accesses start from; computed in the prologue.
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
        let mov = Make::new(Opcode::Mov, &[Modifier::Type(self.address)]);
        let mov = mov.write(base).symbol(&self.local);
        body.prologue.push(mov.inst(Purpose::Address));
        self.local_base = Some(base);
        base
    }

    /// stack + number of the thread in its block * width
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

    /// x + y * width of the block + z * width * height
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

    fn index(&self, body: &mut Body, name: &str) -> Var {
        let var = self.temporary(body);
        body.prologue.push(mov(var, name));
        var
    }

    fn temporary(&self, body: &mut Body) -> Var {
        fixed(body, &self.shared, ScalarType::U32)
    }
}

/// A new variable that is never spilled.
fn fixed(body: &mut Body, name: &str, ty: ScalarType) -> Var {
    body.new_var(VarInfo {
        name: name.to_owned(),
        ty,
        class: Class::of(ty, Typing::Kinds),
        unspillable: true,
    })
}

fn mov(to: Var, name: &str) -> Inst {
    let mov = Make::new(Opcode::Mov, &[Modifier::Type(ScalarType::U32)]);
    mov.write(to).symbol(name).inst(Purpose::Address)
}

fn mad() -> Make {
    Make::new(
        Opcode::Mad,
        &[Modifier::Lo, Modifier::Type(ScalarType::U32)],
    )
}

/// What spilling each variable would cost: accesses or instructions that make it again, each
/// `loop_weight` times as much for every loop around it.
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

/// Variables that are written once and read only by the next instruction: nothing is gained by
/// spilling them.
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

/// Spills variables: makes them again where they have a recipe, puts them on the stack otherwise.
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

    /// What is read before it is written reads as zero, as a register does.
    fn clear(&mut self, body: &mut Body, var: Var) {
        let Some(slot) = self.slot_of[var.index()] else {
            return;
        };
        let store = self.access(body, slot, var, Access::Write);
        let temp = store.1;
        let ty = bits(body.vars[temp.index()].class);
        let zero = Make::new(Opcode::Mov, &[Modifier::Type(ty)])
            .write(temp)
            .number(0);
        body.prologue.push(zero.inst(Purpose::Clear));
        body.prologue.push(store.0);
    }

    fn rewrite(&mut self, body: &mut Body, mut inst: Inst, out: &mut Vec<Item>) {
        let mut vars: Vec<Var> = Vec::new();
        for var in inst.mentions.iter().filter_map(|m| m.var) {
            if self.is_spilled(var) && !vars.contains(&var) {
                vars.push(var);
            }
        }
        let remade = |var: &Var| self.recipes[var.index()].is_some();
        if inst
            .writes()
            .any(|var| self.is_spilled(var) && remade(&var))
        {
            // It is the only definition; the value is made again wherever it is needed.
            if let Purpose::Original(number) = inst.purpose {
                out.push(Item::Deleted(number));
            }
            return;
        }
        let mut after = Vec::new();
        for var in vars {
            match self.slot_of[var.index()] {
                Some(slot) => self.fetch_and_put(body, &mut inst, slot, var, out, &mut after),
                None => self.remake(body, &mut inst, var, out),
            }
        }
        out.push(Item::Inst(Box::new(inst)));
        out.extend(after.into_iter().map(|inst| Item::Inst(Box::new(inst))));
    }

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

    /// A load (`Read`) or store of a slot, and the register that it goes to or comes from.
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
                let load = Make::new(Opcode::Ld, &modifiers).write(temp).address(base);
                load.inst(Purpose::Load(slot))
            }
            Access::Write => {
                let store = Make::new(Opcode::St, &modifiers).address(base).read(temp);
                store.inst(Purpose::Store(slot))
            }
        };
        (inst, temp)
    }

    fn remake(&mut self, body: &mut Body, inst: &mut Inst, var: Var, before: &mut Vec<Item>) {
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
            step.purpose = Purpose::Remake;
            before.push(Item::Inst(Box::new(step)));
            last = Some(temp);
        }
        if let Some(last) = last {
            replace(inst, var, last, Access::Read);
        }
    }
}

fn replace(inst: &mut Inst, var: Var, by: Var, access: Access) {
    for mention in &mut inst.mentions {
        if mention.var == Some(var) && mention.access == access {
            mention.var = Some(by);
        }
    }
}

/// Untyped bits as wide as a class.
fn bits(class: Class) -> ScalarType {
    match class.bytes() {
        2 => ScalarType::B16,
        8 => ScalarType::B64,
        _ => ScalarType::B32,
    }
}
