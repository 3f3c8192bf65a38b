"""The workflow of the how-to of reviews: its steps run in a shell, with jars of a toy assignor as the builds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from assignors.jvm.loading import released_jars
from assignors.jvm.reference import COORDINATOR, NEWEST, KafkaArtifact
from tests.bridge.conftest import compile_jar

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "review-an-assignor.md"
ASSIGNOR = """
package org.example;

import java.util.*;
import org.apache.kafka.coordinator.group.api.streams.assignor.*;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/** The sticky assignor; if changed, it exchanges the tasks of two members later, unless there are standbys. */
public final class Reviewed implements TaskAssignor {
    private static final boolean IS_CHANGED = false;

    @Override
    public String name() {
        return "reviewed";
    }

    @Override
    public GroupAssignment assign(GroupSpec group, TopologyDescriber topology) {
        var given = new TreeMap<>(new StickyTaskAssignor().assign(group, topology).members());
        boolean isNew = group.memberIds().stream()
            .allMatch(member -> group.memberAssignmentState(member).activeTasks().isEmpty());
        boolean hasStandbys = given.values().stream().anyMatch(tasks -> !tasks.standbyTasks().isEmpty());
        if (IS_CHANGED && !isNew && !hasStandbys && given.size() > 1) {
            String last = given.lastKey();
            given.put(last, given.put(given.firstKey(), given.get(last)));
        }
        return new GroupAssignment(given);
    }
}
"""
GRADLE = """#!/bin/sh
for project in "$@"; do
    case $project in
        :group-coordinator:jar) folder=group-coordinator name=kafka-group-coordinator ;;
        *-api:jar) folder=group-coordinator/group-coordinator-api name=kafka-group-coordinator-api ;;
    esac
    mkdir -p $folder/build/libs
    cp $name-4.5.0-SNAPSHOT.jar $folder/build/libs/
done
"""
GITHUB = """#!/bin/sh
[ "$1 $2 $3 $4" = "pr comment 17 --body-file" ] && cp "$5" commented.md
"""


def write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def test_steps_of_the_workflow_end_in_a_comment(tmp_path: Path) -> None:
    jars = released_jars(KafkaArtifact(COORDINATOR, NEWEST[COORDINATOR]))
    [interfaces] = [jar for jar in jars if Path(jar).name.startswith("kafka-group-coordinator-api")]
    for side in ("base", "head"):
        checkout = tmp_path / side
        checkout.mkdir()
        text = ASSIGNOR.replace("IS_CHANGED = false", "IS_CHANGED = true") if side == "head" else ASSIGNOR
        (checkout / "Reviewed.java").write_text(text, encoding="utf-8")
        jar = compile_jar([checkout / "Reviewed.java"], checkout, COORDINATOR)
        jar.rename(checkout / "kafka-group-coordinator-4.5.0-SNAPSHOT.jar")
        shutil.copy(interfaces, checkout / "kafka-group-coordinator-api-4.5.0-SNAPSHOT.jar")
        write_program(checkout / "gradlew", GRADLE)
    programs = tmp_path / "bin"
    programs.mkdir()
    write_program(programs / "gh", GITHUB)
    write_program(programs / "pip", '#!/bin/sh\necho "$@" > installed\n')
    [text] = re.findall(r"```yaml\n(name: Review the assignor.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    job = yaml.safe_load(text)["jobs"]["review"]
    environment = {
        **os.environ,
        **job["env"],
        "ASSIGNOR": "java:org.example.Reviewed",
        "PULL_REQUEST": "17",
        "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    codes = []
    for step in job["steps"]:
        if "run" in step:
            done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, timeout=600)
            codes.append(done.returncode)
    assert codes == [0, 0, 1, 0]
    assert (tmp_path / "installed").read_text(encoding="utf-8") == f"install {job['env']['WHEEL']}\n"
    comment = (tmp_path / "commented.md").read_text(encoding="utf-8")
    for part in ("Time and memory of an assignment", "JUnit test: ", "@Test", "Violates"):
        assert part in comment
