/* SPDX-License-Identifier: Apache-2.0 */
/* What the host hands to a launcher that waits for it: the sealed plan, and the placeholders'
 * places. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "plan/bwrap.h"
#include "plan/codec.h"
#include "plan/slot.h"
#include "run/run.h"

extern const char wrapper_image[] __attribute__((visibility("hidden")));
extern const char wrapper_image_end[] __attribute__((visibility("hidden")));

static int send_fds(int socket, const struct deliver_msg *msg, const int *fds, size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(DELIVER_MAX_FDS * sizeof(int))];
    } control = { 0 };
    struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = sizeof *msg };
    struct msghdr header = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(count * sizeof(int)),
    };
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    return sendmsg(socket, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* A launcher that is gone has said why, or its end is noticed. */
static bool is_gone(int r)
{
    return r == -EPIPE || r == -ECONNRESET;
}

static int32_t seal_plan(const struct plan *plan, int *ret_fd, abx_error **err)
{
    size_t size = plan_encoded_size(plan);
    uint8_t *image = size ? malloc(size) : NULL;

    if (!size)
        return err_new(err, ABX_E_CONFIG, "encode the plan: it has too many or too long parts");
    if (!image)
        return err_nomem(err);
    plan_encode(plan, image, size);
    int fd = fd_memfd("agentbox-plan", image, size, false);
    free(image);
    if (fd < 0)
        return err_sys(err, ABX_E_SANDBOX, fd, "seal the plan");
    *ret_fd = fd;
    return ABX_OK;
}

/* Where the wrapper's program has its slot; its size: nowhere. */
static size_t find_slot(void)
{
    const size_t size = (size_t)(wrapper_image_end - wrapper_image);
    const uint32_t empty = WRAP_EMPTY;
    size_t slot = 0;

    while (slot < size && memcmp(wrapper_image + slot, &empty, sizeof empty) != 0)
        slot += WRAP_SLOT_BYTES;
    return slot < size ? slot : size;
}

/* The program that covers others; the place of its slot. */
static int32_t seal_wrapper(int *ret_fd, uint32_t *ret_slot, abx_error **err)
{
    const size_t size = (size_t)(wrapper_image_end - wrapper_image), slot = find_slot();
    int fd = slot < size ? fd_memfd("agentbox-wrapper", wrapper_image, size, false) : -ENOEXEC;
    if (fd < 0)
        return err_sys(err, ABX_E_SANDBOX, fd, "put the wrapper into memory");
    *ret_fd = fd;
    *ret_slot = (uint32_t)slot;
    return ABX_OK;
}

static int32_t send_plan(int status_fd, const struct plan *plan, abx_error **err)
{
    struct deliver_msg msg = { .kind = DELIVER_PLAN };
    _fd_ int fd = -1, wrapper = -1;
    int32_t code = seal_plan(plan, &fd, err);

    if (code == ABX_OK && plan->word_count)
        code = seal_wrapper(&wrapper, &msg.slot, err);
    if (code != ABX_OK)
        return code;
    const int fds[] = { fd, wrapper };
    int r = send_fds(status_fd, &msg, fds, wrapper < 0 ? 1 : 2);
    return r < 0 && !is_gone(r) ? err_sys(err, ABX_E_IO, r, "hand over the plan") : ABX_OK;
}

/* Opens the placeholders' places, tells the keeper, makes them, tells whoever waits for them. */
static int32_t make_holds(int lifeline_fd, int status_fd, struct hold *h, const struct plan *plan,
                          const char *const *state_dirs, abx_error **err)
{
    const struct deliver_msg made = { .kind = DELIVER_HOLDS_MADE };
    struct deliver_msg msg = { .kind = DELIVER_HOLDS };
    int fds[DELIVER_MAX_FDS];

    if (plan->hold_count == 0)
        return ABX_OK;
    int32_t code = hold_open(h, plan, state_dirs, err);
    if (code != ABX_OK)
        return code;
    msg.holds = h->count;
    fds[0] = h->keeper_registry;
    for (unsigned i = 0; i < h->count; i++) {
        fds[1 + 2 * i] = h->dirs[i];
        fds[2 + 2 * i] = h->files[i];
    }
    int r = send_fds(lifeline_fd, &msg, fds, 1 + 2 * (size_t)h->count);
    hold_handed_over(h);
    if (r < 0 && !is_gone(r))
        return err_sys(err, ABX_E_IO, r, "hand over the placeholders");
    code = hold_fill(h, plan, err);
    if (code != ABX_OK)
        return code;
    r = send(status_fd, &made, sizeof made, MSG_NOSIGNAL) < 0 ? -errno : 0;
    return r < 0 && !is_gone(r) ? err_sys(err, ABX_E_IO, r, "hand over the placeholders") : ABX_OK;
}

/* A copy of the wrapper for one operation, with its words. */
static int make_wrap(const struct plan *plan, const struct mount_op *op)
{
    const size_t size = (size_t)(wrapper_image_end - wrapper_image), at = find_slot();
    struct wrap_slot slot = { 0 };
    int r = slot_fill(plan, op, &slot);

    if (r < 0)
        return r;
    if (size < sizeof slot || at > size - sizeof slot)
        return -ENOEXEC;
    char *copy = malloc(size);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, wrapper_image, size);
    memcpy(copy + at, &slot, sizeof slot);
    int fd = fd_memfd("agentbox-wrapper", copy, size, false);
    free(copy);
    return fd;
}

static int make_wraps(const struct plan *plan, int *fds, size_t *count)
{
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        if (!bwrap_covers(&plan->mounts[i]))
            continue;
        int fd = *count < DELIVER_MAX_FDS ? make_wrap(plan, &plan->mounts[i]) : -E2BIG;
        if (fd < 0)
            return fd;
        fds[(*count)++] = fd;
    }
    return 0;
}

static int32_t send_words(int status_fd, const struct plan *plan, abx_error **err)
{
    const struct deliver_msg msg = { .kind = DELIVER_WORDS, .holds = plan->hold_count };
    _buf_ struct buf words;

    buf_init(&words, PLAN_MAX_BYTES);
    int32_t code = bwrap_words(plan, &words, err);
    if (code != ABX_OK)
        return code;
    int fds[DELIVER_MAX_FDS] = { fd_memfd("agentbox-words", words.data, words.len, false) };
    size_t count = 1;
    if (fds[0] < 0)
        return err_sys(err, ABX_E_SANDBOX, fds[0], "seal bubblewrap's words");
    int r = make_wraps(plan, fds, &count);
    if (r < 0)
        code = err_sys(err, ABX_E_SANDBOX, r, "put the wrappers into memory");
    else
        r = send_fds(status_fd, &msg, fds, count);
    while (count > 0)
        fd_close(fds[--count]);
    if (code != ABX_OK)
        return code;
    return r < 0 && !is_gone(r) ? err_sys(err, ABX_E_IO, r, "hand over the plan") : ABX_OK;
}

int32_t deliver_plan(int status_fd, int lifeline_fd, struct hold *h, const struct plan *plan,
                     const char *const *state_dirs, abx_error **err)
{
    const bool bwrap = plan->backend == BACKEND_BWRAP; /* mounts all at once, before pid 1 is */
    int32_t code = bwrap ? send_words(status_fd, plan, err) : send_plan(status_fd, plan, err);

    if (code == ABX_OK)
        code = make_holds(lifeline_fd, status_fd, h, plan, state_dirs, err);
    return code == ABX_OK && bwrap ? send_plan(status_fd, plan, err) : code;
}

int deliver_sockets(int *ret_status, int *ret_lifeline, int child_fds[2])
{
    int status[2], lifeline[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0)
        return -errno;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lifeline) < 0) {
        int r = -errno;
        fd_close(status[0]);
        fd_close(status[1]);
        return r;
    }
    *ret_status = status[0];
    *ret_lifeline = lifeline[0];
    child_fds[LAUNCH_FD_STATUS - 3] = status[1];
    child_fds[LAUNCH_FD_LIFELINE - 3] = lifeline[1];
    return 0;
}

void deliver_layers(char *text, size_t size, uint32_t layers)
{
    (void)snprintf(text, size, "%u", layers);
}

void deliver_unheard(int status_fd)
{
    (void)shutdown(status_fd, SHUT_RD); /* for the other end as if the reader was gone */
}

int deliver_listeners(int status_fd, int fds[LISTENER_COUNT])
{
    for (;;) {
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(STATUS_MAX_FDS * sizeof(int))];
        } control;
        struct status_msg msg = { 0 };
        struct iovec iov = { .iov_base = &msg, .iov_len = sizeof msg };
        struct msghdr header = { .msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control };
        ssize_t n = recvmsg(status_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        int passed[STATUS_MAX_FDS], count = 0;

        if (n < 0 && (errno == EINTR || errno == ECONNRESET))
            continue; /* its last words come after that */
        if (n <= 0)
            return n < 0 && errno == EAGAIN ? 0 : -1;
        run_passed_fds(&header, passed);
        while (count < STATUS_MAX_FDS && passed[count] >= 0)
            count++;
        if (msg.kind == STATUS_LISTENERS && count > 0 && count <= LISTENER_COUNT) {
            memcpy(fds, passed, (size_t)count * sizeof *fds);
            deliver_unheard(status_fd);
            return count;
        }
        while (count > 0)
            fd_close(passed[--count]);
    }
}
