"""The recipes of `docs/scale.md` on a cluster of two workers: values, errors, dictionaries."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, arrow
from tests.columns import needed

pa, pq = needed("pyarrow"), needed("pyarrow.parquet")
distributed, dataframe = needed("distributed"), needed("dask.dataframe")
psutil = needed("psutil")

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


def encode(path: Path, dictionary: cw.Dictionary) -> list[str]:
    column = arrow.encode(pq.read_table(path)["text"], format="dictionary", dictionary=dictionary)
    wires: list[str] = pa.chunked_array(column).to_pylist()
    return wires


def summarize(path: Path) -> Any:
    return analysis.summarize(analysis.measure(path, column="text", tokenizer=None))


def sample(path: Path) -> Any:
    return analysis.sample(path, 400, column="text")


def decode(texts: list[str], name: str) -> int:
    try:
        return len(arrow.decode(pa.array(texts)))
    except cw.CompactWireError as error:
        error.add_note(f"in {name}")
        raise


# What a worker takes ------------------------------------------------------------------------------


def memory_with(dictionary: cw.Dictionary) -> tuple[int, int]:
    """Keep a dictionary that is ready to compress; return the process and its memory, in bytes."""
    cw.encode("x", format="dictionary", dictionary=dictionary)
    vars(distributed.get_worker()).setdefault("kept", []).append(dictionary)
    return os.getpid(), psutil.Process().memory_info().rss


def threads_of_a_call(threads: int | None) -> int:
    """The number of threads that live while a column is encoded, and only then."""
    column, ended = pa.array(TEXTS * 10), threading.Event()
    seen: set[str] = set()

    def watch() -> None:
        while not ended.wait(0.001):
            seen.update(map(str, Path("/proc/self/task").iterdir()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = {*map(str, Path("/proc/self/task").iterdir())}
    arrow.encode(column, format="zstd", threads=threads)
    after = {*map(str, Path("/proc/self/task").iterdir())}
    ended.set()
    watcher.join()
    return len(seen - before - after)


def test_the_examples_of_the_page_give_the_output_shown() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "doctest", str(DOCS / "scale.md")]
    child = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert child.stdout == ""
    assert child.returncode == 0


def test_files_are_encoded_as_a_loop_does(
    client: Any, sources: list[Path], dictionary: cw.Dictionary
) -> None:
    shared = client.scatter(dictionary, broadcast=True)
    found = client.gather(client.map(encode, sources, dictionary=shared))
    for part, wires in enumerate(found):
        assert wires == [
            cw.encode(cw.Response(text), format="dictionary", dictionary=dictionary)
            for text in TEXTS[part::PARTS]
        ]


def test_the_dictionaries_of_tasks_are_prepared_once_per_worker(client: Any) -> None:
    # Of the size of the built-in one, which is pickled by its id: 6 MB when it is ready.
    _, content = cw.Dictionary.default().to_bytes().split(b"\n", 1)
    dictionary = cw.Dictionary.from_bytes(b"ZDCT|v2|other||1|0\n" + content)
    memory: dict[int, list[int]] = {}
    for _ in range(40):
        place, used = client.submit(memory_with, dictionary, pure=False).result()
        memory.setdefault(place, []).append(used)
    for found in memory.values():
        assert found[-1] - found[0] < 30 << 20


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


def test_the_exception_of_a_worker_is_ours_with_its_row_and_partition(client: Any) -> None:
    wires = [cw.encode(cw.Response(text), format="zstd") for text in TEXTS[:100]]
    wires[7] = wires[7][:-3]
    with pytest.raises(cw.DecodeError) as caught:
        client.submit(decode, wires, "part 3").result()
    assert caught.value.row == 7
    assert caught.value.__notes__ == ["in row 7", "in part 3"]
    with pytest.raises(type(caught.value)) as expected:
        cw.decode(wires[7])
    assert str(caught.value) == str(expected.value)


@pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: needs /proc/self/task")
def test_a_worker_of_one_thread_uses_one(client: Any) -> None:
    assert client.submit(threads_of_a_call, 3).result() >= 2
    assert client.submit(threads_of_a_call, None).result() == 0


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
