// holdfast: serves, inspects, checks, copies and measures regions. See docs/cli.md.
#include "verb.hpp"

int main(int argc, char** argv) { return hf::tool::command_line(argc, argv); }
