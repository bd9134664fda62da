"""Ctrl-C at any moment of a turn leaves the sender and the store usable.

The exception is kept, as an interactive session does: nothing may wait until it is gone.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# Of a process: Python ignores an alarm during the callback of a weak reference, and pytest reports
# that as an error.
CODE = """if True:
    import random, signal, sys
    import compactwire as cw
    from compactwire.turns import MemorySessionStore, Sender

    checked = sys.argv[1] == "True"
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    moments, interrupted = random.Random(7), 0
    for _ in range(1500):
        seen, context, kept = [], "word " * 20, None
        store, sender = MemorySessionStore(checked=checked), Sender(cw.Session(checked=checked))

        def deliver(turn):
            return store.answer("c", turn, lambda request: seen.append(request.context) or "ok")

        sender.send(deliver, context=context)
        try:
            signal.setitimer(signal.ITIMER_REAL, moments.random() * 0.0008 + 0.00002)
            for _ in range(300):
                context += "more "
                sender.send(deliver, context=context)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt as error:
            kept, interrupted = error, interrupted + 1
        for at in range(3):
            context += f"after {at} "
            sender.send(deliver, context=context)
            assert seen[-1] == context
            kept = kept if at == 0 else None
    assert interrupted > 1000
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs Unix")
@pytest.mark.parametrize("checked", [False, True])
def test_turns_after_ctrl_c_arrive_whole(checked: bool) -> None:
    command = [sys.executable, "-W", "ignore", "-c", CODE, str(checked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    # Python writes to standard error what it ignores.
    assert done.returncode == 0, done.stderr[-2000:]
