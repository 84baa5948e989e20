"""Arrow columns and tables from NumPy arrays and plain lists, without pyarrow's converters.

``pyarrow.array`` imports pandas to see whether it was given a Series; in a job that has no other use for
pandas that takes longer than the simulation. Columns made of buffers do not.
"""

import numpy as np
import pyarrow as pa

_BOOLEAN = pa.bool_()


def numbers(values, kind):
    """Return a NumPy array as an Arrow column without copying; booleans are packed into bits.

    Parameters
    ----------
    values : ndarray, one-dimensional
        Of the type's own NumPy type; bool or uint8 for booleans.
    kind : pyarrow.DataType
    """
    if kind == _BOOLEAN:
        bits = np.packbits(values.view(np.uint8), bitorder="little")
        return pa.BooleanArray.from_buffers(kind, len(values), [None, pa.py_buffer(bits)])
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def as_numpy(column):
    """Return a column without missing values as a NumPy array, sharing memory but for booleans."""
    if not len(column):
        # Arrow may leave out the buffer of an empty column.
        return np.empty(0, column.type.to_pandas_dtype())
    data = column.buffers()[1]
    begin, end = column.offset, column.offset + len(column)
    if pa.types.is_boolean(column.type):
        bits = np.frombuffer(data, np.uint8)[begin // 8 : -(-end // 8)]
        unpacked = np.unpackbits(bits, bitorder="little")
        return unpacked[begin % 8 : begin % 8 + len(column)].view(bool)
    return np.frombuffer(data, column.type.to_pandas_dtype())[begin:end]


def column(values, kind):
    """Return a list of plain values, None where missing, as an Arrow column."""
    if pa.types.is_string(kind):
        return _strings(values)
    if pa.types.is_boolean(kind):
        return numbers(np.array(values, dtype=bool), kind)
    missing = np.array([value is None for value in values], dtype=bool)
    filled = [0 if value is None else value for value in values]
    data = pa.py_buffer(np.array(filled, dtype=kind.to_pandas_dtype()))
    present = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.Array.from_buffers(kind, len(values), [present, data])


def schema(**kinds):
    """Return a schema from names and Python types: str, int, float or bool."""
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, types[kind]) for name, kind in kinds.items()])


def table(rows, schema):
    """Return rows, given as mappings, as a table."""
    columns = [column([row[field.name] for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _strings(values):
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)
