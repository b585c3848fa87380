//! Gaps: the parts of the life of a variable between two instructions that mention it. The
//! allocator decides for each gap whether the value stays in its register or rests in memory.
//!
//! A gap may extend over several blocks: it contains every point that control can reach from
//! another of its points without passing a mention. Where control enters or leaves a loop, gaps end
//! even without a mention, so that a value can rest in memory around a loop and stay in a register
//! inside of it, or the other way round (live-range splitting).
//!
//! Registers are counted at *stages*: stage `2 * i` is the moment at which instruction `i` reads,
//! and stage `2 * i + 1` the moment at which it writes.

use crate::body::{Body, Inst, Purpose, Var};
use crate::flow::Flow;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;
use warploom_ptx::access::Access;

/// A place for inserted code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Site {
    /// Before the instruction with this index.
    Before(usize),
    /// After the instruction with this index, in the same block.
    After(usize),
}

impl Site {
    /// Returns the index of the instruction.
    pub fn inst(self) -> usize {
        match self {
            Self::Before(at) | Self::After(at) => at,
        }
    }

    /// Returns the number of instructions before the place.
    pub fn point(self) -> usize {
        match self {
            Self::Before(at) => at,
            Self::After(at) => at + 1,
        }
    }
}

/// The way in which a gap of a variable ends and another begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The start of the function, for a variable that may be read before it is written.
    Entry,
    /// The boundary of a loop.
    Boundary,
    /// An instruction that reads the variable and does not write it.
    Read,
    /// An instruction that writes the variable and does not read it.
    Write,
    /// An instruction that reads the variable and then writes it.
    ReadWrite,
    /// An instruction with a guard that writes the variable in some lanes.
    Partial,
}

impl Kind {
    /// Returns whether the value must be in a register before the instruction.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite | Self::Partial)
    }

    /// Returns whether the instruction writes the variable.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite | Self::Partial)
    }
}

/// The end of a gap, the beginning of one, or both.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    pub var: Var,
    pub site: Site,
    pub kind: Kind,
    /// The segment, and later the gap, that ends here.
    pub before: Option<usize>,
    /// The segment, and later the gap, that begins here.
    pub after: Option<usize>,
}

/// The first and the last of some points, each the number of instructions before it.
type Points = (usize, usize);

/// The part of a gap that lies in one block.
#[derive(Clone, Debug)]
struct Segment {
    var: Var,
    points: Points,
    /// The stages at which a register is free if the value rests in memory.
    stages: Range<usize>,
}

/// A gap with the touches around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gap {
    pub var: Option<Var>,
    /// The stages at which a register is free if the value rests in memory.
    pub stages: Vec<Range<usize>>,
    /// The touches at which it ends.
    pub ends: Vec<usize>,
    /// The touches at which it begins.
    pub starts: Vec<usize>,
    /// Whether the value must stay in its register, because the gap ends with the store of the
    /// value in its slot.
    pub fixed: bool,
}

/// The gaps of all variables that can be spilled.
pub(crate) struct Gaps {
    pub touches: Vec<Touch>,
    pub gaps: Vec<Gap>,
    /// The gap of each variable at the points of each block, with the points, in order.
    at: FxHashMap<(usize, Var), Vec<(Points, usize)>>,
    /// The block of each instruction.
    block_of: Vec<usize>,
}

impl Gaps {
    /// Finds the gaps of the variables for which `eligible` is true.
    pub fn new(
        body: &Body,
        flow: &Flow,
        live_after: &[FixedBitSet],
        eligible: &FixedBitSet,
    ) -> Self {
        let insts: Vec<&Inst> = body.insts().collect();
        let mut builder = Builder {
            insts: &insts,
            flow,
            live_after,
            eligible,
            segments: Vec::new(),
            touches: Vec::new(),
            open: FxHashMap::default(),
            spans: FxHashMap::default(),
        };
        let mut edges = Vec::with_capacity(flow.blocks().len());
        for block in 0..flow.blocks().len() {
            edges.push(builder.block(block));
        }
        let mut gaps = builder.join(&edges);
        gaps.fix_stored(body, &insts);
        gaps
    }

    /// Finds the gaps between a value's definition and the store in its slot.
    fn fix_stored(&mut self, body: &Body, insts: &[&Inst]) {
        for touch in self.touches.iter().filter(|touch| touch.kind == Kind::Read) {
            let slot = body.vars[touch.var.index()].slot;
            if let (Purpose::Store(stored), Some(gap)) =
                (insts[touch.site.inst()].purpose, touch.before)
                && slot == Some(stored)
            {
                self.gaps[gap].fixed = true;
            }
        }
    }

    /// Returns the gap of a variable at a place, or `None` if it is not live there or cannot be
    /// spilled. Where gaps meet, it is the earlier one.
    pub fn gap_at(&self, var: Var, site: Site) -> Option<usize> {
        let block = *self.block_of.get(site.inst())?;
        let spans = self.at.get(&(block, var))?;
        let point = site.point();
        let holds = |((first, last), _): &&(Points, usize)| (*first..=*last).contains(&point);
        spans.iter().find(holds).map(|(_, gap)| *gap)
    }
}

/// The open segments at the two ends of a block.
struct Edge {
    start: Vec<(Var, usize)>,
    end: FxHashMap<Var, usize>,
}

struct Builder<'a> {
    insts: &'a [&'a Inst],
    flow: &'a Flow,
    live_after: &'a [FixedBitSet],
    eligible: &'a FixedBitSet,
    segments: Vec<Segment>,
    touches: Vec<Touch>,
    /// The open segment of each variable.
    open: FxHashMap<Var, usize>,
    /// The segments of each variable in each block.
    spans: FxHashMap<(usize, Var), Vec<usize>>,
}

impl Builder<'_> {
    /// Finds the segments and touches of one block.
    fn block(&mut self, block: usize) -> Edge {
        let (start, end) = (
            self.flow.blocks()[block].start,
            self.flow.blocks()[block].end,
        );
        let end = end.min(self.insts.len());
        self.open.clear();
        let live: Vec<Var> = self.eligible_of(self.flow.live_in(block));
        let mut edge = Edge {
            start: Vec::new(),
            end: FxHashMap::default(),
        };
        for var in live {
            let segment = self.begin(block, var, start, 2 * start);
            edge.start.push((var, segment));
            if block == 0 {
                self.touch(var, Site::Before(start), Kind::Entry, None, Some(segment));
            }
        }
        if start < end && self.follows_loop(block) {
            self.boundary(block, Site::Before(start));
        }
        let last = self.last_boundary(block, start, end);
        for at in start..end {
            if last == Some(Site::Before(at)) {
                self.boundary(block, Site::Before(at));
            }
            self.inst(block, at);
            if last == Some(Site::After(at)) {
                self.boundary(block, Site::After(at));
            }
        }
        edge.end = std::mem::take(&mut self.open);
        let open: BTreeSet<usize> = edge.end.values().copied().collect();
        for segment in open {
            self.finish(segment, end, 2 * end);
        }
        edge
    }

    fn eligible_of(&self, set: &FixedBitSet) -> Vec<Var> {
        let all = set.intersection(self.eligible);
        all.map(Var::new).collect()
    }

    /// Returns the place at which gaps end because a loop begins after the block: before the branch
    /// at its end, or after its last instruction.
    fn last_boundary(&self, block: usize, start: usize, end: usize) -> Option<Site> {
        let enters = |succ: &usize| {
            let mut loops = self.flow.loops.iter();
            loops.any(|inside| inside.contains(*succ) && !inside.contains(block))
        };
        if start == end || !self.flow.blocks()[block].succs.iter().any(enters) {
            return None;
        }
        let branches = self.insts[end - 1].control != crate::body::Control::Next;
        Some(match branches {
            true => Site::Before(end - 1),
            false => Site::After(end - 1),
        })
    }

    /// Returns whether a loop ends before the block.
    fn follows_loop(&self, block: usize) -> bool {
        let leaves = |inside: &FixedBitSet| {
            !inside.contains(block)
                && inside
                    .ones()
                    .any(|pred| self.flow.blocks()[pred].succs.contains(&block))
        };
        self.flow.loops.iter().any(leaves)
    }

    fn begin(&mut self, block: usize, var: Var, point: usize, stage: usize) -> usize {
        let segment = self.segments.len();
        self.segments.push(Segment {
            var,
            points: (point, point),
            stages: stage..stage,
        });
        self.open.insert(var, segment);
        self.spans.entry((block, var)).or_default().push(segment);
        segment
    }

    fn finish(&mut self, segment: usize, point: usize, stage: usize) {
        let segment = &mut self.segments[segment];
        segment.points.1 = point;
        segment.stages.end = stage.max(segment.stages.start);
    }

    fn touch(
        &mut self,
        var: Var,
        site: Site,
        kind: Kind,
        before: Option<usize>,
        after: Option<usize>,
    ) {
        self.touches.push(Touch {
            var,
            site,
            kind,
            before,
            after,
        });
    }

    /// Ends the gaps of all live variables at the boundary of a loop, and begins others.
    fn boundary(&mut self, block: usize, site: Site) {
        let mut vars: Vec<Var> = self.open.keys().copied().collect();
        vars.sort_unstable();
        let point = site.point();
        for var in vars {
            let before = self.open[&var];
            self.finish(before, point, 2 * point);
            let after = self.begin(block, var, point, 2 * point);
            self.touch(var, site, Kind::Boundary, Some(before), Some(after));
        }
    }

    /// Ends and begins the gaps of the variables that an instruction mentions.
    fn inst(&mut self, block: usize, at: usize) {
        let inst = self.insts[at];
        let mut vars: Vec<Var> = inst.mentions.iter().filter_map(|m| m.var).collect();
        vars.retain(|var| self.eligible.contains(var.index()));
        vars.sort_unstable();
        vars.dedup();
        for var in vars {
            let kind = kind(inst, var);
            let before = self.open.remove(&var);
            if let Some(before) = before {
                self.finish(before, at, 2 * at);
            }
            let stage = 2 * at + 1 + usize::from(kind.writes());
            let lives = self.live_after[at].contains(var.index());
            let after = lives.then(|| self.begin(block, var, at + 1, stage));
            self.touch(var, Site::Before(at), kind, before, after);
        }
    }

    /// Joins the segments at the ends of blocks into gaps.
    fn join(mut self, edges: &[Edge]) -> Gaps {
        let mut parent: Vec<usize> = (0..self.segments.len()).collect();
        for (block, edge) in edges.iter().enumerate() {
            for &succ in &self.flow.blocks()[block].succs {
                for (var, segment) in &edges[succ].start {
                    if let Some(from) = edge.end.get(var) {
                        let (a, b) = (root(&mut parent, *from), root(&mut parent, *segment));
                        parent[a.max(b)] = a.min(b);
                    }
                }
            }
        }
        let gap_of: Vec<usize> = (0..self.segments.len())
            .map(|segment| root(&mut parent, segment))
            .collect();
        let mut gaps = vec![Gap::default(); self.segments.len()];
        for (segment, gap) in self.segments.iter().zip(&gap_of) {
            gaps[*gap].var = Some(segment.var);
            gaps[*gap].stages.push(segment.stages.clone());
        }
        for (number, touch) in self.touches.iter_mut().enumerate() {
            touch.before = touch.before.map(|segment| gap_of[segment]);
            touch.after = touch.after.map(|segment| gap_of[segment]);
            if let Some(gap) = touch.before {
                gaps[gap].ends.push(number);
            }
            if let Some(gap) = touch.after {
                gaps[gap].starts.push(number);
            }
        }
        let span = |segment: &usize| (self.segments[*segment].points, gap_of[*segment]);
        let spans = self.spans.iter();
        Gaps {
            at: spans
                .map(|(key, segments)| (*key, segments.iter().map(span).collect()))
                .collect(),
            block_of: self.block_of(),
            touches: self.touches,
            gaps,
        }
    }

    fn block_of(&self) -> Vec<usize> {
        let blocks = self.flow.blocks().iter().enumerate();
        blocks
            .flat_map(|(number, block)| (block.start..block.end).map(move |_| number))
            .collect()
    }
}

/// Returns how an instruction uses a variable that it mentions.
fn kind(inst: &Inst, var: Var) -> Kind {
    let has = |access: Access| inst.vars(access).any(|other| other == var);
    match (has(Access::Read), has(Access::Write)) {
        (_, true) if inst.ast.guard.is_some() => Kind::Partial,
        (true, true) => Kind::ReadWrite,
        (false, true) => Kind::Write,
        _ => Kind::Read,
    }
}

/// Returns the representative of a segment.
fn root(parent: &mut [usize], mut of: usize) -> usize {
    while parent[of] != of {
        parent[of] = parent[parent[of]];
        of = parent[of];
    }
    of
}
