"""Data frames and Parquet files as CSV text, for the reader of the command."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

from ._paths import existing

PARQUET = b"PAR1"
TRUTHS = ("True", "False")  # as pandas and Python write them; Arrow and polars have their own spelling


def table_source(table: Any) -> tuple[Path | bytes, list[str]]:
    """What ``_core`` reads: a path, or the text of a frame; and the columns of a frame that hold categories."""
    if isinstance(table, (str, os.PathLike)):
        path = existing(table)
        return _parquet(path) if _is_parquet(path) else (path, [])
    pandas, polars, arrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return _from_pandas(table)
    if polars is not None and isinstance(table, (polars.DataFrame, polars.LazyFrame)):
        frame = table.collect() if isinstance(table, polars.LazyFrame) else table
        _no_nesting((str(name), str(kind)) for name, kind in frame.schema.items())
        words = [name for name, kind in frame.schema.items() if kind in (polars.Categorical, polars.Enum, polars.Boolean)]
        truths = [name for name, kind in frame.schema.items() if kind == polars.Boolean]
        yes, no = (polars.lit(word) for word in TRUTHS)
        spelt = [polars.when(polars.col(name)).then(yes).when(~polars.col(name)).then(no).alias(name) for name in truths]
        return frame.with_columns(spelt).write_csv().encode(), words
    if (arrow is not None and isinstance(table, arrow.Table)) or hasattr(table, "__arrow_c_stream__"):
        return _from_arrow(table)
    raise TypeError(f"a table is a path, or a data frame of pandas, polars or Arrow; got a {type(table).__name__}")


def _from_pandas(frame: Any) -> tuple[bytes, list[str]]:
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise ValueError("the columns of the data frame have several levels; give each column one name")
    for name, kind in zip(frame.columns, frame.dtypes):
        if kind == object:
            wrong = next((v for v in frame[name] if isinstance(v, (list, tuple, dict, set))), None) if frame[name].ndim == 1 else None
            _no_nesting([(str(name), "list" if wrong is not None else "")])
    words = [str(name) for name, kind in zip(frame.columns, frame.dtypes) if str(kind) in ("category", "bool", "boolean")]
    return frame.to_csv(index=False).encode(), words


def _from_arrow(table: Any) -> tuple[bytes, list[str]]:
    """Any object with Arrow's C stream interface; pyarrow writes the text."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
    except ImportError as error:
        raise ImportError("Arrow tables need pyarrow: pip install pyarrow") from error
    table = pyarrow.table(table)
    _no_nesting((field.name, str(field.type)) for field in table.schema)
    words = [f.name for f in table.schema if pyarrow.types.is_dictionary(f.type) or pyarrow.types.is_boolean(f.type)]

    def plain(column: Any) -> Any:
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return pyarrow.compute.if_else(column, *TRUTHS) if pyarrow.types.is_boolean(column.type) else column

    out = io.BytesIO()
    pyarrow.csv.write_csv(pyarrow.table([plain(c) for c in table.columns], names=table.column_names), out)
    return out.getvalue(), words


def _no_nesting(columns: Any) -> None:
    for name, kind in columns:
        if kind.lower().startswith(("list", "struct", "map", "array", "fixed_size_list", "large_list")):
            raise ValueError(f"column {name!r} holds {kind.lower()}; a table has one number, word or date in each cell")


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def _parquet(path: Path) -> tuple[bytes, list[str]]:
    try:
        import pyarrow.parquet
    except ImportError:
        pass
    else:
        return _from_arrow(pyarrow.parquet.read_table(path))
    try:
        import polars
    except ImportError as error:
        raise ImportError(f"{path} is a Parquet file, which needs pyarrow or polars: pip install pyarrow") from error
    return table_source(polars.read_parquet(path))  # type: ignore[return-value]
