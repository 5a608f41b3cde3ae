import json

AUDIT = {
    "claims": [
        {
            "name": "laplace",
            "epsilon_claimed": 1.0,
            "delta": 0.0,
            "epsilon_refuted_up_to": 0.98,
            "verdict": "stands",
        }
    ]
}


def test_a_dossier_is_printed_and_comes_in_all_shapes(discreet):
    shown = discreet("dossier").stdout
    facts = json.loads(discreet("dossier", "--json").stdout)
    table = discreet("dossier", "--csv").stdout

    assert shown.startswith("# Privacy dossier")
    for name in ("GDPR", "HIPAA", "FERPA", "NIST SP 800-226"):
        assert f"## {name}" in shown
        assert name in {one["title"] for one in facts["sections"]}
        assert f"\n{name}," in table
    assert table.startswith("section,Dataset,Table,")


def test_a_dossier_is_written_with_an_audit_attached(discreet, tmp_path):
    (tmp_path / "audit.json").write_text(json.dumps(AUDIT), encoding="utf-8")
    for name, start in (("d.html", "<!doctype html>"), ("d.md", "# Privacy dossier")):
        out = tmp_path / name
        told = discreet("dossier", "--out", str(out), "--audit", str(tmp_path / "audit.json"))

        assert told.exit_code == 0, told.output
        assert "Written to" in told.stdout
        text = out.read_text(encoding="utf-8")
        assert text.startswith(start)
        assert "tried to refute 1 claims; 0 were refuted" in text


def test_what_is_no_audit_or_no_kind_of_file_is_refused(discreet, tmp_path):
    for text in ("not json", "[]", "{}"):
        (tmp_path / "audit.json").write_text(text, encoding="utf-8")
        refused = discreet("dossier", "--audit", str(tmp_path / "audit.json"))
        assert refused.exit_code == 2
        assert "discreet audit --json" in refused.output
    assert discreet("dossier", "--out", "dossier.pdf").exit_code == 2
