"""`load(repair=True)`: what is repaired, what is reported, what stays an error."""

from __future__ import annotations

import json
import re
import warnings

import pytest

from compactwire import cad


def test_repair_warns_about_each_change() -> None:
    document = {
        "nodes": {
            "b\0": {"id": "b\0", "op": {"type": "Shell", "thickness": 1, "child": "a"}},
            "a": {"op": {"type": "Shell", "thickness": 2, "child": {"type": "Empty"}}},
        },
        "roots": [{"root": "b\0", "material": "m"}],
    }
    with pytest.warns(UserWarning, match="assigned|moved|changed") as mended:
        read = cad.loads(json.dumps(document), repair=True)
    assert [str(warning.message) for warning in mended] == [
        "node b\\0: assigned id 0",
        "node a: assigned id 1",
        'node 0.child: changed "a" to 1',
        "node 1.child: moved the operation to node 2",
        'roots[0].root: changed "b\\0" to 0',
    ]
    assert [node["op"].get("child") for node in read["nodes"].values()] == [1, 2, None]
    assert mended[0].filename == __file__
    with pytest.raises(cad.DocumentError):
        cad.loads(json.dumps(document))
    with pytest.raises(cad.DocumentError, match="node 1: id 2 does not match its key"):
        cad.loads('{"nodes":{"1":{"id":2,"op":{}},"2":{"op":{"type":"Empty"}}}}', repair=True)
    assert cad.loads("S 1", repair=True) == cad.from_compact("S 1")


def test_repair_does_not_change_a_meaning() -> None:
    sphere = {"type": "Sphere", "radius": 5, "segments": 0}
    move = {"type": "Translate", "child": 0, "offset": {"x": 0, "y": 0, "z": 0}}
    for document, message in [
        # The nodes of a hybrid are its text.
        ({"compact": "C 1 1 1", "roots": [{"root": sphere, "material": "m"}]},
         "roots[0].root: expected a node id"),
        ({"compact": "C 1 1 1", "partDefs": {"p": {"id": "p", "root": sphere}}},
         'partDefs "p".root: expected a node id'),
        ({"nodes": {"01": {"op": sphere}, "02": {"op": move}}},
         "node 01: node keys must be unsigned integers"),
        ({"nodes": {"a": {"op": sphere}, "b": {"op": move}}},
         "node a: node keys must be unsigned integers"),
    ]:  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(
                cad.DocumentError, match=f'^{re.escape(message)} [(]unknown="keep" keeps it, '
            ):
                cad.loads(json.dumps(document), repair=True)


@pytest.mark.parametrize("ids", [{1: 0, 2: 1, 3: 2}, {0: 1, 1: 2, 2: 3}, {1: 2, 2: 1}])
def test_repair_follows_ids_that_are_keys_of_other_nodes(ids: dict[int, int]) -> None:
    nodes = {
        str(key): {"id": id_, "name": f"was {key}", "op": {"type": "Empty"}}
        for key, id_ in ids.items()
    }
    with pytest.warns(UserWarning, match="changed the key to the id"):
        read = cad.loads(json.dumps({"nodes": nodes}), repair=True)
    assert {key: node["name"] for key, node in read["nodes"].items()} == {
        str(id_): f"was {key}" for key, id_ in ids.items()
    }


def test_repair_warns_before_it_raises_a_remaining_error() -> None:
    document = {"nodes": {"plate": {"op": {"type": "Sphere", "radius": 1}}}}
    with (
        pytest.warns(UserWarning, match="node plate: assigned id 0"),
        pytest.raises(cad.DocumentError, match='node 0: missing field "segments"'),
    ):
        cad.loads(json.dumps(document), repair=True)
