"""Measures what each format saves on your data: in tokens, bytes and time.

Tokens are counted by the tokenizer itself, times are medians of interleaved rounds, and every
output is decoded and compared with the input. `compare` measures what fits in memory; `measure`,
`summarize` and `merge` measure rows of any number, in parts.

>>> from compactwire import analysis
>>> rows = [{"id": n, "name": f"part {n}", "stock": n * 7 % 5} for n in range(100)]
>>> frame = analysis.compare(rows, formats=["gcf"], seconds=0)
>>> frame[["format", "tokens", "tokens_vs_json", "round_trip"]]
  format  tokens  tokens_vs_json  round_trip
0    gcf     815        0.581312        True

Needs the extra ``analysis``: pandas, matplotlib, pyarrow and bpe-openai, each loaded when it is
first used.
"""

from __future__ import annotations

from .advice import Figures, Recommendation, recommend
from .candidates import Candidate
from .comparison import compare
from .corpus import Corpus, read_corpus
from .figure import plot
from .progress import Progress
from .rows import measure
from .samples import held_out, merge_samples, sample
from .sources import batches
from .summary import merge, report, summarize
from .tokens import count_tokens
from .turns import compare_sessions

__all__ = [
    "Candidate",
    "Corpus",
    "Figures",
    "Progress",
    "Recommendation",
    "batches",
    "compare",
    "compare_sessions",
    "count_tokens",
    "held_out",
    "measure",
    "merge",
    "merge_samples",
    "plot",
    "read_corpus",
    "recommend",
    "report",
    "sample",
    "summarize",
]
