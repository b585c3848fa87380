//! Activity factors of the files from which the presets `qv100` and `gtx480` come.
//!
//! GPGPU-Sim multiplies the energy that McPAT computes for a structure by the factor of its XML
//! file with this name. The quotient of the preset's energy and the factor here is McPAT's energy.

/// The factors of an event in AccelWattch's and in GPUWattch's file.
pub(super) struct Factor {
    /// Key of the event in energy presets.
    pub event: &'static str,
    /// Name and value in AccelWattch's `accelwattch_ptx_sim.xml` of the Quadro GV100.
    pub accelwattch: (&'static str, f64),
    /// Name and value in GPUWattch's `gpuwattch_gtx480.xml`.
    pub gpuwattch: (&'static str, f64),
}

const fn factor(
    event: &'static str,
    accelwattch: (&'static str, f64),
    gpuwattch: (&'static str, f64),
) -> Factor {
    Factor {
        event,
        accelwattch,
        gpuwattch,
    }
}

/// Factors of all events. A factor of 1 that a file leaves out is GPGPU-Sim's default.
pub(super) const FACTORS: &[Factor] = &[
    factor("decode", ("TOT_INST", 2.0), ("TOT_INST", 2.0)),
    factor("schedule", ("FP_INT", 4.57), ("FP_INT", 4.57)),
    factor("l1i_hit", ("IC_H", 11.44089762), ("IC_H", 2.14)),
    factor("l1i_miss", ("IC_M", 21.76302498), ("IC_M", 22.47)),
    factor("l1d_read_hit", ("DC_RH", 7.737353491), ("DC_RH", 22.14)),
    factor("l1d_read_miss", ("DC_RM", 8.618027871), ("DC_RM", 24.66)),
    factor("l1d_write_hit", ("DC_WH", 0.53469516), ("DC_WH", 1.53)),
    factor("l1d_write_miss", ("DC_WM", 13.9055689), ("DC_WM", 39.79)),
    factor(
        "coalescer_read_hit",
        ("DC_RH", 7.737353491),
        ("DC_RH", 22.14),
    ),
    factor(
        "coalescer_read_miss",
        ("DC_RM", 8.618027871),
        ("DC_RM", 24.66),
    ),
    factor(
        "coalescer_write_hit",
        ("DC_WH", 0.53469516),
        ("DC_WH", 1.53),
    ),
    factor(
        "coalescer_write_miss",
        ("DC_WM", 13.9055689),
        ("DC_WM", 39.79),
    ),
    factor("l1c_hit", ("CC_H", 0.65916315), ("CC_H", 11.07)),
    factor("l1c_miss", ("CC_M", 0.73418985), ("CC_M", 12.33)),
    factor("l1t_hit", ("TC_H", 0.01021), ("TC_H", 10.21)),
    factor("l1t_miss", ("TC_M", 0.02466), ("TC_M", 24.66)),
    factor(
        "shared_access",
        ("SHRD_ACC", 1.313660815),
        ("SHRD_ACC", 7.04),
    ),
    factor("register_read", ("REG_RD", 0.053279375), ("REG_RD", 0.14)),
    factor("register_write", ("REG_WR", 0.079919063), ("REG_WR", 0.21)),
    factor("other_operand", ("NON_REG_OPs", 1.0), ("NON_REG_OPs", 2.11)),
    factor("int_add", ("INT_ACC", 3.429666768), ("SP_ACC", 2.38)),
    factor(
        "int_mul24",
        ("INT_MUL24_ACC", 0.290770573),
        ("SFU_ACC", 0.51),
    ),
    factor(
        "int_mul32",
        ("INT_MUL32_ACC", 0.252598514),
        ("SFU_ACC", 0.51),
    ),
    factor("int_mul", ("INT_MUL_ACC", 0.148636575), ("SFU_ACC", 0.51)),
    factor("int_div", ("INT_DIV_ACC", 5.121706665), ("SFU_ACC", 0.51)),
    factor("fp_add", ("FP_ACC", 0.711591276), ("FPU_ACC", 0.64)),
    factor("fp_mul", ("FP_MUL_ACC", 0.212559571), ("SFU_ACC", 0.51)),
    factor("fp_div", ("FP_DIV_ACC", 4.599926258), ("SFU_ACC", 0.51)),
    factor("sqrt", ("FP_SQRT_ACC", 1.241271438), ("SFU_ACC", 0.51)),
    factor("log", ("FP_LG_ACC", 0.59034036), ("SFU_ACC", 0.51)),
    factor("sin", ("FP_SIN_ACC", 0.212555149), ("SFU_ACC", 0.51)),
    factor("exp", ("FP_EXP_ACC", 0.702043615), ("SFU_ACC", 0.51)),
    factor("dp_add", ("DP_ACC", 0.742812382), ("FPU_ACC", 0.64)),
    factor("dp_mul", ("DP_MUL_ACC", 0.282564496), ("SFU_ACC", 0.51)),
    factor("dp_div", ("DP_DIV_ACC", 25.84876211), ("SFU_ACC", 0.51)),
    factor("tensor", ("TENSOR_ACC", 2.485), ("SFU_ACC", 0.51)),
    factor("texture", ("TEX_ACC", 0.212559047), ("SFU_ACC", 0.51)),
    factor("pipeline", ("PIPE_A", 0.0257), ("PIPE_A", 2.57)),
    factor("l2_read_hit", ("L2_RH", 1.046834662), ("L2_RH", 13.79)),
    factor("l2_read_miss", ("L2_RM", 2.670605032), ("L2_RM", 35.18)),
    factor("l2_write_hit", ("L2_WH", 3.269555394), ("L2_WH", 43.07)),
    factor("l2_write_miss", ("L2_WM", 2.18020968), ("L2_WM", 28.72)),
    factor("flit", ("NOC_A", 83.18977901), ("NOC_A", 305.48)),
    factor("controller_read", ("MEM_RD", 0.02772), ("MEM_RD", 0.33)),
    factor("controller_write", ("MEM_WR", 0.0336), ("MEM_WR", 0.4)),
    factor("dram_read", ("MEM_RD", 0.02772), ("MEM_RD", 0.33)),
    factor("dram_write", ("MEM_WR", 0.0336), ("MEM_WR", 0.4)),
    factor("dram_precharge", ("MEM_PRE", 0.00924), ("MEM_PRE", 0.11)),
];
