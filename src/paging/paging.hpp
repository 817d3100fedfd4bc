// paging/paging.hpp: written pages and private pages.
//
// How a process learns which pages were stored to (page_tracker.hpp) and gives back the memory of
// private copies that the file has by now (private_pages.hpp). It asks the kernel's page tables,
// and handles no file's contents.
#pragma once

#include "paging/huge_memory.hpp"
#include "paging/page_tracker.hpp"
#include "paging/private_pages.hpp"
