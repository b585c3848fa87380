"""Results, frames, workloads and machines."""

import json

import pytest

import warploom
from warploom import Frame, Gpu, InputError, _command


@pytest.fixture(scope="module")
def result():
    gpu = Gpu("gtx480", sm__warp_scheduler="lrr").options(window=1000, energy=True)
    return warploom.workload("vectoradd", size="test").run(gpu)


def test_a_workload_is_checked(result):
    assert result.passed and result.checks[0]["passed"]
    assert result.config["sm.warp_scheduler"] == "lrr"
    assert str(result).startswith("workload vectoradd on gtx480: ")


def test_figures_agree_with_their_definitions(result):
    assert result.ipc == pytest.approx(result.thread_instructions / result.cycles)
    assert sum(result.stalls.values()) == pytest.approx(1)
    assert sum(kernel.cycles for kernel in result.kernels) <= result.cycles
    assert result.energy["watts"] * result.energy["seconds"] == pytest.approx(result.energy["joules"])


def test_statistics_have_units(result):
    statistics = result.statistics
    assert statistics["sm.thread_instructions"] == result.thread_instructions
    assert statistics.unit("sm.active_cycles") == "cycles"
    assert "cycles" in statistics.facts("sm.active_cycles").sentence
    assert all(statistics.unit(name) for name in statistics)
    with pytest.raises(KeyError, match="no statistic is called `dram.read`; similar ones: dram.reads"):
        statistics["dram.read"]


def test_windows_add_up(result):
    windows = result.windows
    assert windows["start"][0] == 0 and windows["end"][-1] == result.cycles
    assert sum(windows["sm.thread_instructions"]) == result.thread_instructions
    assert any(name.startswith("watts.") for name in windows.columns)


def test_a_result_shows_itself(result):
    html = result._repr_html_()
    assert "<table>" in html and "<svg" in html and "0 vector_add" in html
    assert "1 launch on gtx480" in html and "<table>" in result.statistics._repr_html_()
    assert "cycles" in repr(result)


def test_frames_reach_pandas_and_arrow(result):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    frame = result.to_frame()
    table = pyarrow.table(frame)
    assert table.to_pydict() == {name: frame[name] for name in frame.columns}
    assert list(frame.to_pandas()["cycles"]) == [kernel.cycles for kernel in result.kernels]


def test_frames_reach_polars_and_duckdb(result):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(result.to_frame())
    assert frame["cycles"].to_list() == [kernel.cycles for kernel in result.kernels]
    assert polars.DataFrame(result).columns == frame.columns
    duckdb = pytest.importorskip("duckdb")
    launches = result.to_frame()  # noqa: F841, the query reads it by its name
    query = "SELECT name, cycles FROM launches"
    assert duckdb.sql(query).fetchall() == [(own.name, own.cycles) for own in result.kernels]


def test_a_timeline_is_saved_and_linked(result, tmp_path):
    with pytest.raises(InputError, match="timeline=True"):
        result.save_timeline(tmp_path / "none.json")
    assert "timeline" not in result._repr_html_()
    gpu = Gpu("gtx480", sm__warp_scheduler="lrr").options(timeline=True)
    traced = warploom.workload("vectoradd", size="test").run(gpu)
    traced.save_timeline(tmp_path / "timeline.json")
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    # A microsecond of the timeline is a cycle.
    assert max(event.get("ts", 0) for event in events) <= traced.cycles
    assert any(event["name"].startswith("block 0, warp 0") for event in events)
    # Recording changes nothing.
    assert traced.digest == result.digest
    page = traced._repr_html_()
    assert "ui.perfetto.dev" in page and ("base64," in page or "save_timeline" in page)


def test_a_sweep_is_a_table(tmp_path):
    if not (_command.FOLDER / "warploom").is_file():
        pytest.skip("the package has no program")
    file = tmp_path / "study.toml"
    file.write_text(
        '[axes]\ntarget = "vectoradd"\nsize = "test"\n"sm.warp_scheduler" = ["lrr", "gto"]\n'
    )
    frame = warploom.sweep(file, tmp_path / "out", threads=1)
    assert frame["sm.warp_scheduler"] == ["lrr", "gto"]
    assert frame["status"] == ["finished", "finished"]
    for scheduler, cycles in zip(frame["sm.warp_scheduler"], frame["cycles"]):
        gpu = Gpu("gtx480", sm__warp_scheduler=scheduler)
        assert cycles == warploom.workload("vectoradd", size="test").run(gpu).cycles
    file.write_text('[axes]\ntarget = "vectoradd"\n"sm.warp_schedular" = "lrr"\n')
    with pytest.raises(InputError, match="sm.warp_scheduler"):
        warploom.sweep(file, tmp_path / "out")


def test_arrow_keeps_types_nulls_and_text():
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "int": [1, None, -(2**62), *range(20)],
        "float": [0.5, 1, None, *[2.5] * 20],
        "text": ["a", "", "Äpfel", *[None] * 20],
        "bool": [True, False, None, *[True] * 20],
        "none": [None] * 23,
    }
    frame = Frame(columns)
    for _ in range(2):
        table = pyarrow.table(frame)
        assert table.to_pydict() == columns
    table.validate(full=True)
    assert [str(field.type) for field in table.schema][:4] == ["int64", "double", "large_string", "bool"]
    assert pyarrow.table(Frame({"a": []})).num_rows == 0
    # A stream that nobody reads is released with its capsule.
    frame.__arrow_c_stream__()


def test_frames_are_rectangular():
    with pytest.raises(ValueError, match="same length"):
        Frame({"a": [1], "b": []})
    with pytest.raises(KeyError, match="no column is called `b`; there are: a"):
        Frame({"a": [1]})["b"]
    frame = Frame.from_rows([{"a": 1}, {"b": 2.0}])
    assert frame["a"] == [1, None] and frame["b"] == [None, 2.0]
    assert repr(frame).splitlines() == ["a  b", "1", "   2"]


def test_machines_are_compared():
    frame = warploom.compare(
        warploom.workload("vectoradd", size="test"),
        ["gtx480", Gpu("qv100-volta").options(energy=True)],
        vary={"sm.warp_scheduler": ["lrr", "gto"]},
    )
    assert frame["gpu"] == ["gtx480", "gtx480", "qv100-volta", "qv100-volta"]
    assert frame["sm.warp_scheduler"] == ["lrr", "gto"] * 2
    assert all(frame["passed"]) and frame["joules"][0] is None and frame["joules"][2] > 0
    alone = warploom.workload("vectoradd", size="test").run(Gpu("gtx480", sm__warp_scheduler="gto"))
    assert frame["cycles"][1] == alone.cycles


def test_a_preset_may_stand_for_its_machine():
    program = warploom.workload("vectoradd", size="test")
    assert program.run("qv100-volta").gpu == "qv100-volta"
    frame = warploom.compare(program, vary={"sm.warp_scheduler": "lrr", "l1d.sets": 32})
    assert frame["sm.warp_scheduler"] == ["lrr"] and frame["l1d.sets"] == [32]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"window": 0}, "`window` is 0; write a whole number above 0"),
        ({"threads": "2"}, "`threads` is '2'"),
        ({"max_cycles": 0.5}, "`max_cycles` is 0.5"),
        ({"max_cycles": float("inf")}, "`max_cycles` is inf"),
        ({"warp_scheduler": "gto"}, "sm__warp_scheduler"),
        ({"warp_scheduler": warploom.WarpScheduler()}, "give a class"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Gpu().options(**options)
    assert Gpu().options(max_cycles=1e6)._options["max_cycles"] == 1_000_000


def test_machines_describe_themselves(tmp_path):
    assert "gtx480" in Gpu.presets()
    gpu = Gpu("gtx480", {"gpu.sms": 4}, sm__warp_scheduler="lrr")
    sheet = gpu.describe()
    assert sheet["sm"]["count"] == 4 and sheet["clocks"]["core_mhz"] == 700
    assert gpu.keys["sm.warp_scheduler"] == "lrr"
    file = tmp_path / "mine.toml"
    file.write_text(gpu.to_toml())
    assert Gpu(str(file)).keys == gpu.keys


def test_names_of_workloads():
    assert "bfs" in warploom.workloads()["name"]
    with pytest.raises(InputError, match="no workload is called `bsf`"):
        warploom.workload("bsf").run()
    with pytest.raises(InputError, match="test, small, paper"):
        warploom.workload("bfs", size="big").run()


def test_threads_of_the_host_change_nothing(result):
    gpu = Gpu("gtx480", sm__warp_scheduler="lrr").options(threads=2)
    assert warploom.workload("vectoradd", size="test").run(gpu).digest == result.digest


