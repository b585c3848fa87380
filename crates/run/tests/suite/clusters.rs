//! Kernels whose clusters of several blocks access each other's shared memory, drawn at random:
//! results are those of a plain reference, without timing and timed, and cycles depend neither on
//! the number of threads nor on whether idle SMs are skipped.

use std::fmt::Write;
use std::ops::ControlFlow;
use warploom_base::{Dim3, Rng};
use warploom_config::{Base, resolve};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

/// Action of every thread between two barriers of the cluster.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Stores its accumulator; no two threads to the same place.
    Store,
    /// Loads, and adds to its accumulator.
    Load,
    /// Adds its accumulator to a place, without a result.
    Add,
}

/// An access in one phase of a kernel: thread `t` of the block of rank `r` accesses word
/// `(t * step + shift) % threads` of the block of rank `(r + turn) % blocks`.
#[derive(Clone, Copy, Debug)]
struct Phase {
    act: Act,
    turn: u32,
    step: u32,
    shift: u32,
    /// True for generic addresses.
    generic: bool,
}

struct Case {
    cluster: Dim3,
    clusters: Dim3,
    threads: u32,
    phases: Vec<Phase>,
}

impl Case {
    fn draw(rng: &mut Rng) -> Self {
        let shapes = [(2, 1), (1, 2), (2, 2), (3, 1), (4, 2), (8, 1), (16, 1)];
        let (x, y) = shapes[rng.below(shapes.len() as u32) as usize];
        let cluster = Dim3::new(x, y, 1);
        let threads = [32, 40, 64, 96][rng.below(4) as usize];
        let phase = |rng: &mut Rng| Phase {
            act: [Act::Store, Act::Load, Act::Add][rng.below(3) as usize],
            turn: rng.below(x * y),
            // No factor of any number of threads.
            step: [1, 7, 11, 13][rng.below(4) as usize],
            shift: rng.below(threads),
            generic: rng.below(2) == 0,
        };
        Self {
            cluster,
            clusters: Dim3::new(1 + rng.below(3), 1 + rng.below(2), 1),
            threads,
            phases: (0..3 + rng.below(5)).map(|_| phase(rng)).collect(),
        }
    }

    fn blocks(&self) -> u32 {
        self.cluster.count() as u32
    }

    fn grid(&self) -> Dim3 {
        let (of, each) = (self.clusters, self.cluster);
        Dim3::new(of.x * each.x, of.y * each.y, 1)
    }

    fn ptx(&self) -> String {
        let mut code = String::new();
        for Phase {
            act,
            turn,
            step,
            shift,
            generic,
        } in &self.phases
        {
            let _ = write!(
                code,
                "barrier.cluster.arrive; barrier.cluster.wait;\n\
                 add.u32 %at, %rank, {turn}; rem.u32 %at, %at, {blocks};\n\
                 mad.lo.u32 %i, %t, {step}, {shift}; rem.u32 %i, %i, {threads};\n\
                 shl.b32 %i, %i, 2; mov.u32 %p, s; add.u32 %p, %p, %i;\n",
                blocks = self.blocks(),
                threads = self.threads,
            );
            let (space, place) = match generic {
                true => {
                    code += "cvt.u64.u32 %g, %p; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, %at;\n";
                    ("", "%g")
                }
                false => {
                    code += "mapa.shared::cluster.u32 %p, %p, %at;\n";
                    (".shared::cluster", "%p")
                }
            };
            let _ = match act {
                Act::Store => writeln!(code, "st{space}.u32 [{place}], %acc;"),
                Act::Load => writeln!(code, "ld{space}.u32 %v, [{place}]; add.u32 %acc, %acc, %v;"),
                Act::Add => writeln!(code, "red{space}.add.u32 [{place}], %acc;"),
            };
        }
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 out) {{\n\
             .shared .align 4 .b8 s[{bytes}];\n.reg .b64 %o, %g;\n\
             .reg .b32 %t, %rank, %at, %i, %p, %v, %acc, %block;\n\
             mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank; ld.param.u64 %o, [out];\n\
             mov.u32 %block, %ctaid.y; mov.u32 %i, %nctaid.x; mul.lo.u32 %block, %block, %i;\n\
             mov.u32 %i, %ctaid.x; add.u32 %block, %block, %i;\n\
             mad.lo.u32 %i, %block, {threads}, %t; add.u32 %acc, %i, 1;\n\
             mul.wide.u32 %g, %i, 8; add.u64 %o, %o, %g;\n\
             shl.b32 %i, %t, 2; mov.u32 %p, s; add.u32 %p, %p, %i; st.shared.u32 [%p], %t;\n\
             {code}barrier.cluster.arrive; barrier.cluster.wait;\n\
             shl.b32 %i, %t, 2; mov.u32 %p, s; add.u32 %p, %p, %i; ld.shared.u32 %v, [%p];\n\
             st.global.u32 [%o], %acc; st.global.u32 [%o+4], %v; ret; }}\n",
            bytes = 4 * self.threads,
            threads = self.threads,
        )
    }

    /// Accumulator and word of shared memory of every thread, blocks in the order of the grid.
    fn reference(&self) -> Vec<u32> {
        let grid = self.grid();
        let threads = self.threads as usize;
        let blocks = grid.count() as usize;
        let index = |x: u32, y: u32| (y * grid.x + x) as usize;
        let mut acc: Vec<u32> = (1..=(blocks * threads) as u32).collect();
        let mut shared: Vec<u32> = (0..blocks).flat_map(|_| 0..self.threads).collect();
        // The block of rank `turn` further, and the rank of each block.
        let other = |x: u32, y: u32, turn: u32| {
            let (cx, cy) = (self.cluster.x, self.cluster.y);
            let rank = (x % cx + y % cy * cx + turn) % (cx * cy);
            index(x / cx * cx + rank % cx, y / cy * cy + rank / cx)
        };
        for phase in &self.phases {
            let before = (acc.clone(), shared.clone());
            for (x, y) in (0..grid.y).flat_map(|y| (0..grid.x).map(move |x| (x, y))) {
                let (own, at) = (index(x, y), other(x, y, phase.turn));
                for t in 0..threads {
                    let word = (t as u32 * phase.step + phase.shift) % self.threads;
                    let (mine, place) = (own * threads + t, at * threads + word as usize);
                    match phase.act {
                        Act::Store => shared[place] = before.0[mine],
                        Act::Load => acc[mine] = before.0[mine].wrapping_add(before.1[place]),
                        Act::Add => shared[place] = shared[place].wrapping_add(before.0[mine]),
                    }
                }
            }
        }
        let both = acc.iter().zip(&shared);
        both.flat_map(|(acc, word)| [*acc, *word]).collect()
    }
}

/// A launch of a kernel `k`, whose only parameter is a buffer of `words`.
struct Host {
    ptx: String,
    grid: Dim3,
    block: u32,
    cluster: Dim3,
    out: Option<DevicePtr>,
    words: Vec<u32>,
}

impl HostProgram for Host {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let count = self.words.len();
        if let Some(out) = self.out {
            let mut bytes = vec![0; 4 * count];
            device.read(out, &mut bytes)?;
            for (word, bytes) in self.words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("cluster.ptx", &self.ptx)?;
        let out = device.alloc(4 * count as u64)?;
        self.out = Some(out);
        let (block, args) = (Dim3::linear(self.block), vec![Arg::Pointer(out)]);
        Ok(HostAction::Launch(Launch {
            cluster: Some(self.cluster),
            ..Launch::new(module, "k", self.grid, block, args)
        }))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Runs a launch. Returns the digest of the run, cycles included.
fn run(host: &mut Host, sets: &[String], options: Options) -> String {
    let base = Base::Preset("gtx480".to_owned());
    let spec = resolve(&base, sets).unwrap_or_else(|errors| panic!("{errors}"));
    let options = Options {
        max_cycles: Some(1 << 22),
        ..options
    };
    let report = Session::new(spec, options)
        .run(host, &mut |_| ControlFlow::Continue(()))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.outcome, Outcome::Finished, "{}", host.ptx);
    report.digest
}

/// Digest of a run whose words have to be those of the reference.
fn digest(case: &Case, sets: &[String], options: Options) -> String {
    let mut host = Host {
        ptx: case.ptx(),
        grid: case.grid(),
        block: case.threads,
        cluster: case.cluster,
        out: None,
        words: vec![0; case.grid().count() as usize * case.threads as usize * 2],
    };
    let digest = run(&mut host, sets, options);
    assert_eq!(host.words, case.reference(), "{}", case.ptx());
    digest
}

#[test]
fn shared_memory_of_clusters_is_that_of_the_reference() {
    let mut rng = Rng::new(65);
    for _ in 0..12 {
        let case = Case::draw(&mut rng);
        let gpcs = if case.blocks() > 8 {
            1
        } else {
            1 + rng.below(2)
        };
        let latency = [2, 9, 180][rng.below(3) as usize];
        let mut sets = vec![
            format!("gpu.gpcs={gpcs}"),
            format!("sm.cluster_latency_cycles={latency}"),
        ];
        let untimed = Options {
            functional: true,
            ..Options::default()
        };
        digest(&case, &sets, untimed);
        let on = |threads: usize| Options {
            threads,
            ..Options::default()
        };
        let first = digest(&case, &sets, on(1));
        assert_eq!(digest(&case, &sets, on(3)), first, "threads");
        sets.push("sim.skip_idle=false".to_owned());
        assert_eq!(digest(&case, &sets, on(1)), first, "idle SMs");
    }
}

/// The blocks of a cluster run on SMs of one GPC, of which each gets one before any gets a second
/// one.
#[test]
fn blocks_of_a_cluster_share_a_gpc() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 out) {\n\
        .reg .b64 %o, %w; .reg .b32 %b, %s;\n\
        mov.u32 %s, %smid; mov.u32 %b, %ctaid.x;\n\
        ld.param.u64 %o, [out]; mul.wide.u32 %w, %b, 4; add.u64 %o, %o, %w;\n\
        st.global.u32 [%o], %s; ret; }\n";
    // 15 SMs in GPCs of 5.
    let sets = ["gpu.gpcs=3".to_owned()];
    for blocks in [4, 8] {
        let mut host = Host {
            ptx: ptx.to_owned(),
            grid: Dim3::linear(3 * blocks),
            block: 512,
            cluster: Dim3::linear(blocks),
            out: None,
            words: vec![0; 3 * blocks as usize],
        };
        run(&mut host, &sets, Options::default());
        for cluster in host.words.chunks_exact(blocks as usize) {
            let gpc = cluster[0] / 5;
            let mut held = [0; 5];
            for sm in cluster {
                assert_eq!(sm / 5, gpc, "{cluster:?}");
                held[*sm as usize % 5] += 1;
            }
            let (least, most) = (held.iter().min(), held.iter().max());
            assert!(
                most.zip(least)
                    .is_some_and(|(most, least)| most - least <= 1)
            );
        }
    }
}
