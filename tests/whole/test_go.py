"""Go's standard library as the other end: it verifies what `signpost run` sends, signs what the
provider takes, and its escapes of JSON strings are ours."""

import json
import pathlib
import subprocess

import pytest

import harness
import toolchain
from harness import KEY, record, secret_text, wait_until

GO = harness.ROOT / "tests" / "go"
NEEDED = (1, 22)  # encoding/json writes \b and \f since then


@pytest.fixture(scope="session")
def peers(tmp_path_factory):
    """The folder of the programs in tests/go."""
    folder = tmp_path_factory.mktemp("go")
    go, environment = toolchain.go_for(NEEDED), toolchain.environment()
    subprocess.run([go, "vet", "./..."], cwd=GO, env=environment, check=True)
    subprocess.run([go, "build", "-o", f"{folder}/", "./escape", "./sign", "./verify"], cwd=GO,
                   env=environment, check=True)
    return folder


def escape_body():
    """The C program of tests/go, built beside the binary that is tested."""
    build = pathlib.Path(harness.SIGNPOST).parent.parent
    program = build / "tests" / "go" / "escape_body"
    if not program.exists():
        subprocess.run(["ninja", "-C", build, "tests/go/escape_body"], check=True)
    return program


def test_strings_are_escaped_as_by_encoding_json(peers):
    result = subprocess.run([peers / "escape", escape_body()], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[0]) > 1_400_000


@pytest.mark.parametrize("algorithm", ["SHA256", "SHA512"])
def test_go_signs_what_the_provider_takes(peers, provider, algorithm):
    server = provider("--algorithm", algorithm)
    result = subprocess.run([peers / "sign", f"http://{harness.LOOPBACK}:{server.port}",
                             server.key_file, algorithm], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "51 requests\n"


@pytest.mark.parametrize("algorithm", ["SHA256", "SHA512"])
def test_go_verifies_what_is_sent_raw_and_encoded_again(peers, programs, site, tmp_path, algorithm):
    key = tmp_path / "key"
    key.write_bytes(KEY)
    peer = programs.start("verify", [peers / "verify", key, algorithm])
    address = wait_until(lambda: peer.log().splitlines()[:1], "verify listens", 10, [peer])[0]
    made = site()
    made.write("secret.yaml", secret_text(key=KEY))
    made.write("class.yaml", harness.class_text(server=f"http://{address}", secret=None,
                                                hmacAuth={"algorithm": algorithm, "secretRef": {
                                                    "name": "home-dns", "namespace": "default",
                                                    "key": "hmac"}}))
    texts = ["v=1; p=<a&b>", "quote \" backslash \\ slash / tab \t end",
             "\u2028 \u2029 \u007e \u00e4 \u20ac \U0001f600 \ufffd \ufeff", "\u00a0x", "x" * 4000]
    records = {
        "a": ("A", ["192.0.2.1", "192.0.2.2"], {}),
        "aaaa": ("AAAA", ["2001:DB8::1", "2001:db8:0:0::2"], {}),
        "cname": ("CNAME", ["www.example.net."], {}),
        "txt": ("TXT", texts, {}),
        "mx": ("MX", ["mail.example.net"], {"metadata": {"priority": 0}}),
        "srv": ("SRV", ["sip.example.net"],
                {"metadata": {"priority": 1, "weight": 0, "port": 65535}}),
        "ns": ("NS", ["ns.example.net"], {}),
        "ptr": ("PTR", ["host.example.net"], {}),
        "idn": ("A", ["192.0.2.3"], {"subdomain": "bücher"}),
    }
    made.write("all.yaml", *[record(name, kind, values, **more)
                             for name, (kind, values, more) in records.items()])
    made.start().wait_ready(*records)
    made.remove("all.yaml")
    made.wait_gone(*records)

    rows = [json.loads(line) for line in peer.log().splitlines()[1:]]
    assert {row["method"] for row in rows} == {"GET", "POST", "DELETE"}
    for row in rows:
        assert row["raw"] and row["again"] and row["same"] and row["fresh"], row
        assert not row["chunked"]
    sent = {(row["record"]["type"], row["record"]["subdomain"]): row["record"]["values"]
            for row in rows if row["method"] == "POST"}
    assert len(sent) == len([row for row in rows if row["method"] == "POST"]) == len(records)
    assert sent[("TXT", "txt")] == texts
    assert sent[("CNAME", "cname")] == ["www.example.net"]
    assert ("A", "xn--bcher-kva") in sent
