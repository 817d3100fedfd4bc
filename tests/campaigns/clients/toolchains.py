"""Installs a client library in a directory of its own, and says how its program is run.

What a registry's tool keeps goes under the work directory, too; nothing lies in anybody's home.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALL_SECONDS = 900

# Of each language the tools that must be in PATH, and the Debian packages that bring them.
TOOLS = {
    "C": {"cc": "build-essential", "pkg-config": "pkg-config"},
    "Python": {},
    "Go": {"go": "golang-go"},
    "Node": {"node": "nodejs", "npm": "npm"},
    "Rust": {"cargo": "cargo", "cc": "build-essential"},
    "Java": {"javac": "default-jdk-headless", "mvn": "maven"},
    "Perl": {"perl": "perl"},
    "PHP": {"php": "php-cli"},
}


class InstallError(Exception):
    pass


@dataclass
class Program:
    command: list
    version: str
    place: Path
    env: dict


def debian_packages(libraries):
    """The Debian packages that these libraries take. A tool that is in PATH takes none."""
    packages = set()
    for library in libraries:
        packages.update(library.debian)
        packages.update(package for tool, package in TOOLS[library.language].items()
                        if not shutil.which(tool))
        if library.language == "Python" and not has_venv():
            packages.update(("python3", "python3-venv"))
    return sorted(packages)


def has_venv():
    # Debian's python3 comes without what makes the pip of a virtual environment.
    return subprocess.run(["python3", "-c", "import ensurepip, venv"], check=False,
                          capture_output=True).returncode == 0


def call(command, place, env=None):
    """Runs an installer in `place` and gives what it printed."""
    try:
        done = subprocess.run(command, cwd=place, env=env, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=INSTALL_SECONDS)
    except FileNotFoundError as why:
        raise InstallError(f"{command[0]} is missing: install what ./dev client-test --packages "
                           "names") from why
    except subprocess.TimeoutExpired as why:
        raise InstallError(f"{command[0]} took more than {INSTALL_SECONDS} s") from why
    if done.returncode != 0:
        raise InstallError(f"not installed: {' '.join(map(str, command[:4]))} ended with "
                           f"{done.returncode}: {' / '.join(done.stdout.splitlines()[-6:])}")
    return done.stdout


def prepare(library, work):
    """Installs the library and builds its program."""
    for tool in TOOLS[library.language]:
        if not shutil.which(tool):
            raise InstallError(f"the tool chain of {library.language} is missing: no {tool}")
    place = work / re.sub(r"\W+", "_", f"{library.language}_{library.name}".lower())
    place.mkdir(parents=True, exist_ok=True)
    installer = {"C": prepare_c, "Python": prepare_python, "Go": prepare_go, "Node": prepare_node,
                 "Rust": prepare_rust, "Java": prepare_java, "Perl": prepare_perl,
                 "PHP": prepare_php}
    return installer[library.language](library, HERE / library.program, place)


def debian_version(package):
    return call(["dpkg-query", "-W", "-f=${Version}", package], HERE).strip()


def prepare_c(library, source, place):
    flags = call(["pkg-config", "--cflags", "--libs", library.name], place).split()
    binary = place / "program"
    call(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(binary),
          *flags], place)
    return Program([str(binary)], debian_version(library.package), place, dict(os.environ))


def prepare_python(library, source, place):
    python = place / "venv/bin/python"
    if not python.exists():
        call(["python3", "-m", "venv", "venv"], place)
    env = {**os.environ, "PIP_CACHE_DIR": str(place / "cache"),
           "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    call([str(python), "-m", "pip", "install", "--quiet", library.package], place, env)
    version = call([str(python), "-c", "import importlib.metadata as m; "
                    f"print(m.version('{library.package}'))"], place).strip()
    return Program([str(python), "-B", str(source)], version, place, env)


def prepare_go(library, source, place):
    env = {**os.environ, "GOPATH": str(place / "path"), "GOCACHE": str(place / "cache"),
           "GOFLAGS": "-modcacherw -p=1", "GO111MODULE": "on"}
    env.pop("GOMODCACHE", None)
    (place / "go.mod").write_text("module client\n", encoding="utf-8")
    for one in (source, source.parent / "scenario.go"):
        shutil.copy(one, place)
    call(["go", "get", library.package], place, env)
    call(["go", "build", "-o", "program", "."], place, env)
    version = call(["go", "list", "-m", "-f", "{{.Version}}", library.package], place, env).strip()
    return Program([str(place / "program")], version, place, env)


def prepare_node(library, source, place):
    # A manifest of its own, so that npm does not look for one further up.
    (place / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    call(["npm", "install", "--silent", "--no-audit", "--no-fund", "--cache", str(place / "cache"),
          library.package], place)
    # Node looks for a library beside the program.
    for one in (source, source.parent / "scenario.js"):
        shutil.copy(one, place)
    version = call(["node", "-p", f"require('./node_modules/{library.package}/package').version"],
                   place).strip()
    return Program(["node", source.name], version, place, dict(os.environ))


CARGO_MANIFEST = """[package]
name = "program"
version = "0.0.0"
edition = "2021"

[dependencies]
"""
# No TLS: it needs a library that no plain connection uses.
CRATES = {
    "memcache": 'memcache = { version = "*", default-features = false }\n',
    "async-memcached": 'async-memcached = "*"\n'
                       'tokio = { version = "1", features = ["rt", "net", "time"] }\n',
}


def cargo_home(place):
    """A home for cargo, with the user's settings: they say which registry to ask."""
    home = place / "home"
    home.mkdir(exist_ok=True)
    settings = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "config.toml"
    if settings.is_file():
        shutil.copy(settings, home)
    return home


def prepare_rust(library, source, place):
    (place / "src").mkdir(exist_ok=True)
    (place / "Cargo.toml").write_text(CARGO_MANIFEST + CRATES[library.name], encoding="utf-8")
    shutil.copy(source, place / "src/main.rs")
    shutil.copy(source.parent / "scenario.rs", place / "src")
    env = {**os.environ, "CARGO_HOME": str(cargo_home(place)), "CARGO_BUILD_JOBS": "1",
           "CARGO_TARGET_DIR": str(place / "target")}
    call(["cargo", "build", "--quiet"], place, env)
    version = call(["cargo", "pkgid", library.package], place, env).strip()
    return Program([str(place / "target/debug/program")], re.split("[#@]", version)[-1], place, env)


MAVEN_PROJECT = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>client</groupId><artifactId>client</artifactId><version>0</version>
  <dependencies><dependency>
    <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""


def prepare_java(library, source, place):
    group, artifact = library.package.split(":")
    (place / "pom.xml").write_text(
        MAVEN_PROJECT.format(group=group, artifact=artifact, version="RELEASE"), encoding="utf-8")
    repository = place / "repository"
    call(["mvn", "-q", "-B", f"-Dmaven.repo.local={repository}", "dependency:copy-dependencies",
          f"-DoutputDirectory={place / 'jars'}"], place)
    sources = [str(source), str(source.parent / "scenario.java")]
    call(["javac", "-nowarn", "-cp", "jars/*", "-d", "classes", *sources], place)
    found = [re.fullmatch(rf"{re.escape(artifact)}-(.+)\.jar", jar.name)
             for jar in (place / "jars").iterdir()]
    version = next((match[1] for match in found if match), "unknown")
    return Program(["java", "-cp", "classes:jars/*", source.stem], version, place, dict(os.environ))


def prepare_perl(library, source, place):
    return Program(["perl", f"-I{source.parent}", str(source)], debian_version(library.package),
                   place, dict(os.environ))


def prepare_php(library, source, place):
    # Debian switches an extension on for every program; should somebody have switched it off, the
    # program says so.
    return Program(["php", str(source)], debian_version(library.package), place, dict(os.environ))
