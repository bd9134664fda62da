"""Dictionary frames: v4 section 1 (`D`), which only says "Zstd + Dictionary + Base85". Older peers
write a container:

    "ZDCT"  original size, 4 bytes big-endian  length of the name, 1 byte  name  zstd frame

A dictionary is found by the id in the frame; in the old container, failing that, by its name.
"""

from __future__ import annotations

from collections.abc import Sequence

from .compression import compress_zstd, decompress_zstd, zstd_dictionary_id, zstd_header
from .errors import DecompressionFailed, DictionaryNotFound, EncodeError, OutputTooLarge
from .values import Dictionary

CONTAINER_MAGIC = b"ZDCT"


def _name_and_data(dictionary: Dictionary) -> tuple[str | None, bytes]:
    return (None, dictionary) if isinstance(dictionary, bytes) else dictionary


def _find(dictionaries: Sequence[Dictionary], id: int, name: str | None) -> bytes:
    known = [_name_and_data(dictionary) for dictionary in dictionaries]
    if id != 0:
        for _, data in known:
            if zstd_dictionary_id(data) == id:
                return data
    if name is not None:
        for known_name, data in known:
            if known_name == name:
                return data
    raise DictionaryNotFound(name if id == 0 and name is not None else id)


def _open_container(data: bytes) -> tuple[int, str, bytes]:
    """The original size, the dictionary's name and the frame."""
    if len(data) < 9 or len(data) < 9 + data[8]:
        raise DecompressionFailed("the dictionary container is cut off")
    frame_start = 9 + data[8]
    try:
        name = data[9:frame_start].decode("utf-8")
    except UnicodeDecodeError:
        raise DecompressionFailed("the name in the dictionary container is not UTF-8") from None
    return int.from_bytes(data[4:8], "big"), name, data[frame_start:]


def decompress_with_dictionary(
    data: bytes, max_size: int, dictionaries: Sequence[Dictionary]
) -> bytes:
    if not data.startswith(CONTAINER_MAGIC):
        id, _ = zstd_header(data)
        return decompress_zstd(data, max_size, _find(dictionaries, id, None))

    original_size, name, frame = _open_container(data)
    id, _ = zstd_header(frame)
    dictionary = _find(dictionaries, id, name)
    if original_size > max_size:
        raise OutputTooLarge(max_size)
    output = decompress_zstd(frame, max_size, dictionary)
    if len(output) != original_size:
        raise DecompressionFailed(
            "the size in the dictionary container differs from that of its frame"
        )
    return output


def compress_with_dictionary(data: bytes, dictionary: Dictionary) -> bytes:
    _, dictionary_data = _name_and_data(dictionary)
    if zstd_dictionary_id(dictionary_data) == 0:
        raise EncodeError("a frame can only name a dictionary that has an id")
    return compress_zstd(data, dictionary_data)
