"""`streamorder plan`: AITER's prefill plan for a batch, as text, as data and as a picture."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..model.errors import BadInput, CannotRunHere
from .output import write_json
from .parser import whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from ..validation.planner import Plan
    from .parser import Parser

PICTURES = (".png", ".svg", ".pdf")


def add(parser: Parser) -> None:
    """Its options."""
    parser.add_argument("--lengths", required=True, metavar="N,N", help="queries of each request")
    parser.add_argument("--contexts", metavar="N,N", help="keys of each (default: its queries)")
    parser.add_argument("--cus", default="256", help="compute units (default: 256, an MI355X)")
    parser.add_argument("--heads", default="16", help="heads (default: 16)")
    parser.add_argument("--not-causal", action="store_true", help="every query sees every key")
    parser.add_argument("--batch-size", help="buffers for this many requests (default: these)")
    parser.add_argument("--max-length", help="and requests this long (default: these)")
    parser.add_argument("--token-budget", help="and no larger than these queries need together")
    parser.add_argument("--groups", default="40", help="thread groups to print (default: 40)")
    parser.add_argument("--draw", metavar="FILE", help=f"a picture: {', '.join(PICTURES)}")
    parser.add_argument(
        "--aiter", action="store_true", help="have AITER plan it too, on this GPU, and compare"
    )
    parser.add_argument("--format", default="text", choices=("text", "json"))
    parser.set_defaults(action=run, takes_parameters=False)


class Request(NamedTuple):
    """A batch on a device, and the shapes of the buffers for its plan."""

    lengths: list[int]
    contexts: list[int]
    units: int
    heads: int
    causal: bool
    sizes: dict[str, tuple[int, ...]]


def run(options: argparse.Namespace) -> int:
    """Plan, print, draw; exits 1 where AITER itself plans otherwise."""
    try:
        from ..validation.planner import plan_lengths
    except ModuleNotFoundError as error:
        raise CannotRunHere(
            f"a plan needs {error.name}: pip install 'streamorder[plot]'"
        ) from error
    limit, picture = whole(options.groups, "--groups") or 0, picture_file(options.draw)
    asked = request(options)
    plan = plan_lengths(
        asked.lengths,
        cu_count=asked.units,
        num_heads_k=asked.heads,
        context_lens=asked.contexts,
        is_causal=asked.causal,
        buffers=asked.sizes,
    )
    differing = against_aiter(asked) if options.aiter else None
    if picture:
        title = f"lengths {options.lengths}, {asked.heads} heads, {asked.units} compute units"
        draw(plan, picture, title)
    if options.format == "json":
        write_json(as_data(plan, asked.sizes, differing))
    else:
        print(as_text(plan, asked.sizes, limit, differing))
    return int(bool(differing))


def request(options: argparse.Namespace) -> Request:
    """What the options ask for."""
    from ..validation.planner import plan_sizes

    lengths = numbers(options.lengths, "--lengths")
    contexts = numbers(options.contexts, "--contexts") if options.contexts else lengths
    if len(contexts) != len(lengths):
        raise BadInput(f"--contexts has {len(contexts)} numbers, --lengths has {len(lengths)}")
    units, heads = whole(options.cus, "--cus") or 0, whole(options.heads, "--heads") or 0
    budget = whole(options.token_budget, "--token-budget")
    if budget is not None and budget < sum(lengths):
        raise BadInput(f"--token-budget {budget} is less than the {sum(lengths)} queries given")
    sizes = plan_sizes(
        whole(options.batch_size, "--batch-size") or len(lengths),
        heads,
        whole(options.max_length, "--max-length") or max(lengths),
        cu_count=units,
        token_budget=budget,
    )
    return Request(lengths, contexts, units, heads, not options.not_causal, sizes)


def against_aiter(asked: Request) -> list[str]:
    """Name the arrays in which AITER's plan for this GPU is another one."""
    from ..validation.aiter import find_aiter

    library = find_aiter()
    if library.units != asked.units:
        raise BadInput(
            f"--cus {asked.units}: the GPU here has {library.units}, and AITER plans for those"
        )
    from ..validation.aiter.prefill import differing_arrays

    return differing_arrays(
        library, asked.lengths, asked.contexts, heads=asked.heads, causal=asked.causal
    )


def numbers(text: str, option: str) -> list[int]:
    """Whole numbers with commas between them."""
    words = text.split(",")
    if not all(word.isdecimal() for word in words):
        raise BadInput(f"{option} must be whole numbers with commas between, not {text!r}")
    return [int(word) for word in words]


def picture_file(name: str | None) -> Path | None:
    """Where to draw; refused before any work is done where that cannot be."""
    if name is None:
        return None
    path = Path(name)
    if path.suffix not in PICTURES:
        raise BadInput(f"--draw {name}: the name must end in {', '.join(PICTURES)}")
    if not path.parent.is_dir():
        raise BadInput(f"--draw {name}: there is no folder {path.parent}")
    return path


def draw(plan: Plan, path: Path, title: str) -> None:
    """Draw a plan to a file."""
    from ..report.files import write_all
    from ..validation.plan_picture import draw_plan

    write_all({path: lambda part: draw_plan(plan, part, title=title)})


def as_text(
    plan: Plan, sizes: Mapping[str, tuple[int, ...]], limit: int, differing: list[str] | None
) -> str:
    """The plan for people: figures, buffers, the work of each thread group."""
    from ..validation.plan_picture import describe_plan

    head, _, groups = describe_plan(plan, limit=limit).partition("\n\n")
    arrays = {name: shape for name, shape in sizes.items() if name in plan}
    shapes = ", ".join(f"{name} {' x '.join(map(str, arrays[name]))}" for name in arrays)
    size = 4 * sum(prod(shape) for shape in arrays.values())
    text = f"{head}\nbuffers {size:,} bytes: {shapes}\n\n{groups}"
    if differing is None:
        return text
    said = f"differs in {', '.join(differing)}" if differing else "is the same"
    return f"{text}\n\nAITER's own plan {said}"


def as_data(
    plan: Plan, sizes: Mapping[str, tuple[int, ...]], differing: list[str] | None
) -> dict[str, object]:
    """The plan for programs: the arrays that AITER's planner fills, and their shapes."""
    data: dict[str, object] = {
        "buffers": {name: list(shape) for name, shape in sizes.items()},
        "plan": {name: array.tolist() for name, array in plan.items()},
    }
    return data if differing is None else data | {"differing": differing}
