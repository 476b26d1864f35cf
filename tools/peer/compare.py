#!/usr/bin/env python3
"""Times varve and llama.cpp on one file, in turn: a round of the one, a round of the other.

    tools/peer/compare.py --varve build/release/varve --peer FOLDER/bin/llama_window -m q4.gguf \\
        --threads 2 --rounds 5 --prompt 512 --depth 0 --rows 1,2,3,4,8 --gen 32

Each round is a run of each program's own, which loads the file, runs everything once without
counting, and then once with; who goes first changes from round to round. The table has the least
and the median times, the peer's time as a multiple of varve's, and what a window costs as a multiple
of one row. --keep FILE writes all lines that came, for later.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def lines_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} ends with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(programs, rounds):
    """{program: {(test, n, depth): [ms]}}"""
    times = {name: {} for name in programs}
    for i in range(rounds):
        for name in list(programs)[::1 if i % 2 == 0 else -1]:
            if sys.stderr.isatty():
                print(f"\rround {i + 1} of {rounds}: {name}   ", end="", file=sys.stderr)
            for line in lines_of(programs[name]):
                key = line["test"], line["n"], line["depth"]
                times[name].setdefault(key, []).extend(line["ms"])
    return times


def rates(key, ms):
    return 1e3 * key[1] / ms


def cost(times, key, of):
    """A window's time as a multiple of one row's, by least or median times."""
    one = times.get(("window", 1, key[2]))
    return f"{of(times[key]) / of(one):5.2f}" if key[0] == "window" and one else "     "


def print_table(times):
    ours, peer = times["varve"], times["peer"]
    print(f"{'':27}{'varve':>34}   {'llama.cpp':>34}   peer / varve")
    print(f"{'test':14}{'depth':>7}{'least ms':>14}{'median':>10}{'tok/s':>9}{'cost':>7}"
          f"{'least ms':>14}{'median':>10}{'tok/s':>9}{'cost':>7}   least  median")
    for key in ours:
        if key not in peer:
            continue
        a, b = ours[key], peer[key]
        row = f"{key[0] + ' ' + str(key[1]):14}{key[2]:7}"
        for times_of, ms in ((ours, a), (peer, b)):
            row += f"{min(ms):14.2f}{statistics.median(ms):10.2f}{rates(key, min(ms)):9.2f}"
            row += f"  {cost(times_of, key, min)}"
        print(f"{row}  {min(b) / min(a):6.2f}  {statistics.median(b) / statistics.median(a):6.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--varve", default="build/release/varve")
    p.add_argument("--peer", required=True, help="llama_window, from build_llama.sh")
    p.add_argument("-m", "--model", required=True)
    p.add_argument("--threads", default="2")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--prompt", default="512")
    p.add_argument("--gen", default="32")
    p.add_argument("--depth", default="0")
    p.add_argument("--rows", default="1,2,3,4,8")
    p.add_argument("--same-experts", action="store_true")
    p.add_argument("--peer-load", default="none", help="none: weights in memory of their own; mmap")
    p.add_argument("--peer-options", default="", help="more options for the peer, in one word")
    p.add_argument("--varve-options", default="", help="more options for varve, in one word")
    p.add_argument("--keep", help="write all lines to this file")
    o = p.parse_args()
    same = ["--same-experts"] * o.same_experts
    common = ["--threads", o.threads, "--rounds", "1", "--prompt", o.prompt, "--gen", o.gen,
              "--depth", o.depth, "--rows", o.rows, *same]
    programs = {
        "varve": [o.varve, "bench", "model", "--json", "-m", o.model, *common,
                  *o.varve_options.split()],
        "peer": [o.peer, o.model, "--load", o.peer_load, *common, *o.peer_options.split()],
    }
    began = os.getloadavg()[0]
    times = measure(programs, o.rounds)
    print_table(times)
    print(f"{o.rounds} rounds; load of the machine {began:.1f} before, {os.getloadavg()[0]:.1f} "
          "after (this run is part of the second)")
    if o.keep:
        with open(o.keep, "w", encoding="utf-8") as file:
            for name, tests in times.items():
                for (test, n, depth), ms in tests.items():
                    line = {"program": name, "test": test, "n": n, "depth": depth, "ms": ms}
                    file.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
