// shadow/shadow.hpp: the rules of optimised shadow paging.
//
// Pure functions over memory: which of a page's two slots holds the committed version of each line,
// the contents of a commit record, and recovery. The software engine
// (transaction/shadow_engine.cpp) and the simulator (sim/) run this code. Start with rules.hpp.
#pragma once

#include "shadow/bitmaps.hpp"
#include "shadow/consolidation.hpp"
#include "shadow/journal_record.hpp"
#include "shadow/recovery.hpp"
#include "shadow/rules.hpp"
#include "shadow/state_table.hpp"
