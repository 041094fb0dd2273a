"""Who may ask whom: certificates, passwords and tenants, really sent and really checked."""

import base64
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_spark.errors import SourceUnavailable
from thalweg_spark.pull.prometheus import Prometheus, Source


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities that know nothing of each other, and what each has signed."""
    folder = tmp_path_factory.mktemp("papers")
    for authority in ("ours", "others"):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        own = ["-keyout", f"{authority}.key", "-out", f"{authority}.crt", "-days", "2"]
        openssl(folder, "req", "-x509", *key, *own, "-subj", f"/CN={authority}")
        for name in ("server", "client"):
            one = f"{authority}-{name}"
            (folder / f"{one}.ext").write_text("subjectAltName=IP:127.0.0.1\n")
            openssl(
                folder,
                "req",
                *key,
                "-keyout",
                f"{one}.key",
                "-out",
                f"{one}.csr",
                "-subj",
                f"/CN={one}",
            )
            by = ["-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial"]
            signed = ["-out", f"{one}.crt", "-days", "2", "-extfile", f"{one}.ext"]
            openssl(folder, "x509", "-req", "-in", f"{one}.csr", *by, *signed)
            both = [(folder / f"{one}.{kind}").read_text() for kind in ("crt", "key")]
            (folder / f"{one}.pem").write_text("".join(both))
    return folder


def context(papers: Path, *, asks_clients: bool) -> ssl.SSLContext:
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(papers / "ours-server.pem")
    if asks_clients:
        made.load_verify_locations(papers / "ours.crt")
        made.verify_mode = ssl.CERT_REQUIRED
    return made


@pytest.fixture
def plain() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        yield server


@pytest.fixture
def secure(papers: Path) -> Iterator[FakePrometheus]:
    with fake_prometheus(context(papers, asks_clients=False)) as server:
        yield server


@pytest.fixture
def mutual(papers: Path) -> Iterator[FakePrometheus]:
    with fake_prometheus(context(papers, asks_clients=True)) as server:
        yield server


def values(fake: FakePrometheus, **more: object) -> list[float]:
    fake.series["m"] = [({"a": "x"}, [(99.0, "7")])]
    source = Source(url=fake.url, **more)  # type: ignore[arg-type]
    (found,) = Prometheus(source).samples("m", window_s=30, at_s=100.0)
    numbers: list[float] = found.values.tolist()
    return numbers


def test_by_an_authority_of_our_own(papers: Path, secure: FakePrometheus) -> None:
    assert values(secure, ca_file=papers / "ours.crt") == [7.0]


@pytest.mark.parametrize("authority", ["others.crt", None])
def test_a_server_that_nobody_vouches_for(
    papers: Path, secure: FakePrometheus, authority: str | None
) -> None:
    trusted = None if authority is None else papers / authority
    with pytest.raises(SourceUnavailable, match="certificate verify failed"):
        values(secure, ca_file=trusted)
    assert secure.asked == []


def test_a_file_that_is_not_there_is_said(papers: Path, secure: FakePrometheus) -> None:
    with pytest.raises(SourceUnavailable, match=r"nowhere\.crt"):
        values(secure, ca_file=papers / "nowhere.crt")


def test_both_sides_show_their_papers(papers: Path, mutual: FakePrometheus) -> None:
    client = papers / "ours-client.pem"
    assert values(mutual, ca_file=papers / "ours.crt", certificate_file=client) == [7.0]


@pytest.mark.parametrize("client", ["others-client.pem", None])
def test_a_client_without_the_right_papers(
    papers: Path, mutual: FakePrometheus, client: str | None
) -> None:
    shown = None if client is None else papers / client
    with pytest.raises(SourceUnavailable):
        values(mutual, ca_file=papers / "ours.crt", certificate_file=shown)
    assert mutual.asked == []


def test_passwords_are_read_anew_and_win_over_the_users_own(
    plain: FakePrometheus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    basic = tmp_path / "basic"
    for words in ("ann:secret", "ann:pässword"):
        basic.write_text(words + "\n")
        values(plain, basic_file=basic)
        sent = plain.headers[-1]["Authorization"].removeprefix("Basic ")
        assert base64.b64decode(sent).decode() == words
    with pytest.raises(SourceUnavailable, match=r"cannot read .*gone"):
        values(plain, basic_file=tmp_path / "gone")


@pytest.mark.parametrize("header", ["THANOS-TENANT", "X-Scope-OrgID"])
def test_tenants(papers: Path, secure: FakePrometheus, header: str) -> None:
    values(secure, ca_file=papers / "ours.crt", headers={header: "team-a"})
    assert secure.headers[-1][header] == "team-a"


@pytest.mark.timeout(30)
def test_an_answer_that_drips_through_tls_is_cut(papers: Path) -> None:
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        line, _ = listening.accept()
        with context(papers, asks_clients=False).wrap_socket(line, server_side=True) as secure:
            try:
                secure.recv(2**16)
                secure.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                while not over.wait(0.02):
                    secure.sendall(b" ")
            except OSError:
                return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    url = f"https://127.0.0.1:{listening.getsockname()[1]}"
    source = Source(url=url, ca_file=papers / "ours.crt", timeout_s=0.5)
    try:
        with pytest.raises(SourceUnavailable, match=r"within 0\.5 s"):
            Prometheus(source).samples("m", window_s=30, at_s=100.0)
    finally:
        over.set()
        listening.close()
        thread.join()
