"""Tables from files and data frames: the same numbers from each."""

from pathlib import Path

import numpy as np
import pytest

import standoff

FORMATS = Path(__file__).resolve().parents[2] / "crates" / "standoff-nn" / "tests" / "formats"

ROWS = {
    "age": [30.5, 40.25, None, 50.0] * 10,
    "job": ["a", "b, c", 'say "x"', None] * 10,
    "code": [1, 2, 1, 2] * 10,
    "left": [True, False, False, True] * 10,
    "pay": ["low", "high"] * 20,
}


def same(a, b):
    for part, other in [(a, b), (a.test, b.test)]:
        assert np.array_equal(part.X, other.X) and np.array_equal(part.y, other.y) and np.array_equal(part.groups, other.groups)
    assert a.feature_names == b.feature_names and a.group_names == b.group_names


def read(table, **more):
    return standoff.read_table(table, "pay", "left", categorical=["code"], seed=3, **more)


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_frames_and_files_give_the_same_features(tmp_path):
    pandas_frame = frame()
    file = tmp_path / "rows.csv"
    pandas_frame.to_csv(file, index=False)
    want = read(file)
    assert want.feature_names == ["age", "job=missing", "job=a", "job=b, c", 'job=say "x"', "code=1", "code=2", "left=False", "left=True"]
    same(read(pandas_frame), want)
    same(read(pandas_frame.assign(code=pandas_frame["code"].astype("category"))), want)
    again = standoff.read_table(pandas_frame, like=want.preprocessing)
    assert again.X.shape == (40, 9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_arrow_polars_and_parquet_give_the_same_features(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    want = read(frame())
    table = arrow.table(ROWS)
    found = read(table)
    same(found, want)
    import pyarrow.parquet

    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table, file)
    same(read(file), found)
    same(read(table.set_column(2, "code", table["code"].cast(arrow.string()).dictionary_encode())), found)
    polars = pytest.importorskip("polars")
    same(read(polars.DataFrame(ROWS)), found)
    same(read(polars.LazyFrame(ROWS)), found)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_truth_values_are_spelled_the_same_so_that_a_model_of_one_frame_reads_another():
    pandas, arrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    rows = ROWS | {"left": [True, False, None, True] * 10, "also": [False, True] * 20}
    made = pandas.DataFrame(rows).astype({"left": "boolean"})
    want = standoff.read_table(made, "pay", "also", seed=3)
    assert {"left=missing", "left=False", "left=True"} <= set(want.feature_names)
    assert want.group_names == ["also=False", "also=True"]
    for other in (arrow.table(rows), polars.DataFrame(rows)):
        again = standoff.read_table(other, like=want.preprocessing)
        assert np.array_equal(again.X, standoff.read_table(made, like=want.preprocessing).X)
        left = [i for i, name in enumerate(want.feature_names) if name.startswith("left=")]
        assert (again.X[:, left].sum(axis=1) == 1).all(), "a truth value is an unknown category"


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_real_table_is_the_same_from_gzip_and_from_parquet(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    want = standoff.read_table(FORMATS / "arrests.csv.gz", "released", "colour", seed=1)
    rows = pandas.read_csv(FORMATS / "arrests.csv.gz")
    assert len(rows) == 199
    rows.to_parquet(tmp_path / "arrests.parquet")
    same(standoff.read_table(tmp_path / "arrests.parquet", "released", "colour", seed=1), want)
    with pytest.raises(ValueError, match="no column `color`"):
        standoff.read_table(tmp_path / "arrests.parquet", "released", "color")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_not_a_table_is_refused(tmp_path):
    with pytest.raises(TypeError, match="got a list"):
        read([1, 2])
    with pytest.raises(ValueError, match="column 'job' holds list"):
        read(frame().assign(job=[[1]] * 40))
    dates = frame().assign(day=np.datetime64("2020-01-05"))
    with pytest.raises(ValueError, match="line 2, column `day`: `2020-01-05` is a date"):
        read(dates, features=["age", "day"])
    with pytest.warns(UserWarning, match="column `day` holds dates and is left out"):
        read(dates)
    file = tmp_path / "report.csv"
    file.write_text("a title\nanother, with a comma\nx,pay\n1,a\n2,b\n3,a\n4,b\n")
    with pytest.raises(ValueError, match="skip lines before the table"):
        standoff.read_table(file, "pay")
    assert standoff.read_table(file, "pay", skip_lines=2, test_split=0).X.shape == (4, 1)
