"""Reading files, folders and links of the machine, below a root that tests can move."""

from __future__ import annotations

import os
from typing import Any, Callable, NamedTuple

from gonogo.node.facts.missing import Missing, missing_from

#: No file that a collector reads whole is larger; the rest is cut.
LIMIT_BYTES = 4 << 20


class Space(NamedTuple):
    """A filesystem as this user may fill it. ``filesystem`` is the device number (st_dev)."""

    filesystem: int
    total_bytes: int
    available_bytes: int
    total_inodes: int
    available_inodes: int


class Files:
    """The live port. Methods answer with a value or with the Missing that says why not; they never raise OSError."""

    def __init__(self, root: str = "/") -> None:
        self._root = root.rstrip("/")

    def _real(self, path: str) -> str:
        return self._root + path if self._root else path

    def read(self, path: str, limit_bytes: int = LIMIT_BYTES) -> bytes | Missing:
        """The first ``limit_bytes`` of the file. Never blocks on a FIFO."""
        try:
            descriptor = os.open(self._real(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError) as error:
            return missing_from(error)
        try:
            chunks: list[bytes] = []
            left = limit_bytes
            while left > 0:
                chunk = os.read(descriptor, min(left, 1 << 16))
                if not chunk:
                    break
                chunks.append(chunk)
                left -= len(chunk)
            return b"".join(chunks)
        except (OSError, ValueError) as error:
            return missing_from(error)
        finally:
            os.close(descriptor)

    def reduced(self, path: str, reduce: Callable[[bytes], Any], limit_bytes: int = LIMIT_BYTES) -> Any:
        """``reduce(content)`` as plain data, or a Missing. A recording keeps the result alone.

        For files that hold more than anybody should see (command lines, login records) or more than is worth keeping.
        """
        content = self.read(path, limit_bytes)
        return content if isinstance(content, Missing) else reduce(content)

    def space(self, path: str) -> Space | Missing:
        """Size and room of the filesystem that holds ``path``."""
        try:
            real = self._real(path)
            state, device = os.statvfs(real), os.stat(real).st_dev
        except (OSError, ValueError) as error:
            return missing_from(error)
        except AttributeError:  # Windows has no statvfs
            return Missing("not_supported")
        return Space(
            device,
            state.f_blocks * state.f_frsize,
            state.f_bavail * state.f_frsize,
            state.f_files,
            state.f_favail,
        )

    def writable(self, path: str) -> bool | Missing:
        """Whether this user may write to ``path``."""
        kind = self.kind(path)
        return kind if isinstance(kind, Missing) else os.access(self._real(path), os.W_OK)

    def text(self, path: str) -> str | Missing:
        """The file as text; bytes that are no UTF-8 become U+FFFD."""
        content = self.read(path)
        return content if isinstance(content, Missing) else content.decode("utf-8", "replace")

    def names(self, path: str) -> list[str] | Missing:
        """The names in a folder, sorted."""
        try:
            return sorted(os.listdir(self._real(path)))
        except (OSError, ValueError) as error:
            return missing_from(error)

    def kind(self, path: str) -> str | Missing:
        """file, folder or other, links followed."""
        try:
            mode = os.stat(self._real(path)).st_mode
        except (OSError, ValueError) as error:
            return missing_from(error)
        return {0o100000: "file", 0o040000: "folder"}.get(mode & 0o170000, "other")

    def resolve(self, path: str) -> str | Missing:
        """The path with every link followed."""
        try:
            real = os.path.realpath(self._real(path), strict=True) if _STRICT else os.path.realpath(self._real(path))
        except (OSError, ValueError) as error:
            return missing_from(error)
        return real[len(self._root) :] if self._root and real.startswith(self._root + "/") else real

    def exists(self, path: str) -> bool:
        """Whether there is anything at ``path``."""
        return not isinstance(self.kind(path), Missing)


_STRICT = "strict" in (os.path.realpath.__kwdefaults__ or {})


class ReplayedFiles(Files):
    """Answers from a recording: ``{method: {path: answer}}``, where what nobody asked for is not_collected."""

    def __init__(self, answers: dict[str, dict[str, Any]]) -> None:
        super().__init__()
        self._answers = answers

    def _answer(self, method: str, path: str) -> Any:
        return self._answers.get(method, {}).get(path, Missing("not_collected", "not in the recording"))

    def read(self, path: str, limit_bytes: int = LIMIT_BYTES) -> bytes | Missing:
        return self._answer("read", path)  # type: ignore[no-any-return]

    def reduced(self, path: str, reduce: Callable[[bytes], Any], limit_bytes: int = LIMIT_BYTES) -> Any:
        return self._answer("reduced", path)

    def space(self, path: str) -> Space | Missing:
        answer = self._answer("space", path)
        return answer if isinstance(answer, Missing) else Space(**answer)

    def writable(self, path: str) -> bool | Missing:
        return self._answer("writable", path)  # type: ignore[no-any-return]

    def names(self, path: str) -> list[str] | Missing:
        return self._answer("names", path)  # type: ignore[no-any-return]

    def kind(self, path: str) -> str | Missing:
        return self._answer("kind", path)  # type: ignore[no-any-return]

    def resolve(self, path: str) -> str | Missing:
        return self._answer("resolve", path)  # type: ignore[no-any-return]
