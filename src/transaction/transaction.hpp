// transaction/transaction.hpp: transactions on memory.
//
// transactions.hpp runs them: ownership of lines (ownership.hpp), private copies (write_set.hpp),
// retries. commit_engine.hpp is the interface of the three engines, undo, redo and shadow;
// opening.hpp brings a region up.
#pragma once

#include "transaction/commit_engine.hpp"
#include "transaction/opening.hpp"
#include "transaction/ownership.hpp"
#include "transaction/recovery.hpp"
#include "transaction/transactions.hpp"
#include "transaction/write_set.hpp"
