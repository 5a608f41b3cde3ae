"""A dataset for questions: patients, their visits and tests, public cities, unowned events."""

import datetime as dt

from discreet.plan.kinds import Kind, Type
from discreet.plan.schema import (
    Bounds,
    EachRow,
    KeyPath,
    Keys,
    Person,
    PublicTable,
    Schema,
    Table,
    column_type,
)

VISITS = Table(
    "visits",
    {
        "visit_id": Type(Kind.INTEGER),
        "patient_id": Type(Kind.INTEGER),
        "city": column_type("city", Kind.TEXT, Keys(["Austin", "Haifa"])),
        "age": column_type("age", Kind.INTEGER, Bounds(0, 120)),
        "cost": column_type("cost", Kind.REAL, Bounds(0, 1000)),
        "day": column_type("day", Kind.DATE, Bounds(dt.date(2020, 1, 1), dt.date(2025, 12, 31))),
        "seen": Type(Kind.TIMESTAMP),
        "urgent": Type(Kind.BOOLEAN),
        "Note": Type(Kind.TEXT),
    },
    Person("patient_id"),
)
PATIENTS = Table(
    "patients",
    {
        "id": Type(Kind.INTEGER, nullable=False),
        "sex": column_type("sex", Kind.TEXT, Keys(["f", "m"])),
        "born": Type(Kind.DATE),
        "income": column_type("income", Kind.REAL, Bounds(0, 100_000)),
    },
    Person("id"),
)
TESTS = Table(
    "tests",
    {
        "patient": Type(Kind.INTEGER),
        "visit_id": Type(Kind.INTEGER),
        "value": column_type("value", Kind.REAL, Bounds(0, 10)),
    },
    KeyPath("patient", "patients", "id"),
)
FAMILIES = Table(
    "families",
    {
        "member": Type(Kind.INTEGER, nullable=False),
        "household": Type(Kind.INTEGER),
        "size": column_type("size", Kind.INTEGER, Bounds(1, 12)),
    },
    Person("household"),
)
PURCHASES = Table(
    "purchases",
    {
        "buyer": Type(Kind.INTEGER),
        "price": column_type("price", Kind.REAL, Bounds(0, 500)),
    },
    KeyPath("buyer", "families", "member"),
)
CITIES = PublicTable(
    "cities",
    {
        "name": Type(Kind.TEXT, nullable=False),
        "region": Type(Kind.TEXT),
        "population": column_type("population", Kind.INTEGER, Bounds(0, 10_000_000)),
    },
    ("name",),
)
RATES = PublicTable(
    "rates",
    {
        "year": Type(Kind.INTEGER, nullable=False),
        "month": Type(Kind.INTEGER, nullable=False),
        "rate": column_type("rate", Kind.REAL, Bounds(0, 2)),
    },
    ("year", "month"),
)
EVENTS = Table(
    "events",
    {"kind": Type(Kind.TEXT), "load": column_type("load", Kind.INTEGER, Bounds(0, 9))},
    EachRow(),
)
CLINIC = Schema(
    {
        table.name: table
        for table in (VISITS, PATIENTS, TESTS, FAMILIES, PURCHASES, CITIES, RATES, EVENTS)
    }
)
