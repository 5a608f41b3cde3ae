"""Uploads have names of ours, stay when something was made of them, and go when not."""

import os
import time

import pytest

from discreet.errors import InputError
from discreet.server.error_replies import HttpError
from discreet.server.uploads import Uploads


def nobody(_):
    """No table is made of a file."""
    return False


@pytest.fixture
def uploads(tmp_path):
    return Uploads(tmp_path)


def put(uploads, name="a.csv"):
    made, path = uploads.place(name)
    path.write_text("a,b\n")
    return made, path


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("a.csv", ".csv"),
        ("../x.PARQUET", ".parquet"),
        ("/etc/a.csv.gz", ".csv.gz"),
        (".csv", ".csv"),
    ],
)
def test_of_a_name_the_ending_is_kept(uploads, tmp_path, name, ending):
    made, path = uploads.place(name)

    assert path == tmp_path / "uploads" / f"{made}{ending}"
    assert (len(made), made.isalnum()) == (32, True)


@pytest.mark.parametrize("name", ["", "csv", "a.exe", "a.csv/", "a.csv\0", "a.gz", "a.duckdb"])
def test_other_endings_are_refused(uploads, name):
    with pytest.raises(InputError):
        uploads.place(name)


def test_an_upload_is_found_by_its_whole_name(uploads):
    made, path = put(uploads)

    assert uploads.find(made) == path
    for wrong in ("", "*", made[:-1], made + "\n", made.upper() + "x", f"{made}.csv", "../uploads"):
        with pytest.raises(HttpError) as refused:
            uploads.find(wrong)
        assert refused.value.status == 404


def test_what_was_made_of_an_upload_keeps_it(uploads, tmp_path):
    made, path = put(uploads)

    with uploads.kept(made, nobody) as place:
        assert place.read_text() == "a,b\n"

    assert place.parent == tmp_path / "data"
    assert place.exists()
    assert not path.exists()
    with pytest.raises(HttpError):
        uploads.find(made)
    with uploads.kept(made, nobody) as again:
        assert again == place
    with pytest.raises(ZeroDivisionError), uploads.kept(made, nobody):
        _ = 1 / 0
    assert place.exists()  # a table may rest on it


@pytest.mark.parametrize("name", ["*", "", "../data/x", "0" * 31])
def test_only_whole_names_of_uploads_are_looked_for(uploads, name):
    put(uploads)
    assert uploads.used(name) is None
    with pytest.raises(HttpError), uploads.kept(name, nobody):
        pass


def test_what_failed_leaves_it_to_be_tried_again(uploads):
    made, path = put(uploads)

    with pytest.raises(ZeroDivisionError), uploads.kept(made, nobody):
        _ = 1 / 0

    assert uploads.find(made) == path


def test_what_failed_after_a_table_was_made_leaves_its_file(uploads, tmp_path):
    made, path = put(uploads)

    with pytest.raises(ZeroDivisionError), uploads.kept(made, lambda one: one.name.endswith("csv")):
        _ = 1 / 0

    assert not path.exists()
    assert uploads.used(made).parent == tmp_path / "data"


def test_files_that_nothing_was_made_of_are_removed_after_a_day(uploads):
    _, old = put(uploads)
    _, fresh = put(uploads)
    yesterday = time.time() - 90_000
    os.utime(old, (yesterday, yesterday))

    uploads.place("c.csv")

    assert (old.exists(), fresh.exists()) == (False, True)


def test_nobody_else_reads_the_folder(uploads, tmp_path):
    put(uploads)

    assert (tmp_path / "uploads").stat().st_mode & 0o077 == 0


def test_without_a_folder_files_are_temporary():
    uploads = Uploads(None)
    _, path = put(uploads)
    assert path.exists()

    uploads.close()

    assert not path.exists()


def test_the_beginning_of_a_file_that_a_crash_left_is_removed(uploads):
    _, path = uploads.place("a.csv")
    left, arrives = (path.with_name(f"{name}.csv.part") for name in ("left", "arrives"))
    for one in (left, arrives):
        one.write_bytes(b"a,b")
    earlier = time.time() - 1000
    os.utime(left, (earlier, earlier))
    uploads.sweep()

    assert not left.exists()
    assert arrives.exists()


def test_a_file_is_found_once_it_is_whole(uploads):
    name, path = uploads.place("a.csv")
    with uploads.arriving(path) as part:
        part.write_bytes(b"a,b")
        with pytest.raises(HttpError):
            uploads.find(name)
    assert uploads.find(name).read_bytes() == b"a,b"
    with pytest.raises(TypeError), uploads.arriving(path) as part:
        part.write_bytes(None)
    assert not part.exists()
