"""`streamorder plan`: AITER's prefill plan for a batch, as text, as data and as a picture."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

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


def run(options: argparse.Namespace) -> int:
    """Plan, print, draw; exits 1 where AITER itself plans otherwise."""
    try:
        from ..validation.planner import plan_lengths, plan_sizes
    except ModuleNotFoundError as error:
        raise CannotRunHere(
            f"a plan needs {error.name}: pip install 'streamorder[plot]'"
        ) from error
    lengths = numbers(options.lengths, "--lengths")
    units, heads = whole(options.cus, "--cus") or 0, whole(options.heads, "--heads") or 0
    limit = whole(options.groups, "--groups") or 0
    picture = picture_file(options.draw)
    contexts = numbers(options.contexts, "--contexts") if options.contexts else lengths
    if len(contexts) != len(lengths):
        raise BadInput(f"--contexts has {len(contexts)} numbers, --lengths has {len(lengths)}")
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
    plan = plan_lengths(
        lengths,
        cu_count=units,
        num_heads_k=heads,
        context_lens=contexts,
        is_causal=not options.not_causal,
        buffers=sizes,
    )
    differing: list[str] | None = None
    if options.aiter:
        differing = against_aiter(lengths, contexts, units, heads, causal=not options.not_causal)
    if picture:
        draw(plan, picture, f"lengths {options.lengths}, {heads} heads, {units} compute units")
    if options.format == "json":
        write_json(as_data(plan, sizes) | ({} if differing is None else {"differing": differing}))
    else:
        print(as_text(plan, sizes, limit))
        if differing is not None:
            said = f"differs in {', '.join(differing)}" if differing else "is the same"
            print(f"\nAITER's own plan {said}")
    return int(bool(differing))


def against_aiter(
    lengths: list[int], contexts: list[int], units: int, heads: int, *, causal: bool
) -> list[str]:
    """Name the arrays in which AITER's plan for this GPU is another one."""
    from ..validation.aiter import find_aiter

    library = find_aiter()
    if library.units != units:
        raise BadInput(
            f"--cus {units}: the GPU here has {library.units}, and AITER plans for those"
        )
    from ..validation.aiter.prefill import differing_arrays

    return differing_arrays(library, lengths, contexts, heads=heads, causal=causal)


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
    from ..validation.plan_picture import draw_plan

    try:
        draw_plan(plan, path, title=title)
    except OSError as error:
        raise BadInput(f"--draw {path}: {error.strerror or error}") from error


def as_text(plan: Plan, sizes: Mapping[str, tuple[int, ...]], limit: int) -> str:
    """The plan for people: figures, buffers, the work of each thread group."""
    from ..validation.plan_picture import describe_plan

    head, _, groups = describe_plan(plan, limit=limit).partition("\n\n")
    arrays = {name: shape for name, shape in sizes.items() if name in plan}
    shapes = ", ".join(f"{name} {' x '.join(map(str, arrays[name]))}" for name in arrays)
    size = 4 * sum(prod(shape) for shape in arrays.values())
    return f"{head}\nbuffers {size:,} bytes: {shapes}\n\n{groups}"


def as_data(plan: Plan, sizes: Mapping[str, tuple[int, ...]]) -> dict[str, object]:
    """The plan for programs: the arrays that AITER's planner fills, and their shapes."""
    return {
        "buffers": {name: list(shape) for name, shape in sizes.items()},
        "plan": {name: array.tolist() for name, array in plan.items()},
    }
