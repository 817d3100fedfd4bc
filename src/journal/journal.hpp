// journal/journal.hpp: the redo journal of a region.
//
// Records of changed lines in a file of their own, made durable once an epoch and applied to the
// region's file later. Read format.hpp (every byte), then core.hpp (the persist order J0 to J5),
// then redo_journal.hpp (the two threads). It knows lines and files, no region.
#pragma once

#include "journal/block_file.hpp"
#include "journal/core.hpp"
#include "journal/format.hpp"
#include "journal/mapped_file.hpp"
#include "journal/redo_journal.hpp"
#include "journal/replay.hpp"
#include "journal/scan.hpp"
