// Pages of 2 MiB for large blocks of memory, where the kernel has such pages: the first touch of
// small pages, and the look-ups of their addresses, cost more than most work on them.
#pragma once

namespace veriroce::command_line {

// From now on, std::pmr's default resource has them. For main().
void use_large_pages();

} // namespace veriroce::command_line
