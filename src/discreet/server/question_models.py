"""Questions as they come in, and what is told of releases, as HTTP has them."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from discreet.answer.present.base_release import BaseRelease
from discreet.answer.present.release import Release
from discreet.curator.async_session import AsyncSession
from discreet.curator.client import wire
from discreet.curator.client.plan_json import read_plan
from discreet.curator.orders.planned_orders import Offer
from discreet.curator.orders.query_orders import QueryOrder
from discreet.errors import InputError

Number = StrictInt | StrictFloat | Annotated[str, Field(max_length=400)]
"""A number, or a text such as "0.1" or "1/3" that means it exactly."""


class AccuracyBody(BaseModel):
    """How far noise may move a number at most."""

    model_config = ConfigDict(extra="forbid")

    within: Number = Field(description='In the unit of the column, or a share of `of`: "2 %".')
    of: Number | dict[str, float] | None = Field(
        None, description="What a share is of: one size, or the smallest size of each column."
    )
    confidence: Number | None = Field(None, description="0.95 unless it is said.")
    columns: list[str] | None = Field(None, max_length=200)
    rows: StrictInt | None = Field(None, description="How many rows the smallest group has.")


class QuestionBody(BaseModel):
    """A question and what it is asked for: an epsilon, or an accuracy that decides it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.1"}]
        },
    )

    sql: str | None = Field(None, max_length=60_000)
    plan: str | None = Field(
        None,
        min_length=1,
        max_length=60_000,
        description="Instead of SQL: a question of the fluent interface, as the client writes it.",
    )
    epsilon: Number | None = None
    delta: Number | None = None
    accuracy: AccuracyBody | None = None
    weights: dict[Annotated[str, Field(max_length=400)], Number] | None = Field(
        None,
        max_length=200,
        description="How much the error of columns matters; 1 for those that are not named.",
    )

    as_of: Annotated[int, Field(ge=1)] | None = Field(
        None, description="A version of the dataset; the newest where none is named."
    )

    intervals: StrictBool = Field(
        default=True, description="False: quantiles spend nothing on intervals of their own."
    )

    workbook: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="One of the caller's workbooks, whose share pays too."
    )

    def offer(self, session: AsyncSession, analyst: str) -> Offer[QueryOrder]:
        """Price it: the SQL, or the plan against what may be asked about."""
        if (self.sql is None) is (self.plan is None):
            raise InputError(
                "a question with neither or both of sql and plan",
                why="one of them is asked",
                fix='send {"sql": "SELECT ...", "epsilon": "0.1"}',
            )
        terms = wire.read_terms(self.model_dump(exclude_none=True))
        asked = self.sql if self.plan is None else read_plan(self.plan, session.curator.schema)
        return session.offer(asked, terms, analyst)  # type: ignore[arg-type]

    @property
    def size(self) -> int:
        """The characters that are asked."""
        return len(self.sql or self.plan or "")


class ReleasedColumn(BaseModel):
    """A released column."""

    name: str
    kind: Literal["boolean", "integer", "real", "text", "date", "timestamp"]
    key: bool


class PriceReply(BaseModel):
    """The price that was paid."""

    epsilon: float
    delta: float


class ReleaseReply(BaseModel):
    """A release: noisy numbers, and how far noise has moved each, 95 times in 100."""

    id: int = Field(description="The number of its charge in the ledger; 0 where it was free.")
    time: str
    analyst: str
    dataset: str
    sql: str | None
    charged: bool = Field(description="Whether it was bought now; false where it was found.")
    columns: list[ReleasedColumn]
    rows: list[list[Any]]
    half_widths: dict[str, list[float | None]]
    confidence: float
    how: dict[str, str]
    price: PriceReply
    budget_share: float | None = Field(description="The share of the cap that was charged for it.")
    protects: str | None
    neighbours: str
    notes: list[str]
    clamps: list[str]


class OrderReply(BaseModel):
    """A release that is no table: what it says is for its kind of order to describe."""

    id: int = Field(description="The number of its charge in the ledger.")
    time: str
    analyst: str
    dataset: str
    kind: str
    charged: bool = Field(description="Whether it was bought now; false where it was found.")
    release: dict[str, Any]
    price: PriceReply
    budget_share: float | None = Field(description="The share of the cap that was charged for it.")
    neighbours: str
    statement: str


class Pending(BaseModel):
    """The charge is made and its answer is being computed: come again."""

    id: int
    state: Literal["pending"] = "pending"


_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}
TELLS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "model": ReleaseReply | OrderReply,
        "content": {Release.media_type: _BINARY, BaseRelease.media_type: _BINARY},
        "description": "The answer.",
    },
    202: {
        "model": Pending,
        "description": "It is charged and not computed yet; ask for it under Location.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    },
}
"""Replies of routes that answer questions."""
