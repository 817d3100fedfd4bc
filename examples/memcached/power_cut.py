"""Takes from a killed program's files what a power cut would have taken (power_cut.c)."""

import os
import random
import struct

BLOCK = 4096
GENERATION, BYTES, LENGTH = range(3)
HEAD = struct.Struct("<QQQQ")


def records_of(path):
    """The generation of a log and its records (kind, offset, length, old bytes)."""
    with open(path, "rb") as file:
        data = file.read()
    generation, records, at = 0, [], 0
    while at + HEAD.size <= len(data):
        kind, offset, length, kept = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + kept > len(data):
            break  # the kill came before the write that this was kept for
        if kind == GENERATION:
            generation = offset
        else:
            records.append((kind, offset, length, data[at:at + kept]))
        at += kept
    return generation, records


def unsynced(directory, number):
    """The records of a watched file's writes that no sync made durable, oldest first."""
    logs = [os.path.join(directory, f"{number}.{i}") for i in range(2)]
    found = sorted((records_of(p) for p in logs if os.path.exists(p)), key=lambda log: log[0])
    return [record for _, records in found for record in records]


def cut(path, directory, seed=None):
    """The file and its journal lose what was not synced. seed None: all of it; a number: each
    block of 4 KiB is lost or not, by chance, and lengths stay. Returns (blocks lost, blocks that
    were not synced)."""
    chance = None if seed is None else random.Random(seed)
    lost = all_blocks = 0
    for number, name in enumerate((path, path + ".journal")):
        records = unsynced(directory, number)
        if not records:
            continue
        fate = {}  # of each block
        with open(name, "r+b") as file:
            for kind, offset, length, old in reversed(records):
                if kind == LENGTH:
                    if chance is None:
                        file.truncate(offset)
                    continue
                old = old + bytes(length - len(old))
                end = os.fstat(file.fileno()).st_size
                for begin in range(offset - offset % BLOCK, offset + length, BLOCK):
                    if begin not in fate:
                        fate[begin] = chance is None or chance.random() < 0.5
                    if not fate[begin]:
                        continue
                    first, last = max(begin, offset), min(begin + BLOCK, offset + length, end)
                    if first < last:
                        file.seek(first)
                        file.write(old[first - offset:last - offset])
        all_blocks += len(fate)
        lost += sum(fate.values())
    return lost, all_blocks
