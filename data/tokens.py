"""Measures the prices of the token estimate: the mean tokens of pieces of text.

    python -m data.tokens            measure again, print the error of the estimate;
                                     exit code 1 if src/shrink/prices.rs differs
    python -m data.tokens --write    measure, write src/shrink/prices.rs; then rebuild the package

A tokenizer like o200k_base cuts a text into pieces (a word with the character before it, up to
three digits, punctuation, white space) and turns each into tokens by itself. The estimate cuts the
same pieces. It adds up the mean cost of words of the same class and length, and merges the
characters of punctuation into tokens as the tokenizer does. `null`, `true` and `false` cost what
they cost. `cut` and `merged` here are the reference for `src/shrink/estimate.rs` and
`src/shrink/merges.rs`.

The estimate is that of o200k_base. To compare two forms of the same data, `shrink` uses bounds, for
o200k_base and for cl100k_base, in which punctuation and characters beyond ASCII differ: a word is
one token in both forms, and up to two more for a mark before it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from string import punctuation
from typing import Any

import compactwire as cw

from .samples import load
from .shapes import values

TABLE = Path(__file__).parent.parent / "src" / "shrink" / "prices.rs"

# The tokenizers, with the number of their tokens without those that have a special meaning.
VOCABULARIES = {"o200k_base": 199_998, "cl100k_base": 100_256}

# Prices are multiples of 1/UNIT of a token.
UNIT = 64

# The longest word that has a price of its own; each further byte costs the mean of those beyond.
LONGEST = 24

# White space of at most so many bytes is one token.
SHORT = 24

# Longer punctuation is merged in parts of so many bytes.
PART = 256

# The tokens of single characters; the merge of a row of the table is the token ASCII + row.
ASCII = 128

# The pieces of ASCII text, as o200k_base cuts them; runs of characters beyond ASCII are cut apart.
PIECE = re.compile(
    r"(?P<word>(?P<before>[\t\x0b\x0c\x00-\x08\x0e-/:-@\[-`{-\x7f]?)(?P<letters>[A-Z]*[a-z]+|[A-Z]+))"
    r"|(?P<number>[0-9]{1,3})"
    r"|(?P<marks> ?[\x00-\x08\x0e-\x1f!-/:-@\[-`{-\x7f]+[\r\n/]*)"
    r"|(?P<lines>[\t\x0b\x0c \r\n]*[\r\n]+)"
    r"|(?P<other> ?[\x80-\U0010ffff]+)"
    r"|(?P<blank>[\t\x0b\x0c ]+(?![^\t\x0b\x0c \r\n])|[\t\x0b\x0c ]+)"
)

# The tokens of frequent punctuation are in the table: this many pieces, of at most so many bytes.
COMMON_MARKS, COMMON_LENGTH = 128, 8

# Punctuation and white space.
SYMBOLS = re.compile(r"[\x00-/:-@\[-`{-\x7f]+")

# The classes of pieces whose price depends on their length.
CLASSES = (
    "word",
    "spaced word",
    "delimited word",
    "marked word",
    "capitals",
    "marked capitals",
)

# The words of JSON. Their cost is counted, after each mark.
LITERALS = ("null", "true", "false")

# The marks that GCF writes before a text.
DELIMITERS = "|,=>"

# The classes of characters beyond ASCII, whose price is that of a character.
LATIN, TWO_BYTES, HAN, THREE_BYTES, FOUR_BYTES = range(5)


def cut(text: str) -> Iterator[tuple[str, str]]:
    """Yield each piece with its class."""
    for match in PIECE.finditer(text):
        kind = match.lastgroup or ""
        if match["word"] is not None:
            kind = word_class(match["before"], match["letters"])
        yield kind, match[0]


def word_class(before: str, letters: str) -> str:
    """Return the class of a word after a character, which may be empty."""
    is_marked = before not in ("", " ")
    if is_marked and letters in LITERALS:
        return "literal"
    if len(letters) > 1 and letters[:2].isupper():
        return "marked capitals" if is_marked else "capitals"
    if is_marked:
        return "delimited word" if before in DELIMITERS else "marked word"
    return "spaced word" if before else "word"


def character_class(character: str) -> int:
    """Return the class of a character beyond ASCII, by its first bytes in UTF-8."""
    first = character.encode()[0]
    if first <= 0xC9:
        return LATIN
    if first < 0xE0:
        return TWO_BYTES
    if first >= 0xF0:
        return FOUR_BYTES
    return HAN if 0xE3 <= first <= 0xED else THREE_BYTES


# The token that two tokens make.
Merges = dict[tuple[int, ...], int]


def merged(piece: str, merges: Merges) -> list[int]:
    """Return the tokens of punctuation: each time, the pairs of the first merge become a token."""
    tokens = [ord(character) for character in piece]
    while True:
        found = (merges[pair] for pair in pairwise(tokens) if pair in merges)
        first = min(found, default=None)
        if first is None:
            return tokens
        at, kept = 0, []
        while at < len(tokens):
            is_pair = merges.get(tuple(tokens[at : at + 2])) == first
            kept.append(first if is_pair else tokens[at])
            at += 2 if is_pair else 1
        tokens = kept


def merges_of(encoding: str) -> Merges:
    """Return how a tokenizer makes its tokens of punctuation and white space, in their order."""
    import bpe_openai

    encoder = bpe_openai.get_encoding(encoding)
    merges: Merges = {}
    for token in range(VOCABULARIES[encoding]):
        text = encoder.decode([token])
        if len(text) > 1 and SYMBOLS.fullmatch(text):
            left, right = merged(text, merges)
            merges[left, right] = ASCII + len(merges)
    return merges


def marks_of(literal: str, encoding: str) -> str:
    """Return the marks with which a literal is one token."""
    import bpe_openai

    count = bpe_openai.get_encoding(encoding).encode_ordinary
    return "".join(mark for mark in punctuation if len(count(mark + literal)) == 1)


def escapes(text: str) -> int:
    """Return how often a text has an escape that another form may write as the character."""
    return text.count("\\u") + text.count("\\/")


def repeated_keys(text: str) -> int:
    """Return the bytes of names of columns whose paths repeat a key more often than rows do."""
    if not text.startswith("GCF "):
        return 0
    heads = re.findall(r"(?m)^[^\n]*?\[(\d+):?\]\{([^\n]*)$", text)
    return sum(len(names.encode()) for rows, names in heads if names.count(">") > int(rows))


class Prices:
    """Prices in 1/UNIT of a token."""

    by_length: dict[str, list[int]]
    beyond: dict[str, int]
    # Frequent punctuation.
    marks: list[str]
    merges: dict[str, Merges]
    # The marks with which a literal is one token.
    literals: dict[str, dict[str, str]]
    characters: dict[str, list[int]]

    def __init__(self) -> None:
        self.counted: dict[tuple[str, str], int] = {}

    @classmethod
    def of_table(cls) -> Prices:
        """Read the table that was written last."""
        text, prices = TABLE.read_text(), cls()
        prices.by_length, prices.beyond, prices.marks, prices.merges = {}, {}, [], {}
        for kind in CLASSES:
            row = match_in(text, rf"const {constant(kind)}: ByLength = \[(.*)\]")
            *prices.by_length[kind], prices.beyond[kind] = map(int, row.split(","))
        for encoding in VOCABULARIES:
            rows = match_in(text, rf"(?s)static {constant(encoding)}: .*? = \[(.*?)\];")
            pairs = re.findall(r"\((\d+), (\d+)\)", rows)
            prices.merges[encoding] = {
                (int(left), int(right)): ASCII + row for row, (left, right) in enumerate(pairs)
            }
        rows = match_in(text, r"(?s)LITERALS: .*? = \[(.*?)\];")
        prices.literals = {
            literal: dict(zip(VOCABULARIES, marks, strict=True))
            for literal, *marks in re.findall(r'\(b"(\w+)", \[b"(.*?)", b"(.*?)"\]\)', rows)
        }
        rows = match_in(text, r"CHARACTERS: .* = \[(.*)\]")
        prices.characters = {
            encoding: [int(price) for price in row.split(",")]
            for encoding, row in zip(VOCABULARIES, re.findall(r"\[(.*?)\]", rows), strict=True)
        }
        return prices

    def measure(self, texts: list[str], encoder: Any) -> None:
        """Measure what pieces of texts cost."""
        sums: dict[str, list[list[int]]] = {
            kind: [[] for _ in range(LONGEST + 1)] for kind in CLASSES
        }
        beyond: dict[str, list[float]] = {kind: [] for kind in CLASSES}
        costs: dict[str, int] = {}
        pieces = Counter(piece for text in texts for piece in cut(text))
        common = [piece for (kind, piece), _ in pieces.most_common() if kind == "marks"]
        self.marks = [piece for piece in common if len(piece) <= COMMON_LENGTH][:COMMON_MARKS]
        self.merges = {encoding: merges_of(encoding) for encoding in VOCABULARIES}
        self.literals = {
            literal: {encoding: marks_of(literal, encoding) for encoding in VOCABULARIES}
            for literal in LITERALS
        }
        for text in texts:
            for kind, piece in cut(text):
                if kind not in CLASSES:
                    continue
                cost = costs.get(piece)
                if cost is None:
                    cost = costs[piece] = len(encoder.encode_ordinary(piece))
                if len(piece) <= LONGEST:
                    sums[kind][len(piece)].append(cost)
                else:
                    beyond[kind].append(cost / len(piece))
        self.by_length = {kind: smoothed(found) for kind, found in sums.items()}
        self.beyond = {
            kind: round(UNIT * sum(found) / len(found)) if found else UNIT // 4
            for kind, found in beyond.items()
        }
        self.characters = {encoding: [0] * 5 for encoding in VOCABULARIES}
        self.characters = {encoding: fitted(self, texts, encoding) for encoding in VOCABULARIES}

    def estimate(self, text: str, encoding: str = "o200k_base") -> int:
        """Return the estimate of a text."""
        return -(-self.total(text, encoding) // UNIT)

    def total(self, text: str, encoding: str = "o200k_base") -> int:
        """Return the price of a text."""
        total = 0
        for kind, piece in cut(text):
            if kind == "other":
                prices = self.characters[encoding]
                total += sum(prices[character_class(one)] for one in piece.strip(" "))
            elif kind == "marks" or (kind in ("blank", "lines") and len(piece) > SHORT):
                total += UNIT * self.tokens(piece, encoding)
            elif kind == "literal":
                total += UNIT * self.literal(piece, encoding)
            elif kind in CLASSES:
                total += self.by_length[kind][min(len(piece), LONGEST)]
                total += self.beyond[kind] * max(0, len(piece) - LONGEST)
            else:
                total += UNIT
        return total

    def bounds(self, text: str, encoding: str) -> tuple[int, int, int]:
        """Return the least and the most that a text costs, with one token for each word.

        The third is what it may cost more if the other form has more escapes.
        """
        least = most = at = unlike = 0
        for kind, piece in cut(text):
            price = UNIT if kind in CLASSES else self.total(piece, encoding)
            least, most = least + price, most + price
            is_indented = piece[0] == " " and text[:at].rstrip(" ").endswith("\n")
            if kind == "other":
                most += 2 * UNIT * is_indented
                unlike += UNIT * len(piece.strip(" ").encode())
            elif kind in CLASSES and piece[0] == " ":
                most += UNIT * is_indented
            elif kind in CLASSES and SYMBOLS.fullmatch(piece[0]):
                is_inside = at > 0 and not SYMBOLS.fullmatch(text[at - 1])
                if piece[0] in DELIMITERS:
                    least, most = least + UNIT, most + UNIT * (1 if piece[0] == "|" else 2)
                elif is_inside:
                    unlike += UNIT
                else:
                    most += UNIT * (2 if piece[0] == "'" else 1)
            at += len(piece)
        return least, most + UNIT * repeated_keys(text), unlike

    def surely_exceeds(self, text: str, other: str, encoding: str) -> bool:
        """Return whether a text has more tokens than another form of the same data."""
        least, _, _ = self.bounds(text, encoding)
        _, most, unlike = self.bounds(other, encoding)
        return least > most + (unlike if escapes(text) > escapes(other) else 0)

    def literal(self, piece: str, encoding: str) -> int:
        """Return the number of tokens of a literal and the mark before it."""
        return 1 if piece[0] in self.literals[piece[1:]][encoding] else 2

    def tokens(self, piece: str, encoding: str) -> int:
        """Return the number of tokens of punctuation or white space."""
        key = piece, encoding
        if key not in self.counted:
            parts = (piece[at : at + PART] for at in range(0, len(piece), PART))
            self.counted[key] = sum(len(merged(part, self.merges[encoding])) for part in parts)
        return self.counted[key]


def smoothed(found: list[list[int]]) -> list[int]:
    """Return the mean cost of each length; of a rare length that of the lengths around it."""
    prices = [0]
    for length in range(1, len(found)):
        reach = 0
        costs = found[length]
        while len(costs) < 30 and reach < len(found):
            reach += 1
            costs = [
                cost for near in found[max(1, length - reach) : length + reach + 1] for cost in near
            ]
        prices.append(round(UNIT * sum(costs) / len(costs)) if costs else UNIT)
    return prices


def fitted(prices: Prices, texts: list[str], encoding: str) -> list[int]:
    """Fit the prices of characters beyond ASCII, by least squares over lines."""
    import bpe_openai
    import numpy as np

    encoder = bpe_openai.get_encoding(encoding)
    counts, rest = [], []
    for line in dict.fromkeys(line for text in texts for line in text.splitlines()):
        if line.isascii():
            continue
        found = [0] * 5
        for character in line:
            if not character.isascii():
                found[character_class(character)] += 1
        counts.append(found)
        rest.append(len(encoder.encode_ordinary(line)) - prices.total(line, encoding) / UNIT)
    solution, *_ = np.linalg.lstsq(np.array(counts, float), np.array(rest), rcond=None)
    return [max(8, round(UNIT * float(price))) for price in solution]


def forms(value: Any) -> list[str]:
    """Return the texts of a value in every form."""
    return [
        json.dumps(value),
        json.dumps(value, indent=2, ensure_ascii=False),
        json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        cw.gcf.dumps(value),
        cw.gcf.dumps(value, constant_columns=True),
    ]


def training(seed: int) -> list[str]:
    """Return the texts to measure: values of the shapes that are not held out, and the corpus."""
    texts = [text for _, value in values(1500, seed=seed, held_out=False) for text in forms(value)]
    samples = [sample for sample in load() if not sample.held_out]
    return texts + [sample.text for sample in samples[::4]]


def match_in(table: str, pattern: str) -> str:
    """Return the group of a pattern that occurs in the table."""
    match = re.search(pattern, table)
    if match is None:
        raise ValueError(f"{TABLE}: nothing matches {pattern}")
    return match[1]


def constant(kind: str) -> str:
    """Return the name of the row of a class."""
    return kind.upper().replace(" ", "_")


def rendered(prices: Prices) -> str:
    """Return the source of the table."""
    out = [
        "//! Prices of pieces of text, written by `python -m data.tokens --write`: do not edit.",
        "",
        "/// A price is a multiple of 1/UNIT of a token.",
        f"pub(super) const UNIT: u64 = {UNIT};",
        "",
        "/// Prices by length in bytes; the last entry is that of each byte beyond.",
        f"pub(super) type ByLength = [u16; {LONGEST + 2}];",
        "",
    ]
    for kind in CLASSES:
        row = ", ".join(str(price) for price in [*prices.by_length[kind], prices.beyond[kind]])
        out.append(f"pub(super) const {constant(kind)}: ByLength = [{row}];")
    out += [
        "",
        "/// The words of JSON, and the marks with which they are one token, of `o200k_base` and",
        "/// of `cl100k_base`. With other marks, they are two.",
        f"pub(super) static LITERALS: [(&[u8], [&[u8]; 2]); {len(prices.literals)}] = [",
    ]
    for literal, marks in prices.literals.items():
        row = ", ".join(f'b"{marks[encoding]}"' for encoding in VOCABULARIES)
        out.append(f'    (b"{literal}", [{row}]),')
    out.append("];")
    packed = sorted(
        (
            int.from_bytes(piece.encode(), "little"),
            *(UNIT * prices.tokens(piece, encoding) for encoding in VOCABULARIES),
        )
        for piece in prices.marks
    )
    out += [
        "",
        "/// Prices of common punctuation, by its bytes as a little-endian number: those of",
        "/// `o200k_base` and of `cl100k_base`.",
        f"pub(super) static COMMON_MARKS: [(u64, [u16; 2]); {len(packed)}] = [",
        *(f"    (0x{key:019_X}, [{first}, {second}])," for key, first, second in packed),
        "];",
    ]
    for encoding, merges in prices.merges.items():
        pairs = list(merges)
        rows = [pairs[at : at + 8] for at in range(0, len(pairs), 8)]
        out += [
            "",
            f"/// The pairs that `{encoding}` merges into tokens of punctuation or white space,",
            f"/// in its order. A character is the token of its code; row n makes {ASCII} + n.",
            f"pub(super) static {constant(encoding)}: [(u16, u16); {len(pairs)}] = [",
            *("    " + ", ".join(map(str, row)) + "," for row in rows),
            "];",
        ]
    out += [
        "",
        "/// Prices of characters beyond ASCII: Latin, others of two bytes, Han and Hangul,",
        "/// others of three bytes, four bytes; of `o200k_base` and of `cl100k_base`.",
    ]
    characters = ", ".join(map(str, prices.characters.values()))
    out.append(f"pub(super) const CHARACTERS: [[u16; 5]; 2] = [{characters}];")
    return "\n".join(out) + "\n"


def main() -> int:
    """Measure, print estimates relative to the count of tokens, and write or compare the table."""
    parser = argparse.ArgumentParser(description="The prices of the token estimate.")
    parser.add_argument("--write", action="store_true", help="write the table")
    arguments = parser.parse_args()
    import bpe_openai

    encoder = bpe_openai.get_encoding("o200k_base")
    prices = Prices()
    prices.measure(training(0), encoder)
    for encoding in ("o200k_base", "cl100k_base"):
        judge = bpe_openai.get_encoding(encoding)
        for held_out in (False, True):
            ratios = defaultdict(list)
            for shape, value in values(1500, seed=1, held_out=held_out):
                for text in forms(value)[2:4]:
                    ratios[shape].append(
                        prices.total(text) / UNIT / len(judge.encode_ordinary(text))
                    )
            every = sorted(ratio for found in ratios.values() for ratio in found)
            at = [every[int(part * (len(every) - 1))] for part in (0.01, 0.05, 0.5, 0.95, 0.99)]
            name = "held out" if held_out else "trained on"
            print(f"{encoding}, shapes {name}:", *(f"{ratio:.2f}" for ratio in at))
            for shape, found in ratios.items():
                found.sort()
                print(
                    f"    {shape:16}",
                    *(f"{found[int(p * (len(found) - 1))]:.2f}" for p in (0.05, 0.5, 0.95)),
                )
    text = rendered(prices)
    if arguments.write:
        TABLE.write_text(text)
        return 0
    return 0 if TABLE.exists() and TABLE.read_text() == text else 1


if __name__ == "__main__":
    sys.exit(main())
