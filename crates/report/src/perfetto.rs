//! Timelines for the Perfetto UI (<https://ui.perfetto.dev>), in Chrome's trace event format. An SM
//! is a process, and a warp slot or context is a thread. One microsecond in the timeline is one
//! core cycle.

use std::fmt::Write;
use warploom_stats::result::Series;
use warploom_stats::trace::{Activity, Trace, TraceEvent};

/// Process of the whole GPU in the timeline; SMs have 16-bit numbers.
const GPU: u32 = 1 << 16;

/// The timeline as JSON, with one line per event. A series with power adds counter tracks of watts:
/// the mean of each window, by component and in all.
pub fn perfetto(trace: &Trace, series: Option<&Series>) -> String {
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    let mut rows: Vec<&[TraceEvent]> = Vec::new();
    let mut events = trace.events.clone();
    events.sort_by_key(|event| (event.sm, event.row, event.at));
    for row in events.chunk_by(|a, b| (a.sm, a.row) == (b.sm, b.row)) {
        rows.push(row);
    }
    let mut lines = Vec::new();
    let mut named = None;
    for row in &rows {
        let (sm, number) = (row[0].sm, row[0].row);
        // Rows are in the order of SMs.
        if named.replace(sm) != Some(sm) {
            lines.push(format!(
                "{{\"ph\":\"M\",\"pid\":{sm},\"name\":\"process_name\",\"args\":{{\"name\":\"SM {sm}\"}}}}"
            ));
        }
        lines.push(format!(
            "{{\"ph\":\"M\",\"pid\":{sm},\"tid\":{number},\"name\":\"thread_name\",\
             \"args\":{{\"name\":\"warp {number}\"}}}}"
        ));
        slices(row, trace.end, &mut lines);
    }
    if let Some(series) = series {
        watts(series, &mut lines);
    }
    let _ = write!(text, "{}", lines.join(",\n"));
    text.push_str("\n]}\n");
    text
}

/// Writes a counter for each window of a series with power, and zeros at its end.
fn watts(series: &Series, lines: &mut Vec<String>) {
    if series.watts.is_empty() {
        return;
    }
    lines.push(format!(
        "{{\"ph\":\"M\",\"pid\":{GPU},\"name\":\"process_name\",\"args\":{{\"name\":\"GPU\"}}}}"
    ));
    let counter = |at: u64, value: &dyn Fn(&[f64]) -> f64| {
        let parts = series.watts.iter();
        let parts = parts.map(|(part, values)| format!("\"{part}\":{}", value(values)));
        format!(
            "{{\"ph\":\"C\",\"pid\":{GPU},\"ts\":{at},\"name\":\"watts\",\"args\":{{{}}}}}",
            parts.collect::<Vec<_>>().join(",")
        )
    };
    for (window, start) in series.start.iter().enumerate() {
        let value = |values: &[f64]| values.get(window).copied().unwrap_or(0.0);
        lines.push(counter(*start, &value));
    }
    if let Some(end) = series.end.last() {
        lines.push(counter(*end, &|_| 0.0));
    }
}

/// Writes a slice for each warp of a row, which contains a slice for each of its states.
fn slices(row: &[TraceEvent], end: u64, lines: &mut Vec<String>) {
    let ends = row.iter().skip(1).map(|next| next.at).chain([end]);
    let spans: Vec<_> = row.iter().zip(ends).collect();
    let same = |a: &(&TraceEvent, u64), b: &(&TraceEvent, u64)| {
        let warp =
            |of: &(&TraceEvent, u64)| (of.0.block, of.0.warp, of.0.activity == Activity::None);
        warp(a) == warp(b)
    };
    for warp in spans.chunk_by(same) {
        let (first, last) = (warp[0].0, warp[warp.len() - 1].1);
        if first.activity == Activity::None {
            continue;
        }
        let name = format!("block {}, warp {}", first.block, first.warp);
        lines.push(slice(first, &name, first.at, last));
        for (event, until) in warp {
            if let Some(name) = event.activity.name() {
                lines.push(slice(event, name, event.at, *until));
            }
        }
    }
}

fn slice(event: &TraceEvent, name: &str, from: u64, to: u64) -> String {
    let TraceEvent { sm, row, .. } = event;
    format!(
        "{{\"ph\":\"X\",\"pid\":{sm},\"tid\":{row},\"ts\":{from},\"dur\":{},\"name\":\"{name}\"}}",
        to - from
    )
}

#[cfg(test)]
mod tests {
    use super::perfetto;
    use std::collections::BTreeMap;
    use warploom_stats::result::Series;
    use warploom_stats::trace::{Activity, Trace, TraceEvent};

    fn event(at: u64, row: u16, activity: Activity) -> TraceEvent {
        TraceEvent {
            at,
            sm: 1,
            row,
            block: 7,
            warp: 2,
            activity,
        }
    }

    /// A warp runs for 5 cycles, waits for 10, and is switched out until the end. Names, nesting
    /// and times are checked.
    #[test]
    fn slices_nest_and_touch() {
        let trace = Trace {
            events: vec![
                event(10, 3, Activity::Runs),
                event(15, 3, Activity::WaitsForMemory),
                event(25, 3, Activity::Out),
                event(40, 3, Activity::None),
            ],
            end: 50,
        };
        let text = perfetto(&trace, None);
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let events = json["traceEvents"].as_array().expect("a list");
        let slices: Vec<_> = events
            .iter()
            .filter(|e| e["ph"] == "X")
            .map(|e| {
                let number = |key: &str| e[key].as_u64().unwrap_or_default();
                (
                    e["name"].as_str().unwrap_or_default(),
                    number("ts"),
                    number("dur"),
                )
            })
            .collect();
        assert_eq!(
            slices,
            [
                ("block 7, warp 2", 10, 30),
                ("runs", 10, 5),
                ("waits for memory", 15, 10),
                ("out", 25, 15),
            ]
        );
        assert!(events.iter().all(|e| e["pid"] == 1));
    }

    /// Each SM has its name once, before its rows. The work grows with the number of events alone: a
    /// timeline of this size took minutes when each row looked through all lines.
    #[test]
    fn many_rows_have_one_name_for_each_sm() {
        let rows = (0..32 * 64).map(|row| (row / 64, row % 64));
        let events = rows.flat_map(|(sm, row)| {
            (0..40).map(move |at| TraceEvent {
                at,
                sm,
                row,
                ..event(at, row, Activity::Runs)
            })
        });
        let trace = Trace {
            events: events.collect(),
            end: 50,
        };
        let text = perfetto(&trace, None);
        let named = |line: &&str| line.contains("process_name");
        let names: Vec<_> = text.lines().filter(named).collect();
        assert_eq!(names.len(), 32);
        assert!(names[31].contains("\"SM 31\""), "{}", names[31]);
    }

    #[test]
    fn windows_with_power_become_counters() {
        let series = Series {
            window_cycles: 100,
            start: vec![0, 100],
            end: vec![100, 150],
            columns: BTreeMap::new(),
            watts: [
                ("dram".to_owned(), vec![2.5, 0.5]),
                ("total".to_owned(), vec![4.0, 1.0]),
            ]
            .into(),
        };
        let text = perfetto(&Trace::default(), Some(&series));
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let events = json["traceEvents"].as_array().expect("a list");
        let counters: Vec<_> = events
            .iter()
            .filter(|e| e["ph"] == "C" && e["name"] == "watts" && e["pid"] == 65536)
            .map(|e| {
                (
                    e["ts"].as_u64(),
                    e["args"]["dram"].as_f64(),
                    e["args"]["total"].as_f64(),
                )
            })
            .collect();
        let at = |ts, dram, total| (Some(ts), Some(dram), Some(total));
        assert_eq!(
            counters,
            [at(0, 2.5, 4.0), at(100, 0.5, 1.0), at(150, 0.0, 0.0)]
        );
    }
}
