"""The private environment that matplotlib lives in: nothing of it lies in anybody's home."""

import os
import subprocess

PACKAGE = "matplotlib"
INSTALL_SECONDS = 900


class InstallError(Exception):
    pass


def can_make_environments():
    """Debian's python3 comes without what makes the pip of a virtual environment."""
    return subprocess.run(["python3", "-c", "import ensurepip, venv"], check=False,
                          capture_output=True).returncode == 0


def call(command, place):
    env = {**os.environ, "PIP_CACHE_DIR": str(place / "cache"),
           "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(command, env=env, text=True, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise InstallError(f"{command[0]}: {why}") from why
    if done.returncode != 0:
        raise InstallError(f"{' '.join(map(str, command[:5]))} ended with {done.returncode}: "
                           + " / ".join(done.stdout.splitlines()[-6:]))


def drawing_python(place):
    """The Python of an environment that has matplotlib, or None."""
    python = place / "bin/python"
    if not python.exists():
        return None
    found = subprocess.run([python, "-c", f"import {PACKAGE}"], check=False, capture_output=True)
    return python if found.returncode == 0 else None


def make_environment(place, say):
    """As drawing_python(); makes what is missing."""
    ready = drawing_python(place)
    if ready:
        return ready
    say(f"installing {PACKAGE} from PyPI in {place}")
    call(["python3", "-m", "venv", "--clear", place], place)
    call([place / "bin/python", "-m", "pip", "install", "--quiet", PACKAGE], place)
    ready = drawing_python(place)
    if not ready:
        raise InstallError(f"{PACKAGE} was installed in {place}, but cannot be imported")
    return ready
