/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command may put before pid 1, the monitor: any call with any arguments, any memory. Each
 * call gets exactly one answer (with none the command would hang, with two another call would be
 * answered), a call that the filter allows is never refused for what was seen, records are whole.
 *
 * Input: calls of 8 bytes (the row of watch.def, then the arguments: offsets into the memory, or
 * small numbers), a byte 0xff, then the memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/monitor_double.h"

#define CALL_BYTES 8
#define MAX_CALLS  64
#define NAMED_FD   100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listener = -1;

/* A socket that the plan names; the command finds it at /proc/self/fd/100. */
static void open_socket_once(void)
{
    char path[64];
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct mount_op op = { .kind = MOUNT_BIND_RO, .flags = MOUNT_SOCKET, .path = path };
    struct launch l = { .plan = { .named = 1, .mount_count = 1, .mounts = &op } };
    struct stat st;

    if (listener >= 0)
        return;
    (void)snprintf(path, sizeof path, "/tmp/fuzz-monitor.%d", (int)getpid());
    memcpy(to.sun_path, path, sizeof path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0 || bind(listener, (const struct sockaddr *)&to, sizeof to) < 0 ||
        listen(listener, 8) < 0 || stat(path, &st) < 0 ||
        dup2(open(path, O_PATH | O_CLOEXEC), NAMED_FD) != NAMED_FD)
        abort();
    op.dev = st.st_dev;
    op.ino = st.st_ino;
    if (sockets_open(&l) < 0)
        abort();
    (void)unlink(path);
}

/* Nobody answers who was connected. */
static void drop_clients(void)
{
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0)
        (void)close(fd);
}

static uint64_t argument(uint8_t byte)
{
    return byte < 0x80   ? MONITOR_MEMORY + byte
           : byte < 0xf0 ? byte - 0x80u
                         : UINT64_MAX - 0xff + byte;
}

static void serve(const uint8_t *bytes)
{
    const size_t row = bytes[0] % (ARRAY_LEN(calls) + 2);

    monitor.next = (struct notice){ .id = 1, .pid = (uint32_t)getpid() };
    monitor.next.number = row < ARRAY_LEN(calls)    ? calls[row].number
                          : row == ARRAY_LEN(calls) ? __NR_socket
                                                    : __NR_connect;
    for (size_t i = 0; i < 6; i++)
        monitor.next.args[i] = argument(bytes[1 + i]);
    if (bytes[7] & 1) /* flags of all kinds */
        monitor.next.args[2] = (uint64_t)bytes[3] << 2 | (uint64_t)bytes[7] << 10;
    monitor.answers = 0;
    watch_serve(0);
    if (monitor.answers != 1)
        abort();
    const bool allowed = row < ARRAY_LEN(calls) && calls[row].level != WATCH_TOLD &&
                         calls[row].number >= 0 && /* this CPU has it */
                         calls[row].number != __NR_socket && calls[row].number != __NR_connect;
    if (allowed && monitor.error)
        abort();
}

static void check_told(void)
{
    const struct watch_msg *m = &monitor.told;

    if (last_id > WATCH_MAX_RECORDS || monitor.told_count > last_id)
        abort();
    if (monitor.told_count && (m->id == 0 || m->id > last_id || m->path_len > WATCH_PATH_MAX ||
                               m->process[WATCH_PROCESS_MAX - 1] != '\0'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0xff, size);
    const size_t used = end ? (size_t)(end - data) : size;

    open_socket_once();
    monitor_begin(size & 1 ? WATCH_LEARN : WATCH_FULL, true);
    monitor.bytes = data + (end ? used + 1 : size);
    monitor.size = size - (end ? used + 1 : size);
    for (size_t i = 0; i + CALL_BYTES <= used && i < MAX_CALLS * CALL_BYTES; i += CALL_BYTES) {
        serve(data + i);
        drop_clients();
        check_told();
    }
    watch_end();
    if (monitor.counts.count > WATCH_COUNTS_MAX)
        abort();
    return 0;
}
