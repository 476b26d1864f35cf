#!/usr/bin/env python3
"""Draws what tools/peer/compare.py --keep wrote: tokens a second of varve and of its peer, as bars.

    tools/peer/plot.py lines.jsonl "16 threads" > plot.svg

A bar is the least time of the rounds; the thin line on it reaches down to the median's rate.
"""
import json
import statistics
import sys

WIDTH, ROW, LEFT, RIGHT, TOP = 720, 44, 130, 90, 48
COLOURS = {"varve": "#2a6f97", "peer": "#b8b8b8"}


def read(path):
    """{(test, n, depth): {program: [ms]}} in the order of the file"""
    times = {}
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            key = line["test"], line["n"], line["depth"]
            times.setdefault(key, {})[line["program"]] = line["ms"]
    return times


def bar(x, y, rate, median, scale, colour):
    end = LEFT + rate * scale
    return (f'<rect x="{x}" y="{y}" width="{end - x:.1f}" height="15" fill="{colour}"/>'
            f'<line x1="{LEFT + median * scale:.1f}" x2="{end:.1f}" y1="{y + 7.5}" y2="{y + 7.5}" '
            f'stroke="#222" stroke-width="1.5"/>'
            f'<text x="{end + 5:.1f}" y="{y + 12}">{rate:.0f}</text>')


def draw(times, title):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{TOP + ROW * len(times)}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="10" y="20" font-size="14">{title}: tokens a second, varve above, peer below; '
           'each test on its own scale</text>']
    for i, ((test, n, depth), programs) in enumerate(times.items()):
        y = TOP + i * ROW
        rates = {name: (1e3 * n / min(ms), 1e3 * n / statistics.median(ms))
                 for name, ms in programs.items()}
        scale = (WIDTH - LEFT - RIGHT) / max(best for best, _ in rates.values())
        place = f" at {depth}" if depth else ""
        out.append(f'<text x="10" y="{y + 19}">{test} {n}{place}</text>')
        for j, (name, (best, median)) in enumerate(sorted(rates.items(), reverse=True)):
            out.append(bar(LEFT, y + 17 * j, best, median, scale, COLOURS[name]))
    return "\n".join(out + ["</svg>"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(draw(read(sys.argv[1]), sys.argv[2]))
