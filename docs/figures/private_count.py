"""Draws docs/figures/private_count.svg: private counts with error bars, beside the truth.

Run it with `make figures`. The data is made up here; the noise is fresh, so every run draws another
picture.
"""

from pathlib import Path

from discreet.mechanisms import Laplace

TRUTH = {"18-29": 412, "30-39": 655, "40-49": 538, "50-59": 347, "60-69": 221, "70+": 96}
EPSILON = 0.1
TITLE = f"Visits by age, answered with epsilon = {EPSILON}"
LEGEND = "bar: private count · whisker: 95 % of the noise · ring: the truth, as the data is made up"
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 360, 64, 300, 56


def main() -> None:
    """Release one histogram and write the picture."""
    count = Laplace(epsilon=EPSILON, sensitivity=1)
    answers = dict(zip(TRUTH, count.release(list(TRUTH.values())), strict=True))
    target = Path(__file__).with_suffix(".svg")
    target.write_text(picture(answers, count.error(0.95)), encoding="utf-8")
    print(f"wrote {target.name}")


def picture(answers: dict[str, int], width: float) -> str:
    """The whole SVG."""
    scale = (BOTTOM - TOP) / 750
    slot = (WIDTH - LEFT - 20) / len(answers)
    bars = [
        bar(LEFT + slot * (i + 0.5), age, answers[age], width, scale) for i, age in enumerate(TRUTH)
    ]
    lines = [rule(value, scale) for value in (0, 250, 500, 750)]
    text = "fill='#333' font-family='system-ui, sans-serif'"
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>",
            "<title>Visits by age: private counts with 95 % noise intervals</title>",
            f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
            f"<text x='{LEFT}' y='24' font-size='16' font-weight='600' {text}>{TITLE}</text>",
            f"<text x='{LEFT}' y='43' font-size='12' {text}>{LEGEND}</text>",
            *lines,
            *bars,
            "</svg>",
            "",
        ]
    )


def bar(x: float, age: str, answer: int, width: float, scale: float) -> str:
    """One bar, its whisker, and the truth as a ring."""
    top, high, low = (BOTTOM - v * scale for v in (answer, answer + width, answer - width))
    truth = BOTTOM - TRUTH[age] * scale
    stroke = "stroke='#1b2a41' stroke-width='2'"
    return (
        f"<rect x='{x - 30:.1f}' y='{top:.1f}' width='60' height='{BOTTOM - top:.1f}' "
        f"fill='#7aa6c2'/>"
        f"<path d='M{x:.1f} {high:.1f}V{low:.1f}M{x - 8:.1f} {high:.1f}h16"
        f"M{x - 8:.1f} {low:.1f}h16' fill='none' {stroke}/>"
        f"<circle cx='{x + 18:.1f}' cy='{truth:.1f}' r='4' fill='white' stroke='#c8553d' "
        f"stroke-width='2'/>"
        f"<text x='{x:.1f}' y='{BOTTOM + 18}' text-anchor='middle' font-size='12' fill='#333' "
        f"font-family='system-ui, sans-serif'>{age}</text>"
        f"<text x='{x:.1f}' y='{BOTTOM + 36}' text-anchor='middle' font-size='11' fill='#666' "
        f"font-family='system-ui, sans-serif'>{answer} ± {width:.0f}</text>"
    )


def rule(value: int, scale: float) -> str:
    """A horizontal line of the scale."""
    y = BOTTOM - value * scale
    return (
        f"<path d='M{LEFT} {y:.1f}H{WIDTH - 20}' stroke='#ddd'/>"
        f"<text x='{LEFT - 8}' y='{y + 4:.1f}' text-anchor='end' font-size='11' fill='#666' "
        f"font-family='system-ui, sans-serif'>{value}</text>"
    )


if __name__ == "__main__":
    main()
