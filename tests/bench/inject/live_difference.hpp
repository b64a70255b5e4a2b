// How the frames that live_frames.bpf.c sends differ. It is C as well as C++, because both read it.
#pragma once

#include <linux/types.h>

#define LIVE_FRAMES 1024

struct live_difference {
    __u8 psn[3];
    __u8 icrc[4];
};
