"""The command ``compactwire completion``: scripts that complete commands and options in a shell.

The scripts are written from the parsers. They run no program when a key is pressed, and complete
file names where a command takes them.
"""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, NamedTuple

from ._shell import add_command, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._shell import Commands


class _Option(NamedTuple):
    names: list[str]
    about: str
    takes_value: bool
    choices: list[str]


class _Command(NamedTuple):
    """A command, with the names that lead to it."""

    path: tuple[str, ...]
    commands: dict[str, str]
    """The commands below it, and what each is for."""
    options: list[_Option]
    arguments: list[str]
    """The words that its first argument may be, if they are known."""

    @property
    def words(self) -> dict[str, str]:
        """The words that may follow and are no options; empty where a file name may."""
        return self.commands | dict.fromkeys(self.arguments, "")

    @property
    def names(self) -> dict[str, str]:
        """The names of the options, and what each is for."""
        return {name: option.about for option in self.options for name in option.names}


def add(commands: Commands, whole: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command; `whole` returns the parser that has all commands."""

    def run(args: argparse.Namespace) -> int:
        return write(_SHELLS[args.shell](list(_walk(whole()))), "-")

    about = "print a script that completes commands and options in a shell"
    parser = add_command(
        commands, "completion", run, about, "source <(compactwire completion bash)"
    )
    parser.add_argument("shell", metavar="SHELL", choices=sorted(_SHELLS), help="bash, fish or zsh")


def _walk(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[_Command]:
    commands: dict[str, str] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    options: list[_Option] = []
    arguments: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
            commands = {one.dest: one.help or "" for one in action._choices_actions}
        elif action.option_strings:
            options.append(_option(parser, action))
        elif action.choices and not arguments:
            arguments = [str(choice) for choice in action.choices]
    yield _Command(path, commands, options, arguments)
    for name, one in below.items():
        yield from _walk(one, (*path, name))


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> _Option:
    about = ""
    if action.help:
        about = parser._get_formatter()._expand_help(action)
    choices = [str(choice) for choice in action.choices or ()]
    return _Option(list(action.option_strings), about, action.nargs != 0, choices)


def _bash(commands: list[_Command]) -> str:
    lines = [
        "# Completion of compactwire for bash: source <(compactwire completion bash)",
        "_compactwire() {",
        "  local word index at='' words=''",
        "  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
        "  COMPREPLY=()",
        # Of `--option=value`, bash makes three words.
        '  if [[ "$before" == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi',
        '  if [[ "$cur" == = ]]; then cur=; fi',
        *_place("${COMP_WORDS[index]}", "(( index = 1; index < COMP_CWORD; index++ ))", commands),
        '  case "$at:$before" in',
    ]
    for option, choices in _values(commands):
        action = f"words={shlex.quote(' '.join(choices))}" if choices else "return"
        lines.append(f"    {option}) {action} ;;")
    lines += ["    *)", "      case $at:$cur in"]
    for pattern, words in _following(commands):
        lines.append(f"        {pattern}) words={shlex.quote(' '.join(words))} ;;")
    lines += [
        "      esac ;;",
        "  esac",
        '  while IFS= read -r word; do COMPREPLY+=("$word")',
        '  done < <(compgen -W "$words" -- "$cur")',
        "}",
        # Without a word of ours that fits, bash completes file names.
        "complete -o default -F _compactwire compactwire",
    ]
    return "\n".join(lines) + "\n"


def _zsh(commands: list[_Command]) -> str:
    lines = [
        "#compdef compactwire",
        "# Completion of compactwire for zsh: a file _compactwire in a folder of $fpath, or",
        "# source <(compactwire completion zsh) after compinit.",
        "_compactwire() {",
        "  local word index at=''",
        "  local -a known",
        *_place("${words[index]}", "(( index = 2; index < CURRENT; index++ ))", commands),
        '  case "$at:${words[CURRENT-1]}" in',
    ]
    for option, choices in _values(commands):
        action = f"compadd -- {' '.join(map(shlex.quote, choices))}" if choices else "_files"
        lines.append(f"    {option}) {action}; return ;;")
    lines += ["  esac", '  case "$at:$PREFIX" in']
    for pattern, words in _following(commands):
        # `_describe` takes a word and what it is for, with a colon between them.
        known = (f"{word}:{about}" if about else word for word, about in words.items())
        lines.append(f"    {pattern}) known=({' '.join(map(shlex.quote, known))}) ;;")
    lines += [
        "  esac",
        "  if (( ${#known} )); then _describe -o compactwire known; else _files; fi",
        "}",
        "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then",
        '  _compactwire "$@"',
        "else",
        "  compdef _compactwire compactwire",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _fish(commands: list[_Command]) -> str:
    lines = [
        "# Completion of compactwire for fish: compactwire completion fish | source",
        "function __compactwire_at",
        "  set -l at ''",
        "  for word in (commandline -opc)[2..-1]",
        '    switch "$at $word"',
        f"      case {' '.join(_quoted(each.path) for each in commands if each.path)}",
        '        set at "$at $word"',
        "    end",
        "  end",
        '  test "$at" = "$argv[1]"',
        "end",
    ]
    for command in commands:
        condition = _fish_quoted(f"__compactwire_at {_quoted(command.path)}")
        here = f"complete -c compactwire -n {condition}"
        if command.words:
            lines.append(f"{here} -f")
        for name, about in command.commands.items():
            lines.append(f"{here} -a {name} -d {_fish_quoted(about)}")
        lines += [f"{here} -a {_fish_quoted(name)}" for name in command.arguments]
        lines += [f"{here} {_fish_option(option)}" for option in command.options]
    return "\n".join(lines) + "\n"


def _fish_option(option: _Option) -> str:
    parts = [
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    ]
    if option.choices:
        parts.append(f"-x -a {_fish_quoted(' '.join(option.choices))}")
    elif option.takes_value:
        parts.append("-r")
    return f"{' '.join(parts)} -d {_fish_quoted(option.about)}"


def _place(word: str, loop: str, commands: list[_Command]) -> list[str]:
    """Lines of bash or zsh that set `at` to the command that the words before name."""
    known = "|".join(_quoted(command.path) for command in commands if command.path)
    return [
        f"  for {loop}; do",
        f"    word={word}",
        # What follows is the command line of another program.
        '    [[ "$word" == -- ]] && at="--" && break',
        f'    case "$at $word" in {known}) at="$at $word" ;; esac',
        "  done",
    ]


def _values(commands: list[_Command]) -> Iterator[tuple[str, list[str]]]:
    """The options that take a value, as patterns of `case`, with the values that are known."""
    for command in commands:
        for option in command.options:
            if option.takes_value:
                names = [f"{_quoted(command.path)}:{name}" for name in option.names]
                yield "|".join(names), option.choices


def _following(commands: list[_Command]) -> Iterator[tuple[str, dict[str, str]]]:
    """For each command, as patterns of `case`: its options, and the other words after it."""
    for command in commands:
        at = _quoted(command.path)
        yield f"{at}:-*", command.names
        yield f"{at}:*", command.words


def _quoted(path: tuple[str, ...]) -> str:
    return "'" + "".join(f" {name}" for name in path) + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS = {"bash": _bash, "fish": _fish, "zsh": _zsh}
