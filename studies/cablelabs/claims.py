"""What becomes of each claim of the study `cablelabs`: section by section, each in a file of its own."""

from loadstone.reproduce.claims import Judged
from loadstone.reproduce.judge import Judge

from . import (
    joint_gains,
    protocol_features,
    reasons,
    shared_links,
    slow_start,
    spdy_gains,
    spot_tests,
    traffic,
    window_gains,
)
from .laboratory import FOLDER, Laboratory
from .loads import Loads


def judge(found: Laboratory, loads: Loads, most: int | None = None) -> list[Judged]:
    """Judge every claim, each by so many seeds at most."""
    judge = Judge(FOLDER, most=most)
    _set_ups(judge)
    shared_links.judge(judge, loads.runner)
    protocol_features.judge(judge, loads.runner)
    slow_start.judge(judge, loads.runner)
    spot_tests.judge(judge, loads)
    spdy_gains.judge(judge, loads)
    window_gains.judge(judge, loads)
    joint_gains.judge(judge, loads)
    traffic.judge(judge, loads)
    reasons.judge(judge, found, loads)
    return judge.judged()


def _set_ups(judge: Judge) -> None:
    """Say what was put in."""
    judge.set_up("CL06", "6 connections to each server")
    judge.set_up("CL08", "what SPDY was meant for: a gain of 2, which CL70 and CL72 count")
    judge.set_up("CL11", "profiles linux-2.6 (3 segments) and linux-3.7 (10); any other by --iw")
    judge.set_up("CL20", "studies/cablelabs/files.toml")
    judge.set_up("CL33", "72 conditions by 4 options")
    judge.set_up("CL34", "20 loads; more where chance could turn a verdict, and one where it has no part")
    judge.set_up("CL46", "6 and 1: what the browser may open")
