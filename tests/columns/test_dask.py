"""The recipes of `docs/scale.md` on a cluster of two workers: values, errors, dictionaries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, arrow
from tests.columns import needed

pa, pq = needed("pyarrow"), needed("pyarrow.parquet")
distributed, dataframe = needed("distributed"), needed("dask.dataframe")

TEXTS = [f"Message {n} of host {n % 13} says {n * 7 % 50}; all is well." * 2 for n in range(10_000)]
PARTS = 8
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("lake")
    paths = [folder / f"{part}.parquet" for part in range(PARTS)]
    for part, path in enumerate(paths):
        pq.write_table(pa.table({"text": TEXTS[part::PARTS]}), path)
    return paths


@pytest.fixture(scope="module")
def dictionary() -> cw.Dictionary:
    return cw.Dictionary.train(TEXTS[:2_000], size=2_000, time=0)


# The functions of the recipes: a file in, a result out --------------------------------------------


def encode(path: Path, dictionary: cw.Dictionary) -> tuple[list[str], tuple[int, int]]:
    column = arrow.encode(pq.read_table(path)["text"], format="dictionary", dictionary=dictionary)
    return pa.chunked_array(column).to_pylist(), (os.getpid(), id(dictionary))


def summarize(path: Path) -> Any:
    return analysis.summarize(analysis.measure(path, column="text", tokenizer=None))


def sample(path: Path) -> Any:
    return analysis.sample(path, 400, column="text")


def decode(texts: list[str]) -> int:
    return len(arrow.decode(pa.array(texts)))


def test_the_examples_of_the_page_give_the_output_shown() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "doctest", str(DOCS / "scale.md")]
    child = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert child.stdout == ""
    assert child.returncode == 0


def test_files_are_encoded_as_a_loop_does_with_one_dictionary_per_worker(
    client: Any, sources: list[Path], dictionary: cw.Dictionary
) -> None:
    shared = client.scatter(dictionary, broadcast=True)
    found = client.gather(client.map(encode, sources, dictionary=shared))
    for part, (wires, _) in enumerate(found):
        assert wires == [
            cw.encode(cw.Response(text), format="dictionary", dictionary=dictionary)
            for text in TEXTS[part::PARTS]
        ]
    assert len({place for _, place in found}) <= 2


def test_a_summary_from_two_workers_is_that_of_one_process(
    client: Any, sources: list[Path]
) -> None:
    parts = client.gather(client.map(summarize, sources))
    whole = analysis.summarize(analysis.measure(pa.array(TEXTS), tokenizer=None))
    assert analysis.merge(parts).equals(whole)


def test_a_dictionary_from_two_workers_is_that_of_one_process(
    client: Any, sources: list[Path]
) -> None:
    merged = analysis.merge_samples(client.gather(client.map(sample, sources)), 400)
    whole = analysis.sample(pa.array(TEXTS), 400)
    made = [
        cw.Dictionary.train(one["text"].to_pylist(), size=2_000, time=0).to_bytes()
        for one in (merged, whole)
    ]
    assert made[0] == made[1]


def test_the_exception_of_a_worker_is_ours_with_its_row(client: Any) -> None:
    wires = [cw.encode(cw.Response(text), format="zstd") for text in TEXTS[:100]]
    wires[7] = wires[7][:-3]
    with pytest.raises(cw.DecodeError) as caught:
        client.submit(decode, wires).result()
    assert caught.value.row == 7
    with pytest.raises(type(caught.value)) as expected:
        cw.decode(wires[7])
    assert str(caught.value) == str(expected.value)


def test_a_worker_of_one_thread_uses_one(client: Any) -> None:
    assert set(client.run(os.environ.get, "OMP_NUM_THREADS").values()) == {"1"}


def test_partitions_of_a_data_frame_are_encoded_as_a_loop_does(client: Any) -> None:
    pandas = needed("pandas")
    frame = dataframe.from_pandas(pandas.DataFrame({"text": TEXTS}), npartitions=PARTS)
    meta = {"text": "str", "wire": "str"}
    wires = frame.map_partitions(
        lambda part: part.assign(
            wire=pandas.Series.from_arrow(arrow.encode(part["text"])).set_axis(part.index)
        ),
        meta=meta,
    )["wire"].compute()
    assert wires.tolist() == [cw.encode(cw.Response(text)) for text in TEXTS]
