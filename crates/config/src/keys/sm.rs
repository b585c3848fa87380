//! Keys of a streaming multiprocessor.

use super::cache::SET_INDEX;
use crate::section::section;
use crate::spec::{
    BranchOrder, Coalescing, Divergence, InstructionOrder, LatencyFrom, Products, SetIndex,
};
use crate::value::{Rule, int, names, pow2};

names! {
    BranchOrder: BRANCH_ORDER {
        TakenFirst = "taken-first": "the taken path (GPGPU-Sim 4.x)",
        HighestLaneLast = "highest-lane-last":
            "the path without the highest active lane (GPGPU-Sim 3.2.2)",
    }
    Divergence: DIVERGENCE {
        Stack = "stack":
            "a part of a warp runs until it meets the others, ends or waits for some of them at a \
             barrier or an operation of the warp (before Volta); one that spins runs for ever",
        Independent = "independent":
            "the same, but where a part spins the others run in turn with it (Volta and later)",
    }
    InstructionOrder: INSTRUCTION_ORDER {
        Text = "text": "the order of the PTX text (GPGPU-Sim)",
        Assembler = "assembler":
            "an order by dependences and latencies, within the registers of the launch",
    }
    Products: PRODUCTS {
        ByType = "by-type": "the pipe of the operands' type (GPGPU-Sim 4.x)",
        Sfu = "sfu":
            "SFU for integers; for floats SP or, while its input register is full, SFU (GPGPU-Sim \
             3.2.2)",
    }
    LatencyFrom: LATENCY_FROM {
        Unit = "unit":
            "the unit's acceptance: collectors and write-back add to it (GPGPU-Sim)",
        Issue = "issue":
            "issue, up to the issue of an instruction that needs the result: what micro-benchmarks \
             of dependent instructions measure",
    }
    Coalescing: COALESCING {
        Segments = "segments": "segments of 32, 64 or 128 bytes by access size, then shrunk",
        SegmentsAndSectors = "segments-and-sectors":
            "segments through L1D, 32-byte sectors for accesses that bypass it",
        Sectors = "sectors": "32-byte sectors",
    }
}

section! {
    SmSpec {
        max_threads: "max_threads", int(32, 4096), "threads",
            "Hardware threads, a multiple of 32.", "GPGPU-Sim -gpgpu_shader_core_pipeline, 1st";
        max_blocks: "max_blocks", int(1, 64), "blocks",
            "Block slots.", "GPGPU-Sim -gpgpu_shader_cta";
        registers: "registers", int(256, 1 << 20), "32-bit registers",
            "Size of the register file.", "GPGPU-Sim -gpgpu_shader_registers";
        register_granularity: "register_granularity", int(1, 64), "registers per thread",
            "Registers are granted per thread in multiples of this.",
            "GPGPU-Sim 3.2.2 and 4.2, source: 4";
        max_registers_per_thread: "max_registers_per_thread", int(8, 255), "registers",
            "Most registers that one thread may use.", "CUDA C++ Programming Guide, table of compute capabilities";
        shared_bytes: "shared_bytes", int(0, 1 << 20), "bytes",
            "Shared memory.", "GPGPU-Sim -gpgpu_shmem_size";
        max_shared_bytes_per_block: "max_shared_bytes_per_block", int(0, 1 << 20), "bytes",
            "Most shared memory of one block.", "GPGPU-Sim -gpgpu_shmem_per_block";
        adaptive_l1d: "adaptive_l1d", Rule::Switch, "",
            "Divide `sm.unified_kib` between L1D and shared memory for each kernel.",
            "GPGPU-Sim -gpgpu_adaptive_cache_config";
        unified_kib: "unified_kib", int(0, 4096), "KiB",
            "Memory that L1D and shared memory divide where `sm.adaptive_l1d` is on.",
            "GPGPU-Sim -gpgpu_unified_l1d_size";
        shared_options_kib: "shared_options_kib", Rule::Sizes, "KiB",
            "Sizes that shared memory may take of `sm.unified_kib`; the smallest that holds the \
             kernel's blocks is taken.",
            "GPGPU-Sim -gpgpu_shmem_option";
        barriers_per_block: "barriers_per_block", int(1, 16), "barriers",
            "Named barriers of a block; a kernel that uses others is at fault.", "GPGPU-Sim -gpgpu_num_cta_barriers";
        schedulers: "schedulers", int(1, 16), "schedulers",
            "Warp schedulers; warp w belongs to scheduler w modulo this.",
            "GPGPU-Sim -gpgpu_num_sched_per_core";
        max_issue_per_warp: "max_issue_per_warp", int(1, 2), "instructions per cycle",
            "Instructions that a scheduler may take from one warp in a cycle.",
            "GPGPU-Sim -gpgpu_max_insn_issue_per_warp";
        dual_issue_different_units: "dual_issue_different_units", Rule::Switch, "",
            "The second instruction of a dual issue must use another kind of unit.",
            "GPGPU-Sim -gpgpu_dual_issue_diff_exec_units";
        fetch_per_cycle: "fetch_per_cycle", int(1, 16), "steps per cycle",
            "Fetch and decode steps in a cycle.", "GPGPU-Sim -gpgpu_inst_fetch_throughput";
        sub_cores: "sub_cores", Rule::Switch, "",
            "Schedulers own register banks, collectors and units.",
            "GPGPU-Sim -gpgpu_sub_core_model";
        perfect_inst_const_cache: "perfect_inst_const_cache", Rule::Switch, "",
            "Instruction and constant caches always hit.",
            "GPGPU-Sim -gpgpu_perfect_inst_const_cache";
        writeback_width: "writeback_width", int(1, 64), "results per cycle",
            "Results written back in a cycle.", "GPGPU-Sim -gpgpu_pipeline_widths, EX_WB";
        shared_banks: "shared_banks", pow2(1, 32), "banks",
            "Shared-memory banks, each four bytes wide.", "GPGPU-Sim -gpgpu_shmem_num_banks";
        shared_warp_parts: "shared_warp_parts", pow2(1, 2), "parts",
            "Parts in which a warp accesses shared memory, and whose global and local accesses are \
             coalesced separately.",
            "GPGPU-Sim -gpgpu_shmem_warp_parts";
        shared_latency_cycles: "shared_latency_cycles", int(1, 1000), "core cycles",
            "Depth of the shared-memory pipeline.",
            "GPGPU-Sim -gpgpu_smem_latency; 3.2.2: 3 stages";
        wide_shared_conflicts: "wide_shared_conflicts", Rule::Switch, "",
            "Check 8- and 16-byte shared accesses for conflicts word by word; GPGPU-Sim looks at \
             the first word only.",
            "this program";
        global_skips_l1d: "global_skips_l1d", Rule::Switch, "",
            "Global accesses bypass L1D; in GPGPU-Sim 4.x loads with `.nc` do not.",
            "GPGPU-Sim -gpgpu_gmem_skip_L1D";
        l1d_latency_cycles: "l1d_latency_cycles", int(0, 1000), "core cycles",
            "L1D hit latency; 0 is the path of GPGPU-Sim 3.x without a latency queue.",
            "GPGPU-Sim -gpgpu_l1_latency";
        l1d_banks: "l1d_banks", pow2(1, 32), "banks",
            "L1D banks, each taking one access per cycle.", "GPGPU-Sim -gpgpu_l1_banks";
        mem_unit_ports: "mem_unit_ports", int(1, 16), "steps per cycle",
            "Steps of the load/store unit in a core cycle.", "GPGPU-Sim -gpgpu_mem_unit_ports";
        coalescing: "coalescing", COALESCING, "",
            "How the accesses of a warp become requests.", "GPGPU-Sim -gpgpu_coalesce_arch";
        response_fifo: "response_fifo", int(1, 1024), "packets",
            "Replies that can wait at the load/store unit.",
            "GPGPU-Sim -gpgpu_n_ldst_response_buffer_size";
        ejection_fifo: "ejection_fifo", int(1, 1024), "packets",
            "Packets that can wait between the network and the SM.",
            "GPGPU-Sim -gpgpu_n_cluster_ejection_buffer_size";
        branch_order: "branch_order", BRANCH_ORDER, "",
            "Which side of a divergent branch runs first.",
            "SIMT stacks of GPGPU-Sim 3.2.2 and 4.2";
    }
    defaulted {
        divergence: "divergence", DIVERGENCE, "",
            "Whether lanes of a warp make progress while others of it spin. Functional runs always \
             behave as with `independent`.",
            "CUDA C++ Programming Guide, Independent Thread Scheduling",
            Divergence::Stack, "stack";
        products: "products", PRODUCTS, "",
            "Pipe that mul and mad of integers and mul of floats issue to.",
            "instruction classes of GPGPU-Sim 3.2.2 and 4.2",
            Products::ByType, "by-type";
        l1d_one_line: "l1d_one_line", Rule::Switch, "",
            "Accesses that enter the banks of L1D in a cycle are of one line; off, of as many as there \
             are banks.",
            "this program; GPGPU-Sim: off", false, "false";
        shared_phases: "shared_phases", Rule::Switch, "",
            "A shared-memory access of 8 bytes a lane takes a phase for each half of the warp, one of \
             16 bytes for each quarter, with conflicts within a phase; two phases are one where \
             lanes want the same words in pairs. Takes the place of `sm.wide_shared_conflicts`.",
            "NVIDIA's developer forum 2019, for compute capability 7.0 and 7.5; GTC 2019, S9593",
            false, "false";
        folds_instructions: "folds_instructions", Rule::Switch, "",
            "Instructions that NVIDIA's assembler removes do not issue: register moves, loads of \
             kernel parameters, literals in registers, `cvta` of global addresses, results that \
             nothing uses; a product and its sum are one instruction, as are a shift and its sum \
             and two bitwise operations, short branches become guards, and short or known loops \
             are unrolled.",
            "this program: CUDA Binary Utilities lists machine instructions whose operands are \
             constants, and IMAD",
            false, "false";
        machine_instructions: "machine_instructions", Rule::Switch, "",
            "An instruction of PTX that is several machine instructions takes as many issue slots of \
             its scheduler, and approximate divisions and exact roots have latencies of their own.",
            "this program: counted in the machine code that CUDA 13.0 makes for `sm_90`",
            false, "false";
        root_latency_cycles: "root_latency_cycles", int(0, 500), "core cycles",
            "With `sm.machine_instructions`, cycles to the result of an exactly rounded square root \
             or reciprocal of f32; 0: the latency of `sm.units.sfu_timing`.",
            "this program", 0, "0";
        guard_latency_cycles: "guard_latency_cycles", int(0, 100), "core cycles",
            "Least cycles from the issue of an instruction that writes a predicate to the issue of one \
             that the predicate guards, branches included; 0: as to any reader.",
            "this program: read from the control codes of CUDA 13.0's assembler", 0, "0";
        branch_cycles: "branch_cycles", int(0, 100), "core cycles",
            "Least cycles from the issue of a branch or barrier to that of the warp's next \
             instruction; above 0, instructions that contain a branch, such as exact divisions, \
             hold their warp until their result; 0: neither.",
            "this program: read from the control codes of CUDA 13.0's assembler", 0, "0";
        memory_issue_cycles: "memory_issue_cycles", int(0, 100), "core cycles",
            "Least cycles from the issue of a memory instruction to that of the same scheduler's next \
             one; 0 and 1: none between them.",
            "Huerta and others 2025: a sub-core computes the addresses of an instruction in four \
             cycles",
            0, "0";
        instruction_order: "instruction_order", INSTRUCTION_ORDER, "",
            "Order in which the instructions of a basic block issue.",
            "this program: Huerta and others 2025 describe dependences that the compiler manages",
            InstructionOrder::Text, "text";
        instruction_bytes: "instruction_bytes", pow2(8, 16), "bytes",
            "Bytes of an instruction in memory and in the instruction cache.",
            "GPGPU-Sim: 8; Jia and others 2018: 16 on Volta",
            8, "8";
        prefetched_code_lines: "prefetched_code_lines", int(0, 64), "lines",
            "Lines that a stream buffer requests after one that misses the instruction cache, and \
             keeps ahead of the warps; 0: no stream buffer.",
            "Jouppi 1990; Huerta and others 2025 find one likely on NVIDIA's GPUs",
            0, "0";
        code_latency_cycles: "code_latency_cycles", int(0, 5000), "core cycles",
            "Cycles from a miss of the instruction cache to its line, which comes from a cache with \
             all code between SMs and L2; 0: it comes from L2 through the network.",
            "this program: NVIDIA's launch descriptors (QMD) have the code read ahead at a launch",
            0, "0";
        perfect_const_cache: "perfect_const_cache", Rule::Switch, "",
            "The constant cache always hits, whatever `sm.perfect_inst_const_cache` is.",
            "this program", false, "false";
        shared_one_broadcast: "shared_one_broadcast", Rule::Switch, "",
            "Shared memory broadcasts one word to all lanes that access it; others are served lane by \
             lane, as on GT200. Only the first word of each access is checked.",
            "GPGPU-Sim -gpgpu_shmem_limited_broadcast", false, "false";
        shared_atomic_cycles: "shared_atomic_cycles", int(0, 1000), "core cycles",
            "Cycles for each further lane of an `atom` or `red` on the same word of shared memory, which \
             is busy in the first of them; GPGPU-Sim has none.",
            "this program: NVIDIA's documentation states that such lanes are served one after the \
             other",
            0, "0";
        latency_from: "latency_from", LATENCY_FROM, "",
            "Event from which the latencies of `sm.units` count.",
            "this program: Huerta and others 2025 describe dependences of fixed latency that count \
             from issue",
            LatencyFrom::Unit, "unit";
        bulk_interval_cycles: "bulk_interval_cycles", int(1, 1000), "core cycles",
            "Cycles from the first request of a bulk copy to that of the next.",
            "public configuration of FlashGPU-Sim for the H100", 32, "32";
        bulk_requests: "bulk_requests", int(1, 65_536), "requests",
            "Requests of bulk copies that an SM may have without a reply.",
            "public configuration of FlashGPU-Sim for the H100", 384, "384";
        bulk_issue_cycles: "bulk_issue_cycles", int(0, 1000), "core cycles",
            "Cycles for which a bulk copy holds its warp once the unit for bulk copies begins with it.",
            "public configuration of FlashGPU-Sim for the RTX 5090", 0, "0";
        warp_group_cycles: "warp_group_cycles", int(0, 14), "core cycles",
            "Cycles for which eight columns of a product `wgmma` keep a tensor unit busy; 0: their \
             share of `sm.units.tensor_timing`.",
            "this program", 0, "0";
        warp_group_latency_cycles: "warp_group_latency_cycles", int(0, 500), "core cycles",
            "Cycles from the end of that time to the result; 0: the latency of \
             `sm.units.tensor_timing`.",
            "this program", 0, "0";
        cluster_latency_cycles: "cluster_latency_cycles", int(2, 2000), "core cycles",
            "Cycles from an access of shared memory of another block of the cluster to its result; \
             messages about barriers take half of it.",
            "Luo and others, Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, 2024",
            180, "180";
        cluster_bytes_per_cycle: "cluster_bytes_per_cycle", int(1, 1024), "bytes",
            "Bytes that an SM exchanges with shared memory of other blocks of a cluster in a cycle.",
            "this program: 19.87 bytes a cycle were measured on an H200", 20, "20";
        l1d_bank_bytes: "l1d_bank_bytes", pow2(4, 1024), "bytes",
            "Bytes after which the next L1D bank begins.",
            "GPGPU-Sim -gpgpu_l1_banks_byte_interleaving", 32, "32";
        l1d_bank_index: "l1d_bank_index", SET_INDEX, "",
            "How the L1D bank of an address is chosen.",
            "GPGPU-Sim -gpgpu_l1_banks_hashing_function", SetIndex::Linear, "linear";
    }
    within {
        warp_scheduler: "warp_scheduler";
        context: "context";
        block_limit: "block_limit";
        l1d_allocation: "l1d_allocation";
        l1d_victims: "l1d_victims";
        units: "units";
        collectors: "collectors";
    }
}
