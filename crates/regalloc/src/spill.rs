//! The spill stack, and the costs of spilling.
//!
//! Accesses to local memory name the spill stack itself, which PTX permits with an offset. (CRAT's
//! Listing 4 keeps its base in a register instead; Xie et al., MICRO 2015.) Accesses to shared
//! memory use one register for each width of value, which holds the thread's own address in the
//! layout. The layout places the values of the lanes of a warp side by side, slot after slot, so
//! that they are in different banks.

use crate::body::{Body, Inst, Purpose, Slot, Var, VarInfo};
use crate::class::{Class, PerClass, Typing};
use crate::evict::ACCESS_COST;
use crate::graph::NEVER;
use crate::inst_builder::InstBuilder;
use crate::rematerialize::Recipes;
use fixedbitset::FixedBitSet;
use warploom_ptx::access::Access;
use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

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
    /// The variables that hold the thread's own address in `shared`, each with the width of its
    /// values in bytes.
    shared_bases: Vec<(u32, Var)>,
}

impl Stack {
    pub fn new(names: [String; 2]) -> Self {
        let [local, shared] = names;
        Self {
            local,
            shared,
            places: PerClass::default(),
            block: [1; 3],
            shared_bases: Vec::new(),
        }
    }

    /// Returns the variable that holds the thread's own address in shared memory for values of a
    /// width, and computes it in the prologue if necessary.
    pub(crate) fn shared_base(&mut self, body: &mut Body, bytes: u32) -> Var {
        match self.shared_bases.iter().find(|(width, _)| *width == bytes) {
            Some((_, base)) => *base,
            None => self.make_shared_base(body, bytes),
        }
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
        slot: None,
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

/// Returns the estimated cost of spilling each variable everywhere: the number of memory accesses
/// or recomputing instructions, by the weight of each instruction.
pub(crate) fn costs(body: &Body, weights: &[u64], recipes: &Recipes) -> Vec<u64> {
    let mut costs = vec![0_u64; body.vars.len()];
    for (inst, weight) in body.insts().zip(weights) {
        for (nth, mention) in inst.mentions.iter().enumerate() {
            let Some(var) = mention.var else { continue };
            if inst.mentions[..nth].contains(mention) {
                continue;
            }
            let each = match (recipes.has(var), mention.access) {
                (true, Access::Write) => 0,
                (true, Access::Read) => 1,
                (false, Access::Write) if inst.ast.guard.is_some() => 2 * ACCESS_COST,
                (false, _) => ACCESS_COST,
            };
            let cost = &mut costs[var.index()];
            *cost = cost
                .saturating_add(each.saturating_mul(*weight))
                .min(NEVER - 1);
        }
    }
    let fixed = unspillable(body);
    fixed.ones().for_each(|var| costs[var] = NEVER);
    costs
}

/// Returns the variables that must stay in registers.
pub(crate) fn unspillable(body: &Body) -> FixedBitSet {
    let mut fixed = short_lived(body);
    for (var, info) in body.vars.iter().enumerate() {
        let odd = matches!(info.class, Class::Pred | Class::B8 | Class::B128);
        fixed.set(var, fixed.contains(var) || info.unspillable || odd);
    }
    fixed
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

pub(crate) fn new_slot(body: &mut Body, stack: &Stack, var: Var) -> Slot {
    let class = Class::of(body.vars[var.index()].ty, Typing::Kinds);
    body.slots.push(SlotInfo {
        var,
        stack: class,
        place: stack.places[class],
        offset: 0,
    });
    Slot::new(body.slots.len() - 1)
}

/// Returns the untyped type with the width of a class.
pub(crate) fn bits(class: Class) -> ScalarType {
    match class.bytes() {
        2 => ScalarType::B16,
        8 => ScalarType::B64,
        _ => ScalarType::B32,
    }
}
