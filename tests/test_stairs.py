"""The stairs script finds each kind of breach in a small made-up tree, and none in a sound one."""

import pathlib
import subprocess

import pytest

STAIRS = pathlib.Path(__file__).parent.parent / "scripts" / "stairs"

SOUND = {
    "base/text.h": "#pragma once\n#include <stddef.h>\n",
    "base/json.c": "#include <yaml.h>\n#include <openssl/hmac.h>\n",
    "io/loop.h": '#include "base/text.h"\n',
    "io/loop.c": '#include "io/loop.h"\n#include <event2/event.h>\n#include <curl/curl.h>\n'
                 "#include <openssl/ssl.h>\n#include <sys/socket.h>\n",
    "dns/name.h": '#include "base/text.h"\n',
    "dns/name.c": '#include "dns/name.h"\n#include <ldns/ldns.h>\n#include <idn2.h>\n',
    "dns/test_name.c": "#include <setjmp.h>\n#include <cmocka.h>\n",
    "store/store.h": '#include "dns/name.h"\n#include "io/loop.h"\n',
    "store/folder/folder.c": '#include "store/store.h"\n',
    "store/cluster/cluster.c": '#include "store/store.h"\n',
    "kinds/zone/zone.h": '#include "dns/name.h"\n',
    "kinds/kinds.c": '#include "kinds/zone/zone.h"\n',
    "kinds/reasons.def": "X(Ready)\n",
    "kinds/reasons.h": '#include "kinds/reasons.def"\n',
    "providers/provider.h": '#include "io/loop.h"\n',
    "providers/webhook/webhook.h": '#include "providers/provider.h"\n',
    "providers/list.c": '#include "providers/webhook/webhook.h"\n',
    "engine/engine.h": '#include "providers/provider.h"\n#include "store/store.h"\n',
    "engine/test_engine.c": '#include "model/api.h"\n',
    "controllers/record/record.h": '#include "engine/engine.h"\n#include "kinds/zone/zone.h"\n',
    "frontends/health.h": '#include "engine/engine.h"\n',
    "commands/run.c": '#include "frontends/health.h"\n#include "controllers/record/record.h"\n',
    "main.c": '#include "frontends/health.h"\n',
}

BREACHES = {
    "upward": ("base/up.c", '\n#include "io/loop.h"\n', 2, "base may not see io"),
    "upward_by_one": ("frontends/up.c", '#include "commands/run.h"\n', 1, "frontends may not see commands"),
    "dns_sees_io": ("dns/bad.c", '#include "io/loop.h"\n', 1, "dns may see only base, not io"),
    "kinds_see_io": ("kinds/bad.h", '#include "io/loop.h"\n', 1, "kinds may see only base, dns"),
    "kinds_see_store": ("kinds/bad.h", '#include "store/store.h"\n', 1, "not store"),
    "providers_see_store": ("providers/x/x.c", '#include "store/store.h"\n', 1,
                            "providers may never see store"),
    "providers_see_kinds": ("providers/x/x.c", '#include "kinds/zone/zone.h"\n', 1,
                            "providers may never see kinds"),
    "controllers_see_io": ("controllers/x/x.c", '#include "io/loop.h"\n', 1,
                           "controllers may never see io"),
    "controllers_see_providers": ("controllers/x/x.c", '#include "providers/provider.h"\n', 1,
                                  "controllers may never see providers"),
    "sisters": ("kinds/class/class.c", '#include "kinds/zone/zone.h"\n', 1,
                "kinds/class may not see its sister kinds/zone"),
    "sisters_in_tests": ("kinds/class/test_class.c", '#include "kinds/zone/zone.h"\n', 1,
                         "may not see its sister"),
    "libevent": ("engine/bad.c", "#include <event2/event.h>\n", 1, "libevent may be included only"),
    "old_libevent": ("engine/bad.c", "#include <evhttp.h>\n", 1, "libevent may be included only"),
    "libcurl": ("providers/bad.c", "#include <curl/curl.h>\n", 1, "libcurl may be included only"),
    "loader": ("base/bad.c", "#include <dlfcn.h>\n", 1,
               "the dynamic loader may be included only in io"),
    "json": ("kinds/bad.c", "#include <json-c/json.h>\n", 1, "neither the C library nor"),
    "yaml": ("store/bad.c", "#include <yaml.h>\n", 1, "libyaml may be included only in base"),
    "ldns": ("io/bad.c", "#include <ldns/ldns.h>\n", 1, "ldns may be included only in dns"),
    "idn2": ("kinds/bad.c", "#include <idn2.h>\n", 1, "libidn2 may be included only in dns"),
    "openssl": ("dns/bad.c", "#include <openssl/hmac.h>\n", 1,
                "OpenSSL may be included only in base and io"),
    "library_in_main": ("main.c", "#include <curl/curl.h>\n", 1, "libcurl may be included only"),
    "cmocka_in_product": ("base/bad.c", "#include <cmocka.h>\n", 1, "only in tests"),
    "setjmp_in_product": ("base/bad.c", "#include <setjmp.h>\n", 1, "only in tests"),
    "unknown_library": ("io/bad.c", "#include <zlib.h>\n", 1, "neither the C library nor"),
    "model_in_product": ("engine/bad.c", '#include "model/api.h"\n', 1, "model is no room"),
    "unknown_room": ("attic/box.c", "", 1, "stands in no room"),
    "outside_rooms": ("helpers.c", "", 1, "stands in no room"),
    "short_name": ("io/bad.c", '#include "loop.h"\n', 1, "name it from src/"),
    "out_of_src": ("io/bad.c", '#include "../tests/x.h"\n', 1, ".. is no room"),
    "missing": ("io/bad.c", '#include "io/gone.h"\n', 1, "src/io/gone.h does not exist"),
    "header_cycle": ("base/text.h", '#include "base/text.h"\n', 1, "a cycle of headers"),
}


def look(folder, files):
    for name, text in files.items():
        path = folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    result = subprocess.run([STAIRS, folder], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return result.returncode, result.stdout.splitlines()


def test_sound_tree_has_no_breach(tmp_path):
    assert look(tmp_path, SOUND) == (0, [])


@pytest.mark.parametrize("name", BREACHES)
def test_breach_is_found_at_its_line(tmp_path, name):
    path, text, line, sentence = BREACHES[name]
    status, lines = look(tmp_path, {**SOUND, path: text})
    assert status == 1
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"src/{path}:{line}: ")
    assert sentence in lines[0]


def test_cycle_of_two_headers_is_found(tmp_path):
    status, lines = look(tmp_path, {"base/a.h": '#include "base/b.h"\n',
                                    "base/b.h": '#include "base/a.h"\n'})
    assert (status, lines) == (1, ["src/base/a.h:1: a cycle of headers: "
                                   "base/a.h -> base/b.h -> base/a.h"])


def test_cycle_of_folders_is_found(tmp_path):
    status, lines = look(tmp_path, {"kinds/kinds.h": "",
                                    "kinds/zone/zone.h": '#include "kinds/kinds.h"\n',
                                    "kinds/tables.h": '#include "kinds/zone/zone.h"\n'})
    assert (status, lines) == (1, ["src/kinds/tables.h:1: a cycle of folders: "
                                   "kinds -> kinds/zone -> kinds"])
