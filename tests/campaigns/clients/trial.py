"""One library's trial: install, fail without a server, the scenario, survive a SIGKILL."""

import subprocess
import time
from dataclasses import dataclass, field

from liar import Liar
from server import Server, ServerError, closed_port, raw_get
from toolchains import InstallError, prepare
from verdict import STEPS, Verdict, judge

RUN_SECONDS = 120
SURVIVOR = "survivor"


@dataclass
class Trial:
    library: object
    version: str = "-"
    seconds: float = 0
    verdict: Verdict = field(default_factory=Verdict)


def run(program, port, phase):
    """Runs a phase of a program; gives its exit status and all that it said."""
    try:
        done = subprocess.run(
            [*program.command, "127.0.0.1", str(port), phase], cwd=program.place, env=program.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=RUN_SECONDS, check=False)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        return -1, f"{said}\nFAILED end: not within {RUN_SECONDS} s"


def expect(wrong, phase, result, step):
    """Adds to `wrong` what a phase of a single step did wrong."""
    wrong += [f"{phase}: {one}" for one in judge(*result, steps=(step,)).wrong]


def survive(program, server, wrong):
    """A key written under --ack durable is there after a SIGKILL, and the library reads it."""
    expect(wrong, "before the kill", run(program, server.port, "write"), "write")
    if wrong:
        return
    if SURVIVOR.encode() not in raw_get(server.port, SURVIVOR):
        wrong.append("before the kill: the library said that it wrote, and the key is not there")
    server.kill()
    server.start()
    expect(wrong, "after the kill", run(program, server.port, "read"), "read")


def notices(program, server):
    """Whether a program fails without a server, and where the server's values are not the ones
    that were stored; what it did not notice, or nothing."""
    status, output = run(program, closed_port(), "write")
    if status == 0 or judge(status, output, steps=("write",)).passed:
        return ["self-check: without a server the program must fail, and it did not"]
    with Liar(server.port) as liar:
        status, output = run(program, liar.port, "scenario")
    if status == 0 or not any(one.startswith("set_get:") for one in judge(status, output).wrong):
        return ["self-check: the program must notice a changed value, and it did not"]
    return []


def try_program(program, holdfast):
    """Judges a program that is ready to run."""
    with Server(holdfast) as server:
        unnoticed = notices(program, server)
    if unnoticed:
        return Verdict(wrong=unnoticed)
    with Server(holdfast) as server:
        verdict = judge(*run(program, server.port, "scenario"), steps=STEPS)
        if not server.is_running():
            verdict.wrong.append("the server ended while the scenario ran")
        elif verdict.passed:
            survive(program, server, verdict.wrong)
    return verdict


def try_library(library, holdfast, work):
    """Installs a library under `work` and judges it."""
    begin = time.monotonic()
    trial = Trial(library)
    try:
        program = prepare(library, work)
        trial.version = program.version
        trial.verdict = try_program(program, holdfast)
    except (InstallError, ServerError, OSError) as why:
        trial.verdict.wrong.append(str(why))
    trial.seconds = time.monotonic() - begin
    return trial
