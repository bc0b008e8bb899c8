"""Edits of a protocol: every kind, and the objects that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .changes import (
    Drop,
    Early,
    EventRing,
    MoveTo,
    OwnMemory,
    OwnStream,
    Rebind,
    Rerecord,
    Ring,
    Room,
    SourceAtCall,
    Unpin,
    UsedBy,
)
from .inserts import AwaitPost, CalledEarlier, Captured, Insert

if TYPE_CHECKING:
    from .editor import Editor

Change = (
    Drop | MoveTo | OwnStream | Rerecord | Ring | OwnMemory | Rebind | Unpin | SourceAtCall | UsedBy
    | Early | EventRing | Room
)  # fmt: skip
Edit = Insert | AwaitPost | Captured | CalledEarlier | Change


def make_for(edit: Edit, editor: Editor) -> None:
    """Make the objects that an edit needs, before the protocol begins."""
    gpu = editor.gpu
    if isinstance(edit, Insert):
        for name in edit.event.made() if edit.event is not None else ():
            if name not in editor.made:
                editor.made[name] = gpu.event(name)
        if edit.verb == "acquire" and "lock" not in editor.made:
            editor.made["lock"] = gpu.lock()
    elif isinstance(edit, OwnStream):
        editor.made[edit.name] = gpu.stream(edit.name, device=edit.device)
    elif isinstance(edit, EventRing):
        editor.made.update((name, gpu.event(name)) for name in edit.names(editor))
    elif isinstance(edit, Room):
        editor.made[f"{edit.queue}+"] = gpu.queue(edit.capacity, edit.queue)
    elif isinstance(edit, (Ring, OwnMemory, Unpin)):
        make_memory(edit, editor)


def make_memory(edit: Ring | OwnMemory | Unpin, editor: Editor) -> None:
    """Make the buffers that an edit needs."""
    gpu = editor.gpu
    if isinstance(edit, Unpin):
        for name in edit.buffers:
            editor.made[f"{name} (pageable)"] = gpu.pageable(f"{name} (pageable)", edit.parts)
        return
    names = edit.names() if isinstance(edit, Ring) else [edit.name]
    for name in names:
        if edit.kind == "device":
            editor.made[name] = gpu.device(name, edit.parts, edit.device)
        else:
            editor.made[name] = getattr(gpu, edit.kind)(name, edit.parts)
