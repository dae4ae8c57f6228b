"""What `signpost run --record` wrote, and its replay as on another machine."""

import json
import os
import shutil
import subprocess

import harness


def recording_of(folder, *programs):
    """Of programs that wrote it to their end."""
    for program in programs:
        assert "the recording ends here" not in program.log()
    paths = list(folder.iterdir())
    assert len(paths) == 1
    return paths[0]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def replay_elsewhere(path, folder, *words):
    """On another machine: nothing but the file, in an empty folder and an empty environment."""
    folder.mkdir()
    shutil.copy(path, folder / "report.jsonl")
    result = subprocess.run([harness.SIGNPOST, "replay", "report.jsonl", *words], cwd=folder, env={},
                            text=True, capture_output=True, check=False, timeout=harness.HANG_S)
    assert sorted(os.listdir(folder)) == ["report.jsonl"]
    return result.returncode, result.stdout, result.stderr
