//! Keys of the function units, their latencies, and the operand collectors.

use crate::section::section;
use crate::value::int;

section! {
    OpTiming {
        latency_cycles: "latency_cycles", int(1, 500), "core cycles",
            "Cycles to the result.", "GPGPU-Sim -ptx_opcode_latency_*";
        interval_cycles: "interval_cycles", int(1, 500), "core cycles",
            "Cycles until the unit takes another instruction.", "GPGPU-Sim -ptx_opcode_initiation_*";
    }
}

section! {
    TypeTiming {}
    within {
        add: "add";
        minmax: "minmax";
        mul: "mul";
        mad: "mad";
        div: "div";
    }
}

section! {
    UnitSpec {
        count: "count", int(0, 64), "units",
            "Units of an SM; 0: the kind does not exist.", "GPGPU-Sim -gpgpu_num_*_units";
        issue_width: "issue_width", int(0, 64), "instructions per cycle",
            "Issue slots into the collectors.", "GPGPU-Sim -gpgpu_pipeline_widths, ID_OC_*";
        dispatch_width: "dispatch_width", int(0, 64), "instructions per cycle",
            "Dispatch slots from the collectors.", "GPGPU-Sim -gpgpu_pipeline_widths, OC_EX_*";
    }
}

section! {
    UnitSpecs {}
    within {
        sp: "sp";
        dp: "dp";
        int: "int";
        sfu: "sfu";
        tensor: "tensor";
        mem: "mem";
        int_timing: "int_timing";
        f32_timing: "f32_timing";
        f64_timing: "f64_timing";
        sfu_timing: "sfu_timing";
        tensor_timing: "tensor_timing";
        shuffle_timing: "shuffle_timing";
    }
}

section! {
    CollectorSet {
        units: "units", int(0, 64), "collectors",
            "Collector units; 0: the set does not exist.",
            "GPGPU-Sim -gpgpu_operand_collector_num_units_*";
        in_ports: "in_ports", int(0, 64), "instructions per cycle",
            "Instructions taken from issue.", "GPGPU-Sim -gpgpu_operand_collector_num_in_ports_*";
        out_ports: "out_ports", int(0, 64), "instructions per cycle",
            "Instructions sent to the units.", "GPGPU-Sim -gpgpu_operand_collector_num_out_ports_*";
    }
}

section! {
    CollectorSpec {
        banks: "banks", int(1, 64), "banks",
            "Register-file banks.", "GPGPU-Sim -gpgpu_num_reg_banks";
        steps_per_cycle: "steps_per_cycle", int(1, 16), "steps per cycle",
            "Collector steps in a core cycle.", "GPGPU-Sim -gpgpu_reg_file_port_throughput";
    }
    within {
        sp: "sp";
        dp: "dp";
        int: "int";
        sfu: "sfu";
        tensor: "tensor";
        mem: "mem";
        general: "general";
    }
}
