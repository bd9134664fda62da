"""Texts that only this benchmark needs, to compare with an older benchmark.

Neither is a codec: no decoder exists for them.
"""

from __future__ import annotations

import json

from compactwire import gcf, wire

GROUPS = {0: "targets", 1: "related", 2: "extended"}


def gcf10(payload: gcf.Payload) -> str:
    """Write the text of GCF 1.0: no profile, no counts of edges, nothing sorted."""
    lines = [
        f"GCF tool={payload.tool} budget={payload.token_budget} tokens={payload.tokens_used} "
        f"symbols={len(payload.symbols)}"
    ]
    # Lines of symbols have not changed since.
    ids = {symbol.qualified_name: i for i, symbol in enumerate(payload.symbols)}
    distance = None
    for i, symbol in enumerate(payload.symbols):
        if symbol.distance != distance:
            distance = symbol.distance
            lines.append(f"## {GROUPS.get(distance, f'distance_{distance}')}")
        _, _, node = gcf.encode(gcf.Payload(symbols=[symbol])).splitlines()
        lines.append(f"@{i}{node.removeprefix('@0')}")
    lines.append("## edges")
    for edge in payload.edges:
        if edge.source in ids and edge.target in ids:
            status = edge.status.replace("unchanged", "")
            line = f"@{ids[edge.target]}<@{ids[edge.source]} {edge.edge_type} {status}"
            lines.append(line.rstrip(" "))
    return "\n".join(lines) + "\n"


def scorecard_json(payload: gcf.Payload) -> str:
    """Write the JSON of the old scorecard: no tool, no edges, a signature always."""
    document = json.loads(wire.encode_json(payload))
    symbols = []
    for symbol, written in zip(payload.symbols, document["symbols"], strict=True):
        members = dict(written)
        members["signature"] = symbol.signature
        symbols.append(members)
    document = {
        "tokens_used": payload.tokens_used,
        "token_budget": payload.token_budget,
        "symbols": symbols,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
