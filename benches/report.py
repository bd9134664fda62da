"""Renders the pages with results from a record of measurements; no figure is written by hand.

`results/latest.json` is the record, `RESULTS.md` all of it, and the README shows two small tables
between comments. A test renders them again and compares.
"""

from __future__ import annotations

import re
from typing import Any

from compactwire.analysis.timing import say_seconds as seconds

Record = dict[str, Any]

README_WORK = [
    ("decode dsl", "200 B", "json"),
    ("encode dsl", "200 B", "json"),
    ("decode base85", "200 B", "json"),
    ("encode base85", "200 B", "json"),
    ("decode zstd", "1 KiB ASCII", "ormsgpack"),
    ("encode zstd", "1 KiB ASCII", "ormsgpack"),
    ("decode zstd", "20 KiB ASCII", "ormsgpack"),
    ("encode zstd", "20 KiB ASCII", "ormsgpack"),
    ("decode_base85", "20 KiB", "base64"),
    ("encode_base85", "20 KiB", "base64"),
]
# The reference for the memory of a writer.
TEXT = "the bytes of its text"
README_SIZES = ["small", "medium", "xlarge"]
MEANING = {
    "verbose": "`{` a JSON object: for people and logs",
    "dsl": "`RES\\|status\\|model\\|tokens\\|result`: short answers, for models to read",
    "binary": "`M` Base64 of MessagePack: old peers",
    "base85": "`A` Base85 of MessagePack: below 256 bytes",
    "zlib": "`Z` Base85 of zlib (v2) or gzip (v4): v2 peers",
    "zstd": "`S` Base85 of zstd: from 256 bytes",
    "dictionary": "`D` Base85 of zstd with a dictionary: the smallest between programs",
}
# Notes on the systems that apply to every run.
LIMITS = {
    "GCF": """\
Writing a str is compared with `orjson.dumps(...).decode()`, writing bytes with `orjson.dumps`. The
deep document is eight times as long in GCF as in JSON, nearly all of it indentation. For a str that
is not ASCII, CPython decodes the written bytes; for bytes this step is not needed.""",
    "CAD": """\
`marshal` creates or visits the same objects, with almost nothing to parse.""",
    "Claims": """\
The peer computes hashes and signatures in C, too. We verify signatures on all cores, so wall time
depends on their number; the targets are for processor time, measured on one processor: two of them
are often one core, on which the same work takes more of it.""",
}
WHY = """\
Why rows miss their targets:

- **`loads`**: creating the objects takes most of the time in every reader. `marshal.loads`, a peer
  in the tables below, creates the same objects with almost nothing to parse; where we take about as
  long, little is left to gain. Numbers whose length changes from cell to cell make the processor
  guess wrong. A str that is not ASCII costs orjson a conversion, which bytes do not, so that more
  rows of bytes miss. With the collector on, the first collection after the call visits all new
  objects, those of the peer as well.
- **`dumps`**: the keyed map misses at the minimum, and not at the 20th percentile. Rows with
  datetimes miss by at most 3%. In memory, the text and the str that CPython makes of it exist at
  once.
- **Messages**: said below their table.
- **Graphs**: most of the time for a payload of dicts goes into reading the dicts, copying their
  texts and linking the edges; the peer keeps the texts as they are. With the collector on, the
  objects of a decoded payload are visited, too.
- **CAD**: `marshal` has nothing to parse or format. 100,000 nodes exceed the processor's caches,
  and their ratio differs from run to run.
- **Claims**: more than half of our processor time is signatures and hashes.
- **The crate `gcf`**: a tenth of its time is less than `serde_json` takes to parse the same values.
  Deep values are many small containers: each takes an allocation in a value, and indentation in a
  text."""
NOT_MEASURED = "Not measured: run `python -m benches --cargo`."
# The targets for the remaining size of each part of a conversation (from the overview of v2).
PARTS: dict[str, tuple[str, float | None]] = {
    "tools": ("a repeated tool definition", 0.02),
    "shortest": ("the shortest of them", None),
    "prompt": ("a repeated prompt", 0.03),
    "context": ("all contexts, as deltas", 0.52),
    "packed": ("the whole conversation, packed", 0.06),
}


def table(header: list[str], rows: list[list[str]], *, text_columns: int = 1) -> str:
    """Lay out a Markdown table that also reads well as text; numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = [
        "-" * (width + 2) if i < text_columns else "-" * (width + 1) + ":"
        for i, width in enumerate(widths)
    ]
    lines = ["|" + "|".join(rule) + "|"]
    for row in [header, *rows]:
        cells = [
            cell.ljust(width) if i < text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines[0], lines[1] = lines[1], lines[0]
    return "\n".join(lines)


def times(ratio: float) -> str:
    """Format a factor with three digits."""
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.3g}x"


def share(ratio: float) -> str:
    """Format a part of the peer's time, as a fraction if it is small."""
    if ratio >= 0.2:
        return f"{ratio:.2f}"
    return f"1/{1 / ratio:,.0f}" if ratio <= 0.01 else f"1/{1 / ratio:.3g}"


def verdict(ratio: float, target: float | None) -> str:
    """Return whether a target is met, or by how much it is missed."""
    if target is None:
        return ""
    return f"{share(target)}: {_verdict(ratio, target)}"


def _verdict(ratio: float, target: float) -> str:
    over = ratio / target - 1
    return "met" if over <= 0 else f"missed by {over:.0%}" if over < 10 else "missed"


def with_targets(record: Record) -> list[Record]:
    """Give every row of the tables that has a target."""
    rows = [*record["speed"], *(row for _, rows in systems(record) for row in rows)]
    rows += record.get("core_gcf", [])
    for row in record.get("memory", []):
        size = f"{row['rows']:,} flat rows"
        rows.append({**row, "size": size, "peer": TEXT, "ratio": row["memory"] / row["bytes"]})
    for row in record["core"]:
        least = row["seconds"]
        if {"compactwire", "z85"} <= least.keys():
            ratio = least["compactwire"] / least["z85"]
            work = f"{row['work']} Base85, core"
            rows.append({**row, "work": work, "peer": "z85", "ratio": ratio, "target": 1 / 3})
    return [row for row in rows if row["target"] is not None]


def memory(record: Record) -> str:
    """Render the memory that `dumps` takes in addition to the value, including the text."""
    rows = [
        [
            row["work"],
            f"{row['rows']:,}",
            f"{row['bytes']:,}",
            f"{row['memory'] / (1 << 20):.1f} MiB",
            f"{row['memory'] / row['bytes']:.2f}",
            verdict(row["memory"] / row["bytes"], row["target"]),
        ]
        for row in record.get("memory", [])
    ]
    if not rows:
        return "Not measured: `/proc/self/clear_refs` is needed."
    return table(["work", "flat rows", "bytes", "most memory", "of the bytes", "target"], rows)


def targets(record: Record) -> str:
    """Summarize the targets, met or missed by how much: a line for each work and peer."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for row in with_targets(record):
        groups.setdefault((_work(row), row["peer"]), []).append(row)
    rows = []
    for (work, peer), found in groups.items():
        worst = max(found, key=lambda row: row["ratio"] / row["target"])
        ratio, target = worst["ratio"], worst["target"]
        met = sum(row["ratio"] <= row["target"] for row in found)
        where = worst["size"] + (", collector on" if worst.get("collector") else "")
        rows.append([work, peer, where, f"{met} of {len(found)}", share(ratio), share(target),
                     _verdict(ratio, target)])  # fmt: skip
    header = ["work", "peer", "worst at", "met", "measured", "wanted", "verdict"]
    return table(header, rows, text_columns=3)


def _work(row: Record) -> str:
    return f"{row['work']}, processor time" if row.get("clock") == "processor" else row["work"]


def systems(record: Record) -> list[tuple[str, list[Record]]]:
    """Give the rows of each system."""
    return list(record.get("systems", {}).items())


def stream(record: Record) -> str:
    """Render the figures of rows that are written to and read from a stream."""
    rows = [
        [
            row["work"],
            f"{row['rows']:,}",
            seconds(row["seconds"]),
            seconds(row["seconds"] / row["rows"]),
            f"{row['memory']:.1f} MiB",
        ]
        for row in record["stream"]
    ]
    lines = []
    few, many = record["stream"][:2], record["stream"][2:]
    for less, more in zip(few, many, strict=True):
        grown = more["memory"] - less["memory"]
        slower = more["seconds"] / more["rows"] / (less["seconds"] / less["rows"])
        lines.append(
            f"- {more['work']}: constant memory {_met(grown < 4)} ({grown:+.1f} MiB),"
            f" linear time {_met(slower < 1.25)} (a row of many takes {slower:.2f} of one of few)"
        )
    header = ["work", "rows", "time", "a row", "most memory"]
    return "\n".join([table(header, rows), "", *lines])


def _met(reached: bool) -> str:
    return "met" if reached else "missed"


def others(record: Record) -> str:
    """Render the tables of the other systems, or a note that they were not measured."""
    if not record.get("systems"):
        return f"## Other systems\n\n{NOT_MEASURED}"
    parts = [
        "\n\n".join(filter(None, [f"## {name}", LIMITS.get(name), speed({"speed": rows})]))
        for name, rows in systems(record)
    ]
    gcf_header = ["value", "JSON B", "GCF B", "JSON tokens", "indented", "GCF", "constants", "TOON"]
    cad_header = ["text", "documents", "% fewer than indented: q1 / median / q3", "above 80%",
                  "% fewer than minified: q1 / median / q3"]  # fmt: skip
    tokens = record["tokens"]
    parts += [
        "## Tokens of structured data\n\nTokens of o200k_base; in brackets relative to"
        f" compact JSON.\n\n{table(gcf_header, tokens['gcf'])}",
        "## Tokens saved by shrink\n\nAgainst compact JSON, over the values of "
        "`data.shapes`; and over the texts of `data.hostile`.\n\n"
        + (
            table(tokens["shrink"][0], tokens["shrink"][1:], text_columns=3)
            if "shrink" in tokens
            else NOT_MEASURED
        ),
        "## Tokens of CAD documents\n\n"
        + (
            table(cad_header, tokens["cad"])
            if tokens["cad"]
            else "Real documents are not available."
        ),
        "## Memory of gcf.dumps\n\nThe peak memory in addition to the value, including the text,"
        f" each in a separate process.\n\n{memory(record)}",
        "## Rows written to and read from a stream\n\n`gcf.StreamEncoder` and `gcf.iter_rows`, in"
        f" separate processes.\n\n{stream(record)}",
    ]
    return "\n\n".join(parts)


def speed(record: Record) -> str:
    """Render the speed of the Python functions."""
    rows = [
        [
            _work(row),
            row["size"],
            row["peer"],
            {True: "on", False: "off", None: ""}[row["collector"]],
            *(seconds(row[name]) for name in ("seconds", "fifth", "peer_seconds", "peer_fifth")),
            share(row["ratio"]),
            share(row["fifth"] / row["peer_fifth"]),
            verdict(row["ratio"], row["target"]),
        ]
        for row in record["speed"]
    ]
    header = ["work", "size", "peer", "collector", "compactwire", "20%", "the peer", "20%",
              "of its time", "20%", "target"]  # fmt: skip
    if any(row[3] for row in rows):
        return table(header, rows, text_columns=4)
    # The core has no collector, and an empty column takes up space.
    header, *rows = (row[:3] + row[4:] for row in [header, *rows])
    return table(header, rows, text_columns=3)


def core(record: Record) -> str:
    """Render Base85 in the core as measured by Criterion, in GiB/s, also for each engine alone."""
    engines = ["scalar", "avx2", "avx512", "checked"]
    rows = []
    for row in record["core"]:
        least, size = row["seconds"], row["bytes"]
        if not {"compactwire", "z85", "base64-simd"} <= least.keys():
            continue
        rates = [
            f"{size / least[name] / 2**30:.2f}" if name in least else ""
            for name in ("compactwire", *engines, "z85", "base64-simd")
        ]
        ratio = least["compactwire"] / least["z85"]
        near = least["base64-simd"] / least["compactwire"]
        rows.append(
            [row["work"], row["size"], *rates, share(ratio), verdict(ratio, 1 / 3), f"{near:.2f}x"]
        )
    if not rows:
        return NOT_MEASURED
    header = ["work", "size", "compactwire", *engines, "z85", "base64-simd", "of z85", "target"]
    return table([*header, "to base64-simd"], rows, text_columns=2)


def core_gcf(record: Record) -> str:
    """Render the speed of GCF in Rust."""
    rows = record.get("core_gcf")
    if not rows:
        return NOT_MEASURED
    return speed({"speed": rows})


def sizes(record: Record) -> str:
    """Text length by format and message size."""
    formats = list(record["sizes"][0]["ratios"])
    rows = [
        [f"{row['label']} ({row['bytes']} B)", *(f"{row['ratios'][name]:.0%}" for name in formats)]
        for row in record["sizes"]
    ]
    return table(["result", *formats], rows)


def levels(record: Record) -> str:
    """Render the sizes and times of the compression levels."""
    rows = [
        [row["kind"], str(row["level"]), f"{row['ratio']:.3f}", f"{row['microseconds']:.0f}"]
        for row in record["levels"]
    ]
    return table(["zstd", "level", "bytes against plain level 3", "µs per message"], rows)


def sessions(record: Record) -> str:
    """Render the savings and the cost of sessions."""
    if not record:
        return NOT_MEASURED
    counted = (
        f"Tokens are those of {record['tokenizer']}."
        if record["tokenizer"]
        else "Tokens are not counted: `bpe-openai` is not installed."
    )
    first = record["sizes"][0]
    new = record["cost"][0]["new"]
    return f"""Messages of an agent, in bytes of UTF-8. "JSON" is the plain request as compact JSON:
tools, prompt, arguments and the whole context. "frames" is what a `Session` writes instead, plain
text. "packed" is the same with `pack=True`: for programs, not for models. {counted}

{chr(10).join(map(_about, record["sizes"]))}

### {first["name"]}, turn by turn

{session_turns(first)}

### Whole conversations

{session_totals(record)}

### Parts

The size of each part in the frames above, in percent of the part itself (as text, without the
escapes of JSON); tools and prompt from the second turn on.

{session_parts(record)}

### Cost of a turn

`encode_request` on turn 50 of a short and of a long conversation that grow by appends, with {new}
of new text; below it only the comparison of the old text, and the work without a session.

{session_cost(record)}"""


def _about(row: Record) -> str:
    sizes = f"{min(row['tools']):,} to {max(row['tools']):,} B"
    return (
        f"- `{row['name']}`: {row['about']} {len(row['turns'])} turns; {len(row['tools'])} tools of"
        f" {sizes}; a prompt of {row['prompt']:,} B; {row['context']:,} B of context in the end."
    )


def session_turns(conversation: Record) -> str:
    """Render one conversation, a row per turn."""
    rows = [
        [str(row["turn"]), row["change"], *_ways(row["bytes"]), *_ways(row["tokens"])]
        for row in conversation["turns"]
    ]
    totals = conversation["totals"]
    rows.append(["all", "", *_ways(totals["bytes"]), *_ways(totals.get("tokens"))])
    header = ["turn", "context", *_session_header(totals)]
    return table(header, rows, text_columns=2)


def session_totals(record: Record) -> str:
    """Render the totals of all conversations."""
    rows = [
        [row["name"], *_ways(row["totals"]["bytes"]), *_ways(row["totals"].get("tokens"))]
        for row in record["sizes"]
    ]
    return table(["conversation", *_session_header(record["sizes"][0]["totals"])], rows)


def session_parts(record: Record) -> str:
    """Render the remaining size of each part, next to its target."""
    rows = []
    for row in record["sizes"]:
        for part, (what, most) in PARTS.items():
            share = row["left"][part]
            rows.append([row["name"], what, f"{share:.2%}", f"{1 - share:.1%}", _goal(share, most)])
    return table(["conversation", "part", "left", "saved", "target"], rows, text_columns=2)


def _goal(share: float, most: float | None) -> str:
    """Whether enough is saved, or by how much it is missed."""
    if most is None:
        return ""
    found = "met" if share <= most else f"{(share - most) * 100:.1f} points short"
    return f"{1 - most:.0%}: {found}"


def session_cost(record: Record) -> str:
    """Render the time of turn 50."""
    rows = [
        [
            row["work"],
            *map(seconds, (row["short_seconds"], row["long_seconds"])),
            f"{(row['long_seconds'] - row['short_seconds']) * 1e6:.1f} µs",
        ]
        for row in record["cost"]
    ]
    short, long = record["cost"][0]["short"], record["cost"][0]["long"]
    return table(["turn 50 of", short, long, "more"], rows)


def _ways(sizes: Record | None) -> list[str]:
    """Show a size sent in each way, and what the two of ours save."""
    if sizes is None:
        return []
    plain, frames, packed = sizes["json"], sizes["frames"], sizes["packed"]
    saved = [f"{1 - ours / plain:.1%}" for ours in (frames, packed)]
    return [f"{plain:,}", f"{frames:,}", saved[0], f"{packed:,}", saved[1]]


def _session_header(totals: Record) -> list[str]:
    names = ["JSON", "frames", "saved", "packed", "saved"]
    units = ("B", "tokens")[: len(totals)]
    return [name if name == "saved" else f"{name} {unit}" for unit in units for name in names]


def results(record: Record) -> str:
    """Render the whole page."""
    facts = "\n".join(f"- {key}: {value}" for key, value in record["machine"].items())
    return f"""# Results

Written by `python -m benches --cargo` (extra `bench`); do not edit.
{_outdated(record)}
Our call and the peer's run in turn, in slices of about 0.2 ms. A time is the minimum over many
slices; "20%" is the 20th percentile. "Of its time" is our time divided by the peer's: **below 1 is
faster than the peer**, and a target is an upper limit for it. Both times of a ratio come from the
same run. With the garbage collector on, the slices between two full collections are numbered, each
is taken at its minimum, and the time is the mean of these minima. New arguments for each call are
created, and results of many objects are freed, outside of the measured time. We wrote both sides of
each comparison; the code is in `benches/`.

{facts}

## Targets

One line for each work and peer, with the row that is furthest from its target.

{targets(record)}

{WHY}

## From Python

{speed(record)}

Encoding zstd spends nearly all of its time in the compressor, which the peer uses, too; the peer
"zstandard alone" also gets its input as bytes. Text in many languages
also becomes a str of up to four bytes per character, which the compressor alone does not make.

## Base85 in the core

GiB of binary data per second. compactwire uses the fastest engine of the processor; "checked" is
the same with a checked conversion to a string at the end.

{core(record)}

## GCF in the core

Against the public crate `gcf` and `serde_json`, from and to values (`serde_json::Value` for the
peers) and JSON text. The rows against `serde_json` compare with the JSON of the same data:
`from_json` with reading a value, `to_json` with writing one. `etoon` writes TOON from JSON text.

{core_gcf(record)}

## Size

Bytes of the text in percent of the result's bytes. The messages are the samples that the dictionary
was not trained on, in all languages, joined and cut to size, with a model and a token count.

{sizes(record)}

## Sessions

{sessions(record.get("sessions", {}))}

{others(record)}

## Compression levels

Samples of the corpus that the dictionary was not trained on, compressed one by one. Plain messages
use level 3, the dictionary level 8 (`src/compression.rs`, `src/compact/dictionary.rs`).

{levels(record)}
"""


def _outdated(record: Record) -> str:
    note = record.get("outdated")
    return f"\n**{note}**\n" if note else ""


def readme_blocks(record: Record) -> dict[str, str]:
    """Render the two tables of the README."""
    by_label = {row["label"]: row["ratios"] for row in record["sizes"]}
    formats = [
        [f"`{name}`", meaning, *(f"{by_label[label][name]:.0%}" for label in README_SIZES)]
        for name, meaning in MEANING.items()
    ]
    rows = []
    for wanted in README_WORK:
        rows += [
            [
                row["work"],
                row["size"],
                row["peer"],
                seconds(row["seconds"]),
                times(1 / row["ratio"]),
            ]
            for row in record["speed"]
            if (row["work"], row["size"], row["peer"].split()[0].split(".")[0]) == wanted
        ]
    return {
        "sizes": table(
            ["format", "what it is", "200 B", "1 KiB", "20 KiB"], formats, text_columns=2
        ),
        "speed": table(["work", "size", "against", "time", "faster"], rows, text_columns=3),
    }


def update_readme(readme: str, record: Record) -> str:
    """Put the tables between their comments."""
    for name, block in readme_blocks(record).items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        readme, count = re.subn(
            pattern, lambda m, b=block: f"{m[1]}\n{b}\n\n{m[2]}", readme, flags=re.DOTALL
        )
        if count != 1:
            raise ValueError(f"the README has no place for {name}")
    return readme
