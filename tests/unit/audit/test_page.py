from dataclasses import replace

import pytest

from discreet.audit.page import as_page
from discreet.audit.report import audit_claim
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy import Pure


class Understated(RandomizedResponse):
    """Charged less than it gives away."""

    @property
    def claim(self):
        return replace(RandomizedResponse.claim.fget(self), guarantee=Pure(0.5))


def test_names_are_escaped_on_the_page():
    one = audit_claim("<b>", Laplace(epsilon=1, sensitivity=1).claim, samples=1000, alpha=0.01)
    page = as_page([one], samples=1000, alpha=0.01)

    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_refuted_claims_come_first_with_a_number_and_a_reason():
    audits = [
        audit_claim(name, kind(epsilon=1).claim, samples=2000, alpha=0.01)
        for name, kind in (("sound", RandomizedResponse), ("understated", Understated))
    ]
    page = as_page(audits, samples=2000, alpha=0.01)

    assert page.index("understated") < page.index("sound")
    assert audits[1].refuted
    assert audits[1].measured.point.epsilon == 0.5
    assert audits[1].bound == pytest.approx(1)
    assert "Renyi divergence" in audits[1].why
    assert audits[0].measured is audits[0].evidence[0]


def test_a_page_says_about_whom_a_claim_is():
    one = audit_claim("r", RandomizedResponse(epsilon=1).claim, samples=1000, alpha=0.01)

    assert "RandomizedResponseNoise, change-one" in as_page([one], samples=1000, alpha=0.01)
    assert "1 claim, 0 refuted" in as_page([one], samples=1000, alpha=0.01)
