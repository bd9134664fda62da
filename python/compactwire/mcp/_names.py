"""The name of a server, made from the command that starts it or the URL that reaches it.

Commands that start another program are looked through: `npx -y @scope/tasks@1.2` is "tasks",
`docker run -i --rm mcp/git` is "git". A name that many servers have gives way to that of the
folder: `weather/build/index.js` is "weather". `mcp-remote` gives way to the host of its URL. A name
never has what follows a "=" in it, nor code given to an interpreter, nor a text with white space,
which may be a command with its options: all may be secrets. The name is then that of the launcher.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath

__all__ = ["plain_name", "server_name"]

_MAX_NAME = 64
# Launchers that start launchers.
_MAX_NESTED = 4


@dataclass(frozen=True, slots=True)
class _Launcher:
    """How a command names what it starts.

    `verbs` are words before the name; `values` are the options that have a value in the next
    argument, or, if `flags` is given, all options but these. After an option of `code`, or several
    letters with such a one among them, comes a program text; `modules` is whether "-m" and the name
    of a Python module may follow.
    """

    verbs: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    flags: frozenset[str] | None = None
    code: frozenset[str] = frozenset()
    modules: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NPX = _Launcher(
    values=_words(
        "-p --package -w --workspace --prefix --registry --cache --userconfig -C --dir --cwd"
    ),
    code=_words("-c --call"),
)
_UVX = _Launcher(
    values=_words(
        "--from --with --with-editable --with-requirements -w --python -p --directory --project"
        " --env-file --index --default-index --index-url -i --extra-index-url --find-links -f"
        " --extra --group --only-group --no-group --no-extra --package --cache-dir --config-file"
        " --refresh-package --upgrade-package -P --reinstall-package --constraints -c --overrides"
        " --build-constraints -b --index-strategy --keyring-provider --resolution --prerelease"
        " --link-mode --exclude-newer --color --python-platform --allow-insecure-host --spec"
        " --pip-args --fetch-python"
    ),
    modules=True,
)
_DOCKER = _Launcher(
    _words("run exec compose container"),
    flags=_words(
        "--interactive --tty --detach --rm --init --privileged --read-only --publish-all --quiet"
        " --no-healthcheck --oom-kill-disable --no-deps --service-ports --use-aliases --build"
        " --no-TTY --remove-orphans --debug --tls --tlsverify --replace --all-resources"
    ),
)
_PYTHON = _Launcher(
    values=_words("-W -X --check-hash-based-pycs"),
    code=_words("-c"),
    modules=True,
)
_NODE = _Launcher(
    values=_words(
        "-r --require --import --loader --experimental-loader -C --conditions --env-file --config"
        " --import-map --tsconfig --cwd --icu-data-dir --title"
    ),
    code=_words("-e --eval -p --print"),
)
_SHELL = _Launcher(values=_words("-o -O --rcfile --init-file"), code=_words("-c"))
_ENV = _Launcher(
    values=_words(
        "-u --unset -C --chdir -n --adjustment -s --signal -k --kill-after -g --group -D --user -U"
        " --other-user -p --prompt -h --host -R --chroot -T --command-timeout --close-from -r"
        " --role -t --type"
    ),
    code=_words("-S --split-string"),
)
_CMD = _Launcher(_words("/c /k /d /s /q /C /K /D /S /Q"))
_LAUNCHERS = {
    **dict.fromkeys(("npx", "pnpx", "bunx"), _NPX),
    **dict.fromkeys(("npm", "pnpm", "yarn"), replace(_NPX, verbs=_words("exec x dlx run"))),
    "uvx": _UVX,
    **dict.fromkeys(("uv", "pipx"), replace(_UVX, verbs=_words("run tool"))),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _DOCKER),
    **dict.fromkeys(("python", "python3", "pythonw", "py", "pypy", "pypy3"), _PYTHON),
    **dict.fromkeys(("node", "tsx", "ts-node"), _NODE),
    **dict.fromkeys(("bun", "deno"), replace(_NODE, verbs=_words("run x task"))),
    **dict.fromkeys(("sh", "bash", "zsh", "dash"), _SHELL),
    **dict.fromkeys(("env", "nice", "nohup", "sudo", "exec"), _ENV),
    "cmd": _CMD,
    "java": _Launcher(values=_words("-cp -classpath --class-path -p --module-path -m")),
    "go": _Launcher(_words("run"), _words("-C -exec -tags -ldflags -mod")),
    **dict.fromkeys(("mcp", "fastmcp"), _Launcher(_words("run"), _words("--transport -t --with"))),
}


# What programs of servers, and folders around them, are called whatever the server is.
_COMMON = _words(
    "index main server app cli start run mcp mcp-server mcp_server build dist src out lib libs bin"
    " cmd target debug release packages node_modules venv . .bin .venv"
)
# The options of launchers whose value is the folder of the server.
_FOLDERS = _words("--directory --project --prefix --dir --cwd --chdir")
_URL = re.compile("https?://", re.IGNORECASE)


def server_name(command: list[str]) -> str:
    """A name for the server that a command starts or a URL reaches, for its ledger."""
    if _URL.match(command[0]):
        return _host(command[0])
    place = ""
    for _ in range(_MAX_NESTED):
        launcher = _LAUNCHERS.get(_program(command[0]))
        started = None if launcher is None else _started(launcher, command[1:])
        if not started or re.search(r"\s", started[0]):
            break
        place = _folder(command[1 : -len(started)]) or place
        command = started
    *folders, last = _parts(command[0])
    name = _bare(last)
    url = next(filter(_URL.match, command[1:]), "") if name == "mcp-remote" else ""
    if url:
        return _host(url)
    if name.lower() in _COMMON and not re.search("=|://", place + command[0]):
        # That of the folder, or of the scope of npm, unless it may be something else.
        above = reversed([*_parts(place), *folders])
        folder = next((one for one in above if one.lower() not in _COMMON), "")
        found = re.fullmatch(r"(?:(?:npm|jsr|github):)?@?(\w[\w. -]*)", folder)
        name = found[1] if found else name
    return plain_name(name)


def _host(url: str) -> str:
    """The host and port of a URL; its path may hold a secret."""
    return plain_name(re.split("[/?#]", url.split("://", 1)[1])[0].rpartition("@")[2])


def _folder(options: list[str]) -> str:
    """The folder that the options of a launcher name, or an empty text."""
    return next((value for option, value in pairwise(options) if option in _FOLDERS), "")


def _parts(path: str) -> list[str]:
    if "://" in path:  # The user and the query of a URL may be secrets, and have a "/".
        path = re.split("[?#]", re.sub("://[^/?#]*@", "://", path))[0]
    return path.rstrip("/\\").replace("\\", "/").split("/")


def _bare(name: str) -> str:
    """A name without version, tag, extras, suffix, and what may be the value of a variable."""
    name = re.sub(r"^(npm|jsr|github):", "", name)
    name = re.sub(r"(?<=.)[@:=<>~!\[?#;].*", "", name)
    return re.sub(r"(?<=.)\.(exe|cmd|bat|ps1|sh|py|[cm]?js|ts|go|jar|git)$", "", name)


def plain_name(name: str) -> str:
    """The name as a file name: ASCII letters, digits, ".", "_" and "-"; others become "_"."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:_MAX_NAME].lstrip(".") or "server"


def _program(path: str) -> str:
    name = PurePath(path.replace("\\", "/")).name.lower()
    name = re.sub(r"\.(exe|cmd|bat)$", "", name)
    return re.sub(r"^(python|pypy)3?\.\d+$", r"\1", name)


def _started(launcher: _Launcher, arguments: list[str]) -> list[str] | None:
    """The command, file or package that a launcher starts; None if it is not known."""
    rest = iter(range(len(arguments)))
    for at in rest:
        argument = arguments[at]
        if _has_code(launcher, argument):
            return None
        if launcher.modules and argument in ("-m", "--module"):
            return arguments[at + 1 :]
        if argument in launcher.verbs and at + 1 < len(arguments):
            continue
        if argument.startswith("-") and argument != "-":
            if _has_value(launcher, argument):
                next(rest, None)
        elif launcher is not _ENV or "=" not in argument:
            return arguments[at:]
    return None


def _has_code(launcher: _Launcher, option: str) -> bool:
    """Whether a program text follows an option, such as `-c`, or `-euc` of a shell."""
    if option in launcher.code:
        return True
    is_short = re.fullmatch("-[A-Za-z]+", option) is not None
    return is_short and any(f"-{letter}" in launcher.code for letter in option[1:])


def _has_value(launcher: _Launcher, option: str) -> bool:
    """Whether the next argument is the value of an option."""
    if launcher.flags is None:
        return option in launcher.values
    if option.startswith("--"):
        return "=" not in option and option != "--" and option not in launcher.flags
    # `-it` has two flags, `-eNAME=value` has its value.
    return len(option) == 2 and option not in ("-i", "-t", "-d", "-q", "-P", "-D", "-T")
