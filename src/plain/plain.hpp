// plain/plain.hpp: transactions on plain memory.
//
// Transactions of one thread on memory that it changes by ordinary stores. machine.hpp has the
// region, working_image.hpp finds what was stored to; the shadow engine of transaction/ makes it
// durable.
#pragma once

#include "plain/machine.hpp"
#include "plain/working_image.hpp"
