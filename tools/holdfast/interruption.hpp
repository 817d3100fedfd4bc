// tools/holdfast/interruption.hpp: signals that end a verb: the files it leaves, what it says.
#pragma once

namespace hf::tool {

/// From now on SIGINT, SIGTERM and SIGHUP remove the files under construction
/// (image/unfinished.hpp) before they end the process. A signal that is ignored, as under nohup,
/// stays ignored.
void remove_unfinished_when_interrupted();

/// From now on SIGBUS ends the process with one line and the exit code of errc::io. It is sent when
/// a page of a mapped file cannot be read: the file was cut short by another process, or its disk
/// failed.
void say_bus_errors();

}  // namespace hf::tool
