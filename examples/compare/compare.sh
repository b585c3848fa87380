#!/bin/sh
# Compares three warp schedulers at three numbers of blocks on an SM: a table, a chart for a talk,
# and a CSV file for a spreadsheet. Files go to the folder in $1, or to the current one.
set -eu
out=${1:-.}
here=$(dirname "$0")
warploom compare "$here/../saxpy/saxpy.toml" \
    --vary sm.warp_scheduler=lrr,gto,two-level \
    --vary gpu.max_blocks_per_sm=2,4,6 \
    --csv "$out/schedulers.csv" --svg "$out/schedulers.svg"
