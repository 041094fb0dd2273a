"""Talking to one Docker daemon through the `docker` command."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg_testbed.commands import call
from thalweg_testbed.errors import CommandFailed

__all__ = ["Engine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One Docker daemon; `host` is empty for the one that the user's own settings name."""

    host: str = ""

    @property
    def is_ours(self) -> bool:
        """Tell whether the test bed started it, so that all that is in it is the test bed's."""
        return bool(self.host)

    @property
    def environment(self) -> Mapping[str, str]:
        """What `docker` and `kind` must see to reach it."""
        # The legacy builder needs no plugin, and every engine has it.
        settings = {"DOCKER_BUILDKIT": "0"}
        if self.host:
            settings |= {"DOCKER_HOST": self.host, "DOCKER_CONTEXT": ""}
        return settings

    def run(self, *arguments: str, stdin: str | None = None, timeout_s: float = 300.0) -> str:
        """Run `docker …` and return what it prints."""
        return call(["docker", *arguments], stdin=stdin, env=self.environment, timeout_s=timeout_s)

    def answers(self, *, timeout_s: float = 20.0) -> bool:
        """Tell whether the daemon is there."""
        try:
            self.run("version", "--format", "{{.Server.Version}}", timeout_s=timeout_s)
        except CommandFailed:
            return False
        return True

    def has_image(self, name: str) -> bool:
        """Tell whether an image is in the daemon."""
        return bool(self.run("image", "ls", "--quiet", name).strip())

    def containers(self, *filters: str) -> list[str]:
        """Return the names of containers, also of those that do not run."""
        wanted = [word for one in filters for word in ("--filter", one)]
        return self.run("ps", "--all", "--format", "{{.Names}}", *wanted).split()

    def state_of(self, container: str) -> str:
        """Return created, running, paused, exited, dead …; empty if there is none."""
        try:
            return self.run("inspect", "--format", "{{.State.Status}}", container).strip()
        except CommandFailed:
            return ""

    def remove_containers(self, names: Sequence[str]) -> None:
        """Remove containers with their volumes, whatever state they are in."""
        if names:
            self.run("rm", "--force", "--volumes", *names)

    def shell(self, container: str, script: str, *, timeout_s: float = 120.0) -> str:
        """Run a script by the shell of a running container; the first failure ends it."""
        command = ("exec", "--interactive", container, "sh", "-eu")
        return self.run(*command, stdin=script, timeout_s=timeout_s)

    def put(self, container: str, path: str, source: Path) -> None:
        """Copy a file into a container."""
        self.run("cp", str(source), f"{container}:{path}")

    def pipe_into(
        self, producer: Sequence[str | Path], *arguments: str, timeout_s: float = 600.0
    ) -> None:
        """Run `producer | docker …`, for what is too large to hold in memory."""
        environment = {**os.environ, **self.environment}
        words = [str(word) for word in producer]
        with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as source:
            try:
                done = subprocess.run(
                    ["docker", *arguments],
                    stdin=source.stdout,
                    env=environment,
                    capture_output=True,
                    timeout=timeout_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                source.kill()
                raise CommandFailed(f"docker {arguments[0]}: not within {timeout_s:g} s") from None
        if done.returncode or source.returncode:
            complaint = done.stderr.decode(errors="replace").strip()
            raise CommandFailed(f"{words[0]} | docker {arguments[0]}: {complaint}")
