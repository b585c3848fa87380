//! Keys of the interconnect.

use crate::section::section;
use crate::spec::{LARGEST_NOC_BUFFER, NocKind};
use crate::value::{Rule, int, names};

names! {
    NocKind: KINDS {
        RandomCrossbar = "random-crossbar":
            "input-queued crossbar, seeded random arbitration, output held for a packet (GPUDuet)",
        LocalCrossbar = "local-crossbar": "packets as single flits, iSLIP (GPGPU-Sim 4.x)",
        TurnCrossbar = "turn-crossbar":
            "packets as single flits, inputs in turn (GPGPU-Sim 4.x, -icnt_arbiter_algo 0)",
        Fly = "fly": "one-stage butterfly with virtual channels and iSLIP (BookSim)",
    }
}

section! {
    NocSpec {
        kind: "kind", KINDS, "", "Kind of network.", "GPGPU-Sim -network_mode; BookSim topology";
        flit_bytes: "flit_bytes", int(1, 1024), "bytes",
            "Size of a flit.", "GPGPU-Sim -icnt_flit_size; BookSim flit_size";
        input_buffer: "input_buffer", int(1, LARGEST_NOC_BUFFER as u64), "flits (fly) or packets",
            "Input buffer of a port (fly: of each virtual channel).",
            "BookSim vc_buf_size; GPGPU-Sim -icnt_in_buffer_limit";
        output_buffer: "output_buffer", int(1, LARGEST_NOC_BUFFER as u64), "flits (fly) or packets",
            "Ejection buffer of a port.",
            "BookSim ejection_buffer_size; GPGPU-Sim -icnt_out_buffer_limit";
        injection_buffer: "injection_buffer", int(1, LARGEST_NOC_BUFFER as u64), "flits",
            "Flits that can wait at a port to enter the network (fly).", "BookSim input_buffer_size";
        boundary_buffer: "boundary_buffer", int(1, LARGEST_NOC_BUFFER as u64), "flits",
            "Flits that can wait at a port after the network (fly).", "BookSim boundary_buffer_size";
        virtual_channels: "virtual_channels", int(1, 64), "channels",
            "Virtual channels of a port (fly).", "BookSim num_vcs";
        input_speedup: "input_speedup", int(1, 16), "flits per cycle",
            "Flits that one input may send (fly).", "BookSim input_speedup";
        output_speedup: "output_speedup", int(1, 16), "flits per cycle",
            "Flits that one output may take (fly).", "BookSim output_speedup";
        internal_speedup_percent: "internal_speedup_percent", int(100, 1600), "percent",
            "Switch clock over link clock (fly).", "BookSim internal_speedup";
        hop_cycles: "hop_cycles", int(0, 1000), "network cycles",
            "From input buffer to output buffer without contention.",
            "BookSim routing, allocation and switch delays";
    } optional {
        sustainable_percent: "sustainable_percent", Rule::IntegerOrNone { min: 1, max: 100 },
            "percent of the peak",
            "Throughput that uniform traffic sustains, for utilisations; none: measured when needed.",
            "Lin, Mantor, Zhou, TACO 2018, section 4.1: 60 for a 16 x 16 crossbar";
    }
}
